package server

import (
	"cmp"
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
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
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
	lean   remote.Address // nil: the client wants the bytes of pictures and files
	facts  session.Facts  // those that the client has
	told   bool
	reopen func() error // joins the session again, at another server
}

// events serves the stream of all sessions that a client follows.
//
// A server has thousands of streams that say nothing. Each of them has one goroutine here, and what
// joins the sessions is in a function of its own: only what waits stays on the stack.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	leave, ok := s.enter(w)
	if !ok {
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	f := s.join(ctx, w, r)
	if f == nil {
		return
	}
	defer f.leave()
	var others sync.WaitGroup
	if f.lists != nil {
		others.Go(func() {
			if f.listed(ctx) != nil {
				cancel() // the client has gone
			}
		})
	}
	if len(f.all) == 0 {
		<-ctx.Done()
	}
	for i := range f.all[min(1, len(f.all)):] {
		others.Go(func() {
			if f.follow(ctx, i+1) != nil {
				cancel() // the client has gone
			}
		})
	}
	if len(f.all) > 0 && f.follow(ctx, 0) != nil {
		cancel() // the same
	}
	others.Wait()
	if s.ctx.Err() != nil {
		f.away()
	}
}

// join begins the stream that a request asks for; nil: it can't, and the client was told why.
func (s *Server) join(ctx context.Context, w http.ResponseWriter, r *http.Request) *following {
	query := r.URL.Query()
	wanted := query["session"]
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		wanted = strings.Split(last, ",") // where it was when it was cut off
	}
	lists := query.Get("lists") == "true"
	if len(wanted) == 0 && !lists || len(wanted) > maxFollowed {
		fail(w, http.StatusBadRequest, "", fmt.Errorf("session: name from 1 to %d sessions, not %d", maxFollowed, len(wanted)))
		return nil
	}
	answers := query.Get("answers") == "true"
	if answers && !rights(r).Include(remote.Answer) {
		fail(w, http.StatusForbidden, "denied", fmt.Errorf("answers=true needs the right %q, and the token has %q", remote.Answer, rights(r)))
		return nil
	}
	who, visit := sender(r), chats.Visit{Name: cmp.Or(query.Get("name"), "browser"), Answers: answers, Watches: query.Get("watching") != "false"}
	f := &following{moved: s.o.Moved, past: s.past}
	begun := false
	defer func() {
		if !begun {
			f.leave()
		}
	}()
	for _, which := range wanted {
		id, from, err := parseCursor(which)
		if err != nil {
			fail(w, http.StatusBadRequest, "", err)
			return nil
		}
		if slices.ContainsFunc(f.all, func(f *follower) bool { return f.id == id }) {
			fail(w, http.StatusBadRequest, "", fmt.Errorf("session: %q is named twice", id))
			return nil
		}
		if err := s.o.May(ctx, who, id); err != nil {
			failed(w, err)
			return nil
		}
		h, err := s.o.Face(ctx, who, id, visit)
		if err != nil {
			failed(w, err)
			return nil
		}
		one := &follower{id: id, handle: h, feed: h.Events(from), lean: pictureAddress(r, id)}
		one.reopen = func() error {
			h, err := s.o.Face(ctx, who, id, visit)
			if err != nil {
				return err
			}
			_ = one.handle.Close() // it only leaves
			one.handle, one.feed = h, h.Events(one.feed.Cursor())
			return nil
		}
		f.all = append(f.all, one)
		at := which // until the client has heard of a new owner, where it was with the one before counts
		if from == (session.Cursor{}) {
			at = formatCursor(id, one.feed.Cursor())
		}
		f.at = append(f.at, at)
	}
	if lists {
		f.lists = project.Watch(s.o.Projects, who.Person)
		if s.o.Watch != nil && who.Role == people.Admin {
			f.unwatch = s.o.Watch(f.lists.SessionsChanged)
		}
	}
	f.stream = newStream(w)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rhythm, begun = time.AfterFunc(beat, f.beat), true
	return f
}

// listed says that lists have changed, until ctx ends. It begins with it: they may have changed while the client was cut off.
func (f *following) listed(ctx context.Context) error {
	for news := (project.Change{Lists: true, Sessions: f.unwatch != nil}); ; {
		err := f.write("", "", changed{news.Lists, news.Files, news.Sessions})
		if err != nil {
			return err
		}
		if news, err = f.lists.Next(ctx); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
}

// leave ends a stream, or one that has not begun.
func (f *following) leave() {
	if f.unwatch != nil {
		f.unwatch()
	}
	if f.lists != nil {
		f.lists.Leave()
	}
	if f.stream != nil {
		f.mu.Lock()
		f.rhythm.Stop()
		f.rhythm = nil
		f.mu.Unlock()
	}
	for _, one := range f.all {
		_ = one.handle.Close() // it only leaves
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
	moved   func(ctx context.Context, id string) bool
	past    context.Context // canceled: with it, Next does not block
	all     []*follower
	at      []string         // where each is, as the ids of events have it; guarded by mu
	lists   *project.Watcher // nil: it says nothing of lists
	unwatch func()           // nil: it says nothing of coding sessions
	rhythm  *time.Timer      // of beats; nil when the stream has ended; guarded by mu
}

// beat keeps proxies from cutting a stream that says nothing.
func (f *following) beat() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rhythm == nil {
		return // what is written is another request's
	}
	if now := time.Now(); now.Sub(f.last) >= beat {
		f.wake(now)
		_, _ = f.w.Write([]byte(":\n\n")) // who has gone cancels the request
		_ = f.to.Flush()
	}
	f.rhythm.Reset(beat)
}

// follow sends the events of the session i until it or ctx ends. What is there is sent at
// once, not event by event.
func (f *following) follow(ctx context.Context, i int) error {
	one := f.all[i]
	if err := f.greet(i); err != nil {
		return err
	}
	wait := ctx
	for {
		read, err := f.next(wait, i)
		switch {
		case read && err == nil:
			wait = f.past
		case read:
			return err
		case ctx.Err() != nil:
			return nil
		case wait == f.past && errors.Is(err, context.Canceled): // no more events for now
			f.mu.Lock()
			err := f.to.Flush()
			f.mu.Unlock()
			if err != nil {
				return err
			}
			wait = ctx
		case (errors.Is(err, session.ErrOwnerGone) || errors.Is(err, session.ErrClosed)) && f.moved(ctx, one.id) && one.reopen() == nil:
			one.told, wait = false, f.past
		default:
			return f.write("", "", ended{one.id, session.FailureOf(err)})
		}
	}
}

// next reads an event of the session i and adds it to the buffer. If none was read, the error is that
// of the feed.
func (f *following) next(ctx context.Context, i int) (read bool, err error) {
	e, err := f.all[i].feed.Next(ctx)
	if err != nil {
		return false, err
	}
	return true, f.tell(i, e)
}

// What a stream says, each with the id of its session. facts come before an event that may
// depend on them.
type (
	factsOf struct {
		Session string         `json:"session"`
		Facts   *session.Facts `json:"facts"`
	}
	changed struct {
		Lists bool     `json:"lists,omitempty"`
		Files []string `json:"files,omitempty"` // the projects whose files have changed

		Sessions bool `json:"sessions,omitempty"`
	}
	ended struct {
		Session string           `json:"session"`
		Ended   *session.Failure `json:"ended"`
	}
)

// greet sends the facts of the session i. They bring the id of where the stream begins, so that a
// client that is cut off before the first event misses none.
func (f *following) greet(i int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.putFacts(f.all[i], strings.Join(f.at, ",")); err != nil {
		return err
	}
	return f.to.Flush()
}

// putFacts adds the facts of a session to the buffer if they have changed. The caller holds mu.
func (f *following) putFacts(one *follower, at string) error {
	now := one.handle.Facts()
	if one.told && one.facts.Same(&now) {
		return nil
	}
	raw, err := json.Marshal(factsOf{one.id, &now})
	if err != nil {
		return err
	}
	one.facts, one.told = now, true
	return f.put("", at, raw)
}

// tell adds an event of the session i to the buffer, after the facts if they have changed.
func (f *following) tell(i int, e session.Event) error {
	one := f.all[i]
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Type != agent.MessageUpdate && e.Type != agent.ToolUpdate && e.Type != session.CommandOutput {
		if err := f.putFacts(one, ""); err != nil {
			return err
		}
	}
	if one.lean != nil {
		e = one.lean.Event(e)
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
