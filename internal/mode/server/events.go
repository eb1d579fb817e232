package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host/chats"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// stream writes server-sent events. Any goroutine may write.
type stream struct {
	mu   sync.Mutex
	w    http.ResponseWriter
	to   *http.ResponseController
	last time.Time // when something was written
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of proxies
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, to: http.NewResponseController(w)}
	_ = s.to.Flush() // the client reads that it is connected
	return s
}

// write writes an event and sends it. Its name or id may be "".
func (s *stream) write(name, id string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.put(name, id, raw); err != nil {
		return err
	}
	return s.to.Flush()
}

// put adds an event to the buffer. The caller holds mu.
func (s *stream) put(name, id string, data ...[]byte) error {
	s.wake(time.Now())
	var b []byte
	if name != "" {
		b = fmt.Appendf(b, "event: %s\n", name)
	}
	if id != "" {
		b = fmt.Appendf(b, "id: %s\n", id)
	}
	b = append(b, "data: "...)
	for _, d := range data {
		b = append(b, d...) // JSON has no line ends
	}
	_, err := s.w.Write(append(b, "\n\n"...))
	return err
}

// wake gives what is written now its time. The caller holds mu.
func (s *stream) wake(now time.Time) {
	if now.Sub(s.last) > time.Second {
		_ = s.to.SetWriteDeadline(now.Add(writeTime)) // without it, a client that doesn't read is cut off later
	}
	s.last = now
}

// follower reads the events of one session for a stream.
type follower struct {
	id     string
	handle session.Handle
	feed   session.Feed
	facts  session.Facts // those that the client has
	told   bool
	reopen func() error // joins the session again, at another server
}

// events serves the stream of all sessions that a client follows.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	wanted := query["session"]
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		wanted = strings.Split(last, ",") // where it was when it was cut off
	}
	if len(wanted) == 0 || len(wanted) > maxFollowed {
		fail(w, http.StatusBadRequest, "", fmt.Errorf("session: name from 1 to %d sessions, not %d", maxFollowed, len(wanted)))
		return
	}
	if query.Get("answers") == "true" && !rights(r).Include(remote.Answer) {
		fail(w, http.StatusForbidden, "denied", fmt.Errorf("answers=true needs the right %q, and the token has %q", remote.Answer, rights(r)))
		return
	}
	leave, ok := s.enter(w)
	if !ok {
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	name := query.Get("name")
	if name == "" {
		name = "browser"
	}
	visit := chats.Visit{Name: name, Answers: query.Get("answers") == "true", Watches: query.Get("watching") != "false"}
	var all []*follower
	defer func() {
		for _, f := range all {
			_ = f.handle.Close() // it only leaves
		}
	}()
	for _, which := range wanted {
		id, from, err := parseCursor(which)
		if err != nil {
			fail(w, http.StatusBadRequest, "", err)
			return
		}
		if slices.ContainsFunc(all, func(f *follower) bool { return f.id == id }) {
			fail(w, http.StatusBadRequest, "", fmt.Errorf("session: %q is named twice", id))
			return
		}
		if err := s.o.May(ctx, sender(r), id); err != nil {
			failed(w, err)
			return
		}
		h, err := s.o.Face(ctx, sender(r), id, visit)
		if err != nil {
			failed(w, err)
			return
		}
		one := &follower{id: id, handle: h, feed: h.Events(from)}
		one.reopen = func() error {
			h, err := s.o.Face(ctx, sender(r), id, visit)
			if err != nil {
				return err
			}
			_ = one.handle.Close() // it only leaves
			one.handle, one.feed = h, h.Events(one.feed.Cursor())
			return nil
		}
		all = append(all, one)
	}
	out := &following{stream: newStream(w), moved: s.o.Moved, all: all, at: make([]string, len(all))}
	for i, f := range all {
		// Where a client was in another epoch counts until it has heard of the new owner.
		if out.at[i] = wanted[i]; !strings.Contains(wanted[i], "@") {
			out.at[i] = formatCursor(f.id, f.feed.Cursor())
		}
	}
	var work sync.WaitGroup
	for i := range all {
		work.Go(func() {
			if err := out.follow(ctx, i); err != nil {
				cancel() // the client has gone
			}
		})
	}
	go out.beat(ctx)
	work.Wait()
	if s.ctx.Err() != nil {
		out.away()
	}
}

// away tells the client that the server ends, and when to connect again.
func (f *following) away() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := fmt.Fprintf(f.w, "retry: %d\n", reconnect.Milliseconds()); err == nil && f.put("", "", []byte(`{"away":true}`)) == nil {
		_ = f.to.Flush() // who has gone reads nothing
	}
}

// following is a stream of events of sessions.
type following struct {
	*stream
	moved func(ctx context.Context, id string) bool
	all   []*follower
	at    []string // where each is, as the ids of events have it; guarded by mu
}

// beat keeps proxies from cutting a stream that says nothing.
func (f *following) beat(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			f.mu.Lock()
			if now.Sub(f.last) >= beat && ctx.Err() == nil {
				f.wake(now)
				_, _ = f.w.Write([]byte(":\n\n")) // who has gone cancels the request
				_ = f.to.Flush()
			}
			f.mu.Unlock()
		}
	}
}

// follow sends the events of the session i until it or ctx ends. What is there is sent at
// once, not event by event.
func (f *following) follow(ctx context.Context, i int) error {
	past, cancel := context.WithCancel(ctx) // canceled: with it, Next does not block
	cancel()
	one := f.all[i]
	if err := f.tell(i, nil); err != nil {
		return err
	}
	wait := ctx
	for {
		e, err := one.feed.Next(wait)
		switch {
		case err == nil:
			if err := f.tell(i, &e); err != nil {
				return err
			}
			wait = past
		case ctx.Err() != nil:
			return nil
		case wait == past && errors.Is(err, context.Canceled): // no more events for now
			f.mu.Lock()
			err := f.to.Flush()
			f.mu.Unlock()
			if err != nil {
				return err
			}
			wait = ctx
		case (errors.Is(err, session.ErrOwnerGone) || errors.Is(err, session.ErrClosed)) && f.moved(ctx, one.id) && one.reopen() == nil:
			one.told, wait = false, past
		default:
			return f.write("", "", ended{one.id, session.FailureOf(err)})
		}
	}
}

// What a stream says, each with the id of its session. facts come before an event that may
// depend on them.
type (
	factsOf struct {
		Session string         `json:"session"`
		Facts   *session.Facts `json:"facts"`
	}
	ended struct {
		Session string           `json:"session"`
		Ended   *session.Failure `json:"ended"`
	}
)

// tell adds an event of the session i to the buffer, after the facts if they have changed. nil:
// only the facts, which are sent. They bring the id of where the stream begins, so that a client
// that is cut off before the first event misses none.
func (f *following) tell(i int, e *session.Event) error {
	one := f.all[i]
	f.mu.Lock()
	defer f.mu.Unlock()
	if e == nil || e.Type != agent.MessageUpdate && e.Type != agent.ToolUpdate && e.Type != session.CommandOutput {
		if now := one.handle.Facts(); !one.told || !one.facts.Same(&now) {
			at := ""
			if e == nil {
				at = strings.Join(f.at, ",")
			}
			raw, err := json.Marshal(factsOf{one.id, &now})
			if err == nil {
				err = f.put("", at, raw)
			}
			if err != nil {
				return err
			}
			one.facts, one.told = now, true
		}
	}
	if e == nil {
		return f.to.Flush()
	}
	raw, err := e.MarshalJSON()
	if err != nil {
		return err
	}
	f.at[i] = formatCursor(one.id, one.feed.Cursor())
	return f.put("", strings.Join(f.at, ","), fmt.Appendf(nil, `{"session":%q,"event":`, one.id), raw, []byte("}"))
}

// formatCursor writes where a client is in a session.
func formatCursor(id string, c session.Cursor) string {
	return id + "@" + c.Epoch + "." + strconv.FormatUint(c.Seq, 10)
}

// parseCursor reads what formatCursor writes, or an id alone, which is now.
func parseCursor(text string) (id string, c session.Cursor, err error) {
	id, at, ok := strings.Cut(text, "@")
	if id == "" || strings.ContainsAny(text, "\r\n") {
		return "", c, fmt.Errorf("session: %q has no id", text)
	}
	if !ok {
		return id, c, nil
	}
	epoch, seq, ok := strings.Cut(at, ".")
	if c.Seq, err = strconv.ParseUint(seq, 10, 64); err != nil || !ok || epoch == "" {
		return "", c, fmt.Errorf("session: %q is not in the form ID@EPOCH.SEQ", text)
	}
	c.Epoch = epoch
	return id, c, nil
}
