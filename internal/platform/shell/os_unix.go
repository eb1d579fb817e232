//go:build !windows

package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/process"
)

// pwdFlag makes a shell print its folder without links.
const pwdFlag = "-P"

// exitCode is the exit code as shells give it: 128 and the signal for a program
// that a signal ended.
func exitCode(p *os.ProcessState) int {
	if p == nil {
		return -1
	}
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}

// askToEnd sends SIGTERM to a program and all it started. They are stopped first
// and go on when each has the signal: a shell whose command ended before it would
// begin the next one. The program itself goes on a moment before the others, for
// the shell in burin, which takes note of a signal a little later than it comes.
func askToEnd(cmd *exec.Cmd) {
	pids := process.Descendants(cmd.Process.Pid) // of the guard
	if len(pids) == 0 {                          // it is still starting the program, or has lost it
		process.Terminate(cmd)
		return
	}
	slices.Reverse(pids)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGCONT} {
		for i, pid := range pids {
			if s == syscall.SIGCONT && i == 1 {
				time.Sleep(headStart)
			}
			_ = syscall.Kill(pid, s) // fails for those that have ended
		}
	}
}

const headStart = 10 * time.Millisecond

// openTerminal makes a terminal of the usual size: master is burin's end, slave
// the program's.
func openTerminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer blocking.Close()
	// Package pty leaves it in a state in which neither deadlines nor Close end a
	// read that waits.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		if err = unix.SetNonblock(fd, true); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		slave.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), blocking.Name())
	if err := resizeTerminal(master, terminalCols, terminalRows); err != nil {
		closeAll(master, slave)
		return nil, nil, err
	}
	return master, slave, nil
}

func resizeTerminal(master *os.File, cols, rows int) error {
	conn, err := master.SyscallConn()
	if err == nil {
		err2 := conn.Control(func(fd uintptr) {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
		})
		err = errors.Join(err, err2)
	}
	if err != nil {
		return fmt.Errorf("set the size of the terminal: %w", err)
	}
	return nil
}

func gitFolders() []string { return nil }

func extendPath(path string) string { return path }
