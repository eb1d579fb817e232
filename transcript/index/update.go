package index

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
)

// Limits of one transaction. What there is more of goes into the next: other
// processes wait no longer than one takes, and a crash loses no more.
const (
	maxEntries = 1000
	maxBytes   = 2 << 20 // of text
	maxPassed  = 32 << 20
)

// maxLine is the most bytes of a record that is read.
const maxLine = 16 << 20

// anchorSize is how much of a file's beginning, and of what was indexed last, tells
// whether it has only grown since.
const anchorSize = 1 << 10

// Update brings the index to what the session files under root hold. A file that
// cannot be read is left as it is in the index; the error names the first one, after
// all others were indexed.
func (ix *Index) Update(ctx context.Context, root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("index sessions: %w", err)
	}
	if err := ix.with(ctx, func(db *sql.DB) error { return update(ctx, db, root) }); err != nil {
		return fmt.Errorf("index sessions: %w", err)
	}
	return nil
}

func update(ctx context.Context, db *sql.DB, root string) error {
	files, err := sessionFiles(root, "")
	if err != nil {
		return err
	}
	known, err := indexed(ctx, db)
	if err != nil {
		return err
	}
	var unread error
	for _, f := range files {
		row, ok := known[f.path]
		delete(known, f.path)
		if ok && row.size == f.size && row.modified == f.modified.UnixNano() {
			continue
		}
		err := indexFile(ctx, db, f)
		switch {
		case errors.Is(err, os.ErrNotExist): // it went meanwhile
		case errors.As(err, new(*os.PathError)):
			unread = cmp.Or(unread, err)
		case err != nil:
			return err
		}
	}
	for path, row := range known {
		if !strings.HasPrefix(path, root+string(filepath.Separator)) {
			continue
		}
		if err := forget(ctx, db, row.id, true); err != nil {
			return err
		}
	}
	return unread
}

// row is what the index knows of a file.
type row struct {
	id             int64
	size, modified int64
}

func indexed(ctx context.Context, db *sql.DB) (map[string]row, error) {
	rows, err := db.QueryContext(ctx, `SELECT path, id, size, modified FROM sessions`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]row{}
	for rows.Next() {
		var path string
		var r row
		if err := rows.Scan(&path, &r.id, &r.size, &r.modified); err != nil {
			return nil, err
		}
		known[path] = r
	}
	return known, rows.Err()
}

// inTx runs work in a transaction.
func inTx(ctx context.Context, db *sql.DB, work func(*sql.Tx) error) error {
	tx, err := turn(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// turn begins a transaction. Others who index may be faster many times over, because
// SQLite keeps no queue: as long as the index grows it is waited for, but not for one who
// has stopped in the middle.
func turn(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	for before := int64(-1); ; {
		tx, err := db.BeginTx(ctx, nil)
		if !sqlfile.Busy(err) {
			return tx, err
		}
		var now int64
		if e := db.QueryRowContext(ctx, `SELECT coalesce(sum(done), 0) FROM sessions`).Scan(&now); e != nil || now == before {
			return nil, err
		}
		before = now
	}
}

// forget takes the entries of a session out of the index, and the session too if gone.
func forget(ctx context.Context, db *sql.DB, id int64, gone bool) error {
	for left := true; left; {
		err := inTx(ctx, db, func(tx *sql.Tx) error {
			// While it is done in parts nobody takes it for whole.
			if _, err := tx.ExecContext(ctx, `UPDATE sessions SET size = -1, done = -1 WHERE id = ?`, id); err != nil {
				return err
			}
			r, err := tx.ExecContext(ctx, `DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE session = ? LIMIT ?)`, id, maxEntries)
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
			if left = n == maxEntries; left || err != nil {
				return err
			}
			if gone {
				_, err = tx.ExecContext(ctx, `DELETE FROM sessions WHERE id = ?`, id)
			} else {
				_, err = tx.ExecContext(ctx, `UPDATE sessions SET done = 0, anchor = '', session = '', cwd = '', name = '', title = '', first = '', created = 0, damaged = 0 WHERE id = ?`, id)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// state is how far a file is indexed, and what was seen of it.
type state struct {
	id      int64
	done    int64
	anchor  string
	session string
	cwd     string
	name    string
	title   string
	first   string
	created int64 // nanoseconds since 1970
	damaged bool
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func load(ctx context.Context, q querier, path string) (s state, err error) {
	err = q.QueryRowContext(ctx, `SELECT id, done, anchor, session, cwd, name, title, first, created, damaged FROM sessions WHERE path = ?`, path).
		Scan(&s.id, &s.done, &s.anchor, &s.session, &s.cwd, &s.name, &s.title, &s.first, &s.created, &s.damaged)
	if errors.Is(err, sql.ErrNoRows) {
		return state{}, nil
	}
	return s, err
}

// indexFile brings one file into the index, from where it was left if it has only
// grown.
func indexFile(ctx context.Context, db *sql.DB, f file) error {
	r, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer r.Close()
	s, sealed, err := begin(ctx, db, r, f.path)
	if err != nil || sealed {
		return err
	}
	if _, err := r.Seek(s.done, io.SeekStart); err != nil {
		return err
	}
	in := &lines{r: bufio.NewReaderSize(r, 64<<10), at: s.done}
	for more := true; more; {
		var p part
		before := s.done
		if more, err = p.read(ctx, in, &s); err != nil {
			return err
		}
		s.done = in.at
		if s.anchor, err = anchor(r, s.done); err != nil {
			return err
		}
		if !more {
			p.size, p.modified = f.size, f.modified.UnixNano()
		}
		var mine bool
		err = inTx(ctx, db, func(tx *sql.Tx) error {
			mine, err = p.write(ctx, tx, f.path, before, &s)
			return err
		})
		if err != nil || !mine {
			return err
		}
	}
	return nil
}

// begin says from where on a file is to be indexed. What is in the index of one that
// was rewritten, or is encrypted, goes.
func begin(ctx context.Context, db *sql.DB, r io.ReaderAt, path string) (s state, sealed bool, err error) {
	if s, err = load(ctx, db, path); err != nil {
		return s, false, err
	}
	grown, err := s.fits(r)
	if err != nil {
		return s, false, err
	}
	head := make([]byte, window)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return s, false, err
	}
	sealed = isSealed(head[:n])
	if s.id != 0 && (!grown || sealed) {
		err = forget(ctx, db, s.id, sealed)
		return state{id: s.id}, sealed, err
	}
	return s, sealed, nil
}

// fits reports whether a file begins with what was indexed of it.
func (s *state) fits(r io.ReaderAt) (bool, error) {
	if s.id == 0 || s.done <= 0 {
		return s.done == 0, nil
	}
	a, err := anchor(r, s.done)
	if errors.Is(err, io.EOF) { // it is shorter now
		return false, nil
	}
	return a == s.anchor, err
}

// anchor is a hash of the first bytes of a file and of those before done.
func anchor(r io.ReaderAt, done int64) (string, error) {
	n := min(done, anchorSize)
	buf := make([]byte, 2*n)
	for i, at := range []int64{0, done - n} {
		if _, err := r.ReadAt(buf[int64(i)*n:int64(i+1)*n], at); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:8]), nil
}

// lines reads lines and counts their bytes.
type lines struct {
	r  *bufio.Reader
	at int64 // behind the last line that was given
	// behind is the length of the line that was read and not yet accepted.
	behind int64
}

// next returns a line; nil if it is too long to be looked at. ended is false for the
// last one if it has no line end.
func (l *lines) next() (line []byte, ended bool, err error) {
	l.behind = 0
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		l.behind += int64(len(piece))
		if len(line)+len(piece) > maxLine {
			long, line = true, nil
		}
		if !long {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if l.behind == 0 {
				return nil, false, io.EOF
			}
			return line, false, nil
		case err != nil:
			return nil, false, err
		}
		return line, true, nil
	}
}

// part is what one transaction writes.
type part struct {
	entries        []entry
	size, modified int64 // of the file, once all of it is indexed
}

type entry struct{ id, role, text string }

// read takes lines until there are enough for a transaction; more is false at the
// end of the file.
func (p *part) read(ctx context.Context, in *lines, s *state) (more bool, err error) {
	p.size = -1
	size, from := 0, in.at
	for len(p.entries) < maxEntries && size < maxBytes && in.at-from < maxPassed {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		line, ended, err := in.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !ended && (line == nil || !json.Valid(line)) {
			return false, nil // it is being written, or was torn
		}
		in.at += in.behind
		size += p.take(line, s)
	}
	return true, nil
}

// take adds a line and gives how much text that is.
func (p *part) take(line []byte, s *state) int {
	if len(bytes.TrimSpace(line)) == 0 {
		return 0
	}
	r, ok := parse(line)
	if !ok {
		s.damaged = s.damaged || !transcript.CutOff(line)
		return 0
	}
	switch r.Type {
	case "title":
		s.title = cmp.Or(s.title, r.Title)
		return 0
	case "session":
		if s.session == "" {
			s.damaged = s.damaged || r.wrong || r.ID == ""
			s.session, s.cwd, s.title = r.ID, r.CWD, cmp.Or(r.Title, s.title)
			if t := timeOf(r.Timestamp); !t.IsZero() {
				s.created = t.UnixNano()
			}
		}
		return 0
	case "session_info":
		s.name = r.Name
	}
	if s.first == "" {
		s.first = prose.Head(r.prompt(), maxResult)
	}
	role, text := r.words()
	if text = plain(text); text == "" {
		return 0
	}
	p.entries = append(p.entries, entry{r.ID, role, broken(text)})
	return len(text)
}

// plain is text without the marks of snippets, as valid UTF-8.
func plain(text string) string {
	if strings.ContainsAny(text, unwanted) {
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(unwanted, r) {
				return ' '
			}
			return r
		}, text)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// unwanted is what text in the index does not have of its own.
const unwanted = markBegin + markEnd + string(runBreak) + "\x00"

// write adds the part behind what is indexed of the file. It reports false if another
// process has indexed it meanwhile; nothing is written then.
func (p *part) write(ctx context.Context, tx *sql.Tx, path string, before int64, s *state) (mine bool, err error) {
	now, err := load(ctx, tx, path)
	if err != nil {
		return false, err
	}
	if now.done != before {
		return false, nil
	}
	if now.id == 0 {
		r, err := tx.ExecContext(ctx, `INSERT INTO sessions (path, size, modified, done, anchor, session, cwd, name, title, first, created, damaged)
			VALUES (?, -1, 0, 0, '', '', '', '', '', '', 0, 0)`, path)
		if err != nil {
			return false, err
		}
		if now.id, err = r.LastInsertId(); err != nil {
			return false, err
		}
	}
	s.id = now.id
	insert, err := tx.PrepareContext(ctx, `INSERT INTO entries (session, entry, role, text) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return false, err
	}
	defer insert.Close()
	for _, e := range p.entries {
		if _, err := insert.ExecContext(ctx, s.id, e.id, e.role, e.text); err != nil {
			return false, err
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE sessions SET size = ?, modified = ?, done = ?, anchor = ?, session = ?, cwd = ?, name = ?, title = ?, first = ?, created = ?, damaged = ? WHERE id = ?`,
		p.size, p.modified, s.done, s.anchor, plain(s.session), plain(s.cwd), plain(s.name), plain(s.title), plain(s.first), s.created, s.damaged, s.id)
	return true, err
}
