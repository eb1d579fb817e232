package search

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
	"github.com/burin-dev/burin/internal/sorting"
)

// Glob gives what matches, newest first, and what is equally new by path. more
// reports that there was more than Limit; the newest are taken of all.
//
// The pattern is one of ignore files with {a,b} in addition. It holds for paths
// from the root as well as for those from the path that is searched. What people
// write is read kindly: "\" separates folders unless it stands before a bracket or
// brace, a brace that is left open is closed, "./" at the beginning is nothing,
// and "/" at the end means all that is below. Folders called node_modules are
// searched only if the pattern or Paths name them, or with Ignored.
//
// Symbolic links count as what they lead to, if that is inside; they are not
// searched.
func Glob(ctx context.Context, fsys fs.FS, o GlobOptions) (found []Entry, more bool, err error) {
	pattern := mendGlob(o.Pattern)
	if pattern == "" {
		return nil, false, errors.New("glob: the pattern is empty")
	}
	if o.Limit < 0 {
		return nil, false, errors.New("limit must not be negative")
	}
	rules, err := ignore.Globs([]string{pattern})
	if err != nil {
		return nil, false, err
	}
	if !rules.Keeps() { // "!" at the beginning
		return nil, false, errors.New("glob: the pattern only excludes: name what to match first")
	}
	s, err := openSearch(fsys, o.Filter, func(f *filter) {
		f.prune = rules
		f.modules = o.Ignored || mentionsModules(o.Filter, pattern)
	})
	if err != nil {
		return nil, false, err
	}
	defer s.close()
	found, err = glob(ctx, s, rules, o.Dirs)
	if err == nil && len(found) == 0 {
		var again bool
		if again, err = s.again(ctx); again && err == nil {
			found, err = glob(ctx, s, rules, o.Dirs)
		}
	}
	if err != nil {
		return nil, false, err
	}
	sorting.Stable(found, func(a, b Entry) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.Path, b.Path))
	})
	if o.Limit > 0 && len(found) > o.Limit {
		return found[:o.Limit:o.Limit], true, nil
	}
	return found, false, nil
}

func mentionsModules(f Filter, pattern string) bool {
	const name = "node_modules"
	inPath := func(p string) bool { return strings.Contains(p, name) }
	return inPath(pattern) || slices.ContainsFunc(f.Paths, inPath) || slices.ContainsFunc(f.Globs, inPath)
}

// mendGlob reads a pattern as it was meant.
func mendGlob(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c == '\\' {
			if i+1 < len(pattern) && strings.IndexByte(`[]{}\`, pattern[i+1]) >= 0 {
				b.WriteByte('\\')
				i++
				c = pattern[i]
			} else {
				c = '/'
			}
		}
		b.WriteByte(c)
	}
	p := b.String()
	for strings.HasPrefix(p, "./") {
		p = p[2:]
	}
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	return p
}

// glob is one pass over the tree.
func glob(ctx context.Context, s *search, rules *ignore.Rules, dirs bool) ([]Entry, error) {
	w := &walk[Entry]{
		source:  s.source,
		stop:    new(atomic.Bool),
		want:    func(e entry) bool { return dirs || e.kind != kindFolder },
		cost:    func(e Entry) int { return 0 }, // they are all kept
		visitor: func() visitor[Entry] { return &globber{rules: rules, dirs: dirs, search: s} },
	}
	var found []Entry
	err := walkThrough(ctx, s, w, func(e Entry) bool {
		found = append(found, e)
		return true
	})
	return found, err
}

// globber matches paths for one worker.
type globber struct {
	*search
	rules *ignore.Rules
	dirs  bool
	path  []byte
}

func (g *globber) visit(p *place, e entry, out *results[Entry]) {
	g.path = append(g.path[:0], p.path...)
	if p.path == "." {
		g.path = g.path[:0]
	} else {
		g.path = append(g.path, '/')
	}
	g.path = append(g.path, e.name...)
	dir := e.kind == kindFolder
	base := min(p.base, len(g.path))
	if g.rules.Match(g.path, e.name, dir) != ignore.Keep && (base == 0 || g.rules.Match(g.path[base:], e.name, dir) != ignore.Keep) {
		return
	}
	name := string(g.path)
	info, ok := g.inform(p, e, name)
	if !ok || info.kind == kindFolder && !g.dirs || g.filter.maxSize > 0 && info.size > g.filter.maxSize {
		return
	}
	out.add(Entry{Path: name, Dir: info.kind == kindFolder, Size: info.size, ModTime: info.mod})
}

// inform looks at an entry. What has vanished is not there.
func (s *search) inform(p *place, e entry, name string) (entryInfo, bool) {
	if e.kind == kindLink { // the file system knows where it may lead
		target, err := fs.Stat(s.fsys, name)
		if err != nil {
			return entryInfo{}, false
		}
		info := infoOf(target)
		return info, info.kind == kindFile || info.kind == kindFolder
	}
	dir, err := p.open()
	if err != nil {
		return entryInfo{}, false
	}
	info, err := dir.info(e.name)
	return info, err == nil
}
