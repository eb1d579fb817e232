package rootfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrMoved means that a file did not hold what a splice is about, or changed meanwhile.
var ErrMoved = errors.New("the file has changed")

// Splice puts after in the place of before, which stands at an offset of a file, through a
// copy beside the file that takes its place. The file may be of any size; no more than the
// two texts is in memory. Files that have to be written in place (several names, another
// owner, attributes) are refused.
func Splice(root *os.Root, name string, at int64, before, after []byte) error {
	src, err := Open(root, name)
	if err != nil {
		return err
	}
	defer src.Close()
	s := &Staged{root: root, name: name}
	inPlace, err := s.examine()
	if err != nil {
		return err
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if inPlace || s.old == nil || !os.SameFile(info, s.old) {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("it has several names, another owner or attributes, so that it can only be written as a whole")}
	}
	err = s.fill(0o600, func(w io.Writer) error {
		if _, err := io.CopyN(w, src, at); err != nil {
			return fmt.Errorf("%w: %w", ErrMoved, err)
		}
		held := make([]byte, len(before))
		if _, err := io.ReadFull(src, held); err != nil || !bytes.Equal(held, before) {
			return ErrMoved
		}
		if _, err := w.Write(after); err != nil {
			return err
		}
		_, err := io.Copy(w, src)
		return err
	})
	if err != nil {
		return err
	}
	src.Close() // Windows replaces no file that is open
	now, err := root.Lstat(name)
	if err == nil && (!os.SameFile(info, now) || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime())) {
		err = ErrMoved
	}
	if err == nil {
		err = root.Rename(s.temp, filepath.Clean(name))
	}
	if err != nil {
		s.Discard()
	}
	return err
}
