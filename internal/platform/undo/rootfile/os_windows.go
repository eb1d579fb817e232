package rootfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// nonblock has no meaning here: pipes have no names in the file system.
const nonblock = 0

func isBusy(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

func cannotReplace(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}

// special reports whether a new file would lose something of f: its other names.
func special(f *os.File, _ fs.FileInfo) bool {
	var info syscall.ByHandleFileInformation
	return syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info) == nil && info.NumberOfLinks > 1
}

func keepGroup(*os.File, fs.FileInfo) error { return nil }

func fillStat(*Stat, fs.FileInfo) {}
