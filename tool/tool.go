// Package tool is the contract between a model and what it can do.
//
// A [Tool] has a name, a description and a JSON schema for the model; it
// declares what its calls may touch ([Effects]), says for each call what exactly
// it is about to touch ([Access]), and runs. Whoever runs it ([agent] in this
// module) validates the arguments first ([Tool.Validate]), asks for permission
// with the accesses, and turns errors into results the model can act on. [New] makes a tool from a
// Go function with a struct of arguments.
//
// The tools of a request are a [Set], which finds the one that a model means.
//
// The package also holds what every tool needs for its output: [Sink], a window
// on a stream of any length that spills the whole into an artifact, [Fit], the
// same for a text that is there, and the notices that tell the model what it does
// not see ([Output.Notice]).
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/burin-dev/burin/llm"
)

// Tool is something a model can call. Its fields are not changed once it is in use.
type Tool struct {
	Name        string          // as the model calls it: letters, digits, "_" and "-", at most 64
	Label       string          // for people: "Read"
	Description string          // for the model, Markdown
	Parameters  json.RawMessage // JSON schema of the arguments, an object
	Strict      bool            // vendors that can shall hold the model to the schema

	// Effects is what calls of this tool may do at all.
	Effects Effects

	// Access says what one call will touch. The arguments have been validated.
	// Nil means one access for each effect, without a target.
	Access func(args json.RawMessage) ([]Access, error)

	// Together reports whether a call may run beside the other calls of the same
	// answer. Nil means: when the tool neither writes nor executes nor asks.
	Together func(args json.RawMessage) bool

	// Run does the work. It returns when ctx ends. An error becomes a result that
	// the model reads as a failure; a nil Result without error is an empty one.
	// Goroutines it starts have ended when it returns.
	Run func(ctx context.Context, call Call) (*Result, error)

	checked atomic.Pointer[validator]
}

// ErrAbort ends the run in which a tool returns it, or an error that wraps it: a
// person has cancelled a question, and the model is not to go on without them.
var ErrAbort = errors.New("the run was ended")

// Accesses is what one call will touch: what Access says, or without it one
// access for each effect.
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

// RunsTogether reports whether a call may run beside the other calls of the same
// answer.
func (t *Tool) RunsTogether(args json.RawMessage) bool {
	if t.Together != nil {
		return t.Together(args)
	}
	return t.Effects&(Writes|Executes|Asks) == 0
}

// Effects is a set of what calls may do.
type Effects uint8

const (
	Reads    Effects = 1 << iota // looks at files of the workspace
	Writes                       // changes files of the workspace
	Executes                     // starts programs
	Network                      // sends something off this machine
	Asks                         // waits for a person
)

// Has reports whether all of f are in e.
func (e Effects) Has(f Effects) bool { return e&f == f }

// Access is one thing that a call is about to touch.
type Access struct {
	Kind   AccessKind `json:"kind"`
	Target string     `json:"target"`
	// Dir is where a command runs, as the workspace names it; empty is its root.
	Dir string `json:"dir,omitempty"`
}

// AccessKind says how something is touched, and what its target is.
type AccessKind string

const (
	AccessRead    AccessKind = "read"    // a path as the workspace names it
	AccessWrite   AccessKind = "write"   // the same; also creation, removal and renaming
	AccessExecute AccessKind = "execute" // a shell command
	AccessNetwork AccessKind = "network" // a URL, or a host
)

// Call is one call that runs.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // valid by the tool's schema
	// Update shows a partial result while the call runs. It is never nil, may be
	// called from any goroutine until Run returns, and keeps nothing.
	Update func(Result)
}

// Result is what a call gave.
type Result struct {
	Content []llm.Block     // llm.Text and llm.Image, for the model
	Details json.RawMessage // for faces and for tools that rebuild their state; the model never sees it
	IsError bool            // the call did its work and the news is bad
	// Final ends the run when the calls of its answer are done: the model is not
	// asked again. It has no effect on a failure.
	Final bool
}

// Text is a result of one piece of text.
func Text(s string) *Result { return &Result{Content: []llm.Block{llm.Text{Text: s}}} }

// Failure is a result of one piece of text that tells of a failure.
func Failure(s string) *Result {
	r := Text(s)
	r.IsError = true
	return r
}

// WithDetails sets the details to the JSON of v and returns r. A value that has
// no JSON leaves them out.
func (r *Result) WithDetails(v any) *Result {
	if b, err := json.Marshal(v); err == nil {
		r.Details = b
	}
	return r
}

// Definition makes a tool whose arguments are a struct: its fields name the
// properties (tag json), describe them (tag jsonschema) and are required unless
// they are marked omitempty or omitzero.
type Definition[A any] struct {
	Name        string
	Label       string
	Description string
	Strict      bool
	Effects     Effects
	// Adjust refines the schema that the struct gives: enumerations, bounds. It must depend
	// on nothing else: it is called once for all tools that have it.
	Adjust   func(*Schema)
	Access   func(args A) []Access
	Together func(args A) bool
	Run      func(ctx context.Context, call Call, args A) (*Result, error)
}

// Artifacts keeps whole outputs of which the model sees a part. Ids are numbers
// in decimal; the model reads them back as artifact://id.
type Artifacts interface {
	// Create opens a new artifact. Kind names the tool ("bash") and may hold
	// letters, digits and "-".
	Create(kind string) (Artifact, error)
	// Open reads an artifact. An unknown id is an error that names the known ones.
	Open(id string) (ArtifactReader, error)
}
