//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

type state = unix.Termios

// open opens the terminal anew: the descriptors of the process may be redirected, and
// making them non-blocking would make them so for whoever started burin.
func open() (in, out *os.File, err error) {
	f, err := os.OpenFile(ttyName(), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, ErrNone
	}
	if _, _, err := size(f); err != nil {
		_ = f.Close()
		return nil, nil, ErrNone
	}
	return f, f, nil
}

// control calls f with the descriptor, without making it blocking.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// makeRaw is cfmakeraw, but that output keeps its line ends: what else may write to
// the terminal writes \n.
func makeRaw(file, _ *os.File) (*state, error) {
	var before state
	err := control(file, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return err
		}
		before = *t
		t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		t.Cflag &^= unix.CSIZE | unix.PARENB
		t.Cflag |= unix.CS8
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, setTermios, t)
	})
	if err != nil {
		return nil, err
	}
	return &before, nil
}

func restore(file, _ *os.File, to *state) {
	_ = control(file, func(fd int) error { return unix.IoctlSetTermios(fd, setTermiosFlush, to) })
}

func size(file *os.File) (width, height int, err error) {
	err = control(file, func(fd int) error {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil {
			width, height = int(ws.Col), int(ws.Row)
		}
		return err
	})
	return width, height, err
}

// foreground is true where it cannot be told.
func foreground(file *os.File) bool {
	mine := true
	_ = control(file, func(fd int) error {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		mine = err != nil || group == unix.Getpgrp()
		return err
	})
	return mine
}

// rawOutput leaves what is written as it is.
func rawOutput(file *os.File) error {
	return control(file, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return err
		}
		t.Oflag &^= unix.OPOST
		return unix.IoctlSetTermios(fd, setTermios, t)
	})
}

// waiting is how many bytes have been typed and not been read.
func waiting(file *os.File) (n int) {
	_ = control(file, func(fd int) (err error) { // where that can't be told, nothing is taken to wait
		n, err = unix.IoctlGetInt(fd, getWaiting)
		return err
	})
	return n
}
