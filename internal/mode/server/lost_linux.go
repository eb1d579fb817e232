package server

import (
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// giveUp ends a connection when what was written isn't acknowledged for a time.
func giveUp(c *net.TCPConn, after time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
	return errors.Join(err, set)
}
