package complete

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/prose"
)

// mention completes what comes after "@". A word that begins with "@@" stands for
// itself.
func (c *Completer) mention(q editor.Query, w mention.Word) (editor.Completion, bool) {
	if strings.HasPrefix(w.Text, "@") {
		return editor.Completion{}, true
	}
	dir, recent := c.dir(), slices.Clone(c.recent)
	return c.later(q, w.Start, func(ctx context.Context) []editor.Item {
		var named []editor.Item
		if c.o.Resources != nil {
			for _, r := range c.o.Resources(ctx, w.Text) {
				if r.Insert, _ = quote(r.Label); r.Insert == "" || r.Label == w.Text {
					continue
				}
				if r.Insert = "@" + r.Insert; r.More {
					r.Insert = strings.TrimSuffix(r.Insert, `"`)
				} else {
					r.Insert += " "
				}
				r.Label, r.Detail = prose.Inline(r.Label), prose.Inline(r.Detail)
				if named = append(named, r); len(named) == maxItems {
					break
				}
			}
		}
		if len(named) > 0 && strings.Contains(w.Text, ":") {
			return named
		}
		var paths []string
		if !startsPath(w.Text) && !strings.HasPrefix(w.Text, "/") && !filepath.IsAbs(w.Text) && c.o.Files != nil {
			paths, _ = c.o.Files.Find(ctx, w.Text, maxItems) // what cannot be found is not proposed
			paths = withRecent(paths, recent, w.Text, dir)
		}
		if len(paths) == 0 {
			// What the ignore rules leave out, or lies outside: by its beginning.
			paths = c.list(ctx, dir, w.Text, false)
		}
		items := pathItems(paths, "@", w.Text, q.Asked)
		return append(items[:min(len(items), maxItems-len(named))], named...)
	})
}

func (c *Completer) dir() string {
	if c.o.Dir == nil {
		return ""
	}
	return c.o.Dir()
}

// withRecent puts those of the paths first that were mentioned before and begin with
// the query; with an empty one all. They are there still.
func withRecent(paths, recent []string, query, dir string) []string {
	low := strings.ToLower(query)
	var first []string
	for _, r := range recent {
		name := strings.ToLower(r)
		if !strings.HasPrefix(name, low) && !strings.HasPrefix(path.Base(name), low) {
			continue
		}
		if !slices.Contains(paths, r) {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r))); err != nil {
				continue
			}
		}
		first = append(first, r)
	}
	if len(first) == 0 {
		return paths
	}
	for _, p := range paths {
		if !slices.Contains(first, p) {
			first = append(first, p)
		}
	}
	return first
}

// pathItems makes items of paths, in which folders end with "/". What is typed in full
// is left out; if it is the first of them, there is nothing to propose.
func pathItems(paths []string, sign, typed string, asked bool) (items []editor.Item) {
	for i, p := range paths {
		insert, ok := quote(p)
		if !ok {
			continue
		}
		folder := strings.HasSuffix(p, "/")
		if p == typed {
			if i == 0 && !folder && !asked {
				return nil
			}
			if folder {
				continue
			}
		}
		if !folder {
			insert += " "
		}
		items = append(items, editor.Item{Label: prose.Inline(p), Insert: sign + insert, More: folder})
		if len(items) == maxItems {
			break
		}
	}
	return items
}
