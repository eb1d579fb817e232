//go:build unix

package ipc

import (
	"errors"
	"net"
	"syscall"
)

// control calls f with the descriptor of c.
func control(c net.Conn, f func(fd int) error) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return errors.New("not a socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = f(int(fd)) }); failed != nil {
		return failed
	}
	return err
}
