package llm

import (
	"sync"
	"time"
)

// Coalesce merges deltas of s that follow each other with the same type and
// index and arrive within window, for readers that redraw at each event; about
// 50 ms suits a screen. Any other event is passed on at once, after what was
// held back. One goroutine reads s, at most one event ahead of the reader; it
// ends with the stream.
func Coalesce(s Stream, window time.Duration) Stream {
	c := &coalescer{src: s, window: window, in: make(chan Event), quit: make(chan struct{})}
	go c.pump()
	return c
}

type coalescer struct {
	src    Stream
	window time.Duration
	in     chan Event
	quit   chan struct{}
	once   sync.Once
	held   *Event // read ahead, not yet given out
	ended  bool
}

func (c *coalescer) pump() {
	defer close(c.in)
	for {
		ev, ok := c.src.Next()
		if !ok {
			return
		}
		select {
		case c.in <- ev:
		case <-c.quit:
			return
		}
	}
}

func (c *coalescer) Next() (Event, bool) {
	var ev Event
	if c.held != nil {
		ev, c.held = *c.held, nil
	} else {
		var ok bool
		if c.ended {
			return Event{}, false
		}
		if ev, ok = <-c.in; !ok {
			c.ended = true
			return Event{}, false
		}
	}
	if !ev.Type.Delta() {
		return ev, true
	}
	pieces := []byte(nil)
	timer := time.NewTimer(c.window)
	defer timer.Stop()
	for {
		select {
		case next, ok := <-c.in:
			if ok && next.Type == ev.Type && next.Index == ev.Index {
				if pieces == nil {
					pieces = append(pieces, ev.Delta...)
				}
				pieces = append(pieces, next.Delta...)
				continue
			}
			if ok {
				c.held = &next
			} else {
				c.ended = true
			}
		case <-timer.C:
		}
		if pieces != nil {
			ev.Delta = string(pieces)
		}
		return ev, true
	}
}

func (c *coalescer) Close() error {
	c.once.Do(func() { close(c.quit) })
	return c.src.Close()
}
