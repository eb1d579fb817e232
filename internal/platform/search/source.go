package search

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// source is where a walk goes: the file system with the rules for it.
type source struct {
	fast   tree // of a Rooted
	plain  *plainTree
	filter *filter
	user   *userRules
	outer  *scope
	prefix string          // from the root of the repository to the root of the file system
	named  map[string]bool // roots, which are searched on their own even inside others
}

// seed is where a walk begins: a folder, or a file that was named.
type seed struct {
	at    *place
	entry entry // zero for a folder
}

// newSource opens the file system. f is nil if entries shall not be filtered.
func newSource(fsys fs.FS, f *filter) (*source, error) {
	s := &source{plain: &plainTree{fsys}, filter: f, outer: &scope{}, user: &userRules{}}
	dir := dirOf(fsys)
	if dir == "" {
		if !f.ignored {
			s.outer, s.user = inner(s.plain)
		}
		return s, nil
	}
	var err error
	if s.fast, err = openTree(dir); err != nil {
		return nil, missing(".", err)
	}
	if l, ok := fsys.(Layered); ok {
		s.fast = &layeredTree{s.plain, s.fast, l}
	}
	if !f.ignored {
		s.outer, s.prefix, s.user = outer(dir, os.Getenv)
	}
	return s, nil
}

func (s *source) close() {
	if s.fast != nil {
		s.fast.close()
	}
}

// tree is the one to look for name in.
func (s *source) tree(name string) tree {
	if s.fast == nil || isAbs(name) {
		return s.plain
	}
	return s.fast
}

// seeds opens the roots of a walk. Where the fast tree does not lead, through a
// link or to an absolute name, the file system itself may.
func (s *source) seeds(names []string) ([]seed, error) {
	if len(names) > 1 {
		s.named = map[string]bool{}
		for _, n := range names {
			s.named[n] = true
		}
	}
	var out []seed
	for _, name := range names {
		t := s.tree(name)
		at, err := s.seed(t, name)
		if _, plain := t.(*plainTree); err != nil && !plain && !errors.Is(err, fs.ErrNotExist) {
			at, err = s.seed(s.plain, name)
		}
		if err != nil {
			for _, opened := range out {
				opened.at.release()
			}
			return nil, missing(name, err)
		}
		out = append(out, at)
	}
	return out, nil
}

func (s *source) seed(t tree, name string) (seed, error) {
	dir, base := path.Dir(name), path.Base(name)
	if f, err := t.open(name); err == nil {
		return seed{at: s.place(t, f, name)}, nil
	} else if name == "." || !errors.Is(err, syscall.ENOTDIR) {
		return seed{}, err
	}
	f, err := t.open(dir)
	if err != nil {
		return seed{}, err
	}
	info, err := f.info(base)
	if plain, ok := t.(*plainTree); ok && err == nil { // the file system may follow a link
		var target fs.FileInfo
		if target, err = fs.Stat(plain.fsys, name); err == nil {
			info = infoOf(target)
		}
	}
	if err != nil || info.kind != kindFile {
		f.close()
		if err == nil {
			err = errors.New("neither a file nor a folder")
		}
		return seed{}, err
	}
	return seed{s.place(t, f, dir), entry{name: base, kind: kindFile, named: true}}, nil
}

// place is one that seeds a walk: with the rules of the folders that lead to it.
func (s *source) place(t tree, f folder, name string) *place {
	p := &place{tree: t, dir: f, path: name, full: s.full(name), scope: s.outer}
	p.base = len(p.full) - len(s.prefix)
	p.refs.Store(1)
	if isAbs(name) {
		p.scope = &scope{} // another tree
		return p
	}
	if name == "." || s.filter.ignored {
		return p
	}
	at := "."
	for part := range strings.SplitSeq(name, "/") {
		p.scope = s.scopeIn(t, p.scope, at)
		at = path.Join(at, part)
	}
	return p
}

func (s *source) full(name string) string {
	if name == "." {
		return s.prefix
	}
	return s.prefix + name + "/"
}

// scopeIn adds the rules of a folder that is only passed through.
func (s *source) scopeIn(t tree, outer *scope, name string) *scope {
	f, err := t.open(name)
	if err != nil {
		return outer
	}
	defer f.close()
	var entries []entry
	for _, file := range []string{".git", ".gitignore", ".ignore", ".rgignore"} {
		if info, err := f.info(file); err == nil {
			entries = append(entries, entry{name: file, kind: info.kind})
		}
	}
	return outer.enter(f, entries, len(s.full(name)), s.user)
}

// enter opens the folder name in at, or at itself if name is empty, and gives the
// entries that are not left out, in the order of paths. The place is never nil;
// the caller releases it.
func (s *source) enter(at *place, name string, mem *scratch) (*place, []entry, error) {
	dir, err := at.open()
	if name == "" {
		at.hold()
	} else {
		p := &place{tree: at.tree, path: at.join(name), base: at.base, full: at.full + name + "/", scope: at.scope}
		p.refs.Store(1)
		if err == nil {
			dir, err = dir.child(name)
			p.dir = dir
		}
		at = p
	}
	if err != nil {
		at.err = err
		return at, nil, err
	}
	all, err := dir.list(mem)
	if err != nil {
		return at, nil, err
	}
	if !s.filter.ignored {
		at.scope = at.scope.enter(dir, all, len(at.full), s.user)
	}
	mem.full = append(mem.full[:0], at.full...)
	entries := all[:0]
	for _, e := range all {
		mem.full = append(mem.full[:len(at.full)], e.name...)
		if e.kind == kindOther || s.filter.leavesOut(at.scope, mem.full, len(s.prefix), e) {
			continue
		}
		if e.kind == kindFolder && s.filter.prune != nil && !s.filter.mayHold(string(mem.full[len(s.prefix):]), at.base) {
			continue
		}
		if s.named != nil && s.named[string(mem.full[len(s.prefix):])] {
			continue
		}
		entries = append(entries, e)
	}
	arrange(entries)
	return at, entries, nil
}
