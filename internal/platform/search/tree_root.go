package search

import (
	"io/fs"
	"os"
	"path/filepath"
)

// rootTree is a directory reached through os.Root, which works on every system.
type rootTree struct{ root *os.Root }

type rootFolder struct{ root *os.Root }

func openRootTree(dir string) (tree, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &rootTree{r}, nil
}

func (t *rootTree) open(name string) (folder, error) {
	r, err := t.root.OpenRoot(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return &rootFolder{r}, nil
}

func (t *rootTree) close() { _ = t.root.Close() }

func (f *rootFolder) list(*scratch) ([]entry, error) {
	d, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	return entriesOf(list), err
}

// child and file check what they opened: os.Root follows links that stay inside.
func (f *rootFolder) child(name string) (folder, error) {
	if err := f.is(name, kindFolder); err != nil {
		return nil, err
	}
	r, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &rootFolder{r}, nil
}

func (f *rootFolder) file(name string) (file, error) {
	if err := f.is(name, kindFile); err != nil {
		return nil, err
	}
	h, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	return handle{h}, nil
}

func (f *rootFolder) is(name string, kind entryKind) error {
	info, err := f.info(name)
	if err != nil {
		return err
	}
	if info.kind != kind {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

func (f *rootFolder) info(name string) (entryInfo, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return entryInfo{}, err
	}
	return infoOf(info), nil
}

func (f *rootFolder) close() { _ = f.root.Close() }
