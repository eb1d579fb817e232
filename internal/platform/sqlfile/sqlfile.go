// Package sqlfile opens SQLite files that several processes use at once.
//
// [Open] opens a file, whatever characters its path has. [Migrate] makes its tables or
// brings them up to date: of processes that come at the same moment one does so, and the
// others find the work done. [Damaged] and [Code] sort the errors of both and of what is
// asked later.
//
// Who may read a file, and what becomes of one that is damaged, is its owner's business.
package sqlfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Magic begins every SQLite database. One that is being made is empty.
const Magic = "SQLite format 3\x00"

// URI names the file at path for the driver. The parameters are the driver's and
// SQLite's, joined with &.
func URI(path, parameters string) string {
	slashed := filepath.ToSlash(path)
	if filepath.IsAbs(path) && !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // file:///C:/…
	}
	u := url.URL{Path: slashed}
	return "file:" + u.EscapedPath() + "?" + parameters
}

// maxConns is how many statements run at once.
const maxConns = 4

// Open opens the file at path when it is first used. Transactions begin immediate: one
// that means to write never fails halfway because another writer was faster. wait is how
// long one process waits for what another writes; pragmas, such as
// "synchronous(normal)", are those of each connection.
func Open(path string, wait time.Duration, pragmas ...string) (*sql.DB, error) {
	parameters := fmt.Sprintf("_txlock=immediate&_pragma=busy_timeout(%d)", wait.Milliseconds())
	for _, p := range pragmas {
		parameters += "&_pragma=" + p
	}
	inner, err := sqlite.NewConnector(URI(path, parameters))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{inner, make(chan struct{}, 1), wait})
	db.SetMaxOpenConns(maxConns)
	return db, nil
}

// ErrNewer is that the tables are of a later version than this program knows.
var ErrNewer = errors.New("a newer burin wrote it")

// Migrate brings the tables of db to a version, which stands in the file, and gives the
// file a write-ahead log. Tables of that version are left alone. Else change makes them
// from those of the version found, 0 where there are none; it runs in a transaction, which
// is taken back if it fails.
func Migrate(ctx context.Context, db *sql.DB, version int, change func(tx *sql.Tx, found int) error) error {
	found, err := schemaVersion(ctx, db, version)
	if err != nil || found == version {
		return err
	}
	if err := UseLog(ctx, db); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	// Another process may have been here since.
	if found, err = schemaVersion(ctx, tx, version); err != nil || found == version {
		return err
	}
	if err := change(tx, found); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func schemaVersion(ctx context.Context, q querier, known int) (found int, err error) {
	err = q.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&found)
	if err == nil && found > known {
		err = fmt.Errorf("%w (schema %d, this one knows %d): update burin", ErrNewer, found, known)
	}
	return found, err
}

// UseLog gives the file a write-ahead log, so that who searches does not wait for who
// writes. In this one statement SQLite does not wait for another process that does the
// same: it is tried for as long as other things are waited for.
func UseLog(ctx context.Context, db *sql.DB) error {
	var wait int64 // milliseconds
	if err := db.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&wait); err != nil {
		return err
	}
	for began := time.Now(); ; {
		_, err := db.ExecContext(ctx, `PRAGMA journal_mode = wal`)
		if !Busy(err) || time.Since(began).Milliseconds() > wait {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Code is SQLite's primary result code of err, 0 if it is none of SQLite's.
func Code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// Busy reports whether an error says that another process wrote for too long.
func Busy(err error) bool { return Code(err) == sqlite3.SQLITE_BUSY }

// Damaged reports whether an error says that the file is no database, or another one
// than it was made.
func Damaged(err error) bool {
	switch Code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA:
		return true
	case sqlite3.SQLITE_ERROR: // SQLite says no more of tables that are gone
		return strings.Contains(err.Error(), "no such")
	}
	return false
}
