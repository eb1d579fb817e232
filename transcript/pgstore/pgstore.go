// Package pgstore keeps the records of sessions in a PostgreSQL database, any number of
// sessions in one: for servers, and for people who work on several machines.
//
// [Connect] gives the database behind an address. [Create] starts a session and [Open]
// continues one; both return a [transcript.Store] that writes. [View] returns one that only
// reads, even while another process writes. [List] lists the sessions; [Delete] moves a
// session to the trash, [Restore] takes it back, and [Purge] removes it for good.
//
// # The database
//
// The tables are in a schema of their own, burin, which [Init] makes: other tables of the
// database don't matter. The role needs CREATE on the database for that once, and later
// nothing but its own tables. A store takes a connection of the pool for the time of a call,
// and one for a moment when it renews its lease. No setting of a connection outlives a
// transaction, so that a pooler such as PgBouncer may stand in between.
//
// # What is promised
//
// An Append is one transaction and is acknowledged after its commit: on reopening all of its
// records are there or none, and none is ever torn. If the connection breaks during the commit,
// the store connects again and looks whether the records are in their places; if that cannot
// be found out for a while, the append fails, and what it may have left is removed before the
// next one. Records survive what the server's commits survive: with its synchronous_commit off,
// a crash of the server may take those appended since the last Sync, which commits with it on.
//
// A session has one writer. It holds a lease, which it renews, and which everybody else waits
// for: [transcript.ErrLocked] comes as a [*Locked], which says who has it and for how long.
// Where the system can tell, the lease of a process of the same machine ends with it.
// With every lease comes a new token, and every change is conditional on the token in the same
// transaction. A process that was stopped for longer than its lease continues if nobody has
// taken the session over; otherwise it changes nothing and gets [ErrTakenOver]. All times are
// the server's.
package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/lib/pq/pqerror"

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
	lease *lease
}

type shared = sessiondb.Store

var _ transcript.Store = (*Store)(nil)

// now is the server's time in milliseconds since 1970.
const now = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// rewrite makes a statement that all databases share one of PostgreSQL.
func rewrite(statement string) string {
	return strings.NewReplacer("?", "$", "sessions", "burin.sessions", "records", "burin.records").Replace(statement)
}

// walkBytes is more than a file would want: a server may be far away.
const walkBytes = 1 << 20

// dialect is what is PostgreSQL's own.
func dialect() *sessiondb.Dialect {
	return &sessiondb.Dialect{
		Rewrite: rewrite,
		// What is not asked for is not sent: who stops reading reads the rest all the same.
		Walk: `SELECT seq, CASE WHEN length(data) <= ?3 THEN data END FROM (
				SELECT seq, data, sum(length(data)) OVER (ORDER BY seq) - length(data) AS before
				FROM (SELECT seq, data FROM records WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT 4096) AS next
			) AS summed WHERE before < ` + strconv.Itoa(walkBytes) + ` ORDER BY seq`,
		WalkBytes: walkBytes,
		Taken:     func(err error) bool { return state(err) == pqerror.UniqueViolation },
		Means:     Means,
		Lost:      lost,
		Sync:      syncAll,
	}
}

// Create starts a session of that name and opens it to write.
func Create(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	err := sessiondb.Begin(ctx, db, dialect(), session,
		`INSERT INTO burin.sessions (name, created, updated) VALUES ($1, `+now+`, `+now+`)`)
	if err != nil {
		return nil, err
	}
	return Open(ctx, db, session)
}

// Open opens a session to read and append. A second writer gets a [*Locked]. The context is
// for opening only.
func Open(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	return open(ctx, db, session, leaseTime)
}

// View opens a session to read; another may write it meanwhile.
func View(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	s, err := sessiondb.Open(ctx, db, dialect(), session, nil)
	if err != nil {
		return nil, err
	}
	return &Store{*s, nil}, nil
}

// syncAll commits something with synchronous_commit on. The log is written as a whole, so all
// that was committed before is then on the disk.
func syncAll(ctx context.Context, db *sql.DB, touch func(sessiondb.Querier) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := touch(tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `SET LOCAL synchronous_commit = on`); err != nil {
		return err
	}
	return tx.Commit()
}

// Info is what is known of a session without reading its records.
type Info = sessiondb.Info

// List returns all sessions, the last updated first, those in the trash among them.
func List(ctx context.Context, db *sql.DB) ([]Info, error) {
	return sessiondb.List(ctx, db, dialect())
}

// Delete moves a session to the trash. One that is being written is refused with a [*Locked].
func Delete(ctx context.Context, db *sql.DB, session string) error {
	return change(ctx, db, "delete", session,
		`UPDATE burin.sessions SET trashed = `+now+`, revision = revision + 1 WHERE name = $1 AND trashed IS NULL AND `+free, false)
}

// Restore takes a session out of the trash.
func Restore(ctx context.Context, db *sql.DB, session string) error {
	return change(ctx, db, "restore", session,
		`UPDATE burin.sessions SET trashed = NULL, revision = revision + 1 WHERE name = $1 AND trashed IS NOT NULL`, true)
}

// Purge removes a session that is in the trash, for good.
func Purge(ctx context.Context, db *sql.DB, session string) error {
	return sessiondb.Purge(ctx, db, dialect(), session)
}

// change runs a statement that changes one session while nobody writes it.
func change(ctx context.Context, db *sql.DB, doing, session, statement string, trashed bool) error {
	ctx, cancel := dialect().Limit(ctx, 0)
	defer cancel()
	res, err := db.ExecContext(ctx, statement, session)
	err = sessiondb.Changed(res, err, errNone)
	if errors.Is(err, errNone) {
		if err = refusal(ctx, db, session); trashed || errors.Is(err, ErrTrashed) {
			err = ErrNoSession
		}
	}
	return dialect().Fail(doing, session, err)
}
