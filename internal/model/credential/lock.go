package credential

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// lockPoll is how often a lock that another process holds is tried.
const lockPoll = 15 * time.Millisecond

// lockFile takes the lock of that name in home, waiting until ctx ends. The lock
// belongs to the open file and ends with it, also when the process is killed.
// The file itself stays: removing it would let two processes hold two locks of
// one name.
func lockFile(ctx context.Context, home, name string) (unlock func(), err error) {
	dir := filepath.Join(home, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of locks: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	for {
		ok, err := filelock.Try(f)
		if ok {
			return func() { _ = f.Close() }, nil
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			_ = f.Close()
			return nil, fmt.Errorf("wait for another burin: %w", ctx.Err())
		case <-timer.C:
		}
	}
}
