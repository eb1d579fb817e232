package acp

import (
	"context"
	"io"
	"sync"
	"time"
)

// outbox is what waits to be written. One goroutine writes it, so that nobody else waits
// for the other side.
type outbox struct {
	w      io.Writer
	broken chan struct{} // closed when nothing can be written any more, for err
	done   chan struct{} // closed when run has ended
	err    error

	mu      sync.Mutex
	queue   []byte
	writing int           // bytes that are being written
	changed chan struct{} // closed when there is more room
	filled  chan struct{} // has room for one: there is something to write
	closing bool
}

func newOutbox(w io.Writer) *outbox {
	return &outbox{w: w, broken: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{}), filled: make(chan struct{}, 1)}
}

// put adds a line.
func (o *outbox) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.queue = append(append(o.queue, line...), '\n')
	o.wake()
}

// wake has the queue looked at; mu is held.
func (o *outbox) wake() {
	select {
	case o.filled <- struct{}{}:
	default:
	}
}

// room waits until less than limit bytes wait.
func (o *outbox) room(ctx context.Context, limit int) error {
	for {
		o.mu.Lock()
		waits, changed, err := len(o.queue)+o.writing, o.changed, o.err
		o.mu.Unlock()
		switch {
		case err != nil:
			return err
		case waits < limit:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run writes until close, or until writing fails.
func (o *outbox) run() {
	defer close(o.done)
	for range o.filled {
		for {
			o.mu.Lock()
			batch := o.queue
			o.queue, o.writing = nil, len(batch)
			closing := o.closing
			o.mu.Unlock()
			if len(batch) == 0 {
				if closing {
					return
				}
				break
			}
			_, err := o.w.Write(batch)
			o.mu.Lock()
			o.writing = 0
			if err != nil {
				o.err, o.queue = err, nil
				close(o.broken)
			}
			close(o.changed)
			o.changed = make(chan struct{})
			o.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// close waits until all is written, at most for d.
func (o *outbox) close(d time.Duration) {
	o.mu.Lock()
	o.closing = true
	o.wake()
	o.mu.Unlock()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-o.done:
	case <-late.C:
	}
}
