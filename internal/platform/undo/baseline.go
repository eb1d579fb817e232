package undo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/sorting"
)

// baseline is what the folder was when it was last accounted for. What differs from it
// at the next look was changed in between.
type baseline struct {
	dir string // of the journal; it keeps the tree for the next session

	mu    sync.Mutex
	last  *looked          // the last look
	told  map[string]State // what declared changes made of paths since the last look began
	dirty bool             // the tree is not kept yet
	ours  bool             // the tree that is kept is of this journal: it was loaded or saved
}

func newBaseline(dir string) *baseline {
	return &baseline{dir: dir, last: &looked{tree: map[string]entry{}}, told: map[string]State{}}
}

// begin begins a look, and gives the last one and what was told since that.
func (b *baseline) begin() (last *looked, prior map[string]State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	prior = b.told
	b.told = map[string]State{}
	return b.last, prior
}

// abandon ends a look that failed.
func (b *baseline) abandon(prior map[string]State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(prior, b.told)
	b.told = prior
}

// adopt makes a look the last one and gives what differs from the one before,
// less what was told: prior to the look, or while it went on.
func (b *baseline) adopt(l *looked, prior map[string]State) []Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.last.tree
	for p, s := range b.told { // whether the look came before or after it is chance
		e := l.tree[p]
		if was, ok := prior[p]; e.state.same(s) || ok && e.state.same(was) || !ok && e.state.same(known[p].state) {
			if s.Kind == "" {
				delete(l.tree, p)
			} else {
				l.tree[p] = entry{state: s}
			}
		}
		prior[p] = s
	}
	b.told = map[string]State{}
	var changes []Change
	differs := func(p string, was, now State) {
		if s, ok := prior[p]; ok {
			was = s
		}
		if !was.same(now) {
			changes = append(changes, Change{Path: p, Before: was, After: now})
		}
	}
	for p, e := range l.tree {
		was, ok := known[p]
		if !ok || !was.state.same(e.state) || len(prior) > 0 {
			differs(p, was.state, e.state)
		}
	}
	for p, was := range known {
		if _, ok := l.tree[p]; !ok {
			differs(p, was.state, State{})
		}
	}
	for p, s := range prior { // made after the last look, and gone again
		_, before := known[p]
		if _, now := l.tree[p]; !before && !now && s.Kind != "" {
			differs(p, s, State{})
		}
	}
	changes = append(changes, l.repo.since(b.last.repo)...)
	sorting.Stable(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	b.last, b.dirty = l, true
	return changes
}

// tell notes what a declared change made of a path, so that it is nobody else's at
// the next look.
func (b *baseline) tell(path string, now State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told[path] = now
}

// hear notes what another session changed since the last look here.
func (b *baseline) hear(changes []Change, d direction) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range changes {
		from, to := d.ends(c)
		if was, ok := b.at(c.Path); ok && was.same(from) {
			b.told[c.Path] = to
		}
	}
}

// unaccounted are the changes, up to now, of paths that are about to be changed, by
// whoever changed them since the last look. What git has is left out, and so is a file
// whose contents were not kept.
func (b *baseline) unaccounted(planned []Change) (changes []Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range planned {
		if was, ok := b.at(c.Path); ok && was.Lost == "" && !isGit(c.Path) && !was.same(c.Before) {
			changes = append(changes, Change{Path: c.Path, Before: was, After: c.Before})
		}
	}
	return changes
}

// at is what a path was when it was last accounted for; ok is false before the
// first look.
func (b *baseline) at(path string) (s State, ok bool) {
	if s, ok := b.told[path]; ok {
		return s, true
	}
	return b.last.tree[path].state, len(b.last.tree) > 0
}

// tellGit notes what git is now after declared changes of it.
func (b *baseline) tellGit(now *repository, changes []Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.repo == nil || !b.last.repo.known || !now.known {
		return
	}
	last, repo := *b.last, *b.last.repo
	repo.states = maps.Clone(repo.states)
	for _, c := range changes {
		if s, ok := now.states[c.Path]; ok {
			repo.states[c.Path] = s
		} else {
			delete(repo.states, c.Path)
		}
	}
	last.repo = &repo
	b.last = &last
}

// notice says what the last look did not keep; see [Journal.Notice].
func (b *baseline) notice() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.last.unkept
	if u.files == 0 {
		return ""
	}
	return fmt.Sprintf("the contents of %d files (%d MB) are not kept and cannot be restored, among them %s", u.files, u.bytes>>20, u.where)
}

// treeFile is where the tree is kept for the next session, in the folder of a journal.
func treeFile(dir string) string { return filepath.Join(dir, "tree") }

// save keeps the tree for the next session, if it is not kept yet. ours is false where an
// earlier session's stays, which was not loaded.
func (b *baseline) save() (ours bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.dirty {
		return b.ours, nil
	}
	data := encodeTree(b.last.tree)
	f, err := os.CreateTemp(b.dir, "tree-")
	if err != nil {
		return false, fmt.Errorf("keep what the folder looks like: %w", err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), treeFile(b.dir))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return false, fmt.Errorf("keep what the folder looks like: %w", err)
	}
	b.dirty, b.ours = false, true
	return true, nil
}

// load takes the tree that an earlier session kept.
func (b *baseline) load() {
	data, err := os.ReadFile(treeFile(b.dir))
	if err != nil {
		return
	}
	if tree, err := decodeTree(data); err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.last, b.ours = &looked{tree: tree}, true
	}
}

// kept are the contents that the kept tree names: what the next turn may have to
// restore.
func (b *baseline) kept() map[string]bool {
	live := map[string]bool{}
	data, err := os.ReadFile(treeFile(b.dir))
	if err != nil {
		return live
	}
	tree, _ := decodeTree(data) // a damaged one is not used either
	for _, e := range tree {
		live[e.state.Hash] = true
	}
	return live
}
