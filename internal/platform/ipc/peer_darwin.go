package ipc

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

const orphansKeepParent = false

// Peer gives the id of the process at the other end. It fails if that is another user's.
func Peer(c net.Conn) (pid int, err error) {
	err = control(c, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		if int(cred.Uid) != os.Geteuid() {
			return errOtherUser
		}
		if pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err == nil && pid <= 0 {
			return errUnknown
		}
		return err
	})
	return pid, err
}

// PeerDescends is [Descends] for the process that connected.
func PeerDescends(c net.Conn, of int) (bool, error) {
	pid, err := Peer(c)
	if err != nil {
		return false, err
	}
	return Descends(pid, of)
}

func looker() (func(pid int) (process, error), error) { return look, nil }

func look(pid int) (process, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	if int(p.Proc.P_pid) != pid {
		return process{}, unix.ESRCH
	}
	began := p.Proc.P_starttime
	return process{pid, int(p.Eproc.Ppid), uint64(began.Sec)*1e6 + uint64(began.Usec)}, nil
}

func unseen(int, func(int) (process, error)) (bool, error) {
	return false, errors.New("a process between can't be seen")
}
