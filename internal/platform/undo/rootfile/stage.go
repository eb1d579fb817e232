package rootfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Staged is a file that waits to take its place. Either Commit or Discard must
// be called.
type Staged struct {
	root *os.Root
	name string
	temp string // beside name; empty: the file is written in place
	data []byte // of a file written in place
	old  fs.FileInfo
}

// Stage prepares a file with this data. A file that exists keeps its mode; a new
// one gets perm, less the umask. Its folder must exist. What would make the
// replacement fail (no permission, no space, a folder in the way) makes Stage
// fail, as far as it can be known.
func Stage(root *os.Root, name string, data []byte, perm fs.FileMode) (*Staged, error) {
	s := &Staged{root: root, name: name, data: data}
	old, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, s.write(data, perm)
	}
	if err != nil {
		return nil, err
	}
	if !old.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "write", Path: name, Err: fmt.Errorf("%w but %s", ErrNotRegular, kind(old.Mode()))}
	}
	inPlace, err := s.examine()
	if err != nil || inPlace {
		return s, err
	}
	err = s.write(data, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return s, nil // no new file here, or not of this group; but the file can be written
	}
	return s, err
}

// examine opens the file as if to write it, so that the system decides whether
// that is allowed, and reports whether it must be written in place.
func (s *Staged) examine() (inPlace bool, err error) {
	f, err := s.root.OpenFile(s.name, os.O_WRONLY|nonblock, 0)
	if isBusy(err) { // a program that runs can be replaced, not written
		s.old, err = s.root.Lstat(s.name)
		return false, err
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if s.old, err = f.Stat(); err != nil {
		return false, err
	}
	if !s.old.Mode().IsRegular() {
		return false, &fs.PathError{Op: "write", Path: s.name, Err: ErrNotRegular}
	}
	return special(f, s.old), nil
}

// write makes the temporary file. After an error there is none.
func (s *Staged) write(data []byte, perm fs.FileMode) error {
	return s.fill(perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// fill is write for what is written in pieces.
func (s *Staged) fill(perm fs.FileMode, contents func(io.Writer) error) (err error) {
	temp := filepath.Join(filepath.Dir(s.name), TempName())
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm.Perm())
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = s.root.Remove(temp)
			return
		}
		s.temp = temp
	}()
	if err = contents(f); err != nil {
		return err
	}
	if s.old == nil {
		return nil
	}
	if err = keepGroup(f, s.old); err != nil {
		return err
	}
	if err = keepMode(f, s.old.Mode()); err != nil {
		return err
	}
	// Without this a power failure could leave neither the old nor the new.
	return f.Sync()
}

// keepMode gives f the mode bits of the file it replaces.
func keepMode(f *os.File, mode fs.FileMode) error {
	return f.Chmod(mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// Commit puts the file in its place. After an error the old one is still there,
// or again.
func (s *Staged) Commit() error {
	if s.temp == "" {
		return s.overwrite(s.data)
	}
	err := s.root.Rename(s.temp, s.name)
	if err == nil {
		return nil
	}
	_ = s.root.Remove(s.temp)
	if s.old != nil && cannotReplace(err) {
		return s.overwrite(s.data)
	}
	return err
}

// Discard drops the new contents.
func (s *Staged) Discard() {
	if s.temp != "" {
		_ = s.root.Remove(s.temp)
	}
}

// overwrite writes the file itself. Its old contents are kept beside it
// meanwhile, if there is room, for the case that the program is killed.
func (s *Staged) overwrite(data []byte) error {
	f, err := s.root.OpenFile(s.name, os.O_RDWR|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "write", Path: s.name, Err: ErrNotRegular}
	}
	old, err := readAll(f, info.Size()+1, 1<<62)
	if err != nil {
		return err
	}
	backup := &Staged{root: s.root, name: s.name, old: info}
	if err := backup.write(old, 0o600); err == nil {
		defer backup.Discard()
	}
	if err := refill(f, data); err != nil {
		return errors.Join(err, refill(f, old))
	}
	return nil
}

// refill makes data the contents of f. It truncates last, so that a full disk
// leaves the blocks of the old contents, which may have to be written again.
func refill(f *os.File, data []byte) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}

// Write replaces or creates a file.
func Write(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	s, err := Stage(root, name, data, perm)
	if err != nil {
		return err
	}
	return s.Commit()
}
