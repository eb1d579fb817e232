package undo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/undo"
)

func (r *tree) objects(t *testing.T) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(kept(t, r.state), "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// kept is the folder of contents in the journal in state.
func kept(t *testing.T, state string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(state, "sealed-*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("folders of contents: %v, %v", all, err)
	}
	return all[0]
}

// The next session reads only what may have changed since.
func TestStatCache(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	r := newTree(t, dir, state)
	r.put(t, "old", "old")
	r.put(t, "changed", "a")
	<-time.After(100 * time.Millisecond) // the clock of the file system goes on
	r.put(t, "racy", "a")
	// Changed right before the look, however long the machine takes until it looks.
	if now := time.Now(); os.Chtimes(filepath.Join(dir, "racy"), now, now.Add(time.Minute)) != nil {
		t.Fatal("the time of a file cannot be set")
	}
	if err := r.j.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.close()
	if n := r.objects(t); n != 2 { // "a" is there once
		t.Fatalf("%d contents", n)
	}
	contents := kept(t, state)
	if err := os.RemoveAll(contents); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(contents, 0o700); err != nil {
		t.Fatal(err)
	}
	r = newTree(t, dir, state)
	r.put(t, "changed", "b")
	if err := r.j.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.objects(t); n != 2 { // of "racy" and "changed", not of "old"
		t.Errorf("%d contents were read", n)
	}
	r.close()
	// Without contents, or damaged, what was seen is of no use.
	if err := os.RemoveAll(contents); err != nil {
		t.Fatal(err)
	}
	r = newTree(t, dir, state)
	r.agent(t, "1", "rm old changed racy")
	if u := r.undo(t, "1"); len(u.Kept) > 0 || r.text(t, "old") != "old" {
		t.Errorf("%+v", u)
	}
	r.close()
}

// Turns that are too old, or too much, are forgotten with what only they refer to.
func TestPrune(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	r := newTree(t, dir, state)
	for i := range 4 {
		r.commit(t, "f", strings.Repeat(fmt.Sprint(i), 1000))
		r.j.BeginTurn(fmt.Sprint(i+1), "")
	}
	other := newTree(t, dir, state)
	if err := r.j.Tidy(time.Now().Add(40 * 24 * time.Hour)); err != nil || len(r.j.Turns()) != 4 {
		t.Errorf("pruned while another session uses it: %v", err)
	}
	other.close()
	if err := r.j.Prune(time.Now(), 2500); err != nil {
		t.Fatal(err)
	}
	if n := len(r.j.Turns()); n != 1 { // the last refers to two contents, the one before to a third
		t.Errorf("%d turns", n)
	}
	if n := r.objects(t); n != 2 {
		t.Errorf("%d contents", n)
	}
	r.close()
	r = newTree(t, dir, state)
	turns := r.j.Turns()
	if len(turns) != 1 {
		t.Fatalf("%d turns after opening again", len(turns))
	}
	if u := r.undo(t, turns[0].ID); len(u.Kept) > 0 || r.text(t, "f") != strings.Repeat("2", 1000) {
		t.Errorf("%+v", u)
	}
	if err := r.j.Prune(time.Now().Add(31*24*time.Hour), undo.MaxTurns); err != nil || len(r.j.Turns()) != 0 || r.objects(t) != 0 {
		t.Errorf("after a month: %v, %d turns, %d contents", err, len(r.j.Turns()), r.objects(t))
	}
	r.close()
}

func TestTorn(t *testing.T) {
	for _, tt := range []struct {
		old, new, data string
		want           bool
	}{
		{"aaaa", "bb", "aaaa", true},
		{"aaaa", "bb", "baaa", true},
		{"aaaa", "bb", "bbaa", true},
		{"aa", "bbbb", "ba", true},
		{"aa", "bbbb", "bbb", true},
		{"aaaa", "bb", "bbba", false},
		{"aaaa", "bb", "bba", false},
		{"aa", "bbbb", "b", false},
		{"aa", "bbbb", "bbbbb", false},
		{"aa", "bb", "user", false},
	} {
		if got := undo.Torn([]byte(tt.old), []byte(tt.new), []byte(tt.data)); got != tt.want {
			t.Errorf("%s to %s: %s is %v", tt.old, tt.new, tt.data, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("burin tree 1\n\x01a\x04file"))
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add([]byte(`{"turn":"1","changes":[{"path":"a"}]}`))
	f.Add([]byte("ref: refs/heads/main\n"))
	f.Add([]byte("# pack-refs\n0123456789012345678901234567890123456789 refs/heads/main\n^0123456789012345678901234567890123456789\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !undo.Parse(data) {
			t.Error("what was read is not written the same")
		}
	})
}
