package transcript_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/storetest"
)

// between is a disk on which something happens between the opening of a file and what
// follows.
type between struct {
	transcript.FileSystem
	happens func(name string)
}

func (b between) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := b.FileSystem.OpenFile(name, flag, perm)
	b.happens(name)
	return f, err
}

// replaced puts another session in the place of the one at path.
func replaced(t *testing.T, path, header string) {
	t.Helper()
	s, err := transcript.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Replace(slices.Values([][]byte{[]byte(header)})), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// A file that gets another in its place while it is opened is not the one that is
// written: nobody would find what was said.
func TestOpenWhileReplaced(t *testing.T) {
	const session = `{"type":"session","version":3,"id":"x","cwd":"/"}`
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(session+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := 0
	disk := between{storetest.NewFaultyDisk(t.TempDir()), func(string) {
		if opened++; opened < 3 {
			replaced(t, path, session)
		}
	}}
	store, err := transcript.OpenFileOn(disk, path)
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, user("one"), assistant("two"))
	if diff := cmp.Diff([]string{"user: one", "assistant: two"}, said(t, read(t, path), l.Leaf())); diff != "" {
		t.Error(diff)
	}
	if _, err := transcript.OpenFile(path); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	forever := between{storetest.NewFaultyDisk(t.TempDir()), func(string) { replaced(t, path, session) }}
	if _, err := transcript.OpenFileOn(forever, path); err == nil {
		t.Error("opened a file that is another each time")
	}
	taken := between{storetest.NewFaultyDisk(t.TempDir()), func(string) { os.Remove(path) }}
	if _, err := transcript.OpenFileOn(taken, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was removed meanwhile: %v", err)
	}
}
