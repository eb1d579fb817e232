package vfs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Restore brings back what is deleted at a path, with what was deleted together with it, and the folders
// above it without what else is deleted in them.
func (t *Tree) Restore(ctx context.Context, name string) error {
	return t.do(ctx, "restore", name, func(e *edit, at string) error {
		n, deleted, err := e.findAll(at)
		if err != nil || !deleted {
			return err
		}
		if _, err := e.folder(path.Dir(at)); err != nil {
			return err
		}
		back := *e.node(n.id)
		back.deleted = false
		e.put(&back)
		return nil
	})
}

// Purge removes what is deleted at a path for good, with everything in it. What isn't deleted
// is [InvalidPath].
func (t *Tree) Purge(ctx context.Context, name string) error {
	return t.do(ctx, "purge", name, func(e *edit, at string) error {
		n, deleted, err := e.findAll(at)
		if err != nil {
			return err
		}
		if !deleted {
			return InvalidPath
		}
		e.purge(n)
		return nil
	})
}

// PurgeAll removes for good what is deleted in a folder, and in the folders in it, and the
// orphans that were there.
func (t *Tree) PurgeAll(ctx context.Context, name string) error {
	return t.do(ctx, "purge", name, func(e *edit, at string) error {
		for _, n := range e.st.orphans {
			if shown, ok := t.shown(n.path); ok && within(n.path, at) && t.Writable(shown) {
				e.remove(n)
			}
		}
		n, deleted, err := e.findAll(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if deleted {
			e.purge(n)
			return nil
		}
		e.purgeDeleted(n)
		return nil
	})
}

func (e *edit) purgeDeleted(in *node) {
	for _, n := range e.children(in.id) {
		switch {
		case n.deleted:
			e.purge(n)
		case n.dir:
			e.purgeDeleted(n)
		}
	}
}

// Writable reports whether something can be written at a path, as far as its place goes.
func (t *Tree) Writable(name string) bool {
	_, err := t.writable(name)
	return err == nil
}

// Orphans are the files that another one took the place of, newest first.
func (t *Tree) Orphans(ctx context.Context) ([]Info, error) {
	var all []Info
	err := t.view(ctx, func(e *edit) error {
		for _, n := range e.st.orphans {
			if at, ok := t.shown(n.path); ok {
				all = append(all, infoOf(n, at, false))
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(b.Orphaned.Compare(a.Orphaned), strings.Compare(a.Path, b.Path), cmp.Compare(b.ID, a.ID))
	})
	return all, err
}

// RestoreOrphan puts an orphan at a path, where nothing may be.
func (t *Tree) RestoreOrphan(ctx context.Context, id int64, to string) error {
	return t.do(ctx, "restore", to, func(e *edit, at string) error {
		n, err := e.findOrphan(id)
		if err != nil {
			return err
		}
		if _, err := e.find(at); err == nil || at == "/" {
			return DestinationExists
		}
		dir, err := e.folder(path.Dir(at))
		if err != nil {
			return err
		}
		return e.place(n, dir, path.Base(at))
	})
}

// PurgeOrphan removes an orphan for good.
func (t *Tree) PurgeOrphan(ctx context.Context, id int64) error {
	return failed("purge", "orphan", t.change(ctx, func(e *edit) error {
		n, err := e.findOrphan(id)
		if err != nil {
			return err
		}
		if at, _ := t.shown(n.path); !t.Writable(at) {
			return ReadOnly
		}
		e.remove(n)
		return nil
	}))
}

func (e *edit) findOrphan(id int64) (*node, error) {
	if n := e.node(id); n != nil && n.parent == nowhere {
		if _, ok := e.t.shown(n.path); ok {
			return n, nil
		}
	}
	return nil, NotFound
}
