//go:build unix

package sandbox

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// userMayWrite says whether burin's user, outside any sandbox, could write path or
// make it.
func userMayWrite(path string) bool {
	for {
		err := unix.Access(path, unix.W_OK)
		if !errors.Is(err, unix.ENOENT) || path == filepath.Dir(path) {
			return err == nil
		}
		path = filepath.Dir(path)
	}
}
