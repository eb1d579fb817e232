package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
	"github.com/burin-dev/burin/tool/change"
)

// Undo restores what a turn changed; of a turn that is undone it brings the
// changes back. A path that is no longer what the turn left is kept as it is, and
// so are git's branches, HEAD and index if one of them is. An undo that was
// interrupted is finished by calling it again.
func (j *Journal) Undo(ctx context.Context, id string) (*change.Undone, error) {
	j.watching.Lock()
	defer j.watching.Unlock()
	j.looking.Lock() // a look must not see it half done
	defer j.looking.Unlock()
	var u *undoing
	err := j.exclusive(func() (err error) {
		if u, err = j.undoing(id); err != nil {
			return err
		}
		return u.do(ctx)
	})
	if u == nil {
		return nil, err
	}
	return &u.result, err
}

// Preview says what Undo would do with each path of a turn, sorted by path. It
// changes nothing.
func (j *Journal) Preview(ctx context.Context, id string) ([]change.Planned, error) {
	j.refresh()
	u, err := j.undoing(id)
	if err != nil {
		return nil, err
	}
	var all []change.Planned
	for _, c := range append(u.plan(ctx), u.planGit(ctx)...) {
		from, to := u.ends(c)
		p := change.Planned{Path: c.Path, Action: change.Restore}
		if to.Kind == "" {
			p.Action = change.Delete
		}
		if reason := u.lost(to); reason != "" && from.Hash != to.Hash {
			p.Action, p.Reason = change.Keep, reason
		}
		all = append(all, p)
	}
	all = append(all, u.result.Kept...)
	slices.SortFunc(all, func(a, b change.Planned) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// undoing is one undo under way.
type undoing struct {
	*Journal
	turn   *Turn
	back   bool // from before to after: the undo of an undo
	later  []*Turn
	moved  map[string]string // where files are now whose contents were not kept, by identity
	result change.Undone
	kept   map[string]bool
	gone   map[string]bool // contents that a scrub has taken out
}

func (j *Journal) undoing(id string) (*undoing, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, err := j.find(id)
	if err != nil {
		return nil, err
	}
	t := *j.turns[i]
	want := fateStands
	if t.Undone {
		want = fateTaken
	}
	t.Changes = slices.DeleteFunc(slices.Clone(t.Changes), func(c Change) bool { return t.fates[c.Path] != want })
	u := &undoing{Journal: j, turn: &t, back: t.Undone, later: slices.Clone(j.turns[i+1:]), moved: map[string]string{}, kept: map[string]bool{}, gone: j.scrubbed()}
	for _, c := range t.Changes {
		if from, _ := u.ends(c); from.Kind == "file" && from.Lost != "" {
			u.moved[from.Hash] = c.Path
		}
	}
	return u, nil
}

func (u *undoing) ends(c Change) (from, to State) {
	if u.back {
		return c.Before, c.After
	}
	return c.After, c.Before
}

// do restores and writes it down. The line before the first change lets the next
// process clean up if this one is killed.
func (u *undoing) do(ctx context.Context) error {
	todo, git := u.plan(ctx), u.planGit(ctx)
	undone := !u.turn.Undone
	l := line{Turn: u.turn.ID, Key: u.turn.key, Session: u.turn.Session, Undone: &undone, Intent: newKey(), Changes: todo}
	if err := u.attribute(u.currently(todo)); err != nil {
		return err
	}
	if err := u.write(l); err != nil {
		return err
	}
	u.run(todo)
	if len(git) > 0 {
		if err := u.restoreGit(ctx, git); err != nil {
			u.keep(gitDir, err.Error())
		} else {
			for _, c := range git {
				u.result.Restored = append(u.result.Restored, c.Path)
			}
		}
	}
	for _, c := range todo {
		if now, err := u.StateOf(c.Path); err == nil {
			u.tell(c.Path, now)
		}
	}
	u.forgetGit(ctx, git)
	for _, c := range u.turn.Changes {
		if u.turn.over[c.Path] && !u.turn.Undone && !u.kept[c.Path] {
			u.keep(c.Path, "only the last change was taken back: someone else changed it before that")
		}
	}
	slices.Sort(u.result.Restored)
	l.Settles, l.Intent, l.Changes = l.Intent, "", nil
	if undone {
		l.Taken = u.result.Restored
	} else {
		l.Back = u.result.Restored
	}
	if len(u.result.Restored) == 0 && len(u.kept) > 0 { // nothing was done
		l.Undone = nil
	}
	return u.write(l)
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

// forgetGit makes what git is now what a look has seen, so that it is not taken for
// the work of a command that is watched.
func (u *undoing) forgetGit(ctx context.Context, changes []Change) {
	if len(changes) == 0 {
		return
	}
	now := u.lookAtGit(ctx, nil)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.repo == nil || !u.repo.known || !now.known {
		return
	}
	repo := *u.repo
	repo.states = maps.Clone(u.repo.states)
	for _, c := range changes {
		if s, ok := now.states[c.Path]; ok {
			repo.states[c.Path] = s
		} else {
			delete(repo.states, c.Path)
		}
	}
	u.repo = &repo
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
		if u.isUsed(c.Path) {
			u.keep(c.Path, inUseNow)
			continue
		}
		link := u.linkAbove(c.Path)
		now, err := State{}, error(nil) // what is reached through a link is another file
		if link == "" {
			now, err = u.stateLike(c.Path, from)
		}
		if link == "" && err == nil && !now.same(from) && from.Lost != to.Lost {
			now, err = u.stateLike(c.Path, to)
		}
		switch {
		case err != nil:
			u.keep(c.Path, err.Error())
		case now.same(from) && link != "" && !folders[link]:
			u.keep(c.Path, link+" is a link now")
		case now.same(from):
			folders[c.Path] = to.Kind == "dir"
			if reason := cmp.Or(u.remains(from, to), u.takenOut(from, to)); reason != "" {
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

// linkAbove is the outermost folder above a path that is a link; empty: none is.
func (u *undoing) linkAbove(name string) string {
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := u.root.Lstat(filepath.FromSlash(name[:i]))
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return name[:i]
		}
	}
	return ""
}

// planGit gives the changes of git if they can be taken back, all together.
func (u *undoing) planGit(ctx context.Context) []Change {
	git := gitChanges(u.turn.Changes)
	if len(git) == 0 {
		return nil
	}
	if reason := u.conflict(ctx, git); reason != "" {
		u.keep(gitDir, reason)
		return nil
	}
	return git
}

// stateLike looks at a path as an earlier look did, which may not have read the
// contents.
func (j *Journal) stateLike(name string, like State) (State, error) {
	if like.Kind != "file" || like.Lost == "" {
		return j.StateOf(name)
	}
	info, err := j.root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return j.StateOf(name)
	}
	return State{Kind: "file", Mode: info.Mode().Perm(), Hash: identity(info), Lost: like.Lost}, nil
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
	if from.Kind != "file" || from.Lost == "" || from.Hash == to.Hash {
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
			if err := u.root.Remove(filepath.FromSlash(c.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				u.keep(c.Path, whyNotRemoved(from, err))
			}
		}
	}
	for _, c := range todo {
		if u.kept[c.Path] {
			continue
		}
		from, to := u.ends(c)
		if link := u.linkAbove(c.Path); link != "" && to.Kind != "" {
			u.keep(c.Path, link+" is a link now")
			continue
		}
		if err := u.restore(c.Path, from, to, aside); err != nil {
			u.keep(c.Path, err.Error())
			continue
		}
		u.result.Restored = append(u.result.Restored, c.Path)
	}
	u.putBack(todo, aside)
	for _, c := range slices.Backward(todo) {
		if _, to := u.ends(c); to.Kind == "dir" && !u.kept[c.Path] {
			if err := u.root.Chmod(filepath.FromSlash(c.Path), to.Mode.Perm()); err != nil {
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
		if from.Kind != "file" || from.Lost == "" || from.Hash == to.Hash || !wanted[from.Hash] {
			continue
		}
		temp := asidePrefix + newKey()
		if err := u.root.Rename(filepath.FromSlash(c.Path), temp); err == nil {
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
		if _, err := u.root.Lstat(temp); err != nil {
			continue
		}
		err := u.root.Rename(temp, filepath.FromSlash(c.Path))
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

// restore makes a path what it shall be. What was in the way is gone already.
func (u *undoing) restore(path string, from, to State, aside map[string]string) error {
	name := filepath.FromSlash(path)
	switch {
	case to.Kind == "":
		return nil
	case to.Kind == "file" && from.Kind == "file" && from.Hash == to.Hash:
		return u.root.Chmod(name, to.Mode.Perm())
	case to.Kind == "file" && aside[to.Hash] != "":
		if _, err := rootfile.MkdirAll(u.root, filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := u.root.Rename(aside[to.Hash], name); err != nil {
			return err
		}
		return u.root.Chmod(name, to.Mode.Perm())
	case to.Lost != "":
		return fmt.Errorf("cannot be restored: %s", to.Lost)
	}
	switch to.Kind {
	case "dir":
		_, err := rootfile.MkdirAll(u.root, name, 0o755)
		return err
	case "link":
		_ = u.root.Remove(name)
		return u.root.Symlink(to.Link, name)
	case "file":
		data, err := u.Get(to.Hash)
		if err != nil {
			return err
		}
		if _, err := rootfile.MkdirAll(u.root, filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := rootfile.Write(u.root, name, data, to.Mode.Perm()); err != nil {
			return err
		}
		return u.root.Chmod(name, to.Mode.Perm())
	}
	return os.ErrInvalid
}
