//go:build unix

package update

import (
	"errors"
	"io"
	"os"
	"syscall"
)

const asAdministrator = "run sudo burin update"

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// replace puts the program at file in the place of exe, which is kept at old. At every
// moment there is a whole program at exe. Processes that run from it keep the old file.
func replace(exe, file, old string) error {
	part := old + ".part"
	_ = os.Remove(part)
	if os.Link(exe, part) != nil { // some file systems have no links, some systems no right to them
		if err := clone(exe, part); err != nil {
			return err
		}
	}
	defer os.Remove(part)
	if err := os.Rename(part, old); err != nil {
		return err
	}
	return os.Rename(file, exe)
}

func clone(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
