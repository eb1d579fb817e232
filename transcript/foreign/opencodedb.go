package foreign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver of opencode's database

	"github.com/burin-dev/burin/internal/prose"
)

// openDB opens a database for reading only. One in WAL mode that no process has
// open is read as it is, because opening it would leave side files.
func openDB(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // file:///C:/…
	}
	options := "mode=ro&_pragma=busy_timeout(3000)&_pragma=query_only(1)&_pragma=trusted_schema(0)"
	if _, err := os.Lstat(path + "-wal"); err != nil {
		options += "&immutable=1"
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: slashed}).EscapedPath()+"?"+options)
}

// isOpenCodeDB reports whether a database has opencode's tables.
func isOpenCodeDB(path string) bool {
	db, err := openDB(path)
	if err != nil {
		return false
	}
	defer db.Close()
	n := 0
	err = db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'message', 'part')`).Scan(&n)
	return err == nil && n == 3
}

// openCodeDB imports the sessions of a database, oldest first.
func (in *importer) openCodeDB(ctx context.Context, path string) {
	db, err := openDB(path)
	if err != nil {
		in.fail(fmt.Errorf("import %s: %w", prose.Plain(path, maxPath), err))
		return
	}
	defer db.Close()
	ids, err := openCodeIDs(ctx, db)
	if err != nil {
		in.fail(fmt.Errorf("import %s: %w", prose.Plain(path, maxPath), err))
		return
	}
	for _, id := range ids {
		s, err := openCodeRow(ctx, db, path, id)
		if err != nil {
			err = fmt.Errorf("import %s: session %s: %w", prose.Plain(path, maxPath), prose.Plain(id, maxTitle), err)
			if !in.fail(err) || ctx.Err() != nil {
				return
			}
			continue
		}
		if !in.give(ctx, s) {
			return
		}
	}
}

func openCodeIDs(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT id FROM session ORDER BY time_created, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func openCodeRow(ctx context.Context, db *sql.DB, path, id string) (*Session, error) {
	info := ocSession{ID: id}
	var parent, title, dir, revert sql.NullString
	var created sql.NullFloat64
	err := db.QueryRowContext(ctx, `SELECT parent_id, title, directory, revert, time_created FROM session WHERE id = ?`, id).
		Scan(&parent, &title, &dir, &revert, &created)
	if err != nil {
		return nil, err
	}
	info.Parent, info.Title, info.Directory, info.Time.Created = parent.String, title.String, dir.String, stampOf(created.Float64)
	t := newTree(OpenCode, path+", session "+id, id)
	if revert.String != "" {
		if _, err := decode([]byte(revert.String), &info.Revert); err != nil {
			t.unreadable("what was reverted", err)
		}
	}
	var read []ocRead
	at := map[string]int{}
	err = t.eachRow(ctx, db, "message", `SELECT id, '', data FROM message WHERE session_id = ? ORDER BY id`, func(id, _ string, data []byte) error {
		m := ocRead{}
		_, err := decode(data, &m.message)
		m.message.ID = id
		if err == nil {
			at[id] = len(read)
			read = append(read, m)
		}
		return err
	}, id)
	if err != nil {
		return nil, err
	}
	err = t.eachRow(ctx, db, "part", `SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id`, func(id, message string, data []byte) error {
		i, ok := at[message]
		if !ok {
			return errors.New("its message is not there")
		}
		var p ocPart
		_, err := decode(data, &p)
		p.ID = id
		if err == nil {
			read[i].parts = append(read[i].parts, p)
		}
		return err
	}, id)
	if err != nil {
		return nil, err
	}
	sortByID(read)
	return openCode(t, &info, read), nil
}

// eachRow calls row with the columns of each row of a session; the data is valid
// until it returns. Its errors are noted.
func (t *tree) eachRow(ctx context.Context, db *sql.DB, what, query string, row func(id, parent string, data []byte) error, session string) error {
	rows, err := db.QueryContext(ctx, query, session)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent string
		var data sql.RawBytes
		if err := rows.Scan(&id, &parent, &data); err != nil {
			return err
		}
		if len(data) > maxRecord {
			t.unreadable(what+" "+id, errors.New("it is larger than 64 MB"))
			continue
		}
		if err := row(id, parent, data); err != nil {
			t.unreadable(what+" "+id, err)
		}
	}
	return rows.Err()
}
