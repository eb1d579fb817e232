package llm

import (
	"context"
	"encoding/json"
)

// Request asks a model to continue a conversation. A client does not change it
// and keeps nothing of it once the stream has ended.
type Request struct {
	Model    *Model
	System   string
	Messages []Message
	Tools    []Tool
	// ServerTools run at the vendor. A codec that does not know one leaves it out.
	ServerTools []ServerTool
	ToolChoice  ToolChoice
	// SequentialTools asks the model for at most one call per answer.
	SequentialTools bool

	Thinking    Thought
	MaxTokens   int      // most tokens to generate; 0 = the model's limit
	Temperature *float64 // nil = the vendor's default; 0 is sent as 0
	TopP        *float64
	Stop        []string        // sequences that end the answer
	Output      json.RawMessage // JSON schema the answer must follow; nil = free text

	Cache CacheHint
	// PreviousResponseID continues a response the vendor still holds. Messages
	// must then hold only what came after it. Ignored where unsupported. burin's sessions
	// send the whole conversation, which any vendor can go on with, and set neither this nor
	// Stop: both are for programs that use this package.
	PreviousResponseID string
	// User is a stable pseudonymous id of the end user, for vendors that ask for one.
	User     string
	Metadata map[string]string
	// Headers are added to this request and win over those of the endpoint.
	Headers map[string]string
	// Extra is merged shallowly into the JSON body at the end. Keys that carry
	// the conversation (model, messages, input, contents, stream, tools,
	// tool_choice, ...) are ignored.
	Extra map[string]json.RawMessage
}

// Thought says how the model shall think.
type Thought struct {
	Level  Level
	Budget int    // tokens; overrides the level's budget where the vendor takes one
	Effort string // vendor's word; overrides the level's where the vendor takes one
	// Hidden asks for no visible summary of the reasoning.
	Hidden bool
}

// Tool describes something the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, an object
	Strict      bool            // ask the vendor to enforce the schema where it can
}

// ServerTool names a tool that runs at the vendor.
type ServerTool struct {
	Kind           ServerToolKind
	MaxUses        int // 0 = the vendor's default
	AllowedDomains []string
	BlockedDomains []string
}

// ServerToolKind names a kind of server tool.
type ServerToolKind string

const (
	ServerWebSearch ServerToolKind = "web_search"
	ServerWebFetch  ServerToolKind = "web_fetch"
)

// ToolChoice says whether the model may, must or must not call tools. The zero
// value lets it decide.
type ToolChoice struct {
	Mode ToolMode
	Name string // of ToolNamed
}

// ToolMode is the kind of a tool choice.
type ToolMode string

const (
	ToolAuto  ToolMode = ""      // the model decides
	ToolNone  ToolMode = "none"  // no call
	ToolAny   ToolMode = "any"   // some call
	ToolNamed ToolMode = "named" // a call of ToolChoice.Name
)

// Forced says whether the choice makes the model call a tool.
func (c ToolChoice) Forced() bool { return c.Mode == ToolAny || c.Mode == ToolNamed }

// CacheHint asks the vendor to cache the prefix of the request.
type CacheHint struct {
	Retention CacheRetention
	// Key groups the requests that share a prefix, usually the session's id.
	Key string
}

// CacheRetention is how long a cached prefix should live.
type CacheRetention string

const (
	CacheShort CacheRetention = ""     // the vendor's default, minutes
	CacheLong  CacheRetention = "long" // an hour or more, at a higher price
	CacheOff   CacheRetention = "off"
)

// Client sends requests in one wire format. It is safe for concurrent use.
type Client interface {
	// Stream sends req and returns its answer. It does not wait for the answer
	// and never fails: whatever goes wrong is the stream's error event. The
	// caller must read the stream to its end or close it.
	Stream(ctx context.Context, req *Request) Stream
}
