package transcript_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/storetest"
)

// stores are the forms of a new session in a file.
func stores(t *testing.T) map[string]func(transcript.Store) transcript.Store {
	key, err := sealed.NewKey(make([]byte, sealed.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(transcript.Store) transcript.Store{
		"plain": func(s transcript.Store) transcript.Store { return s },
		"encrypted": func(s transcript.Store) transcript.Store {
			in, err := sealed.New(s, key)
			if err != nil {
				t.Fatal(err)
			}
			return in
		},
	}
}

// startOn begins a session of one prompt on a disk that can fail.
func startOn(t *testing.T, wrap func(transcript.Store) transcript.Store) (*transcript.Log, *storetest.FaultyDisk, string) {
	t.Helper()
	disk := storetest.NewFaultyDisk(t.TempDir())
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l, err := transcript.Create(wrap(transcript.CreateFileOn(disk, path)), transcript.Header{CWD: "/"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, user("a prompt"))
	return l, disk, path
}

// An answered session that cannot get its name is tried again with each Append, Sync
// and Close.
func TestPublishedLater(t *testing.T) {
	for form, wrap := range stores(t) {
		for when, again := range map[string]func(l *transcript.Log) error{
			"append": func(l *transcript.Log) error { _, err := l.Append(user("more")); return err },
			"sync":   (*transcript.Log).Sync,
			"close":  (*transcript.Log).Close,
		} {
			t.Run(form+" "+when, func(t *testing.T) {
				l, disk, path := startOn(t, wrap)
				for range 2 {
					disk.Faults.Arm(storetest.Fault{At: 1, Op: "rename", Err: syscall.EDQUOT})
					if _, err := l.Append(assistant("an answer")); !errors.Is(err, syscall.EDQUOT) {
						t.Fatalf("append: %v", err)
					}
				}
				if err := again(l); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(path); err != nil {
					t.Errorf("it has no name: %v", err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// An answered session that never gets its name is kept as a draft, and everything says
// so. Who goes on with the draft gives it the name.
func TestUnpublishedIsKept(t *testing.T) {
	for form, wrap := range stores(t) {
		t.Run(form, func(t *testing.T) {
			l, _, path := startOn(t, wrap)
			if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(assistant("an answer")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("append: %v", err)
			}
			if err := l.Sync(); !errors.Is(err, fs.ErrExist) {
				t.Errorf("sync: %v", err)
			}
			if err := l.Close(); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path+".draft") {
				t.Errorf("close: %v", err)
			}
			if text, _ := os.ReadFile(path); string(text) != "another" {
				t.Errorf("the other file holds %q", text)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if form != "plain" {
				return
			}
			reader := read(t, path+".draft")
			if err := reader.Sync(); err != nil {
				t.Errorf("a reader: %v", err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a reader has named the session")
			}
			l, _ = open(t, path+".draft")
			add(t, l, user("more"))
			want := []string{"user: a prompt", "assistant: an answer", "user: more"}
			if diff := cmp.Diff(want, said(t, read(t, path), l.Leaf())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A prompt that was written stays where the disk takes no answer.
func TestPromptOfFullDiskIsKept(t *testing.T) {
	l, disk, path := startOn(t, func(s transcript.Store) transcript.Store { return s })
	full := storetest.Fault{At: 1, Op: "write", Err: syscall.ENOSPC}
	disk.Faults.Arm(full)
	if _, err := l.Append(assistant("an answer")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append: %v", err)
	}
	disk.Faults.Arm(full)
	if err := l.Close(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path+".draft") {
		t.Errorf("close: %v", err)
	}
	l, _ = open(t, path+".draft")
	if diff := cmp.Diff([]string{"user: a prompt"}, said(t, l, l.Leaf())); diff != "" {
		t.Error(diff)
	}
}
