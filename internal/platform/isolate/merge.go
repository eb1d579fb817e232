package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Write is a file to write.
type Write struct {
	Path   string
	Data   []byte      // of a link its target
	Mode   fs.FileMode // 0o644, 0o755 or fs.ModeSymlink
	Delete bool
	// Chmod says that a file that is there gets the right to execute of Mode. Else it keeps its own.
	Chmod bool
}

// Conflict is a change that doesn't fit to the file as it is.
type Conflict struct {
	Path string
	Why  string
	Text []byte // as git merge-file prints it, with markers; nil where lines don't help
}

// Merged is what to write, and what somebody has to decide.
type Merged struct {
	Writes    []Write
	Conflicts []Conflict
}

// Link is the error of a read for Merge that finds a symbolic link.
type Link struct{ Target string }

func (l *Link) Error() string { return "it is a symbolic link to " + l.Target }

// Reader reads the files below a folder for [Merge]. It follows no links.
func Reader(dir string) func(name string) ([]byte, fs.FileMode, error) {
	return func(name string) ([]byte, fs.FileMode, error) {
		if !fs.ValidPath(name) {
			return nil, 0, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, 0, err
		}
		defer root.Close()
		parts := strings.Split(name, "/")
		for i := range parts[:len(parts)-1] {
			info, err := root.Lstat(filepath.Join(parts[:i+1]...))
			if err != nil {
				return nil, 0, err
			}
			if !info.IsDir() {
				return nil, 0, fmt.Errorf("%s is not a folder", strings.Join(parts[:i+1], "/"))
			}
		}
		local := filepath.Join(parts...)
		info, err := root.Lstat(local)
		switch {
		case err != nil:
			return nil, 0, err
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := root.Readlink(local)
			if err != nil {
				return nil, 0, err
			}
			return nil, 0, &Link{to}
		case !info.Mode().IsRegular():
			return nil, 0, fmt.Errorf("%s is no file", name)
		case info.Size() > MaxFile:
			return nil, 0, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
		}
		data, err := root.ReadFile(local)
		if runtime.GOOS == "windows" {
			return data, 0, err
		}
		return data, info.Mode().Perm(), err
	}
}

// Merge joins changes with the files as they are: it says what to write, and writes nothing.
// read gives the contents of a file and its mode, 0 on systems without modes; an error is
// fs.ErrNotExist where there is none, and may be a [Link]. Lines that both changed are merged as git merge-file does it.
//
// Deletions come first in what to write. Whoever writes removes the folders that they leave
// empty, since a file may take the place of a folder.
func Merge(changes []Change, read func(path string) ([]byte, fs.FileMode, error)) (Merged, error) {
	var m Merged
	gone := map[string]bool{} // files that are deleted, and the folders above them
	for _, deletes := range []bool{true, false} {
		for _, c := range changes {
			if deletes != (c.TheirsMode == 0) {
				continue
			}
			if err := m.add(c, read, gone); err != nil {
				return Merged{}, fmt.Errorf("merge %s: %w", c.Path, err)
			}
		}
		for _, w := range m.Writes {
			for at := w.Path; w.Delete && at != "."; at = path.Dir(at) {
				gone[at] = true
			}
		}
	}
	return m, nil
}

// replaces reports whether a deleted file makes room for the one at name: it was in the place
// of one of its folders, or in a folder in its place.
func replaces(gone map[string]bool, name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		if gone[at] {
			return true
		}
	}
	return false
}

// side is a file in one of the three versions.
type side struct {
	data []byte
	kind fs.FileMode // 0: no file; fs.ModeSymlink; 0o644 for any other
}

func (s side) equal(t side) bool { return s.kind == t.kind && bytes.Equal(s.data, t.data) }

// kind is a mode without the right to execute.
func kind(mode fs.FileMode) fs.FileMode { return mode &^ 0o111 }

func (m *Merged) add(c Change, read func(path string) ([]byte, fs.FileMode, error), gone map[string]bool) error {
	conflict := func(why string, text []byte) { m.Conflicts = append(m.Conflicts, Conflict{c.Path, why, text}) }
	switch {
	case !fs.ValidPath(c.Path):
		conflict("it is outside of the workspace", nil)
		return nil
	case c.Large:
		conflict(fmt.Sprintf("it is too large to merge (%d MiB, and %d MiB of all files)", MaxFile>>20, MaxTotal>>20), nil)
		return nil
	}
	base, theirs := side{c.Base, kind(c.BaseMode)}, side{c.Theirs, kind(c.TheirsMode)}
	var ours side
	data, perm, err := read(c.Path)
	switch link := (*Link)(nil); {
	case errors.As(err, &link):
		ours = side{[]byte(link.Target), fs.ModeSymlink}
	case errors.Is(err, fs.ErrNotExist):
	case err != nil && c.BaseMode == 0 && replaces(gone, c.Path):
	case err != nil:
		conflict(err.Error(), nil)
		return nil
	default:
		ours = side{data, 0o644}
	}
	chmod := base.kind == 0o644 && theirs.kind == 0o644 && c.BaseMode != c.TheirsMode
	mode := func(data []byte) {
		m.Writes = append(m.Writes, Write{Path: c.Path, Data: data, Mode: c.TheirsMode, Chmod: chmod})
	}
	// differs reports whether the file here is known to have another right to execute than a mode.
	differs := func(mode fs.FileMode) bool { return perm != 0 && perm&0o100 != mode&0o100 }
	switch {
	case ours.equal(base) && theirs.kind == 0 && differs(c.BaseMode):
		conflict("it was deleted there, and its mode was changed here", nil)
	case ours.equal(base) && theirs.kind == 0:
		m.Writes = append(m.Writes, Write{Path: c.Path, Delete: true})
	case ours.equal(base):
		mode(theirs.data)
	case ours.equal(theirs):
		// The same change on both sides; only the mode may differ.
		switch known := perm != 0; {
		case known && chmod && differs(c.TheirsMode), !known && ours.kind == 0o644 && c.TheirsMode != c.BaseMode && c.TheirsMode&0o111 != 0:
			mode(theirs.data)
		case base.kind != 0o644 && differs(c.TheirsMode):
			conflict("both sides added it, with different modes", nil)
		}
	case theirs.equal(base): // only the right to execute has changed
		switch {
		case perm != 0 && !differs(c.TheirsMode): // on both sides
		case ours.kind == 0o644:
			mode(ours.data)
		default:
			conflict("its mode was changed there, and here it was removed or replaced", nil)
		}
	case theirs.kind == 0:
		conflict("it was deleted there and changed here", nil)
	case ours.kind == 0:
		conflict("it was changed there and deleted here", nil)
	case ours.kind != theirs.kind || ours.kind == fs.ModeSymlink:
		conflict("both sides changed what kind of file it is, or where it links to", nil)
	case c.Binary || binary(ours.data):
		conflict("both sides changed a binary file", nil)
	default:
		text, clean, err := mergeFile(ours.data, base.data, theirs.data)
		switch {
		case err != nil:
			return err
		case clean && base.kind == 0 && differs(c.TheirsMode):
			conflict("both sides added it, with different modes", nil)
		case clean:
			mode(text)
		case base.kind == 0:
			conflict("both sides added it", text)
		default:
			conflict("both sides changed the same lines", text)
		}
	}
	return nil
}

// mergeFile has git merge three versions.
func mergeFile(ours, base, theirs []byte) (text []byte, clean bool, err error) {
	dir, err := os.MkdirTemp("", "burin-merge-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	args := []string{"-C", dir, "merge-file", "-p", "-L", "yours", "-L", "base", "-L", "agent"}
	for _, x := range []struct {
		name string
		data []byte
	}{{"yours", ours}, {"base", base}, {"agent", theirs}} {
		file := filepath.Join(dir, x.name)
		if err := os.WriteFile(file, x.data, 0o600); err != nil {
			return nil, false, err
		}
		args = append(args, file)
	}
	text, err = run(context.Background(), dir, order{}, args...)
	// The exit code counts the conflicts, up to 127; above are errors.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() <= 127 {
		return text, false, nil
	}
	return text, err == nil, err
}
