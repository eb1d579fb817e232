package usage

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/model/credential/database"
	"github.com/burin-dev/burin/llm"
)

// A test binary with this variable is a process of its own that spends money.
const childHome = "BURIN_TEST_USAGE_HOME"

func TestMain(m *testing.M) {
	if home := os.Getenv(childHome); home != "" {
		if err := spend(home, os.Args[len(os.Args)-1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	cent       = llm.USD(1e7)
	childMonth = 100 * cent
	inParallel = 4 // requests under way of one process
)

// spend is the child. "hold" reserves three requests, says so and waits for
// somebody to kill it; a number is how many requests to make, each estimated at
// half of what it costs.
func spend(home, what string, in io.Reader, out io.Writer) error {
	ctx := context.Background()
	l, err := Open(ctx, home)
	if err != nil {
		return err
	}
	limits := Limits{Month: childMonth}
	if what == "hold" {
		for i := range 3 {
			if _, err := l.Reserve(ctx, Scope{Session: "child"}, limits, plan(30*cent)); err != nil {
				return fmt.Errorf("reservation %d: %w", i, err)
			}
		}
		fmt.Fprintln(out, "held")
		_, err := io.Copy(io.Discard, in) // until it is killed
		return err
	}
	n, err := strconv.Atoi(what)
	if err != nil {
		return err
	}
	work := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var done, refused int
	var first error
	for range inParallel {
		wg.Go(func() {
			for range work {
				err := request(ctx, l, Scope{Session: "child", Project: "/p"}, limits, cent/2, cent)
				var limit *LimitError
				mu.Lock()
				switch {
				case err == nil:
					done++
				case errors.As(err, &limit):
					refused++
				case first == nil:
					first = err
				}
				mu.Unlock()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	fmt.Fprintln(out, done, refused)
	return errors.Join(first, l.Close())
}

// request makes one request that is estimated and costs as given.
func request(ctx context.Context, l *Ledger, s Scope, lim Limits, estimate, cost llm.USD) error {
	r, err := l.Reserve(ctx, s, lim, plan(estimate))
	if err != nil {
		return err
	}
	return r.Settle(paid(cost))
}

// plan is one of a request whose estimate is that amount.
func plan(estimate llm.USD) Plan {
	// One output token at this price per million is the amount.
	return Plan{Model: priced("acme", "m", llm.PerMillion(0), llm.PerMillion(estimate.Float()*1e6)), MaxOutput: 1}
}

func priced(provider, id string, in, out llm.Rate) *llm.Model {
	return &llm.Model{Provider: provider, ID: id, Price: llm.Price{Input: in, Output: out}}
}

func paid(cost llm.USD) Record {
	return Record{Usage: llm.Usage{Output: 1, Cost: &llm.Cost{Output: cost, Total: cost}}, StopReason: llm.StopEnd}
}

func open(t testing.TB, home string) *Ledger {
	t.Helper()
	l, err := Open(context.Background(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// read gives the database of a home, apart from any ledger.
func read(t testing.TB, home string) *sql.DB {
	t.Helper()
	db, err := database.OpenExisting(context.Background(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func number(t testing.TB, db *sql.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func child(t *testing.T, home, what string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], what)
	cmd.Env = append(os.Environ(), childHome+"="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

// Two processes with four requests at a time each, every one dearer than it was
// estimated: what is spent beyond the limit is no more than the requests under way.
func TestTwoProcessesUnderOneLimit(t *testing.T) {
	home := t.TempDir()
	var done, refused int
	var cmds []*exec.Cmd
	var outs []*bufio.Reader
	for range 2 {
		cmd, out := child(t, home, "200")
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, cmd := range cmds {
		var d, r int
		if _, err := fmt.Fscan(outs[i], &d, &r); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		done, refused = done+d, refused+r
	}
	db := read(t, home)
	spent := llm.USD(number(t, db, "SELECT sum(cost) FROM usage"))
	if rows := number(t, db, "SELECT count(*) FROM usage"); rows != int64(done) {
		t.Errorf("%d lines of %d settled requests", rows, done)
	}
	if spent < childMonth || spent > childMonth+2*inParallel*cent {
		t.Errorf("spent %s of %s", spent, childMonth)
	}
	if done+refused != 400 {
		t.Errorf("%d done and %d refused, want 400 together", done, refused)
	}
	if n := number(t, db, "SELECT count(*) FROM usage_reservations"); n != 0 {
		t.Errorf("%d reservations are left", n)
	}
	if names := owners(home); len(names) != 0 {
		t.Errorf("locks are left: %v", names)
	}
	t.Logf("spent %s of %s, %d requests refused", spent, childMonth, refused)
}

func TestKilledProcessFreesItsReservations(t *testing.T) {
	home := t.TempDir()
	cmd, out := child(t, home, "hold")
	if line, err := out.ReadString('\n'); err != nil || strings.TrimSpace(line) != "held" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	l := open(t, home)
	ctx := context.Background()
	limits := Limits{Month: childMonth}
	// The child holds 90 cents of a dollar: one more fits, then none.
	first, err := l.Reserve(ctx, Scope{Session: "s"}, limits, plan(30*cent))
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Reserve(ctx, Scope{Session: "s"}, limits, plan(30*cent))
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Which != LimitMonth || limit.Held != 120*cent || !limit.Temporary() {
		t.Fatalf("error %v, want the month's limit with $1.20 held", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for range 3 {
		r, err := l.Reserve(ctx, Scope{Session: "s"}, limits, plan(30*cent))
		if err != nil {
			t.Fatalf("after the child was killed: %v", err)
		}
		defer r.Release()
	}
	first.Release()
	if names := owners(home); len(names) != 1 {
		t.Errorf("locks %v, want only that of the living", names)
	}
}

// A process that dies before it had a reservation leaves only a lock, which the
// next one removes.
func TestLeftLockIsRemoved(t *testing.T) {
	home := t.TempDir()
	left, err := newOwner(home)
	if err != nil {
		t.Fatal(err)
	}
	if dead(home, left.name) {
		t.Fatal("a lock that is held is taken for dead")
	}
	_ = left.file.Close() // as the system does for a killed process
	l := open(t, home)
	r, err := l.Reserve(context.Background(), Scope{Session: "s"}, Limits{Month: cent}, plan(cent))
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	if names := owners(home); len(names) != 1 || names[0] == left.name {
		t.Errorf("locks %v", names)
	}
	for _, name := range []string{"usage-../../x", "other", left.name} {
		if !dead(home, name) {
			t.Errorf("%s lives", name)
		}
	}
}

var november = time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)

// A request waits while others hold what a limit leaves: for one that is settled, by
// whichever process, and for the end of a process that was killed.
func TestReserveWaitsForRoom(t *testing.T) {
	limits := Limits{Month: childMonth}
	full := func(t *testing.T, l *Ledger) *Reservation {
		t.Helper()
		r, err := l.Reserve(t.Context(), Scope{Session: "s"}, limits, plan(childMonth))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	type got struct {
		r   *Reservation
		err error
	}
	wait := func(ctx context.Context, l *Ledger) (told chan *LimitError, done chan got) {
		told, done = make(chan *LimitError, 1), make(chan got, 1)
		go func() {
			r, err := l.ReserveOrWait(ctx, Scope{Session: "t"}, limits, plan(30*cent), func(e *LimitError) { told <- e })
			done <- got{r, err}
		}()
		return told, done
	}
	t.Run("settled elsewhere", func(t *testing.T) {
		home := t.TempDir()
		first := full(t, open(t, home))
		told, done := wait(t.Context(), open(t, home))
		if why := <-told; why.Held != childMonth || why.Which != LimitMonth {
			t.Errorf("told %v", why)
		}
		if err := first.Settle(Record{Usage: llm.Usage{Cost: &llm.Cost{Total: cent}}}); err != nil {
			t.Fatal(err)
		}
		g := <-done
		if g.err != nil {
			t.Fatal(g.err)
		}
		g.r.Release()
	})
	t.Run("killed", func(t *testing.T) {
		home := t.TempDir()
		cmd, out := child(t, home, "hold")
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		l := open(t, home)
		rest, err := l.Reserve(t.Context(), Scope{Session: "s"}, limits, plan(30*cent))
		if err != nil {
			t.Fatal(err)
		}
		told, done := wait(t.Context(), l)
		<-told
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		g := <-done
		if g.err != nil {
			t.Fatal(g.err)
		}
		g.r.Release()
		rest.Release()
	})
	t.Run("canceled", func(t *testing.T) {
		l := open(t, t.TempDir())
		defer full(t, l).Release()
		ctx, cancel := context.WithCancelCause(t.Context())
		told, done := wait(ctx, l)
		<-told
		stop := errors.New("stop")
		cancel(stop)
		if g := <-done; !errors.Is(g.err, stop) {
			t.Errorf("error %v", g.err)
		}
	})
	t.Run("used up", func(t *testing.T) {
		l := open(t, t.TempDir())
		if err := full(t, l).Settle(Record{Usage: llm.Usage{Cost: &llm.Cost{Total: childMonth}}}); err != nil {
			t.Fatal(err)
		}
		_, done := wait(t.Context(), l)
		var limit *LimitError
		if g := <-done; !errors.As(g.err, &limit) || limit.Temporary() {
			t.Errorf("error %v", g.err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		l := open(t, t.TempDir())
		held := full(t, l)
		told, done := wait(t.Context(), l)
		<-told
		held.Release()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if g := <-done; g.err == nil {
			g.r.Release() // it was faster
		} else if !errors.Is(g.err, ErrClosed) {
			t.Errorf("error %v", g.err)
		}
	})
}
