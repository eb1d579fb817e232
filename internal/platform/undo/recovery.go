package undo

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// recovery tells what became of what a killed process was doing, and cleans up after it.
type recovery struct{ folder *folder }

// resolve tells what became of an intent by what the files hold. A path that is as
// before was not reached. One that holds what was planned, or something on the way
// to it, was changed. One that holds anything else was changed by someone since;
// it counts as planned, so that an undo sees the difference and keeps it.
//
// Of an undo it gives the paths that it had done. Called again, the undo goes
// on with the others.
func (r recovery) resolve(l line) ([]Change, error) {
	dirs := map[string]bool{}
	var changes []Change
	for _, c := range l.Changes {
		if isGit(c.Path) {
			continue
		}
		dirs[path.Dir(c.Path)] = true
		now, err := State{}, error(nil)
		if len(c.Splices) > 0 {
			now, err = r.folder.stateLike(c.Path, c.Before)
		} else {
			now, err = r.folder.stateOf(c.Path)
		}
		if err != nil {
			return nil, err
		}
		if l.Undone != nil {
			done, err := r.finish(c, now, *l.Undone)
			if err != nil {
				return nil, err
			}
			if done {
				changes = append(changes, c)
			}
			continue
		}
		if now.same(c.Before) {
			continue
		}
		if now.same(c.After) || r.onTheWay(l, c, now) {
			c.After = now
		}
		if !c.After.same(c.Before) {
			changes = append(changes, c)
		}
	}
	for dir := range dirs {
		if err := r.sweep(dir); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// finish completes what a killed undo had begun to do with a path, and reports
// whether it is done.
func (r recovery) finish(c Change, now State, undone bool) (bool, error) {
	from, to := direction(undone).ends(c)
	if now.same(to) || now.same(from) {
		return now.same(to), nil
	}
	begun := now.Kind == "" && to.Kind != "" && (from.Kind != to.Kind || to.Kind == "link") || now.Kind == to.Kind && now.Hash == to.Hash
	if now.Kind == "file" && from.Kind == "file" && to.Kind == "file" && !begun {
		begun = r.isTorn(from, to, now)
	}
	if !begun || to.Lost != "" || r.folder.linkAbove(c.Path) != "" {
		return false, nil
	}
	if to.Kind == "dir" && now.Kind == "dir" {
		return true, r.folder.root.Chmod(filepath.FromSlash(c.Path), to.Mode.Perm())
	}
	return true, r.folder.restore(c.Path, now, to, nil)
}

func (r recovery) isTorn(from, to, now State) bool {
	old, err1 := r.folder.store.Get(from.Hash)
	new, err2 := r.folder.store.Get(to.Hash)
	data, err3 := r.folder.store.Get(now.Hash)
	return errors.Join(err1, err2, err3) == nil && torn(old, new, data)
}

// onTheWay reports whether a state is one that the change makes or passes.
func (r recovery) onTheWay(l line, c Change, now State) bool {
	if now.Kind == "" || now.Kind == "dir" && c.After.Kind == "dir" {
		return now.Kind == c.After.Kind
	}
	is := func(s State) bool { return now.Kind == s.Kind && now.Hash == s.Hash && now.Link == s.Link }
	if is(c.After) || slices.ContainsFunc(l.Changes, func(o Change) bool { return o.Before.Kind == "file" && is(o.Before) }) {
		return true // or moved here, and not written yet
	}
	if now.Kind != "file" || c.Before.Kind != "file" || c.After.Kind != "file" {
		return false
	}
	return r.isTorn(c.Before, c.After, now)
}

// torn reports whether data is what a file holds while its old contents are
// overwritten by the new ones, from the beginning, and cut to length at the end.
func torn(old, new, data []byte) bool {
	n := 0
	for n < min(len(new), len(data)) && new[n] == data[n] {
		n++
	}
	if len(data) != max(len(old), n) {
		return false
	}
	return n >= len(old) || bytes.Equal(data[n:], old[n:])
}

// sweep removes the files that a killed process was about to put in place.
func (r recovery) sweep(dir string) error {
	d, err := r.folder.root.Open(filepath.FromSlash(dir))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if isNotDir(err) {
		return nil
	}
	for _, name := range names {
		if rootfile.IsTemp(name) {
			_ = r.folder.root.Remove(filepath.Join(filepath.FromSlash(dir), name)) // what stays is not seen by looks
		}
	}
	return err
}
