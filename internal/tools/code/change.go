package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

const (
	maxPreviews = 20      // that are kept
	maxDiff     = 8 << 10 // bytes of a diff that the model reads
)

// preview is a change that was shown, and may be applied: an action is worked out then.
type preview struct {
	id      string
	what    string // "Rename old to new"
	changes []workspace.Change
	renamed [2]string // absolute paths, of a file with a new name
	link    *lsp.Link
}

// paths are the files that it changes.
func (p *preview) paths() []string {
	var all []string
	for _, c := range p.changes {
		all = append(all, c.Path)
		if c.From != "" {
			all = append(all, c.From)
		}
	}
	return all
}

// preview finds one by its id.
func (k *Kit) preview(id string) (*preview, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.previews {
		if k.previews[i].id == id {
			p := k.previews[i]
			return &p, nil
		}
	}
	if id == "" {
		return nil, errors.New("id is missing: rename, rename_file and actions give one")
	}
	return nil, fmt.Errorf("no preview %q: rename, rename_file and actions give an id", id)
}

// keep keeps a preview, and gives its id.
func (k *Kit) keep(p preview) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	p.id = "change-" + strconv.Itoa(k.next)
	k.previews = append(k.previews, p)
	if len(k.previews) > maxPreviews {
		k.previews = slices.Delete(k.previews, 0, len(k.previews)-maxPreviews)
	}
	return p.id
}

// changes works out what edits of a server make of the files of the workspace.
func (k *Kit) changes(ctx context.Context, edits []lsp.FileEdit) ([]workspace.Change, error) {
	files := k.Workspace.For(ctx).Files()
	var all []workspace.Change
	for _, e := range edits {
		name, err := k.changeable(e.Path)
		if err != nil {
			return nil, err
		}
		c := workspace.Change{Path: name}
		from := name
		if e.From != "" {
			if c.From, err = k.changeable(e.From); err != nil {
				return nil, err
			}
			from = c.From
		}
		if !e.Create {
			if c.Before, err = fs.ReadFile(files, from); err != nil {
				return nil, err
			}
			if c.Before == nil {
				c.Before = []byte{}
			}
			if !utf8.Valid(c.Before) && len(e.Edits) > 0 {
				return nil, fmt.Errorf("%s is not UTF-8 text", from)
			}
		}
		if !e.Delete {
			if c.After, err = lsp.Apply(c.Before, e.Edits); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if c.After == nil {
				c.After = []byte{}
			}
		}
		if c.From == "" && c.Before != nil && c.After != nil && string(c.Before) == string(c.After) {
			continue
		}
		all = append(all, c)
	}
	return all, nil
}

// changeable is the name of a file that the model may be shown and change.
func (k *Kit) changeable(path string) (string, error) {
	name, inside, shown := k.nameOf(path)
	switch {
	case !inside:
		return "", fmt.Errorf("the change reaches %s, which is outside of the workspace", name)
	case !shown:
		return "", fmt.Errorf("the change reaches %s, which rules withhold", name)
	}
	return k.Workspace.Resolve(name)
}

// diffs are the diffs of changes, and how many lines come and go.
func diffs(changes []workspace.Change) (text string, added, removed int) {
	var b strings.Builder
	for _, c := range changes {
		diff, plus, minus := edit.Diff(c.Path, c.Before, c.After)
		b.WriteString(diff)
		added, removed = added+plus, removed+minus
	}
	return b.String(), added, removed
}

// show keeps a preview and says what it would change.
func (k *Kit) show(p preview) (*tool.Result, error) {
	if len(p.changes) == 0 {
		return tool.Text(p.what + ": nothing to change."), nil
	}
	id := k.keep(p)
	return k.result(k.inWords(&p) + fmt.Sprintf("\nNothing has changed yet. lsp with action apply and id %s makes this change.", id)), nil
}

func (k *Kit) inWords(p *preview) string {
	diff, added, removed := diffs(p.changes)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, +%d -%d lines\n", p.what, prose.Count(len(p.changes), "file"), added, removed)
	for i, c := range p.changes {
		if i == 100 {
			fmt.Fprintf(&b, "and %d more\n", len(p.changes)-i)
			break
		}
		switch _, plus, minus := edit.Diff(c.Path, c.Before, c.After); {
		case c.From != "":
			fmt.Fprintf(&b, "  %s, from %s\n", c.Path, c.From)
		case c.After == nil:
			fmt.Fprintf(&b, "  %s is removed\n", c.Path)
		case c.Before == nil:
			fmt.Fprintf(&b, "  %s is new\n", c.Path)
		default:
			fmt.Fprintf(&b, "  %s +%d -%d\n", c.Path, plus, minus)
		}
	}
	if len(diff) <= maxDiff {
		b.WriteString("\n" + diff)
	} else {
		cut := diff[:maxDiff]
		b.WriteString("\n" + cut[:strings.LastIndexByte(cut, '\n')+1] + "… the rest of the diff is left out\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (k *Kit) rename(ctx context.Context, a args) (*tool.Result, error) {
	if a.NewName == "" {
		return nil, errors.New("new_name is missing")
	}
	s, p, err := k.at(ctx, a)
	if err != nil {
		return nil, err
	}
	made := preview{what: fmt.Sprintf("Rename %s to %s", prose.Inline(a.Symbol), prose.Inline(a.NewName))}
	err = k.ask(s.doc.Path, false, func(l *lsp.Link) error {
		edits, err := l.Rename(ctx, s.doc, p, a.NewName)
		if err == nil {
			made.changes, err = k.changes(ctx, edits)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return k.show(made)
}

func (k *Kit) renameFile(ctx context.Context, a args) (*tool.Result, error) {
	if a.NewPath == "" {
		return nil, errors.New("new_path is missing")
	}
	s, err := k.source(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	target, err := k.Workspace.Resolve(a.NewPath)
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(k.Workspace.Files(), target); err == nil {
		return nil, fmt.Errorf("%s already exists", target)
	}
	to := filepath.Join(k.Workspace.Dir(), filepath.FromSlash(target))
	made := preview{what: fmt.Sprintf("Rename %s to %s", s.name, target), renamed: [2]string{s.doc.Path, to}}
	err = k.ask(s.doc.Path, false, func(l *lsp.Link) error {
		edits, err := l.RenameFile(ctx, s.doc.Path, to)
		if errors.Is(err, lsp.ErrUnsupported) {
			edits, err = nil, nil // nothing else has to change, as far as it knows
			made.what += " (the language server can't change imports)"
		}
		if err != nil {
			return err
		}
		// Edits of the file itself are made where it goes.
		i := slices.IndexFunc(edits, func(e lsp.FileEdit) bool { return e.Path == s.doc.Path || e.From == s.doc.Path })
		if i < 0 {
			edits, i = append(edits, lsp.FileEdit{}), len(edits)
		}
		edits[i].Path, edits[i].From = to, s.doc.Path
		made.link = l
		made.changes, err = k.changes(ctx, edits)
		return err
	})
	if err != nil {
		return nil, err
	}
	return k.show(made)
}

func (k *Kit) actions(ctx context.Context, a args) (*tool.Result, error) {
	s, err := k.source(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	var r lsp.Range
	if a.Line > 0 || a.Symbol != "" {
		p, err := s.find(a.Symbol, a.Line)
		if err != nil {
			return nil, err
		}
		r = lsp.Range{Start: p, End: lsp.Position{Line: p.Line, Byte: p.Byte + len(a.Symbol)}}
		if a.Symbol == "" {
			r.End.Byte = 1 << 20 // the whole line
		}
	} else if a.Query == "" {
		return nil, errors.New("actions needs a line or a symbol, or a kind of actions for the whole file as the query, such as source.organizeImports")
	} else {
		r.End = lsp.Position{Line: 1 << 30}
	}
	var b strings.Builder
	var failures []error
	for _, l := range k.links(s.doc.Path, true) {
		if _, _, err := l.Diagnose(ctx, []lsp.Document{s.doc}); err != nil {
			failures = append(failures, err)
			continue
		}
		found, err := l.Actions(ctx, s.doc, r, a.Query)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, action := range found {
			edits, err := l.Resolve(ctx, s.doc, action)
			if err != nil {
				continue // it is not one that burin can do
			}
			changes, err := k.changes(ctx, edits)
			if err != nil || len(changes) == 0 {
				continue
			}
			p := preview{what: action.Title, changes: changes}
			_, added, removed := diffs(changes)
			fmt.Fprintf(&b, "%s: %s", k.keep(p), action.Title)
			if action.Kind != "" {
				fmt.Fprintf(&b, " (%s)", action.Kind)
			}
			fmt.Fprintf(&b, ", %s +%d -%d\n", strings.Join(p.paths(), " "), added, removed)
		}
	}
	if b.Len() == 0 {
		if len(failures) > 0 {
			return nil, errors.Join(failures...)
		}
		return tool.Text("No actions there."), nil
	}
	return k.result(b.String() + "lsp with action apply and an id makes one of these changes."), nil
}

// details are for faces, as those of other edits.
type details struct {
	Paths       []string `json:"paths"`
	Diff        string   `json:"diff,omitempty"`
	Added       int      `json:"added"`
	Removed     int      `json:"removed"`
	Diagnostics []string `json:"diagnostics,omitempty"`
}

func (k *Kit) apply(ctx context.Context, id string) (*tool.Result, error) {
	p, err := k.preview(id)
	if err != nil {
		return nil, err
	}
	return k.make(ctx, p, "Applied")
}

// make makes a change and says what it broke.
func (k *Kit) make(ctx context.Context, p *preview, verb string) (*tool.Result, error) {
	finish := func(context.Context) (string, []string) { return "", nil }
	if k.OnEdit {
		finish = k.begin(ctx, p.changes)
	}
	if err := k.Commit(ctx, p.changes); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.previews = slices.DeleteFunc(k.previews, func(o preview) bool { return o.id == p.id })
	k.mu.Unlock()
	if p.link != nil {
		p.link.FileRenamed(p.renamed[0], p.renamed[1])
	}
	diff, added, removed := diffs(p.changes)
	d := details{Paths: p.paths(), Diff: diff, Added: added, Removed: removed}
	words := fmt.Sprintf("%s: %s\n%s, +%d -%d lines", verb, p.what, prose.Count(len(p.changes), "file"), added, removed)
	if note, lines := finish(ctx); note != "" {
		words += "\n\n" + note
		d.Diagnostics = lines
	}
	return k.result(words).WithDetails(d), nil
}

func (k *Kit) format(ctx context.Context, a args) (*tool.Result, error) {
	s, err := k.source(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	after, by, err := k.formatted(ctx, s.doc)
	if err != nil {
		return nil, err
	}
	if string(after) == string(s.doc.Data) {
		return tool.Text(fmt.Sprintf("%s is formatted already.", s.name)), nil
	}
	p := &preview{what: fmt.Sprintf("%s, by %s", s.name, by), changes: []workspace.Change{{Path: s.name, Before: s.doc.Data, After: after}}}
	return k.make(ctx, p, "Formatted")
}

// formatted is a document as the first server that can formats it: a linter, which knows the
// project's style, before others.
func (k *Kit) formatted(ctx context.Context, d lsp.Document) (after []byte, by string, err error) {
	links := k.links(d.Path, true)
	slices.SortStableFunc(links, func(a, b *lsp.Link) int {
		switch x, y := a.Server().Linter, b.Server().Linter; {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	if len(links) == 0 {
		return nil, "", k.ask(d.Path, true, func(*lsp.Link) error { return nil })
	}
	tabs, width := indentation(d.Data)
	var first error
	for _, l := range links {
		edits, failure := l.Format(ctx, d, tabs, width)
		if failure == nil {
			after, err := lsp.Apply(d.Data, edits)
			return after, l.Server().Name, err
		}
		if first == nil || errors.Is(first, lsp.ErrUnsupported) {
			first = failure
		}
	}
	return nil, "", first
}

// indentation is how a text is indented: by tabs, or by so many blanks.
func indentation(data []byte) (tabs bool, width int) {
	counts := map[int]int{}
	tabbed := 0
	for line := range strings.Lines(string(data)) {
		rest := strings.TrimLeft(line, " ")
		switch n := len(line) - len(rest); {
		case strings.HasPrefix(line, "\t"):
			tabbed++
		case n == 2 || n == 4 || n == 8:
			counts[n]++
		}
	}
	width = 4
	for _, n := range []int{2, 8} {
		if counts[n] > counts[width] {
			width = n
		}
	}
	return tabbed > counts[width], width
}
