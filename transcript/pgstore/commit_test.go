package pgstore_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/transcript/pgstore"
)

// wire stands between a store and its server, and cuts connections at a commit.
type wire struct {
	listener net.Listener
	server   string
	cut      atomic.Pointer[cut]
	open     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// cut is what happens to one commit.
type cut struct {
	arrives bool // the server gets it
	away    bool // and no other connection is let through
	done    atomic.Bool
}

// newWire gives the address of a database by way of the wire.
func newWire(t *testing.T, address string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, server: u.Host}
	w.cut.Store(new(cut))
	w.cut.Load().done.Store(true)
	u.Host = l.Addr().String()
	w.open.Go(w.accept)
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			c.Close()
		}
		w.mu.Unlock()
		w.open.Wait()
	})
	return w, u.String()
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		if c := w.cut.Load(); c.away && c.done.Load() {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		w.open.Go(func() { w.forward(client, server) })
		w.open.Go(func() { w.back(client, server) })
	}
}

// forward passes on what the client says, which sends a commit in one piece.
func (w *wire) forward(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if c := w.cut.Load(); bytes.Contains(buf[:n], []byte("COMMIT\x00")) && c.done.CompareAndSwap(false, true) {
			if !c.arrives {
				return
			}
			client.Close() // the answer has nobody to go to
			_, _ = server.Write(buf[:n])
			_, _ = io.ReadAtLeast(server, buf, 1) // it has committed
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// back passes on what the server says. Both read of the server at a commit: whoever gets the
// answer, the client does not.
func (w *wire) back(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	_, _ = io.Copy(client, server)
}

// A connection that breaks during a commit loses nothing and repeats nothing, whether the
// server had the commit or not.
func TestBrokenCommit(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Shared(t)
	for name, arrives := range map[string]bool{"arrives": true, "is lost": false} {
		t.Run(name, func(t *testing.T) {
			address := server.Database(t)
			w, through := newWire(t, address)
			direct := openDB(t, address)
			s := create(t, connect(t, through), "s", "{1}")
			expect := func(what string, want ...string) {
				t.Helper()
				view, err := pgstore.View(t.Context(), direct, "s")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, records(t, view)); diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
			}
			w.cut.Store(&cut{arrives: arrives})
			refs, err := s.Append([]byte("{2}"), []byte("{3}"))
			switch {
			case arrives && err != nil:
				t.Fatalf("it was committed: %v", err)
			case arrives:
				expect("append", "{1}", "{2}", "{3}")
				if got, err := s.Read(refs[1]); string(got) != "{3}" {
					t.Errorf("%s, %v", got, err)
				}
			case err == nil || !errors.Is(err, pgstore.ErrLost) || strings.Contains(err.Error(), "\n"):
				t.Fatalf("it was not committed: %v", err)
			default:
				expect("append", "{1}")
				if _, err := s.Append([]byte("{2}"), []byte("{3}")); err != nil {
					t.Fatal(err)
				}
			}
			expect("append again", "{1}", "{2}", "{3}")

			w.cut.Store(&cut{arrives: arrives})
			err = s.Replace(slices.Values([][]byte{[]byte("{4}"), []byte("{5}")}))
			if arrives == (err != nil) {
				t.Errorf("replace: %v", err)
			}
			if _, err := s.Append([]byte("{6}")); err != nil {
				t.Fatal(err)
			}
			if arrives {
				expect("replace", "{4}", "{5}", "{6}")
			} else {
				expect("replace", "{1}", "{2}", "{3}", "{6}")
			}
			closeStore(t, s)
		})
	}
}

// If the server stays away, an append fails, and what it has left does not count: whoever tries
// again has it once.
func TestBrokenCommitStays(t *testing.T) {
	t.Parallel()
	if pacetest.Cases(true, false) {
		t.Skip("waits ten seconds, as a store does for its server: set BURIN_LONG=ci")
	}
	address := pgtest.Shared(t).Database(t)
	w, through := newWire(t, address)
	openDB(t, address)
	s := create(t, connect(t, through), "s", "{1}")
	w.cut.Store(&cut{arrives: true, away: true})
	if _, err := s.Append([]byte("{2}")); !errors.Is(err, pgstore.ErrLost) || !strings.Contains(err.Error(), "whether it was written is not known yet") || strings.Contains(err.Error(), "\n") {
		t.Fatal(err)
	}
	last := new(cut)
	last.done.Store(true)
	w.cut.Store(last)
	if _, err := s.Append([]byte("{2}"), []byte("{3}")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"{1}", "{2}", "{3}"}, records(t, s)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, s)
}
