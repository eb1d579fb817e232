//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// Signals that a guard understands.
const (
	killAll      = unix.SIGTERM // also the polite word of others for "end": children must not stay
	terminateAll = unix.SIGINT
)

// Exit codes of a guard that could not do its work are those of a shell.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// giveUp is how long a guard goes on killing when nothing dies any more.
const giveUp = 10 * time.Second

func prepare(cmd *exec.Cmd, _ Options) error {
	// A group of its own keeps signals to burin's group away from the guard. It
	// stays in burin's session: should someone stop the guard, the kernel wakes
	// it when burin's end orphans its group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// Kill kills the program of a started Command and all that it started. It does
// not wait: Wait returns when all are gone. It may be called more than once and
// from any goroutine.
func Kill(cmd *exec.Cmd) {
	if cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(killAll) // fails if it has ended, which is what is wanted
	_ = cmd.Process.Signal(unix.SIGCONT)
}

// Terminate asks all of them to end (SIGTERM), without waiting.
func Terminate(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Signal(terminateAll)
	}
}

// run is the life of a guard. It returns only if there is no status of the
// program to end with.
func (g guard) run() int {
	runtime.LockOSThread() // the signal at burin's end is bound to the thread that asks for it
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGCHLD, killAll, terminateAll, parentSignal, unix.SIGHUP, unix.SIGQUIT)
	if err := adopt(g.parent); err != nil {
		return g.fail(err)
	}
	pid, err := g.start()
	if err != nil {
		return g.fail(err)
	}
	g.letGo()
	r := reaper{program: pid}
	for s := range signals {
		if s == terminateAll {
			r.signalAll(unix.SIGTERM)
		}
		r.reap()
		if r.ended || s == killAll || parentGone(g.parent) {
			r.killAll()
			return r.endLikeProgram()
		}
	}
	return exitCannotRun
}

// fail tells standard error why there is no program.
func (g guard) fail(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", g.args[0], err) // unbuffered: it is out when the guard ends
	if errors.Is(err, unix.ENOENT) {
		return exitNotFound
	}
	return exitCannotRun
}

// start starts the program. The sandbox confines the thread that the program is
// started from. That thread then ends, so that no part of the guard is in the
// sandbox, where the program could reach it.
func (g guard) start() (pid int, err error) {
	hideInherited(3 + g.extra)
	attr := &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: make([]uintptr, 3+g.extra),
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: g.tty},
	}
	for i := range attr.Files {
		attr.Files[i] = uintptr(i)
	}
	if len(g.sandbox) == 0 {
		dieWithParent(attr.Sys)
		return syscall.ForkExec(g.path, g.args, attr)
	}
	path, args, err := sandbox.Wrap(g.sandbox, g.path, g.args)
	if err != nil {
		return 0, fmt.Errorf("sandbox: %w", err)
	}
	sandbox.OnThread(func() {
		if err = sandbox.Apply(g.sandbox, Descendants); err != nil {
			err = fmt.Errorf("sandbox: %w", err)
			return
		}
		pid, err = syscall.ForkExec(path, args, attr)
	})
	return pid, err
}

// letGo gives up what the guard holds for the program: streams, so that their
// other ends see the program close them, and the folder.
func (g guard) letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 + g.extra {
		if err == nil && fd < 3 {
			_ = unix.Dup2(null, fd)
		} else {
			_ = unix.Close(fd)
		}
	}
	if err == nil {
		_ = unix.Close(null)
	}
	_ = unix.Chdir("/")
}

// reaper collects ended children.
type reaper struct {
	program int
	ended   bool // the program has
	status  unix.WaitStatus
	reaped  int // children so far
}

// reap collects the children that have ended and says whether there are others.
func (r *reaper) reap() (left bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == r.program && !r.ended:
			r.ended, r.status = true, status
		}
		r.reaped++
	}
}

// killAll kills everything below the guard and returns when nothing is left, or
// when nothing has died for giveUp. All are stopped before the first one is
// killed: a process that forks in a loop cannot be caught otherwise.
func (r *reaper) killAll() {
	if !r.left() {
		return
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20) // among a thousand busy ones; root only
	progress, reaped := time.Now(), r.reaped
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		r.stopAll()
		r.signalAll(unix.SIGKILL)
		if !r.left() {
			return
		}
		if r.reaped > reaped {
			progress, reaped = time.Now(), r.reaped
		} else if time.Since(progress) > giveUp {
			return
		}
		time.Sleep(pause)
	}
}

// stopAll stops all processes below the guard, parents first, until a look finds
// none that it has not stopped. The number of looks is bounded; what slips
// through is killed in the next round.
func (r *reaper) stopAll() {
	stopped := map[int]bool{}
	for range 100 {
		found := false
		pids := r.below()
		for i := len(pids) - 1; i >= 0; i-- {
			if pid := pids[i]; !stopped[pid] {
				stopped[pid], found = true, true
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if !found {
			return
		}
	}
}

func (r *reaper) signalAll(s unix.Signal) {
	for _, pid := range r.below() {
		_ = unix.Kill(pid, s)
	}
}

// endLikeProgram ends the guard the way the program ended: it returns the exit
// code, or does not return and dies of the same signal.
func (r *reaper) endLikeProgram() int {
	if !r.ended || !r.status.Signaled() {
		return r.status.ExitStatus()
	}
	s := r.status.Signal()
	noCore := unix.Rlimit{}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &noCore) // the program has left one, if any
	dieOf(s)
	return 128 + int(s)
}
