//go:build unix && !linux

package terminal

import "golang.org/x/sys/unix"

const (
	getWaiting      = 0x4004667f // FIONREAD
	getTermios      = unix.TIOCGETA
	setTermios      = unix.TIOCSETA
	setTermiosFlush = unix.TIOCSETAF
)

// ttyName is the controlling terminal. Reads of it cannot be broken off on all of
// these systems; the next key then ends them.
func ttyName() string { return "/dev/tty" }
