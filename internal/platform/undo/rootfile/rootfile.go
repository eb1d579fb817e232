// Package rootfile reads and replaces files beneath an [os.Root].
//
// Reading never blocks: [Open] refuses pipes, sockets and devices. Replacing is
// done at once or not at all: [Stage] writes the new contents beside the file,
// and [Staged.Commit] puts them in its place. Whoever reads the file meanwhile
// sees all of the old or all of the new.
//
// Some files cannot be replaced by another without losing what they are: hard
// links, files of another owner, files with extended attributes, files that are
// mounted by themselves. These are written in place, and their old contents are
// put back if that fails.
//
// Names are relative to the root, in the form of the operating system. A name
// that ends in a symbolic link is not followed by anything that writes: resolve
// it first.
package rootfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var (
	// ErrNotRegular is the error of what is neither a file nor a folder.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge is the error of a file beyond the limit of a read.
	ErrTooLarge = errors.New("file too large")
)

const (
	tempPrefix = ".burin-"
	tempSuffix = ".tmp"
	tempLength = len(tempPrefix) + 16 + len(tempSuffix)
)

// TempName is a new name for a file that exists for a moment only.
func TempName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return tempPrefix + hex.EncodeToString(b[:]) + tempSuffix
}

// IsTemp reports whether a base name is one that [TempName] gives.
func IsTemp(base string) bool {
	return len(base) == tempLength && strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// Open opens a file or folder for reading.
func Open(root *os.Root, name string) (*os.File, error) {
	// To open a pipe or a device can block or do something, so they are sorted
	// out before, and once more after, in case the file was swapped.
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := readable("open", name, info); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = readable("open", name, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readable(op, name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%w but %s", ErrNotRegular, kind(info.Mode()))}
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// Read reads a file of at most limit bytes and gives what was true of it when it
// was opened.
func Read(root *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder")}
	}
	tooLarge := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d MB", ErrTooLarge, limit>>20)}
	if info.Size() > limit {
		return nil, nil, tooLarge
	}
	// One byte more than expected shows a file that has grown, and files whose
	// size the system does not tell.
	data, err := readAll(f, info.Size()+1, limit+1)
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > limit {
		return nil, nil, tooLarge
	}
	return data, info, nil
}

// readAll reads to the end or to limit, into a buffer of the size that is
// expected.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, max(size, 512))
	for {
		n, err := r.Read(data[len(data):min(int64(cap(data)), limit)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) || int64(len(data)) >= limit {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// MkdirAll makes a folder with its parents and gives those that it made,
// outermost first, also with an error.
func MkdirAll(root *os.Root, name string, perm fs.FileMode) (made []string, err error) {
	if name == "." {
		return nil, nil
	}
	info, err := root.Stat(name)
	if err == nil {
		if !info.IsDir() {
			return nil, &fs.PathError{Op: "mkdir", Path: name, Err: fmt.Errorf("is %s", kindOfFile(info.Mode()))}
		}
		return nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	made, err = MkdirAll(root, filepath.Dir(name), perm)
	if err != nil {
		return made, err
	}
	err = root.Mkdir(name, perm)
	if errors.Is(err, fs.ErrExist) { // someone else was faster, or a link leads nowhere
		if info, serr := root.Stat(name); serr == nil && info.IsDir() {
			return made, nil
		}
	}
	if err != nil {
		return made, err
	}
	return append(made, name), nil
}

func kindOfFile(m fs.FileMode) string {
	if m.IsRegular() {
		return "a file"
	}
	return kind(m)
}
