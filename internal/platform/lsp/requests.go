package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// maxFound bounds what is taken of an answer.
const maxFound = 2000

// Kind says what is looked for from a place.
type Kind string

// The kinds of places that lead to others.
const (
	Definition     Kind = "definition"
	TypeDefinition Kind = "type_definition"
	Implementation Kind = "implementation"
	References     Kind = "references"
	// Kinds of [Link.Hierarchy].
	Callers    Kind = "callers"
	Callees    Kind = "callees"
	Supertypes Kind = "supertypes"
	Subtypes   Kind = "subtypes"
)

// about runs a request about a document.
func (l *Link) about(ctx context.Context, d Document, can func(*capabilities) any, request func(c *client, t *text, id map[string]any) error) error {
	return l.with(ctx, func(c *client) error {
		if can != nil && !has(can(&c.caps)) {
			return ErrUnsupported
		}
		c.sync(d.Path, d.Data)
		return request(c, newText(d.Data), map[string]any{"uri": uriOf(d.Path)})
	})
}

// wireLocation is a Location or a LocationLink.
type wireLocation struct {
	URI       string    `json:"uri"`
	Range     wireRange `json:"range"`
	TargetURI string    `json:"targetUri"`
	Target    wireRange `json:"targetSelectionRange"`
}

// locations reads an answer that is one location, a list, or nothing.
func (c *client) locations(raw json.RawMessage) ([]Place, error) {
	var list []wireLocation
	if len(raw) > 0 && raw[0] == '{' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("read its answer: %w", err)
		}
	}
	texts := map[string]*text{}
	var all []Place
	for _, w := range list[:min(len(list), maxFound)] {
		if w.TargetURI != "" {
			w.URI, w.Range = w.TargetURI, w.Target
		}
		path, err := pathOf(w.URI)
		if err != nil {
			continue
		}
		p := Place{Path: path, Range: c.rangeIn(texts, path, w.Range)}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all, nil
}

// rangeIn makes a range of that of the server; texts keeps those that were read.
func (c *client) rangeIn(texts map[string]*text, path string, r wireRange) Range {
	t, known := texts[path]
	if !known {
		t = c.textOf(path)
		texts[path] = t
	}
	if t == nil {
		return Range{Position{Line: max(r.Start.Line, 0)}, Position{Line: max(r.End.Line, 0)}}
	}
	return t.rangeFrom(c.units, r)
}

// Places gives what a place leads to.
func (l *Link) Places(ctx context.Context, kind Kind, d Document, at Position) (all []Place, err error) {
	can := map[Kind]func(*capabilities) any{
		Definition:     func(c *capabilities) any { return c.Definition },
		TypeDefinition: func(c *capabilities) any { return c.TypeDefinition },
		Implementation: func(c *capabilities) any { return c.Implementation },
		References:     func(c *capabilities) any { return c.References },
	}[kind]
	method := map[Kind]string{Definition: "definition", TypeDefinition: "typeDefinition", Implementation: "implementation", References: "references"}[kind]
	err = l.about(ctx, d, can, func(c *client, t *text, id map[string]any) error {
		params := map[string]any{"textDocument": id, "position": t.toWire(c.units, at)}
		if kind == References {
			params["context"] = map[string]bool{"includeDeclaration": true}
		}
		var raw json.RawMessage
		if err := c.patient(ctx, "textDocument/"+method, params, &raw); err != nil {
			return err
		}
		all, err = c.locations(raw)
		return err
	})
	return all, err
}

// Hover gives what the server knows of a place, as Markdown; "" is nothing.
func (l *Link) Hover(ctx context.Context, d Document, at Position) (words string, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.Hover }, func(c *client, t *text, id map[string]any) error {
		var r *struct {
			Contents json.RawMessage `json:"contents"`
		}
		if err := c.patient(ctx, "textDocument/hover", map[string]any{"textDocument": id, "position": t.toWire(c.units, at)}, &r); err != nil {
			return err
		}
		if r != nil {
			words = marked(r.Contents)
		}
		return nil
	})
	return words, err
}

// marked reads text in any of the forms that the protocol has for it.
func marked(raw json.RawMessage) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var parts []string
		for _, one := range list {
			parts = append(parts, marked(one))
		}
		return strings.Join(parts, "\n\n")
	}
	var content struct{ Language, Value string }
	if json.Unmarshal(raw, &content) != nil {
		return ""
	}
	if content.Language != "" {
		return "```" + content.Language + "\n" + content.Value + "\n```"
	}
	return content.Value
}

// Signature gives the signatures of the call at a place, the active one first.
func (l *Link) Signature(ctx context.Context, d Document, at Position) (all []string, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.Signature }, func(c *client, t *text, id map[string]any) error {
		var r *struct {
			Active     int `json:"activeSignature"`
			Signatures []struct {
				Label         string          `json:"label"`
				Documentation json.RawMessage `json:"documentation"`
			} `json:"signatures"`
		}
		if err := c.patient(ctx, "textDocument/signatureHelp", map[string]any{"textDocument": id, "position": t.toWire(c.units, at)}, &r); err != nil || r == nil {
			return err
		}
		all = nil
		for i, s := range r.Signatures[:min(len(r.Signatures), 50)] {
			words := s.Label
			if doc := marked(s.Documentation); doc != "" {
				words += "\n" + doc
			}
			if i == r.Active {
				all = slices.Insert(all, 0, words)
			} else {
				all = append(all, words)
			}
		}
		return nil
	})
	return all, err
}

// Symbol is a name with a meaning.
type Symbol struct {
	Name   string
	Kind   string // "function"
	Detail string
	In     string // what it is part of
	Depth  int    // of a document's symbols
	Place  Place
}

// symbolKinds are the words for the numbers of the protocol.
const symbolKinds = "file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enum-member struct event operator type-parameter"

func symbolKind(n int) string {
	all := strings.Fields(symbolKinds)
	if n < 1 || n > len(all) {
		return "symbol"
	}
	return all[n-1]
}

// wireSymbol is a DocumentSymbol, a SymbolInformation or an item of a hierarchy.
type wireSymbol struct {
	Name      string        `json:"name"`
	Detail    string        `json:"detail"`
	Kind      int           `json:"kind"`
	Selection *wireRange    `json:"selectionRange"`
	Range     *wireRange    `json:"range"`
	Children  []wireSymbol  `json:"children"`
	Container string        `json:"containerName"`
	Location  *wireLocation `json:"location"`
	URI       string        `json:"uri"`
}

func (c *client) symbol(texts map[string]*text, w *wireSymbol, path string) Symbol {
	s := Symbol{Name: prose.Short(prose.Inline(w.Name), 200), Kind: symbolKind(w.Kind), Detail: prose.Short(prose.Inline(w.Detail), 200), In: prose.Short(prose.Inline(w.Container), 200)}
	r := w.Range
	uri := w.URI
	if w.Selection != nil {
		r = w.Selection
	}
	if w.Location != nil {
		uri, r = w.Location.URI, &w.Location.Range
	}
	if uri != "" {
		if p, err := pathOf(uri); err == nil {
			path = p
		}
	}
	s.Place.Path = path
	if r != nil && path != "" {
		s.Place.Range = c.rangeIn(texts, path, *r)
	}
	return s
}

// Symbols are those of a document, each before its parts.
func (l *Link) Symbols(ctx context.Context, d Document) (all []Symbol, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.DocumentSymbol }, func(c *client, t *text, id map[string]any) error {
		var list []wireSymbol
		if err := c.patient(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": id}, &list); err != nil {
			return err
		}
		all = nil
		texts := map[string]*text{d.Path: t}
		var walk func(list []wireSymbol, depth int)
		walk = func(list []wireSymbol, depth int) {
			for i := range list {
				if len(all) == maxFound || depth > 20 {
					return
				}
				s := c.symbol(texts, &list[i], d.Path)
				s.Depth = depth
				all = append(all, s)
				walk(list[i].Children, depth+1)
			}
		}
		walk(list, 0)
		return nil
	})
	return all, err
}

// Search finds symbols of the whole project by a part of their names.
func (l *Link) Search(ctx context.Context, query string) (all []Symbol, err error) {
	err = l.with(ctx, func(c *client) error {
		if !has(c.caps.WorkspaceSymbol) {
			return ErrUnsupported
		}
		var list []wireSymbol
		if err := c.patient(ctx, "workspace/symbol", map[string]any{"query": query}, &list); err != nil {
			return err
		}
		all = nil
		texts := map[string]*text{}
		for i := range list[:min(len(list), maxFound)] {
			all = append(all, c.symbol(texts, &list[i], ""))
		}
		return nil
	})
	return all, err
}

// Hierarchy gives the callers of what is at a place, what it calls itself, or the types above and below it.
func (l *Link) Hierarchy(ctx context.Context, kind Kind, d Document, at Position) (all []Symbol, err error) {
	what, key := "callHierarchy/incomingCalls", "from"
	can := func(c *capabilities) any { return c.CallHierarchy }
	prepare := "textDocument/prepareCallHierarchy"
	switch kind {
	case Callees:
		what, key = "callHierarchy/outgoingCalls", "to"
	case Supertypes, Subtypes:
		what, key = "typeHierarchy/"+string(kind), ""
		can = func(c *capabilities) any { return c.TypeHierarchy }
		prepare = "textDocument/prepareTypeHierarchy"
	}
	err = l.about(ctx, d, can, func(c *client, t *text, id map[string]any) error {
		all = nil
		var items []json.RawMessage
		if err := c.patient(ctx, prepare, map[string]any{"textDocument": id, "position": t.toWire(c.units, at)}, &items); err != nil {
			return err
		}
		texts := map[string]*text{d.Path: t}
		for _, item := range items[:min(len(items), 10)] {
			var found []json.RawMessage
			if err := c.patient(ctx, what, map[string]any{"item": item}, &found); err != nil {
				return err
			}
			for _, raw := range found[:min(len(found), maxFound)] {
				if key != "" {
					var call map[string]json.RawMessage
					if json.Unmarshal(raw, &call) != nil {
						continue
					}
					raw = call[key]
				}
				var w wireSymbol
				if json.Unmarshal(raw, &w) == nil {
					all = append(all, c.symbol(texts, &w, ""))
				}
			}
		}
		return nil
	})
	return all, err
}

// Hint is what a server would write into a line: a type, or the name of a parameter.
type Hint struct {
	At   Position
	Text string
}

// Hints gives the hints for the lines from one up to, and without, another.
func (l *Link) Hints(ctx context.Context, d Document, from, to int) (all []Hint, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.InlayHint }, func(c *client, t *text, id map[string]any) error {
		var list []struct {
			Position wirePosition    `json:"position"`
			Label    json.RawMessage `json:"label"`
		}
		r := t.rangeTo(c.units, Range{Position{Line: from}, Position{Line: to}})
		if err := c.patient(ctx, "textDocument/inlayHint", map[string]any{"textDocument": id, "range": r}, &list); err != nil {
			return err
		}
		all = nil
		for _, h := range list[:min(len(list), maxFound)] {
			words := marked(h.Label)
			var parts []struct{ Value string }
			if json.Unmarshal(h.Label, &parts) == nil {
				words = ""
				for _, p := range parts {
					words += p.Value
				}
			}
			all = append(all, Hint{t.fromWire(c.units, h.Position), prose.Short(prose.Inline(words), 200)})
		}
		return nil
	})
	return all, err
}

type wireEdit struct {
	Range   wireRange `json:"range"`
	NewText string    `json:"newText"`
}

// wireWorkspaceEdit is a set of edits, in either of two forms.
type wireWorkspaceEdit struct {
	Changes         map[string][]wireEdit `json:"changes"`
	DocumentChanges []struct {
		Kind         string `json:"kind"`
		URI          string `json:"uri"`
		OldURI       string `json:"oldUri"`
		NewURI       string `json:"newUri"`
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
		Edits []wireEdit `json:"edits"`
	} `json:"documentChanges"`
}

// edits reads a set of edits.
func (c *client) edits(raw json.RawMessage) ([]FileEdit, error) {
	var w wireWorkspaceEdit
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("read its edits: %w", err)
	}
	var all []FileEdit
	texts := map[string]*text{}
	add := func(uri string, edits []wireEdit) error {
		path, err := pathOf(uri)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(f FileEdit) bool { return f.Path == path })
		if i < 0 {
			all, i = append(all, FileEdit{Path: path}), len(all)
		}
		if all[i].From != "" {
			texts[path] = c.textOf(all[i].From)
		}
		if all[i].Create {
			texts[path] = newText(nil)
		}
		for _, e := range edits {
			all[i].Edits = append(all[i].Edits, Edit{c.rangeIn(texts, path, e.Range), e.NewText})
		}
		return nil
	}
	for _, change := range w.DocumentChanges {
		switch change.Kind {
		case "":
			if err := add(change.TextDocument.URI, change.Edits); err != nil {
				return nil, err
			}
		case "create", "delete":
			path, err := pathOf(change.URI)
			if err != nil {
				return nil, err
			}
			all = append(all, FileEdit{Path: path, Create: change.Kind == "create", Delete: change.Kind == "delete"})
		case "rename":
			from, err := pathOf(change.OldURI)
			if err != nil {
				return nil, err
			}
			to, err := pathOf(change.NewURI)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(all, func(f FileEdit) bool { return f.Path == from }); i >= 0 {
				all[i].Path, all[i].From = to, from
			} else {
				all = append(all, FileEdit{Path: to, From: from})
			}
		default:
			return nil, fmt.Errorf("the language server wants to %s a file, which burin does not know", prose.Short(prose.Inline(change.Kind), 40))
		}
	}
	if len(w.DocumentChanges) == 0 {
		uris := make([]string, 0, len(w.Changes))
		for uri := range w.Changes {
			uris = append(uris, uri)
		}
		slices.Sort(uris)
		for _, uri := range uris {
			if err := add(uri, w.Changes[uri]); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(all, func(a, b FileEdit) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// Rename gives the edits that rename what is at a place.
func (l *Link) Rename(ctx context.Context, d Document, at Position, name string) (all []FileEdit, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.Rename }, func(c *client, t *text, id map[string]any) error {
		var raw json.RawMessage
		if err := c.patient(ctx, "textDocument/rename", map[string]any{"textDocument": id, "position": t.toWire(c.units, at), "newName": name}, &raw); err != nil {
			return err
		}
		all, err = c.edits(raw)
		return err
	})
	return all, err
}

// RenameFile gives the edits that a file's new name needs elsewhere.
func (l *Link) RenameFile(ctx context.Context, from, to string) (all []FileEdit, err error) {
	err = l.with(ctx, func(c *client) error {
		if !has(c.caps.Workspace.FileOperations.WillRename) {
			return ErrUnsupported
		}
		var raw json.RawMessage
		if err := c.patient(ctx, "workspace/willRenameFiles", renamed(from, to), &raw); err != nil {
			return err
		}
		all, err = c.edits(raw)
		return err
	})
	return all, err
}

// FileRenamed tells the server, if it runs, that a file has a new name.
func (l *Link) FileRenamed(from, to string) {
	if c := l.running(); c != nil && has(c.caps.Workspace.FileOperations.DidRename) {
		c.notify("workspace/didRenameFiles", renamed(from, to))
	}
}

func renamed(from, to string) map[string]any {
	return map[string]any{"files": []map[string]string{{"oldUri": uriOf(from), "newUri": uriOf(to)}}}
}

// Format gives the edits that format a document. tabs says how it is indented, width how much.
func (l *Link) Format(ctx context.Context, d Document, tabs bool, width int) (all []Edit, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.Formatting }, func(c *client, t *text, id map[string]any) error {
		var list []wireEdit
		options := map[string]any{"tabSize": width, "insertSpaces": !tabs}
		if err := c.patient(ctx, "textDocument/formatting", map[string]any{"textDocument": id, "options": options}, &list); err != nil {
			return err
		}
		all = nil
		for _, e := range list {
			all = append(all, Edit{t.rangeFrom(c.units, e.Range), e.NewText})
		}
		return nil
	})
	return all, err
}

// Action is a change that a server proposes.
type Action struct {
	Title string
	Kind  string // "quickfix"
	raw   json.RawMessage
}

// Actions gives what the server proposes for a range, for the diagnostics in it; only is a kind,
// or "".
func (l *Link) Actions(ctx context.Context, d Document, r Range, only string) (all []Action, err error) {
	err = l.about(ctx, d, func(c *capabilities) any { return c.CodeAction }, func(c *client, t *text, id map[string]any) error {
		diagnostics := []json.RawMessage{}
		for _, one := range c.diagnostics(d.Path) {
			if one.raw != nil && one.Range.Start.Line <= r.End.Line && one.Range.End.Line >= r.Start.Line {
				diagnostics = append(diagnostics, one.raw)
			}
		}
		about := map[string]any{"diagnostics": diagnostics, "triggerKind": 1}
		if only != "" {
			about["only"] = []string{only}
		}
		var list []json.RawMessage
		if err := c.patient(ctx, "textDocument/codeAction", map[string]any{"textDocument": id, "range": t.rangeTo(c.units, r), "context": about}, &list); err != nil {
			return err
		}
		all = nil
		for _, raw := range list[:min(len(list), 100)] {
			var a struct {
				Title, Kind string
				Disabled    json.RawMessage
			}
			if json.Unmarshal(raw, &a) == nil && a.Disabled == nil {
				all = append(all, Action{prose.Short(prose.Inline(a.Title), 200), prose.Short(prose.Inline(a.Kind), 60), raw})
			}
		}
		return nil
	})
	return all, err
}

// command is one that the server runs itself.
type command struct {
	Command   string            `json:"command"`
	Arguments []json.RawMessage `json:"arguments,omitempty"`
}

// Resolve gives the edits of an action. One that runs a command of the server's own has those
// edits that the server then asks for.
func (l *Link) Resolve(ctx context.Context, d Document, a Action) (all []FileEdit, err error) {
	err = l.about(ctx, d, nil, func(c *client, _ *text, _ map[string]any) error {
		var action struct {
			Edit    json.RawMessage `json:"edit"`
			Command json.RawMessage `json:"command"`
			Data    json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(a.raw, &action); err != nil {
			return fmt.Errorf("read the action: %w", err)
		}
		options, _ := c.caps.CodeAction.(map[string]any)
		if action.Edit == nil && options["resolveProvider"] == true {
			var raw json.RawMessage
			if err := c.patient(ctx, "codeAction/resolve", a.raw, &raw); err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &action); err != nil {
				return fmt.Errorf("read the action: %w", err)
			}
		}
		if all, err = c.edits(action.Edit); err != nil {
			return err
		}
		// A command that comes with edits is about the editor (to rename what is new), or a package
		// to install, as of the TypeScript server's fixes: the edits are the change.
		if len(all) > 0 || action.Command == nil || string(action.Command) == "null" {
			return nil
		}
		var run command
		if json.Unmarshal(action.Command, &run) != nil { // the action is a command itself
			if err := json.Unmarshal(a.raw, &run); err != nil {
				return fmt.Errorf("read the action: %w", err)
			}
		}
		all, err = c.execute(ctx, run)
		return err
	})
	return all, err
}

// execute has the server run a command, and gives the edits that it asks for meanwhile. They are
// not applied here: the server hears of them like of any edit.
func (c *client) execute(ctx context.Context, run command) (all []FileEdit, err error) {
	c.mu.Lock()
	if c.commands == 0 {
		c.collected = nil
	}
	c.commands++
	c.mu.Unlock()
	err = c.call(ctx, "workspace/executeCommand", run, nil)
	c.mu.Lock()
	c.commands--
	collected := c.collected
	c.collected = nil
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if len(collected) > 1 {
		return nil, errors.New("the action changes files in several steps, which burin cannot show beforehand")
	}
	for _, raw := range collected {
		edits, err := c.edits(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, edits...)
	}
	return all, nil
}
