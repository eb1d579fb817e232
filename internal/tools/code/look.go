package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// mostShown is how many places an answer lists.
const mostShown = 200

// listing writes places with their lines.
type listing struct {
	k     *Kit
	files map[string][][]byte
	b     strings.Builder
	count int
	left  int // that are not shown
}

// line is a line of a file of the workspace, shortened; "" if it can't be read.
func (l *listing) line(ctx context.Context, name string, n int) string {
	lines, known := l.files[name]
	if !known {
		if data, err := fs.ReadFile(l.k.Workspace.For(ctx).Files(), name); err == nil && len(data) <= lsp.MaxFile {
			l.k.Learn(string(data))
			lines = bytes.Split(data, []byte("\n"))
		}
		if l.files == nil {
			l.files = map[string][][]byte{}
		}
		l.files[name] = lines
	}
	if n < 0 || n >= len(lines) {
		return ""
	}
	return prose.Short(strings.TrimSpace(prose.Inline(string(lines[n]))), 200)
}

// add adds a place. words stand in the place of its line.
func (l *listing) add(ctx context.Context, p lsp.Place, words string) {
	name, inside, shown := l.k.nameOf(p.Path)
	if !shown {
		return
	}
	if l.count++; l.count > mostShown {
		l.left++
		return
	}
	if words == "" && inside {
		words = l.line(ctx, name, p.Range.Start.Line)
	}
	fmt.Fprintf(&l.b, "%s:%d", name, p.Range.Start.Line+1)
	if words != "" {
		l.b.WriteString(": " + words)
	}
	l.b.WriteByte('\n')
}

func (l *listing) String() string {
	text := l.b.String()
	if l.left > 0 {
		text += fmt.Sprintf("and %d more\n", l.left)
	}
	return text
}

// at reads the file and finds the symbol of a call.
func (k *Kit) at(ctx context.Context, a args) (*source, lsp.Position, error) {
	s, err := k.source(ctx, a.Path)
	if err != nil {
		return nil, lsp.Position{}, err
	}
	p, err := s.find(a.Symbol, a.Line)
	return s, p, err
}

func (k *Kit) places(ctx context.Context, a args) (*tool.Result, error) {
	s, p, err := k.at(ctx, a)
	if err != nil {
		return nil, err
	}
	var found []lsp.Place
	err = k.ask(s.doc.Path, false, func(l *lsp.Link) (err error) {
		found, err = l.Places(ctx, lsp.Kind(a.Action), s.doc, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b lsp.Place) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		return a.Range.Start.Line - b.Range.Start.Line
	})
	list := listing{k: k}
	for _, one := range found {
		list.add(ctx, one, "")
	}
	if list.count == 0 {
		return tool.Text(fmt.Sprintf("No %s of %q found.", strings.ReplaceAll(a.Action, "_", " "), a.Symbol)), nil
	}
	return k.result(list.String()), nil
}

func (k *Kit) explain(ctx context.Context, a args) (*tool.Result, error) {
	s, p, err := k.at(ctx, a)
	if err != nil {
		return nil, err
	}
	var words string
	err = k.ask(s.doc.Path, false, func(l *lsp.Link) (err error) {
		if a.Action == "hover" {
			words, err = l.Hover(ctx, s.doc, p)
			return err
		}
		// A signature is that of the call in whose parentheses a place is.
		text := s.doc.Data
		start := offset(text, p)
		if open := bytes.IndexByte(text[start:], '('); open >= 0 && open < 200 {
			p = position(text, start+open+1)
		}
		all, err := l.Signature(ctx, s.doc, p)
		words = strings.Join(all, "\n\n")
		return err
	})
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(words) == "" {
		return tool.Text(fmt.Sprintf("The language server says nothing about %q there.", a.Symbol)), nil
	}
	return k.result(words), nil
}

// offset is the byte of a place in a text, and position the reverse.
func offset(data []byte, p lsp.Position) int {
	at := 0
	for range p.Line {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return len(data)
		}
		at += i + 1
	}
	return min(at+p.Byte, len(data))
}

func position(data []byte, at int) lsp.Position {
	before := data[:at]
	return lsp.Position{Line: bytes.Count(before, []byte("\n")), Byte: at - bytes.LastIndexByte(before, '\n') - 1}
}

func (k *Kit) symbols(ctx context.Context, a args) (*tool.Result, error) {
	list := listing{k: k}
	if a.Path != "" {
		s, err := k.source(ctx, a.Path)
		if err != nil {
			return nil, err
		}
		var all []lsp.Symbol
		err = k.ask(s.doc.Path, false, func(l *lsp.Link) (err error) {
			all, err = l.Symbols(ctx, s.doc)
			return err
		})
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for _, one := range all {
			if a.Query == "" || strings.Contains(strings.ToLower(one.Name), strings.ToLower(a.Query)) {
				fmt.Fprintf(&b, "%s%d: %s %s", strings.Repeat("  ", one.Depth), one.Place.Range.Start.Line+1, one.Kind, one.Name)
				if one.Detail != "" {
					b.WriteString(" " + one.Detail)
				}
				b.WriteByte('\n')
			}
		}
		if b.Len() == 0 {
			return tool.Text("No symbols found."), nil
		}
		return k.result(b.String()), nil
	}
	if a.Query == "" {
		return nil, errors.New("symbols needs a path, or a query for those of the whole project")
	}
	var failures []error
	for _, l := range k.projects() {
		all, err := l.Search(ctx, a.Query)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, one := range all {
			words := one.Kind + " " + one.Name
			if one.In != "" {
				words += " in " + one.In
			}
			list.add(ctx, one.Place, words)
		}
	}
	if list.count == 0 {
		if len(failures) > 0 {
			return nil, errors.Join(failures...)
		}
		return tool.Text(fmt.Sprintf("No symbol matches %q.", a.Query)), nil
	}
	return k.result(list.String()), nil
}

// projects are the servers that know of a project as a whole.
func (k *Kit) projects() []*lsp.Link {
	var all []*lsp.Link
	for i := range k.Servers {
		s := &k.Servers[i]
		if s.Linter {
			continue
		}
		before := len(all)
		for _, l := range k.Pool.Links() { // those that work already, wherever
			if l.Server().Name == s.Name {
				all = append(all, l)
			}
		}
		if len(all) == before {
			all = append(all, k.Pool.Link(s, k.Workspace.Dir()))
		}
	}
	return all
}

func (k *Kit) hierarchy(ctx context.Context, a args) (*tool.Result, error) {
	s, p, err := k.at(ctx, a)
	if err != nil {
		return nil, err
	}
	var found []lsp.Symbol
	err = k.ask(s.doc.Path, false, func(l *lsp.Link) (err error) {
		found, err = l.Hierarchy(ctx, lsp.Kind(a.Action), s.doc, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	list := listing{k: k}
	for _, one := range found {
		list.add(ctx, one.Place, one.Kind+" "+one.Name)
	}
	if list.count == 0 {
		return tool.Text(fmt.Sprintf("No %s of %q found.", a.Action, a.Symbol)), nil
	}
	return k.result(list.String()), nil
}

// aroundHint is how many lines before and after a line have their hints shown.
const aroundHint = 15

func (k *Kit) hints(ctx context.Context, a args) (*tool.Result, error) {
	s, err := k.source(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	from, to := 0, bytes.Count(s.doc.Data, []byte("\n"))+1
	if a.Line > 0 {
		from, to = max(a.Line-1-aroundHint, 0), min(a.Line+aroundHint, to)
	}
	var all []lsp.Hint
	err = k.ask(s.doc.Path, false, func(l *lsp.Link) (err error) {
		all, err = l.Hints(ctx, s.doc, from, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return tool.Text("No hints there."), nil
	}
	// A line is shown with its hints in it.
	lines := bytes.Split(s.doc.Data, []byte("\n"))
	byLine := map[int][]lsp.Hint{}
	for _, h := range all {
		byLine[h.At.Line] = append(byLine[h.At.Line], h)
	}
	var b strings.Builder
	for n, text := range lines {
		hints := byLine[n]
		if len(hints) == 0 {
			continue
		}
		slices.SortStableFunc(hints, func(a, b lsp.Hint) int { return b.At.Byte - a.At.Byte })
		line := string(text)
		for _, h := range hints {
			at := min(h.At.Byte, len(line))
			line = line[:at] + "⟨" + strings.TrimSpace(h.Text) + "⟩" + line[at:]
		}
		fmt.Fprintf(&b, "%d: %s\n", n+1, strings.TrimRight(line, "\r"))
	}
	return k.result(b.String()), nil
}

func (k *Kit) diagnostics(ctx context.Context, a args) (*tool.Result, error) {
	var all []lsp.Diagnostic
	var notes []string
	if a.Path != "" {
		s, err := k.source(ctx, a.Path)
		if err != nil {
			return nil, err
		}
		links := k.links(s.doc.Path, true)
		if len(links) == 0 {
			return nil, k.ask(s.doc.Path, true, func(*lsp.Link) error { return nil })
		}
		found := make([][]lsp.Diagnostic, len(links))
		errs := make([]error, len(links))
		late := make([]bool, len(links))
		lsp.Each(links, func(i int, l *lsp.Link) {
			found[i], late[i], errs[i] = l.Diagnose(ctx, []lsp.Document{s.doc})
		})
		for i, l := range links {
			all = append(all, found[i]...)
			switch {
			case errs[i] != nil && len(links) == 1:
				return nil, errs[i]
			case errs[i] != nil:
				notes = append(notes, errs[i].Error())
			case late[i]:
				notes = append(notes, l.Server().Name+" has not finished yet: this may not be all")
			}
		}
	} else {
		links := k.projects()
		whole, errs := make([]bool, len(links)), make([]error, len(links))
		lsp.Each(links, func(i int, l *lsp.Link) { whole[i], errs[i] = l.Survey(ctx) })
		for _, err := range errs {
			if err != nil {
				notes = append(notes, err.Error())
			}
		}
		for _, l := range k.Pool.Links() {
			all = append(all, l.All()...)
		}
		if slices.Contains(whole, false) || len(links) == 0 {
			notes = append(notes, "These are of the files that language servers have looked at so far; name a path for another one.")
		}
	}
	text, shown := k.list(all, mostShown)
	if shown == 0 {
		text = "No diagnostics.\n"
	}
	for _, n := range notes {
		text += n + "\n"
	}
	return k.result(text), nil
}

// list writes diagnostics, errors first.
func (k *Kit) list(all []lsp.Diagnostic, most int) (text string, shown int) {
	slices.SortStableFunc(all, func(a, b lsp.Diagnostic) int { return int(a.Severity - b.Severity) })
	var b strings.Builder
	left := 0
	for _, d := range all {
		name, _, visible := k.nameOf(d.Path)
		if !visible {
			continue
		}
		if shown == most {
			left++
			continue
		}
		shown++
		fmt.Fprintf(&b, "%s:%d: %s: %s", name, d.Range.Start.Line+1, d.Severity, d.Message)
		if from := strings.TrimSpace(d.Source + " " + d.Code); from != "" {
			fmt.Fprintf(&b, " [%s]", from)
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(&b, "and %d more\n", left)
	}
	return b.String(), shown
}
