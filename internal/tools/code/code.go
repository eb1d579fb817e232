// Package code holds the tool lsp, which asks language servers what code means, and what tells the
// tools that change files what their edits broke.
//
// A [Kit] has the servers of a session's workspace, which it shares with other sessions there
// ([lsp.Pool]). Places are named by the text that stands there: models can't count columns. What
// changes several files is shown first, and kept; the call that applies it names its files to
// permission, and goes through the workspace, and so the undo journal, like any edit.
//
// What servers say is data. Files that rules withhold are neither sent to the model nor changed.
package code

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

//go:embed lsp.md
var description string

// Name is the name of the tool.
const Name = "lsp"

// Options of a kit.
type Options struct {
	Workspace *workspace.Workspace
	Pool      *lsp.Pool
	Servers   []lsp.Server // those that can be started for this workspace
	Artifacts tool.Artifacts
	// Commit changes files as the tools for files do.
	Commit func(ctx context.Context, changes []workspace.Change) error
	// Withheld gives, for a folder, the test for files that the model must not see; nil is none.
	Withheld func(folder string) func(name string) bool
	Learn    func(text string) // is told each text before a part of it is shown; nil is nobody

	OnWrite, OnEdit bool          // new diagnostics come with the result of write, and of edit
	Repeat          bool          // also those that were shown already
	Format          bool          // files are formatted when they are written
	Deadline        time.Duration // how long an edit waits for diagnostics; 0 is 3 s
	Timeout         time.Duration // of a call; 0 is 20 s
}

// Kit has the servers of a session.
type Kit struct {
	Options

	mu       sync.Mutex
	previews []preview
	next     int
	known    map[string]map[issue]int // what was there, by file: see check.go
	pending  bool                     // a server had not said all when the last edit returned
}

// New makes a kit. Nothing is started.
func New(o Options) *Kit {
	if o.Learn == nil {
		o.Learn = func(string) {}
	}
	if o.Deadline == 0 {
		o.Deadline = 3 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	return &Kit{Options: o}
}

type args struct {
	Action  string `json:"action"`
	Path    string `json:"path,omitempty"`
	Symbol  string `json:"symbol,omitempty" jsonschema:"text at the place, such as the name of a function"`
	Line    int    `json:"line,omitempty" jsonschema:"line of the symbol, from 1"`
	Query   string `json:"query,omitempty" jsonschema:"part of a name, for symbols of the whole project; or a kind of actions such as source.organizeImports"`
	NewName string `json:"new_name,omitempty"`
	NewPath string `json:"new_path,omitempty"`
	ID      string `json:"id,omitempty" jsonschema:"of the preview to apply"`
}

// actions are all that the tool can do.
func actions() []any {
	return []any{
		"definition", "type_definition", "implementation", "references", "hover", "signature", "symbols", "diagnostics",
		"callers", "callees", "supertypes", "subtypes", "hints", "rename", "rename_file", "actions", "apply", "format",
	}
}

// Tool is the tool lsp.
func (k *Kit) Tool() *tool.Tool {
	return tool.New(tool.Definition[args]{
		Name: Name, Label: "Language server", Description: description, Effects: tool.Reads | tool.Writes,
		Adjust: func(s *tool.Schema) {
			tool.Property(s, "action").Enum = actions()
			one := 1.0
			tool.Property(s, "line").Minimum = &one
		},
		Access:   k.access,
		Together: func(a args) bool { return a.Action != "apply" && a.Action != "format" },
		Run: func(ctx context.Context, _ tool.Call, a args) (*tool.Result, error) {
			ctx, stop := context.WithTimeout(ctx, k.Timeout)
			defer stop()
			return k.run(ctx, a)
		},
	})
}

// access is what a call touches.
func (k *Kit) access(a args) []tool.Access {
	kind := tool.AccessRead
	paths := []string{"."}
	if a.Path != "" {
		paths[0] = a.Path
	}
	switch a.Action {
	case "format":
		kind = tool.AccessWrite
	case "apply":
		if p, err := k.preview(a.ID); err == nil {
			kind, paths = tool.AccessWrite, p.paths()
		}
	}
	var all []tool.Access
	for _, p := range paths {
		name, err := k.Workspace.Resolve(p)
		if err != nil {
			name = p
		}
		all = append(all, tool.Access{Kind: kind, Target: name})
	}
	return all
}

func (k *Kit) run(ctx context.Context, a args) (*tool.Result, error) {
	switch a.Action {
	case "definition", "type_definition", "implementation", "references":
		return k.places(ctx, a)
	case "hover", "signature":
		return k.explain(ctx, a)
	case "symbols":
		return k.symbols(ctx, a)
	case "diagnostics":
		return k.diagnostics(ctx, a)
	case "callers", "callees", "supertypes", "subtypes":
		return k.hierarchy(ctx, a)
	case "hints":
		return k.hints(ctx, a)
	case "rename":
		return k.rename(ctx, a)
	case "rename_file":
		return k.renameFile(ctx, a)
	case "actions":
		return k.actions(ctx, a)
	case "apply":
		return k.apply(ctx, a.ID)
	case "format":
		return k.format(ctx, a)
	}
	return nil, fmt.Errorf("unknown action %q", a.Action)
}

// source is a file that a call is about.
type source struct {
	name string // in the workspace
	doc  lsp.Document
}

// source reads a file.
func (k *Kit) source(ctx context.Context, path string) (*source, error) {
	if path == "" {
		return nil, errors.New("path is missing")
	}
	w := k.Workspace.For(ctx)
	name, err := w.Resolve(path)
	if err != nil {
		return nil, err
	}
	real := k.Workspace.Real(name)
	if real == "" {
		return nil, fmt.Errorf("%s is not a file on disk, which language servers need", name)
	}
	data, err := fs.ReadFile(w.Files(), name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", name)
	case err != nil:
		return nil, err
	case len(data) > lsp.MaxFile:
		return nil, fmt.Errorf("%s is larger than %d MB, which language servers are not given", name, lsp.MaxFile>>20)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not UTF-8 text", name)
	}
	return &source{name, lsp.Document{Path: real, Data: data}}, nil
}

// links are the servers of a file; linters are those that only judge it.
func (k *Kit) links(path string, linters bool) []*lsp.Link {
	var all []*lsp.Link
	for i := range k.Servers {
		if s := &k.Servers[i]; s.Serves(path) && (linters || !s.Linter) {
			all = append(all, k.Pool.Link(s, lsp.RootOf(s, k.Workspace.Dir(), path)))
		}
	}
	return all
}

// ask asks the servers of a file one after the other, until one can answer.
func (k *Kit) ask(path string, linters bool, request func(l *lsp.Link) error) error {
	links := k.links(path, linters)
	if len(links) == 0 {
		var known []string
		for i := range k.Servers {
			known = append(known, fmt.Sprintf("%s (%s)", k.Servers[i].Name, strings.Join(k.Servers[i].FileTypes, " ")))
		}
		return fmt.Errorf("no language server for %s; there are %s", filepath.Base(path), strings.Join(known, ", "))
	}
	var first error
	for _, l := range links {
		err := request(l)
		if err == nil {
			return nil
		}
		if first == nil || errors.Is(first, lsp.ErrUnsupported) {
			first = err
		}
	}
	return first
}

// find finds the place of a symbol in a file.
func (s *source) find(symbol string, line int) (lsp.Position, error) {
	lines := bytes.Split(s.doc.Data, []byte("\n"))
	if line > len(lines) {
		return lsp.Position{}, fmt.Errorf("%s has %s", s.name, prose.Count(len(lines), "line"))
	}
	if symbol == "" {
		if line == 0 {
			return lsp.Position{}, errors.New("symbol is missing: the text at the place, such as the name of a function")
		}
		text := lines[line-1]
		return lsp.Position{Line: line - 1, Byte: len(text) - len(bytes.TrimLeft(text, " \t"))}, nil
	}
	var found []lsp.Position
	for n, text := range lines {
		for _, at := range occurrences(text, symbol) {
			found = append(found, lsp.Position{Line: n, Byte: at})
		}
	}
	if len(found) == 0 {
		return lsp.Position{}, fmt.Errorf("%q is not in %s", symbol, s.name)
	}
	if line > 0 {
		// The line may be off by a few since the model has read it.
		near := slices.MinFunc(found, func(a, b lsp.Position) int { return abs(a.Line-line+1) - abs(b.Line-line+1) })
		if abs(near.Line-line+1) <= 5 {
			return near, nil
		}
	}
	if line == 0 && !slices.ContainsFunc(found, func(p lsp.Position) bool { return p.Line != found[0].Line }) {
		return found[0], nil
	}
	var at []string
	for _, p := range found[:min(len(found), 10)] {
		at = append(at, fmt.Sprint(p.Line+1))
	}
	if line > 0 {
		return lsp.Position{}, fmt.Errorf("%q is not near line %d of %s, but at lines %s", symbol, line, s.name, strings.Join(at, ", "))
	}
	return lsp.Position{}, fmt.Errorf("%q is in %s %d times: give the line, one of %s", symbol, s.name, len(found), strings.Join(at, ", "))
}

func abs(n int) int { return max(n, -n) }

// occurrences are where in a line a symbol stands as a whole word.
func occurrences(line []byte, symbol string) (all []int) {
	for from := 0; ; {
		i := bytes.Index(line[from:], []byte(symbol))
		if i < 0 {
			return all
		}
		at := from + i
		before, _ := utf8.DecodeLastRune(line[:at])
		after, _ := utf8.DecodeRune(line[at+len(symbol):])
		first, _ := utf8.DecodeRuneInString(symbol)
		last, _ := utf8.DecodeLastRuneInString(symbol)
		if !(word(before) && word(first)) && !(word(after) && word(last)) {
			all = append(all, at)
		}
		from = at + len(symbol)
	}
}

func word(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// name is a file of the workspace as the model calls it. shown is false if it must not see it.
// What lies outside keeps its absolute path.
func (k *Kit) nameOf(path string) (name string, inside, shown bool) {
	rel, err := filepath.Rel(k.Workspace.Dir(), path)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(path), false, true
	}
	name = filepath.ToSlash(rel)
	if k.Withheld != nil {
		if withheld := k.Withheld("."); withheld != nil && withheld(name) {
			return name, true, false
		}
	}
	return name, true, true
}

// result is a text that may be long, without what steers a terminal.
func (k *Kit) result(text string) *tool.Result {
	k.Learn(text)
	out := tool.Fit(prose.Clean(text, 4), tool.SinkOptions{Artifacts: k.Artifacts, Kind: Name})
	words := out.Text
	if notice := out.Notice(); notice != "" {
		words = strings.TrimSuffix(words, "\n") + "\n" + notice
	}
	return tool.Text(words)
}
