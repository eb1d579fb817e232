package tui

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
)

// maxWaiting is how many events of a session wait for the loop. Beyond it they stay
// with the session, which drops pieces of answers that nobody has read; what they said
// comes with the whole message.
const maxWaiting = 4096

// inbox brings the loop what other goroutines have for it. Taking is one swap however
// much there is, so that a flood of events costs one waking.
type inbox struct {
	wake chan struct{} // has room for one

	mu     sync.Mutex
	posts  []func()
	events []sessionEvent
	room   chan struct{} // closed when there is room for events again; nil: there is
	ended  bool
}

// sessionEvent is an event of a session.
type sessionEvent struct {
	of *opened
	session.Event
	over bool // no more come: the session has ended, or its owner
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (in *inbox) rouse() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// post hands f to the loop. It never blocks.
func (in *inbox) post(f func()) {
	in.mu.Lock()
	if !in.ended {
		in.posts = append(in.posts, f)
	}
	in.mu.Unlock()
	in.rouse()
}

// put hands over an event without waking the loop, unless there are too many: then it
// waits until the loop has taken them.
func (in *inbox) put(ctx context.Context, e sessionEvent) bool {
	for {
		in.mu.Lock()
		if in.ended {
			in.mu.Unlock()
			return false
		}
		if len(in.events) < maxWaiting {
			in.events = append(in.events, e)
			in.mu.Unlock()
			return true
		}
		if in.room == nil {
			in.room = make(chan struct{})
		}
		room := in.room
		in.mu.Unlock()
		in.rouse()
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
	}
}

// take gives what there is; the slices given back are used again.
func (in *inbox) take(posts []func(), events []sessionEvent) ([]func(), []sessionEvent) {
	clear(posts)
	clear(events)
	in.mu.Lock()
	defer in.mu.Unlock()
	posts, in.posts = in.posts, posts[:0]
	events, in.events = in.events, events[:0]
	if in.room != nil {
		close(in.room)
		in.room = nil
	}
	return posts, events
}

func (in *inbox) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.posts, in.events = nil, nil
	if in.room != nil {
		close(in.room)
		in.room = nil
	}
}

// events is what a session says; see [session.Feed].
type events interface {
	Next(ctx context.Context) (session.Event, error)
	Rest(ctx context.Context, d time.Duration)
}

// calm is how many events may come within a frame for pieces to be read frame by frame.
// A faster stream is read as it comes, so that the session need not drop pieces.
const calm = 100

// follow reads the events of a session into the inbox until it ends. While pieces of an
// answer come, it looks for more only once a frame: a reader that waits is woken by each
// of them, and at the pace of models waking costs more than all that is done with them.
func (in *inbox) follow(ctx context.Context, of *opened, feed events) {
	past, cancel := context.WithCancel(ctx) // with it, Next does not wait
	cancel()
	wait := ctx
	slow, pieces, n, from := false, false, 0, time.Now() // n events since from
	for {
		e, err := feed.Next(wait)
		switch {
		case err == nil:
			if !in.put(ctx, sessionEvent{of: of, Event: e}) {
				return
			}
			wait = past
			n++
			pieces = e.Type == agent.MessageUpdate || e.Type == agent.ToolUpdate
			if e.Type == agent.MessageStart { // its pace is not known yet
				slow, n, from = false, 0, time.Now()
			}
		case wait == past && errors.Is(err, context.Canceled): // that was all for now
			in.rouse()
			if now := time.Now(); now.Sub(from) >= frameTime {
				slow, n, from = n < calm, 0, now
			}
			if pieces && slow {
				feed.Rest(ctx, frameTime+time.Millisecond)
			}
			wait = ctx
		default:
			if errors.Is(err, session.ErrOwnerGone) || errors.Is(err, session.ErrClosed) {
				in.put(ctx, sessionEvent{of: of, over: true})
			}
			in.rouse()
			return
		}
	}
}
