// Package sessiondb is what stores of sessions in SQL databases share: the tables as
// statements see them, walks over records, appends and replacements in transactions, and what
// is done when nobody knows whether a transaction was committed.
//
// A [Dialect] says how a kind of database differs, and a [Holder] is a store's right to write
// its session. The packages transcript/sqlstore and transcript/pgstore have both, make the
// tables, and give out a [Store].
//
// # The tables
//
// A row of sessions is a session: id, name, created, updated, revision and trashed, with times
// in milliseconds since 1970. A row of records is a record: session, seq and data. Places, seq,
// follow each other without a gap for as long as the session is not replaced.
package sessiondb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/burin-dev/burin/transcript"
)

// What can be wrong with a session in a database, of whatever kind.
var (
	ErrNoSession = fmt.Errorf("no such session in the database: %w", fs.ErrNotExist)
	ErrSession   = fmt.Errorf("the database has a session of that name: %w", fs.ErrExist)
	ErrTrashed   = errors.New("the session is in the trash: restore it first")
	// ErrOvertaken means that someone else has written where only one store writes.
	ErrOvertaken = errors.New("something else has changed the session: open it again")
	// ErrEmpty means that a database has no tables.
	ErrEmpty = fmt.Errorf("no sessions in the database: %w", fs.ErrNotExist)
	// ErrUnnamed means that a session was to be made without a name.
	ErrUnnamed = errors.New("it has no name")
)

// Querier is a database, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

// Dialect is how a kind of database differs from others.
type Dialect struct {
	// Rewrite makes a statement one of the database. It has parameters ?1, ?2, … and the
	// tables sessions and records. nil: it is one as it is.
	Rewrite func(statement string) string
	// Walk reads the next records of the session ?1 from the place ?2 on, in their order: seq,
	// and data or, if it has more than ?3 bytes, NULL.
	Walk string
	// WalkBytes is about what a walk reads at a time, at least one record. It holds no
	// connection while the records are looked at.
	WalkBytes int
	// Taken reports whether an error is that a row is there already.
	Taken func(error) bool
	// Means is an error with what it says of the whole database.
	Means func(error) error
	// Lost reports whether the connection was lost, so that a transaction that was being
	// committed may have been, and whoever asks again is answered by another connection. nil:
	// there is no connection that could be lost.
	Lost func(error) bool
	// Sync makes all that was committed survive a power cut. touch is to be called on what
	// commits.
	Sync func(ctx context.Context, db *sql.DB, touch func(Querier) error) error
}

func (d *Dialect) sql(statement string) string {
	if d.Rewrite == nil {
		return statement
	}
	return d.Rewrite(statement)
}

// Patience with a server: for a call, for the bytes that it carries, and for a server that is
// gone while it must say what it has committed.
const (
	patience      = 30 * time.Second
	leastRate     = 1 << 20 // bytes a second
	reconnectTime = 10 * time.Second
)

// Limit is how long a call that carries that many bytes may take: a server that has died without
// a word must not be waited for. Files have no limit.
func (d *Dialect) Limit(ctx context.Context, size int) (context.Context, context.CancelFunc) {
	if d.Lost == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience+time.Duration(size)*time.Second/leastRate)
}

// Holder is the right to write a session.
type Holder interface {
	// Touch marks the session as changed, in the transaction of a change. It fails if the
	// right was lost. Until the transaction ends, nobody else's change gets by it.
	Touch(ctx context.Context, q Querier, key int64) error
	// Release gives the right back.
	Release() error
}

// Store is a session in a database. It implements [transcript.Store].
type Store struct {
	db      *sql.DB
	d       *Dialect
	session string
	holder  Holder // nil: the store only reads
	key     int64
	next    int64 // the place of the next record
	// unsettled finds out what a transaction has left that may or may not have been committed;
	// nil: there is none.
	unsettled settler
}

var _ transcript.Store = (*Store)(nil)

// Open opens a session that the holder may write; the store owns the holder then. A holder
// that is nil opens it to read, also in the trash.
func Open(ctx context.Context, db *sql.DB, d *Dialect, session string, holder Holder) (*Store, error) {
	s := &Store{db: db, d: d, session: session, holder: holder}
	doing := "open"
	if holder == nil {
		doing = "view"
	}
	if err := s.look(ctx); err != nil && (holder != nil || !errors.Is(err, ErrTrashed)) {
		return nil, d.Fail(doing, session, err)
	}
	return s, nil
}

// Fail is the error of something that was done with a session.
func (d *Dialect) Fail(doing, session string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s session %s: %w", doing, session, d.Means(err))
}

func (s *Store) fail(doing string, err error) error { return s.d.Fail(doing, s.session, err) }

// look finds the session and its end.
func (s *Store) look(ctx context.Context) error {
	ctx, cancel := s.d.Limit(ctx, 0)
	defer cancel()
	var trashed sql.NullInt64
	err := s.db.QueryRowContext(ctx, s.d.sql(`SELECT id, trashed,
		(SELECT coalesce(max(seq) + 1, 0) FROM records WHERE session = sessions.id)
		FROM sessions WHERE name = ?1`), s.session).Scan(&s.key, &trashed, &s.next)
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

type row struct {
	seq  int64
	data []byte
}

// Records implements [transcript.Store]. If a writer replaces the session beside a store that
// only reads it, the walk ends with an error.
func (s *Store) Records(yield func(transcript.Ref, []byte) error) error {
	next, first := int64(0), true
	for {
		rows, err := s.read(next)
		if err != nil {
			return s.fail("read", err)
		}
		for _, r := range rows {
			if !first && r.seq != next {
				return s.fail("read", ErrOvertaken)
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
	ctx, cancel := s.d.Limit(context.Background(), transcript.MaxRecord)
	defer cancel()
	q, err := s.db.QueryContext(ctx, s.d.sql(s.d.Walk), s.key, from, transcript.MaxRecord)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	for size := 0; size < s.d.WalkBytes && q.Next(); {
		var r row
		if err := q.Scan(&r.seq, &r.data); err != nil {
			return nil, err
		}
		rows, size = append(rows, r), size+len(r.data)
	}
	return rows, q.Err()
}

// Read implements [transcript.Store].
func (s *Store) Read(ref transcript.Ref) ([]byte, error) {
	ctx, cancel := s.d.Limit(context.Background(), max(0, int(ref.Len)))
	defer cancel()
	var data []byte
	err := s.db.QueryRowContext(ctx, s.d.sql(`SELECT data FROM records WHERE session = ?1 AND seq = ?2`), s.key, ref.Pos).Scan(&data)
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
	if err := s.ready(); err != nil {
		return nil, s.fail("write", err)
	}
	refs, size := make([]transcript.Ref, 0, len(records)), 0
	for _, r := range records {
		if err := transcript.CheckRecord(r); err != nil {
			return nil, s.fail("write", err)
		}
		refs, size = append(refs, transcript.Ref{Pos: s.next + int64(len(refs)), Len: int32(len(r))}), size+len(r)
	}
	if len(records) == 0 {
		return refs, nil
	}
	err := s.transact(size, func(ctx context.Context, tx *sql.Tx) error {
		for i, r := range records {
			if err := s.insert(ctx, tx, refs[i].Pos, r); err != nil {
				return err
			}
		}
		return nil
	}, s.appended(records))
	if err != nil {
		return nil, s.fail("write", err)
	}
	s.next += int64(len(records))
	return refs, nil
}

// appended finds out whether the records were added. What was reported as failed is taken
// back, so that a caller who tries again has it once.
func (s *Store) appended(records [][]byte) settler {
	return func(ctx context.Context, tx *sql.Tx, reported bool) (bool, error) {
		if reported {
			_, err := tx.ExecContext(ctx, s.d.sql(`DELETE FROM records WHERE session = ?1 AND seq >= ?2`), s.key, s.next)
			return false, err
		}
		for i, want := range records {
			var got []byte
			err := tx.QueryRowContext(ctx, s.d.sql(`SELECT data FROM records WHERE session = ?1 AND seq = ?2`), s.key, s.next+int64(i)).Scan(&got)
			switch {
			case errors.Is(err, sql.ErrNoRows) && i == 0:
				return false, nil
			case err != nil && !errors.Is(err, sql.ErrNoRows):
				return false, err
			case !bytes.Equal(got, want):
				return false, ErrOvertaken
			}
		}
		return true, nil
	}
}

// ready is what a change begins with.
func (s *Store) ready() error {
	if s.holder == nil {
		return errors.New("it was opened to read")
	}
	if s.unsettled == nil {
		return nil
	}
	if _, err := s.settle(s.unsettled, true); err != nil {
		return fmt.Errorf("find out what an earlier failure has left: %w", err)
	}
	s.unsettled = nil
	return nil
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, seq int64, r []byte) error {
	_, err := tx.ExecContext(ctx, s.d.sql(`INSERT INTO records (session, seq, data) VALUES (?1, ?2, ?3)`), s.key, seq, r)
	if s.d.Taken(err) {
		return ErrOvertaken
	}
	return err
}

// settler finds out whether a transaction has happened. reported is that its caller was told
// of a failure.
type settler func(ctx context.Context, tx *sql.Tx, reported bool) (happened bool, err error)

// transact runs do in one transaction that also marks the session as changed. If the commit
// fails, settle finds out whether it has happened all the same.
func (s *Store) transact(size int, do func(context.Context, *sql.Tx) error, settle settler) error {
	ctx, cancel := s.d.Limit(context.Background(), size)
	defer cancel()
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(ctx, tx); err != nil {
		return err
	}
	err = tx.Commit()
	if err == nil {
		return nil
	}
	// A file tells by itself what a commit has left only after something else was written.
	happened, serr := s.settle(settle, s.d.Lost == nil)
	switch {
	case serr != nil:
		s.unsettled = settle
		return fmt.Errorf("%w; whether it was written is not known yet: %w", s.d.Means(err), serr)
	case happened:
		return nil
	}
	return err
}

// begin begins a transaction that changes the session.
func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := s.holder.Touch(ctx, tx, s.key); err != nil {
		return nil, errors.Join(err, rollback(tx))
	}
	return tx, nil
}

// rollback ends a transaction. That its connection is gone has ended it, too.
func rollback(tx *sql.Tx) error {
	_ = tx.Rollback()
	return nil
}

// settle asks whether a transaction has happened. It waits for a server that restarts.
func (s *Store) settle(f settler, reported bool) (happened bool, err error) {
	over := time.Now().Add(reconnectTime)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		happened, err = s.ask(f, reported)
		if err == nil || s.d.Lost == nil || !s.d.Lost(err) || time.Now().Add(wait).After(over) {
			return happened, err
		}
		<-time.After(wait)
	}
}

func (s *Store) ask(f settler, reported bool) (happened bool, err error) {
	ctx, cancel := s.d.Limit(context.Background(), 0)
	defer cancel()
	// The transaction that is asked about may not have ended yet: Touch waits for it.
	tx, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	if happened, err = f(ctx, tx, reported); err != nil {
		return false, err
	}
	return happened, tx.Commit()
}

// Sync implements [transcript.Store].
func (s *Store) Sync() error {
	if s.holder == nil {
		return nil
	}
	err := s.ready()
	if err == nil {
		ctx, cancel := s.d.Limit(context.Background(), 0)
		defer cancel()
		err = s.d.Sync(ctx, s.db, func(q Querier) error { return s.holder.Touch(ctx, q, s.key) })
	}
	return s.fail("sync", err)
}

// Replace implements [transcript.Store]. It is one transaction: the records are put behind the
// old ones, which then are deleted.
func (s *Store) Replace(records iter.Seq[[]byte]) error {
	if err := s.ready(); err != nil {
		return s.fail("replace", err)
	}
	first := s.next + 1 // the gap shows to a walk that it has gone from old to new
	next := first
	err := s.transact(transcript.MaxRecord, func(ctx context.Context, tx *sql.Tx) error {
		for r := range records {
			if err := transcript.CheckRecord(r); err != nil {
				return err
			}
			if err := s.insert(ctx, tx, next, bytes.Clone(r)); err != nil {
				return err
			}
			next++
		}
		_, err := tx.ExecContext(ctx, s.d.sql(`DELETE FROM records WHERE session = ?1 AND seq < ?2`), s.key, first)
		return err
	}, func(ctx context.Context, tx *sql.Tx, _ bool) (bool, error) {
		// The old records cannot be brought back if they are gone. Which of the two sessions
		// is there is known when the places of the records are.
		var least, end sql.NullInt64
		err := tx.QueryRowContext(ctx, s.d.sql(`SELECT min(seq), max(seq) + 1 FROM records WHERE session = ?1`), s.key).Scan(&least, &end)
		if err != nil {
			return false, err
		}
		if happened := !least.Valid || least.Int64 >= first; happened && s.d.Lost != nil {
			return true, nil
		}
		s.next = end.Int64
		return false, nil
	})
	if err != nil {
		return s.fail("replace", err)
	}
	s.next = next
	return nil
}

// Close implements [transcript.Store]. The database stays open.
func (s *Store) Close() error {
	if s.holder == nil {
		return nil
	}
	return errors.Join(s.Sync(), s.holder.Release())
}
