package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/credential/database"
	"github.com/burin-dev/burin/llm"
)

func TestOpenTouchesNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	ctx := context.Background()
	l := open(t, home)
	r, err := l.Reserve(ctx, Scope{Session: "s", Turn: "1", Project: "/p"}, Limits{Turn: cent, Session: cent}, plan(cent))
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	table, err := l.Report(ctx, Query{})
	if err != nil || len(table.Rows) != 0 {
		t.Errorf("report %v, %v", table, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was created: %v", err)
	}
	if _, err := Open(ctx, ""); err == nil {
		t.Error("a ledger without a home was opened")
	}
}

func TestSettledIsInTheFileAtClose(t *testing.T) {
	home := t.TempDir()
	l := open(t, home)
	began := time.Date(2026, 11, 22, 13, 14, 15, 0, time.Local)
	r, err := l.Reserve(context.Background(), Scope{Session: "s", Project: "/src/p", Turn: "3"}, Limits{}, plan(cent))
	if err != nil {
		t.Fatal(err)
	}
	err = r.Settle(Record{
		Time: began, Account: "work", Purpose: PurposeRetry, StopReason: llm.StopError, Duration: 1500 * time.Millisecond, FirstToken: 250 * time.Microsecond,
		Usage: llm.Usage{
			Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWriteLong: 1, Reasoning: 1, WebSearches: 5, WebFetches: 6,
			Cost: &llm.Cost{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Tools: 50, Total: 150, Unreliable: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(Record{}); err == nil {
		t.Error("a request was settled twice")
	}
	r.Release() // does nothing
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	rows, err := read(t, home).Query("SELECT * FROM usage")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatalf("no line: %v", err)
	}
	got, into := make([]any, len(names)), make([]any, len(names))
	for i := range got {
		into[i] = &got[i]
	}
	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}
	line := map[string]string{}
	for i, n := range names {
		line[n] = fmt.Sprint(got[i])
	}
	want := map[string]string{
		"id": "1", "time": fmt.Sprint(began.UnixMilli()), "day": "20261122", "session": "s", "project": "/src/p", "turn": "3",
		"provider": "acme", "model": "m", "account": "work", "purpose": "retry", "stop": "error",
		"input": "1", "output": "2", "cache_read": "3", "cache_write": "4", "cache_write_long": "1", "reasoning": "1", "web_searches": "5", "web_fetches": "6",
		"cost_input": "10", "cost_output": "20", "cost_cache_read": "30", "cost_cache_write": "40", "cost_tools": "50", "cost": "150",
		"unknown": "0", "unreliable": "1", "counted": "150", "duration": "1500000", "first_token": "250",
	}
	if d := cmp.Diff(want, line); d != "" {
		t.Error(d)
	}
}

func TestLimits(t *testing.T) {
	scope := Scope{Session: "s", Project: "/p", Turn: "1"}
	tests := []struct {
		name   string
		limits Limits
		other  Scope // whose 60 cents were spent before
		which  Which // "" = nothing is refused
		says   string
	}{
		{"turn", Limits{Turn: 50 * cent}, scope, LimitTurn, "the turn's cost limit of $0.5000 is reached: $0.6000 spent; raise limits.turn in config.yml to go on"},
		{"another turn", Limits{Turn: 50 * cent}, Scope{Session: "s", Project: "/p", Turn: "0"}, "", ""},
		{"no turn", Limits{Turn: 50 * cent}, Scope{Session: "s", Project: "/p"}, "", ""},
		{"session", Limits{Session: 50 * cent}, Scope{Session: "s", Turn: "0"}, LimitSession, "limits.session"},
		{"another session", Limits{Session: 50 * cent}, Scope{Session: "z", Turn: "1"}, "", ""},
		{"project", Limits{Project: 50 * cent}, Scope{Session: "z", Project: "/p"}, LimitProject, "limits.project in config.yml to go on, or wait until 1 December 2026"},
		{"another project", Limits{Project: 50 * cent}, Scope{Session: "z", Project: "/p2"}, "", ""},
		{"month", Limits{Month: 50 * cent}, Scope{Session: "z", Project: "/p2"}, LimitMonth, "limits.month"},
		{"enough of all", Limits{Turn: 61 * cent, Session: 61 * cent, Project: 61 * cent, Month: 61 * cent}, scope, "", ""},
		{"the narrowest first", Limits{Turn: 50 * cent, Session: 50 * cent, Project: 50 * cent, Month: 50 * cent}, scope, LimitTurn, "limits.turn"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, t.TempDir())
			l.now = func() time.Time { return november }
			ctx := context.Background()
			if err := request(ctx, l, tt.other, Limits{}, cent, 60*cent); err != nil {
				t.Fatal(err)
			}
			r, err := l.Reserve(ctx, scope, tt.limits, plan(cent))
			if tt.which == "" {
				if err != nil {
					t.Fatal(err)
				}
				r.Release()
				return
			}
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Which != tt.which || limit.Spent != 60*cent || limit.Temporary() {
				t.Fatalf("error %v, want the limit of the %s", err, tt.which)
			}
			if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, tt.says)
			}
			for k, a := range l.accounts {
				if a.held != 0 || a.users != 0 {
					t.Errorf("the refused request still holds %s of %v", a.held, k)
				}
			}
			// A model that costs nothing goes on.
			gratis := Plan{Model: priced("local", "m", llm.PerMillion(0), llm.PerMillion(0)), PromptTokens: 1000}
			if _, err := l.Reserve(ctx, scope, tt.limits, gratis); err != nil {
				t.Errorf("a free model was refused: %v", err)
			}
		})
	}
}

// What requests under way may cost counts until they end, each in its own way.
func TestHeld(t *testing.T) {
	for _, limits := range []Limits{{Turn: 100 * cent}, {Session: 100 * cent}, {Project: 100 * cent}, {Month: 100 * cent}} {
		t.Run(fmt.Sprint(limits), func(t *testing.T) {
			home := t.TempDir()
			l := open(t, home)
			ctx := context.Background()
			scope := Scope{Session: "s", Project: "/p", Turn: "1"}
			reserve := func() *Reservation {
				t.Helper()
				r, err := l.Reserve(ctx, scope, limits, plan(50*cent))
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			refuse := func(spent, held llm.USD) {
				t.Helper()
				_, err := l.Reserve(ctx, scope, limits, plan(cent))
				var limit *LimitError
				if !errors.As(err, &limit) || limit.Spent != spent || limit.Held != held {
					t.Fatalf("error %v, want %s spent and %s held", err, spent, held)
				}
			}
			a, b := reserve(), reserve()
			refuse(0, 100*cent)
			a.Release()
			a = reserve()
			refuse(0, 100*cent)
			if err := a.Settle(paid(20 * cent)); err != nil {
				t.Fatal(err)
			}
			c := reserve()
			refuse(20*cent, 100*cent)
			// Nobody knows what the second one cost: it counts as its estimate.
			if err := b.Settle(Record{StopReason: llm.StopError}); err != nil {
				t.Fatal(err)
			}
			c.Release()
			reserve().Release()
			if err := request(ctx, l, scope, limits, cent, 40*cent); err != nil {
				t.Fatal(err)
			}
			refuse(110*cent, 0)
			table, err := l.Report(ctx, Query{})
			if err != nil || table.Total.Cost != 60*cent || table.Total.Unknown != 1 || table.Total.Requests != 3 {
				t.Errorf("total %+v, %v", table.Total, err)
			}
			if n := number(t, read(t, home), "SELECT count(*) FROM usage_reservations"); n != 0 {
				t.Errorf("%d reservations are left", n)
			}
		})
	}
}

// An owner that begins while others clean up keeps its file.
func TestOwnersBeginDuringSweeps(t *testing.T) {
	home := t.TempDir()
	done := make(chan struct{})
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, name := range owners(home) {
					dead(home, name)
				}
			}
		})
	}
	var living []*owner
	for range 300 {
		o, err := newOwner(home)
		if err != nil {
			t.Error(err)
			break
		}
		if !stillThere(o.file.Name(), o.file) {
			t.Error("an owner lost its file")
		}
		living = append(living, o)
		if len(living) > 4 {
			living[0].end()
			living = living[1:]
		}
	}
	close(done)
	sweeps.Wait()
	for _, o := range living {
		if dead(home, o.name) {
			t.Errorf("%s lives and is taken for dead", o.name)
		}
		o.end()
	}
	if names := owners(home); len(names) != 0 {
		t.Errorf("locks are left: %v", names)
	}
}

func TestUnknownPrice(t *testing.T) {
	l := open(t, t.TempDir())
	ctx := context.Background()
	unknown := Plan{Model: &llm.Model{Provider: "box", ID: "llama"}}
	if r, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{}, unknown); err != nil {
		t.Errorf("refused without a limit: %v", err)
	} else {
		r.Release()
	}
	_, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Turn: cent}, unknown)
	var price *PriceError
	if !errors.As(err, &price) || price.Model != "box/llama" || !strings.Contains(err.Error(), "models.yml") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line that names models.yml", err)
	}
	r, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Session: cent, AllowUnknown: true}, unknown)
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
}

func TestEstimate(t *testing.T) {
	price := llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15)}
	caching := price
	caching.CacheRead, caching.CacheWrite = llm.PerMillion(0.3), llm.PerMillion(3.75)
	long := price
	long.Steps = []llm.PriceStep{{Above: 200_000, Input: llm.PerMillion(6), Output: llm.PerMillion(22.5)}}
	gap := price
	gap.Steps = []llm.PriceStep{{Above: 200_000, Input: llm.PerMillion(6)}}
	tests := []struct {
		name              string
		price             llm.Price
		limit, prompt, in int
		want              float64
		known             bool
	}{
		{"both", price, 64_000, 1_000_000, 1000, 3.015, true},
		{"the model's limit", price, 64_000, 0, 0, 0.96, true},
		{"no limit is known", price, 0, 0, 0, 0.12288, true},
		{"written to the cache", caching, 0, 100_000, 1000, 0.39, true},
		{"a short prompt", long, 0, 200_000, 1000, 0.615, true},
		{"a long prompt", long, 0, 300_000, 1000, 1.8225, true},
		{"a step without a rate", gap, 0, 300_000, 1000, 0, false},
		{"unknown", llm.Price{Input: llm.PerMillion(3)}, 0, 1, 1, 0, false},
		{"less than nothing", price, 0, -5, 1000, 0.015, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			usd, known := Estimate(&llm.Model{MaxOutput: tt.limit, Price: tt.price}, tt.prompt, tt.in)
			if usd != llm.Dollars(tt.want) || known != tt.known {
				t.Errorf("%v, %v, want %v, %v", usd.Float(), known, tt.want, tt.known)
			}
		})
	}
}

// What an earlier process spent in a session counts when the session is resumed,
// and only then is the file opened for it.
func TestResumedSession(t *testing.T) {
	home := t.TempDir()
	ctx := context.Background()
	scope := Scope{Session: "s", Turn: "1"}
	before := open(t, home)
	for range 3 {
		if err := request(ctx, before, scope, Limits{}, cent, 10*cent); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		turn          string
		limits        Limits
		which         Which
		unlimitedOnes int // requests before the limit is set
		spent         llm.USD
	}{
		{"session", "2", Limits{Session: 30 * cent}, LimitSession, 0, 30 * cent},
		{"turn", "1", Limits{Turn: 30 * cent}, LimitTurn, 0, 30 * cent},
		{"a limit set later", "2", Limits{Session: 50 * cent}, LimitSession, 2, 50 * cent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(home)); err != nil {
				t.Fatal(err)
			}
			l := open(t, copied)
			scope := Scope{Session: "s", Turn: tt.turn, Resumed: true}
			for range tt.unlimitedOnes {
				if err := request(ctx, l, scope, Limits{}, cent, 10*cent); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second from memory
				_, err := l.Reserve(ctx, scope, tt.limits, plan(cent))
				var limit *LimitError
				if !errors.As(err, &limit) || limit.Which != tt.which || limit.Spent != tt.spent {
					t.Fatalf("error %v, want the limit of the %s with %s", err, tt.which, tt.spent)
				}
			}
		})
	}
}

// Accounts in memory are bounded; one that was dropped comes back from the file.
func TestAccountsAreBounded(t *testing.T) {
	l := open(t, t.TempDir())
	ctx := context.Background()
	limits := Limits{Session: 5 * cent, Turn: 5 * cent}
	for i := range maxAccounts {
		if err := request(ctx, l, Scope{Session: fmt.Sprint(i), Turn: "1"}, limits, cent, 5*cent); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.accounts); n > maxAccounts {
		t.Errorf("%d accounts", n)
	}
	for _, i := range []int{0, maxAccounts / 4, maxAccounts - 1} {
		_, err := l.Reserve(ctx, Scope{Session: fmt.Sprint(i), Turn: "2"}, limits, plan(cent))
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Which != LimitSession || limit.Spent != 5*cent {
			t.Errorf("session %d: %v", i, err)
		}
	}
}

func TestMonthBeginsAnew(t *testing.T) {
	l := open(t, t.TempDir())
	ctx := context.Background()
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.Local)
	l.now = func() time.Time { return now }
	limits := Limits{Month: 10 * cent, Project: 10 * cent}
	scope := Scope{Session: "s", Project: "/p"}
	if err := request(ctx, l, scope, limits, cent, 10*cent); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if _, err := l.Reserve(ctx, scope, limits, plan(cent)); !errors.As(err, &limit) {
		t.Fatalf("error %v, want a limit", err)
	}
	if want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.Local); !limit.Resets.Equal(want) {
		t.Errorf("resets %s, want %s", limit.Resets, want)
	}
	now = now.Add(2 * time.Minute)
	if err := request(ctx, l, scope, limits, cent, cent); err != nil {
		t.Error(err)
	}
}

func TestManyGoroutines(t *testing.T) {
	home := t.TempDir()
	l := open(t, home)
	ctx := context.Background()
	const limit = 50 * cent
	limits := []Limits{{Month: limit}, {Session: limit}, {Project: limit}, {Turn: limit}}
	for i, lim := range limits {
		// Each limit has money of its own, but the month sees all that was spent
		// before; it goes first.
		scope := Scope{Session: fmt.Sprint(i), Project: fmt.Sprint("/", i), Turn: "1"}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 10 {
					err := request(ctx, l, scope, lim, cent, cent)
					var refused *LimitError
					if err != nil && !errors.As(err, &refused) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		table, err := l.Report(ctx, Query{Session: scope.Session})
		if err != nil || table.Total.Cost != limit { // the estimates were exact
			t.Errorf("%v: spent %s of %s, %v", lim, table.Total.Cost, limit, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, read(t, home), "SELECT count(*) FROM usage"); n != 200 {
		t.Errorf("%d lines, want 200", n)
	}
}

// A file that cannot be used keeps nothing, says so, and lets no request through
// that a limit of the file should have checked.
func TestBrokenFile(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, database.FileName), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, home)
	ctx := context.Background()
	for range MaxQueue {
		if err := request(ctx, l, Scope{Session: "s"}, Limits{Session: 1e6 * cent}, cent, cent); err != nil {
			t.Fatalf("a request without need of the file: %v", err)
		}
	}
	if err := request(ctx, l, Scope{Session: "s"}, Limits{}, cent, cent); err == nil || !strings.Contains(err.Error(), "could not be kept") {
		t.Errorf("a line beyond the queue: %v", err)
	}
	if _, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Month: cent}, plan(cent)); err == nil || !strings.Contains(err.Error(), "the cost limit cannot be checked") {
		t.Errorf("a limit that cannot be checked: %v", err)
	}
	var limit *LimitError
	if _, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Session: cent}, plan(cent)); !errors.As(err, &limit) || limit.Spent != (MaxQueue+1)*cent {
		t.Errorf("the session's account: %v", err)
	}
	if _, err := l.Report(ctx, Query{}); err == nil {
		t.Error("a report of a broken file")
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the costs of %d requests could not be kept", MaxQueue+1)) {
		t.Errorf("close: %v", err)
	}
}

// A line that found no place is lost, and said to be, also when the file is well again.
func TestLostLinesAreTold(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, database.FileName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	l := open(t, home)
	for n := range MaxQueue + 2 {
		err := request(t.Context(), l, Scope{Session: "s"}, Limits{}, cent, cent)
		if (err != nil) != (n >= MaxQueue) {
			t.Fatalf("request %d: %v", n, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err := l.Close()
	if err == nil || !strings.Contains(err.Error(), "the costs of 2 requests could not be kept: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("close: %v", err)
	}
	if n := number(t, read(t, home), "SELECT count(*) FROM usage"); n != MaxQueue {
		t.Errorf("%d lines are in the file", n)
	}
}

// Lines that could not be written are written when the file is well again.
func TestFileComesBack(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, database.FileName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	l := open(t, home)
	ctx := context.Background()
	if err := request(ctx, l, Scope{Session: "s"}, Limits{}, cent, cent); err != nil {
		t.Fatal(err)
	}
	if err := l.flush(ctx); err == nil {
		t.Fatal("a folder was taken for the file")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, read(t, home), "SELECT count(*) FROM usage"); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
}

func TestClosed(t *testing.T) {
	l := open(t, t.TempDir())
	ctx := context.Background()
	r, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Month: cent}, plan(cent))
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, l.home)
	var limit *LimitError
	if _, err := other.Reserve(ctx, Scope{Session: "o"}, Limits{Month: cent}, plan(cent)); !errors.As(err, &limit) {
		t.Errorf("error %v, want a limit", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(paid(cent)); !errors.Is(err, ErrClosed) {
		t.Errorf("settle: %v", err)
	}
	if _, err := l.Reserve(ctx, Scope{}, Limits{}, plan(cent)); !errors.Is(err, ErrClosed) {
		t.Errorf("reserve: %v", err)
	}
	if _, err := l.Report(ctx, Query{}); !errors.Is(err, ErrClosed) {
		t.Errorf("report: %v", err)
	}
	if r, err := other.Reserve(ctx, Scope{Session: "o"}, Limits{Month: cent}, plan(cent)); err != nil {
		t.Errorf("the place of a closed ledger is still held: %v", err)
	} else {
		r.Release()
	}
}

// A caller that gives up undoes its reservation and loses no line.
func TestCallerGivesUp(t *testing.T) {
	home := t.TempDir()
	l := open(t, home)
	l.writing <- struct{}{} // somebody writes for a long time
	if err := request(context.Background(), l, Scope{Session: "s"}, Limits{}, cent, cent); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Month: cent}, plan(cent)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
	<-l.writing
	if _, err := l.Reserve(ctx, Scope{Session: "s"}, Limits{Month: 2 * cent}, plan(cent)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
	r, err := l.Reserve(context.Background(), Scope{Session: "s"}, Limits{Month: 2 * cent}, plan(cent))
	if err != nil {
		t.Fatalf("a reservation given up holds its place: %v", err)
	}
	r.Release()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, read(t, home), "SELECT count(*) FROM usage"); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
}

// Whatever numbers a vendor sends, sums stay sums.
func TestAbsurdFigures(t *testing.T) {
	l := open(t, t.TempDir())
	ctx := context.Background()
	for range 3 {
		r, err := l.Reserve(ctx, Scope{Session: strings.Repeat("s", 2*maxText), Turn: "\xff\x00"}, Limits{}, plan(cent))
		if err != nil {
			t.Fatal(err)
		}
		rec := Record{Usage: llm.Usage{Input: 1<<62 + 1, Output: -7, Cost: &llm.Cost{Total: 1<<62 + 1, Input: -5}}}
		if err := r.Settle(rec); err != nil {
			t.Fatal(err)
		}
	}
	table, err := l.Report(ctx, Query{By: BySession})
	if err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v, %v", table, err)
	}
	want := Row{Key: strings.Repeat("s", maxText), Requests: 3, Input: 3 * maxAmount, Cost: 3 * maxAmount, Unknown: 3}
	if d := cmp.Diff(want, table.Rows[0]); d != "" {
		t.Error(d)
	}
}

// A transaction that fails takes nothing with it: its lines are written later, and
// the sums it made are forgotten, because another process may use its ids.
func TestFailedTransaction(t *testing.T) {
	home := t.TempDir()
	l, other := open(t, home), open(t, home)
	ctx, cancel := context.WithCancel(context.Background())
	line := newLine(Record{Time: november, Session: "s", Usage: paid(cent).Usage}, 0)
	l.mu.Lock()
	l.queue, l.waiting = []entry{{line: &line}}, 1 // nobody writes it yet
	l.mu.Unlock()
	month := tallyKey{month: 202611}
	err := l.transact(ctx, nil, func(tx *sql.Tx) error {
		if sum, err := l.settled(ctx, tx, month); sum != cent || err != nil {
			t.Errorf("sum %s, %v", sum, err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running = true // only for a moment: the other ledger is to be first
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.running = false
	l.mu.Unlock()
	other.now = func() time.Time { return november }
	if err := errors.Join(request(context.Background(), other, Scope{Session: "o"}, Limits{}, cent, 5*cent), other.flush(context.Background())); err != nil {
		t.Fatal(err)
	}
	err = l.transact(context.Background(), nil, func(tx *sql.Tx) error {
		if sum, err := l.settled(context.Background(), tx, month); sum != 6*cent || err != nil {
			t.Errorf("sum %s, %v, want that of both ledgers", sum, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Lines whose caller gave up are written although nobody comes after it.
func TestWriterAfterCallerGaveUp(t *testing.T) {
	home := t.TempDir()
	l := open(t, home)
	ctx, cancel := context.WithCancel(context.Background())
	line := newLine(Record{Time: november, Usage: paid(cent).Usage}, 0)
	l.mu.Lock()
	l.queue, l.waiting = []entry{{line: &line}}, 1
	l.mu.Unlock()
	err := l.transact(ctx, nil, func(*sql.Tx) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	l.writers.Wait()
	if n := number(t, read(t, home), "SELECT count(*) FROM usage"); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
	if l.waiting != 0 {
		t.Errorf("%d lines wait", l.waiting)
	}
}
