package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Change is what shall become of one file.
type Change struct {
	Path   string
	From   string      // of a file that moves: where it was
	Before []byte      // what it, or From, must hold now; nil: it must not exist
	After  []byte      // nil removes it
	Mode   fs.FileMode // of a new file; 0 is 0o644
	Chmod  fs.FileMode // the new permissions of a file that exists; 0 keeps them
}

// StaleError is a file that changed under an edit.
type StaleError struct{ Path string }

func (e *StaleError) Error() string { return e.Path + " has changed since it was read: read it again" }

// Commit makes all changes or none, under the turn that is open. A file that
// does not hold Before is a *StaleError. The model has then seen what was
// written. ctx is looked at before the first change only. A failure half way puts
// back what was done; if that fails too, the error says which files are affected.
//
// The journal knows of the change before the first byte of it is written: if the
// process is killed meanwhile, what was done can be undone.
func (w *Workspace) Commit(ctx context.Context, changes []Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := distinct(changes); err != nil {
		return err
	}
	if w.journal == nil {
		return w.make(changes, func() error { return nil })
	}
	intent, err := w.journal.Intend()
	if err != nil {
		return err
	}
	err = w.make(changes, func() error {
		planned, err := w.planned(changes)
		if err != nil {
			return err
		}
		return intent.Announce(planned)
	})
	return errors.Join(err, intent.Settle())
}

// make makes the changes after announcing them.
func (w *Workspace) make(changes []Change, announce func() error) error {
	w.committing.RLock()
	defer w.committing.RUnlock()
	err := w.atOnce(func(w *Workspace) error {
		for _, c := range changes {
			if w.locked.Load() && w.dir == "" { // a directory says so itself
				return &fs.PathError{Op: "write", Path: c.Path, Err: errReadOnly}
			}
			if err := w.holds(c); err != nil {
				return err
			}
		}
		if err := announce(); err != nil {
			return err
		}
		b := &batch{w: w}
		for _, c := range changes {
			if err := b.apply(c); err != nil {
				return errors.Join(err, b.rollBack())
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.From != "" {
			w.seen.forget(c.From)
		}
		if c.After == nil {
			w.seen.forget(c.Path)
		} else {
			w.seen.saw(c.Path, c.After)
		}
	}
	return nil
}

// atOnce does something with the workspace, at once if the file system can do that.
func (w *Workspace) atOnce(do func(w *Workspace) error) error {
	files, ok := w.files.(Atomic)
	if !ok {
		return do(w)
	}
	return files.Atomically(func(changing Files) error {
		within := *w
		within.files = changing
		return do(&within)
	})
}

// holds checks what a change is based on.
func (w *Workspace) holds(c Change) error {
	at := c.Path
	if c.From != "" {
		at = c.From
		if _, err := w.files.Lstat(c.Path); err == nil && c.From != c.Path {
			return fmt.Errorf("%s exists already", c.Path)
		}
	}
	if c.From != "" && c.Before == nil { // what moves exists
		return &StaleError{Path: at}
	}
	return holds(w.files, at, c.Before)
}

// distinct checks that no file is in two changes: the second would be based on
// what the first replaces.
func distinct(changes []Change) error {
	seen := map[string]bool{}
	for _, c := range changes {
		for _, p := range []string{c.Path, c.From} {
			if p == "" || p == c.From && c.From == c.Path && seen[p] {
				continue
			}
			if seen[p] {
				return fmt.Errorf("%s is in more than one change", p)
			}
			seen[p] = true
		}
	}
	return nil
}

// planned says for the journal what shall become of all paths of the main folder
// that changes concern, and of the folders they may make. Paths are those behind
// links: the others do not change.
func (w *Workspace) planned(changes []Change) ([]undo.Change, error) {
	after := map[string]undo.State{}
	for _, c := range changes {
		if c.From != "" {
			w.plan(after, c.From, false, undo.State{})
		}
		if c.After == nil {
			w.plan(after, c.Path, false, undo.State{})
			continue
		}
		hash, err := w.journal.Put(c.After)
		if err != nil {
			return nil, err
		}
		w.plan(after, c.Path, c.From == "", undo.State{Kind: "file", Hash: hash, Mode: c.Chmod.Perm()})
	}
	var all []undo.Change
	for _, p := range slices.Sorted(maps.Keys(after)) {
		before, err := w.journal.StateOf(p)
		if err != nil {
			return nil, err
		}
		s := after[p]
		if before.Kind == "dir" && s.Kind == "dir" {
			continue
		}
		if s.Mode == 0 || before.Kind != "file" {
			s.Mode = before.Mode
		}
		all = append(all, undo.Change{Path: p, Before: before, After: s})
	}
	return all, nil
}

// plan sets what shall become of a name, followed to where it leads if follow is
// set, and that there are folders above it. A name that cannot be resolved cannot
// be written either.
func (w *Workspace) plan(after map[string]undo.State, name string, follow bool, s undo.State) {
	f, rel, err := w.disk.find("write", name)
	if err != nil || f != w.disk.main {
		return // additional folders have no journal
	}
	if rel, err = f.resolve(rel, follow); err != nil {
		return
	}
	p := filepath.ToSlash(rel)
	after[p] = s
	if s.Kind == "" {
		return
	}
	for dir := path.Dir(p); dir != "." && after[dir].Kind == ""; dir = path.Dir(dir) {
		after[dir] = undo.State{Kind: "dir"}
	}
}

// batch is a commit under way, with the way back.
type batch struct {
	w    *Workspace
	back []func() error
}

func (b *batch) apply(c Change) error {
	files := b.w.files
	mode := c.Mode
	if mode == 0 {
		mode = 0o644
	}
	if c.From != "" && c.From != c.Path {
		if err := b.mkdir(path.Dir(c.Path)); err != nil {
			return err
		}
		if err := files.Rename(c.From, c.Path); err != nil {
			return err
		}
		b.back = append(b.back, func() error { return files.Rename(c.Path, c.From) })
	}
	switch {
	case c.After == nil && c.Before == nil:
		return nil
	case c.After == nil:
		info, err := files.Stat(c.Path)
		if err != nil {
			return err
		}
		if err := files.Remove(c.Path); err != nil {
			return err
		}
		b.back = append(b.back, func() error { return files.WriteFile(c.Path, c.Before, info.Mode().Perm()) })
		return nil
	case c.Before != nil && bytes.Equal(c.Before, c.After):
		return b.chmod(c)
	}
	if err := b.mkdir(path.Dir(c.Path)); err != nil {
		return err
	}
	if err := files.Replace(c.Path, c.Before, c.After, mode); err != nil {
		return err
	}
	b.back = append(b.back, func() error {
		if c.Before == nil {
			return files.Remove(c.Path)
		}
		return files.WriteFile(c.Path, c.Before, mode)
	})
	return b.chmod(c)
}

// chmod changes the permissions of a file that was there before.
func (b *batch) chmod(c Change) error {
	if c.Chmod == 0 || c.Before == nil {
		return nil
	}
	files := b.w.files
	info, err := files.Stat(c.Path)
	if err != nil {
		return err
	}
	if err := files.Chmod(c.Path, c.Chmod.Perm()); err != nil {
		return err
	}
	b.back = append(b.back, func() error { return files.Chmod(c.Path, info.Mode().Perm()) })
	return nil
}

func (b *batch) mkdir(dir string) error {
	r, ok := b.w.files.(*rooted)
	if !ok {
		return b.mkdirs(dir)
	}
	f, rel, err := r.writable("mkdir", dir)
	if err == nil {
		rel, err = f.target(rel)
	}
	if err != nil {
		return err
	}
	made, err := rootfile.MkdirAll(f.Root, rel, 0o755)
	for _, m := range made {
		b.back = append(b.back, func() error { return f.Root.Remove(m) })
	}
	return err
}

// mkdirs is mkdir where nobody else makes folders at the same time.
func (b *batch) mkdirs(dir string) error {
	var missing []string
	for ; ; dir = path.Dir(dir) {
		if _, err := b.w.files.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == path.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	for _, m := range slices.Backward(missing) {
		if err := b.w.files.MkdirAll(m, 0o755); err != nil {
			return err
		}
		b.back = append(b.back, func() error { return b.w.files.Remove(m) })
	}
	return nil
}

func (b *batch) rollBack() error {
	var all error
	for _, f := range slices.Backward(b.back) {
		if err := f(); err != nil {
			all = errors.Join(all, fmt.Errorf("and it could not be put back: %w", err))
		}
	}
	return all
}

// Splice puts after in the place of before, which stands at an offset of a file of any size.
// A file that does not hold it is a *StaleError. It is recorded in the turn that is open; the
// journal keeps the two texts, not the file, and an undo puts the old one back.
func (w *Workspace) Splice(ctx context.Context, name string, at int64, before, after []byte) error {
	disk := diskOf(w.files)
	if disk == nil {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("too large for a workspace that is not a folder on disk")}
	}
	f, rel, err := disk.writable("write", name)
	if err == nil {
		rel, err = f.target(rel)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	splice := func() error {
		w.committing.RLock()
		defer w.committing.RUnlock()
		return rootfile.Splice(f.Root, rel, at, before, after)
	}
	if w.journal == nil || f != disk.main { // additional folders have no journal
		err = splice()
	} else {
		err = w.recorded(filepath.ToSlash(rel), at, before, after, splice)
	}
	w.seen.forget(name)
	if errors.Is(err, rootfile.ErrMoved) {
		return &StaleError{Path: name}
	}
	return err
}

// recorded makes a splice of a file of the main folder, of which the journal knows before.
func (w *Workspace) recorded(path string, at int64, before, after []byte, splice func() error) error {
	intent, err := w.journal.Intend()
	if err != nil {
		return err
	}
	c, err := w.journal.PlanSplice(path, at, before, after)
	if err == nil {
		err = intent.Announce([]undo.Change{c})
	}
	if err == nil {
		err = splice()
	}
	return errors.Join(err, intent.Settle())
}
