package complete

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/sorting"
)

// path completes a word that is the beginning of a path.
func (c *Completer) path(q editor.Query, w mention.Word) (editor.Completion, bool) {
	dir := c.dir()
	return c.later(q, w.Start, func(ctx context.Context) []editor.Item {
		return pathItems(c.list(ctx, dir, w.Text, true), "", w.Text, q.Asked)
	})
}

// split divides what was typed into a folder, with its separator, and the beginning of
// a name.
func split(typed string) (folder, name string) {
	separators := "/"
	if runtime.GOOS == "windows" {
		separators = `/\`
	}
	i := strings.LastIndexAny(typed, separators) + 1
	return typed[:i], typed[i:]
}

// resolve gives the folder that was typed, seen from dir.
func (c *Completer) resolve(dir, folder string) string {
	if rest, ok := strings.CutPrefix(folder, "~/"); ok {
		home := c.o.Getenv("HOME")
		if runtime.GOOS == "windows" {
			home = c.o.Getenv("USERPROFILE")
		}
		return filepath.Join(home, rest)
	}
	folder = filepath.FromSlash(folder)
	if filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(dir, folder)
}

// list gives the paths that begin with what was typed, as typed. Those that begin with
// it in the same case come first, then those in another; with within also those that
// have it within, where there are no others. Hidden names are asked for by their dot.
func (c *Completer) list(ctx context.Context, dir, typed string, within bool) []string {
	folder, name := split(typed)
	if dir == "" && !filepath.IsAbs(folder) && !strings.HasPrefix(folder, "~/") {
		return nil
	}
	root := c.resolve(dir, folder)
	found := matching(ctx, root, name, within)
	for i, f := range found {
		found[i].name = folder + f.name
		if f.link { // to a folder?
			info, err := os.Stat(filepath.Join(root, f.name))
			found[i].folder = err == nil && info.IsDir()
		}
	}
	paths := make([]string, len(found))
	for i, f := range found {
		if paths[i] = f.name; f.folder {
			paths[i] += "/"
		}
	}
	return paths
}

type name struct {
	name         string
	folder, link bool
	class        int
}

// matching reads a folder; what cannot be read has no names.
func matching(ctx context.Context, root, prefix string, within bool) (found []name) {
	f, err := os.Open(root)
	if err != nil {
		return nil
	}
	defer f.Close()
	low := strings.ToLower(prefix)
	for read := 0; read < maxNames && ctx.Err() == nil; {
		entries, err := f.ReadDir(1000)
		read += len(entries)
		for _, e := range entries {
			if class, ok := classify(e.Name(), prefix, low); ok && (class < 2 || within) {
				found = append(found, name{e.Name(), e.IsDir(), e.Type()&fs.ModeSymlink != 0, class})
			}
		}
		if err != nil || len(entries) == 0 {
			break
		}
	}
	sorting.Stable(found, func(a, b name) int {
		return cmp.Or(a.class-b.class, strings.Compare(a.name, b.name))
	})
	if len(found) > 0 && found[0].class < 2 {
		found = slices.DeleteFunc(found, func(n name) bool { return n.class == 2 })
	}
	return found[:min(len(found), maxItems)]
}

// classify says how a name fits what was typed: 0 as it stands, 1 in another case, 2
// within.
func classify(name, prefix, low string) (class int, ok bool) {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, ".") {
		return 0, false
	}
	if strings.HasPrefix(name, prefix) {
		return 0, true
	}
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, low) {
		return 1, true
	}
	return 2, strings.Contains(lower, low)
}
