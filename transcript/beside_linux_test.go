package transcript_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/transcript"
)

// stick makes a file one that cannot be removed until the test ends.
func stick(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		dir := filepath.Dir(path)
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // the folder is to be removed
		return
	}
	const immutable = 0x10 // FS_IMMUTABLE_FL
	set := func(flags int) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	if err := set(immutable); err != nil {
		t.Skip("the file system has no files that stay:", err)
	}
	t.Cleanup(func() { _ = set(0) }) // the folder is to be removed
}

// A session goes to the trash whole also where a part of it cannot be removed from where
// it was, and comes back whole: on one file system and across two.
func TestTrashOfWhatStays(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "burin")
	if err != nil {
		t.Skip("there is no other file system:", err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	for name, trash := range map[string]string{"one file system": t.TempDir(), "two file systems": other} {
		t.Run(name, func(t *testing.T) {
			path := place(t, t.TempDir(), tree)
			want := belongings(t, path)
			stick(t, filepath.Join(transcript.ArtifactDir(path), "sub", "x.jsonl"))
			trashed, err := transcript.Trash(path, trash)
			if err == nil || trashed == "" {
				t.Fatalf("it is in %q: %v", trashed, err)
			}
			in := belongings(t, trashed)
			delete(in, filepath.Base(trashed)+".from")
			if !maps.Equal(want, in) {
				t.Errorf("in the trash is %v", in)
			}
			back, err := transcript.Restore(trashed)
			if err != nil || back != path {
				t.Fatalf("restored to %s: %v", back, err)
			}
			if got := belongings(t, path); !maps.Equal(want, got) {
				t.Errorf("restored: %v", got)
			}
			if left := files(t, trash); len(left) > 0 {
				t.Errorf("left in the trash: %v", left)
			}
		})
	}
}
