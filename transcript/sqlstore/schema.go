package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/transcript/internal/sessiondb"
)

// Schema makes the tables. A record has its place, seq, for as long as the session
// is not replaced; places follow each other without a gap. Times are in
// milliseconds since 1970.
const Schema = `
	BEGIN IMMEDIATE;
	CREATE TABLE IF NOT EXISTS sessions (
		id       INTEGER PRIMARY KEY AUTOINCREMENT,
		name     TEXT NOT NULL UNIQUE,
		created  INTEGER NOT NULL,
		updated  INTEGER NOT NULL,
		revision INTEGER NOT NULL DEFAULT 0,
		trashed  INTEGER
	) STRICT;
	CREATE TABLE IF NOT EXISTS records (
		session INTEGER NOT NULL REFERENCES sessions (id),
		seq     INTEGER NOT NULL,
		data    BLOB NOT NULL,
		PRIMARY KEY (session, seq)
	) STRICT;
	COMMIT;`

var (
	// ErrForeign means that a database has tables, and none of sessions.
	ErrForeign = errors.New("it is a database of another program: give sessions a file of their own")
	// ErrEmpty means that a database has no tables; it is an [io/fs.ErrNotExist].
	ErrEmpty = sessiondb.ErrEmpty
)

// What stands in the place of a database. Every error of a database that is so, is one of
// these.
var (
	// ErrDamaged means that a database is damaged.
	ErrDamaged = errors.New("the database is damaged")
	// ErrNoDatabase means that a file is not a database.
	ErrNoDatabase = errors.New("not a database")
)

// sorted is an error of SQLite with what it means for the whole database.
func sorted(err error) error {
	switch sqlfile.Code(err) {
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrNoDatabase, err)
	}
	return err
}

// IsDatabase reports whether a file that begins so is an SQLite database, whatever is in it.
func IsDatabase(head []byte) bool { return bytes.HasPrefix(head, []byte(sqlfile.Magic)) }

// Check reports whether a database has sessions: nil, [ErrForeign] or [ErrEmpty]. It
// writes nothing.
func Check(ctx context.Context, db *sql.DB) error {
	var tables, columns int
	err := db.QueryRowContext(ctx, `
		SELECT (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'),
			(SELECT count(*) FROM pragma_table_info('sessions') WHERE name IN ('id', 'name', 'created', 'updated', 'revision', 'trashed')) +
			(SELECT count(*) FROM pragma_table_info('records') WHERE name IN ('session', 'seq', 'data'))`).Scan(&tables, &columns)
	switch {
	case err != nil:
		return fmt.Errorf("look into the database of sessions: %w", sorted(err))
	case tables == 0:
		return ErrEmpty
	case columns < 9:
		return ErrForeign
	}
	return nil
}

// Init prepares a database for sessions, which must have nothing else; it fails with
// [ErrForeign]. It may be called again.
func Init(ctx context.Context, db *sql.DB) error {
	if err := Check(ctx, db); err != nil && !errors.Is(err, ErrEmpty) {
		return err
	}
	if err := sqlfile.UseLog(ctx, db); err != nil {
		return fmt.Errorf("prepare the database of sessions: %w", sorted(err))
	}
	if _, err := db.ExecContext(ctx, Schema); err != nil {
		return fmt.Errorf("prepare the database of sessions: %w", sorted(err))
	}
	return nil
}

// Info is what is known of a session without reading its records.
type Info = sessiondb.Info

// List returns all sessions, the last updated first, those in the trash among them.
func List(ctx context.Context, db *sql.DB) ([]Info, error) {
	return sessiondb.List(ctx, db, dialect())
}

// Delete moves a session to the trash. One that is being written is refused with
// [transcript.ErrLocked].
func Delete(ctx context.Context, db *sql.DB, session string) error {
	return change(ctx, db, "delete", session, `UPDATE sessions SET trashed = ?2, revision = revision + 1 WHERE name = ?1 AND trashed IS NULL`, time.Now().UnixMilli())
}

// Restore takes a session out of the trash.
func Restore(ctx context.Context, db *sql.DB, session string) error {
	return change(ctx, db, "restore", session, `UPDATE sessions SET trashed = NULL, revision = revision + 1 WHERE name = ?1 AND trashed IS NOT NULL`)
}

// Purge removes a session that is in the trash, for good.
func Purge(ctx context.Context, db *sql.DB, session string) error {
	return sessiondb.Purge(ctx, db, dialect(), session)
}

// change runs a statement that changes one session while nobody writes it.
func change(ctx context.Context, db *sql.DB, doing, session, statement string, args ...any) error {
	l, err := lockSession(ctx, db, session)
	if err != nil {
		return dialect().Fail(doing, session, err)
	}
	res, err := db.ExecContext(ctx, statement, append([]any{session}, args...)...)
	err = sessiondb.Changed(res, err, ErrNoSession)
	return dialect().Fail(doing, session, errors.Join(err, l.release()))
}
