package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

func TestTry(t *testing.T) {
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
	first, second := open(), open()
	if ok, err := filelock.Try(first); !ok || err != nil {
		t.Fatalf("a free lock: %v, %v", ok, err)
	}
	if ok, err := filelock.Try(second); ok || err != nil {
		t.Fatalf("a lock that is held: %v, %v", ok, err)
	}
	if _, err := second.WriteString("readers and other writers are not stopped"); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := filelock.Try(second); !ok || err != nil {
		t.Errorf("a lock that was given back: %v, %v", ok, err)
	}
}
