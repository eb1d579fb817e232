//go:build unix

package smallfile_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// A pipe to which nobody writes would be waited for.
func TestReadRefusesPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := smallfile.Read(path, smallfile.Settings); err == nil {
		t.Error("a pipe was read")
	}
}
