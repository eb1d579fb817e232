// Package sqlstore keeps the records of sessions in an SQLite database, any number
// of sessions in one: for servers, and for programs that have a database anyway.
//
// [Create] starts a session and [Open] continues one; both return a
// [transcript.Store] that writes. [View] returns one that only reads, even while
// another process writes. [List] lists the sessions; [Delete] moves a session to the trash,
// [Restore] takes it back, and [Purge] removes it for good.
//
// # The database
//
// It is opened by the caller, with SQLite's driver modernc.org/sqlite, and
// prepared once by [Init], or by [Schema] among the steps of a schema that has
// more. It must have a write-ahead log, which Init sees to, and wait for other
// writers (PRAGMA busy_timeout, on each connection). A store takes a connection of
// the pool for the time of a call and none in between, so that hundreds of
// sessions share a few.
//
// # What is promised
//
// An Append is one transaction: on reopening all of its records are there or none,
// and none is ever torn. Acknowledged records survive the death of the process;
// with PRAGMA synchronous at normal, the way this program opens its database, a
// power cut may take those that were appended since the last Sync. Sync commits
// once with synchronous at full, which lets SQLite fsync the write-ahead log with
// all earlier commits in it; no checkpoint is needed.
//
// A session has one writer. For the writer's life it holds a lock on a file in the
// folder <database>-locks; the system gives it back however the process ends, so
// that nothing has to be renewed or to expire. Where the database is in memory, or
// behind a way around the lock, two writers are noticed at the first Append of the
// slower one: places of records are never used twice.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/internal/sessiondb"
)

var (
	// ErrNoSession means that there is no session of that name; it is an
	// [io/fs.ErrNotExist].
	ErrNoSession = sessiondb.ErrNoSession
	// ErrSession means that there is a session of that name already; it is an
	// [io/fs.ErrExist].
	ErrSession = sessiondb.ErrSession
	// ErrTrashed means that the session is in the trash.
	ErrTrashed = sessiondb.ErrTrashed
)

// Store is a session in a database. It implements [transcript.Store].
type Store struct {
	shared
	lock *lock
}

type shared = sessiondb.Store

var _ transcript.Store = (*Store)(nil)

// dialect is what is SQLite's own.
func dialect() *sessiondb.Dialect {
	return &sessiondb.Dialect{
		Walk:      `SELECT seq, CASE WHEN length(data) <= ?3 THEN data END FROM records WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT 256`,
		WalkBytes: 256 << 10,
		Taken:     func(err error) bool { return sqlfile.Code(err) == sqlite3.SQLITE_CONSTRAINT },
		Means:     sorted,
		Sync:      syncAll,
	}
}

// Create starts a session of that name and opens it to write.
func Create(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	now := time.Now().UnixMilli()
	err := sessiondb.Begin(ctx, db, dialect(), session, `INSERT INTO sessions (name, created, updated) VALUES (?, ?, ?)`, now, now)
	if err != nil {
		return nil, err
	}
	return Open(ctx, db, session)
}

// Open opens a session to read and append. A second writer gets
// [transcript.ErrLocked]. The context is for opening only.
func Open(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	l, err := lockSession(ctx, db, session)
	if err != nil {
		return nil, dialect().Fail("open", session, err)
	}
	s, err := sessiondb.Open(ctx, db, dialect(), session, holder{l})
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	return &Store{*s, l}, nil
}

// View opens a session to read; another may write it meanwhile.
func View(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	s, err := sessiondb.Open(ctx, db, dialect(), session, nil)
	if err != nil {
		return nil, err
	}
	return &Store{*s, nil}, nil
}

// holder is a writer's lock.
type holder struct{ lock *lock }

// Touch implements [sessiondb.Holder].
func (holder) Touch(ctx context.Context, q sessiondb.Querier, key int64) error {
	res, err := q.ExecContext(ctx, `UPDATE sessions SET updated = ?, revision = revision + 1 WHERE id = ? AND trashed IS NULL`, time.Now().UnixMilli(), key)
	return sessiondb.Changed(res, err, sessiondb.ErrOvertaken)
}

// Release implements [sessiondb.Holder].
func (h holder) Release() error { return h.lock.release() }

// syncAll commits something with synchronous at full. The write-ahead log is synced
// as a whole, so all that any connection has committed is then on the disk.
func syncAll(ctx context.Context, db *sql.DB, touch func(sessiondb.Querier) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var before int
	if err := conn.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&before); err != nil {
		return err
	}
	const full = 2
	if before < full {
		if _, err := conn.ExecContext(ctx, `PRAGMA synchronous = full`); err != nil {
			return err
		}
		defer func() {
			// Should this fail, the connection is slower from here on, and as safe.
			_, _ = conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA synchronous = %d`, before))
		}()
	}
	return touch(conn)
}
