package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Buffers are the open documents of a face, such as an editor: with what is not saved
// yet. Names are those of the workspace, without links: relative to its root, with
// slashes, or absolute in an additional folder. A face must expect calls from several
// goroutines.
type Buffers interface {
	// Read gives the text of a document; ok is false for a file that is not open. It is
	// asked about each file that is read, open or not.
	Read(ctx context.Context, name string) (data []byte, ok bool, err error)
	// Write makes after the text of a document that holds before; one that holds
	// something else is a *StaleError. A nil before is a file that did not exist; with a
	// nil after the file is removed and the document must go. Whether the document is
	// saved is up to the face. ok is false for what the face leaves to the workspace,
	// which then writes the file.
	Write(ctx context.Context, name string, before, after []byte) (ok bool, err error)
	// Names are the documents that searches and listings should know of. A face that
	// cannot tell gives none: then these show what is saved.
	Names() []string
}

type buffersKey struct{}

// WithBuffers gives a context, as that of a prompt, the documents of the face that
// submitted it. Nil takes away those of an outer one.
func WithBuffers(ctx context.Context, b Buffers) context.Context {
	return context.WithValue(ctx, buffersKey{}, ofFace{b})
}

// ofFace are the documents that a context names; nil: it wants none.
type ofFace struct{ Buffers }

// For is the workspace as a call with this context sees it: with the open documents of
// its face, if there are any. It lives as long as the context; it is not closed. What
// the model has seen counts in all of them.
func (w *Workspace) For(ctx context.Context) *Workspace {
	b := w.buffers
	if of, ok := ctx.Value(buffersKey{}).(ofFace); ok {
		b = of.Buffers
	}
	if b == nil {
		return w
	}
	return &Workspace{core: w.core, files: newBuffered(ctx, b, w.files), seen: w.seen, forked: w.forked}
}

// buffered are files with the open documents of a face. It is for one call, which is
// why it holds the context of it: file systems of the library are asked without one.
type buffered struct {
	ctx     context.Context
	buffers Buffers
	Files
	kids   map[string][]string // by folder: documents, and folders only they are in
	within map[string]bool     // documents, and all folders above them
	since  time.Time
}

func newBuffered(ctx context.Context, b Buffers, base Files) *buffered {
	v := &buffered{ctx: ctx, buffers: b, Files: base, kids: map[string][]string{}, within: map[string]bool{}, since: time.Now()}
	for _, name := range b.Names() {
		if name != path.Clean(name) || !path.IsAbs(name) && !fs.ValidPath(name) {
			continue
		}
		for at := name; !v.within[at]; at = path.Dir(at) {
			v.within[at] = true
			if at == path.Dir(at) {
				break
			}
			v.kids[path.Dir(at)] = append(v.kids[path.Dir(at)], path.Base(at))
		}
	}
	return v
}

// document is what the face has of a name, and what is true of the file below, which is
// nil if there is none. It asks only about what can be a file of the workspace.
func (v *buffered) document(op, name string) (real string, data []byte, open bool, below fs.FileInfo, err error) {
	below, err = v.Files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		below = nil
	case err != nil:
		return name, nil, false, nil, err
	case !below.Mode().IsRegular():
		return name, nil, false, below, nil
	}
	if v.addressed(name) {
		return name, nil, false, below, nil
	}
	real = v.follow(name)
	if o, ok := v.Files.(interface{ IsOwn(name string) bool }); ok && o.IsOwn(real) {
		return real, nil, false, below, failed(op, name, fs.ErrPermission)
	}
	data, open, err = v.buffers.Read(v.ctx, real)
	if err == nil && len(data) > MaxFile {
		err = tooLarge(name)
	}
	return real, data, open, below, err
}

// addressed reports whether a name is an address, which no face has a document of.
func (v *buffered) addressed(name string) bool {
	d := v.disk()
	if d == nil {
		return false
	}
	m, _ := d.mounted(name)
	return m != nil
}

func (v *buffered) follow(name string) string {
	if f, ok := v.Files.(interface{ follow(name string) string }); ok {
		return f.follow(name)
	}
	return name
}

// about is what is true of an open document.
func (v *buffered) about(name string, data []byte, below fs.FileInfo) fs.FileInfo {
	i := info{name: path.Base(name), size: int64(len(data)), mode: 0o644, mod: v.since}
	if below != nil {
		i.mode, i.mod = below.Mode(), below.ModTime()
	}
	return i
}

func (v *buffered) read(name string) ([]byte, fs.FileInfo, error) {
	_, data, open, below, err := v.document("read", name)
	switch {
	case err != nil:
		return nil, nil, err
	case open:
		return bytes.Clone(data), v.about(name, data, below), nil
	}
	return read(v.Files, name)
}

func (v *buffered) ReadFile(name string) ([]byte, error) {
	data, _, err := v.read(name)
	return data, err
}

func (v *buffered) Open(name string) (fs.File, error) {
	_, data, open, below, err := v.document("open", name)
	switch {
	case err != nil:
		return nil, err
	case open:
		return &openFile{bytes.NewReader(data), v.about(name, data, below)}, nil
	case v.kids[name] != nil:
		entries, err := v.ReadDir(name)
		if err != nil {
			return nil, err
		}
		i, err := v.Stat(name)
		return &openDir{i, entries}, err
	}
	return v.Files.Open(name)
}

func (v *buffered) Stat(name string) (fs.FileInfo, error)  { return v.look(name, v.Files.Stat) }
func (v *buffered) Lstat(name string) (fs.FileInfo, error) { return v.look(name, v.Files.Lstat) }

// look does not ask the face about files that are there and of which it has not told.
func (v *buffered) look(name string, stat func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	i, err := stat(name)
	switch {
	case err == nil && (i.IsDir() || !v.within[v.follow(name)] || i.Mode()&fs.ModeSymlink != 0):
		return i, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil && v.kids[name] != nil:
		return info{name: path.Base(name), mode: fs.ModeDir | 0o755, mod: v.since}, nil
	}
	_, data, open, below, derr := v.document("stat", name)
	if derr != nil || !open {
		return i, errors.Join(err, derr)
	}
	return v.about(name, data, below), nil
}

func (v *buffered) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := v.Files.ReadDir(name)
	real := v.follow(name)
	if err != nil && (v.kids[real] == nil || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	for _, kid := range v.kids[real] {
		i, err := v.Lstat(path.Join(real, kid))
		if err != nil {
			continue // it was closed meanwhile
		}
		e := fs.FileInfoToDirEntry(i)
		if at := slices.IndexFunc(all, func(e fs.DirEntry) bool { return e.Name() == kid }); at >= 0 {
			all[at] = e
		} else {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// gate refuses what must not be written: the face is not asked about it.
func (v *buffered) gate(op, name string) error {
	if g, ok := v.Files.(interface{ gate(op, name string) error }); ok {
		return g.gate(op, name)
	}
	return nil
}

func (v *buffered) WriteFile(name string, data []byte, perm fs.FileMode) error {
	now, _, err := v.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && now == nil {
		now = []byte{}
	}
	return v.Replace(name, now, data, perm)
}

func (v *buffered) Replace(name string, before, after []byte, perm fs.FileMode) error {
	if err := v.gate("write", name); err != nil {
		return err
	}
	if after == nil {
		after = []byte{} // nil would remove it
	}
	real, data, open, below, err := v.document("write", name)
	if err != nil {
		return err
	}
	if below != nil && below.IsDir() {
		return failed("write", name, errors.New("is a folder"))
	}
	if !open {
		if err := holds(v.Files, name, before); err != nil { // the face may not know
			return err
		}
	} else if before == nil || !bytes.Equal(data, before) {
		return &StaleError{Path: name}
	}
	if v.addressed(name) {
		return v.Files.Replace(name, before, after, perm)
	}
	done, err := v.buffers.Write(v.ctx, real, before, after)
	switch {
	case err != nil || done:
		return err
	case open: // the document would hide what was written
		return failed("write", name, errors.New("it is open in an editor that does not take the change"))
	}
	return v.Files.Replace(name, before, after, perm)
}

// Remove closes a document, if it is one, and removes the file, if there is one.
func (v *buffered) Remove(name string) error {
	if err := v.gate("remove", name); err != nil {
		return err
	}
	if i, err := v.Files.Lstat(name); err == nil && !i.Mode().IsRegular() {
		return v.Files.Remove(name)
	}
	real, data, open, below, err := v.document("remove", name)
	if err != nil {
		return err
	}
	if open {
		done, err := v.buffers.Write(v.ctx, real, append([]byte{}, data...), nil)
		if err != nil {
			return err
		}
		if !done {
			return failed("remove", name, errors.New("it is open in an editor that does not close it"))
		}
		if _, err := v.Files.Lstat(name); below == nil || err != nil {
			return nil // the face has removed the file, or there was none
		}
	}
	return v.Files.Remove(name)
}

func (v *buffered) RemoveAll(name string) error {
	for at := range v.within {
		if v.kids[at] == nil && (at == name || strings.HasPrefix(at, name+"/")) {
			if err := v.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return v.Files.RemoveAll(name)
}

// Rename moves a document as a new one with its text. Documents in a folder that moves
// stay what they are: only the files move.
func (v *buffered) Rename(from, to string) error {
	_, data, open, below, err := v.document("rename", from)
	if err != nil {
		return err
	}
	_, _, taken, _, err := v.document("rename", to)
	if err != nil {
		return err
	}
	if !open && !taken {
		return v.Files.Rename(from, to)
	}
	if taken {
		return failed("rename", to, fs.ErrExist)
	}
	if err := v.gate("rename", from); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if below != nil {
		mode = below.Mode()
	}
	if err := v.WriteFile(to, data, mode); err != nil {
		return err
	}
	return v.Remove(from)
}

// Chmod is of the file; a document that is not saved has no mode.
func (v *buffered) Chmod(name string, mode fs.FileMode) error {
	if _, err := v.Files.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if _, err := v.Stat(name); err == nil {
			return v.gate("chmod", name)
		}
	}
	return v.Files.Chmod(name, mode)
}

func (v *buffered) disk() *rooted { return diskOf(v.Files) }

// Beneath is the directory under all this; empty: none.
func (v *buffered) Beneath() string { return beneath(v) }

// Differs reports whether a name, or anything below it, need not be as in the directory.
func (v *buffered) Differs(name string) bool {
	if v.within[name] {
		return true
	}
	b, ok := v.Files.(interface{ Differs(name string) bool })
	return ok && b.Differs(name)
}

// IsOwn reports whether a name is burin's own: searches leave it out.
func (v *buffered) IsOwn(name string) bool {
	o, ok := v.Files.(interface{ IsOwn(name string) bool })
	return ok && o.IsOwn(name)
}

var _ Files = (*buffered)(nil)
