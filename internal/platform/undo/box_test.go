package undo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/undo"
)

func keyFile(r *tree) string { return filepath.Join(filepath.Dir(r.state), "key") }

// Contents stand nowhere in the journal in the clear.
func TestContentsAreEncrypted(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]int{"loose": 1 << 20, "packed": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTree(t, t.TempDir(), t.TempDir())
			r.j.PackFrom(from)
			r.put(t, "before", "x "+canary)
			r.agent(t, "1", "cp before made; echo more >>before")
			r.close()
			if found := holding(t, r.state); len(found) > 0 {
				t.Errorf("in the clear in %v", found)
			}
			if info, err := os.Stat(keyFile(r)); err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
				t.Errorf("key file: %v, %v", info, err)
			}
			r = newTree(t, r.dir, r.state)
			defer r.close()
			if u := r.undo(t, r.j.Turns()[0].ID); len(u.Kept) > 0 || r.text(t, "before") != "x "+canary {
				t.Errorf("undo %+v, before: %q", u, r.text(t, "before"))
			}
		})
	}
}

// Without its key a turn cannot be undone and says why; the next ones can.
func TestLostKey(t *testing.T) {
	t.Parallel()
	r := newTree(t, t.TempDir(), t.TempDir())
	r.put(t, "a", "old")
	r.agent(t, "1", "echo new >a")
	r.close()
	if err := os.Remove(keyFile(r)); err != nil {
		t.Fatal(err)
	}
	r = newTree(t, r.dir, r.state)
	defer func() { r.close() }()
	first := r.j.Turns()[0].ID
	u, err := r.j.Undo(context.Background(), first)
	if err != nil || len(u.Kept) != 1 || !strings.Contains(u.Kept[0].Reason, "key that is gone") {
		t.Errorf("undo %+v, %v", u, err)
	}
	r.agent(t, "2", "rm a")
	if u := r.undo(t, "2"); len(u.Kept) > 0 || r.text(t, "a") != "new\n" {
		t.Errorf("undo of a later turn: %+v", u)
	}
	if found, err := undo.Scrub(t.Context(), r.state, scrubber(false)); err != nil || found.Contents != 0 {
		t.Errorf("scrub: %+v, %v", found, err)
	}
	if err := r.j.Prune(time.Now().Add(31*24*time.Hour), undo.MaxTurns); err != nil {
		t.Fatal(err)
	}
	kept(t, r.state) // one folder: that of the key that is gone was removed
}

// Turns that were recorded before contents were encrypted can still be undone and
// scrubbed, and their contents go with them.
func TestPlainJournal(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]int{"loose": 1 << 20, "packed": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTree(t, t.TempDir(), t.TempDir())
			r.j.PackFrom(from)
			r.j.Plain()
			r.put(t, "a", "old")
			r.put(t, "b", canary)
			r.agent(t, "1", "echo new >a; echo new >b")
			r.close()
			if len(holding(t, r.state)) == 0 {
				t.Fatal("the journal is not a plain one")
			}
			if found, err := undo.Scrub(t.Context(), r.state, scrubber(true)); err != nil || found.Contents != 1 {
				t.Errorf("scrub: %+v, %v", found, err)
			}
			if found := holding(t, r.state); len(found) > 0 {
				t.Errorf("after scrub still in %v", found)
			}
			r = newTree(t, r.dir, r.state)
			u, err := r.j.Undo(context.Background(), r.j.Turns()[0].ID)
			if err != nil || r.text(t, "a") != "old" || len(u.Kept) != 1 || u.Kept[0].Path != "b" {
				t.Errorf("undo %+v, %v", u, err)
			}
			if err := r.j.Prune(time.Now().Add(31*24*time.Hour), undo.MaxTurns); err != nil {
				t.Fatal(err)
			}
			r.close()
			left, _ := filepath.Glob(filepath.Join(r.state, "objects", "*", "*"))
			if len(left) > 0 {
				t.Errorf("plain contents left: %v", left)
			}
		})
	}
}
