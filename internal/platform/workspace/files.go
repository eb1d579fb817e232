package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Files is a rooted file system that can be written. Names are slash-separated
// and relative to the root ("." is the root), absolute within one of the
// additional folders of a [Workspace], or addresses of a [Mount]. Links are followed, absolute ones too, if
// they stay inside; no name, link or race leads out of it.
// Reading never blocks on a pipe or a device. Errors are *fs.PathError. It is
// safe for concurrent use.
type Files interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	// WriteFile replaces the file at once, or not at all, and makes missing
	// folders. An existing file keeps its mode and, if it is a link that stays
	// inside, remains one.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// Replace is WriteFile for a file that holds before, or with a nil before does not
	// exist; else it is a *StaleError. Nobody can write between the look and the act,
	// except to a real directory from outside.
	Replace(name string, before, after []byte, perm fs.FileMode) error
	MkdirAll(name string, perm fs.FileMode) error
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
	Chmod(name string, mode fs.FileMode) error
}

// Atomic is a file system that makes all of several changes or none, also if it is killed
// meanwhile.
type Atomic interface {
	Files
	// Atomically makes the changes that do makes to the files that it is given. It may call
	// do several times, until nobody else's change came between.
	Atomically(do func(Files) error) error
}

// MaxFile is the largest file that is read as a whole.
const MaxFile = 64 << 20

// maxName is the longest name in bytes.
const maxName = 4096

// folder is a root with what may be done in it.
type folder struct {
	*os.Root
	dir      string // absolute, without links
	writable bool
	always   bool     // also while the workspace is open for reading only
	own      []string // what is burin's own in it, slash-separated
}

// isOwn reports whether a name is burin's own, or in a folder that is.
func (f *folder) isOwn(name string) bool {
	return slices.ContainsFunc(f.own, func(own string) bool {
		rest, ok := strings.CutPrefix(name, own)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// IsOwn reports whether a name is burin's own: searches leave it out.
func (r *rooted) IsOwn(name string) bool { return r.main.isOwn(name) }

// refuseOwn is an error for names of, or links to, what is burin's own.
func (f *folder) refuseOwn(op, rel string) error {
	if len(f.own) == 0 {
		return nil
	}
	real, err := f.resolve(rel, true)
	if err == nil && f.isOwn(filepath.ToSlash(real)) {
		return &fs.PathError{Op: op, Path: rel, Err: fmt.Errorf("%w: burin keeps a session in it", fs.ErrPermission)}
	}
	return nil // of an error, using it will tell
}

// rooted are the files of a workspace.
type rooted struct {
	main   *folder
	extra  []*folder
	mounts []*mount
	locked atomic.Bool // nothing may be written, for now

	replacing sync.Mutex // held by Replace: of two, the second sees what the first wrote
}

var _ Files = (*rooted)(nil)

func openRoots(dir string, o Options) (*rooted, error) {
	r := &rooted{}
	r.locked.Store(o.ReadOnly)
	main, err := openFolder(dir, true)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	r.main = main
	for _, own := range o.Own {
		if rel, ok := main.within(own); ok && rel != "." {
			main.own = append(main.own, filepath.ToSlash(rel))
		}
	}
	for _, e := range o.Extra {
		f, err := openFolder(e.Dir, e.Writable)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("add a folder: %w", err), r.close())
		}
		r.extra = append(r.extra, f)
	}
	for _, m := range o.Mounts {
		r.mounts = append(r.mounts, &mount{Mount: m})
	}
	return r, nil
}

func openFolder(dir string, writable bool) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &folder{Root: root, dir: abs, writable: writable}, nil
}

func (r *rooted) close() error {
	err := r.main.Close()
	for _, f := range r.extra {
		err = errors.Join(err, f.Close())
	}
	for _, m := range r.mounts {
		err = errors.Join(err, m.close())
	}
	return err
}

// Dir is the root's absolute path.
func (r *rooted) Dir() string { return r.main.dir }

// find gives the folder that a name is in, and the name within it, as the system
// writes it.
func (r *rooted) find(op, name string) (*folder, string, error) {
	if len(name) > maxName { // each folder of it would cost
		return nil, "", &fs.PathError{Op: op, Path: name[:40] + "…", Err: errors.New("the name is too long")}
	}
	if m, rel := r.mounted(name); m != nil {
		if !fs.ValidPath(rel) {
			return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
		}
		f, err := m.open()
		return f, filepath.FromSlash(rel), err
	}
	if !path.IsAbs(name) && !filepath.IsAbs(name) {
		if !fs.ValidPath(name) {
			return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
		}
		return r.main, filepath.FromSlash(name), nil
	}
	for _, f := range r.extra {
		if rel, ok := inside(f.dir, filepath.FromSlash(name)); ok {
			return f, rel, nil
		}
	}
	return nil, "", &fs.PathError{Op: op, Path: name, Err: errors.New("outside the workspace")}
}

// inside gives an absolute path's name within dir. A prefix is no boundary:
// /ws-evil is not in /ws.
func inside(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// writable is find for what changes something. The name's last part may be a link;
// the folders above it are without.
func (r *rooted) writable(op, name string) (*folder, string, error) {
	f, rel, err := r.find(op, name)
	if err == nil && (!f.writable || r.locked.Load() && !f.always) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: errReadOnly}
	}
	if err == nil {
		err = f.refuseOwn(op, rel)
	}
	if err == nil {
		rel, err = f.resolve(rel, false)
	}
	return f, rel, err
}

var errReadOnly = fmt.Errorf("%w: it is open for reading only", fs.ErrPermission)

// gate is an error for what must not be written.
func (r *rooted) gate(op, name string) error {
	_, _, err := r.writable(op, name)
	return err
}

// admits is an error for what could not be written if the workspace were open for
// writing.
func (r *rooted) admits(op, name string) error {
	f, rel, err := r.find(op, name)
	if err == nil && !f.writable {
		err = &fs.PathError{Op: op, Path: name, Err: errReadOnly}
	}
	if err == nil {
		err = f.refuseOwn(op, rel)
	}
	return err
}

// follow is the name of the file that a name leads to, as far as that can be told.
func (r *rooted) follow(name string) string {
	if f, rel, err := r.find("open", name); err == nil && f == r.main {
		if real, err := f.target(rel); err == nil {
			return filepath.ToSlash(real)
		}
	}
	return name
}

func (r *rooted) disk() *rooted { return r }

// diskOf is the directory that a file system is, or lies on; nil: none.
func diskOf(files fs.FS) *rooted {
	if d, ok := files.(interface{ disk() *rooted }); ok {
		return d.disk()
	}
	return nil
}

// read reads a whole file of at most MaxFile bytes.
func read(files Files, name string) ([]byte, fs.FileInfo, error) {
	if r, ok := files.(interface {
		read(name string) ([]byte, fs.FileInfo, error)
	}); ok {
		return r.read(name)
	}
	info, err := files.Stat(name)
	if err == nil && info.Size() > MaxFile {
		err = tooLarge(name)
	}
	if err != nil {
		return nil, nil, err
	}
	data, err := files.ReadFile(name)
	return data, info, err
}

func tooLarge(name string) error {
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d MB", rootfile.ErrTooLarge, MaxFile>>20)}
}

func (r *rooted) Open(name string) (fs.File, error) {
	f, rel, err := r.find("open", name)
	if err == nil {
		err = f.refuseOwn("open", rel)
	}
	if err != nil {
		return nil, err
	}
	file, err := followed(f, rel, func(rel string) (*os.File, error) { return rootfile.Open(f.Root, rel) })
	if err != nil {
		return nil, err // a nil *os.File in an interface would not be nil
	}
	return file, nil
}

// read reads a whole file.
func (r *rooted) read(name string) ([]byte, fs.FileInfo, error) {
	f, rel, err := r.find("read", name)
	if err == nil {
		err = f.refuseOwn("read", rel)
	}
	if err != nil {
		return nil, nil, err
	}
	var info fs.FileInfo
	data, err := followed(f, rel, func(rel string) (data []byte, err error) {
		data, info, err = rootfile.Read(f.Root, rel, MaxFile)
		return data, err
	})
	return data, info, err
}

func (r *rooted) ReadFile(name string) ([]byte, error) {
	data, _, err := r.read(name)
	return data, err
}

func (r *rooted) ReadDir(name string) ([]fs.DirEntry, error) {
	f, rel, err := r.find("open", name)
	if err != nil {
		return nil, err
	}
	return followed(f, rel, func(rel string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS(), filepath.ToSlash(rel)) })
}

func (r *rooted) Stat(name string) (fs.FileInfo, error) {
	f, rel, err := r.find("stat", name)
	if err != nil {
		return nil, err
	}
	return followed(f, rel, f.Root.Stat)
}

func (r *rooted) Lstat(name string) (fs.FileInfo, error) {
	f, rel, err := r.find("lstat", name)
	if err != nil {
		return nil, err
	}
	return f.Root.Lstat(rel)
}

func (r *rooted) ReadLink(name string) (string, error) {
	f, rel, err := r.find("readlink", name)
	if err != nil {
		return "", err
	}
	return f.Root.Readlink(rel)
}

func (r *rooted) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, rel, err := r.writable("write", name)
	if err != nil {
		return err
	}
	if rel, err = f.target(rel); err != nil {
		return err
	}
	if _, err := rootfile.MkdirAll(f.Root, filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	return rootfile.Write(f.Root, rel, data, perm)
}

func (r *rooted) Replace(name string, before, after []byte, perm fs.FileMode) error {
	r.replacing.Lock()
	defer r.replacing.Unlock()
	if err := holds(r, name, before); err != nil {
		return err
	}
	return r.WriteFile(name, after, perm)
}

// holds checks that a file holds before, or with a nil before does not exist.
func holds(files Files, name string, before []byte) error {
	now, _, err := read(files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if before == nil {
			return nil
		}
		return &StaleError{Path: name}
	case err != nil:
		return err
	case before == nil || !bytes.Equal(now, before):
		return &StaleError{Path: name}
	}
	return nil
}

// maxLinks is how many links of one name are followed.
const maxLinks = 32

// followed reads something. The root refuses absolute links, also those that stay
// inside; then the name is resolved by hand and read once more through the root.
// Whatever becomes of the links meanwhile, that leads nowhere else than the root
// lets it.
func followed[T any](f *folder, rel string, read func(rel string) (T, error)) (T, error) {
	v, err := read(rel)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return v, err
	}
	real, rerr := f.resolve(rel, true)
	if rerr != nil || real == rel {
		return v, err
	}
	return read(real)
}

// target is the file that is written under a name: what it leads to, if it is a
// link. It need not exist.
func (f *folder) target(rel string) (string, error) { return f.resolve(rel, true) }

// resolve gives the name without links, as they are at the moment; the last part
// is followed only if last is set. What does not exist has no links. A link that
// leads out of the folder is an error.
func (f *folder) resolve(rel string, last bool) (string, error) {
	done, rest := ".", rel
	for links := 0; rest != ""; {
		part, after, _ := strings.Cut(rest, string(filepath.Separator))
		at := filepath.Join(done, part) // of a link's "..", too: done has no links
		if !filepath.IsLocal(at) {
			return "", leadsOut(rel)
		}
		info, err := f.Root.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 || after == "" && !last {
			done, rest = at, after //nolint:nilerr // what is wrong with it, using it will tell
			continue
		}
		to, err := f.Root.Readlink(at)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: rel, Err: errors.New("too many links")}
		}
		if filepath.IsAbs(to) {
			within, ok := f.within(to)
			if !ok {
				return "", leadsOut(rel)
			}
			done, to = ".", within
		}
		rest = to
		if after != "" {
			rest += string(filepath.Separator) + after
		}
	}
	return done, nil
}

// within gives the name of where an absolute link leads. The root may be reached
// by another way, through a link above it.
func (f *folder) within(to string) (string, bool) {
	to = filepath.Clean(to)
	if rel, ok := inside(f.dir, to); ok {
		return rel, true
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(to))
	if err != nil {
		return "", false
	}
	return inside(f.dir, filepath.Join(parent, filepath.Base(to)))
}

func leadsOut(rel string) error {
	return &fs.PathError{Op: "open", Path: rel, Err: errors.New("the link leads out of the workspace")}
}

func (r *rooted) MkdirAll(name string, perm fs.FileMode) error {
	f, rel, err := r.writable("mkdir", name)
	if err == nil {
		rel, err = f.target(rel)
	}
	if err != nil {
		return err
	}
	_, err = rootfile.MkdirAll(f.Root, rel, perm)
	return err
}

func (r *rooted) Remove(name string) error {
	f, rel, err := r.writable("remove", name)
	if err != nil {
		return err
	}
	return f.Root.Remove(rel)
}

func (r *rooted) RemoveAll(name string) error {
	f, rel, err := r.writable("remove", name)
	if err != nil {
		return err
	}
	if rel == "." {
		return &fs.PathError{Op: "remove", Path: name, Err: errors.New("it is the workspace itself")}
	}
	return f.Root.RemoveAll(rel)
}

func (r *rooted) Rename(from, to string) error {
	a, relA, err := r.writable("rename", from)
	if err != nil {
		return err
	}
	b, relB, err := r.writable("rename", to)
	if err != nil {
		return err
	}
	if a != b {
		return &fs.PathError{Op: "rename", Path: to, Err: errors.New("it is in another folder than " + from)}
	}
	return a.Root.Rename(relA, relB)
}

func (r *rooted) Chmod(name string, mode fs.FileMode) error {
	f, rel, err := r.writable("chmod", name)
	if err != nil {
		return err
	}
	return f.Root.Chmod(rel, mode)
}

// OutsideError is a path that the workspace does not reach.
type OutsideError struct{ Path, Root string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is outside the workspace %s", e.Path, e.Root)
}

// Resolve gives the name of what a model or person wrote as a path: relative,
// absolute inside the root or an additional folder, with "~" for the home folder.
// An address of a [Mount] is a name. What lies outside is an *OutsideError. The file need not exist; of a path that
// does not, one that differs only in how its letters are composed is taken.
func (w *Workspace) Resolve(written string) (string, error) {
	if written == "" || strings.ContainsRune(written, 0) {
		return "", &fs.PathError{Op: "resolve", Path: written, Err: errors.New("not a path")}
	}
	if w.disk == nil {
		return w.virtual(written)
	}
	if name, ok, err := w.address(written); ok {
		return name, err
	}
	p := filepath.FromSlash(written)
	if rest, ok := strings.CutPrefix(p, "~"); ok && w.home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		p = filepath.Join(w.home, rest)
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(w.disk.main.dir, p)
	}
	name, err := w.name(filepath.Clean(p), written)
	if err != nil {
		return "", err
	}
	if at, ok, err := w.address(name); ok { // a detour, such as ./local:/a
		return at, err
	}
	return w.asSpelled(name), nil
}

// virtual is Resolve where there is no directory.
func (w *Workspace) virtual(written string) (string, error) {
	p := path.Clean(filepath.ToSlash(written))
	if p = strings.TrimPrefix(p, "/"); p == "" {
		p = "."
	}
	if !fs.ValidPath(p) {
		return "", &OutsideError{Path: written, Root: "/"}
	}
	return w.asSpelled(p), nil
}

// name gives an absolute path its name. A path that names the root by another way,
// through a link above it, is the same place.
func (w *Workspace) name(abs, written string) (string, error) {
	candidates := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		candidates = append(candidates, real)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		candidates = append(candidates, filepath.Join(real, filepath.Base(abs)))
	}
	for _, p := range candidates {
		if rel, ok := inside(w.disk.main.dir, p); ok {
			return filepath.ToSlash(rel), nil
		}
		for _, f := range w.disk.extra {
			if _, ok := inside(f.dir, p); ok {
				return filepath.ToSlash(p), nil
			}
		}
	}
	return "", &OutsideError{Path: written, Root: w.disk.main.dir}
}

// Real gives the absolute path of the file on disk that is what a name stands for; empty
// if there is none.
func (w *Workspace) Real(name string) string {
	if w.disk == nil {
		return ""
	}
	if l, ok := w.files.(interface{ Differs(name string) bool }); ok && l.Differs(name) {
		return ""
	}
	if m, rel := w.disk.mounted(name); m != nil {
		dir, err := m.Dir()
		if err != nil {
			return ""
		}
		return filepath.Join(dir, filepath.FromSlash(rel))
	}
	if path.IsAbs(name) || filepath.IsAbs(name) {
		return filepath.FromSlash(name)
	}
	return filepath.Join(w.disk.main.dir, filepath.FromSlash(name))
}
