package smallfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if _, err := smallfile.Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for size, ok := range map[int]bool{0: true, 9: true, 10: true, 11: false, 5000: false} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := smallfile.Read(path, 10)
		if (err == nil) != ok || ok && len(got) != size {
			t.Errorf("%d bytes of 10: got %d, %v", size, len(got), err)
		}
		if err != nil && (!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v", err)
		}
	}
	if _, err := smallfile.Read(dir, 1<<20); err == nil {
		t.Error("a folder was read")
	}
}

// A file of a gigabyte that takes no room is refused without reading it.
func TestReadRefusesBySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := smallfile.Read(path, smallfile.Settings)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "1024 KB") {
		t.Errorf("got %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}
