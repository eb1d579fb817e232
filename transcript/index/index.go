// Package index finds sessions: [List] by time, from the first and last bytes of
// their files, and [Index.Search] by what was said in them.
//
// An [Index] is an SQLite database with a full-text index. It is a cache: it can be
// deleted at any time, and holds nothing that the session files do not. Nobody
// keeps it up to date while sessions are written; [Index.Update] brings it to what
// the files hold, before a search. Of a file that has only grown it reads what is new.
//
// # What is promised
//
//   - Neither listing nor searching changes a session file or waits for its writer.
//   - Any number of processes may use one index. What one of them has indexed, the
//     others do not index again.
//   - An index that is damaged, or of another version, is thrown away and built
//     again; the caller sees no error of it.
//   - Any text is a valid query.
//   - Of one entry at most 32 KB are found, of a tool's output the first 4 KB, of a
//     call's arguments the first KB; a record of more than 16 MB is left out.
//     Encrypted sessions are not indexed, since the index is not encrypted.
package index

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

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// Info is what lists show of a session.
type Info struct {
	Path string `json:"path"`
	ID   string `json:"id"`
	CWD  string `json:"cwd"`
	// Title is the name that the user or a model gave the session, or the first
	// words of the first prompt, or the id.
	Title    string    `json:"title"`
	First    string    `json:"first,omitempty"` // the first prompt, on one line, at most 200 characters of it
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Size     int64     `json:"size"`            // bytes
	Draft    bool      `json:"draft,omitempty"` // no model has answered: a process writes it, or has crashed
	Damaged  bool      `json:"damaged,omitempty"`
	Sealed   bool      `json:"sealed,omitempty"` // encrypted: title and folder cannot be seen
	Parent   string    `json:"parent,omitempty"` // the session from which it was forked; an id, or a path

	named bool // Title is a name that stands in an entry
}

// version is that of the tables and of what is written into them. An index of another
// version is built again.
const version = 2

const schema = `
	CREATE TABLE sessions (
		id       INTEGER PRIMARY KEY,
		path     TEXT NOT NULL UNIQUE,
		size     INTEGER NOT NULL,
		modified INTEGER NOT NULL, -- nanoseconds since 1970
		done     INTEGER NOT NULL, -- bytes that are indexed
		anchor   TEXT NOT NULL,    -- of the bytes before done
		session  TEXT NOT NULL,
		cwd      TEXT NOT NULL,
		name     TEXT NOT NULL,    -- of session_info
		title    TEXT NOT NULL,    -- of the header
		first    TEXT NOT NULL,
		created  INTEGER NOT NULL,
		damaged  INTEGER NOT NULL
	) STRICT;
	CREATE TABLE entries (
		id      INTEGER PRIMARY KEY,
		session INTEGER NOT NULL,
		entry   TEXT NOT NULL,
		role    TEXT NOT NULL,
		text    TEXT NOT NULL
	) STRICT;
	CREATE INDEX entries_session ON entries (session);
	CREATE VIRTUAL TABLE words USING fts5 (text, content = 'entries', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2", prefix = '3');
	CREATE TRIGGER entries_added AFTER INSERT ON entries BEGIN
		INSERT INTO words (rowid, text) VALUES (new.id, new.text);
	END;
	CREATE TRIGGER entries_gone AFTER DELETE ON entries BEGIN
		INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
	END;`

// Index is an open index. It is safe for concurrent use.
type Index struct {
	file string

	mu sync.Mutex // held while db is replaced or taken
	db *sql.DB
}

// Open opens the index in file, or makes it.
func Open(ctx context.Context, file string) (*Index, error) {
	ix := &Index{file: file}
	err := ix.open(ctx)
	if spoiled(err) {
		err = ix.rebuild(ctx, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("open the index of sessions: %w", err)
	}
	return ix, nil
}

// Close closes the index.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.db == nil {
		return nil
	}
	return ix.db.Close()
}

// errVersion means that an index is of an earlier version.
var errVersion = errors.New("the index is of another version")

// open opens or makes the database.
func (ix *Index) open(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(ix.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(ix.file, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// A power cut may spoil an index, which is then built again: nothing waits for the disk.
	db, err := sqlfile.Open(ix.file, busyTimeout, "synchronous(off)")
	if err != nil {
		return err
	}
	if err := prepare(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	ix.db = db
	return nil
}

// busyTimeout is how long one process waits for what another writes.
const busyTimeout = 10 * time.Second

// prepare makes the tables where there are none.
func prepare(ctx context.Context, db *sql.DB) error {
	return sqlfile.Migrate(ctx, db, version, func(tx *sql.Tx, found int) error {
		if found != 0 {
			return errVersion
		}
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
}

// spoiled reports whether an error says that the database cannot be used.
func spoiled(err error) bool {
	return errors.Is(err, errVersion) || errors.Is(err, sqlfile.ErrNewer) || sqlfile.Damaged(err)
}

// rebuild throws the database away and makes it again, unless another one than bad is
// in use by now. One process does so at a time.
func (ix *Index) rebuild(ctx context.Context, bad *sql.DB) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.db != bad {
		return nil // someone else was first
	}
	lock, err := filelock.Take(ctx, ix.file+".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	if bad != nil {
		_ = bad.Close() // it is thrown away
		ix.db = nil
	}
	// Another process may have built a new one while this one waited.
	if err := ix.open(ctx); err == nil {
		if ix.sound(ctx) {
			return nil
		}
		_ = ix.db.Close() // it is thrown away
		ix.db = nil
	} else if !spoiled(err) {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(ix.file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ix.open(ctx)
}

// sound reports whether the database holds together.
func (ix *Index) sound(ctx context.Context) bool {
	var said string
	err := ix.db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&said)
	if err != nil || said != "ok" {
		return false
	}
	_, err = ix.db.ExecContext(ctx, `INSERT INTO words (words, rank) VALUES ('integrity-check', 1)`)
	return err == nil
}

// with calls work with the database, and once more with a new one if the database is
// spoiled.
func (ix *Index) with(ctx context.Context, work func(*sql.DB) error) error {
	for try := 0; ; try++ {
		ix.mu.Lock()
		db := ix.db
		ix.mu.Unlock()
		if db == nil {
			return errors.New("the index could not be built again")
		}
		err := work(db)
		if try > 0 || !spoiled(err) {
			return err
		}
		if err := ix.rebuild(ctx, db); err != nil {
			return err
		}
	}
}
