package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/tool/change"
)

// Undo restores what a turn changed; of a turn that is undone it brings the
// changes back. A path that is no longer what the turn left is kept as it is, and
// so are git's branches, HEAD and index if one of them is. An undo that was
// interrupted is finished by calling it again.
func (j *Journal) Undo(ctx context.Context, id string) (*change.Undone, error) {
	defer j.watch.holdCommands()()
	defer j.watch.holdLooks()() // a look must not see it half done
	var u *undoing
	err := j.lines.exclusive(func() (err error) {
		if u, err = j.undoing(id); err != nil {
			return err
		}
		return j.undo(ctx, u)
	})
	if u == nil {
		return nil, err
	}
	return &u.result, err
}

// Preview says what Undo would do with each path of a turn, sorted by path. It
// changes nothing.
func (j *Journal) Preview(ctx context.Context, id string) ([]change.Planned, error) {
	j.lines.refresh()
	u, err := j.undoing(id)
	if err != nil {
		return nil, err
	}
	return u.preview(ctx), nil
}

// undoing prepares the undo of a turn.
func (j *Journal) undoing(id string) (*undoing, error) {
	t, later, err := j.turns.undoable(id)
	if err != nil {
		return nil, err
	}
	u := &undoing{
		direction: direction(!t.Undone), folder: j.folder, turn: t, later: later,
		moved: map[string]string{}, kept: map[string]bool{}, gone: j.store.scrubbed(),
	}
	u.git = gitUndoing{u.direction, j.folder}
	for _, c := range t.Changes {
		if from, _ := u.ends(c); from.Kind == "file" && from.Lost != "" && from.Sum == "" {
			u.moved[from.Hash] = c.Path
		}
	}
	return u, nil
}

// undo carries an undo out and writes it down. The line before the first change lets
// the next process clean up if this one is killed.
func (j *Journal) undo(ctx context.Context, u *undoing) error {
	todo, git := u.plan(ctx), u.planGit(ctx)
	if err := j.watch.attribute(u.currently(todo)); err != nil {
		return err
	}
	l := u.intent(todo)
	if err := j.lines.write(l); err != nil {
		return err
	}
	u.run(todo)
	u.runGit(ctx, git)
	for _, c := range todo {
		if now, err := j.folder.stateOf(c.Path); err == nil {
			j.base.tell(c.Path, now)
		}
	}
	if len(git) > 0 { // not the work of a command that is watched
		j.base.tellGit(j.folder.lookAtGit(ctx, nil), git)
	}
	return j.lines.write(u.outcome(l))
}

// undoing is one undo under way: which changes of a turn can be taken back, or brought
// back, and what became of them.
type undoing struct {
	direction // of a turn that is undone: forth
	folder    *folder
	git       gitUndoing
	turn      Turn // with the changes that are concerned only
	later     []Turn
	moved     map[string]string // where files are now whose contents were not kept, by identity
	gone      map[string]bool   // contents that a scrub has taken out

	result change.Undone
	kept   map[string]bool
}

// preview says what would be done with each path.
func (u *undoing) preview(ctx context.Context) []change.Planned {
	var all []change.Planned
	for _, c := range append(u.plan(ctx), u.planGit(ctx)...) {
		from, to := u.ends(c)
		p := change.Planned{Path: c.Path, Action: change.Restore}
		if to.Kind == "" {
			p.Action = change.Delete
		}
		if reason := u.lost(to); reason != "" && from.Hash != to.Hash && len(c.Splices) == 0 {
			p.Action, p.Reason = change.Keep, reason
		}
		all = append(all, p)
	}
	all = append(all, u.result.Kept...)
	sorting.Stable(all, func(a, b change.Planned) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// intent is the line that announces what is about to be done.
func (u *undoing) intent(todo []Change) line {
	undone := !u.turn.Undone
	return line{Turn: u.turn.ID, Key: u.turn.key, Session: u.turn.Session, Undone: &undone, Intent: newKey(), Changes: todo}
}

// outcome is the line that settles an intent with what was done.
func (u *undoing) outcome(l line) line {
	for _, c := range u.turn.Changes {
		if u.turn.over[c.Path] && !u.turn.Undone && !u.kept[c.Path] {
			u.keep(c.Path, "only the last change was undone: someone else changed it before that")
		}
	}
	slices.Sort(u.result.Restored)
	l.Settles, l.Intent, l.Changes = l.Intent, "", nil
	if *l.Undone {
		l.Taken = u.result.Restored
	} else {
		l.Back = u.result.Restored
	}
	if len(u.result.Restored) == 0 && len(u.kept) > 0 { // nothing was done
		l.Undone = nil
	}
	return l
}

// currently are changes with what the paths are now.
func (u *undoing) currently(todo []Change) []Change {
	var all []Change
	for _, c := range todo {
		now, _ := u.ends(c)
		all = append(all, Change{Path: c.Path, Before: now})
	}
	return all
}

// plan gives the changes outside of git that can be taken back, and keeps the
// others. What is already as it shall be needs nothing.
func (u *undoing) plan(ctx context.Context) []Change {
	var todo []Change
	folders := map[string]bool{} // that will be there again
	for _, c := range u.turn.Changes {
		if isGit(c.Path) {
			continue
		}
		from, to := u.ends(c)
		if err := ctx.Err(); err != nil {
			u.keep(c.Path, err.Error())
			continue
		}
		if u.folder.isUsed(c.Path) {
			u.keep(c.Path, inUseNow)
			continue
		}
		link := u.folder.linkAbove(c.Path)
		now, err := State{}, error(nil) // what is reached through a link is another file
		if link == "" {
			now, err = u.folder.stateLike(c.Path, from)
		}
		if link == "" && err == nil && !now.same(from) && from.Lost != to.Lost {
			now, err = u.folder.stateLike(c.Path, to)
		}
		switch {
		case err != nil:
			u.keep(c.Path, err.Error())
		case now.same(from) && link != "" && !folders[link]:
			u.keep(c.Path, link+" is a link now")
		case now.same(from):
			folders[c.Path] = to.Kind == "dir"
			if reason := cmp.Or(u.remains(from, to), u.takenOut(c)); reason != "" {
				u.keep(c.Path, reason)
				continue
			}
			todo = append(todo, c)
		case now.same(to):
		default:
			u.keep(c.Path, u.whose(c.Path))
		}
	}
	return todo
}

// planGit gives the changes of git if they can be taken back, all together.
func (u *undoing) planGit(ctx context.Context) []Change {
	git := gitChanges(u.turn.Changes)
	if len(git) == 0 {
		return nil
	}
	if reason := u.git.conflict(ctx, git); reason != "" {
		u.keep(gitDir, reason)
		return nil
	}
	return git
}

// runGit takes git's part back, if there is one.
func (u *undoing) runGit(ctx context.Context, changes []Change) {
	if len(changes) == 0 {
		return
	}
	if err := u.git.restore(ctx, changes); err != nil {
		u.keep(gitDir, err.Error())
		return
	}
	for _, c := range changes {
		u.result.Restored = append(u.result.Restored, c.Path)
	}
}

// takenOut says why a state cannot be made again whose contents were taken out; empty:
// they were not, or are there again.
func (u *undoing) takenOut(c Change) string {
	from, to := u.ends(c)
	if len(c.Splices) == 0 && (to.Kind != "file" || to.Lost != "" || from.Kind == "file" && from.Hash == to.Hash) {
		return ""
	}
	wanted := []string{to.Hash}
	for _, s := range c.Splices {
		wanted = append(wanted, s.Old, s.New)
	}
	for _, hash := range wanted {
		if !u.gone[hash] {
			continue
		}
		if _, err := u.folder.store.Get(hash); err != nil {
			return "cannot be restored: " + err.Error()
		}
	}
	return ""
}

// lost says why a state cannot be made again; empty: it can.
func (u *undoing) lost(to State) string {
	if to.Lost == "" || u.moved[to.Hash] != "" {
		return ""
	}
	return "cannot be restored: " + to.Lost
}

// remains says that a file must not go because it is what is left of one whose
// contents were not kept; empty: it may.
func (u *undoing) remains(from, to State) string {
	if from.Kind != "file" || from.Lost == "" || from.Hash == to.Hash || from.Sum != "" {
		return ""
	}
	for _, c := range u.turn.Changes {
		_, want := u.ends(c)
		if want.Kind == "file" && want.Lost != "" && want.Hash != from.Hash && inodeOf(want.Hash) == inodeOf(from.Hash) {
			return "it is all that is left of " + c.Path + ", which was not kept"
		}
	}
	return ""
}

// run restores: first what has to go, deepest first, so that files can become
// folders and the reverse; then what has to come, outermost first; the modes of
// folders last.
func (u *undoing) run(todo []Change) {
	aside := u.setAside(todo)
	for _, c := range slices.Backward(todo) {
		if from, to := u.ends(c); from.Kind != "" && from.Kind != to.Kind && (to.Lost == "" || aside[to.Hash] != "") {
			if err := u.folder.root.Remove(filepath.FromSlash(c.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				u.keep(c.Path, whyNotRemoved(from, err))
			}
		}
	}
	for _, c := range todo {
		if u.kept[c.Path] {
			continue
		}
		from, to := u.ends(c)
		if link := u.folder.linkAbove(c.Path); link != "" && to.Kind != "" {
			u.keep(c.Path, link+" is a link now")
			continue
		}
		var err error
		if len(c.Splices) > 0 {
			err = u.folder.splice(c, u.direction)
		} else {
			err = u.folder.restore(c.Path, from, to, aside)
		}
		if err != nil {
			u.keep(c.Path, err.Error())
			continue
		}
		u.result.Restored = append(u.result.Restored, c.Path)
	}
	u.putBack(todo, aside)
	for _, c := range slices.Backward(todo) {
		if _, to := u.ends(c); to.Kind == "dir" && !u.kept[c.Path] {
			if err := u.folder.root.Chmod(filepath.FromSlash(c.Path), to.Mode.Perm()); err != nil {
				u.keep(c.Path, err.Error())
			}
		}
	}
}

// asidePrefix begins the name of a file that is on its way. It is none of those
// that a later process sweeps away.
const asidePrefix = ".burin-aside-"

// setAside moves files whose contents were not kept, and which shall be moved back,
// out of the way. It gives their names for the moment, by identity.
func (u *undoing) setAside(todo []Change) map[string]string {
	wanted, aside := map[string]bool{}, map[string]string{}
	for _, c := range todo {
		if _, to := u.ends(c); to.Kind == "file" && to.Lost != "" {
			wanted[to.Hash] = true
		}
	}
	for _, c := range todo {
		from, to := u.ends(c)
		if from.Kind != "file" || from.Lost == "" || from.Hash == to.Hash || from.Sum != "" || !wanted[from.Hash] {
			continue
		}
		temp := asidePrefix + newKey()
		if err := u.folder.root.Rename(filepath.FromSlash(c.Path), temp); err == nil {
			aside[from.Hash] = temp
		}
	}
	return aside
}

// putBack moves files back that were set aside and found no place.
func (u *undoing) putBack(todo []Change, aside map[string]string) {
	for _, c := range todo {
		from, _ := u.ends(c)
		temp := aside[from.Hash]
		if temp == "" {
			continue
		}
		if _, err := u.folder.root.Lstat(temp); err != nil {
			continue
		}
		err := u.folder.root.Rename(temp, filepath.FromSlash(c.Path))
		if err != nil {
			u.keep(c.Path, fmt.Sprintf("it is in %s now: %v", temp, err))
		}
	}
}

// whyNotRemoved explains the usual reason.
func whyNotRemoved(from State, err error) string {
	if from.Kind == "dir" {
		return "it holds something of someone else"
	}
	return err.Error()
}

func (u *undoing) keep(path, reason string) {
	u.kept[path] = true
	u.result.Kept = append(u.result.Kept, change.Planned{Path: path, Action: change.Keep, Reason: reason})
}

// whose says who changed a path after the turn.
func (u *undoing) whose(path string) string {
	for _, t := range u.later {
		if t.Undone {
			continue
		}
		if slices.ContainsFunc(t.Changes, func(c Change) bool { return c.Path == path }) {
			return "changed by a later turn: undo that first"
		}
	}
	return "changed since by someone else"
}
