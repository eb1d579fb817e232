package ipc

import (
	"errors"
	"fmt"
)

// errOtherUser means that the other side is not the user's process.
var errOtherUser = errors.New("the process at the other end belongs to another user")

// errUnknown means that the other side is a process that can't be seen from here, such as
// one outside the container.
var errUnknown = errors.New("the process at the other end can't be seen from here")

// process is what a system knows of one.
type process struct {
	pid, parent int
	started     uint64 // in the system's own unit
}

// depth bounds the walk over parents.
const depth = 10_000

// Descends reports whether process pid is the process of, or one that it has started, directly
// or not. An error means that it can't be told, because a process ended meanwhile or
// can't be seen: treat it like yes where that is the safe answer.
func Descends(pid, of int) (bool, error) {
	look, err := looker()
	if err != nil {
		return false, err
	}
	return descends(pid, of, look)
}

func descends(pid, of int, look func(pid int) (process, error)) (bool, error) {
	p, err := look(pid)
	for range depth {
		switch {
		case err != nil:
			return false, fmt.Errorf("find the parents of process %d: %w", pid, err)
		case p.pid == of:
			return true, nil
		case p.parent <= 0 || p.parent == p.pid:
			return false, nil
		}
		above, errAbove := look(p.parent)
		// The parent may have ended before it was looked at: what was seen then is another
		// process of that number.
		again, errAgain := look(p.pid)
		switch {
		case errAgain != nil || again.started != p.started:
			return false, fmt.Errorf("find the parents of process %d: process %d has ended", pid, p.pid)
		case again.parent != p.parent:
			p = again
		case errAbove != nil || above.started > p.started:
			if orphansKeepParent {
				return false, nil
			}
			return unseen(of, look)
		default:
			p = above
		}
	}
	return false, fmt.Errorf("find the parents of process %d: there are too many", pid)
}
