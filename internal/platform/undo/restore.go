package undo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Undone is what an undo did.
type Undone struct {
	Restored []string
	Kept     []Kept
}

// Kept is a path that an undo left alone.
type Kept struct {
	Path   string
	Reason string
}

// Undo restores what a turn changed; of a turn that is undone it brings the
// changes back. A path that is no longer what the turn left is kept as it is.
func (j *Journal) Undo(ctx context.Context, id string) (*Undone, error) {
	j.watching.Lock()
	defer j.watching.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	i := j.find(id)
	if i < 0 {
		return nil, fmt.Errorf("there is no turn %q that changed something", id)
	}
	t := j.turns[i]
	u := &undoing{Journal: j, back: t.Undone, later: j.turns[i+1:]}
	u.run(ctx, t.Changes)
	for _, c := range t.Changes {
		if t.over[c.Path] && !t.Undone && !u.failed(c.Path) {
			u.keep(c.Path, "only the last change was taken back: someone else changed it before that")
		}
	}
	undone := !t.Undone
	t.Undone = undone
	return &u.result, j.write(line{Turn: t.ID, Key: t.key, Undone: &undone})
}

// undoing is one undo under way.
type undoing struct {
	*Journal
	back   bool // from before to after: the undo of an undo
	later  []*Turn
	result Undone
}

func (u *undoing) ends(c Change) (from, to State) {
	if u.back {
		return c.Before, c.After
	}
	return c.After, c.Before
}

// run restores: first what has to go, deepest first, so that files can become
// folders and the reverse; then what has to come, outermost first; the modes of
// folders last.
func (u *undoing) run(ctx context.Context, changes []Change) {
	var todo []Change
	for _, c := range changes {
		from, _ := u.ends(c)
		if err := ctx.Err(); err != nil {
			u.keep(c.Path, err.Error())
			continue
		}
		now, err := u.StateOf(c.Path)
		switch {
		case err != nil:
			u.keep(c.Path, err.Error())
		case !now.same(from):
			u.keep(c.Path, u.whose(c.Path))
		default:
			todo = append(todo, c)
		}
	}
	for _, c := range slices.Backward(todo) {
		if from, to := u.ends(c); from.Kind != "" && from.Kind != to.Kind && to.Lost == "" {
			u.try(c.Path, u.root.Remove(filepath.FromSlash(c.Path)))
		}
	}
	for _, c := range todo {
		if u.failed(c.Path) {
			continue
		}
		_, to := u.ends(c)
		if err := u.restore(c.Path, to); err != nil {
			u.keep(c.Path, err.Error())
			continue
		}
		u.result.Restored = append(u.result.Restored, c.Path)
	}
	for _, c := range slices.Backward(todo) {
		if _, to := u.ends(c); to.Kind == "dir" && !u.failed(c.Path) {
			u.try(c.Path, u.root.Chmod(filepath.FromSlash(c.Path), to.Mode.Perm()))
		}
	}
}

func (u *undoing) keep(path, reason string) {
	u.result.Kept = append(u.result.Kept, Kept{Path: path, Reason: reason})
}

func (u *undoing) try(path string, err error) {
	if err != nil {
		u.keep(path, err.Error())
	}
}

func (u *undoing) failed(path string) bool {
	return slices.ContainsFunc(u.result.Kept, func(k Kept) bool { return k.Path == path })
}

// whose says who changed a path after the turn.
func (u *undoing) whose(path string) string {
	for _, t := range u.later {
		if t.Undone {
			continue
		}
		for _, c := range t.Changes {
			if c.Path == path {
				return "changed by a later turn: undo that first"
			}
		}
	}
	return "changed since by someone else"
}

// restore makes a path what it shall be. What was in the way is gone already.
func (u *undoing) restore(path string, to State) error {
	name := filepath.FromSlash(path)
	if to.Lost != "" && to.Kind == "file" {
		return fmt.Errorf("cannot be restored: %s", to.Lost)
	}
	switch to.Kind {
	case "":
		return nil
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
		return chmod(u.root, name, to.Mode)
	}
	return fmt.Errorf("cannot be restored: %s", to.Lost)
}

func chmod(root *os.Root, name string, mode fs.FileMode) error {
	return root.Chmod(name, mode.Perm())
}
