package vfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/burin-dev/burin/internal/platform/workspace"
)

// Files is the file system that a workspace stands on. What is done in it ends with ctx. There
// are no links in it, and a removed file is deleted as [Tree.Remove] does it.
func (t *Tree) Files(ctx context.Context) workspace.Files { return &files{t: t, ctx: ctx} }

// files are a tree, or what a change makes of it.
type files struct {
	t   *Tree
	ctx context.Context // the interface has none
	in  *edit           // nil: each operation is a change of its own
}

var _ workspace.Atomic = (*files)(nil)

// Atomically makes all that do does one change, or none.
func (f *files) Atomically(do func(workspace.Files) error) error {
	if f.in != nil {
		return do(f)
	}
	return f.t.change(f.ctx, func(e *edit) error { return do(&files{f.t, f.ctx, e}) })
}

func (f *files) view(look func(e *edit) error) error {
	if f.in != nil {
		return look(f.in)
	}
	return f.t.view(f.ctx, look)
}

// change makes a change at a name.
func (f *files) change(op, name string, plan func(e *edit, at string) error) error {
	at, err := written(name)
	if err == nil {
		at, err = f.t.writable(at)
	}
	if err == nil && f.in != nil {
		err = plan(f.in, at)
	} else if err == nil {
		err = f.t.change(f.ctx, func(e *edit) error { return plan(e, at) })
	}
	return failed(op, name, err)
}

// written is the path that a name of package fs means.
func written(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", InvalidPath
	}
	return path.Join("/", name), nil
}

func (f *files) find(op, name string) (n *node, err error) {
	at, err := written(name)
	if err == nil {
		err = f.view(func(e *edit) (err error) {
			n, err = e.at(at, (*edit).find)
			return err
		})
	}
	if err != nil {
		return nil, failed(op, name, err)
	}
	if name == "." {
		top := *n
		top.name = "."
		n = &top
	}
	return n, nil
}

func (f *files) Stat(name string) (fs.FileInfo, error) {
	n, err := f.find("stat", name)
	if err != nil {
		return nil, err // a nil *node in an interface would not be nil
	}
	return n, nil
}

func (f *files) Lstat(name string) (fs.FileInfo, error) { return f.Stat(name) }

func (f *files) ReadLink(name string) (string, error) {
	if _, err := f.find("readlink", name); err != nil {
		return "", err
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

func (f *files) read(name string) (n *node, data []byte, err error) {
	err = again(func() error {
		if n, err = f.find("read", name); err != nil {
			return err
		}
		switch {
		case n.dir:
			return NotFile
		case f.in != nil:
			data, err = f.in.content(n)
			data = bytes.Clone(data)
		default:
			data, err = f.t.rows.content(f.ctx, f.t.s.db, n, n.version)
		}
		return err
	})
	return n, data, failed("read", name, err)
}

func (f *files) ReadFile(name string) ([]byte, error) {
	_, data, err := f.read(name)
	return data, err
}

func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := written(name)
	var all []fs.DirEntry
	if err == nil {
		err = f.view(func(e *edit) error {
			n, err := e.at(at, (*edit).find)
			if err != nil {
				return err
			}
			if !n.dir {
				return NotDir
			}
			inside := e.inside(n, at, false)
			all = make([]fs.DirEntry, len(inside))
			for i, c := range inside {
				all[i] = c
			}
			return nil
		})
	}
	return all, failed("open", name, err)
}

func (f *files) Open(name string) (fs.File, error) {
	n, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		entries, err := f.ReadDir(name)
		return &openDir{n, entries}, err
	}
	n, data, err := f.read(name)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(data), n}, nil
}

func (f *files) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return f.change("write", name, func(e *edit, at string) error {
		_, err := e.file(at, slices.Clone(data), perm)
		return err
	})
}

func (f *files) Replace(name string, before, after []byte, perm fs.FileMode) error {
	return f.change("write", name, func(e *edit, at string) error {
		n, err := e.find(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && before != nil, err == nil && before == nil:
			return &workspace.StaleError{Path: name}
		case err == nil:
			now, err := e.content(n)
			if err != nil {
				return err
			}
			if !bytes.Equal(now, before) {
				return &workspace.StaleError{Path: name}
			}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		_, err = e.file(at, slices.Clone(after), perm)
		return err
	})
}

func (f *files) MkdirAll(name string, _ fs.FileMode) error {
	return f.change("mkdir", name, func(e *edit, at string) error {
		_, err := e.folder(at)
		return err
	})
}

func (f *files) Remove(name string) error {
	return f.change("remove", name, func(e *edit, at string) error { return e.delete(at, false) })
}

func (f *files) RemoveAll(name string) error {
	return f.change("remove", name, func(e *edit, at string) error {
		if err := e.delete(at, true); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// Rename also moves a file over another, which becomes an orphan.
func (f *files) Rename(from, to string) error {
	b, err := written(to)
	if err == nil {
		b, err = f.t.writable(b)
	}
	if err != nil {
		return failed("rename", to, err)
	}
	return f.change("rename", from, func(e *edit, a string) error { return e.rename(a, b, true) })
}

func (f *files) Chmod(name string, mode fs.FileMode) error {
	return f.change("chmod", name, func(e *edit, at string) error {
		n, err := e.find(at)
		if err != nil {
			return err
		}
		if at == "/" {
			return InvalidPath
		}
		changed := *n
		changed.mode = mode.Perm()
		e.put(&changed)
		return nil
	})
}

// openFile is an open file, as it was when it was opened.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open folder.
type openDir struct {
	info *node
	left []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) { return 0, failed("read", d.info.name, NotFile) }

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		all := d.left
		d.left = nil
		return all, nil
	}
	if len(d.left) == 0 {
		return nil, io.EOF
	}
	some := d.left[:min(n, len(d.left))]
	d.left = d.left[len(some):]
	return some, nil
}
