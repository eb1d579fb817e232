package vfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"
)

// Info is what is known of a file or folder.
type Info struct {
	ID                int64 // stays when it moves
	Path              string
	Dir               bool
	Deleted           bool // itself, or a folder above it
	Size              int64
	MIME              string
	Mode              fs.FileMode
	Created, Modified time.Time
	Version, Oldest   int64     // of a file: the current one, and the oldest that is kept
	Orphaned          time.Time // of an orphan, whose Path is where it was
}

// Name is the last part of the path.
func (i Info) Name() string { return path.Base(i.Path) }

func infoOf(n *node, at string, deleted bool) Info {
	i := Info{
		ID: n.id, Path: at, Dir: n.dir, Deleted: deleted || n.deleted, Size: n.size, MIME: n.mime, Mode: n.Mode(),
		Created: time.UnixMilli(n.created), Modified: n.ModTime(), Version: n.version, Oldest: n.oldest,
	}
	if n.orphaned != 0 {
		i.Orphaned = time.UnixMilli(n.orphaned)
	}
	return i
}

// Revision is the number of the last change. It grows with each.
func (t *Tree) Revision(ctx context.Context) (int64, error) {
	var revision int64
	err := t.view(ctx, func(e *edit) error {
		revision = e.st.revision
		return nil
	})
	return revision, err
}

// Usage is how many files and folders a project has, with deleted ones and orphans, and how many
// bytes they take in the database, with old versions.
func (t *Tree) Usage(ctx context.Context) (nodes int, bytes int64, err error) {
	err = t.view(ctx, func(e *edit) error {
		nodes, bytes = len(e.st.nodes), e.st.bytes
		return nil
	})
	return nodes, bytes, err
}

// Limits are those of the project.
func (t *Tree) Limits() Limits { return t.s.limits }

// Stat tells what is at a path.
func (t *Tree) Stat(ctx context.Context, name string) (Info, error) {
	return t.stat(ctx, name, (*edit).find)
}

// Peek is Stat for what is deleted, too.
func (t *Tree) Peek(ctx context.Context, name string) (Info, error) {
	return t.stat(ctx, name, func(e *edit, at string) (*node, error) {
		n, deleted, err := e.findAll(at)
		if deleted {
			gone := *n
			gone.deleted = true
			n = &gone
		}
		return n, err
	})
}

func (t *Tree) stat(ctx context.Context, name string, find func(e *edit, at string) (*node, error)) (info Info, err error) {
	err = t.view(ctx, func(e *edit) error {
		n, err := e.at(name, find)
		if err == nil {
			info = infoOf(n, Clean(name), false)
		}
		return err
	})
	return info, failed("stat", name, err)
}

// at gives what is at a path of the tree. The root is always there.
func (e *edit) at(name string, find func(e *edit, at string) (*node, error)) (*node, error) {
	real, err := e.t.real(name)
	if err != nil {
		return nil, err
	}
	n, err := find(e, real)
	if real == e.t.persona && errors.Is(err, fs.ErrNotExist) {
		return &node{id: nowhere, name: path.Base(real), dir: true, mode: 0o755, mime: folderType}, nil
	}
	return n, err
}

// List tells what is in a folder, if deleted is set also what is deleted: folders first, then by name.
func (t *Tree) List(ctx context.Context, name string, deleted bool) ([]Info, error) {
	all, err := t.list(ctx, name, deleted, false)
	slices.SortFunc(all, func(a, b Info) int {
		if a.Dir != b.Dir {
			return int(truth(b.Dir) - truth(a.Dir))
		}
		return cmp.Compare(a.Path, b.Path)
	})
	return all, err
}

// Walk tells what is in a folder, and in the folders in it, by path.
func (t *Tree) Walk(ctx context.Context, name string, deleted bool) ([]Info, error) {
	all, err := t.list(ctx, name, deleted, true)
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Path, b.Path) })
	return all, err
}

func (t *Tree) list(ctx context.Context, name string, deleted, deep bool) (all []Info, err error) {
	err = t.view(ctx, func(e *edit) error {
		gone := false
		n, err := e.at(name, func(e *edit, at string) (n *node, err error) {
			n, gone, err = e.findAll(at)
			if err == nil && gone && !deleted {
				err = Deleted
			}
			return n, err
		})
		if err != nil {
			return err
		}
		if !n.dir {
			return NotDir
		}
		var add func(n *node, at string, gone bool)
		add = func(n *node, at string, gone bool) {
			for _, c := range e.inside(n, at, deleted) {
				info := infoOf(c, path.Join(at, c.name), gone)
				all = append(all, info)
				if deep && c.dir {
					add(c, info.Path, info.Deleted)
				}
			}
		}
		add(n, Clean(name), gone)
		return nil
	})
	return all, failed("list", name, err)
}

// inside gives what is in a folder at a path of the tree, by name. In the root of a persona that is also what
// all personas share.
func (e *edit) inside(n *node, at string, deleted bool) []*node {
	all := e.list(n.id)
	if deleted {
		all = e.children(n.id)
	}
	if at != "/" || e.t.persona == "" {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(n *node) bool { return "/"+n.name == share || "/"+n.name == shareRW })
	for _, shared := range []string{share, shareRW} {
		if n := e.child(root, shared[1:]); n != nil && (deleted || !n.deleted) {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, byName)
	return all
}

// Read reads a file.
func (t *Tree) Read(ctx context.Context, name string) (data []byte, info Info, err error) {
	err = again(func() error {
		if info, err = t.Stat(ctx, name); err != nil {
			return err
		}
		if info.Dir {
			return NotFile
		}
		data, err = t.rows.content(ctx, t.s.db, &node{id: info.ID}, info.Version)
		return err
	})
	return data, info, failed("read", name, err)
}

// What a file must be like for [Tree.Write]: any other number is that of its version.
const (
	Anything int64 = -1 // or not there at all
	Missing  int64 = 0
)

// Write writes a file, and makes folders above it. A version that is not the expected one is
// [Changed], a file that should be missing is [FileExists].
func (t *Tree) Write(ctx context.Context, name string, data []byte, expected int64) (Info, error) {
	return t.file(ctx, "write", name, func(e *edit, at string) (*node, error) {
		if old, err := e.find(at); expected != Anything && !(errors.Is(err, fs.ErrNotExist) && expected == Missing) {
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return nil, err
			case err == nil && old.dir:
				return nil, NotFile
			case err == nil && expected == Missing:
				return nil, FileExists
			case err != nil || old.version != expected:
				return nil, Changed
			}
		}
		return e.file(at, data, 0o644)
	})
}

// Replace writes a file, if it is still the one that was read, in its version. Else the error is
// [Changed].
func (t *Tree) Replace(ctx context.Context, read Info, data []byte) (Info, error) {
	return t.file(ctx, "write", read.Path, func(e *edit, at string) (*node, error) {
		n, err := e.find(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && (n.id != read.ID || n.version != read.Version) {
			return nil, Changed
		}
		if err != nil {
			return nil, err
		}
		return e.file(at, data, n.mode)
	})
}

// Edit makes what a function makes of a file's content, with nobody else's change in between.
// The function may be called several times, and must not use the tree. What it returns instead
// of a content is the error of Edit.
func (t *Tree) Edit(ctx context.Context, name string, edited func(old []byte) ([]byte, error)) (Info, error) {
	return t.file(ctx, "edit", name, func(e *edit, at string) (*node, error) {
		n, err := e.find(at)
		if err != nil {
			return nil, err
		}
		old, err := e.content(n)
		if err != nil {
			return nil, err
		}
		data, err := edited(old)
		if err != nil {
			return nil, err
		}
		return e.file(at, data, n.mode)
	})
}

// Append puts text at the end of a file, which is made if it is missing.
func (t *Tree) Append(ctx context.Context, name string, text []byte) (Info, error) {
	return t.file(ctx, "append", name, func(e *edit, at string) (*node, error) {
		n, err := e.find(at)
		if errors.Is(err, fs.ErrNotExist) {
			return e.file(at, text, 0o644)
		}
		if err != nil {
			return nil, err
		}
		old, err := e.content(n)
		if err != nil {
			return nil, err
		}
		return e.file(at, append(bytes.Clone(old), text...), n.mode)
	})
}

// file makes a change that writes a file.
func (t *Tree) file(ctx context.Context, op, name string, write func(e *edit, at string) (*node, error)) (info Info, err error) {
	err = t.change(ctx, func(e *edit) error {
		at, err := t.writable(name)
		if err != nil {
			return err
		}
		n, err := write(e, at)
		if err == nil {
			info = infoOf(n, Clean(name), false)
		}
		return err
	})
	return info, failed(op, name, err)
}

// Mkdir makes a folder with those above it. What has the name already is [DirExists] or
// [FileExists].
func (t *Tree) Mkdir(ctx context.Context, name string) error {
	return t.do(ctx, "mkdir", name, func(e *edit, at string) error {
		if n, err := e.find(at); err == nil {
			if n.dir {
				return DirExists
			}
			return FileExists
		}
		_, err := e.folder(at)
		return err
	})
}

// do makes a change at a path.
func (t *Tree) do(ctx context.Context, op, name string, change func(e *edit, at string) error) error {
	return failed(op, name, t.change(ctx, func(e *edit) error {
		at, err := t.writable(name)
		if err != nil {
			return err
		}
		return change(e, at)
	}))
}

// Remove deletes a file or folder, which stays until it is purged. A folder that isn't empty is
// deleted if all is set. What is deleted already is left as it is.
func (t *Tree) Remove(ctx context.Context, name string, all bool) error {
	return t.do(ctx, "remove", name, func(e *edit, at string) error {
		err := e.delete(at, all)
		if errors.Is(err, Deleted) {
			return nil
		}
		return err
	})
}

// Discard deletes a file, if it is still the one that was read, in its version. Else the error is
// [Changed].
func Discard(ctx context.Context, t *Tree, read Info) error {
	return t.do(ctx, "remove", read.Path, func(e *edit, at string) error {
		n, err := e.find(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && (n.id != read.ID || n.version != read.Version) {
			return Changed
		}
		if err != nil {
			return err
		}
		return e.delete(at, false)
	})
}

func (e *edit) delete(at string, all bool) error {
	if e.isRoot(at) {
		return InvalidPath
	}
	n, err := e.find(at)
	if err != nil {
		return err
	}
	if n.dir && !all && len(e.list(n.id)) > 0 {
		return NotEmpty
	}
	gone := *n
	gone.deleted = true
	e.put(&gone)
	return nil
}

// isRoot reports whether a path is what can't be deleted or moved.
func (e *edit) isRoot(at string) bool { return at == "/" || at == share || at == e.t.persona }

// Rename moves a file or folder, and makes folders above the new place. What is there already is
// [DestinationExists]; what is deleted there becomes orphans.
func (t *Tree) Rename(ctx context.Context, from, to string) error {
	return t.do(ctx, "rename", from, func(e *edit, a string) error {
		b, err := t.writable(to)
		if err != nil {
			return failed("rename", to, err)
		}
		return e.rename(a, b, false)
	})
}

// rename moves what is at a to b, if over is set over a file there.
func (e *edit) rename(a, b string, over bool) error {
	if e.isRoot(a) || e.isRoot(b) {
		return InvalidPath
	}
	n, err := e.find(a)
	if err != nil || a == b {
		return err
	}
	if within(b, a) {
		return InvalidPath
	}
	if there, err := e.find(b); err == nil {
		if !over || there.dir || n.dir {
			return DestinationExists
		}
		if err := e.orphan(there); err != nil {
			return err
		}
	}
	dir, err := e.folder(path.Dir(b))
	if err != nil {
		return err
	}
	return e.place(n, dir, path.Base(b))
}

// place puts a node into a folder. What is deleted there becomes orphans.
func (e *edit) place(n, dir *node, name string) error {
	if there := e.child(dir.id, name); there != nil {
		if err := e.orphan(there); err != nil {
			return err
		}
	}
	if _, err := e.create(dir, name); err != nil { // the length of its name
		return err
	}
	moved := *n
	moved.parent, moved.name, moved.deleted, moved.orphaned, moved.path = dir.id, name, false, 0, ""
	e.put(&moved)
	return nil
}
