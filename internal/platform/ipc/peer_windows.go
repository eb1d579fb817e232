package ipc

import (
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/windows"
)

// orphansKeepParent: a parent's number stays when the parent has ended, and may be another's.
const orphansKeepParent = true

// Peer gives the id of the process at the other end. It fails if that is another user's.
func Peer(c net.Conn) (pid int, err error) {
	pipe, ok := c.(interface{ Fd() uintptr })
	if !ok {
		return 0, errors.New("not a pipe")
	}
	handle := windows.Handle(pipe.Fd())
	var flags, id uint32
	if err := windows.GetNamedPipeInfo(handle, &flags, nil, nil, nil); err != nil {
		return 0, fmt.Errorf("ask the pipe: %w", err)
	}
	if flags&windows.PIPE_SERVER_END != 0 {
		err = windows.GetNamedPipeClientProcessId(handle, &id)
	} else {
		err = windows.GetNamedPipeServerProcessId(handle, &id)
	}
	if err != nil {
		return 0, fmt.Errorf("ask the pipe for its process: %w", err)
	}
	return int(id), sameUser(id)
}

func sameUser(pid uint32) error {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return errors.Join(errOtherUser, err)
	}
	defer windows.CloseHandle(p) //nolint:errcheck // it was only read
	var token windows.Token
	if err := windows.OpenProcessToken(p, windows.TOKEN_QUERY, &token); err != nil {
		return errors.Join(errOtherUser, err)
	}
	defer token.Close() //nolint:errcheck // it was only read
	theirs, err := userOf(token)
	if err != nil {
		return err
	}
	ours, err := userOf(windows.GetCurrentProcessToken())
	if err == nil && ours != theirs {
		err = errOtherUser
	}
	return err
}

// PeerDescends is [Descends] for the process that connected.
func PeerDescends(c net.Conn, of int) (bool, error) {
	pid, err := Peer(c)
	if err != nil {
		return false, err
	}
	return Descends(pid, of)
}

// looker gives a function that knows the parents of one moment.
func looker() (func(pid int) (process, error), error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer windows.CloseHandle(snapshot) //nolint:errcheck // it was only read
	parents := map[int]int{}
	var e windows.ProcessEntry32
	e.Size = uint32(unsafe.Sizeof(e))
	for err := windows.Process32First(snapshot, &e); err == nil; err = windows.Process32Next(snapshot, &e) {
		parents[int(e.ProcessID)] = int(e.ParentProcessID)
	}
	return func(pid int) (process, error) {
		parent, ok := parents[pid]
		if !ok {
			return process{}, windows.ERROR_NOT_FOUND
		}
		p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
		if err != nil {
			return process{}, err
		}
		defer windows.CloseHandle(p) //nolint:errcheck // it was only read
		var created, ended, kernel, user windows.Filetime
		if err := windows.GetProcessTimes(p, &created, &ended, &kernel, &user); err != nil {
			return process{}, err
		}
		return process{pid, parent, uint64(created.Nanoseconds())}, nil
	}, nil
}

func unseen(int, func(int) (process, error)) (bool, error) { return false, nil }
