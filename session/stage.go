package session

import (
	"context"
	"errors"
	"sync"
	"time"
)

// stage has one thing at a time under way: a prompt, a command, a compaction. What goes on
// beside these is counted, so that the end of the session waits for it.
type stage struct {
	now    func() time.Time
	ending func()                // before what is under way has ended
	ended  func()                // after that
	idle   func() time.Duration  // after how long a conversation that rests is condensed; 0: it is not
	rested func(context.Context) // condenses it

	mu         sync.Mutex
	closed     bool
	begun      time.Time               // of what is under way
	over       chan struct{}           // closed when what is under way has ended; nil: nothing is
	cancel     context.CancelCauseFunc // of what is under way
	condensing bool                    // what is under way is a compaction that nobody waits for
	resting    *time.Timer             // until a conversation that rests is condensed; nil: it is not

	life  context.Context // of what goes on beside prompts; ends with the session
	die   context.CancelFunc
	tasks sync.WaitGroup
}

// errStopped is the cause of what is ended by abort.
var errStopped = errors.New("stopped")

// begin takes the stage for one thing at a time. The context ends with abort.
func (g *stage) begin(ctx context.Context) (context.Context, func(), error) {
	return g.occupy(ctx, false)
}

// occupy is begin, also for a compaction that nobody waits for. What a person did lets
// the conversation rest anew when it ends; such a compaction does not: it would be
// repeated, and paid, for as long as it fails.
func (g *stage) occupy(ctx context.Context, condensing bool) (context.Context, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, nil, ErrClosed
	case g.over != nil:
		return nil, nil, ErrBusy
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	g.over, g.cancel, g.condensing, g.begun = over, cancel, condensing, g.now()
	if g.resting != nil {
		g.resting.Stop()
	}
	return ctx, func() {
		cancel(nil)
		g.ending()
		g.mu.Lock()
		g.over, g.cancel, g.condensing, g.begun = nil, nil, false, time.Time{}
		if !condensing {
			g.rest()
		}
		g.mu.Unlock()
		close(over)
		g.ended()
	}, nil
}

// rest sees to it that a conversation at which nothing happens is condensed after a
// while, if that is wanted. It costs one timer, and only where it would be done.
// The caller holds mu.
func (g *stage) rest() {
	wait := time.Duration(0)
	if !g.closed {
		wait = g.idle()
	}
	if wait == 0 {
		return
	}
	g.resting = time.AfterFunc(wait, func() {
		ctx, end, err := g.occupy(g.life, true)
		if err != nil {
			return // something happens after all, or the session has ended
		}
		defer end()
		g.rested(ctx)
	})
}

// wake is begin for what a person wants: a compaction that only goes on because nothing
// else did makes way for it.
func (g *stage) wake(ctx context.Context) (context.Context, func(), error) {
	for {
		inner, end, err := g.begin(ctx)
		if !errors.Is(err, ErrBusy) {
			return inner, end, err
		}
		g.mu.Lock()
		over := g.over
		if over != nil && !g.condensing {
			g.mu.Unlock()
			return nil, nil, err
		}
		if over != nil {
			g.cancel(errStopped)
		}
		g.mu.Unlock()
		if over == nil {
			continue // it has ended meanwhile
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, nil, ErrNotBegun
		}
	}
}

// beside is begin for what goes on beside prompts: its context ends with the session,
// whose end waits for it.
func (g *stage) beside(ctx context.Context) (context.Context, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, ErrClosed
	}
	g.tasks.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.life, func() { cancel(errStopped) })
	return ctx, func() {
		stop()
		cancel(nil)
		g.tasks.Done()
	}, nil
}

// abort stops what is under way.
func (g *stage) abort() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(errStopped)
	}
}

// stop ends what is under way and waits until it has ended, or ctx does.
func (g *stage) stop(ctx context.Context) error {
	g.mu.Lock()
	over := g.over
	g.mu.Unlock()
	if over == nil {
		return nil
	}
	g.abort()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close lets nothing begin any more, and reports whether that is new.
func (g *stage) close() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.closed
	g.closed = true
	if g.resting != nil {
		g.resting.Stop()
	}
	return !was
}

// shut reports whether the session has been closed.
func (g *stage) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// working reports whether something is under way that somebody waits for, and since when
// something is.
func (g *stage) working() (bool, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over != nil && !g.condensing, g.begun
}
