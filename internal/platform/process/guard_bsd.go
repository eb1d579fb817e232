//go:build unix && !linux

package process

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// parentSignal comes when burin ends. The guard sends it to itself.
const parentSignal = unix.SIGUSR2

func executable() (string, error) { return os.Executable() }

// adopt has the guard told of the end of burin. There is no way to become the
// parent of orphans here.
func adopt(parent int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return fmt.Errorf("watch burin: %w", err)
	}
	unix.CloseOnExec(queue)
	end := make([]unix.Kevent_t, 1)
	unix.SetKevent(&end[0], parent, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	end[0].Fflags = unix.NOTE_EXIT
	if _, err := unix.Kevent(queue, end, nil, nil); err != nil || parentGone(parent) {
		return fmt.Errorf("burin (process %d) has ended", parent)
	}
	go func() {
		for {
			n, err := unix.Kevent(queue, nil, end, nil)
			if n > 0 || err != nil && err != unix.EINTR {
				break
			}
		}
		_ = unix.Kill(os.Getpid(), parentSignal)
	}()
	return nil
}

// parentGone may be told a moment before the guard has another parent, so that
// a signal 0 is tried too.
func parentGone(parent int) bool {
	return os.Getppid() != parent || unix.Kill(parent, 0) == unix.ESRCH
}

// hideInherited has nothing to do: Go's own descriptors are hidden anyway.
func hideInherited(int) {}

func dieWithParent(*syscall.SysProcAttr) {}

// left says whether anything of the program is alive that can be found.
func (r *reaper) left() bool {
	children := r.reap()
	return children || len(r.below()) > 0
}

// below lists what descends from the guard, and what is in the program's session:
// most orphans are found there.
func (r *reaper) below() []int {
	self := os.Getpid()
	pids := Descendants(self)
	seen := map[int]bool{self: true}
	for _, pid := range pids {
		seen[pid] = true
	}
	for _, pid := range allProcesses() {
		if session, err := unix.Getsid(pid); err == nil && session == r.program && !seen[pid] {
			pids = append(pids, pid)
		}
	}
	return pids
}

// dieOf ends the process by s, if the runtime lets it.
func dieOf(s unix.Signal) {
	signal.Reset()
	_ = unix.Kill(os.Getpid(), s)
}
