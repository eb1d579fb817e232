package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxLayer is how many bytes a layer holds, with what they replace.
const maxLayer = 512 << 20

// layer is a file system in memory over another that it only reads. What it has of a
// name hides what the other has. Names in it are without links.
type layer struct {
	base fs.FS // nil: nothing

	mu    sync.RWMutex
	nodes map[string]*node
	kids  map[string]map[string]bool // names of nodes, by folder
	below map[string]int             // how many nodes are in or below a folder
	size  int
}

// node is what a layer has of a name. It never changes.
type node struct {
	info
	data   []byte
	gone   bool
	before []byte      // what the file below held when it was hidden; nil: there was none
	was    fs.FileMode // and its mode
}

var _ Files = (*layer)(nil)

func newLayer(base fs.FS) *layer {
	l := &layer{base: base}
	l.clear()
	return l
}

func (l *layer) clear() {
	l.nodes, l.kids, l.below, l.size = map[string]*node{}, map[string]map[string]bool{}, map[string]int{}, 0
	if l.base == nil {
		l.nodes["."] = folderNode(".", 0o755)
	}
}

// NewMemory makes a file system in memory. It has no links, and holds 512 MB at most.
func NewMemory() Files { return newLayer(nil) }

func folderNode(name string, perm fs.FileMode) *node {
	return &node{info: info{name: path.Base(name), mode: fs.ModeDir | perm.Perm(), mod: time.Now()}}
}

func failed(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// check refuses what is no name. One that is absolute is in a folder of the base.
func (l *layer) check(op, name string) error {
	switch {
	case len(name) > maxName:
		return failed(op, name[:40]+"…", errors.New("the name is too long"))
	case path.IsAbs(name) || filepath.IsAbs(name):
		if diskOf(l) == nil {
			return failed(op, name, errors.New("outside the workspace"))
		}
		_, _, err := diskOf(l).find(op, name)
		return err
	case !fs.ValidPath(name):
		return failed(op, name, fs.ErrInvalid)
	}
	return nil
}

// lstat looks at a name without links above it.
func (l *layer) lstat(name string) (fs.FileInfo, error) {
	if n := l.nodes[name]; n != nil {
		if n.gone {
			return nil, failed("lstat", name, fs.ErrNotExist)
		}
		return n.info, nil
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if n := l.nodes[dir]; n != nil && (n.gone || !n.info.IsDir()) || dir == path.Dir(dir) {
			if n != nil {
				return nil, failed("lstat", name, fs.ErrNotExist)
			}
			break
		}
	}
	if l.base == nil {
		return nil, failed("lstat", name, fs.ErrNotExist)
	}
	return fs.Lstat(l.base, name)
}

// resolve gives the name without links. What does not exist has none; links in
// additional folders are left to the base.
func (l *layer) resolve(name string, last bool) (string, error) {
	if l.base == nil || path.IsAbs(name) || filepath.IsAbs(name) {
		return name, nil
	}
	done, rest := ".", name
	for links := 0; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		at := path.Join(done, part)
		if !fs.ValidPath(at) {
			return "", leadsOut(name)
		}
		i, err := l.lstat(at)
		if err != nil || i.Mode()&fs.ModeSymlink == 0 || after == "" && !last {
			done, rest = at, after //nolint:nilerr // what is wrong with it, using it will tell
			continue
		}
		to, err := fs.ReadLink(l.base, at)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", failed("open", name, errors.New("too many links"))
		}
		if filepath.IsAbs(to) {
			d := diskOf(l)
			if d == nil {
				return "", leadsOut(name)
			}
			within, ok := d.main.within(to)
			if !ok {
				return "", leadsOut(name)
			}
			done, to = ".", within
		}
		rest = filepath.ToSlash(to)
		if after != "" {
			rest += "/" + after
		}
	}
	return done, nil
}

// at checks a name and follows its links.
func (l *layer) at(op, name string, last bool) (string, fs.FileInfo, error) {
	if err := l.check(op, name); err != nil {
		return "", nil, err
	}
	real, err := l.resolve(name, last)
	if err != nil {
		return "", nil, err
	}
	i, err := l.lstat(real)
	return real, i, err
}

func (l *layer) Lstat(name string) (fs.FileInfo, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, i, err := l.at("lstat", name, false)
	return i, err
}

func (l *layer) Stat(name string) (fs.FileInfo, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	real, i, err := l.at("stat", name, true)
	if err == nil && i.Mode()&fs.ModeSymlink != 0 { // in an additional folder
		return fs.Stat(l.base, real)
	}
	return i, err
}

func (l *layer) ReadLink(name string) (string, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	real, i, err := l.at("readlink", name, false)
	if err != nil {
		return "", err
	}
	if i.Mode()&fs.ModeSymlink == 0 {
		return "", failed("readlink", name, fs.ErrInvalid)
	}
	return fs.ReadLink(l.base, real)
}

func (l *layer) read(name string) ([]byte, fs.FileInfo, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	real, i, err := l.at("read", name, true)
	if err != nil {
		return nil, nil, err
	}
	return l.contents(real, i)
}

func (l *layer) contents(real string, i fs.FileInfo) ([]byte, fs.FileInfo, error) {
	switch n := l.nodes[real]; {
	case i.IsDir():
		return nil, nil, failed("read", real, errors.New("is a folder"))
	case n != nil:
		return bytes.Clone(n.data), i, nil
	case i.Size() > MaxFile:
		return nil, nil, tooLarge(real)
	}
	if r, ok := l.base.(Files); ok {
		return read(r, real)
	}
	data, err := fs.ReadFile(l.base, real)
	return data, i, err
}

func (l *layer) ReadFile(name string) ([]byte, error) {
	data, _, err := l.read(name)
	return data, err
}

func (l *layer) ReadDir(name string) ([]fs.DirEntry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	real, i, err := l.at("open", name, true)
	if err != nil {
		return nil, err
	}
	if !i.IsDir() {
		return nil, failed("open", name, syscall.ENOTDIR)
	}
	return l.entries(real)
}

func (l *layer) entries(real string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	if l.base != nil {
		found, err := fs.ReadDir(l.base, real)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && l.nodes[real] == nil {
			return nil, err
		}
		for _, e := range found {
			if !l.kids[real][e.Name()] {
				all = append(all, e)
			}
		}
	}
	for kid := range l.kids[real] {
		if n := l.nodes[path.Join(real, kid)]; !n.gone {
			all = append(all, fs.FileInfoToDirEntry(n.info))
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

func (l *layer) Open(name string) (fs.File, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	real, i, err := l.at("open", name, true)
	if err != nil {
		return nil, err
	}
	if i.IsDir() {
		entries, err := l.entries(real)
		return &openDir{info: i, left: entries}, err
	}
	if n := l.nodes[real]; n != nil {
		return &openFile{bytes.NewReader(n.data), i}, nil
	}
	return l.base.Open(real)
}

// put sets what the layer has of a name without links.
func (l *layer) put(real string, n *node) error {
	if d := diskOf(l); d != nil {
		if err := d.admits("write", real); err != nil {
			return err
		}
	}
	old := l.nodes[real]
	size := len(n.data)
	switch {
	case old != nil:
		n.before = old.before
		n.was = old.was
		size -= len(old.data)
	case l.base != nil:
		if i, err := l.lstat(real); err == nil && i.Mode().IsRegular() {
			data, _, err := l.contents(real, i)
			if err != nil {
				return err
			}
			n.before = append([]byte{}, data...) // not nil
			n.was = i.Mode()
			size += len(data)
		}
	}
	if l.size+size > maxLayer {
		return failed("write", real, fmt.Errorf("more than %d MB have been changed", maxLayer>>20))
	}
	l.size += size
	l.nodes[real] = n
	if old == nil && real != "." {
		dir := path.Dir(real)
		if l.kids[dir] == nil {
			l.kids[dir] = map[string]bool{}
		}
		l.kids[dir][path.Base(real)] = true
		for at := dir; ; at = path.Dir(at) {
			l.below[at]++
			if at == path.Dir(at) {
				break
			}
		}
	}
	return nil
}

// target is the file that is written under a name: what it leads to, which need not
// exist. i is nil if it does not.
func (l *layer) target(op, name string, last bool) (real string, i fs.FileInfo, err error) {
	if real, i, err = l.at(op, name, last); errors.Is(err, fs.ErrNotExist) && real != "" {
		return real, nil, nil
	}
	return real, i, err
}

func (l *layer) write(name string, data []byte, perm fs.FileMode) error {
	real, i, err := l.target("write", name, true)
	if err != nil {
		return err
	}
	if i != nil {
		if !i.Mode().IsRegular() {
			return failed("write", name, errors.New("not a regular file"))
		}
		perm = i.Mode()
	}
	if err := l.mkdir(path.Dir(real), 0o755); err != nil {
		return err
	}
	return l.put(real, fileNode(real, data, perm))
}

func fileNode(name string, data []byte, perm fs.FileMode) *node {
	data = bytes.Clone(data)
	return &node{data: data, info: info{name: path.Base(name), size: int64(len(data)), mode: perm.Perm(), mod: time.Now()}}
}

func (l *layer) WriteFile(name string, data []byte, perm fs.FileMode) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(name, data, perm)
}

func (l *layer) Replace(name string, before, after []byte, perm fs.FileMode) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, i, err := l.target("write", name, true)
	if err != nil {
		return err
	}
	if (i == nil) != (before == nil) {
		return &StaleError{Path: name}
	}
	if i != nil {
		if now, _, err := l.contents(real, i); err != nil {
			return err
		} else if !bytes.Equal(now, before) {
			return &StaleError{Path: name}
		}
	}
	return l.write(name, after, perm)
}

// mkdir makes a folder, which is named without links, with its parents.
func (l *layer) mkdir(real string, perm fs.FileMode) error {
	i, err := l.lstat(real)
	switch {
	case err == nil && i.IsDir():
		return nil
	case err == nil:
		return failed("mkdir", real, syscall.ENOTDIR)
	case !errors.Is(err, fs.ErrNotExist) || real == path.Dir(real):
		return err
	}
	if err := l.mkdir(path.Dir(real), perm); err != nil {
		return err
	}
	return l.put(real, folderNode(real, perm))
}

func (l *layer) MkdirAll(name string, perm fs.FileMode) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, _, err := l.target("mkdir", name, true)
	if err != nil {
		return err
	}
	return l.mkdir(real, perm)
}

func (l *layer) Remove(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, i, err := l.at("remove", name, false)
	if err != nil {
		return err
	}
	if i.IsDir() {
		entries, err := l.entries(real)
		if err != nil {
			return err
		}
		if len(entries) > 0 || real == "." {
			return failed("remove", name, errors.New("the folder is not empty"))
		}
	}
	return l.put(real, &node{gone: true})
}

func (l *layer) RemoveAll(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, i, err := l.target("remove", name, false)
	if err != nil || i == nil {
		return err
	}
	if real == "." {
		return failed("remove", name, errors.New("it is the workspace itself"))
	}
	return l.removeAll(real, i)
}

func (l *layer) removeAll(real string, i fs.FileInfo) error {
	if i.IsDir() {
		entries, err := l.entries(real)
		if err != nil {
			return err
		}
		for _, e := range entries {
			at := path.Join(real, e.Name())
			i, err := l.lstat(at)
			if err == nil {
				err = l.removeAll(at, i)
			}
			if err != nil {
				return err
			}
		}
	}
	return l.put(real, &node{gone: true})
}

func (l *layer) Rename(from, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, i, err := l.at("rename", from, false)
	if err != nil {
		return err
	}
	b, there, err := l.target("rename", to, false)
	switch {
	case err != nil || a == b:
		return err
	case a == "." || strings.HasPrefix(b, a+"/"):
		return failed("rename", to, fs.ErrInvalid)
	case there != nil && there.IsDir() != i.IsDir(), there != nil && there.IsDir():
		return failed("rename", to, fs.ErrExist)
	}
	if above, err := l.lstat(path.Dir(b)); err != nil {
		return err
	} else if !above.IsDir() {
		return failed("rename", to, syscall.ENOTDIR)
	}
	if err := l.copy(a, b, i); err != nil {
		return err
	}
	return l.removeAll(a, i)
}

func (l *layer) copy(a, b string, i fs.FileInfo) error {
	switch {
	case i.Mode().IsRegular():
		data, _, err := l.contents(a, i)
		if err != nil {
			return err
		}
		return l.put(b, fileNode(b, data, i.Mode()))
	case !i.IsDir():
		return failed("rename", a, errors.New("not a regular file"))
	}
	entries, err := l.entries(a)
	if err == nil {
		err = l.put(b, folderNode(b, i.Mode()))
	}
	for _, e := range entries {
		if err != nil {
			break
		}
		at := path.Join(a, e.Name())
		if i, err = l.lstat(at); err == nil {
			err = l.copy(at, path.Join(b, e.Name()), i)
		}
	}
	return err
}

func (l *layer) Chmod(name string, mode fs.FileMode) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, i, err := l.at("chmod", name, true)
	if err != nil {
		return err
	}
	if i.IsDir() {
		return l.put(real, folderNode(real, mode))
	}
	data, _, err := l.contents(real, i)
	if err != nil {
		return err
	}
	n := fileNode(real, data, mode)
	n.mod = i.ModTime()
	return l.put(real, n)
}

func (l *layer) disk() *rooted {
	if l.base == nil {
		return nil
	}
	return diskOf(l.base)
}

// Beneath is the directory that the layer lies on; empty: none.
func (l *layer) Beneath() string { return beneath(l) }

func beneath(files fs.FS) string {
	if d := diskOf(files); d != nil {
		return d.main.dir
	}
	return ""
}

// Differs reports whether a name, or anything below it, need not be as in the directory.
func (l *layer) Differs(name string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.nodes[name] != nil || l.below[name] > 0 {
		return true
	}
	for dir := path.Dir(name); dir != path.Dir(dir); dir = path.Dir(dir) {
		if n := l.nodes[dir]; n != nil && (n.gone || !n.IsDir()) {
			return true
		}
	}
	b, ok := l.base.(interface{ Differs(name string) bool })
	return ok && b.Differs(name)
}

// IsOwn reports whether a name is burin's own: searches leave it out.
func (l *layer) IsOwn(name string) bool {
	o, ok := l.base.(interface{ IsOwn(name string) bool })
	return ok && o.IsOwn(name)
}

func (l *layer) follow(name string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if real, err := l.resolve(name, true); err == nil {
		return real
	}
	return name
}

// info is what is true of a file in memory.
type info struct {
	name string
	size int64
	mode fs.FileMode
	mod  time.Time
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mod }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// openFile is an open file in memory: as it was when it was opened.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open folder.
type openDir struct {
	info fs.FileInfo
	left []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, failed("read", d.info.Name(), errors.New("is a folder"))
}

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
