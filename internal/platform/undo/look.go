package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// clockTick is how coarse the clocks of file systems may be.
const clockTick = 50 * time.Millisecond

// entry is a path of a tree with its stat.
type entry struct {
	stat      rootfile.Stat
	state     State
	fresh     bool // changed right before the look
	inIgnored bool // in a folder with a budget of its own
}

// looked is what a look at the whole tree found.
type looked struct {
	tree   map[string]entry
	repo   *repository
	unkept unkept
}

// unkept counts what a look did not keep.
type unkept struct {
	files int
	bytes int64
	where string // the first of them
}

// looking is a look under way.
type looking struct {
	folder *folder
	known  map[string]entry // the last look
	began  time.Time
	spent  budget
	pack   *packer
	*looked
}

// look gives the whole tree as it is. Only what has another stat than at the last
// look is read.
func (f *folder) look(ctx context.Context, last *looked) (*looked, error) {
	l := &looking{folder: f, known: last.tree, began: time.Now(), spent: budget{mostIgnored: f.mostIgnored}, pack: f.store.newPacker()}
	l.looked = &looked{tree: make(map[string]entry, len(l.known)+16)}
	// What is kept already counts first, whatever the order of folders is.
	for _, e := range l.known {
		if e.state.Kind == "file" && e.state.Lost == "" {
			l.spent.spend(1, e.stat.Size, e.inIgnored)
		}
	}
	if err := l.walk(ctx, ".", nil, false); err != nil {
		l.pack.abandon()
		return nil, err
	}
	if err := l.pack.end(); err != nil {
		l.lose(err)
	}
	l.repo = f.lookAtGit(ctx, last.repo)
	return l.looked, nil
}

// lose notes that the contents that were put into the pack are not kept.
func (l *looking) lose(why error) {
	for name, e := range l.tree {
		raw, err := hex.DecodeString(e.state.Hash)
		if err == nil && len(raw) == sha256.Size && l.pack.have[[sha256.Size]byte(raw)] {
			e.state.Hash, e.state.Lost = "", "it cannot be kept: "+why.Error()
			l.tree[name] = e
		}
	}
}

// rules are those of a folder's ignore file, and those above it.
type rules struct {
	*ignore.Rules
	dir   string
	above *rules
}

// ignores reports whether git leaves a folder out. Files are not asked about: one
// that is left out by itself, such as .env, is as precious as any other.
func (r *rules) ignores(name string) bool {
	for ; r != nil; r = r.above {
		rel := name
		if r.dir != "." {
			rel = name[len(r.dir)+1:]
		}
		switch r.Match([]byte(rel), path.Base(name), true) {
		case ignore.Ignore:
			return true
		case ignore.Keep:
			return false
		}
	}
	return false
}

// maxRules is the size in bytes of an ignore file that is read.
const maxRules = 1 << 20

// generated are folders of what tools make, whether git leaves them out or not.
var generated = []string{
	".cache", ".gradle", ".mypy_cache", ".next", ".nuxt", ".pytest_cache", ".terraform", ".tox", ".venv",
	"DerivedData", "__pycache__", "bower_components", "node_modules", "target", "venv",
}

func (l *looking) walk(ctx context.Context, dir string, above *rules, ignored bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := l.folder.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return skippable(err)
	}
	infos, err := f.Readdir(-1)
	_ = f.Close()
	if err != nil && len(infos) == 0 {
		return skippable(err)
	}
	if !ignored && slices.ContainsFunc(infos, func(i fs.FileInfo) bool { return i.Name() == ".gitignore" && i.Mode().IsRegular() }) {
		if data, _, err := rootfile.Read(l.folder.root, filepath.FromSlash(path.Join(dir, ".gitignore")), maxRules); err == nil {
			above = &rules{ignore.Parse(data, false), dir, above}
		}
	}
	used := l.folder.databases(dir, infos)
	for _, info := range infos {
		if info.Name() == ".git" || rootfile.IsTemp(info.Name()) || used.beside(info.Name()) {
			continue
		}
		name := path.Join(dir, info.Name())
		if l.folder.isOwn(name) {
			continue
		}
		below := ignored || info.IsDir() && (slices.Contains(generated, info.Name()) || above.ignores(name))
		if !l.path(name, info, ignored, used[info.Name()]) || !info.IsDir() {
			continue
		}
		if err := l.walk(ctx, name, above, below); err != nil {
			return err
		}
	}
	return nil
}

// path adds a path and reports whether it is there. A database in use is not read.
func (l *looking) path(name string, info fs.FileInfo, ignored, inUse bool) bool {
	e := entry{stat: rootfile.StatOf(info), inIgnored: ignored}
	// A file that changed within the resolution of the clock may change again
	// without a trace in its stat: it is read again next time.
	e.fresh = !info.IsDir() && l.began.UnixNano()-max(e.stat.MTime, e.stat.CTime) < int64(clockTick)
	old, ok := l.known[name]
	if inUse == (old.state.Lost == inUseNow) && ok && old.stat == e.stat && !old.fresh {
		e.state = old.state
	} else {
		if ok && old.state.Kind == "file" && old.state.Lost == "" {
			l.spent.spend(-1, old.stat.Size, old.inIgnored)
		}
		var err error
		if inUse {
			e.state = State{Kind: "file", Mode: info.Mode().Perm(), Hash: identity(info), Lost: inUseNow}
		} else if e.state, err = l.folder.state(name, info, &l.spent, ignored, l.pack.Put); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return false // gone meanwhile
			}
			e.state.Lost = "it cannot be read: " + err.Error()
		}
	}
	if e.state.Kind == "file" && e.state.Lost != "" {
		if l.unkept.files == 0 {
			l.unkept.where = name
		}
		l.unkept.files++
		l.unkept.bytes += info.Size()
	}
	l.tree[name] = e
	return true
}

// isGit reports whether a path of a change is git's.
func isGit(name string) bool { return name == gitDir || strings.HasPrefix(name, gitDir+"/") }
