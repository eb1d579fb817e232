package undo_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	for _, days := range []int{0, 29, 31} { // since the loss was noticed
		if all, _ := filepath.Glob(filepath.Join(r.state, "sealed-????????")); len(all) != 2 {
			t.Errorf("before day %d: folders %v", days, all)
		}
		if err := r.j.Prune(time.Now().Add(time.Duration(days)*24*time.Hour), undo.MaxTurns); err != nil {
			t.Fatal(err)
		}
	}
	kept(t, r.state) // one folder: that of the key that is gone was removed
}

// A key that is away for a while costs nothing, however old its contents are.
func TestKeyComesBack(t *testing.T) {
	t.Parallel()
	r := newTree(t, t.TempDir(), t.TempDir())
	r.put(t, "a", "old")
	r.agent(t, "1", "echo new >a")
	r.close()
	old := time.Now().Add(-40 * 24 * time.Hour)
	if err := os.Chtimes(kept(t, r.state), old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(keyFile(r), keyFile(r)+".away"); err != nil {
		t.Fatal(err)
	}
	r = newTree(t, r.dir, r.state)
	if err := r.j.Tidy(time.Now().Add(40 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.close()
	if err := os.Rename(keyFile(r)+".away", keyFile(r)); err != nil {
		t.Fatal(err)
	}
	r = newTree(t, r.dir, r.state)
	defer r.close()
	if u := r.undo(t, r.j.Turns()[0].ID); len(u.Kept) > 0 || r.text(t, "a") != "old" {
		t.Errorf("undo %+v", u)
	}
}

// The tree that is kept is not trusted under another key: what it names is not there.
func TestTreeOfLostKey(t *testing.T) {
	t.Parallel()
	r := newTree(t, t.TempDir(), t.TempDir())
	r.put(t, "a", "old")
	r.put(t, "b", "old too")
	r.settle(t) // the tree that is kept has it then
	r.agent(t, "1", "echo new >a")
	r.close()
	if err := os.Remove(keyFile(r)); err != nil {
		t.Fatal(err)
	}
	r = newTree(t, r.dir, r.state)
	if _, err := r.j.Put([]byte("something")); err != nil { // which makes a key
		t.Fatal(err)
	}
	r.close()
	r = newTree(t, r.dir, r.state)
	defer r.close()
	r.agent(t, "2", "rm b")
	if u := r.undo(t, "2"); len(u.Kept) > 0 || r.text(t, "b") != "old too" {
		t.Errorf("undo %+v", u)
	}
}

// A damaged copy that is encrypted does not cost the good one that is not.
func TestTornCopyOfPlainContents(t *testing.T) {
	t.Parallel()
	r := newTree(t, t.TempDir(), t.TempDir())
	r.j.Plain()
	r.put(t, "a", "old")
	r.agent(t, "1", "echo new >a")
	r.close()
	r = newTree(t, r.dir, r.state)
	hash, err := r.j.Put([]byte("old"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(kept(t, r.state), hash[:2], hash[2:]), 5); err != nil {
		t.Fatal(err)
	}
	if err := r.j.Prune(time.Now(), undo.MaxTurns); err != nil {
		t.Fatal(err)
	}
	if data, err := r.j.Get(hash); err != nil || string(data) != "old" {
		t.Errorf("the contents are %q, %v", data, err)
	}
	r.close()
}

// What is encrypted and damaged may hold a secret: it goes with those that do.
func TestScrubTakesOutDamagedContents(t *testing.T) {
	t.Parallel()
	r := newTree(t, t.TempDir(), t.TempDir())
	r.put(t, "a", canary+" and more")
	r.agent(t, "1", "echo new >a; echo canary >b")
	r.close()
	sum := sha256.Sum256([]byte(canary + " and more"))
	name := hex.EncodeToString(sum[:])
	file := filepath.Join(kept(t, r.state), name[:2], name[2:])
	if err := os.Truncate(file, int64(len(canary)+4)); err != nil {
		t.Fatal(err)
	}
	if _, err := undo.Scrub(t.Context(), r.state, scrubber(true)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it is still there")
	}
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
