//go:build !windows

package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// A process that is just being started has the file open, too: the lock is free all the
// same.
func TestCloseBesideACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	f := open()
	if ok, err := filelock.Try(f); !ok || err != nil {
		t.Fatalf("a free lock: %v, %v", ok, err)
	}
	child, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child) //nolint:errcheck // it is a copy
	if err := filelock.Close(f); err != nil {
		t.Fatal(err)
	}
	if ok, err := filelock.Try(open()); !ok || err != nil {
		t.Errorf("the lock is not free: %v, %v", ok, err)
	}
}
