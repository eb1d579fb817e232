package ipc

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	guard "github.com/burin-dev/burin/internal/platform/process"
)

const orphansKeepParent = false

// Peer gives the id of the process at the other end: the one that connected, or the one that
// listens. It fails if that is another user's.
func Peer(c net.Conn) (pid int, err error) {
	err = control(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		switch {
		case err != nil:
			return err
		case int(cred.Uid) != os.Geteuid():
			return errOtherUser
		case cred.Pid <= 0:
			return errUnknown
		}
		pid = int(cred.Pid)
		return nil
	})
	return pid, err
}

// PeerDescends is [Descends] for the process that connected. It also fails if that process
// has ended: its number could be another's by now.
func PeerDescends(c net.Conn, of int) (bool, error) {
	pid, err := Peer(c)
	if err != nil {
		return false, err
	}
	handle := -1
	err = control(c, func(fd int) error {
		handle, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		return err
	})
	if errors.Is(err, unix.ENOPROTOOPT) { // before Linux 6.5
		return Descends(pid, of)
	}
	if err != nil {
		return false, fmt.Errorf("find process %d: %w", pid, err)
	}
	defer unix.Close(handle) //nolint:errcheck // it was only read
	does, err := Descends(pid, of)
	if err == nil && !alive(handle) {
		return false, fmt.Errorf("process %d has ended", pid)
	}
	return does, err
}

// alive reports whether the process of a descriptor runs.
func alive(handle int) bool {
	for {
		ended, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && ended == 0
		}
	}
}

func looker() (func(pid int) (process, error), error) { return look, nil }

func look(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	// pid (name) state parent …; the name may hold anything. The start is field 22.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, errors.New("its status can't be read")
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	started, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	return process{pid, parent, started}, errors.Join(err1, err2)
}

// unseen decides where a parent can't be seen, as other users' processes can't on some
// systems (hidepid). Such a process could be one of ours only if below us there is one that
// can't be seen either.
func unseen(of int, look func(pid int) (process, error)) (bool, error) {
	for _, pid := range guard.Descendants(of) {
		if _, err := look(pid); err != nil {
			return false, errors.New("a process between can't be seen")
		}
	}
	return false, nil
}
