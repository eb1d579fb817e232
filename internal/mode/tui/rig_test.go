package tui

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript/index"
)

// desk is a face with real sessions over a scripted model. The test is its loop.
type desk struct {
	*app
	t     *testing.T
	model *llmtest.Server
	done  chan string // what was opened and closed, in order
	set   func(w Wish, o *session.Options)
}

// atDesk opens the first session. set changes the options of a session that is opened.
func atDesk(t *testing.T, set func(w Wish, o *session.Options), turns ...llmtest.Turn) *desk {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	d := &desk{t: t, model: srv, done: make(chan string, 100), set: set}
	d.app = alone(t, func(o *Options) { o.Host, o.Open = trash{done: d.done}, d.openSession })
	d.switcher.open(Wish{})
	d.until("the first session", func() bool { return d.session != nil })
	t.Cleanup(func() {
		if d.session != nil {
			_ = d.session.Close() // its model is gone
		}
	})
	return d
}

// trash is a program that only deletes sessions.
type trash struct {
	nobody
	done chan string
}

func (h trash) Archive(func(string)) (Archive, error) { return bin{done: h.done}, nil }

// bin is where it deletes them.
type bin struct {
	Archive
	done chan string
}

func (b bin) Delete(_ context.Context, which string, _ func(index.Info) error) (archive.Deleted, error) {
	b.done <- "delete " + which
	return archive.Deleted{File: which}, nil
}

func (trash) Crumb(string) {}

func (d *desk) openSession(_ context.Context, w Wish) (session.Handle, error) {
	d.done <- "open " + w.Resume
	o := session.Options{
		Client:  anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: d.model.URL}}),
		Request: llm.Request{Model: &llm.Model{ID: "m", Provider: "anthropic", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 1000}},
		Path:    w.Resume,
		Close:   func() error { d.done <- "close " + w.Resume; return nil },
		Warn:    w.Warn,
	}
	if d.set != nil {
		d.set(w, &o)
	}
	s, err := session.New(o)
	if err != nil {
		return nil, err
	}
	return s.Handle("terminal", true), nil
}

// until runs the loop until something is so.
func (d *desk) until(what string, so func() bool) {
	d.t.Helper()
	late := time.After(20 * time.Second)
	for !so() {
		select {
		case <-d.inbox.wake:
			posts, events := d.inbox.take(nil, nil)
			for i := range events {
				d.listener.onEvent(&events[i])
			}
			for _, f := range posts {
				f()
			}
		case <-late:
			d.t.Fatalf("still waiting for %s:\n%s", what, d.shown())
		}
	}
}

// types writes words and presses keys.
func (a *app) types(words string, keys ...key.Key) {
	for _, r := range words {
		a.input.onKey(key.Press{Key: key.Key(string(r)), Text: string(r)})
	}
	for _, k := range keys {
		a.input.onKey(key.Press{Key: k})
	}
}

// did gives what was opened and closed so far, and forgets it.
func (d *desk) did() (done []string) {
	for {
		select {
		case what := <-d.done:
			done = append(done, what)
		default:
			return done
		}
	}
}

// waitsInSession gives the words in the session's queue.
func (d *desk) waitsInSession() (words []string) {
	waits := d.session.Waits()
	for _, w := range slices.Concat(waits.Steering, waits.FollowUps) {
		words = append(words, w.Text)
	}
	return words
}

// held is an answer that begins when it is let go.
func held(text string) (turn llmtest.Turn, asked chan struct{}, free func()) {
	asked, gate := make(chan struct{}), make(chan struct{})
	return llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		close(asked)
		<-gate
		return llmtest.Say(text)
	}}, asked, func() { close(gate) }
}
