// Package database opens burin.db, the one SQLite file of the program's home.
// The rooms that keep something there (credentials, usage) share the file,
// its schema version and the rules below; each owns its tables.
//
// It promises that the file can be read by its owner only (0600, in a directory
// made 0700), that a read never creates it, that its schema is the one this
// program knows, and that two processes may open it for the first time at the
// same moment.
//
// Transactions begin immediate: one that means to write never fails halfway
// because another writer was faster. A writer waits five seconds for another,
// or until its context ends.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// busyTimeout is how long one process waits for what another writes.
const busyTimeout = 5 * time.Second

// FileName is the name of the file within the home directory.
const FileName = "burin.db"

// steps bring the schema from version i to i+1. There is one counter for the
// whole file, so all rooms add their tables at the end of this list; a step that
// has been released is never changed.
var steps = []string{
	`CREATE TABLE credentials (
		id            INTEGER PRIMARY KEY AUTOINCREMENT,
		provider      TEXT NOT NULL,
		kind          TEXT NOT NULL CHECK (kind IN ('api_key', 'oauth')),
		label         TEXT NOT NULL DEFAULT '',
		sealed        BLOB NOT NULL,
		revision      INTEGER NOT NULL DEFAULT 1,
		created       INTEGER NOT NULL,
		last_used     INTEGER NOT NULL DEFAULT 0,
		blocked_until INTEGER NOT NULL DEFAULT 0,
		disabled      TEXT NOT NULL DEFAULT ''
	) STRICT;
	CREATE INDEX credentials_by_provider ON credentials (provider, id);`,
	// SQLite reads a row from its beginning, so what reports add up stands first.
	`CREATE TABLE usage (
		id               INTEGER PRIMARY KEY AUTOINCREMENT,
		time             INTEGER NOT NULL,
		day              INTEGER NOT NULL,
		input            INTEGER NOT NULL,
		output           INTEGER NOT NULL,
		cache_read       INTEGER NOT NULL,
		cache_write      INTEGER NOT NULL,
		cost             INTEGER NOT NULL,
		unknown          INTEGER NOT NULL,
		unreliable       INTEGER NOT NULL,
		counted          INTEGER NOT NULL,
		provider         TEXT NOT NULL,
		model            TEXT NOT NULL,
		project          TEXT NOT NULL,
		session          TEXT NOT NULL,
		purpose          TEXT NOT NULL,
		turn             TEXT NOT NULL,
		account          TEXT NOT NULL,
		stop             TEXT NOT NULL,
		cache_write_long INTEGER NOT NULL,
		reasoning        INTEGER NOT NULL,
		web_searches     INTEGER NOT NULL,
		web_fetches      INTEGER NOT NULL,
		cost_input       INTEGER NOT NULL,
		cost_output      INTEGER NOT NULL,
		cost_cache_read  INTEGER NOT NULL,
		cost_cache_write INTEGER NOT NULL,
		cost_tools       INTEGER NOT NULL,
		duration         INTEGER NOT NULL,
		first_token      INTEGER NOT NULL
	) STRICT;
	CREATE INDEX usage_by_day ON usage (day, project, counted);
	CREATE INDEX usage_by_session ON usage (session, turn, counted);
	CREATE TABLE usage_reservations (
		id      INTEGER PRIMARY KEY AUTOINCREMENT,
		owner   TEXT NOT NULL,
		project TEXT NOT NULL,
		amount  INTEGER NOT NULL
	) STRICT;`,
}

// Open opens the file in home and creates both where they are missing. The
// caller closes it.
func Open(ctx context.Context, home string) (*sql.DB, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("create the home directory: %w", err)
	}
	path := filepath.Join(home, FileName)
	// SQLite would create the file with the mode of the umask.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("create the database: %w", err)
	}
	return OpenExisting(ctx, home)
}

// OpenExisting opens the file in home if it is there. If it is not, nothing is
// created and the error is an [os.ErrNotExist]. The caller closes it.
func OpenExisting(ctx context.Context, home string) (*sql.DB, error) {
	path := filepath.Join(home, FileName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		// A copied or restored file keeps no secret from other users of the
		// machine. Where modes mean nothing this changes nothing.
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, fmt.Errorf("make the database private: %w", err)
		}
	}
	db, err := sqlfile.Open(path, busyTimeout, "synchronous(normal)", "foreign_keys(1)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := migrate(ctx, db); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open %s: %w", path, advise(err))
	}
	return db, nil
}

// migrate runs the steps the file has not seen.
func migrate(ctx context.Context, db *sql.DB) error {
	return sqlfile.Migrate(ctx, db, len(steps), func(tx *sql.Tx, found int) error {
		for i, step := range steps[found:] {
			if _, err := tx.ExecContext(ctx, step); err != nil {
				return fmt.Errorf("bring the schema to version %d: %w", found+i+1, err)
			}
		}
		return nil
	})
}

// advise says what to do about a file that is no database any more.
func advise(err error) error {
	switch sqlfile.Code(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: move the file away and add the keys again, or restore it from a backup", err)
	}
	return err
}
