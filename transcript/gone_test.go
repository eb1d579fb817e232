package transcript_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
)

// A file that is deleted, with its folder or not, or moved while the session is open is
// there again with the next Sync, whole, and the writer goes on with it alone.
func TestGone(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted":         os.Remove,
		"with its folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"moved":           func(path string) error { return os.Rename(path, path+".mine") },
	} {
		t.Run(name, func(t *testing.T) {
			l, path := create(t)
			add(t, l, user("one"), assistant("two"))
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			add(t, l, user("three"))
			if err := l.Sync(); !errors.Is(err, transcript.ErrGone) {
				t.Errorf("sync: %v", err)
			}
			if err := l.Sync(); err != nil {
				t.Errorf("a second sync: %v", err)
			}
			add(t, l, assistant("four"))
			want := []string{"user: one", "assistant: two", "user: three", "assistant: four"}
			if diff := cmp.Diff(want, said(t, l, l.Leaf())); diff != "" {
				t.Error(diff)
			}
			if _, err := transcript.OpenFile(path); !errors.Is(err, transcript.ErrLocked) {
				t.Errorf("a second writer: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again, damage := open(t, path)
			if diff := cmp.Diff(want, said(t, again, again.Leaf())); diff != "" || damage.String() != "nothing is damaged" {
				t.Errorf("%s %v", diff, damage)
			}
			if left, _ := filepath.Glob(path + ".new"); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// What has the name of a session meanwhile is somebody's, and what is deleted after the
// last word stays deleted.
func TestGoneAndLeft(t *testing.T) {
	l, path := create(t)
	add(t, l, user("one"), assistant("two"))
	if err := os.Rename(path, path+".mine"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err != nil {
		t.Errorf("sync: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "theirs" {
		t.Errorf("another file has %q, %v", text, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}
