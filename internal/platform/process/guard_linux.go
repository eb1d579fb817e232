package process

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// parentSignal comes when the thread that started the guard ends. That may be the
// end of burin or not: parentGone tells.
const parentSignal = unix.SIGUSR2

// executable is a name of the running program that stays right when the file is
// replaced by an update.
func executable() (string, error) { return "/proc/self/exe", nil }

// adopt makes this process the parent of all orphans below it, and has itself
// told of the end of burin.
func adopt(parent int) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(parentSignal), 0, 0, 0); err != nil {
		return fmt.Errorf("ask for a signal at the end of burin: %w", err)
	}
	if parentGone(parent) {
		return fmt.Errorf("burin (process %d) has ended", parent)
	}
	_ = os.WriteFile("/proc/self/comm", []byte(marker), 0) // what killall looks at
	return nil
}

func parentGone(parent int) bool { return os.Getppid() != parent }

// hideInherited keeps descriptors from first on out of the program.
func hideInherited(first int) {
	_ = unix.CloseRange(uint(first), ^uint(0), unix.CLOSE_RANGE_CLOEXEC) // before Linux 5.11: Go's own are hidden anyway
}

// dieWithParent has the program killed if someone kills the guard.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = unix.SIGKILL }

// left says whether anything below the guard is alive: as everything that loses
// its parent becomes the guard's child, it is enough to look at those.
func (r *reaper) left() bool { return r.reap() }

func (r *reaper) below() []int { return Descendants(os.Getpid()) }

// dieOf ends the process by s even if the runtime handles it.
func dieOf(s unix.Signal) {
	var action [64]byte // longer than the kernel's struct; zeros are the default action
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	_ = unix.Kill(os.Getpid(), s)
	var set unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &set, nil)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s)
}
