package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	ended, end := context.WithCancelCause(context.Background())
	errEnded := errors.New("it took too long")
	end(errEnded)

	first, err := filelock.Take(ended, path)
	if err != nil {
		t.Fatalf("a free lock is taken though nobody waits for it: %v", err)
	}
	if _, err := filelock.Take(ended, path); !errors.Is(err, errEnded) {
		t.Errorf("a lock that is held: %v", err)
	}
	if _, err := filelock.TakeShared(ended, path); !errors.Is(err, errEnded) {
		t.Errorf("a share of a lock that is held: %v", err)
	}
	giveBack := time.AfterFunc(20*time.Millisecond, func() { first.Close() })
	defer giveBack.Stop()
	second, err := filelock.TakeShared(t.Context(), path)
	if err != nil {
		t.Fatalf("a lock that was given back meanwhile: %v", err)
	}
	defer second.Close()
	third, err := filelock.TakeShared(t.Context(), path)
	if err != nil {
		t.Fatalf("a second share: %v", err)
	}
	defer third.Close()
	if _, err := filelock.Take(ended, path); !errors.Is(err, errEnded) {
		t.Errorf("a lock that is shared: %v", err)
	}
	if _, err := filelock.Take(t.Context(), filepath.Join(path, "below a file")); err == nil {
		t.Error("a lock without a folder is taken")
	}
}
