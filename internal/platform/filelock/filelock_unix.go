//go:build !windows && !js

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func try(f *os.File, shared bool) (bool, error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

// release gives the lock back for all who have the same open file. What fails here, closing
// puts right.
func release(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
