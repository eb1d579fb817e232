package acp

import (
	"context"
	"io"
	"sync"
	"time"
)

// outbox is the queue of outgoing lines. One goroutine writes it, so no other one blocks on
// the other side.
type outbox struct {
	w      io.Writer
	broken chan struct{} // closed when a write has failed, with err
	done   chan struct{} // closed when run returns
	err    error

	mu      sync.Mutex
	queue   []byte
	writing int           // bytes being written
	changed chan struct{} // closed when a write has made room, then replaced
	filled  chan struct{} // holds one signal: there is something to write, or closing is set
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

// wake has run look at the queue. The caller holds mu.
func (o *outbox) wake() {
	select {
	case o.filled <- struct{}{}:
	default:
	}
}

// room blocks until fewer than limit bytes are queued.
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

// run writes until close is called or a write fails.
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

// close waits until the queue is written, for at most d.
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
