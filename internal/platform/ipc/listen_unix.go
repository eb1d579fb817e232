//go:build unix

package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// Listen listens at an address. A socket that is there is replaced in one step, so that
// clients never find none. Only the process that holds the lock may call it (see
// [Join]): who listened there before gets no more connections.
func Listen(address string) (*Listener, error) {
	if err := checkSocket(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Remove(address + next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that was killed
		return nil, fmt.Errorf("listen: %w", err)
	}
	name, done, err := short(address + next)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	own, err := publish(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", errors.Join(err, l.Close()))
	}
	remove := func() error {
		there, err := os.Lstat(address)
		if err != nil || !os.SameFile(own, there) { // another has replaced it
			return nil
		}
		return os.Remove(address)
	}
	return &Listener{net: l, remove: remove, closed: make(chan struct{})}, nil
}

func publish(address string) (fs.FileInfo, error) {
	if err := os.Chmod(address+next, 0o600); err != nil {
		return nil, err
	}
	own, err := os.Lstat(address + next)
	if err != nil {
		return nil, err
	}
	return own, os.Rename(address+next, address)
}

// Dial connects to who listens at an address. The error is [ErrAbsent] if nobody does,
// and says so if it is another user.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	if err := checkSocket(address); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("connect to %s: %w", address, ErrAbsent)
	} else if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	name, done, err := short(address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer done()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", name)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("connect to %s: %w", address, ErrAbsent)
	}
	if err != nil {
		return nil, err
	}
	if _, err := Peer(c); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, errors.Join(err, c.Close()))
	}
	return c, nil
}

// checkSocket checks that what has that name is a socket of the user.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket", path)
	case ownerOf(info) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user (%d)", path, ownerOf(info))
	}
	return nil
}
