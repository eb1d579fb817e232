//go:build unix

package remote_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// clock is a connection that knows when it was last written to.
type clock struct {
	net.Conn
	last *lasts // nil: nobody wants to know
	seen int    // the event that was written last, under the lock of last
}

// lasts are when the connections were last written to.
type lasts struct {
	mu    sync.Mutex
	event int // that is being told
	left  int // connections that were not written to since
	done  chan time.Time
}

func (c *clock) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	at := time.Now()
	if c.last == nil {
		return n, err
	}
	c.last.mu.Lock()
	defer c.last.mu.Unlock()
	if c.seen == c.last.event { // more of the same: writes are not events
		return n, err
	}
	c.seen = c.last.event
	if c.last.left--; c.last.left == 0 {
		c.last.done <- at
	}
	return n, err
}

// expect has done tell when n connections have been written to.
func (l *lasts) expect(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event++
	l.left = n
}

// crowd is an owner with clients in processes of their own, of which the first is stopped
// for good.
type crowd struct {
	testing.TB
	s       *session.Session
	last    *lasts
	clients []*exec.Cmd
	outs    []*bufio.Reader
	told    int
}

func gather(tb testing.TB, n int) *crowd {
	tb.Helper()
	c := &crowd{TB: tb, s: live(tb), last: &lasts{done: make(chan time.Time, 1)}}
	l, err := net.Listen("unix", filepath.Join(tb.TempDir(), "s"))
	if err != nil {
		tb.Skip("no sockets here")
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	tb.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	cache := new(remote.Cache)
	for i := range n {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), watcherVariable+"="+l.Addr().String(), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		})
		conn, err := l.Accept()
		if err != nil {
			tb.Fatal(err)
		}
		timed := &clock{Conn: conn, last: c.last}
		if i == 0 {
			timed.last = nil
		}
		serving.Go(func() {
			_ = remote.Serve(ctx, timed, remote.ServeOptions{Most: remote.Own, Open: c.s.Face, Cache: cache}) // the stopped one is cut off
		})
		r := bufio.NewReader(out)
		if line, err := r.ReadString('\n'); err != nil || line != "ready\n" {
			tb.Fatalf("a client says %q, %v", line, err)
		}
		c.clients, c.outs = append(c.clients, cmd), append(c.outs, r)
	}
	c.signal(syscall.SIGSTOP, c.clients[:1])
	// More than a socket holds: the connection of the stopped one is stuck from then on.
	for i := range 500 {
		c.tell(strings.Repeat("x", 1000) + strconv.Itoa(i))
	}
	return c
}

func (c *crowd) signal(s syscall.Signal, to []*exec.Cmd) {
	c.Helper()
	for _, cmd := range to {
		if err := cmd.Process.Signal(s); err != nil {
			c.Fatal(err)
		}
	}
}

// tell sends an event and gives how long it took until it was written to all clients but
// the stopped one; "" is an event with the time.
func (c *crowd) tell(text string) time.Duration {
	c.Helper()
	c.last.expect(len(c.clients) - 1)
	began := time.Now()
	if text == "" {
		text = strconv.FormatInt(began.UnixNano(), 10)
		c.told++
	}
	if err := c.s.Handle("test", false).Conversation().SetTitle(context.Background(), text); err != nil {
		c.Fatal(err)
	}
	select {
	case at := <-c.last.done:
		return at.Sub(began)
	case <-time.After(30 * time.Second):
		c.Fatal("an event is not written to all")
	}
	return 0
}

// caughtUp waits until all but the stopped one have read what was sent so far: a socket
// takes no more than some hundred events of who has not.
func (c *crowd) caughtUp(word string) {
	c.Helper()
	c.tell("say " + word)
	for i, out := range c.outs[1:] {
		if line, err := out.ReadString('\n'); err != nil || line != "say "+word+"\n" {
			c.Fatalf("client %d says %q, %v", i+1, line, err)
		}
	}
}

// burst sends events one by one.
func (c *crowd) burst(n int) (took []time.Duration) {
	c.Helper()
	for range n {
		<-time.After(2 * time.Millisecond)
		took = append(took, c.tell(""))
	}
	return took
}

// arrived ends the session and gives how long events took until the clients had them.
func (c *crowd) arrived() (all [][]time.Duration) {
	c.Helper()
	_ = c.s.Close()
	for i, out := range c.outs[1:] {
		var took []time.Duration
		if err := json.NewDecoder(out).Decode(&took); err != nil || len(took) != c.told {
			c.Errorf("client %d heard %d of %d events: %v", i+1, len(took), c.told, err)
		}
		all = append(all, took)
	}
	return all
}

func figures(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("median %v, p99 %v", all[len(all)/2], p99(all))
}

// p99 is what 99 of 100 sorted times do not exceed.
func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// Many processes watch a session, one of them stopped: that one holds up nobody, and all
// others hear every event. What the owner adds is measured while nobody reads, because the
// clients want the processors, too: it is under a millisecond for fifty. BURIN_BUDGETS=1 says
// that the machine does nothing else.
func TestFanOutBudget(t *testing.T) {
	const bursts, events = 10, 20
	series := 1
	clients, quietMachine := 8, os.Getenv("BURIN_BUDGETS") == "1"
	most := time.Millisecond
	if quietMachine {
		clients, series = 50, 15
		most = pacetest.New(t).Allow(most)
	}
	c := gather(t, clients)
	var alone []time.Duration // of the series with the lowest p99: what else the machine does only adds
	for i := 0; i < series && (alone == nil || p99(alone) >= most); i++ {
		var took []time.Duration
		for j := range bursts {
			c.caughtUp(strconv.Itoa(i*bursts + j))
			c.signal(syscall.SIGSTOP, c.clients[1:])
			took = append(took, c.burst(events)...)
			c.signal(syscall.SIGCONT, c.clients[1:])
		}
		if slices.Sort(took); alone == nil || p99(took) < p99(alone) {
			alone = took
		}
	}
	quiet := c.told
	before := cpu(t)
	together := c.burst(bursts * events)
	spent := (cpu(t) - before) / (bursts * events)
	var came []time.Duration
	for _, took := range c.arrived() {
		came = append(came, took[min(quiet, len(took)):]...)
	}
	if len(came) == 0 {
		t.Fatal("nothing arrived")
	}
	t.Logf("from an event to the last of %d writes: %s; while the clients read, on %d processors: %s, with %v of the owner's processor time; until it is decoded there: %s",
		clients-1, figures(alone), runtime.NumCPU(), figures(together), spent, figures(came))
	if quietMachine && p99(alone) >= most {
		t.Errorf("fan-out to %d processes adds %v, want under %v", clients, p99(alone), most)
	}
}

// cpu is what this process has used of the processors.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
