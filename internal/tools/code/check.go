package code

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/file"
)

// mostNew is how many new diagnostics the model is shown after an edit.
const mostNew = 20

// issue is a diagnostic without its place: an edit above it moves it, and makes no new one.
type issue struct {
	server, message, code string
	severity              lsp.Severity
}

func issueOf(d *lsp.Diagnostic) issue { return issue{d.Source, d.Message, d.Code, d.Severity} }

// Begin is called by the tools that change files, with the name of the tool, before they do.
func (k *Kit) Begin(ctx context.Context, tool string, changes []workspace.Change) file.Checked {
	e := file.Checked{Changes: changes, Finish: func(context.Context) (string, []string) { return "", nil }}
	if k.Format && tool != "undo_edit" {
		e.Changes, e.Formatted = k.formatAll(ctx, changes)
	}
	if tool == "write" && k.OnWrite || tool != "write" && k.OnEdit {
		e.Finish = k.begin(ctx, e.Changes)
	}
	return e
}

// formatTime is how long all formatting of an edit may take.
const formatTime = 2 * time.Second

// formatAll formats what is to be written. What can't be formatted is written as it is.
func (k *Kit) formatAll(ctx context.Context, changes []workspace.Change) ([]workspace.Change, string) {
	ctx, stop := context.WithTimeout(ctx, formatTime)
	defer stop()
	all := slices.Clone(changes)
	var notes []string
	for i, c := range all {
		path := k.absolute(c.Path)
		if path == "" || len(c.After) == 0 || len(c.After) > lsp.MaxFile || !utf8.Valid(c.After) {
			continue
		}
		if links := k.links(path, true); len(links) == 0 || !slices.ContainsFunc(links, (*lsp.Link).Ready) {
			continue
		}
		after, by, err := k.formatted(ctx, lsp.Document{Path: path, Data: c.After})
		if err != nil || string(after) == string(c.After) {
			continue
		}
		all[i].After = after
		note := fmt.Sprintf("%s formatted %s", by, c.Path)
		if diff, _, _ := edit.Diff(c.Path, c.After, after); len(diff) < maxDiff/2 {
			note += ":\n" + strings.TrimRight(diff, "\n")
		} else {
			note += "; read it before the next edit"
		}
		notes = append(notes, note)
	}
	return all, strings.Join(notes, "\n")
}

// absolute is the path of a file of the workspace's folder; "" if it is none.
func (k *Kit) absolute(name string) string {
	if filepath.IsAbs(name) || strings.Contains(name, "://") {
		return ""
	}
	return filepath.Join(k.Workspace.Dir(), filepath.FromSlash(name))
}

// watched are the servers of an edit, with the files of each.
type watched struct {
	link          *lsp.Link
	before, after []lsp.Document
	known         bool // what it thought before the edit
	late          bool
	found         []lsp.Diagnostic
}

// begin looks at the diagnostics before an edit, and gives what tells the new ones after it.
func (k *Kit) begin(ctx context.Context, changes []workspace.Change) (finish func(context.Context) (string, []string)) {
	byLink := map[*lsp.Link]*watched{}
	var all []*watched
	for _, c := range changes {
		for _, side := range []struct {
			name  string
			data  []byte
			after bool
		}{{from(c), c.Before, false}, {c.Path, c.After, true}} {
			path := k.absolute(side.name)
			if path == "" || side.data != nil && (!utf8.Valid(side.data) || len(side.data) > lsp.MaxFile) {
				continue
			}
			for _, l := range k.links(path, true) {
				w := byLink[l]
				if w == nil {
					w = &watched{link: l}
					byLink[l], all = w, append(all, w)
				}
				if doc := (lsp.Document{Path: path, Data: side.data}); side.after {
					w.after = append(w.after, doc)
				} else if side.data != nil {
					w.before = append(w.before, doc)
				}
			}
		}
	}
	if len(all) == 0 {
		return func(context.Context) (string, []string) { return "", nil }
	}
	each(all, func(w *watched) { w.found, w.known = w.link.Before(ctx, sized(w.before)) })
	k.mu.Lock()
	if k.known == nil || !k.pending {
		k.known = nil
		for _, w := range all {
			k.remember(w.found)
		}
	}
	k.mu.Unlock()
	return func(ctx context.Context) (string, []string) { return k.finish(ctx, all) }
}

// maxDocs is how many files of an edit a server looks at: those of a large rename are too many
// to have open.
const maxDocs = 16

func sized(docs []lsp.Document) []lsp.Document { return docs[:min(len(docs), maxDocs)] }

func from(c workspace.Change) string {
	if c.From != "" {
		return c.From
	}
	return c.Path
}

func each(all []*watched, f func(*watched)) {
	links := make([]*lsp.Link, len(all))
	for i, w := range all {
		links[i] = w.link
	}
	lsp.Each(links, func(i int, _ *lsp.Link) { f(all[i]) })
}

// remember notes what is there. k.mu is held.
func (k *Kit) remember(found []lsp.Diagnostic) {
	if k.known == nil {
		k.known = map[string]map[issue]int{}
	}
	counts := map[string]map[issue]int{}
	for i := range found {
		path := found[i].Path
		if counts[path] == nil {
			counts[path] = map[issue]int{}
		}
		counts[path][issueOf(&found[i])]++
	}
	for path, of := range counts {
		if k.known[path] == nil {
			k.known[path] = map[issue]int{}
		}
		for one, n := range of {
			k.known[path][one] = max(k.known[path][one], n)
		}
	}
}

// finish waits for what the servers think of an edit, and gives what they had not said before.
func (k *Kit) finish(ctx context.Context, all []*watched) (string, []string) {
	each(all, func(w *watched) { w.found, w.late = w.link.After(ctx, sized(w.after), k.Deadline) })
	touched := map[string]bool{}
	var fresh []lsp.Diagnostic
	k.mu.Lock()
	before := k.known
	k.known, k.pending = nil, false
	unknown := false
	for _, w := range all {
		for _, d := range w.after {
			touched[d.Path] = true
		}
		left := map[string]map[issue]int{}
		for path, counts := range before {
			left[path] = maps.Clone(counts)
		}
		for _, d := range slices.Backward(w.found) { // of equal ones the later ones are taken for old
			one := issueOf(&d)
			if left[d.Path][one] > 0 {
				left[d.Path][one]--
				if !k.Repeat || !touched[d.Path] {
					continue
				}
			}
			// Hints are for people who look at the line.
			if d.Severity <= lsp.SeverityWarning {
				fresh = append(fresh, d)
			}
		}
		k.remember(w.found)
		k.pending = k.pending || w.late
		unknown = unknown || !w.known && len(w.before) > 0 && len(w.found) > 0
	}
	if k.pending { // what comes late is new with the next edit
		for path, counts := range before {
			for one, n := range counts {
				if k.known == nil {
					k.known = map[string]map[issue]int{}
				}
				if k.known[path] == nil {
					k.known[path] = map[issue]int{}
				}
				k.known[path][one] = max(k.known[path][one], n)
			}
		}
	}
	k.mu.Unlock()
	slices.Reverse(fresh)
	slices.SortStableFunc(fresh, func(a, b lsp.Diagnostic) int { // those of the edited files first, then by place
		switch x, y := touched[a.Path], touched[b.Path]; {
		case x != y && x:
			return -1
		case x != y:
			return 1
		case a.Path != b.Path:
			return strings.Compare(a.Path, b.Path)
		}
		return a.Range.Start.Line - b.Range.Start.Line
	})
	text, shown := k.list(fresh, mostNew)
	if shown == 0 {
		return "", nil
	}
	k.Learn(text)
	text = strings.TrimRight(text, "\n")
	head := "New diagnostics:"
	if unknown {
		head = "Diagnostics (some may have been there before the edit):"
	}
	return head + "\n" + text, strings.Split(text, "\n")
}
