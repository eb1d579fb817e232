package search

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
)

// filter is a [Filter] that has been read.
type filter struct {
	globs   *ignore.Rules
	only    bool // a file must match one of globs
	kinds   *ignore.Rules
	hidden  bool
	ignored bool
	maxSize int64
	modules bool // also folders called node_modules

	// prune, if it is not nil, keeps what is wanted; folders that cannot hold any of
	// that are not entered.
	prune *ignore.Rules

	own func(name string) bool // nil: nothing is
}

func newFilter(f Filter) (*filter, error) {
	out := &filter{hidden: f.Hidden, ignored: f.Ignored, maxSize: f.MaxSize, modules: true}
	var err error
	if len(f.Globs) > 0 {
		if out.globs, err = ignore.Globs(f.Globs); err != nil {
			return nil, err
		}
		out.only = out.globs.Keeps()
	}
	if len(f.Types) > 0 {
		if out.kinds, err = kindRules(f.Types); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// leavesOut decides on an entry. full is its path from the root of the
// repository, of which skip bytes lead to the root of the file system.
func (f *filter) leavesOut(s *scope, full []byte, skip int, e entry) bool {
	if e.name == ".git" || f.own != nil && f.own(string(full[skip:])) {
		return true
	}
	dir := e.kind == kindFolder
	if dir && !f.modules && e.name == "node_modules" {
		return true
	}
	if f.kinds != nil && !dir && f.kinds.Match(full[skip:], e.name, false) != ignore.Keep {
		return true
	}
	if f.globs != nil {
		switch f.globs.Match(full[skip:], e.name, dir) {
		case ignore.Ignore:
			return true
		case ignore.Keep: // what is asked for by name counts more than the rules
			return false
		case ignore.None:
			if f.only && !dir {
				return true
			}
		}
	}
	if !f.ignored {
		switch s.verdict(full, e.name, dir) {
		case ignore.Ignore:
			return true
		case ignore.Keep:
			return false
		case ignore.None:
		}
	}
	return !f.hidden && e.name[0] == '.'
}

// narrows reports whether f leaves out an entry of a list that was made with a
// filter of the same Hidden and Ignored and nothing else.
func (f *filter) narrows(i item) bool {
	if !f.modules && (i.kind == kindFolder && i.name == "node_modules" || strings.Contains("/"+i.dir+"/", "/node_modules/")) {
		return true
	}
	if f.kinds == nil || i.kind == kindFolder {
		return false
	}
	full := i.name
	if i.dir != "." {
		full = i.dir + "/" + i.name
	}
	return f.kinds.Match([]byte(full), i.name, false) != ignore.Keep
}

// mayHold reports whether what is wanted may be in a folder. Patterns hold for
// whole paths and for those behind base.
func (f *filter) mayHold(name string, base int) bool {
	return f.prune.Below(name) || base > 0 && f.prune.Below(name[min(base, len(name)):])
}

// roots cleans the paths of a search: sorted, without doubles, "." for none.
// Those inside dir, the real directory, may be absolute.
func roots(paths []string, dir string) ([]string, error) {
	var out []string
	for _, p := range paths {
		name := filepath.ToSlash(p)
		if dir != "" && filepath.IsAbs(p) {
			if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
				name = filepath.ToSlash(rel)
			}
		}
		name = path.Clean(name)
		if name == ".." || strings.HasPrefix(name, "../") {
			return nil, fmt.Errorf("%s is outside of what can be searched", p)
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return []string{"."}, nil
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// missing is the error for a path that cannot be searched.
func missing(name string, err error) error {
	if gone(err) {
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: "search", Path: name, Err: unwrapped(err)}
}

func unwrapped(err error) error {
	for {
		e, ok := err.(*fs.PathError)
		if !ok {
			return err
		}
		err = e.Err
	}
}
