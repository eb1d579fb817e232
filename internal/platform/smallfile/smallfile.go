// Package smallfile reads and replaces files that are small by nature, such as settings, keys
// and notes, as a whole. A file that is too large for what it is supposed to be is refused
// by its size, before any of it is read: anybody can make a file of a gigabyte that
// takes no room on the disk, and a repository can bring one.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// How large files of some kind may be, in bytes.
const (
	Settings = 1 << 20  // that people write
	Note     = 64 << 10 // keys, and what burin notes down for itself
	Table    = 32 << 20 // lists that programs write
)

// Read reads the file at path, which has at most limit bytes. A pipe or a socket is
// refused too, because nobody knows when it ends.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would wait
	if err != nil {
		return nil, err
	}
	if info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return Given(path, limit)
}

// Given is [Read] for a path that a person gave with a command, which may be a pipe.
func Given(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, tooLarge(path, limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // it may grow, or say no size
	if int64(len(data)) > limit {
		return nil, tooLarge(path, limit)
	}
	return data, err
}

func tooLarge(path string, limit int64) error {
	return fmt.Errorf("%s is larger than %d KB, the limit for such files: shorten it or move it away", path, limit>>10)
}

// Replace gives the file at path a new content, so that it is the old or the new one at any
// time, and can be read by its owner only. Its folder must exist. A link stays a link.
func Replace(path string, data []byte) error {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
