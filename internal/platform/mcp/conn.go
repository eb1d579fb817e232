package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
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

// transport carries messages to a server. What comes back is given to [conn.take].
type transport interface {
	// send sends one message. answered says that nothing comes after it has returned: the
	// answer has been taken, or there is none.
	send(ctx context.Context, line []byte) (answered bool, err error)
	close()
	// words are the last ones of a program; "" if there are none.
	words() string
}

// conn is a connection. It is safe for concurrent use.
type conn struct {
	transport
	asked    func(method string) (result any, err *Error)
	notified func(method string, params json.RawMessage)

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan *incoming
	err     error
	done    chan struct{} // closed when it has ended, for err
}

func newConn() *conn {
	return &conn{
		waiting: map[uint64]chan *incoming{}, done: make(chan struct{}),
		asked:    func(string) (any, *Error) { return nil, &Error{Code: methodNotFound, Message: "not supported"} },
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
	case m.Method != "" && m.ID != nil:
		result, err := c.asked(m.Method)
		if err == nil && result == nil {
			result = struct{}{}
		}
		answer, _ := json.Marshal(message{Version: "2.0", ID: m.ID, Result: result, Error: err}) // of our own types
		go func() { _, _ = c.send(context.Background(), answer) }()                              // it ends with the connection
	case m.Method != "":
		c.notified(m.Method, m.Params)
	default:
		id, err := strconv.ParseUint(string(m.ID), 10, 64)
		if err != nil {
			return
		}
		c.mu.Lock()
		answer := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if answer != nil {
			answer <- &m
		}
	}
}

// call sends a request and waits for its answer. When ctx ends first, the server is told.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan *incoming, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, id)
	}()
	line, err := json.Marshal(message{Version: "2.0", ID: json.RawMessage(strconv.FormatUint(id, 10)), Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("write %s: %w", method, err)
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan error, 1)
	go func() {
		answered, err := c.send(sending, line)
		if err == nil && answered {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			sent <- err
		}
	}()
	var m *incoming
	select {
	case m = <-answer:
	case err := <-sent:
		select {
		case m = <-answer:
		default:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	case <-c.done:
		select {
		case m = <-answer:
		default:
			return c.why()
		}
	case <-ctx.Done():
		c.notify("notifications/cancelled", map[string]any{"requestId": id, "reason": "the user or burin canceled it"})
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

// notify tells the server something. Nobody waits for it.
func (c *conn) notify(method string, params any) {
	line, err := json.Marshal(message{Version: "2.0", Method: method, Params: params})
	if err != nil {
		return
	}
	go func() { _, _ = c.send(context.Background(), line) }() // whether it arrives makes no difference
}
