package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/credential/database"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// MaxQueue is how many lines may wait to be written. When there are as many,
// Settle writes them itself, and loses its own if it cannot.
const MaxQueue = 1024

// ErrClosed is that the ledger was closed.
var ErrClosed = errors.New("the ledger of costs is closed")

// Ledger is the ledger of one home. It is safe for concurrent use, also by
// several processes with one home. Close it at the end.
type Ledger struct {
	home string
	now  func() time.Time

	// writing is held for a transaction: by one goroutine of this process at a
	// time, whose wait can end with a context. It guards file, owner, tallies and ended.
	writing chan struct{}
	file    *file
	owner   *owner
	tallies map[tallyKey]*tally
	ended   bool // the file is not opened again

	writers sync.WaitGroup // and readers
	closing chan struct{}  // closed when Close begins

	mu       sync.Mutex
	closed   bool
	queue    []entry
	waiting  int  // entries in the queue and in a transaction under way
	running  bool // a goroutine writes the queue
	accounts map[accountKey]*account
	evicted  bool // some account was dropped: one that is missing may be in the file
	lost     int  // lines that found the queue full
	why      error
}

// entry is something to write: the line of a reservation, or only its end.
type entry struct {
	line *line
	row  int64 // of the reservation in the file; 0 = it has none
}

// file is the open database.
type file struct {
	db     *sql.DB
	insert *sql.Stmt
}

// Open gives the ledger of a home directory. It reads, creates and starts nothing
// yet; an error is that home is not given.
func Open(_ context.Context, home string) (*Ledger, error) {
	if home == "" {
		return nil, errors.New("open the ledger of costs: no home directory is given")
	}
	return &Ledger{
		closing: make(chan struct{}),
		home:    home, now: time.Now, writing: make(chan struct{}, 1),
		tallies: map[tallyKey]*tally{}, accounts: map[accountKey]*account{},
	}, nil
}

// Close writes what is left, ends this ledger's reservations and closes the file.
// An error says how many lines could not be kept, now or earlier, and why. Requests still
// under way can no longer be settled.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.closing)
	l.mu.Unlock()
	l.writers.Wait()

	ctx := context.Background()
	err := l.flush(ctx)
	l.writing <- struct{}{}
	defer func() { <-l.writing }()
	l.ended = true
	err = l.losses(err)
	if l.owner != nil {
		// Without the lock whoever meets them removes them, should this fail.
		_, _ = l.file.db.ExecContext(ctx, "DELETE FROM usage_reservations WHERE owner = ?", l.owner.name)
		l.owner.end()
	}
	if l.file != nil {
		_ = l.file.insert.Close()
		err = errors.Join(err, l.file.db.Close())
	}
	return err
}

// losses are the lines that are in no file at the end: those that found the queue full,
// and, if err keeps it from being written, those in the queue.
func (l *Ledger) losses(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lost
	if err == nil {
		err = l.why
	} else {
		n += lines(l.queue)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("the costs of %s could not be kept: %w", prose.Count(n, "request"), err)
}

func lines(queue []entry) (n int) {
	for _, e := range queue {
		if e.line != nil {
			n++
		}
	}
	return n
}

// enqueue hands e to the goroutine that writes, and starts it if there is none.
// Whatever comes of it, book runs, in one step with the queue: what a snapshot
// finds booked is in the queue or in the file.
func (l *Ledger) enqueue(e entry, book func()) error {
	l.mu.Lock()
	full := l.waiting >= MaxQueue
	l.mu.Unlock()
	var err error
	if full {
		err = l.transact(context.Background(), nil, nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	book()
	switch {
	case l.closed:
		return ErrClosed
	case err != nil:
		if e.line != nil {
			l.lost, l.why = l.lost+1, err
		}
		return fmt.Errorf("the cost of a request could not be kept: %w", err)
	}
	l.queue = append(l.queue, e)
	l.waiting++
	l.startWriter()
	return nil
}

// startWriter sees to it that a goroutine writes the queue. The caller holds mu.
func (l *Ledger) startWriter() {
	if !l.running && !l.closed && len(l.queue) > 0 {
		l.running = true
		l.writers.Go(l.write)
	}
}

// gather is how long lines wait for others. The file is not opened in the moment in
// which an answer has come and its calls begin.
const gather = 200 * time.Millisecond

// write empties the queue and ends. After an error the lines stay in the queue;
// the next one, or Close, tries again.
func (l *Ledger) write() {
	t := time.NewTimer(gather)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.closing:
	}
	for {
		err := l.flush(context.Background())
		l.mu.Lock()
		if err != nil || len(l.queue) == 0 {
			l.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// flush writes the queue. It does not open the file for nothing.
func (l *Ledger) flush(ctx context.Context) error {
	l.mu.Lock()
	empty := len(l.queue) == 0
	l.mu.Unlock()
	if empty {
		return nil
	}
	return l.transact(ctx, nil, nil)
}

// transact runs work in a transaction that first writes the queue. The snapshot
// is taken, with mu held, at the moment the queue is. An error undoes everything.
func (l *Ledger) transact(ctx context.Context, snapshot func(), work func(*sql.Tx) error) (err error) {
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for the ledger of costs: %w", ctx.Err())
	}
	defer func() { <-l.writing }()

	l.mu.Lock()
	batch := l.queue
	l.queue = nil
	if snapshot != nil {
		snapshot()
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			l.waiting -= len(batch)
		} else {
			l.queue = append(batch, l.queue...)
			clear(l.tallies)      // they may count what was undone
			if ctx.Err() != nil { // the caller gave up, not the file
				l.startWriter()
			}
		}
	}()

	f, err := l.open(ctx)
	if err != nil {
		return err
	}
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write to the ledger of costs: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f.writeAll(ctx, tx, batch); err != nil {
		return err
	}
	if work != nil {
		if err := work(tx); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write to the ledger of costs: %w", err)
	}
	return nil
}

func (f *file) writeAll(ctx context.Context, tx *sql.Tx, batch []entry) error {
	insert := tx.StmtContext(ctx, f.insert)
	for _, e := range batch {
		if e.line != nil {
			if err := e.line.insert(ctx, insert); err != nil {
				return err
			}
		}
		if e.row == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM usage_reservations WHERE id = ?", e.row); err != nil {
			return fmt.Errorf("end a reservation: %w", err)
		}
	}
	return nil
}

// open gives the file and creates it where it is missing. The caller holds writing.
func (l *Ledger) open(ctx context.Context) (*file, error) {
	switch {
	case l.ended:
		return nil, ErrClosed
	case l.file != nil:
		return l.file, nil
	}
	db, err := database.Open(ctx, l.home)
	if err != nil {
		return nil, fmt.Errorf("open the ledger of costs: %w", err)
	}
	insert, err := db.PrepareContext(ctx, insertLine)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger of costs: %w", err), db.Close())
	}
	l.file = &file{db: db, insert: insert}
	return l.file, nil
}

// reader gives the database for a report, or nil if there is none yet. Close waits
// for done.
func (l *Ledger) reader(ctx context.Context) (db *sql.DB, done func(), err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, nil, ErrClosed
	}
	l.writers.Add(1)
	l.mu.Unlock()
	defer func() {
		if db == nil {
			l.writers.Done()
		}
	}()
	if err := l.flush(ctx); err != nil {
		return nil, nil, err
	}
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-l.writing }()
	if _, err := os.Stat(filepath.Join(l.home, database.FileName)); errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	f, err := l.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return f.db, l.writers.Done, nil
}

// account is what a turn or a session has spent.
type account struct {
	before llm.USD // by earlier processes, as the file says
	spent  llm.USD // by this one
	held   llm.USD
	loaded bool // before is known
	users  int  // reservations under way
	// atSnapshot is spent as of the last snapshot, when all of it is in the file.
	atSnapshot llm.USD
}

type accountKey struct{ session, turn string } // turn "" is the session's own

// maxAccounts is the most accounts in memory. When there are more, those without
// requests under way are dropped; the file has what they spent.
const maxAccounts = 4096

// account gives an account, new if there is none. The caller holds mu.
func (l *Ledger) account(k accountKey, resumed bool) *account {
	a := l.accounts[k]
	if a == nil {
		if len(l.accounts) >= maxAccounts {
			for k, a := range l.accounts {
				if a.users == 0 {
					delete(l.accounts, k)
					l.evicted = true
				}
			}
		}
		a = &account{loaded: !resumed && !l.evicted}
		l.accounts[k] = a
	}
	a.users++
	return a
}

// load reads what an account spent before, all of the queue having been written.
func (a *account) load(ctx context.Context, tx *sql.Tx, k accountKey) (before llm.USD, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(sum(counted), 0) FROM usage WHERE session = ?1 AND (?2 = '' OR turn = ?2)", k.session, k.turn).Scan(&before)
	if err != nil {
		return 0, fmt.Errorf("read what the session has cost: %w", err)
	}
	return max(0, before-a.atSnapshot), nil // less than nothing where lines were lost
}
