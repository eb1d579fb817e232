package pgstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/internal/sessiondb"
)

// leaseTime is how long a session stays with a writer that is not heard of: as long as another
// one waits after a crash. The writer renews it three times in that time.
const leaseTime = 15 * time.Second

// ErrTakenOver means that another process writes the session now, because this one had not
// renewed its lease. Nothing was written.
var ErrTakenOver = errors.New("another burin has taken the session over, because this one was stopped or cut off for too long: open it again")

// errNone is that a statement has changed nothing.
var errNone = errors.New("nothing was changed")

// Locked is a [transcript.ErrLocked] that says who has the session open.
type Locked struct {
	Owner string        // machine and process
	Left  time.Duration // until the lease ends, unless it is renewed

	row, life string // of the owner, in the table; see [ended]
}

func (l *Locked) Error() string {
	return fmt.Sprintf("%v: %s, which must renew its lease within %d s", transcript.ErrLocked, l.Owner, int(l.Left.Round(time.Second)/time.Second))
}

// Unwrap gives [transcript.ErrLocked].
func (l *Locked) Unwrap() error { return transcript.ErrLocked }

// free is the condition that nobody has a lease.
const free = `(owner IS NULL OR expires < ` + now + `)`

// lease is a store's right to write its session.
type lease struct {
	db      *sql.DB
	session string
	owner   string // in the table; no two leases have the same
	time    time.Duration
	key     int64
	token   int64
	gone    atomic.Bool // another has the session
	stop    context.CancelFunc
	done    chan struct{} // is closed when the lease is not renewed any more
}

var _ sessiondb.Holder = (*lease)(nil)

func open(ctx context.Context, db *sql.DB, session string, length time.Duration) (*Store, error) {
	l := &lease{db: db, session: session, owner: processName() + "\n" + life() + "\n" + rand.Text(), time: length, done: make(chan struct{})}
	if err := l.take(ctx); err != nil {
		return nil, dialect().Fail("open", session, err)
	}
	s, err := sessiondb.Open(ctx, db, dialect(), session, l)
	if err != nil {
		close(l.done)
		return nil, errors.Join(err, l.give(ctx))
	}
	renewing, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.renew(renewing)
	return &Store{*s, l}, nil
}

// processName tells a person which process this is.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

// take begins the lease. The driver may send the statement again if it hears no answer, so the
// lease may be there already.
func (l *lease) take(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*leaseTime) // a writer that was stopped may hold the row for as long as its lease
	defer cancel()
	err := l.claim(ctx, l.owner)
	held, locked := errors.AsType[*Locked](err)
	if locked && ended(held.life) {
		return l.claim(ctx, held.row)
	}
	return err
}

// claim takes the session if nobody has it, or the owner that is given.
func (l *lease) claim(ctx context.Context, from string) error {
	err := l.db.QueryRowContext(ctx, `UPDATE burin.sessions SET owner = $2, token = token + 1, expires = `+now+` + $3
		WHERE name = $1 AND trashed IS NULL AND (owner = $2 OR owner = $4 OR `+free+`) RETURNING id, token`,
		l.session, l.owner, l.time.Milliseconds(), from).Scan(&l.key, &l.token)
	if errors.Is(err, sql.ErrNoRows) {
		return refusal(ctx, l.db, l.session)
	}
	return err
}

// refusal is why a session cannot be changed.
func refusal(ctx context.Context, q sessiondb.Querier, session string) error {
	var trashed sql.NullInt64
	var owner sql.NullString
	var left int64
	err := q.QueryRowContext(ctx, `SELECT trashed, owner, expires - `+now+` FROM burin.sessions WHERE name = $1`, session).Scan(&trashed, &owner, &left)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoSession
	case err != nil:
		return err
	case trashed.Valid:
		return ErrTrashed
	}
	who, rest, _ := strings.Cut(owner.String, "\n")
	life, _, _ := strings.Cut(rest, "\n")
	return &Locked{Owner: who, Left: max(0, time.Duration(left)*time.Millisecond), row: owner.String, life: life}
}

// Touch implements [sessiondb.Holder]. It locks the row, so that nobody else takes the session
// before the transaction ends. If this process vanishes within it, the server ends it.
func (l *lease) Touch(ctx context.Context, q sessiondb.Querier, key int64) error {
	if l.gone.Load() {
		return ErrTakenOver
	}
	var limit string
	err := q.QueryRowContext(ctx, `UPDATE burin.sessions SET updated = `+now+`, revision = revision + 1, expires = `+now+` + $3
		WHERE id = $1 AND token = $2 AND trashed IS NULL
		RETURNING set_config('idle_in_transaction_session_timeout', $3::bigint::text, true)`,
		key, l.token, l.time.Milliseconds()).Scan(&limit)
	if errors.Is(err, sql.ErrNoRows) {
		return l.lost(ctx, q)
	}
	return err
}

// lost is why the session is not this lease's any more.
func (l *lease) lost(ctx context.Context, q sessiondb.Querier) error {
	var token int64
	err := q.QueryRowContext(ctx, `SELECT token FROM burin.sessions WHERE id = $1`, l.key).Scan(&token)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	case err != nil || token == l.token: // it is gone, or in the trash
		return sessiondb.ErrOvertaken
	}
	l.gone.Store(true)
	return ErrTakenOver
}

// renew keeps the lease until ctx ends or another has the session. A server that is away is
// asked again sooner.
func (l *lease) renew(ctx context.Context) {
	defer close(l.done)
	wait := l.time / 3
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		once, cancel := context.WithTimeout(ctx, l.time/3)
		res, err := l.db.ExecContext(once, `UPDATE burin.sessions SET expires = `+now+` + $3 WHERE id = $1 AND token = $2`, l.key, l.token, l.time.Milliseconds())
		if err = sessiondb.Changed(res, err, errNone); errors.Is(err, errNone) {
			err = l.lost(once, l.db)
		}
		cancel()
		if errors.Is(err, ErrTakenOver) {
			return
		}
		if wait = l.time / 3; err != nil {
			wait = l.time / 10
		}
	}
}

// Release implements [sessiondb.Holder].
func (l *lease) Release() error {
	l.stop()
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), leaseTime)
	defer cancel()
	return dialect().Fail("close", l.session, l.give(ctx))
}

// give ends the lease at the server. Nothing happens if another has the session.
func (l *lease) give(ctx context.Context) error {
	_, err := l.db.ExecContext(ctx, `UPDATE burin.sessions SET owner = NULL, expires = 0 WHERE id = $1 AND token = $2`, l.key, l.token)
	return err
}
