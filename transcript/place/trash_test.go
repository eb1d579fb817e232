package place_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// A deleted session of a database is in no list, loses nothing, and comes back.
func TestTrashInDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	for _, name := range []string{"one", "two"} {
		l, err := place.Create(t.Context(), file+"#"+name, nil, false, transcript.Header{ID: name, CWD: "/"}, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, says(name), answers(llm.Text{Text: "answer " + name}))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	one := place.Parse(file + "#one")
	check := func(wantListed, wantTrashed []string) {
		t.Helper()
		var listed, trashed []string
		there, err := place.List(t.Context(), file)
		gone, err2 := place.Trashed(t.Context(), file)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for _, l := range there {
			listed = append(listed, l.Name.Session)
		}
		for _, l := range gone {
			trashed = append(trashed, l.Name.Session)
		}
		if diff := cmp.Diff([][]string{wantListed, wantTrashed}, [][]string{listed, trashed}); diff != "" {
			t.Error(diff)
		}
	}
	check([]string{"two", "one"}, nil)

	open, _, err := place.Open(t.Context(), one.String(), nil, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Trash(t.Context(), one); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	if err := place.Trash(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	check([]string{"two"}, []string{"one"})
	if err := place.Trash(t.Context(), one); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a second time: %v", err)
	}
	if err := place.Restore(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	check([]string{"one", "two"}, nil) // the one that was open last is the newest
	if diff := cmp.Diff([]string{"one", "answer one"}, texts(t, one.String(), nil, transcript.Options{})); diff != "" {
		t.Error(diff)
	}
	if err := place.Restore(t.Context(), place.Parse(file+"#none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
	if _, err := place.Trashed(t.Context(), file+"x.db"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no database: %v", err)
	}
}
