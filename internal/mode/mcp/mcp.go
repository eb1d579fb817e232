// Package mcp serves programs that speak the Model Context Protocol: it offers them tools over
// standard input and output ([Server.Serve]) and over streamable HTTP ([Server.Handler]). What
// the tools do is up to who makes the server.
//
// # Promises
//
//   - A tool runs until it is done, the client cancels the call, or the client is gone. Nothing
//     runs on for a client that can no longer read the result.
//   - Progress is told to who asks for it, in rising numbers.
//   - Messages, calls at a time and sessions over HTTP are bounded. What exceeds a bound is an
//     error that says so.
//   - Over HTTP nobody is served without the token, or under another name than one of this machine.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/prose"
)

// The versions of the protocol that are spoken besides [newest], in which a connection begins with a
// handshake, the newest first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Limits of clients.
const (
	maxMessage = 4 << 20 // bytes of a message
	maxCalls   = 16      // of a client at a time
	maxLoose   = 64      // over HTTP that belong to no session, at a time
)

// Tool is a tool that clients can call. A call with arguments that the tool doesn't take is an
// error of Run.
type Tool struct {
	Name        string
	Title       string
	Description string
	Schema      json.RawMessage // of the arguments
	ReadOnly    bool
	// Run calls it. tell says what happens meanwhile; it may be called from any goroutine until Run
	// returns. An error is told to the client's model.
	Run func(ctx context.Context, args json.RawMessage, tell func(string)) (Result, error)
}

// Result is that of a call.
type Result struct {
	Text       string
	Structured any // an object that says the same; nil is none
	Failed     bool
}

// Server serves clients. It is safe for concurrent use once its fields are set.
type Server struct {
	Version      string
	Instructions string // for the client's model
	Tools        []Tool
}

// request is a message of a client: a request, or a notification without an id.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// response is a message to a client.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

const (
	codeParse   = -32700
	codeInvalid = -32600
	codeMethod  = -32601
	codeParams  = -32602
	codeBusy    = -32000
	codeHeader  = -32020
	codeVersion = -32022
)

// client is a client and the calls that it waits for.
type client struct {
	server *Server
	most   int // calls at a time

	mu    sync.Mutex
	calls map[string]context.CancelFunc // by the id of the request
}

func newClient(s *Server, most int) *client {
	return &client{server: s, most: most, calls: map[string]context.CancelFunc{}}
}

// parse reads a message. The failure is what to answer to what is none.
func parse(line []byte) (request, *response) {
	var r request
	null := json.RawMessage("null")
	if !json.Valid(line) {
		return r, &response{Version: "2.0", ID: null, Error: &failure{Code: codeParse, Message: "this is not JSON"}}
	}
	if json.Unmarshal(line, &r) != nil {
		return r, &response{Version: "2.0", ID: null, Error: &failure{Code: codeInvalid, Message: "send one message at a time"}}
	}
	if bytes.Equal(r.ID, null) {
		r.ID = nil
	}
	return r, nil
}

// answer does what a request wants. send is given the notifications that come before the answer. For
// a notification, an answer of the client, and a call that was canceled the answer is nil.
func (c *client) answer(ctx context.Context, r request, send func(*response)) *response {
	if r.ID == nil {
		if r.Method == "notifications/cancelled" {
			var p struct {
				ID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(r.Params, &p) == nil {
				c.cancel(string(p.ID))
			}
		}
		return nil
	}
	if r.Method == "" {
		return nil // nothing was asked of the client
	}
	var result any
	var wrong *failure
	switch m := metaOf(r); {
	case m.version == "" && r.Method != "server/discover", older(m.version):
		result, wrong = c.result(ctx, r, send)
	default:
		if wrong = m.refusal(); wrong == nil {
			var said map[string]any
			if said, wrong = c.stateless(ctx, r, send); wrong == nil {
				result = said
			}
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return &response{Version: "2.0", ID: r.ID, Result: result, Error: wrong}
}

func (c *client) result(ctx context.Context, r request, send func(*response)) (any, *failure) {
	s := c.server
	switch r.Method {
	case "initialize":
		var p struct {
			Version string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(r.Params, &p) // who says nothing gets the newest
		if !slices.Contains(versions, p.Version) {
			p.Version = versions[0]
		}
		return map[string]any{
			"protocolVersion": p.Version, "capabilities": map[string]any{"tools": struct{}{}},
			"serverInfo": s.about(), "instructions": s.Instructions,
		}, nil
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": c.tools()}, nil
	case "tools/call":
		said, wrong := c.call(ctx, r, send)
		if wrong != nil {
			return nil, wrong
		}
		return said, nil
	}
	return nil, noMethod(r.Method)
}

// about is what the server says of itself.
func (s *Server) about() any {
	return map[string]string{"name": "burin", "title": "burin", "version": s.Version}
}

// tools are the tools as clients read them.
func (c *client) tools() []any {
	all := make([]any, len(c.server.Tools))
	for i := range c.server.Tools {
		t := &c.server.Tools[i]
		all[i] = map[string]any{
			"name": t.Name, "title": t.Title, "description": t.Description, "inputSchema": t.Schema,
			"annotations": map[string]bool{"readOnlyHint": t.ReadOnly},
		}
	}
	return all
}

func noMethod(name string) *failure {
	return &failure{Code: codeMethod, Message: "burin has no method " + prose.Short(prose.Inline(name), 100)}
}

// call calls a tool.
func (c *client) call(ctx context.Context, r request, send func(*response)) (map[string]any, *failure) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, &failure{Code: codeParams, Message: "params: " + err.Error()}
	}
	at := slices.IndexFunc(c.server.Tools, func(t Tool) bool { return t.Name == p.Name })
	if at < 0 {
		return nil, &failure{Code: codeParams, Message: "no tool " + prose.Short(prose.Inline(p.Name), 100)}
	}
	if len(p.Args) == 0 {
		p.Args = json.RawMessage("{}")
	}
	var mu sync.Mutex
	told, over := 0, false
	tell := func(words string) {
		mu.Lock()
		defer mu.Unlock()
		if len(p.Meta.Token) == 0 || over {
			return
		}
		told++
		send(&response{Version: "2.0", Method: "notifications/progress", Params: map[string]any{
			"progressToken": p.Meta.Token, "progress": told, "message": prose.Short(prose.Inline(words), 200),
		}})
	}
	result, err := c.server.Tools[at].Run(ctx, p.Args, tell)
	mu.Lock()
	over = true
	mu.Unlock()
	if err != nil {
		result.Failed = true
		result.Text = prose.Clip(err.Error(), 2000)
	}
	said := map[string]any{"content": []any{map[string]string{"type": "text", "text": result.Text}}}
	if result.Structured != nil {
		said["structuredContent"] = result.Structured
	}
	if result.Failed {
		said["isError"] = true
	}
	return said, nil
}

// begin notes a request that can be canceled. ok is false if there are too many.
func (c *client) begin(ctx context.Context, id string) (_ context.Context, end func(), ok bool) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) >= c.most || c.calls[id] != nil {
		cancel()
		return nil, nil, false
	}
	c.calls[id] = cancel
	return ctx, sync.OnceFunc(func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
	}), true
}

func (c *client) cancel(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.calls[id]; stop != nil {
		stop()
	}
}

// cancelAll ends what the client waits for.
func (c *client) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, stop := range c.calls {
		stop()
	}
}

var errBusy = &failure{Code: codeBusy, Message: fmt.Sprintf("at most %d requests at a time, each with an id of its own", maxCalls)}

// Serve speaks the protocol until in ends or ctx does. out has nothing else.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	c := newClient(s, maxCalls)
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	var writing sync.Mutex
	var broken error
	send := func(r *response) {
		line, err := json.Marshal(r)
		if err != nil {
			return // it is of our own types
		}
		writing.Lock()
		defer writing.Unlock()
		if broken == nil {
			if _, broken = out.Write(append(line, '\n')); broken != nil {
				stop()
			}
		}
	}
	lines := jsontext.NewLines(in, maxMessage, 0)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, jsontext.ErrTooLong):
			send(&response{Version: "2.0", ID: json.RawMessage("null"), Error: &failure{Code: codeInvalid, Message: fmt.Sprintf("a message has at most %d MB", maxMessage>>20)}})
			continue
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read from the client: %w", err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, wrong := parse(line)
		if wrong != nil {
			send(wrong)
			continue
		}
		if r.ID == nil || r.Method != "tools/call" { // which takes no time
			if a := c.answer(ctx, r, send); a != nil {
				send(a)
			}
			continue
		}
		begun, end, ok := c.begin(ctx, string(r.ID))
		if !ok {
			send(&response{Version: "2.0", ID: r.ID, Error: errBusy})
			continue
		}
		working.Go(func() {
			a := c.answer(begun, r, send)
			if end(); a != nil { // its place is free before the client knows
				send(a)
			}
		})
	}
}
