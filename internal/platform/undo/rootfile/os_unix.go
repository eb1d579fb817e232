//go:build unix

package rootfile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

func isBusy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// cannotReplace reports whether a rename failed because of what the target is,
// such as a file that is mounted by itself.
func cannotReplace(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || errors.Is(err, fs.ErrPermission)
}

// special reports whether a new file would lose something of f.
func special(f *os.File, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if st.Nlink > 1 || int(st.Uid) != os.Geteuid() {
		return true
	}
	return hasAttributes(f)
}

// keepGroup gives f the group of the file it replaces.
func keepGroup(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); !ok || now.Gid == was.Gid {
		return nil
	}
	return f.Chown(-1, int(was.Gid))
}

// hasAttributes reports whether a file has extended attributes that the system
// would not give to a new file of its own.
func hasAttributes(f *os.File) bool {
	buf := make([]byte, 1024)
	n, err := unix.Flistxattr(int(f.Fd()), buf)
	if err != nil {
		return errors.Is(err, unix.ERANGE)
	}
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if name != "" && name != "security.selinux" && name != "com.apple.provenance" {
			return true
		}
	}
	return false
}
