package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"
	"sync"
	"time"
)

// message is any message of JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// incoming is a message that arrived.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// parcel is a message on its way to a server.
type parcel struct {
	line    []byte
	request bool // an answer is waited for
	// headers go with it over HTTP, if it says by itself which version it is of; nil: it doesn't.
	headers map[string]string
	probe   bool // it is there to learn whether the server knows it
}

// transport carries messages to a server. What comes back is given to [conn.take].
type transport interface {
	// send sends one message. answered says that nothing comes after it has returned: the
	// answer has been taken, or there is none.
	send(ctx context.Context, p parcel) (answered bool, err error)
	close()
	// words are the last ones of a program; "" if there are none.
	words() string
}

// conn is a connection. It is safe for concurrent use.
type conn struct {
	transport
	asked    func(ctx context.Context, method string, params json.RawMessage) (result any, err *Error)
	notified func(method string, params json.RawMessage)

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]*pending
	serving map[string]context.CancelFunc // requests of the server, by id
	err     error
	// completes says that the server has completion/complete; it is set before the connection is used.
	completes bool
	logs      bool   // likewise: it tells its log
	stateless string // likewise: the version of the protocol if each request says which it is of, else ""
	agreed    string // likewise: the version that was agreed on, else ""
	// about is what such a request says, for a caller or nil.
	about      func(version, method string, caller *Caller) map[string]any
	changes    map[string]any    // likewise: the lists whose changes it tells
	follows    chan struct{}     // closed when it begins to tell them; nil: it tells none
	subscribed uint64            // the request that list changes come with; 0 is none
	pages      map[string]func() // that a person has open, by the server's name for them
	done       chan struct{}     // closed when it has ended, for err

	leaving sync.WaitGroup // cancellations
	closing bool           // there are no more of them
}

// pending is a request that waits for its answer.
type pending struct {
	answer chan *incoming
	caller *Caller         // nil: the server can ask nothing for it
	clock  *clock          // nil if it has no time of its own
	life   context.Context // of the request; nil if clock is

	headers map[string]string // more of them
	probe   string            // the version that the server may know; "": it is known what it speaks
	silent  bool              // the server is not told when nobody waits any more
	heard   chan<- struct{}   // what is told when a subscription begins
}

func newConn() *conn {
	return &conn{
		waiting: map[uint64]*pending{}, serving: map[string]context.CancelFunc{}, pages: map[string]func(){}, done: make(chan struct{}),
		asked: func(context.Context, string, json.RawMessage) (any, *Error) {
			return nil, &Error{Code: methodNotFound, Message: "not supported"}
		},
		notified: func(string, json.RawMessage) {},
	}
}

// fail ends the connection for a reason. Calls that wait get it.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// why is the reason why it has ended; nil if it has not.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// take takes a message from the server. What is no message is skipped: some programs write
// words to their standard output.
func (c *conn) take(line []byte) {
	var m incoming
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method != "" && c.unwanted(&m):
	case m.Method != "" && m.ID != nil:
		c.serve(&m)
	case m.Method == "notifications/cancelled":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			c.mu.Lock()
			if cancel := c.serving[string(p.ID)]; cancel != nil {
				cancel()
			}
			c.mu.Unlock()
		}
	case m.Method == "notifications/progress":
		c.progress(m.Params)
	case m.Method != "":
		c.notified(m.Method, m.Params)
	default:
		id, err := strconv.ParseUint(string(m.ID), 10, 64)
		if err != nil {
			return
		}
		c.mu.Lock()
		w := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if w != nil {
			w.answer <- &m
		}
	}
}

// serve answers a request of the server, unless the server cancels it or the connection ends.
func (c *conn) serve(m *incoming) {
	ctx, cancel := context.WithCancel(context.Background())
	id := string(m.ID)
	c.mu.Lock()
	full := len(c.serving) >= maxAsked || c.serving[id] != nil
	if !full {
		c.serving[id] = cancel
	}
	c.mu.Unlock()
	go func() {
		defer cancel()
		var result any
		failed := &Error{Code: -32000, Message: "too many requests at a time"}
		if !full {
			ended := make(chan struct{})
			go func() {
				select {
				case <-c.done:
					cancel()
				case <-ended:
				}
			}()
			result, failed = c.asked(ctx, m.Method, m.Params)
			close(ended)
			c.mu.Lock()
			delete(c.serving, id)
			c.mu.Unlock()
			if ctx.Err() != nil {
				return // nobody waits for it
			}
		}
		if failed == nil && result == nil {
			result = struct{}{}
		}
		answer, _ := json.Marshal(message{Version: "2.0", ID: m.ID, Result: result, Error: failed}) // of our own types
		_, _ = c.send(context.Background(), parcel{line: answer})                                   // it ends with the connection
	}()
}

// latest is the request with a caller that began last; nil if there is none.
func (c *conn) latest() (found *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := uint64(0)
	for id, w := range c.waiting {
		if w.caller != nil && id > last {
			found, last = w, id
		}
	}
	return found
}

// call sends a request and waits for its answer. When ctx ends first, the server is told.
func (c *conn) call(ctx context.Context, method string, params map[string]any, result any) error {
	return c.callFor(ctx, pending{}, method, params, result)
}

// callFor sends a request as it is wanted.
func (c *conn) callFor(ctx context.Context, w pending, method string, params map[string]any, result any) error {
	answer := make(chan *incoming, 1)
	w.answer = answer
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = &w
	if w.heard != nil {
		c.subscribed = id
	}
	version := cmp.Or(w.probe, c.stateless)
	c.mu.Unlock()
	sent := parcel{request: true, probe: w.probe != ""}
	meta := map[string]any{}
	if version != "" {
		meta = c.about(version, method, w.caller)
		sent.headers = headersOf(version, method, params, w.headers)
	}
	if w.caller != nil {
		meta["progressToken"] = id
	}
	if len(meta) > 0 { // in params of its own: the caller's may be sent again
		params = maps.Clone(params)
		params["_meta"] = meta
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, id)
	}()
	var err error
	sent.line, err = json.Marshal(message{Version: "2.0", ID: json.RawMessage(strconv.FormatUint(id, 10)), Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("write %s: %w", method, err)
	}
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	// What is still being sent when the answer is here has a moment to end: with a request that is
	// canceled just when it ends, net/http may break the one that got its connection.
	defer time.AfterFunc(maxLeaving, stop)
	failed, out := make(chan error, 1), make(chan bool, 1)
	go func() {
		defer stop()
		answered, err := c.send(sending, sent)
		out <- answered || err != nil
		if err == nil && answered {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			failed <- err
		}
	}()
	var m *incoming
	select {
	case m = <-answer:
	case err := <-failed:
		select {
		case m = <-answer:
		default:
			return err
		}
	case <-c.done:
		select {
		case m = <-answer:
		default:
			return c.why()
		}
	case <-ctx.Done():
		if _, over := c.transport.(*web); over && version != "" {
			stop() // that its stream is closed is how the server hears of it
		} else if !w.silent {
			c.leave(func() { c.cancel(id, out) })
		}
		return ctx.Err()
	}
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return nil
}

// leave does what a cancellation takes beside everything else, unless the connection is being closed.
func (c *conn) leave(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.leaving.Go(do)
	}
}

// left waits for the cancellations. There are none afterwards.
func (c *conn) left() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.leaving.Wait()
}

// Times of a cancellation.
const (
	overtaken  = 200 * time.Millisecond // until it is sent again
	maxLeaving = time.Second            // for all of it
)

// cancel tells the server that nobody waits for a request any more; out says that it has been sent,
// and whether it is over too. Over HTTP the two go different ways, and a server that hears of the
// end before the beginning works in vain, so it is told again if the request was still being sent.
func (c *conn) cancel(id uint64, out <-chan bool) {
	line, err := json.Marshal(message{Version: "2.0", Method: "notifications/cancelled", Params: map[string]any{
		"requestId": id, "reason": "the user or burin canceled it",
	}})
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), maxLeaving)
	defer stop()
	again := time.NewTimer(overtaken)
	defer again.Stop()
	over, sent := false, false
	for try := 1; !over; try++ {
		select {
		case over = <-out:
			sent = true
		default:
		}
		if over {
			return
		}
		if _, err := c.send(ctx, parcel{line: line}); err != nil || sent || try == 2 {
			return
		}
		select {
		case over = <-out:
			sent = true
		case <-again.C:
		case <-c.done:
			return
		}
	}
}
