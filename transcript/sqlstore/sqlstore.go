// Package sqlstore keeps the records of sessions in an SQLite database, any number
// of sessions in one: for servers, and for programs that have a database anyway.
//
// [Create] starts a session and [Open] continues one; both return a
// [transcript.Store] that writes. [View] returns one that only reads, even while
// another process writes. [List] lists the sessions; [Delete] moves a session to the trash,
// [Restore] takes it back, and [Purge] empties the trash.
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
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/transcript"
)

var (
	// ErrNoSession means that there is no session of that name; it is an
	// [fs.ErrNotExist].
	ErrNoSession = fmt.Errorf("no such session in the database: %w", fs.ErrNotExist)
	// ErrSession means that there is a session of that name already; it is an
	// [fs.ErrExist].
	ErrSession = fmt.Errorf("the database has a session of that name: %w", fs.ErrExist)
	// ErrTrashed means that the session is in the trash.
	ErrTrashed = errors.New("the session is in the trash: restore it first")
	// errOvertaken means that someone else has written where only this store writes.
	errOvertaken = errors.New("something else has changed the session: open it again")
)

// Store is a session in a database. It implements [transcript.Store].
type Store struct {
	db       *sql.DB
	session  string
	key      int64
	next     int64 // the place of the next record
	readOnly bool
	lock     *lock
	broken   error // set when it is not known what the database has; ends all writing
}

var _ transcript.Store = (*Store)(nil)

// Create starts a session of that name and opens it to write.
func Create(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	if session == "" {
		return nil, errors.New("create session: it has no name")
	}
	now := time.Now().UnixMilli()
	_, err := db.ExecContext(ctx, `INSERT INTO sessions (name, created, updated) VALUES (?, ?, ?)`, session, now, now)
	if sqlfile.Code(err) == sqlite3.SQLITE_CONSTRAINT {
		return nil, fmt.Errorf("create session %s: %w", session, ErrSession)
	} else if err != nil {
		return nil, fmt.Errorf("create session %s: %w", session, sorted(err))
	}
	return Open(ctx, db, session)
}

// Open opens a session to read and append. A second writer gets
// [transcript.ErrLocked]. The context is for opening only.
func Open(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	l, err := lockSession(ctx, db, session)
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", session, sorted(err))
	}
	s := &Store{db: db, session: session, lock: l}
	if err := s.look(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open session %s: %w", session, sorted(err)), l.release())
	}
	return s, nil
}

// View opens a session to read; another may write it meanwhile.
func View(ctx context.Context, db *sql.DB, session string) (*Store, error) {
	s := &Store{db: db, session: session, readOnly: true}
	if err := s.look(ctx); err != nil && !errors.Is(err, ErrTrashed) {
		return nil, fmt.Errorf("view session %s: %w", session, sorted(err))
	}
	return s, nil
}

// look finds the session and its end.
func (s *Store) look(ctx context.Context) error {
	var trashed sql.NullInt64
	err := s.db.QueryRowContext(ctx, `SELECT id, trashed,
		(SELECT coalesce(max(seq) + 1, 0) FROM records WHERE session = sessions.id)
		FROM sessions WHERE name = ?`, s.session).Scan(&s.key, &trashed, &s.next)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoSession
	case err != nil:
		return err
	case trashed.Valid:
		return ErrTrashed
	}
	return nil
}

// A walk reads this much at a time, at least one record, and holds no connection
// while the records are looked at.
const (
	walkRecords = 256
	walkBytes   = 256 << 10
)

type row struct {
	seq  int64
	data []byte
}

// Records implements [transcript.Store]. If a writer replaces the session beside
// a [View] that reads it, the walk ends with an error.
func (s *Store) Records(yield func(transcript.Ref, []byte) error) error {
	next, first := int64(0), true
	for {
		rows, err := s.read(next)
		if err != nil {
			return s.fail("read", err)
		}
		for _, r := range rows {
			if !first && r.seq != next {
				return s.fail("read", errOvertaken)
			}
			first, next = false, r.seq+1
			ref := transcript.Ref{Pos: r.seq, Len: int32(len(r.data))}
			if r.data == nil {
				ref.Len, r.data = -1, transcript.LongRecord()
			}
			if err := yield(ref, r.data); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
	}
}

func (s *Store) read(from int64) (rows []row, err error) {
	q, err := s.db.QueryContext(context.Background(),
		`SELECT seq, CASE WHEN length(data) <= ? THEN data END FROM records WHERE session = ? AND seq >= ? ORDER BY seq LIMIT ?`,
		transcript.MaxRecord, s.key, from, walkRecords)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	for size := 0; size < walkBytes && q.Next(); {
		var r row
		if err := q.Scan(&r.seq, &r.data); err != nil {
			return nil, err
		}
		rows, size = append(rows, r), size+len(r.data)
	}
	return rows, q.Err()
}

func (s *Store) fail(doing string, err error) error {
	return fmt.Errorf("%s session %s: %w", doing, s.session, sorted(err))
}

// Read implements [transcript.Store].
func (s *Store) Read(ref transcript.Ref) ([]byte, error) {
	var data []byte
	err := s.db.QueryRowContext(context.Background(),
		`SELECT data FROM records WHERE session = ? AND seq = ?`, s.key, ref.Pos).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(data) != int(ref.Len) {
		err = errors.New("no such record")
	}
	if err != nil {
		return nil, s.fail("read", err)
	}
	return data, nil
}

// Append implements [transcript.Store].
func (s *Store) Append(records ...[]byte) ([]transcript.Ref, error) {
	if err := s.writable(); err != nil {
		return nil, s.fail("write", err)
	}
	refs := make([]transcript.Ref, 0, len(records))
	for _, r := range records {
		if err := transcript.CheckRecord(r); err != nil {
			return nil, s.fail("write", err)
		}
		refs = append(refs, transcript.Ref{Pos: s.next + int64(len(refs)), Len: int32(len(r))})
	}
	if len(records) == 0 {
		return refs, nil
	}
	err := s.transact(func(tx *sql.Tx) error {
		for i, r := range records {
			if err := s.insert(tx, refs[i].Pos, r); err != nil {
				return err
			}
		}
		return nil
	}, func(tx *sql.Tx) error {
		// A commit that failed as it seemed may have happened all the same.
		_, err := tx.Exec(`DELETE FROM records WHERE session = ? AND seq >= ?`, s.key, s.next)
		return err
	})
	if err != nil {
		return nil, s.fail("write", err)
	}
	s.next += int64(len(records))
	return refs, nil
}

func (s *Store) writable() error {
	if s.readOnly {
		return errors.New("it was opened to read")
	}
	return s.broken
}

func (s *Store) insert(tx *sql.Tx, seq int64, r []byte) error {
	_, err := tx.Exec(`INSERT INTO records (session, seq, data) VALUES (?, ?, ?)`, s.key, seq, r)
	if sqlfile.Code(err) == sqlite3.SQLITE_CONSTRAINT {
		return errOvertaken
	}
	return err
}

// transact runs do in one transaction that also marks the session as changed. If
// the commit fails, undo makes sure that it has not happened.
func (s *Store) transact(do, undo func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := s.touch(tx); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	err = tx.Commit()
	if err == nil {
		return nil
	}
	if uerr := s.undo(undo); uerr != nil {
		s.broken = fmt.Errorf("it is not known what an earlier failure has left: open it again (%w)", uerr)
	}
	return err
}

func (s *Store) undo(undo func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := undo(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// touch marks the session as changed. It finds out whether it is still there.
func (s *Store) touch(tx interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
},
) error {
	res, err := tx.ExecContext(context.Background(),
		`UPDATE sessions SET updated = ?, revision = revision + 1 WHERE id = ? AND trashed IS NULL`, time.Now().UnixMilli(), s.key)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errOvertaken, err)
	}
	return nil
}

// Sync implements [transcript.Store].
func (s *Store) Sync() error {
	if s.readOnly {
		return nil
	}
	if err := s.sync(); err != nil {
		return s.fail("sync", err)
	}
	return nil
}

// sync commits something with synchronous at full. The write-ahead log is synced
// as a whole, so all that any connection has committed is then on the disk.
func (s *Store) sync() (err error) {
	ctx := context.Background()
	conn, err := s.db.Conn(ctx)
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
	return s.touch(conn)
}

// Replace implements [transcript.Store]. It is one transaction: the records are
// put behind the old ones, which then are deleted. Other writers of the database
// wait meanwhile, so a caller that makes its records slowly makes them first.
func (s *Store) Replace(records iter.Seq[[]byte]) error {
	if err := s.writable(); err != nil {
		return s.fail("replace", err)
	}
	first := s.next + 1 // the gap shows to a walk that it has gone from old to new
	next := first
	err := s.transact(func(tx *sql.Tx) error {
		for r := range records {
			if err := transcript.CheckRecord(r); err != nil {
				return err
			}
			if err := s.insert(tx, next, bytes.Clone(r)); err != nil {
				return err
			}
			next++
		}
		_, err := tx.Exec(`DELETE FROM records WHERE session = ? AND seq < ?`, s.key, first)
		return err
	}, func(tx *sql.Tx) error {
		// The old records cannot be brought back if they are gone. Which of the two
		// sessions is there is known when the place of the first record is.
		return tx.QueryRow(`SELECT coalesce(max(seq) + 1, 0) FROM records WHERE session = ?`, s.key).Scan(&s.next)
	})
	if err != nil {
		return s.fail("replace", err)
	}
	s.next = next
	return nil
}

// Close implements [transcript.Store]. The database stays open.
func (s *Store) Close() error {
	if s.readOnly {
		return nil
	}
	return errors.Join(s.Sync(), s.lock.release())
}
