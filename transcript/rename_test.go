package transcript_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/storetest"
)

// A store that closes its file to rename it is as good as any.
func TestClosingFileIsAStore(t *testing.T) {
	pacetest.Costly(t)
	storetest.Run(t, func(t *testing.T) *storetest.Opener {
		path := filepath.Join(t.TempDir(), "session.jsonl")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return &storetest.Opener{Open: func() (transcript.Store, error) {
			s, err := transcript.OpenFile(path)
			if err != nil {
				return nil, err
			}
			return transcript.Closing(s), nil
		}}
	})
}

// A draft goes on under its new name, and is locked there.
func TestClosingDraft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "s.jsonl")
	s := transcript.Closing(transcript.CreateFile(path))
	if _, err := s.Append([]byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(); err != nil {
		t.Fatal(err)
	}
	if _, err := transcript.OpenFile(path); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if _, err := s.Append([]byte(`{"b":2}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(slices.Values([][]byte{[]byte(`{"c":3}`)})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append([]byte(`{"d":4}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if want := "{\"c\":3}\n{\"d\":4}\n"; err != nil || string(data) != want {
		t.Errorf("got %q, %v; want %q", data, err, want)
	}
	if _, err := os.Stat(path + ".draft"); err == nil {
		t.Error("the draft is still there")
	}
}

// Where the new name cannot be given, the session goes on under the old one.
func TestClosingDraftFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s := transcript.Closing(transcript.CreateFile(path))
	if _, err := s.Append([]byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(); err == nil {
		t.Fatal("it took the name of another file")
	}
	if _, err := s.Append([]byte(`{"b":2}`)); err != nil {
		t.Errorf("it cannot go on: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
