package remote_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript"
)

// live is a session over a scripted model.
func live(t testing.TB, turns ...llmtest.Turn) *session.Session {
	t.Helper()
	return liveIn(t, nil, turns...)
}

// liveIn is live with a transcript of its own; nil is none.
func liveIn(t testing.TB, log *transcript.Log, turns ...llmtest.Turn) *session.Session {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	s, err := session.New(session.Options{
		Log:     log,
		Client:  anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}}),
		Request: llm.Request{Model: &llm.Model{ID: "m", Provider: "anthropic", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 400_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Each right allows what it says, and what those before it do.
func TestRights(t *testing.T) {
	s := live(t)
	for _, tt := range []struct {
		want, most, got      remote.Rights
		steer, answer, owner bool
	}{
		{remote.Watch, remote.Own, remote.Watch, false, false, false},
		{remote.Steer, remote.Own, remote.Steer, true, false, false},
		{remote.Answer, remote.Own, remote.Answer, true, true, false},
		{remote.Own, remote.Own, remote.Own, true, true, true},
		{remote.Own, remote.Steer, remote.Steer, true, false, false},
	} {
		c := attach(t, s, "x", tt.want, tt.most)
		if c.Rights() != tt.got {
			t.Errorf("%s of %s: got %s", tt.want, tt.most, c.Rights())
		}
		may := func(what string, want bool, err error) {
			t.Helper()
			if got := !errors.Is(err, session.ErrDenied); got != want {
				t.Errorf("%s of %s may %s: %v (%v)", tt.want, tt.most, what, got, err)
			}
		}
		if _, err := c.Work().Todos(t.Context()); err != nil {
			t.Errorf("%s may not look: %v", tt.want, err)
		}
		may("stop", tt.steer, c.Conversation().Abort(t.Context()))
		may("answer", tt.answer, c.Questions().Answer(t.Context(), "none", session.Reply{}))
		may("change the mode", tt.owner, c.Models().SetMode(t.Context(), "full"))
		_, err := c.Conversation().Run(t.Context(), "true", false, nil)
		may("run commands", tt.owner, err)
	}
}

// full is a store that takes nothing any more.
type full struct {
	transcript.Memory
	now atomic.Bool
}

func (f *full) Append(records ...[]byte) ([]transcript.Ref, error) {
	if f.now.Load() {
		return nil, transcript.ErrUnkept
	}
	return f.Memory.Append(records...)
}

// A session that is written no more lists no entries to its clients: they may not be kept.
func TestUnkept(t *testing.T) {
	store := new(full)
	log, err := transcript.Create(store, transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := liveIn(t, log)
	c := attach(t, s, "x", remote.Own, remote.Own)
	next := func(id string) error {
		_, err := c.Conversation().Submit(t.Context(), session.Input{ID: id, When: session.Next, Message: llm.UserText(id)})
		return err
	}
	if err := next("kept"); err != nil {
		t.Fatal(err)
	}
	if nodes := c.Transcript().Nodes(); len(nodes) == 0 {
		t.Fatal("it lists nothing")
	}
	store.now.Store(true)
	if err := next("unkept"); !errors.Is(err, session.ErrOwnerGone) {
		t.Errorf("accepted with %v", err)
	}
	if nodes := attach(t, s, "y", remote.Own, remote.Own).Transcript().Nodes(); len(nodes) > 0 {
		t.Errorf("it lists %v", nodes)
	}
}

// Who owns a session may end it, where its owner can be ended from elsewhere.
func TestEnd(t *testing.T) {
	s := live(t)
	ended := make(chan struct{})
	o := remote.ServeOptions{Most: remote.Own, End: func() {
		close(ended)
		go s.Close()
	}}
	if err := attachTo(t, s, "x", remote.Answer, o).End(t.Context()); !errors.Is(err, session.ErrDenied) {
		t.Errorf("without the right: %v", err)
	}
	if err := attach(t, s, "x", remote.Own, remote.Own).End(t.Context()); err == nil || !strings.Contains(err.Error(), "not in the background") {
		t.Errorf("of an owner that can't be ended: %v", err)
	}
	c := attachTo(t, s, "x", remote.Own, o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-ended
		cancel()
	}()
	if err := c.End(ctx); !errors.Is(err, context.Canceled) { // the connection stays here
		t.Errorf("it ended with %v", err)
	}
	<-ended
}

// Every request is in the table with a right that the table of rights knows.
func TestEveryRequestHasARight(t *testing.T) {
	for name, needs := range remote.Requests() {
		if !slices.Contains([]remote.Rights{remote.Watch, remote.Steer, remote.Answer, remote.Own}, needs) {
			t.Errorf("%s needs %q", name, needs)
		}
	}
}

// raw is a connection without a client.
func raw(t testing.TB, s *session.Session) (net.Conn, <-chan error) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skip("no sockets here")
	}
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		l.Close()
		if err == nil {
			err = remote.Serve(t.Context(), conn, remote.ServeOptions{Most: remote.Own, Open: s.Face})
		}
		served <- err
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, served
}

// What is no protocol ends the connection, and nothing else.
func TestGarbage(t *testing.T) {
	s := live(t, llmtest.Turn{Parts: []llmtest.Part{{Text: "fine"}}})
	const hello = `{"hello":{"versions":[1],"name":"x","rights":"own"}}` + "\n"
	for name, text := range map[string]string{
		"nothing":           "",
		"no JSON":           "GET / HTTP/1.1\r\n\r\n",
		"no hello":          `{"id":1,"do":"abort"}` + "\n",
		"no such right":     `{"hello":{"versions":[1],"rights":"root"}}` + "\n",
		"another version":   `{"hello":{"versions":[99],"name":"x","rights":"own"}}` + "\n",
		"half a line":       hello + `{"id":1,"do":"fa`,
		"an unknown word":   hello + `{"id":1,"do":"reboot"}` + "\n",
		"a wrong shape":     hello + `{"id":1,"do":"submit","with":[1,2]}` + "\n",
		"stop of nothing":   hello + `{"id":9,"stop":true}` + "\n",
		"deep":              hello + strings.Repeat("[", 100_000) + "\n",
		"the same id twice": hello + strings.Repeat(`{"id":1,"do":"todos"}`+"\n", 500),
		"a second hello":    hello + hello,
	} {
		t.Run(name, func(t *testing.T) {
			conn, served := raw(t, s)
			go func() {
				_, _ = conn.Write([]byte(text))
				_ = conn.(*net.UnixConn).CloseWrite()
			}()
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				if !json.Valid(lines.Bytes()) {
					t.Errorf("it sent %q", lines.Text())
				}
			}
			select {
			case <-served:
			case <-time.After(20 * time.Second):
				t.Fatal("it goes on")
			}
		})
	}
	if out := s.Prompt(t.Context(), llm.UserText("hi")); out.Reason != agent.ReasonDone {
		t.Errorf("the session: %v", out.Err)
	}
}

// A line that has no end is not read for ever.
func TestEndlessLine(t *testing.T) {
	pacetest.Costly(t)
	conn, served := raw(t, live(t))
	chunk := []byte(strings.Repeat("x", 1<<20))
	_, _ = conn.Write([]byte(`{"hello":{"versions":[1],"name":"x","rights":"own"}}` + "\n"))
	go func() {
		for {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	}()
	go func() { // what it says is read
		for r := bufio.NewReader(conn); ; {
			if _, err := r.ReadByte(); err != nil {
				return
			}
		}
	}()
	select {
	case err := <-served:
		if err == nil || !strings.Contains(err.Error(), "a line of more than 64 MB") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
}

// A client that reads nothing holds up neither the session nor other clients, and costs a
// bounded amount.
func TestStalledClient(t *testing.T) {
	pacetest.Costly(t)
	const pieces = 50_000
	s := live(t, llmtest.Turn{Events: llmtest.Say(strings.Repeat("a ", pieces))})
	conn, served := raw(t, s)
	_, _ = conn.Write([]byte(`{"hello":{"versions":[1],"name":"x","rights":"watch"}}` + "\n" + `{"id":1,"do":"follow","with":{"seq":1}}` + "\n"))
	good := attach(t, s, "good", remote.Own, remote.Own)
	feed := good.Events(session.Cursor{})
	r, err := good.Conversation().Submit(t.Context(), session.Input{Message: llm.UserText("go")})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	text := ""
	for {
		e, err := feed.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == agent.MessageEnd {
			text = e.Message.Text()
		}
		if e.Type == session.AgentSettled {
			break
		}
	}
	if len(text) != 2*pieces {
		t.Errorf("the other client has %d bytes of the answer", len(text))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if out, err := good.Conversation().Wait(t.Context(), r.ID); err != nil || out.Reason != agent.ReasonDone {
		t.Errorf("ended with %+v, %v", out, err)
	}
	conn.Close()
	<-served
}

// The owner that dies is known by its errors, at once.
func TestOwnerGone(t *testing.T) {
	s := live(t)
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skip("no sockets here")
	}
	ctx, die := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		l.Close()
		if err == nil {
			err = remote.Serve(ctx, conn, remote.ServeOptions{Most: remote.Own, Open: s.Face})
		}
		served <- err
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := remote.Connect(t.Context(), conn, "x", remote.Own)
	if err != nil {
		t.Fatal(err)
	}
	feed := c.Events(session.Cursor{})
	die()
	<-served
	if _, err := feed.Next(t.Context()); !errors.Is(err, session.ErrOwnerGone) {
		t.Errorf("its events: %v", err)
	}
	if _, err := c.Work().Todos(t.Context()); !errors.Is(err, session.ErrOwnerGone) {
		t.Errorf("asked: %v", err)
	}
	if c.Facts().ID == "" {
		t.Error("the figures are gone")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// One event to many clients: how long until the last of them has it.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := live(b)
			var feeds []session.Feed
			cache := new(remote.Cache)
			for i := range n {
				c := attachTo(b, s, fmt.Sprint(i), remote.Watch, remote.ServeOptions{Most: remote.Own, Cache: cache})
				feeds = append(feeds, c.Events(session.Cursor{}))
			}
			stalled, _ := raw(b, s)
			_, _ = stalled.Write([]byte(`{"hello":{"versions":[1],"name":"x","rights":"watch"}}` + "\n" + `{"id":1,"do":"follow","with":{"seq":1}}` + "\n"))
			var took []time.Duration
			i := 0
			for b.Loop() {
				i++
				var all sync.WaitGroup
				began := time.Now()
				for _, f := range feeds {
					all.Go(func() {
						if _, err := f.Next(b.Context()); err != nil {
							b.Error(err)
						}
					})
				}
				_ = s.Handle("test", false).Conversation().SetTitle(b.Context(), fmt.Sprint("title ", i))
				all.Wait()
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
