package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// message is any message of JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
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

// conn is a connection. It is safe for concurrent use. What is sent waits in a queue, so that
// nobody waits for a server that does not read.
type conn struct {
	asked    func(method string, params json.RawMessage) (result any, err *Error)
	notified func(method string, params json.RawMessage)

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan *incoming
	queue   [][]byte
	queued  int
	wake    chan struct{}
	err     error
	done    chan struct{} // closed when it has ended, for err
}

func newConn() *conn {
	return &conn{
		waiting: map[uint64]chan *incoming{}, done: make(chan struct{}), wake: make(chan struct{}, 1),
		asked: func(string, json.RawMessage) (any, *Error) {
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
		c.queue, c.queued = nil, 0
		close(c.done)
	}
}

// why is the reason why it has ended; nil if it has not.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// read takes messages until the input ends.
func (c *conn) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		body, err := readMessage(r)
		switch {
		case errors.Is(err, errLarge):
			c.giveUp(err) // whose answer it was is not known
		case err != nil:
			return err
		default:
			c.take(body)
		}
	}
}

// readMessage reads one message. Lines that are no header are skipped: some programs write words
// to their standard output.
func readMessage(r *bufio.Reader) ([]byte, error) {
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" && length >= 0 {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if ok && strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n >= 0 {
				length = n
			}
		}
	}
	if length > maxMessage {
		if _, err := io.CopyN(io.Discard, r, int64(length)); err != nil {
			return nil, err
		}
		return nil, errLarge
	}
	// The buffer grows with what comes, and not with what the header says.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// giveUp answers all calls that wait with an error.
func (c *conn) giveUp(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, answer := range c.waiting {
		answer <- &incoming{Error: &Error{Message: err.Error()}}
		delete(c.waiting, id)
	}
}

// take takes a message from the server.
func (c *conn) take(body []byte) {
	var m incoming
	if json.Unmarshal(body, &m) != nil {
		return
	}
	switch {
	case m.Method != "" && m.ID != nil:
		result, failure := c.asked(m.Method, m.Params)
		raw, err := json.Marshal(result)
		if err != nil {
			raw = json.RawMessage("null")
		}
		if failure != nil {
			raw = nil
		}
		c.send(message{Version: "2.0", ID: m.ID, Result: raw, Error: failure})
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

// send puts a message into the queue.
func (c *conn) send(m message) {
	body, err := json.Marshal(m)
	if err != nil {
		return // of our own types
	}
	framed := fmt.Appendf(make([]byte, 0, len(body)+40), "Content-Length: %d\r\n\r\n", len(body))
	framed = append(framed, body...)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.queue, c.queued = append(c.queue, framed), c.queued+len(framed)
	full := c.queued > maxQueued
	c.mu.Unlock()
	if full {
		c.fail(fmt.Errorf("the language server does not read: %d MB wait for it", maxQueued>>20))
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write writes what is queued until the connection ends.
func (c *conn) write(out io.WriteCloser) {
	defer out.Close()
	for {
		c.mu.Lock()
		batch := c.queue
		c.queue, c.queued = nil, 0
		c.mu.Unlock()
		for _, m := range batch {
			if _, err := out.Write(m); err != nil {
				return // the reader says why
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.wake:
		case <-c.done:
			return
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
	c.send(message{Version: "2.0", ID: json.RawMessage(strconv.FormatUint(id, 10)), Method: method, Params: params})
	var m *incoming
	select {
	case m = <-answer:
	case <-c.done:
		select {
		case m = <-answer:
		default:
			return c.why()
		}
	case <-ctx.Done():
		c.notify("$/cancelRequest", map[string]any{"id": id})
		return context.Cause(ctx)
	}
	if m.Error != nil {
		return m.Error
	}
	if result == nil || len(m.Result) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return nil
}

// notify tells the server something.
func (c *conn) notify(method string, params any) {
	c.send(message{Version: "2.0", Method: method, Params: params})
}
