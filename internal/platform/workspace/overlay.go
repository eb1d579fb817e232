package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Overlay is a file system over another one. What is written stays in memory, 512 MB at
// most with what it replaces, until [Overlay.Commit] or [Overlay.Discard]. What is not
// changed in it is as it is below, at any moment.
type Overlay struct{ *layer }

var _ Files = (*Overlay)(nil)

// NewOverlay makes an overlay that has no changes. base may be the [Files] of a
// workspace, or any file system, as an embedded one or an archive.
func NewOverlay(base fs.FS) *Overlay { return &Overlay{newLayer(base)} }

// Changes are the files that differ from what was below when they were first changed,
// by name: what [Workspace.Commit] takes. A folder is none.
func (o *Overlay) Changes() []Change {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.changes()
}

func (o *Overlay) changes() []Change {
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		n := o.nodes[name]
		switch {
		case n.gone && n.before != nil, n.IsDir() && n.before != nil:
			all = append(all, Change{Path: name, Before: n.before})
		case n.gone || n.IsDir():
		case n.before == nil || !bytes.Equal(n.before, n.data):
			all = append(all, Change{Path: name, Before: n.before, After: append([]byte{}, n.data...), Mode: n.mode})
		}
	}
	return all
}

// Commit makes the changes in the workspace below, all or none, and forgets them. A file
// that has changed there since it was changed here is a *StaleError. Modes follow, and so
// do links and empty folders that were removed; new folders without a file are not made.
func (o *Overlay) Commit(ctx context.Context, below *Workspace) error {
	if below.files == Files(o) {
		return errors.New("commit an overlay: it cannot be its own base")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	changes := o.changes()
	if len(changes) > 0 {
		if err := below.Commit(ctx, changes); err != nil {
			return err
		}
	}
	if err := o.settle(ctx, below); err != nil {
		return err
	}
	o.clear()
	return nil
}

// settle does what is no change of a file's contents.
func (o *Overlay) settle(ctx context.Context, below *Workspace) error {
	modes := map[string]fs.FileMode{}
	var folders []string
	for name, n := range o.nodes {
		switch {
		case n.gone && n.before == nil:
			folders = append(folders, name)
		case !n.gone && n.before != nil && n.was.Perm() != n.mode.Perm():
			modes[name] = n.mode
		}
	}
	if len(modes)+len(folders) == 0 {
		return nil
	}
	slices.SortFunc(folders, func(a, b string) int { return strings.Compare(b, a) }) // the inner ones first
	_, err := below.Watch(ctx, func() error {
		for name, mode := range modes {
			if err := below.files.Chmod(name, mode); err != nil {
				return err
			}
		}
		for _, name := range folders {
			if i, err := below.files.Lstat(name); err == nil && !i.Mode().IsRegular() {
				_ = below.files.Remove(name) // one that is not empty stays
			}
		}
		return nil
	})
	return err
}

// Discard forgets all changes.
func (o *Overlay) Discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clear()
}
