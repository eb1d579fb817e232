// Package mcp talks to servers of the Model Context Protocol: programs and web services that
// offer tools. A [Pool] has the servers of a process, each once, whoever uses it. [Pool.Use]
// gives a [Link] to one, which knows the tools that the server had last, from a file, and
// connects with the first call. So nothing waits for a server that no call needs.
//
// The protocol is burin's own code: the official SDK costs 1.4 MB of the program and brings
// a second JSON package, a rate limiter and OAuth, where messages, two kinds of HTTP and one
// of pipes are what is needed. Tests hold this package to the SDK's server.
//
// # Promises
//
//   - What a server says is bounded: messages, descriptions, schemas, the number of tools, and
//     what is kept of its log. None of it is trusted.
//   - A program does not outlive burin (see package process), and gets the variables that
//     programs need and those of its definition, not the keys in burin's environment.
//   - Headers, which may hold tokens, and the tokens of logins go to the server's own host only.
//   - A call runs at most once: if the connection ends meanwhile, that is an error, and the
//     next call connects again. After failures it waits longer and longer before it tries.
//   - Nothing runs by itself: there is no connection before there is need, and what breaks of one is
//     begun again a few times only.
//
// # Versions
//
// Since [newest] each request says which version it is of and what burin can do; a server asks in the result
// of a request, which is sent again with the answers; and list changes come with a request that lasts as long as
// the connection. Before, a connection began with a handshake, and the server sent requests of its own. A [conn]
// speaks one or the other, which [Link.introduce] finds out.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// The versions of the protocol that are spoken. Since newest each request says which it is of; before, a
// connection began with an agreement: versions are those, the newest first.
const newest = "2026-07-28"

var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Limits of what a server can make burin keep.
const (
	maxMessage     = 16 << 20 // bytes of a message
	maxTools       = 1000     // of a server
	maxPages       = 100      // of a list
	maxDescription = 4 << 10  // bytes that the model reads of one
	maxSchema      = 64 << 10 // bytes of a schema
	maxLog         = 8 << 10  // bytes of a program's last words
)

// DefaultTimeout is how long a request may take.
const DefaultTimeout = 30 * time.Second

// The ways to reach a server.
const (
	Stdio = "stdio" // a program's standard input and output
	HTTP  = "http"  // streamable HTTP
	SSE   = "sse"   // HTTP as older servers have it
)

// Server is the definition of a server.
type Server struct {
	Name string `json:"name"`
	Type string `json:"type"`

	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"` // absolute; "" is the workspace
	// Sandbox confines the program; nil is not at all.
	Sandbox *Sandbox `json:"sandbox,omitempty"`

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	Timeout time.Duration `json:"timeout,omitempty"` // of a request; 0 is DefaultTimeout
	// OAuth is what the user has set for the login at a web service; nil is nothing.
	OAuth *OAuth `json:"oauth,omitempty"`

	// Only are the names of the only tools to use, Without of tools to leave out; nil is all, and none.
	Only    []string `json:"tools,omitempty"`
	Without []string `json:"disabledTools,omitempty"`
}

// Sandbox is what a confined program may do.
type Sandbox struct {
	Mode     string   `json:"mode"`               // read-only or workspace-write
	Network  bool     `json:"network,omitempty"`  // it may reach any host
	Hosts    []string `json:"hosts,omitempty"`    // that it may reach otherwise, through a proxy in its environment
	Writable []string `json:"writable,omitempty"` // folders that it may write besides the workspace and caches, absolute
}

// Confined is a sandbox for a program: the policy for its guard, and variables. close ends it.
type Confined struct {
	Policy []byte
	Env    []string
	Close  func()
}

// OAuth is what a login at a web service needs where it can't find it out by itself.
type OAuth struct {
	Off          bool     `json:"off,omitempty"` // no login, whatever the service says
	Issuer       string   `json:"issuer,omitempty"`
	ClientID     string   `json:"clientId,omitempty"`
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
	CallbackPort int      `json:"callbackPort,omitempty"`
	// Grant is [ClientCredentials] where the client logs in by itself, with its secret or its key; ""
	// is the login of a person.
	Grant      string `json:"grant,omitempty"`
	PrivateKey string `json:"privateKey,omitempty"` // PEM
}

// ClientCredentials is the grant for clients that log in by themselves.
const ClientCredentials = "client_credentials"

// Logins reports whether the tokens of a login are sent: to web services whose definition has
// none of its own.
func (s *Server) Logins() bool {
	if s.Type == Stdio || s.OAuth != nil && s.OAuth.Off {
		return false
	}
	for name := range s.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return false
		}
	}
	return true
}

// Tokens has the tokens of logins at web services. It is safe for concurrent use.
type Tokens interface {
	// Token is what requests to a server are sent with; "" is none.
	Token(ctx context.Context, s *Server) (string, error)
	// Refused says that a server has refused a request with token, "" for none, and how. next is
	// a newer one to try, "" if there is none, and wanted what a login has to ask for.
	Refused(ctx context.Context, s *Server, token string, status int, challenges []string) (next string, wanted []string, err error)
}

// timeout is how long a request may take.
func (s *Server) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// Where says what is started or reached, without what may be secret.
func (s *Server) Where() string {
	if s.Type == Stdio {
		return strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	where, _, _ := strings.Cut(s.URL, "?")
	if scheme, rest, ok := strings.Cut(where, "://"); ok {
		host, path, slash := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			where = scheme + "://" + host[at+1:]
			if slash {
				where += "/" + path
			}
		}
	}
	return where
}

// key tells servers apart whose tools may differ. Values of variables and headers are not in
// it: they may be secrets, and it becomes the name of a file.
func (s *Server) key(dir string) string {
	if s.Dir != "" {
		dir = s.Dir
	}
	if s.Type != Stdio {
		dir = ""
	}
	k, _ := json.Marshal([]any{ // of texts: it cannot fail
		s.Name, s.Type, s.Command, s.Args, dir, s.URL,
		slices.Sorted(maps.Keys(s.Env)), slices.Sorted(maps.Keys(s.Headers)),
	})
	return string(k)
}

// offers reports whether a tool is to be used.
func (s *Server) offers(name string) bool {
	return (s.Only == nil || slices.Contains(s.Only, name)) && !slices.Contains(s.Without, name)
}

// Tool is a tool of a server.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint,omitempty"`
	} `json:"annotations"`
}

// harmless makes a tool's texts short and free of what is not shown.
func (t *Tool) harmless() {
	t.Title = prose.Short(prose.Inline(t.Title), 100)
	t.Description = prose.Clip(visible(t.Description), maxDescription)
	var schema map[string]json.RawMessage
	if len(t.InputSchema) > maxSchema || json.Unmarshal(t.InputSchema, &schema) != nil || schema == nil {
		schema = map[string]json.RawMessage{}
	}
	schema["type"] = json.RawMessage(`"object"`)
	if schema["properties"] == nil {
		schema["properties"] = json.RawMessage(`{}`)
	}
	t.InputSchema, _ = json.Marshal(schema) // in one order, whatever the server's: caches hold
}

// visible removes characters that a person would not see.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r == utf8.RuneError || prose.Steers(r) {
			return -1
		}
		return r
	}, s)
}

// Content is a piece of a result.
type Content struct {
	Type     string    `json:"type"` // text, image, audio, resource, resource_link
	Text     string    `json:"text"`
	Data     []byte    `json:"data"`
	MIME     string    `json:"mimeType"`
	URI      string    `json:"uri"`
	Name     string    `json:"name"`
	Resource *Resource `json:"resource"`
}

// Resource is a resource, or a part of it.
type Resource struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
	MIME string `json:"mimeType"`
	Text string `json:"text"`
	Blob []byte `json:"blob"`
}

// Result is that of a call.
type Result struct {
	Content    []Content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

// Error is an error that a server answers.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return prose.Short(e.Message, 2000) }

// Codes of errors.
const (
	methodNotFound     = -32601
	headerMismatch     = -32020
	missingCapability  = -32021
	unsupportedVersion = -32022
	pageWanted         = -32042 // of 2025-11-25 only
)

// Errors of connections.
var (
	errEnded   = errors.New("the server ended the connection")
	errExpired = errors.New("the server has forgotten the connection")
	errClosed  = errors.New("the server is closed")
	errOff     = errors.New("the server is switched off")
	errAgain   = errors.New("the connection was closed to connect again")
)

// LoginError means that a server wants to know who asks.
type LoginError struct {
	Status string
	Name   string   // of the server, if burin can log in; else a header is needed
	Wanted []string // scopes that the login of now lacks

	bare bool // no token was sent
}

func (e *LoginError) Error() string {
	switch {
	case e.Name == "":
		return fmt.Sprintf("the server answers %s: it wants a login. Set a header with a token: burin mcp add --header", e.Status)
	case len(e.Wanted) > 0:
		return fmt.Sprintf("the login may not do this; it lacks %s. Ask the user to run burin mcp login %s", prose.Short(prose.Inline(strings.Join(e.Wanted, " ")), 200), e.Name)
	}
	return fmt.Sprintf("the server answers %s: it wants a login. Ask the user to run burin mcp login %s", e.Status, e.Name)
}
