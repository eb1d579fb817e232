// Package keyfile keeps a random key of an installation in a file that only its owner
// can read.
package keyfile

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"github.com/burin-dev/burin/internal/platform/filelock"
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
		return nil, ErrShort
	}
	return key, nil
}

// ErrShort means that what is in the file is too short to be a key.
var ErrShort = errors.New("the key is too short")

// Make returns the key in the file at path, and makes one if there is none or it is too
// short to be one. Processes that make it at the same time get the same key.
func Make(path string) ([]byte, error) {
	return filelock.Once(path, Read, missing, func() ([]byte, error) {
		key := make([]byte, Size)
		_, _ = rand.Read(key) // never fails
		return key, smallfile.Replace(path, key)
	})
}

// missing reports whether there is no key.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrShort) }
