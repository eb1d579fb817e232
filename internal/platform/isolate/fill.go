package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// fill copies the files, and keeps what was there.
func (f *Folder) fill(ctx context.Context, l listing) error {
	files, err := f.copyRepository(ctx, f.user, "", l)
	if err != nil {
		return err
	}
	f.keepBase()
	if err := f.makeBase(ctx); err != nil {
		return err
	}
	// Most files are as in the index of the person. Git compares them by their hashes and
	// stores only those that are not.
	copied := make(map[string]bool, len(files))
	for _, name := range files {
		copied[name] = true
	}
	var known []string
	for _, e := range l.entries {
		fields, name, _ := strings.Cut(e, "\t")
		if copied[name] && !strings.HasPrefix(fields, gitlink) && strings.HasSuffix(fields, " 0") {
			known = append(known, e)
		}
	}
	if _, err := f.ours(ctx, f.index(), join(known), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	if _, err := f.ours(ctx, f.index(), nil, "update-index", "-q", "--refresh"); err != nil && !refused(err) {
		return err
	}
	if err := f.add(ctx, f.index(), files); err != nil {
		return err
	}
	f.base, err = f.writeTree(ctx, f.index())
	return err
}

// keepBase says where what was there is kept.
func (f *Folder) keepBase() {
	f.own = f.user
	f.own.root, f.own.dir, f.own.common = f.tree, filepath.Join(f.home, "base.git"), ""
	f.own.objects = filepath.Join(f.own.dir, "objects")
}

// copyRepository copies the files of a repository and of those inside of it, and gives their
// paths.
func (f *Folder) copyRepository(ctx context.Context, p place, at string, l listing) (files []string, err error) {
	from, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	c := copier{from: from, to: filepath.Join(f.tree, filepath.FromSlash(at)), dirs: map[string]bool{".": true}, made: map[string]bool{}}
	for _, name := range l.files {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ok, err := c.copy(name)
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", path.Join(at, name), err)
		}
		if ok {
			files = append(files, path.Join(at, name))
		}
	}
	for _, name := range l.repos {
		q, ok, err := p.inside(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(at, name), err)
		}
		if !ok || !c.real(name) {
			continue
		}
		inner := path.Join(at, name)
		if err := os.MkdirAll(filepath.Join(f.tree, filepath.FromSlash(inner)), 0o700); err != nil {
			return nil, err
		}
		f.from = append(f.from, nested{inner, q})
		list, err := q.list(ctx)
		if err != nil {
			return nil, err
		}
		more, err := f.copyRepository(ctx, q, inner, list)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// copier copies files from one folder to another.
type copier struct {
	from *os.Root
	to   string
	dirs map[string]bool // of from: whether they are folders, and not links
	made map[string]bool
}

// real reports whether a path is a folder, and no link leads there.
func (c *copier) real(dir string) bool {
	is, known := c.dirs[dir]
	if !known {
		if is = c.real(path.Dir(dir)); is {
			info, err := c.from.Lstat(filepath.FromSlash(dir))
			is = err == nil && info.IsDir()
		}
		c.dirs[dir] = is
	}
	return is
}

// copy copies a file or a link; false if there is none.
func (c *copier) copy(name string) (bool, error) {
	if !c.real(path.Dir(name)) {
		return false, nil
	}
	local := filepath.FromSlash(name)
	info, err := c.from.Lstat(local)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	target := filepath.Join(c.to, local)
	if dir := filepath.Dir(target); !c.made[dir] {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, err
		}
		c.made[dir] = true
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := c.from.Readlink(local)
		if err == nil {
			err = os.Symlink(to, target)
		}
		return err == nil, err
	case !info.Mode().IsRegular():
		return false, nil
	}
	return true, c.file(local, target, info)
}

// file copies the bytes of a file. Where the file system can, io.Copy or clone shares them.
func (c *copier) file(local, target string, info fs.FileInfo) error {
	if clone(filepath.Join(c.from.Name(), local), target) {
		return os.Chmod(target, info.Mode().Perm()|0o600)
	}
	in, err := c.from.Open(local)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	// What builds compares the times of files.
	return os.Chtimes(target, info.ModTime(), info.ModTime())
}
