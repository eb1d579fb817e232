package file

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/search"
)

// place is a path with what follows it: a member of an archive, or the selector
// of a database.
type place struct {
	name   string // as written, without what follows
	kind   document.Kind
	inside string
}

// splitURL tells an address from a path.
func splitURL(s string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(s, "://")
	if !ok || len(scheme) < 2 || scheme == "file" || strings.ContainsAny(scheme, "/\\:") {
		return "", "", false
	}
	return scheme, rest, true
}

var (
	archiveEnds  = []string{".tar.gz", ".tgz", ".tar", ".zip"}
	databaseEnds = []string{".sqlite3", ".sqlite", ".db3", ".db"}
)

// locate splits what a model wrote into the path of a file, what is meant inside
// it, and the lines. A file whose name really ends like a selector wins.
func (f *files) locate(written string) (place, selection, error) {
	if written == "" {
		return place{}, selection{}, fmt.Errorf("path is empty")
	}
	if f.exists(written) {
		return place{name: written, kind: kindOf(written)}, selection{}, nil
	}
	p, ok := f.within(written, databaseEnds, ":?", document.SQLite)
	if ok && p.inside != "" {
		// A database's selector may hold colons of its own; lines mean nothing there.
		if base, sel, err := splitSelector(p.inside); err == nil && base == "" {
			return place{name: p.name, kind: document.SQLite}, sel, nil
		}
		return p, selection{}, nil
	}
	base, sel, err := splitSelector(written)
	if err != nil {
		return place{}, selection{}, err
	}
	if p, ok := f.within(base, archiveEnds, ":", document.Archive); ok {
		return p, sel, nil
	}
	return place{name: base, kind: kindOf(base)}, sel, nil
}

func kindOf(name string) document.Kind {
	for _, end := range archiveEnds {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return document.Archive
		}
	}
	return ""
}

// within finds a file with one of the ends in front of a separator. Of several
// the one that exists wins, else the longest.
func (f *files) within(written string, ends []string, separators string, kind document.Kind) (place, bool) {
	lower := strings.ToLower(written)
	var best place
	found := false
	for i := range written {
		if strings.IndexByte(separators, written[i]) < 0 {
			continue
		}
		for _, end := range ends {
			if !strings.HasSuffix(lower[:i], end) {
				continue
			}
			p := place{name: written[:i], kind: kind, inside: written[i:]}
			if written[i] == ':' {
				p.inside = written[i+1:]
			}
			if f.exists(p.name) {
				return p, true
			}
			best, found = p, true
		}
	}
	return best, found
}

func (f *files) exists(written string) bool {
	name, err := f.saved.Workspace.Resolve(written)
	if err != nil {
		return false
	}
	_, err = f.saved.fs.Stat(filepath.ToSlash(name))
	return err == nil
}

// searchTime is how long the file is looked for that was meant by a path that does
// not exist.
const searchTime = 5 * time.Second

// only is the one file of the workspace whose path ends like a path that does not
// exist. ok is false if the path exists, or if there is none or more than one;
// hidden and ignored files do not count.
func (f *files) only(ctx context.Context, written string) (found string, ok bool) {
	if f.Workspace.Mounted(written) {
		return "", false
	}
	name, err := f.Workspace.Resolve(written)
	if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) || name == "." || strings.ContainsAny(name, `*?[]{}!\`) || f.exists(written) {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	all, more, err := search.Glob(ctx, f.saved.fs, search.GlobOptions{Pattern: "**/" + name, Limit: 2, Filter: search.Filter{Cache: f.saved.Cache}})
	if err != nil || more || len(all) != 1 {
		return "", false
	}
	return all[0].Path, true
}
