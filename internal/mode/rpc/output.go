package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// output writes lines. Any goroutine may use it.
type output struct {
	mu     sync.Mutex
	w      *bufio.Writer
	failed func(error) // called with the first error; nothing is written after it
	err    error
}

func newOutput(w io.Writer, failed func(error)) *output {
	return &output{w: bufio.NewWriterSize(w, 64<<10), failed: failed}
}

// put writes a line, which may stay in the buffer.
func (o *output) put(line []byte) { o.write(line, false) }

// send writes a line at once.
func (o *output) send(line []byte) { o.write(line, true) }

func (o *output) write(line []byte, now bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	_, err := o.w.Write(line)
	if err == nil {
		err = o.w.WriteByte('\n')
	}
	if err == nil && now {
		err = o.w.Flush()
	}
	o.fail(err)
}

func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.fail(o.w.Flush())
	}
}

// close stops all writing. It waits for a write in progress, but not for a client that does not
// read.
func (o *output) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = io.ErrClosedPipe
		}
	}()
	select {
	case <-closed:
	case <-time.After(farewell):
	}
}

// fail records an error. The caller holds mu.
func (o *output) fail(err error) {
	if err != nil {
		o.err = err
		o.failed(err)
	}
}

// object writes v at once.
func (o *output) object(v any) { o.send(encode(v)) }

// encode encodes v as one line of JSON and does not escape <, > and &.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return encode(response{Type: "response", Command: "parse", Error: "this answer can't be written as JSON: " + err.Error()})
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// response answers a command.
type response struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Data    any             `json:"data,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// spool passes on pieces of output without ever blocking the writer. It drops what the client
// does not read in time.
type spool struct {
	mu    sync.Mutex
	buf   []string
	size  int
	over  bool
	wake  chan struct{} // holds one signal
	ended chan struct{}
}

// newSpool starts a goroutine that passes pieces to write, one at a time.
func newSpool(write func(string)) *spool {
	s := &spool{wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		for range s.wake {
			s.mu.Lock()
			pieces, over := s.buf, s.over
			s.buf, s.size = nil, 0
			s.mu.Unlock()
			for _, piece := range pieces {
				write(piece)
			}
			if over {
				return
			}
		}
	}()
	return s
}

func (s *spool) add(piece string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(piece) <= maxSpooled {
		s.buf, s.size = append(s.buf, piece), s.size+len(piece)
		s.rouse()
	}
}

// close waits until everything is written.
func (s *spool) close() {
	s.mu.Lock()
	s.over = true
	s.rouse()
	s.mu.Unlock()
	<-s.ended
}

// rouse wakes the goroutine that writes. The caller holds mu.
func (s *spool) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
