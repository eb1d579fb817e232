// Package sqlview shows SQLite databases as text and changes single rows of them.
//
// What follows a database's path selects what is shown; see [Query] and [Write].
// A database that is read cannot be changed and leads nowhere else, whatever SQL
// a model writes: the file is opened for reading, the connection takes only
// queries, and an authorizer refuses everything but reading (attaching another
// file, and pragmas that do more than tell, above all). Values, rows and time are
// limited.
package sqlview

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

const (
	busyTimeout = 3000 // ms to wait for another process
	maxTime     = 10 * time.Second
	maxValue    = 64 << 20 // bytes of one value
)

// database is a database that is open, on one connection.
type database struct {
	*sql.Conn
	db *sql.DB
}

func (d *database) close() {
	_ = d.Conn.Close() // nothing was written that is not committed
	_ = d.db.Close()
}

// openRead opens a database for reading.
//
// A database in WAL mode would get its two side files back when it is opened, and
// keep them. If they are not there nobody has it open, and then it can be read as
// it is.
func openRead(ctx context.Context, real string) (*database, error) {
	options := fmt.Sprintf("mode=ro&_pragma=busy_timeout(%d)&_pragma=query_only(1)&_pragma=trusted_schema(0)", busyTimeout)
	if wal, err := atRestInWAL(real); err != nil {
		return nil, err
	} else if wal {
		options += "&immutable=1"
	}
	d, err := open(ctx, real, options)
	if err != nil {
		return nil, err
	}
	err = d.Raw(func(conn any) error {
		r, ok := conn.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver has no authorizer")
		}
		return r.RegisterAuthorizer(authorize)
	})
	if err != nil {
		d.close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	return d, nil
}

// openWrite opens an existing database for writing.
func openWrite(ctx context.Context, real string) (*database, error) {
	if _, err := isDatabase(real); err != nil {
		return nil, err
	}
	return open(ctx, real, fmt.Sprintf("mode=rw&_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=foreign_keys(1)", busyTimeout))
}

func open(ctx context.Context, real, options string) (*database, error) {
	connector, err := sqlite.NewConnector(sqlfile.URI(real, options))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close() // it holds nothing yet
		return nil, fmt.Errorf("open database: %w", err)
	}
	d := &database{conn, db}
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxValue); err != nil {
		d.close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	return d, nil
}

// isDatabase reads the header of a database.
func isDatabase(real string) (header []byte, err error) {
	f, err := os.Open(real)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("SQLite database %s: %w", filepath.Base(real), os.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	defer f.Close()
	header = make([]byte, 100)
	n, _ := f.Read(header) // a short file is none, or an empty one
	if n > 0 && !strings.HasPrefix(string(header[:n]), "SQLite format 3\x00") {
		return nil, fmt.Errorf("%s is not a SQLite database", filepath.Base(real))
	}
	return header, nil
}

// atRestInWAL reports whether a database uses a write-ahead log that is not there.
func atRestInWAL(real string) (bool, error) {
	header, err := isDatabase(real)
	if err != nil || header[18] != 2 {
		return false, err
	}
	_, err = os.Stat(real + "-wal")
	return errors.Is(err, os.ErrNotExist), nil
}

// telling are the pragmas that only tell. Those of the second list name a table
// or an index; the others take no argument, which would set something.
var (
	telling = []string{
		"application_id", "collation_list", "compile_options", "data_version", "database_list", "encoding", "freelist_count",
		"function_list", "journal_mode", "page_count", "page_size", "schema_version", "table_list", "user_version",
	}
	tellingOf = []string{"foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_xinfo", "table_list"}
)

func authorize(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	allowed := false
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		allowed = true
	case sqlite.AuthFunction:
		allowed = !strings.EqualFold(arg2, "load_extension")
	case sqlite.AuthPragma:
		name := strings.ToLower(arg1)
		allowed = slices.Contains(tellingOf, name) || arg2 == "" && slices.Contains(telling, name)
	}
	if allowed {
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}

// quote makes an identifier of a name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// explain makes the errors of SQLite fit for a model.
func explain(ctx context.Context, err error) error {
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the query took more than %v", maxTime)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_AUTH:
		return errors.New("only reading is allowed here: no changes, no other files, no pragmas that set something")
	case errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("the database is locked by another process (waited %d s)", busyTimeout/1000)
	}
	return err
}
