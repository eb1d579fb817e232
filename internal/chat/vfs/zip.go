package vfs

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// Imported is what [Tree.Import] has written.
type Imported struct {
	Files, Folders int
	Bytes          int64 // of the files
}

const (
	batchBytes = 4 << 20 // of an import that are written at once
	batchFiles = 500
)

// ErrArchive means that an archive can't be imported. Nothing of it was.
var ErrArchive = errors.New("the archive can't be imported")

// Import unpacks a ZIP archive into a folder, where files of the same names get a new version. All of it
// is read before anything is written, so that an archive that is damaged, too large, or has
// names that lead out of it or links in it changes nothing. Where writing fails half way, as at a limit of
// the project, what was written until then stays.
func (t *Tree) Import(ctx context.Context, archive io.ReaderAt, size int64, into string) (done Imported, err error) {
	if _, err := t.writable(into); err != nil {
		return done, failed("import", into, err)
	}
	z, err := zip.NewReader(archive, size)
	if err != nil {
		return done, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if most := t.s.limits.Nodes; len(z.File) > most {
		return done, fmt.Errorf("%w: it has %d files and folders, and a project %d at most", ErrArchive, len(z.File), most)
	}
	left := t.s.limits.Import
	for _, f := range z.File {
		if err := MayImport(f); err != nil {
			return done, fmt.Errorf("%w: %q: %w", ErrArchive, f.Name, err)
		}
		if _, err := t.writable(path.Join("/", into, f.Name)); err != nil {
			return done, failed("import", f.Name, err)
		}
		n, err := t.s.limits.unpack(f, left, io.Discard)
		if err != nil {
			return done, fmt.Errorf("%w: %q: %w", ErrArchive, f.Name, err)
		}
		left -= n
		if err := ctx.Err(); err != nil {
			return done, err
		}
	}
	for files := z.File; len(files) > 0; {
		n, err := t.importSome(ctx, files, into, &done)
		if err != nil {
			return done, err
		}
		files = files[n:]
	}
	return done, nil
}

// MayImport says what is wrong with the name or the kind of what is in an archive: a name that leads out of it, a link.
func MayImport(f *zip.File) error {
	name := strings.TrimSuffix(f.Name, "/")
	if !utf8.ValidString(name) {
		return errors.New("the name is not UTF-8")
	}
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) || len(name) > 1 && name[1] == ':' {
		return errors.New("the name is absolute")
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." {
			return errors.New("the name leads out of the archive")
		}
	}
	if !fs.ValidPath(name) || name == "." {
		return errors.New("the name is not a path")
	}
	if mode := f.Mode(); !mode.IsRegular() && !mode.IsDir() {
		return errors.New("it is neither a file nor a folder")
	}
	if f.Flags&1 != 0 {
		return errors.New("it is encrypted")
	}
	return nil
}

// unpack unpacks a file of an archive, and no more of it than so many bytes.
func (l Limits) unpack(f *zip.File, left int64, to io.Writer) (int64, error) {
	if f.FileInfo().IsDir() {
		return 0, nil
	}
	most := min(left, l.File)
	r, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n, err := io.Copy(to, io.LimitReader(r, most+1))
	if err == nil && n > most {
		if most == l.File {
			return 0, fmt.Errorf("%w: a file has at most %d bytes", Limit, most)
		}
		return 0, fmt.Errorf("%w: an archive has at most %d MB, unpacked", Limit, l.Import>>20)
	}
	return n, err
}

// importSome writes the first of the files of an archive in one change, and says how many.
func (t *Tree) importSome(ctx context.Context, files []*zip.File, into string, done *Imported) (n int, err error) {
	var contents [][]byte
	size := 0
	for n < len(files) && n < batchFiles && size < batchBytes {
		var data strings.Builder
		if _, err := t.s.limits.unpack(files[n], t.s.limits.File, &data); err != nil {
			return 0, fmt.Errorf("unpack %q: %w", files[n].Name, err)
		}
		contents = append(contents, []byte(data.String()))
		size += data.Len()
		n++
	}
	var now Imported
	err = t.change(ctx, func(e *edit) error {
		now = Imported{}
		for i, f := range files[:n] {
			name := path.Join("/", into, f.Name)
			at, err := t.writable(name)
			switch {
			case err != nil:
			case f.FileInfo().IsDir():
				now.Folders++
				_, err = e.folder(at)
			default:
				now.Files++
				now.Bytes += int64(len(contents[i]))
				_, err = e.file(at, contents[i], f.Mode().Perm()|0o600)
			}
			if err != nil {
				return failed("import", name, err)
			}
		}
		return nil
	})
	if err == nil {
		done.Files, done.Folders, done.Bytes = done.Files+now.Files, done.Folders+now.Folders, done.Bytes+now.Bytes
	}
	return n, failed("import", into, err)
}

// Export writes what is in a folder as a ZIP archive, file by file. A file that is changed
// meanwhile is in it as it is when it is its turn.
func (t *Tree) Export(ctx context.Context, name string, to io.Writer) error {
	top, err := t.Stat(ctx, name)
	if err == nil && !top.Dir {
		err = NotDir
	}
	if err != nil {
		return failed("export", name, err)
	}
	x := exporter{t, zip.NewWriter(to)}
	if err := x.folder(ctx, Clean(name), ""); err != nil {
		return err
	}
	return x.to.Close()
}

// ExportInto writes the files of a tree into a folder of an archive that has more.
func ExportInto(ctx context.Context, t *Tree, to *zip.Writer, folder string) error {
	return exporter{t, to}.folder(ctx, "/", folder)
}

// exporter writes an archive.
type exporter struct {
	of *Tree
	to *zip.Writer
}

func (x exporter) folder(ctx context.Context, dir, within string) error {
	all, err := x.of.List(ctx, dir, false)
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
		return nil
	}
	for _, info := range all {
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: path.Join(within, info.Name()), Modified: info.Modified, Method: zip.Deflate}
		if !info.Dir {
			err = x.file(ctx, head, info.Path)
			continue
		}
		head.SetMode(info.Mode)
		head.Name += "/"
		head.Method = zip.Store
		if _, err = x.to.CreateHeader(head); err == nil {
			err = x.folder(ctx, info.Path, path.Join(within, info.Name()))
		}
	}
	return err
}

func (x exporter) file(ctx context.Context, head *zip.FileHeader, name string) error {
	data, info, err := x.of.Read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	head.SetMode(info.Mode)
	w, err := x.to.CreateHeader(head)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
