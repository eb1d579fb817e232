package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/jsontext"
)

// ErrClosed means that the connection is closed.
var ErrClosed = errors.New("the connection has ended")

// Work is the part of a request that may take time. Its context ends when the other side
// cancels the request and when the connection ends.
type Work func(ctx context.Context) (result any, err error)

// Then is a result with something to do once it is queued: what Do sends arrives after the
// result.
type Then struct {
	Result any
	Do     func()
}

// Handler handles a request or a notification. The reading goroutine calls it in the order
// of arrival, so it must not block: it returns what takes time as work, which runs in its own
// goroutine. A notification has no work.
type Handler func(method string, params json.RawMessage, isRequest bool) (Work, error)

// Conn is a connection. It is safe for concurrent use.
type Conn struct {
	out    *outbox
	handle Handler

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan *message      // outgoing requests, by id
	running map[string]context.CancelFunc // incoming requests, by the id as it is written
	ended   bool
}

// New returns a connection that writes to w. [Conn.Serve] starts it.
func New(w io.Writer, h Handler) *Conn {
	return &Conn{out: newOutbox(w), handle: h, waiting: map[uint64]chan *message{}, running: map[string]context.CancelFunc{}}
}

// farewell is how long writing the queue may take when the connection ends.
const farewell = 2 * time.Second

// Serve reads until r or ctx ends or a write fails. Then it cancels the requests in progress,
// calls ending, and writes what is still queued.
func (c *Conn) Serve(ctx context.Context, r io.Reader, ending func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var tasks sync.WaitGroup
	go c.out.run()
	read := make(chan error, 1)
	go func() { read <- c.read(ctx, r, &tasks) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.out.broken:
		err = c.out.err
	}
	stop()
	c.end()
	ending()
	tasks.Wait()
	c.out.close(farewell)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// end refuses further calls and fails those that wait for an answer.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for id, answer := range c.waiting {
		close(answer)
		delete(c.waiting, id)
	}
}

func (c *Conn) read(ctx context.Context, r io.Reader, tasks *sync.WaitGroup) error {
	lines := jsontext.NewLines(r, MaxLine, 0)
	for {
		if err := c.out.room(ctx, maxBacklog); err != nil {
			return err
		}
		line, err := lines.Next()
		switch {
		case errors.Is(err, jsontext.ErrTooLong):
			c.fail(nil, Errorf(CodeInvalidRequest, "a message is at most %d MB long", MaxLine>>20))
			continue
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		c.take(ctx, line, tasks)
	}
}

// take handles one message.
func (c *Conn) take(ctx context.Context, line []byte, tasks *sync.WaitGroup) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		if !json.Valid(line) {
			c.fail(nil, Errorf(CodeParse, "this is not JSON: %v", err))
			return
		}
		c.fail(nil, Errorf(CodeInvalidRequest, "this is not a message of JSON-RPC 2.0: %v", err))
		return
	}
	id, ok := validID(m.ID)
	switch {
	case !ok:
		c.fail(nil, Errorf(CodeInvalidRequest, "an id must be a string, a whole number or null"))
	case m.Version != "2.0":
		c.fail(id, Errorf(CodeInvalidRequest, `"jsonrpc" must be "2.0"`))
	case m.Method == nil && (m.Result != nil || m.Error != nil):
		c.answered(&m)
	case m.Method == nil || *m.Method == "":
		c.fail(id, Errorf(CodeInvalidRequest, "a message needs a method, a result or an error"))
	case id == nil:
		c.notified(*m.Method, m.Params)
	default:
		c.asked(ctx, id, *m.Method, m.Params, tasks)
	}
}

// validID returns the id as it is written, nil if there is none, and whether it is valid.
func validID(id json.RawMessage) (json.RawMessage, bool) {
	switch {
	case len(id) == 0:
		return nil, true
	case id[0] == '"', string(id) == "null":
		return id, true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return id, err == nil
}

// answered passes a response to the call that waits for it. It drops one that no call waits
// for, as after a cancel.
func (c *Conn) answered(m *message) {
	id, err := strconv.ParseUint(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	answer := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

func (c *Conn) notified(method string, params json.RawMessage) {
	if method == MethodCancelRequest {
		var p CancelRequest
		if json.Unmarshal(params, &p) != nil {
			return
		}
		c.mu.Lock()
		cancel := c.running[string(p.RequestID)]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	_, _ = c.handle(method, params, false) // a notification has no response to put an error in
}

// asked starts an incoming request.
func (c *Conn) asked(ctx context.Context, id json.RawMessage, method string, params json.RawMessage, tasks *sync.WaitGroup) {
	key := string(id)
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	_, again := c.running[key]
	full := len(c.running) >= maxRequests
	if !again && !full {
		c.running[key] = cancel
	}
	c.mu.Unlock()
	switch {
	case again:
		cancel()
		c.fail(id, Errorf(CodeInvalidRequest, "a request with the id %s is in progress", key))
		return
	case full:
		cancel()
		c.fail(id, Errorf(CodeInternal, "%d requests are in progress: wait for one of them", maxRequests))
		return
	}
	done := func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, key)
	}
	work, err := c.handle(method, params, true)
	if err != nil {
		done()
		c.fail(id, asError(err))
		return
	}
	tasks.Go(func() {
		result, err := work(ctx)
		cancelled := ctx.Err() != nil
		done()
		then, more := result.(Then)
		switch {
		case err == nil && more:
			c.write(response{"2.0", id, then.Result})
			then.Do()
		case err == nil:
			c.write(response{"2.0", id, result})
		case cancelled && errors.Is(err, context.Canceled):
			c.fail(id, Errorf(CodeCancelled, "the request was canceled"))
		default:
			c.fail(id, asError(err))
		}
	})
}

func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

func (c *Conn) fail(id json.RawMessage, e *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.write(failure{"2.0", id, e})
}

// write queues a message, whatever the length of the queue.
func (c *Conn) write(m any) {
	line, err := json.Marshal(m)
	if err != nil { // the result cannot be encoded
		if r, ok := m.(response); ok {
			c.fail(r.ID, Errorf(CodeInternal, "the answer cannot be written: %v", err))
		}
		return
	}
	c.out.put(line)
}

// Notify sends a notification. It blocks while the other side is slow to read.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	line, err := json.Marshal(notification{"2.0", method, params})
	if err != nil {
		return fmt.Errorf("write %s: %w", method, err)
	}
	if err := c.out.room(ctx, maxQueue); err != nil {
		return err
	}
	c.out.put(line)
	return nil
}

// Call sends a request and waits for the response. When ctx ends first, it cancels the
// request on the other side. An error response is an [*Error].
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answer := make(chan *message, 1)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return ErrClosed
	}
	c.next++
	id := c.next
	c.waiting[id] = answer
	c.mu.Unlock()
	line, err := json.Marshal(request{"2.0", id, method, params})
	if err != nil {
		c.forget(id)
		return fmt.Errorf("write %s: %w", method, err)
	}
	c.out.put(line)
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return ErrClosed
		case m.Error != nil:
			return m.Error
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("read the answer to %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		if c.forget(id) {
			c.write(notification{"2.0", MethodCancelRequest, CancelRequest{json.RawMessage(strconv.FormatUint(id, 10))}})
		}
		return ctx.Err()
	}
}

// forget stops waiting for a response and reports whether none had arrived.
func (c *Conn) forget(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.waiting[id]
	delete(c.waiting, id)
	return open
}
