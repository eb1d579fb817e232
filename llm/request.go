package llm

import (
	"context"
	"encoding/json"
)

// Request asks a model to continue a conversation. A client does not modify it, and keeps no
// reference to it after the stream has ended.
type Request struct {
	Model    *Model
	System   string
	Messages []Message
	Tools    []Tool
	// ServerTools run at the provider. A codec ignores those that it doesn't know.
	ServerTools []ServerTool
	ToolChoice  ToolChoice
	// SequentialTools asks the model for at most one call per answer.
	SequentialTools bool

	Thinking    Thought
	MaxTokens   int      // maximum number of tokens to generate; 0 is the model's limit
	Temperature *float64 // nil is the provider's default; 0 is sent as 0
	TopP        *float64
	// TopK and what follows are sent where the format has a word for them.
	TopK                                     *int
	MinP, PresencePenalty, RepetitionPenalty *float64
	Stop                                     []string        // sequences that end the answer
	Output                                   json.RawMessage // JSON schema that the answer must follow; nil is free text
	// Prefill is what the answer begins with, where the model continues what was begun for it: see
	// [Request.Begun].
	Prefill string

	Cache CacheHint
	// PreviousResponseID continues a response that the provider still has. Messages must then
	// contain only what came after it. Providers that don't support it ignore it. burin's
	// sessions send the whole conversation, with which any provider can continue, and don't set
	// this: it is for programs that use this package.
	PreviousResponseID string
	// User is a stable pseudonymous id of the end user, for providers that ask for one.
	User     string
	Metadata map[string]string
	// Headers are added to this request and win over those of the endpoint.
	Headers map[string]string
	// Extra is merged into the top level of the JSON body at the end. Keys of the conversation
	// (model, messages, input, contents, stream, tools, tool_choice, ...) are ignored.
	Extra map[string]json.RawMessage
}

// Thought says how the model should think.
type Thought struct {
	Level  Level
	Budget int    // tokens; overrides the level's budget if the provider takes one
	Effort string // the provider's word; overrides the level's if the provider takes one
	// Hidden asks for no visible summary of the reasoning.
	Hidden bool
}

// Tool describes something the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, which are an object
	Strict      bool            // ask the provider to enforce the schema if it can
	// Native says that the tool takes the calls of one that some models were trained on. Where the
	// provider has that one, its name for it is sent in place of the description and the schema.
	Native NativeTool
}

// NativeTool names a tool that models were trained on and that the caller runs.
type NativeTool string

// NativeMemory is Anthropic's memory tool, memory_20250818: view, create, str_replace, insert, delete
// and rename in /memories. The tool must have the name "memory".
const NativeMemory NativeTool = "memory"

// ServerTool names a tool that runs at the provider.
type ServerTool struct {
	Kind           ServerToolKind
	MaxUses        int // 0 is the provider's default
	AllowedDomains []string
	BlockedDomains []string
}

// ServerToolKind names a kind of server tool.
type ServerToolKind string

const (
	ServerWebSearch ServerToolKind = "web_search"
	ServerWebFetch  ServerToolKind = "web_fetch"
)

// ToolChoice reports whether the model may, must or must not call tools. The zero
// value lets it decide.
type ToolChoice struct {
	Mode ToolMode
	Name string // for ToolNamed
}

// ToolMode is the kind of a tool choice.
type ToolMode string

const (
	ToolAuto  ToolMode = ""      // the model decides
	ToolNone  ToolMode = "none"  // no calls
	ToolAny   ToolMode = "any"   // at least one call
	ToolNamed ToolMode = "named" // a call of ToolChoice.Name
)

// Forced reports whether the choice makes the model call a tool.
func (c ToolChoice) Forced() bool { return c.Mode == ToolAny || c.Mode == ToolNamed }

// CacheHint asks the provider to cache the prefix of the request.
type CacheHint struct {
	Retention CacheRetention
	// Key groups requests that share a prefix; it is usually the session's id.
	Key string
}

// CacheRetention is how long a cached prefix should live.
type CacheRetention string

const (
	CacheShort CacheRetention = ""     // the provider's default, minutes
	CacheLong  CacheRetention = "long" // an hour or more, at a higher price
	CacheOff   CacheRetention = "off"
)

// Client sends requests in one wire format. It is safe for concurrent use.
type Client interface {
	// Stream sends req and returns its answer. It returns immediately and never fails: any
	// error becomes the stream's error event. The caller must read the stream to its end or
	// close it.
	Stream(ctx context.Context, req *Request) Stream
}
