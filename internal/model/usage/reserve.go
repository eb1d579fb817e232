package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Reservation holds a place for one request. Exactly one of Settle and Release
// ends it; Release after Settle does nothing, so that it can be deferred.
type Reservation struct {
	l        *Ledger
	scope    Scope
	model    *llm.Model
	amount   llm.USD
	began    time.Time
	accounts []held
	row      int64 // in the file; 0 = none
	near     []Nearly

	mu    sync.Mutex
	ended bool
}

type held struct {
	key   accountKey
	which Which
	limit llm.USD
	*account
}

// Reserve holds a place for a request, or says why there is none: a [*LimitError],
// a [*PriceError], [ErrClosed], or that the file could not be read or written.
// What a reservation holds is the [Estimate] of the plan.
func (l *Ledger) Reserve(ctx context.Context, s Scope, lim Limits, p Plan) (*Reservation, error) {
	estimate, known := Estimate(p.Model, p.PromptTokens, p.MaxOutput)
	if !known && lim.any() && !lim.AllowUnknown {
		return nil, &PriceError{Model: p.Model.Ref()}
	}
	if free(p.Model.Price) {
		lim = Limits{}
	}
	r := &Reservation{l: l, scope: s, model: p.Model, amount: estimate, began: l.now()}
	load, err := r.enter(lim)
	if err != nil {
		return nil, err
	}
	isHeld := false
	if !load && !lim.shared() {
		err = r.hold()
	} else {
		isHeld, err = r.holdInFile(ctx, lim)
	}
	if err == nil {
		return r, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if isHeld {
		r.unhold(0)
	} else {
		r.leave()
	}
	return nil, err
}

// Nearly are the limits of which most was spent before this request.
func (r *Reservation) Nearly() []Nearly { return r.near }

// How often a request that waits for others looks again, and how long it waits at
// most. Those of dead processes are removed when it looks.
const (
	firstLook = 100 * time.Millisecond
	slowLook  = 2 * time.Second
	maxWait   = time.Hour
)

// ReserveOrWait is Reserve for a request that can wait: while others that are under
// way hold what a limit leaves, it waits for them, and tells waiting so, once. It
// ends with the context's cause, or after an hour with the [*LimitError].
func (l *Ledger) ReserveOrWait(ctx context.Context, s Scope, lim Limits, p Plan, waiting func(*LimitError)) (*Reservation, error) {
	began, pause := l.now(), firstLook
	for first := true; ; first = false {
		r, err := l.Reserve(ctx, s, lim, p)
		var full *LimitError
		if !errors.As(err, &full) || !full.Temporary() || l.now().Sub(began) > maxWait {
			return r, err
		}
		if first && waiting != nil {
			waiting(full)
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		case <-l.closing:
			t.Stop()
			return nil, ErrClosed
		}
		pause = min(pause*3/2, slowLook)
	}
}

// enter finds the accounts of a reservation and says whether one that has a limit
// must be read from the file.
func (r *Reservation) enter(lim Limits) (load bool, err error) {
	l, s := r.l, r.scope
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, ErrClosed
	}
	if s.Turn != "" {
		k := accountKey{s.Session, s.Turn}
		r.accounts = append(r.accounts, held{k, LimitTurn, lim.Turn, l.account(k, s.Resumed)})
	}
	k := accountKey{session: s.Session}
	r.accounts = append(r.accounts, held{k, LimitSession, lim.Session, l.account(k, s.Resumed)})
	for _, a := range r.accounts {
		load = load || a.limit > 0 && !a.loaded
	}
	return load, nil
}

// leave undoes enter. The caller holds mu.
func (r *Reservation) leave() {
	for _, a := range r.accounts {
		a.users--
	}
}

// hold checks the limits in memory and takes the place there.
func (r *Reservation) hold() error {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	for _, a := range r.accounts {
		if spent := a.before + a.spent; a.limit > 0 && spent+a.held >= a.limit {
			return &LimitError{Which: a.which, Limit: a.limit, Spent: spent, Held: a.held}
		}
	}
	for _, a := range r.accounts {
		if spent := a.before + a.spent; nearly(spent, a.limit) {
			r.near = append(r.near, Nearly{a.which, a.limit, spent})
		}
		a.held += r.amount
	}
	return nil
}

// unhold undoes hold and enter, and adds what was spent. The caller holds mu.
func (r *Reservation) unhold(spent llm.USD) {
	for _, a := range r.accounts {
		a.held -= r.amount
		a.spent += spent
	}
	r.leave()
}

// holdInFile checks all limits and takes the place in memory and, for the limits
// that processes share, in the file. It says whether the place in memory is taken,
// also with an error.
func (r *Reservation) holdInFile(ctx context.Context, lim Limits) (isHeld bool, err error) {
	var refused error // kept apart: the queue is written all the same
	err = r.l.transact(ctx, func() {
		for _, a := range r.accounts {
			a.atSnapshot = a.spent
		}
	}, func(tx *sql.Tx) error {
		if err := r.loadAccounts(ctx, tx); err != nil {
			return err
		}
		refused = r.hold()
		isHeld = refused == nil
		if refused != nil || !lim.shared() {
			return nil
		}
		var err error
		if refused, err = r.l.checkShared(ctx, tx, r, lim); err != nil || refused != nil {
			return err
		}
		r.row, err = r.l.insertReservation(ctx, tx, r)
		return err
	})
	if err != nil {
		return isHeld, fmt.Errorf("the cost limit cannot be checked: %w", err)
	}
	return isHeld, refused
}

// loadAccounts reads what earlier processes spent.
func (r *Reservation) loadAccounts(ctx context.Context, tx *sql.Tx) error {
	for _, a := range r.accounts {
		if a.limit == 0 {
			continue
		}
		r.l.mu.Lock()
		loaded := a.loaded
		r.l.mu.Unlock()
		if loaded {
			continue
		}
		before, err := a.load(ctx, tx, a.key)
		if err != nil {
			return err
		}
		r.l.mu.Lock()
		a.before, a.loaded = before, true
		r.l.mu.Unlock()
	}
	return nil
}

// checkShared checks the limits that processes share. Before it refuses it frees
// what dead processes hold.
func (l *Ledger) checkShared(ctx context.Context, tx *sql.Tx, r *Reservation, lim Limits) (refused, err error) {
	if l.owner == nil {
		if l.owner, err = newOwner(l.home); err != nil {
			return nil, err
		}
		if err := l.sweep(ctx, tx); err != nil {
			return nil, err
		}
	}
	refused, err = l.checkOnce(ctx, tx, r, lim)
	if refused == nil || err != nil {
		return nil, err
	}
	if err := l.sweep(ctx, tx); err != nil {
		return nil, err
	}
	return l.checkOnce(ctx, tx, r, lim)
}

func (l *Ledger) checkOnce(ctx context.Context, tx *sql.Tx, r *Reservation, lim Limits) (refused, err error) {
	year, month, _ := r.began.Local().Date()
	for _, c := range []struct {
		which   Which
		limit   llm.USD
		project string
	}{{LimitProject, lim.Project, r.scope.Project}, {LimitMonth, lim.Month, ""}} {
		if c.limit == 0 || c.which == LimitProject && c.project == "" {
			continue
		}
		project := stored(c.project)
		spent, err := l.settled(ctx, tx, tallyKey{month: year*100 + int(month), project: project})
		if err != nil {
			return nil, err
		}
		var held llm.USD
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(sum(amount), 0) FROM usage_reservations WHERE ?1 = '' OR project = ?1", project).Scan(&held); err != nil {
			return nil, fmt.Errorf("read the reservations: %w", err)
		}
		if nearly(spent, c.limit) && !slices.ContainsFunc(r.near, func(n Nearly) bool { return n.Which == c.which }) {
			r.near = append(r.near, Nearly{c.which, c.limit, spent})
		}
		if spent+held >= c.limit {
			return &LimitError{Which: c.which, Limit: c.limit, Spent: spent, Held: held, Resets: time.Date(year, month+1, 1, 0, 0, 0, 0, time.Local)}, nil
		}
	}
	return nil, nil
}

// tally is the sum of the lines up to one of them. Lines are only ever added, and
// in the order of their ids, so the next sum begins where the last one ended.
type tally struct {
	last int64
	sum  llm.USD
}

type tallyKey struct {
	month   int    // YYYYMM
	project string // "" is all
}

// maxTallies is the most sums kept; beyond it they are made anew.
const maxTallies = 64

// settled is what a month's lines count, of one project or all.
func (l *Ledger) settled(ctx context.Context, tx *sql.Tx, k tallyKey) (llm.USD, error) {
	// The plus signs keep the second query on the ids; the first is answered by
	// the index of days alone.
	query := "SELECT coalesce(sum(counted), 0), max(?1, (SELECT coalesce(max(id), 0) FROM usage)) FROM usage WHERE day BETWEEN ?2 AND ?3 AND (?4 = '' OR project = ?4)"
	t := l.tallies[k]
	if t == nil {
		if len(l.tallies) >= maxTallies {
			clear(l.tallies)
		}
		t = &tally{}
		l.tallies[k] = t
	} else {
		query = "SELECT coalesce(sum(counted), 0), max(?1, (SELECT coalesce(max(id), 0) FROM usage)) FROM usage WHERE id > ?1 AND +day BETWEEN ?2 AND ?3 AND (?4 = '' OR +project = ?4)"
	}
	var more llm.USD
	var last int64
	if err := tx.QueryRowContext(ctx, query, t.last, k.month*100, k.month*100+99, k.project).Scan(&more, &last); err != nil {
		return 0, fmt.Errorf("add up the costs of the month: %w", err)
	}
	t.sum, t.last = t.sum+more, last
	return t.sum, nil
}

func (l *Ledger) insertReservation(ctx context.Context, tx *sql.Tx, r *Reservation) (int64, error) {
	res, err := tx.ExecContext(ctx, "INSERT INTO usage_reservations (owner, project, amount) VALUES (?, ?, ?)", l.owner.name, stored(r.scope.Project), int64(r.amount))
	if err != nil {
		return 0, fmt.Errorf("write a reservation: %w", err)
	}
	return res.LastInsertId()
}

// sweep removes the reservations of dead processes, and their locks.
func (l *Ledger) sweep(ctx context.Context, tx *sql.Tx) error {
	names := map[string]bool{}
	for _, name := range owners(l.home) {
		names[name] = true
	}
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT owner FROM usage_reservations")
	if err != nil {
		return fmt.Errorf("read the reservations: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("read the reservations: %w", err)
		}
		names[name] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the reservations: %w", err)
	}
	delete(names, l.owner.name)
	for name := range names {
		if !dead(l.home, name) {
			continue
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM usage_reservations WHERE owner = ?", name); err != nil {
			return fmt.Errorf("free the reservations of a process that ended: %w", err)
		}
	}
	return nil
}

// end marks the reservation ended and says whether it was not before.
func (r *Reservation) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.ended
	r.ended = true
	return !was
}

// Settle ends the reservation with what the request cost. The line is in the file
// when the ledger is closed, and in general a moment later. An error says that
// the line is lost, which [Ledger.Close] says too; limits of the turn and the session
// count it all the same.
func (r *Reservation) Settle(rec Record) error {
	if !r.end() {
		return errors.New("settle the cost of a request: it is settled or released already")
	}
	line := newLine(r.complete(rec), r.amount)
	return r.l.enqueue(entry{line: &line, row: r.row}, func() { r.unhold(line.counted) })
}

// complete fills what the record leaves to its reservation.
func (r *Reservation) complete(rec Record) Record {
	fill := func(to *string, v string) {
		if *to == "" {
			*to = v
		}
	}
	fill(&rec.Session, r.scope.Session)
	fill(&rec.Project, r.scope.Project)
	fill(&rec.Turn, r.scope.Turn)
	fill(&rec.Provider, r.model.Provider)
	fill(&rec.Model, r.model.ID)
	fill(&rec.Purpose, PurposeTurn)
	if rec.Time.IsZero() {
		rec.Time = r.began
	}
	return rec
}

// Release ends the reservation of a request that cost nothing: it was never sent,
// or the vendor refused it.
func (r *Reservation) Release() {
	if !r.end() {
		return
	}
	if r.row != 0 {
		// What cannot be removed now is removed by Close or after the process.
		_ = r.l.enqueue(entry{row: r.row}, func() { r.unhold(0) })
		return
	}
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	r.unhold(0)
}
