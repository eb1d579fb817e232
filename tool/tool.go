// Package tool is the contract between a model and what it can do.
//
// A [Tool] has a name, a description and a JSON schema for the model. It declares what its
// calls may touch ([Effects]), says for each call what exactly it is about to touch
// ([Access]), and runs. Its runner ([agent] in this module) first validates the arguments
// ([Tool.Validate]), asks for permission with the accesses, and turns errors into results that
// the model can act on. [New] makes a tool from a Go function with a struct of arguments.
//
// The tools of a request are a [Set], which finds the one that a model means.
//
// The package also has what every tool needs for its output: [Sink], a window on a stream of
// any length that spills the whole into an artifact; [Fit], the same for a complete text; and
// the notices that tell the model what it doesn't see ([Output.Notice]).
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/burin-dev/burin/llm"
)

// Tool is something a model can call. Its fields must not change once it is in use.
type Tool struct {
	Name        string          // as the model calls it: letters, digits, "_" and "-", at most 64 characters
	Label       string          // for users, such as "Read"
	Description string          // for the model, in Markdown
	Parameters  json.RawMessage // JSON schema of the arguments, which are an object
	Strict      bool            // ask providers that can to enforce the schema

	// Effects is the set of what calls of this tool may do.
	Effects Effects

	// Access returns what one call will touch. The arguments are valid. If Access is nil,
	// there is one access for each effect, without a target.
	Access func(args json.RawMessage) ([]Access, error)

	// Together reports whether a call may run in parallel with other calls of the same answer.
	// If it is nil, calls run in parallel when the tool doesn't write, execute or ask.
	Together func(args json.RawMessage) bool

	// Run does the work. It must return when ctx ends, with all its goroutines ended. An error
	// becomes a result that the model reads as a failure; a nil Result without an error is an
	// empty one.
	Run func(ctx context.Context, call Call) (*Result, error)

	checked atomic.Pointer[validator]
}

// ErrAbort, or an error that wraps it, ends the run in which a tool returns it: the user has
// canceled a question, and the model must not continue without them.
var ErrAbort = errors.New("the run was ended")

// Accesses returns what one call will touch: the result of Access, or one access for each
// effect if Access is nil.
func (t *Tool) Accesses(args json.RawMessage) ([]Access, error) {
	if t.Access != nil {
		return t.Access(args)
	}
	var all []Access
	for _, e := range []struct {
		effect Effects
		kind   AccessKind
	}{{Reads, AccessRead}, {Writes, AccessWrite}, {Executes, AccessExecute}, {Network, AccessNetwork}} {
		if t.Effects.Has(e.effect) {
			all = append(all, Access{Kind: e.kind})
		}
	}
	return all, nil
}

// RunsTogether reports whether a call may run in parallel with other calls of the same answer.
func (t *Tool) RunsTogether(args json.RawMessage) bool {
	if t.Together != nil {
		return t.Together(args)
	}
	return t.Effects&(Writes|Executes|Asks) == 0
}

// Effects is a set of what calls may do.
type Effects uint8

const (
	Reads    Effects = 1 << iota // reads files of the workspace
	Writes                       // changes files of the workspace
	Executes                     // starts programs
	Network                      // sends data off this machine
	Asks                         // waits for the user
)

// Has reports whether all of f are in e.
func (e Effects) Has(f Effects) bool { return e&f == f }

// Access is one thing that a call is about to touch.
type Access struct {
	Kind   AccessKind `json:"kind"`
	Target string     `json:"target"`
	// Dir is where a command runs, relative to the workspace; empty is its root.
	Dir string `json:"dir,omitempty"`
}

// AccessKind says how something is touched, and what its target is.
type AccessKind string

const (
	AccessRead    AccessKind = "read"    // a path, relative to the workspace
	AccessWrite   AccessKind = "write"   // the same; also creation, removal and renaming
	AccessExecute AccessKind = "execute" // a shell command
	AccessNetwork AccessKind = "network" // a URL, or a host
	// AccessServer is a call of an MCP server: SERVER.TOOL:ARGUMENTS, the last as a JSON object.
	AccessServer AccessKind = "server"
)

// Call is one running call.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // valid by the tool's schema
	// Update emits a partial result while the call runs. It is never nil, may be called from
	// any goroutine until Run returns, and keeps no reference to its argument.
	Update func(Result)
}

// Result is the result of a call.
type Result struct {
	Content []llm.Block     // llm.Text and llm.Image, for the model
	Details json.RawMessage // for faces, and for tools that restore their state; the model never sees it
	IsError bool            // the call worked, but reports a failure
	// Final ends the run after the calls of its answer: the model is not asked again. It has
	// no effect on a failure.
	Final bool
}

// Text returns a result with one text.
func Text(s string) *Result { return &Result{Content: []llm.Block{llm.Text{Text: s}}} }

// Failure returns a result with one text that reports a failure.
func Failure(s string) *Result {
	r := Text(s)
	r.IsError = true
	return r
}

// WithDetails sets Details to the JSON of v and returns r. If v can't be marshaled, there are
// no details.
func (r *Result) WithDetails(v any) *Result {
	if b, err := json.Marshal(v); err == nil {
		r.Details = b
	}
	return r
}

// Definition describes a tool whose arguments are a struct. Its fields name the properties
// (tag json), describe them (tag jsonschema) and are required unless they are omitempty or
// omitzero.
type Definition[A any] struct {
	Name        string
	Label       string
	Description string
	Strict      bool
	Effects     Effects
	// Adjust refines the schema of the struct with enumerations and limits. It must not depend
	// on anything else: it is called once for all tools that share it.
	Adjust   func(*Schema)
	Access   func(args A) []Access
	Together func(args A) bool
	Run      func(ctx context.Context, call Call, args A) (*Result, error)
}

// Artifacts stores complete outputs of which the model sees a part. Ids are decimal numbers;
// the model reads them back as artifact://id.
type Artifacts interface {
	// Create opens a new artifact. kind names the tool ("bash") and may contain letters,
	// digits and "-".
	Create(kind string) (Artifact, error)
	// Open reads an artifact. For an unknown id the error lists the known ones.
	Open(id string) (ArtifactReader, error)
}
