// Package filelock takes advisory locks on open files, so that two processes do
// not write one file. A lock belongs to the open file and ends with it, also when
// the process is killed; readers are never kept out.
//
// [Take] waits for the lock of a file that is there for nothing else. Such a file
// stays when the lock is given back: removing it would let two processes hold two
// locks of one name.
package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// poll is how often a lock that another has is tried. No system tells of its end
// without a thread that waits for it.
const poll = 5 * time.Millisecond

// Take opens or makes the file at path and takes its exclusive lock, as soon as no
// other open file has it. If ctx ends first, the error is its cause. Closing the file
// gives the lock back.
func Take(ctx context.Context, path string) (*os.File, error) { return take(ctx, path, Try) }

// TakeShared is [Take] for a lock that is shared with others.
func TakeShared(ctx context.Context, path string) (*os.File, error) {
	return take(ctx, path, TryShared)
}

// take tries at least once, even if ctx has ended.
func take(ctx context.Context, path string, try func(*os.File) (bool, error)) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		ok, err := try(f)
		if ok {
			return f, nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
}

// Close gives the lock of f back and closes it. Closing alone gives it back a moment
// later where a program is just being started: until that runs, its process has all that
// is open here, and with it the lock.
func Close(f *os.File) error {
	release(f)
	return f.Close()
}

// onceTime is how long another process may take to make what [Once] waits for.
const onceTime = 10 * time.Second

// Once returns what is in the file at path, as read has it. If read's error is a missing one, it returns
// what fill makes and writes there. Processes that do so at the same time all get what the first one made.
func Once[T any](path string, read func(path string) (T, error), missing func(error) bool, fill func() (T, error)) (is T, err error) {
	if is, err = read(path); !missing(err) {
		return is, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return is, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), onceTime)
	defer cancel()
	lock, err := Take(ctx, path+".lock")
	if err != nil {
		return is, err
	}
	defer Close(lock)                        //nolint:errcheck // nothing was written to it
	if is, err = read(path); !missing(err) { // somebody else was first
		return is, err
	}
	return fill()
}

// Try takes the exclusive lock of f unless another open file has it. It does not
// wait. Closing f gives the lock back.
func Try(f *os.File) (bool, error) { return try(f, false) }

// TryShared takes the lock of f together with others that share it, unless another
// open file has it alone.
func TryShared(f *os.File) (bool, error) { return try(f, true) }
