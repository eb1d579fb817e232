package session

import (
	"context"
	"errors"
	"sync"
	"time"
)

// stage runs one thing at a time: a prompt, a command, a compaction. It counts what runs in
// the background, so that closing the session waits for it.
type stage struct {
	now    func() time.Time
	ending func()                // called before the current operation ends
	ended  func()                // called after that
	idle   func() time.Duration  // how long a conversation must be idle before it is compacted; 0 means never
	rested func(context.Context) // compacts it

	mu         sync.Mutex
	closed     bool
	halted     bool                    // nothing new begins, and the current operation ends after its answer
	begun      time.Time               // start of the current operation
	over       chan struct{}           // closed when the current operation has ended; nil if there is none
	cancel     context.CancelCauseFunc // of the current operation
	condensing bool                    // the current operation is a compaction that nobody waits for
	resting    *time.Timer             // until an idle conversation is compacted; nil if it won't be

	life  context.Context // of background work; ends with the session
	die   context.CancelFunc
	tasks sync.WaitGroup
}

// errStopped is the cause of what abort ends.
var errStopped = errors.New("stopped")

// begin starts an operation. The context ends with abort.
func (g *stage) begin(ctx context.Context) (context.Context, func(), error) {
	return g.occupy(ctx, false)
}

// occupy is begin, also for a compaction that nobody waits for. After an operation of the
// user's, the conversation starts to idle again. After such a compaction it doesn't: the
// compaction would be repeated, and paid for, as long as it fails.
func (g *stage) occupy(ctx context.Context, condensing bool) (context.Context, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed, g.halted:
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

// rest compacts an idle conversation after a while, if that is enabled. It costs one timer,
// and only if it would do something. The caller holds mu.
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
			return // something happened after all, or the session has ended
		}
		defer end()
		g.rested(ctx)
	})
}

// wake is begin for what the user wants: it stops an idle compaction.
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

// beside is begin for background work: its context ends with the session, and closing the
// session waits for it.
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

// abort stops the current operation; false: there is none.
func (g *stage) abort() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(errStopped)
	}
	return g.cancel != nil
}

// halt has nothing new begin, and waits until the current operation or ctx has ended.
func (g *stage) halt(ctx context.Context) {
	g.mu.Lock()
	g.halted = true
	over := g.over
	g.mu.Unlock()
	if over == nil {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// lose has nothing new begin, and stops the current operation.
func (g *stage) lose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.halted = true
	if g.cancel != nil {
		g.cancel(errStopped)
	}
}

// boundary stops the current operation if the session is to halt: an answer and its calls are
// complete, and the next request has not begun.
func (g *stage) boundary() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.halted && g.cancel != nil {
		g.cancel(errStopped)
	}
}

// stop stops the current operation and waits until it or ctx has ended.
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

// close prevents new operations, and reports whether it was the first to do so.
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

// working reports whether an operation is running that somebody waits for, and since when one
// is running.
func (g *stage) working() (bool, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over != nil && !g.condensing, g.begun
}
