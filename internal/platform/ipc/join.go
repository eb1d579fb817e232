package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	patience = 2 * time.Second       // for Join
	retry    = 10 * time.Millisecond // between its attempts
)

// ErrSilent means that another process has the lock and doesn't listen.
var ErrSilent = errors.New("another burin has it open and doesn't answer")

// Join connects to the process that listens at an address, or makes this process listen:
// exactly one of client and owner is there unless it fails.
//
// The lock alone decides. tryLock takes it without waiting and says whether this process
// has it now. It is called only if nobody answers, and not again once it said yes. The
// process that has it listens and replaces a socket that is left over. One that can neither
// connect nor get the lock tries again for 2 s, as the owner may be starting or ending; then
// the error is [ErrSilent]. When Join fails, the lock stays with the caller if tryLock said
// yes.
//
// A connection can end at once, because its other side was killed just then: Join again.
// It can also stay silent, because the other side was stopped: give what is said first a
// limit of time.
func Join(ctx context.Context, address string, tryLock func() (bool, error)) (client net.Conn, owner *Listener, err error) {
	over, cancel := context.WithTimeoutCause(ctx, patience, ErrSilent)
	defer cancel()
	for locked := false; ; {
		if !locked {
			if client, err = Dial(over, address); err == nil {
				return client, nil, nil
			}
			var errLock error
			if locked, errLock = tryLock(); errLock != nil {
				return nil, nil, errLock
			}
		}
		if locked {
			// A pipe stays for a moment after its owner, for as long as clients have it open.
			if owner, err = Listen(address); err == nil {
				return nil, owner, nil
			}
		}
		select {
		case <-time.After(retry):
		case <-over.Done():
			return nil, nil, gaveUp(context.Cause(over), err, locked)
		}
	}
}

// gaveUp is the error of Join when its time is up. err is that of the last attempt.
func gaveUp(cause, err error, locked bool) error {
	switch {
	case !errors.Is(cause, ErrSilent):
		return cause
	case locked:
		return err
	case errors.Is(err, ErrAbsent) || errors.Is(err, ErrSilent) || errors.Is(err, context.DeadlineExceeded):
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}
