// Package keyfile keeps a random key of an installation in a file that only its owner
// can read.
package keyfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Size is the length of a key in bytes.
const Size = 32

// Read returns the key in the file at path.
func Read(path string) ([]byte, error) {
	key, err := smallfile.Read(path, smallfile.Note)
	if err != nil {
		return nil, err
	}
	if len(key) < Size {
		return nil, errShort
	}
	return key, nil
}

var errShort = errors.New("the key is too short")

// Make returns the key in the file at path, and makes one if there is none or it is too
// short to be one. Processes that make it at the same time get the same key.
func Make(path string) ([]byte, error) {
	key, err := Read(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errShort) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	key = make([]byte, Size)
	_, _ = rand.Read(key) // never fails
	_, err = f.Write(key)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err == nil {
		return key, nil
	}
	if there, err := Read(path); err == nil {
		return there, nil
	}
	return key, os.Rename(f.Name(), path)
}
