//go:build !linux && !darwin && !windows

package ipc

import (
	"errors"
	"net"
)

const orphansKeepParent = false

// Peer fails: who connects isn't known on this system.
func Peer(net.Conn) (pid int, err error) { return 0, errors.ErrUnsupported }

// PeerDescends fails like [Peer].
func PeerDescends(net.Conn, int) (bool, error) { return false, errors.ErrUnsupported }

func looker() (func(pid int) (process, error), error) { return nil, errors.ErrUnsupported }

func unseen(int, func(int) (process, error)) (bool, error) { return false, errors.ErrUnsupported }
