package place_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sqlstore"
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

// What cannot be begun in a database is refused before anything is said in it; a name
// that a crash has left without a record can be used.
func TestBegunAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	create := func(session string) (*transcript.Log, error) {
		return place.Create(t.Context(), file+"#"+session, nil, false, transcript.Header{ID: session}, transcript.Options{})
	}
	for _, name := range []string{"there", "gone"} {
		l, err := create(name)
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, says(name))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := place.Trash(t.Context(), place.Parse(file+"#gone")); err != nil {
		t.Fatal(err)
	}
	if _, err := create("there"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := create("gone"); !errors.Is(err, sqlstore.ErrTrashed) {
		t.Errorf("a name in the trash: %v", err)
	}

	db, err := sqlfile.Open(file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	left, err := sqlstore.Create(t.Context(), db, "left")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create("left"); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a name that another process is about to use: %v", err)
	}
	if err := errors.Join(left.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	l, err := create("left")
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, says("at last"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"at last"}, texts(t, file+"#left", nil, transcript.Options{})); diff != "" {
		t.Error(diff)
	}
}
