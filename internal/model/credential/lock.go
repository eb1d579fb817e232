package credential

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// lockFile takes the lock of that name in home, waiting until ctx ends.
func lockFile(ctx context.Context, home, name string) (unlock func(), err error) {
	dir := filepath.Join(home, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of locks: %w", err)
	}
	f, err := filelock.Take(ctx, filepath.Join(dir, name))
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for another burin: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
