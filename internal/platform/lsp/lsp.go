// Package lsp talks to language servers: programs that know what code means, over the Language
// Server Protocol. A [Pool] has the servers of a folder, each once for all sessions there. A
// [Server] says which program serves which files; [Table] has those that burin knows,
// [ReadFile] those of a person's or a project's file, and [Find] says which can be started.
//
// A [Link] leads to one server. It starts the program with the first request, starts it again
// after it has ended, and ends it when nobody has used it for a while. Requests name files by
// their absolute paths and places by lines and bytes; how the server counts characters stays in
// here.
//
// # Promises
//
//   - What a server says is bounded: messages, diagnostics, the end of its log. None is trusted.
//   - A program does not outlive burin (see package process). It is confined as its caller says.
//   - No request waits for ever: each has its context, and a server that hangs is told to stop.
//   - A request that only asks is repeated once if the server ends meanwhile; then the error says
//     so. After failures burin waits longer and longer before it starts the server again.
//   - A linter that isn't a server is a link like any other: it is run for each content of a file,
//     two at a time, and gives diagnostics only.
//   - Nothing runs by itself, but for one timer that ends a server after its last use.
package lsp

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// Limits of what a server can make burin keep.
const (
	maxMessage     = 32 << 20 // bytes of a message
	maxQueued      = 64 << 20 // bytes that wait for the server to read
	maxLog         = 32 << 10 // bytes of the end of its log
	maxOfFile      = 500      // diagnostics of a file
	maxFiles       = 2000     // files with diagnostics
	maxDocuments   = 64       // open at a time
	maxScanned     = 20000    // files that are watched for changes
	maxRunning     = 8        // servers of a pool at a time
	maxMessageText = 2000     // characters of a diagnostic
	maxDiagnostic  = 16 << 10 // bytes of one, as the server says it
)

// MaxFile is the largest file that servers are told of.
const MaxFile = 4 << 20

// DefaultIdle is how long a server runs after its last use.
const DefaultIdle = 10 * time.Minute

// startTime is how long a server may take to introduce itself.
const startTime = 30 * time.Second

// Server is the definition of a language server.
type Server struct {
	Name      string   `json:"name"`
	Languages string   `json:"languages,omitempty"` // for people: "C, C++"
	Command   string   `json:"command"`
	Args      []string `json:"args,omitempty"`
	// FileTypes are endings of names (".go"), or whole names ("Dockerfile").
	FileTypes []string `json:"fileTypes"`
	// RootMarkers are names of files that make a folder a project of this server; "*.cabal" is a
	// pattern. None: any folder with files of its types is one.
	RootMarkers []string        `json:"rootMarkers"`
	InitOptions json.RawMessage `json:"initOptions,omitempty"`
	Settings    json.RawMessage `json:"settings,omitempty"`
	Disabled    bool            `json:"disabled,omitempty"`
	Linter      bool            `json:"isLinter,omitempty"` // it has no definitions and the like
	// WarmupMS is how many milliseconds the start may take; 0 is 30 s.
	WarmupMS int `json:"warmupTimeoutMs,omitempty"`
	// Instead names what it takes the place of: of the servers with the same word, one is used.
	Instead string `json:"instead,omitempty"`
	// Format is how the output of a linter is read that isn't a language server: "swiftlint",
	// "sarif", or "lines" as compilers write them. It is run for each file, whose path follows Args.
	Format string `json:"format,omitempty"`

	// Path is the program that was found. Project says that it lies in a folder of the project.
	Path    string `json:"-"`
	Project bool   `json:"-"`
}

func (s *Server) startTime() time.Duration {
	if s.WarmupMS > 0 {
		return time.Duration(s.WarmupMS) * time.Millisecond
	}
	return startTime
}

// Error is an error that a server answers.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return prose.Short(prose.Inline(e.Message), 500) }

// Codes of errors.
const (
	methodNotFound  = -32601
	contentModified = -32801
	serverCancelled = -32802
)

// Errors of connections.
var (
	errEnded  = errors.New("the language server ended")
	errClosed = errors.New("the language server was stopped")
	errLarge  = errors.New("the language server's answer is larger than 32 MB")
)

// ErrUnsupported means that a server cannot do what was asked.
var ErrUnsupported = errors.New("not supported by the language server")

// Position is a place in a text: the line, and the byte in it, both from 0.
type Position struct{ Line, Byte int }

// Range is from the first place up to, and without, the second.
type Range struct{ Start, End Position }

// Place is a range in a file, by its absolute path.
type Place struct {
	Path  string
	Range Range
}

// Severity is how bad a diagnostic is: 1 is an error, 4 a hint.
type Severity int

// The severities.
const (
	SeverityError Severity = iota + 1
	SeverityWarning
	SeverityInformation
	SeverityHint
)

func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityInformation:
		return "info"
	case SeverityHint:
		return "hint"
	}
	return "error"
}

// Diagnostic is something that a server has to say of a file.
type Diagnostic struct {
	Path     string
	Range    Range
	Severity Severity
	Code     string
	Source   string // "compiler", or the server's name
	Message  string
	raw      json.RawMessage // as the server said it, for code actions
}

// Edit replaces a range.
type Edit struct {
	Range Range
	Text  string
}

// FileEdit is what becomes of a file.
type FileEdit struct {
	Path   string
	Edits  []Edit // in the order of the server
	Create bool   // the file is new
	Delete bool
	From   string // it was there before
}
