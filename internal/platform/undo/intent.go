package undo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Intent is a group of declared changes under way. While it is held, no other
// process commits, undoes or settles in this journal.
//
// What is written to the journal is in the hands of the system before the first
// file changes, and so survives the end of the process, however it ends. It is not
// forced to the disk: after a power failure the last turn may be unknown.
type Intent struct {
	j      *Journal
	unlock func()
	turn   line
	id     string // empty: nothing was announced
	before []Change
}

// Intend takes the journal for changes that are declared, in the open turn.
// Settle must be called.
func (j *Journal) Intend() (*Intent, error) {
	j.filing.Lock()
	unlock, err := j.lock()
	if err != nil {
		j.filing.Unlock()
		return nil, err
	}
	i := &Intent{j: j, unlock: func() { unlock(); j.filing.Unlock() }, turn: j.turn()}
	if err := j.catchUp(); err != nil {
		i.unlock()
		return nil, err
	}
	return i, nil
}

// Announce records what is about to be done, with what the paths hold now as
// Before and what they shall hold as After. Before that nothing may be changed.
func (i *Intent) Announce(planned []Change) error {
	if len(planned) == 0 {
		return nil
	}
	if err := i.j.attribute(planned); err != nil {
		return err
	}
	id := newKey()
	l := i.turn
	l.Intent, l.Changes = id, planned
	if err := i.j.write(l); err != nil {
		return err
	}
	i.id, i.before = id, planned
	return nil
}

// Settle records what became of the announced paths, also after a failure, and
// lets the journal go.
func (i *Intent) Settle() error {
	defer i.unlock()
	if i.id == "" {
		return nil
	}
	var changes []Change
	for _, c := range i.before {
		now, err := i.j.StateOf(c.Path)
		if err != nil {
			return err
		}
		if !now.same(c.Before) {
			changes = append(changes, Change{Path: c.Path, Before: c.Before, After: now})
		}
		i.j.tell(c.Path, now)
	}
	return i.j.settle(i.turn, i.id, changes)
}

func (j *Journal) settle(turn line, intent string, changes []Change) error {
	turn.Settles, turn.Intent, turn.Undone, turn.Changes = intent, "", nil, nil
	if len(changes) == 0 {
		return j.write(turn)
	}
	return j.record(turn, changes)
}

// settleOthers ends the intents of processes that were killed. The lock must be
// held: whoever has an intent under way holds it, so these have nobody.
func (j *Journal) settleOthers() error {
	j.mu.Lock()
	var all []line
	for _, l := range j.pending {
		all = append(all, l)
	}
	j.mu.Unlock()
	slices.SortFunc(all, func(a, b line) int { return bytes.Compare([]byte(a.Intent), []byte(b.Intent)) })
	for _, l := range all {
		changes, err := j.resolve(l)
		if err != nil {
			return fmt.Errorf("settle what a killed process was doing: %w", err)
		}
		if l.Undone != nil {
			done := &l.Back
			if *l.Undone {
				done = &l.Taken
			}
			for _, c := range changes {
				*done = append(*done, c.Path)
			}
			changes = nil
		}
		if err := j.settle(l, l.Intent, changes); err != nil {
			return err
		}
	}
	return nil
}

// resolve tells what became of an intent by what the files hold. A path that is as
// before was not reached. One that holds what was planned, or something on the way
// to it, was changed. One that holds anything else was changed by someone since;
// it counts as planned, so that an undo sees the difference and keeps it.
//
// Of an undo it gives the paths that it had done. Called again, the undo goes
// on with the others.
func (j *Journal) resolve(l line) ([]Change, error) {
	dirs := map[string]bool{}
	var changes []Change
	for _, c := range l.Changes {
		if isGit(c.Path) {
			continue
		}
		dirs[path.Dir(c.Path)] = true
		now, err := j.StateOf(c.Path)
		if err != nil {
			return nil, err
		}
		if l.Undone != nil {
			done, err := j.finish(c, now, *l.Undone)
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
		if j.onTheWay(l, c, now) {
			c.After = now
		}
		if !c.After.same(c.Before) {
			changes = append(changes, c)
		}
	}
	for dir := range dirs {
		if err := j.sweep(dir); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// finish completes what a killed undo had begun to do with a path, and reports
// whether it is done.
func (j *Journal) finish(c Change, now State, undone bool) (bool, error) {
	u := &undoing{Journal: j, back: !undone}
	from, to := u.ends(c)
	if now.same(to) || now.same(from) {
		return now.same(to), nil
	}
	begun := now.Kind == "" && to.Kind != "" && (from.Kind != to.Kind || to.Kind == "link") || now.Kind == to.Kind && now.Hash == to.Hash
	if now.Kind == "file" && from.Kind == "file" && to.Kind == "file" && !begun {
		begun = j.isTorn(from, to, now)
	}
	if !begun || to.Lost != "" || u.linkAbove(c.Path) != "" {
		return false, nil
	}
	if to.Kind == "dir" && now.Kind == "dir" {
		return true, j.root.Chmod(filepath.FromSlash(c.Path), to.Mode.Perm())
	}
	return true, u.restore(c.Path, now, to, nil)
}

func (j *Journal) isTorn(from, to, now State) bool {
	old, err1 := j.Get(from.Hash)
	new, err2 := j.Get(to.Hash)
	data, err3 := j.Get(now.Hash)
	return errors.Join(err1, err2, err3) == nil && torn(old, new, data)
}

// onTheWay reports whether a state is one that the change makes or passes.
func (j *Journal) onTheWay(l line, c Change, now State) bool {
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
	return j.isTorn(c.Before, c.After, now)
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
func (j *Journal) sweep(dir string) error {
	d, err := j.root.Open(filepath.FromSlash(dir))
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
			_ = j.root.Remove(filepath.Join(filepath.FromSlash(dir), name)) // what stays is not seen by looks
		}
	}
	return err
}

// tell notes what a declared change made of a path, so that it is nobody else's at
// the next look.
func (j *Journal) tell(path string, now State) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told[path] = now
}

// hear notes what another session changed since the last look here.
func (j *Journal) hear(l line) {
	if l.Intent != "" {
		return
	}
	changes := l.Changes
	if t := j.byKey[l.Turn+"@"+l.Key]; l.Undone != nil && t != nil {
		changes = t.Changes
	}
	for _, c := range changes {
		from, to := c.Before, c.After
		if l.Undone != nil && *l.Undone {
			from, to = to, from
		}
		if base, ok := j.base(c.Path); ok && base.same(from) {
			j.told[c.Path] = to
		}
	}
}

// base is what a path was when it was last accounted for; ok is false before the
// first look.
func (j *Journal) base(path string) (s State, ok bool) {
	if s, ok := j.told[path]; ok {
		return s, true
	}
	return j.known[path].state, len(j.known) > 0
}

// attribute gives the command that is watched what it has made so far of paths
// that are about to be changed by something else.
func (j *Journal) attribute(planned []Change) error {
	j.mu.Lock()
	w := j.owner()
	var changes []Change
	if w != nil {
		for _, c := range planned {
			if base, ok := j.base(c.Path); ok && base.Lost == "" && !isGit(c.Path) && !base.same(c.Before) {
				changes = append(changes, Change{Path: c.Path, Before: base, After: c.Before})
				w.paths[c.Path] = true
			}
		}
	}
	j.mu.Unlock()
	if w == nil {
		return nil
	}
	return j.record(w.turn, changes)
}
