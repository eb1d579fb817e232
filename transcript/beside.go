package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Moving a session takes three steps: its companion files are copied or linked to the new
// place, the session file is moved, and only then the companions at the old place are removed.
// Until the file is moved, the old place is complete; after that the new one is, whatever
// fails and whenever the process ends.

// beside returns the names of the companions of the session at path: its artifacts, its
// damaged lines, and its versions before rewrites.
func beside(path string) (names []string, err error) {
	final, _ := cutDraft(path)
	base := filepath.Base(final)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if name == filepath.Base(ArtifactDir(path)) || name == base+".damage" || name == base+".draft.damage" || strings.HasPrefix(name, base+".before-") {
			names = append(names, name)
		}
	}
	return names, nil
}

// copyBeside copies the companions of the session at path to newPath, with links where the
// file system supports them. Those of path stay unchanged. Existing companions of newPath are
// an [fs.ErrExist]; with goOn they are considered leftovers of an earlier try and completed.
// undo removes what this call has created; after an error it was called already.
func copyBeside(path, newPath string, goOn bool) (undo func() error, err error) {
	var made []string
	undo = func() (all error) {
		for _, target := range made {
			all = errors.Join(all, os.RemoveAll(target))
		}
		made = nil
		return all
	}
	names, err := beside(path)
	if err != nil {
		return undo, err
	}
	for _, name := range names {
		target := filepath.Join(filepath.Dir(newPath), name)
		switch _, err := os.Lstat(target); {
		case errors.Is(err, fs.ErrNotExist):
			made = append(made, target)
		case err != nil:
			return undo, errors.Join(err, undo())
		case !goOn:
			return undo, errors.Join(fmt.Errorf("%s: %w", target, fs.ErrExist), undo())
		}
		if err := fillTree(filepath.Join(filepath.Dir(path), name), target, linkOrCopy); err != nil {
			return undo, errors.Join(err, undo())
		}
	}
	return undo, nil
}

// fillTree copies from, a file or a folder, to to: each file with give, links unchanged;
// devices are left out. Existing files of the same size stay; others are an [fs.ErrExist].
func fillTree(from, to string, give func(name, as string) error) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if there, err := os.Lstat(target); err == nil {
			if there.Mode().Type() != info.Mode().Type() || there.Size() != info.Size() {
				return fmt.Errorf("%s: %w", target, fs.ErrExist)
			}
			return nil
		}
		switch {
		case d.Type().IsRegular():
			return give(path, target)
		case d.Type()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(leads, target)
		}
		return nil
	})
}

// removeBeside removes the companions of the session at path, which has moved.
func removeBeside(path string) error {
	names, err := beside(path)
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(path), name)))
	}
	if err != nil {
		return fmt.Errorf("done, but some of its files could not be removed from the old place: %w", err)
	}
	return nil
}

// moveFile moves a file, even to another file system, and never replaces anything. After an
// error it is where it was.
func moveFile(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	if os.Rename(from, to) == nil {
		return nil
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	_ = os.Chtimes(to, info.ModTime(), info.ModTime()) // only its position in lists depends on it
	if err := os.Remove(from); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}
