//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// changeFile changes mode, owner or times of a file in a writable folder.
func (s *supervisor) changeFile(t caller, n *notification, call changeCall) error {
	restore, err := s.become(t)
	if err != nil {
		return err
	}
	defer restore()
	act, err := t.readChange(n, call)
	if err != nil {
		return err
	}
	fd, err := t.openTarget(n, call)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !s.valid(n) {
		return unix.ESRCH
	}
	if !s.mayChange(fd) {
		return unix.EACCES
	}
	return act(fd)
}

// readChange copies what a call wants to change into a function that does it to
// the file behind an O_PATH descriptor.
func (t caller) readChange(n *notification, call changeCall) (func(fd int) error, error) {
	first := n.args[call.first]
	switch call.change {
	case changeMode:
		return func(fd int) error { return unix.Chmod(magicLink(fd), uint32(first)) }, nil
	case changeOwner:
		user, group := int(int32(first)), int(int32(n.args[call.first+1]))
		return func(fd int) error { return unix.Fchownat(fd, "", user, group, unix.AT_EMPTY_PATH) }, nil
	}
	times, err := t.readTimes(call.change, first)
	if err != nil {
		return nil, err
	}
	return func(fd int) error {
		empty := [1]byte{}
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
			uintptr(unsafe.Pointer(times)), unix.AT_EMPTY_PATH, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}, nil
}

// readTimes copies two times; nil is now.
func (t caller) readTimes(kind change, address uint64) (*[2]unix.Timespec, error) {
	if address == 0 {
		return nil, nil
	}
	size := 32
	if kind == changeUtimbuf {
		size = 16
	}
	b, err := t.read(address, size)
	if err != nil {
		return nil, err
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	switch kind {
	case changeUtimbuf:
		return &[2]unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, nil
	case changeTimeval:
		if max(uint64(word(1)), uint64(word(3))) >= 1_000_000 {
			return nil, unix.EINVAL
		}
		return &[2]unix.Timespec{{Sec: word(0), Nsec: 1000 * word(1)}, {Sec: word(2), Nsec: 1000 * word(3)}}, nil
	}
	return &[2]unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}, nil
}

// openTarget opens the file that a call means, as the caller would find it.
func (t caller) openTarget(n *notification, call changeCall) (int, error) {
	folder, flags := unix.AT_FDCWD, 0
	if call.folder != none {
		folder = int(int32(n.args[call.folder]))
	}
	if call.flags != none {
		flags = int(int32(n.args[call.flags]))
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return -1, unix.EINVAL
	}
	if call.path == none || n.args[call.path] == 0 {
		return t.openFile(folder)
	}
	path, err := t.readString(n.args[call.path])
	if err != nil {
		return -1, err
	}
	if path == "" && flags&unix.AT_EMPTY_PATH != 0 {
		return t.openFile(folder)
	}
	return t.open(folder, path, call.nofollow || flags&unix.AT_SYMLINK_NOFOLLOW != 0)
}

// openFile gives an O_PATH descriptor for the file behind a descriptor of the
// caller; AT_FDCWD is its folder.
func (t caller) openFile(fd int) (int, error) {
	name := t.folder(fd)
	if fd < 0 && fd != unix.AT_FDCWD {
		return -1, unix.EBADF
	}
	opened, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		err = unix.EBADF
	}
	return opened, err
}

// folder names what relative paths of a call begin with.
func (t caller) folder(fd int) string {
	if fd == unix.AT_FDCWD {
		return fmt.Sprintf("/proc/%d/cwd", t.thread)
	}
	return fmt.Sprintf("/proc/%d/fd/%d", t.thread, fd)
}

// open gives an O_PATH descriptor for the file that path means to the caller.
func (t caller) open(folder int, path string, nofollow bool) (int, error) {
	switch {
	case path == "":
		return -1, unix.ENOENT
	case path[0] == '/':
		path = t.own(path)
	default:
		path = t.folder(folder) + "/" + path
	}
	flags := unix.O_PATH | unix.O_CLOEXEC
	if nofollow {
		flags |= unix.O_NOFOLLOW
	}
	return unix.Open(path, flags, 0)
}

// own replaces the names that mean another thing to each process. Links that lead
// to them mean the supervisor's here, where nothing is writable.
func (t caller) own(path string) string {
	if !strings.HasPrefix(path, "/proc/") && !strings.HasPrefix(path, "/dev/") {
		return path
	}
	own := fmt.Sprintf("/proc/%d", t.process())
	for _, name := range [...][2]string{
		{"/proc/self", own},
		{"/proc/thread-self", fmt.Sprintf("%s/task/%d", own, t.thread)},
		{"/dev/fd", own + "/fd"},
		{"/dev/stdin", own + "/fd/0"},
		{"/dev/stdout", own + "/fd/1"},
		{"/dev/stderr", own + "/fd/2"},
	} {
		if rest, ok := strings.CutPrefix(path, name[0]); ok && (rest == "" || rest[0] == '/') {
			return name[1] + rest
		}
	}
	return path
}

// magicLink is a name for the file behind an O_PATH descriptor.
func magicLink(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// nameOf is where the file behind an O_PATH descriptor is now.
func nameOf(fd int) string {
	name, err := os.Readlink(magicLink(fd))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(name, " (deleted)")
}

// mayChange says whether the file behind fd is in a writable folder, or has no
// place at all (a pipe).
func (s *supervisor) mayChange(fd int) bool {
	name := nameOf(fd)
	if !strings.HasPrefix(name, "/") {
		return strings.HasPrefix(name, "pipe:") || strings.HasPrefix(name, "socket:")
	}
	_, walled := s.walls.Refuses(name)
	return !walled && s.mayWrite(name) && !s.isDevice(name)
}
