package search

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"syscall"
	"time"
)

// tree gives the folders of a file system. A name is slash-separated, "." the
// root.
type tree interface {
	open(name string) (folder, error)
	close()
}

// folder is an open folder. Names given to it are those of its entries; none
// leads through a symbolic link. It is safe for concurrent use but for list and
// close.
type folder interface {
	list(s *scratch) ([]entry, error) // once, in any order
	child(name string) (folder, error)
	file(name string) (file, error)
	info(name string) (entryInfo, error)
	close()
}

// entry is what a folder says of something in it.
type entry struct {
	name  string
	kind  entryKind
	named bool // itself a path to search
}

type entryKind uint8

const (
	kindFile entryKind = iota
	kindFolder
	kindLink
	kindOther // devices, sockets, pipes: never touched
)

type entryInfo struct {
	kind entryKind
	size int64
	mod  time.Time
}

// scratch is memory that a worker uses again for each folder it lists.
type scratch struct {
	buf   []byte
	names []byte
	full  []byte
}

// file is an open file.
type file interface {
	io.ReadCloser
	size() (int64, error)
}

// handle is an open file of the standard library.
type handle struct{ fs.File }

func (h handle) size() (int64, error) {
	info, err := h.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func kindOf(mode fs.FileMode) entryKind {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode.IsDir():
		return kindFolder
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindOther
}

func infoOf(i fs.FileInfo) entryInfo {
	return entryInfo{kind: kindOf(i.Mode()), size: i.Size(), mod: i.ModTime()}
}

func entriesOf(list []fs.DirEntry) []entry {
	entries := make([]entry, len(list))
	for i, e := range list {
		entries[i] = entry{name: e.Name(), kind: kindOf(e.Type())}
	}
	return entries
}

// arrange puts entries into the order of the paths below them: a folder stands
// where its name with "/" behind it would.
func arrange(entries []entry) { slices.SortFunc(entries, byPath) }

func byPath(a, b entry) int {
	n := min(len(a.name), len(b.name))
	for i := range n {
		if a.name[i] != b.name[i] {
			return int(a.name[i]) - int(b.name[i])
		}
	}
	return behind(a, n) - behind(b, n)
}

// behind is the byte of e's path at i, 0 if it has ended.
func behind(e entry, i int) int {
	switch {
	case i < len(e.name):
		return int(e.name[i])
	case e.kind == kindFolder:
		return '/'
	}
	return 0
}

// plainTree is any fs.FS. Links in the names it is given lead where the file
// system leads them.
type plainTree struct{ fsys fs.FS }

type plainFolder struct {
	fsys fs.FS
	name string
}

func (t *plainTree) open(name string) (folder, error) {
	info, err := fs.Stat(t.fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return &plainFolder{t.fsys, name}, nil
}

func (*plainTree) close() {}

func (f *plainFolder) join(name string) string {
	if f.name == "." {
		return name
	}
	return path.Join(f.name, name)
}

func (f *plainFolder) list(*scratch) ([]entry, error) {
	list, err := fs.ReadDir(f.fsys, f.name)
	return entriesOf(list), err
}

func (f *plainFolder) child(name string) (folder, error) {
	return &plainFolder{f.fsys, f.join(name)}, nil
}

func (f *plainFolder) file(name string) (file, error) {
	h, err := f.fsys.Open(f.join(name))
	if err != nil {
		return nil, err
	}
	return handle{h}, nil
}

func (f *plainFolder) info(name string) (entryInfo, error) {
	info, err := lstat(f.fsys, f.join(name))
	if err != nil {
		return entryInfo{}, err
	}
	return infoOf(info), nil
}

func (*plainFolder) close() {}

// lstat looks at a link itself if the file system can.
func lstat(fsys fs.FS, name string) (fs.FileInfo, error) {
	if l, ok := fsys.(interface {
		Lstat(name string) (fs.FileInfo, error)
	}); ok {
		return l.Lstat(name)
	}
	return fs.Stat(fsys, name)
}

// gone reports whether err says that something has vanished or is not any more
// what the folder said it is. That is no failure of a search.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// reason is the bare reason of an error, without the operation and the path.
func reason(err error) string {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}
