package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
)

// seat is the face's place in one session.
type seat struct {
	h    session.Handle
	asks *asks
	stop context.CancelFunc // stops following
	done chan struct{}      // closed when the session is no longer followed

	condensing atomic.Bool
	running    atomic.Bool  // the model is working
	commands   atomic.Int32 // the person's own commands that are running

	mu   sync.Mutex
	seq  uint64        // of the last event written
	more chan struct{} // closed with the next event, then replaced
}

// read returns the number of the last event written and a channel that the next one closes.
func (s *seat) read() (seq uint64, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq, s.more
}

func (s *seat) wrote(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq > 0 {
		s.seq = seq
		close(s.more)
		s.more = make(chan struct{})
	}
}

// sit makes a session the face's current one and starts to follow it.
func (f *face) sit(h session.Handle) *seat {
	ctx, stop := context.WithCancel(f.ctx)
	s := &seat{h: h, stop: stop, done: make(chan struct{}), more: make(chan struct{})}
	s.asks = newAsks(f.out, h.Questions(), !f.o.Events, f.o.Patience)
	feed := h.Events(session.Cursor{})
	s.seq = feed.Cursor().Seq - 1
	f.mu.Lock()
	f.here = s
	f.mu.Unlock()
	go func() {
		defer close(s.done)
		f.follow(ctx, s, feed)
	}()
	if open, err := h.Questions().Open(ctx); err == nil {
		for _, q := range open {
			s.asks.ask(&q)
		}
	}
	return s
}

// streams reports whether the model is working, and not only the person's own command.
func (s *seat) streams() bool {
	return s.h.Facts().Working && !s.condensing.Load() && (s.running.Load() || s.commands.Load() <= 0)
}

// seat returns the current seat; nil: no session is open.
func (f *face) seat() *seat {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.here
}

// seated waits for the first session.
func (f *face) seated(ctx context.Context) (*seat, error) {
	select {
	case <-f.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s := f.seat(); s != nil {
		return s, nil
	}
	return nil, f.failed
}

// shared is a handle that knows how many other faces are attached to its session.
type shared interface{ Faces() int }

// move switches to another session. The previous one is closed, unless others are attached to
// it: then it ends with this process.
func (f *face) move(ctx context.Context, from *seat, w Wish) error {
	f.moving.Lock()
	defer f.moving.Unlock()
	h := f.kept(w.Resume)
	if h == nil {
		var err error
		if h, err = f.o.Open(ctx, w); err != nil {
			return err
		}
	}
	from.stop()
	<-from.done
	from.asks.leave()
	f.sit(h)
	f.mu.Lock()
	var idle []session.Handle
	kept := f.left[:0]
	for _, l := range append(f.left, from.h) {
		if s, ok := l.(shared); ok && s.Faces() > 0 {
			kept = append(kept, l)
		} else {
			idle = append(idle, l)
		}
	}
	f.left = kept
	f.mu.Unlock()
	var err error
	for _, l := range idle {
		err = errors.Join(err, l.Close())
	}
	return err
}

// kept returns to a session that was left while others were attached to it; nil: there is none.
func (f *face) kept(path string) session.Handle {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, l := range f.left {
		if path != "" && sameFile(l.Facts().Path, path) {
			f.left = slices.Delete(f.left, i, i+1)
			return l
		}
	}
	return nil
}

// follow writes the events of a session until the face leaves it or it ends.
func (f *face) follow(ctx context.Context, s *seat, feed session.Feed) {
	w := f.writer(s)
	past, cancel := context.WithCancel(ctx) // canceled: with it, Next does not block
	cancel()
	wait := ctx
	for {
		e, err := feed.Next(wait)
		switch {
		case err == nil:
			f.gate.Lock()
			f.hear(s, &e)
			w.event(&e)
			f.gate.Unlock()
			s.wrote(e.Seq)
			wait = past
		case wait == past && ctx.Err() == nil && errors.Is(err, context.Canceled): // no more events for now
			f.out.flush()
			wait = ctx
		case errors.Is(err, session.ErrOwnerGone), errors.Is(err, session.ErrClosed) && !s.h.Owns() && ctx.Err() == nil:
			go f.rejoin(s)
			return
		case errors.Is(err, session.ErrClosed) && ctx.Err() == nil:
			f.end(errors.New("the session has ended"))
			return
		default:
			return
		}
	}
}

// rejoin continues a session whose owner has ended.
func (f *face) rejoin(s *seat) {
	f.moving.Lock()
	defer f.moving.Unlock()
	if f.seat() != s || f.ctx.Err() != nil {
		return
	}
	h, err := f.o.Open(f.ctx, Wish{Resume: s.h.Facts().Path})
	if err != nil {
		f.end(fmt.Errorf("the burin that had the session open has ended, and it can't be continued here: %w", err))
		return
	}
	s.asks.leave()
	_ = s.h.Close() // its owner is gone
	f.sit(h)
}

// hear updates the state that commands and questions depend on.
func (f *face) hear(s *seat, e *session.Event) {
	switch e.Type {
	case session.CompactionStart:
		s.condensing.Store(true)
	case session.CompactionEnd:
		s.condensing.Store(false)
	case agent.AgentStart:
		s.running.Store(true)
	case session.AgentSettled:
		s.running.Store(false)
	case session.CommandStart:
		s.commands.Add(1)
	case session.CommandEnd:
		s.commands.Add(-1)
	}
	switch d := e.Data.(type) {
	case *session.Question:
		s.asks.ask(d)
	case *session.Settled:
		s.asks.settled(d.ID)
	}
}

// eventWriter writes events to the client.
type eventWriter interface{ event(*session.Event) }

func (f *face) writer(s *seat) eventWriter {
	if f.o.Events {
		return rawWriter{f.out}
	}
	return &familyWriter{h: s.h, out: f.out, ctx: f.ctx}
}

// rawWriter writes events as docs/events.md describes them.
type rawWriter struct{ out *output }

func (w rawWriter) event(e *session.Event) {
	if raw, err := e.MarshalJSON(); err == nil { // what can't be written can't be sent
		w.out.put(raw)
	}
}
