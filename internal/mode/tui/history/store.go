package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// version is that of the tables.
const version = 1

// What is sorted and compared stands before the text: SQLite reads a row from its
// beginning. Texts are told apart by hash, so that the index does not repeat them.
const schema = `
	CREATE TABLE prompts (
		id   INTEGER PRIMARY KEY,
		dir  TEXT NOT NULL,
		at   INTEGER NOT NULL, -- nanoseconds since 1970
		size INTEGER NOT NULL,
		hash BLOB NOT NULL,
		text TEXT NOT NULL,
		UNIQUE (dir, hash)
	) STRICT;
	CREATE INDEX prompts_newest ON prompts (at DESC, id DESC, size);
	CREATE VIRTUAL TABLE words USING fts5 (text, content = 'prompts', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2", prefix = '2 3');
	CREATE TRIGGER prompts_added AFTER INSERT ON prompts BEGIN
		INSERT INTO words (rowid, text) VALUES (new.id, new.text);
	END;
	CREATE TRIGGER prompts_gone AFTER DELETE ON prompts BEGIN
		INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
	END;`

// busyTimeout is how long one process waits for what another writes.
const busyTimeout = 3 * time.Second

var (
	errClosed = errors.New("the prompt history is closed")
	errTables = errors.New("it has other tables than expected")
)

// store is the file. It is opened when it is first needed.
type store struct {
	home string

	mu     sync.Mutex // held while db is opened, replaced or closed
	db     *sql.DB
	opened os.FileInfo // of the file that db is
	closed bool
}

// with calls work with the database, and once more with a new one if it is spoiled.
// Where there is no file and none is to be made, work is not called.
func (s *store) with(ctx context.Context, create bool, work func(*sql.DB) error) error {
	for try := 0; ; try++ {
		db, err := s.get(ctx, create)
		if db == nil {
			return err
		}
		err = work(db)
		if try > 0 || !spoiled(err) {
			return err
		}
		if err := s.replace(ctx, db); err != nil {
			return err
		}
	}
}

// get gives the database, nil without an error where there is none.
func (s *store) get(ctx context.Context, create bool) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.db != nil:
		return s.db, nil
	case s.home == "": // nothing is kept
		return nil, nil
	}
	if !create {
		if _, err := os.Stat(s.path()); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	err := s.open(ctx)
	if spoiled(err) {
		err = s.renew(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.path(), err)
	}
	return s.db, nil
}

func (s *store) path() string { return filepath.Join(s.home, FileName) }

// open opens or makes the database. The caller holds mu.
func (s *store) open(ctx context.Context) error {
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path(), os.O_CREATE|os.O_RDWR, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600) // a copied file; where modes mean nothing this changes nothing
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.opened = info
	db, err := sqlfile.Open(s.path(), busyTimeout, "synchronous(normal)")
	if err != nil {
		return err
	}
	if err := prepare(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	return nil
}

// prepare makes the tables where there are none.
func prepare(ctx context.Context, db *sql.DB) error {
	return sqlfile.Migrate(ctx, db, version, func(tx *sql.Tx, _ int) error {
		_, err := tx.ExecContext(ctx, schema)
		if sqlfile.Code(err) == sqlite3.SQLITE_ERROR { // it has tables, and no version
			return errTables
		}
		return err
	})
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}
