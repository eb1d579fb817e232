package undo_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/undo"
)

// packs are the names of the files of packs.
func (r *tree) packs(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(kept(t, r.state), "packs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// packed is a tree of n files, all of them in a pack.
func packed(t *testing.T, n int) *tree {
	t.Helper()
	r := newTree(t, t.TempDir(), t.TempDir())
	t.Cleanup(func() { r.close() })
	// Nothing is tidied when it closes: files that are too fresh are not wanted then.
	if err := os.WriteFile(filepath.Join(r.state, "tidied"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.j.PackFrom(0)
	for i := range n {
		r.put(t, fmt.Sprint("f", i), fmt.Sprint("contents ", i/2)) // each twice
	}
	return r
}

// What lies in a pack is restored, by this process and by the next, and a pack holds
// nothing twice.
func TestPack(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := packed(t, 200)
	before := r.snapshot(t)
	r.agent(t, "1", "rm f*; echo new >g")
	if all := r.packs(t); len(all) != 4 { // of the first look, and of what the command made
		t.Errorf("packs: %v", all)
	}
	r.close()
	r = newTree(t, r.dir, r.state)
	defer r.close()
	if u := r.undo(t, r.j.Turns()[0].ID); len(u.Kept) > 0 {
		t.Errorf("kept %+v", u.Kept)
	}
	if now := r.snapshot(t); !maps.Equal(before, now) {
		t.Errorf("there is %v", now)
	}
}

// A look that finds in packs what it would keep keeps it no second time.
func TestPackOnce(t *testing.T) {
	t.Parallel()
	r := packed(t, 50)
	for range 2 {
		if err := r.j.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.close()
		if err := os.Remove(filepath.Join(r.state, "tree")); err != nil { // the next one reads everything
			t.Fatal(err)
		}
		r = newTree(t, r.dir, r.state)
		r.j.PackFrom(0)
	}
	defer r.close()
	if all := r.packs(t); len(all) != 2 {
		t.Errorf("packs: %v", all)
	}
}

// Tidying keeps what is wanted of a pack, and removes the rest, and what a process
// that was killed has left.
func TestPrunePacks(t *testing.T) {
	t.Parallel()
	r := packed(t, 100)
	before := r.snapshot(t)
	r.agent(t, "1", "rm f?; rm f1? f2?")
	if err := r.j.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.close()
	for _, left := range []string{"1.pack", "2.idx.new"} {
		if err := os.WriteFile(filepath.Join(kept(t, r.state), "packs", left), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = newTree(t, r.dir, r.state)
	if err := r.j.Prune(time.Now(), undo.MaxTurns); err != nil {
		t.Fatal(err)
	}
	if all := r.packs(t); len(all) != 2 {
		t.Errorf("after a first tidying: %v", all)
	}
	if u := r.undo(t, r.j.Turns()[0].ID); len(u.Kept) > 0 || !maps.Equal(before, r.snapshot(t)) {
		t.Errorf("kept %+v", u.Kept)
	}
	r.close()
}

// A pack of which little is wanted is written anew.
func TestRepack(t *testing.T) {
	t.Parallel()
	r := packed(t, 100)
	if err := r.j.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	was := r.packs(t)
	r.sh(t, "for f in f??; do echo $f >$f; done")
	before := r.snapshot(t)
	if err := r.j.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.agent(t, "1", "true")
	r.close()
	r = newTree(t, r.dir, r.state)
	if err := r.j.Prune(time.Now(), undo.MaxTurns); err != nil {
		t.Fatal(err)
	}
	r.close()
	// What was changed right before a look is read again next time, and not wanted.
	if all := r.packs(t); slices.Contains(all, was[0]) || slices.Contains(all, was[1]) {
		t.Errorf("before %v, after %v", was, all)
	}
	r = newTree(t, r.dir, r.state)
	defer r.close()
	r.agent(t, "2", "rm f*")
	if u := r.undo(t, r.j.Turns()[0].ID); len(u.Kept) > 0 || !maps.Equal(before, r.snapshot(t)) {
		t.Errorf("kept %+v", u.Kept)
	}
}

// A pack that is damaged costs what is damaged in it, and says so.
func TestDamagedPack(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"pack", "idx"} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			r := packed(t, 20)
			r.agent(t, "1", "rm f*")
			names, err := filepath.Glob(filepath.Join(kept(t, r.state), "packs", "*."+damage))
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			data, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			for i := range data {
				data[i] ^= 0x5a
			}
			if err := os.WriteFile(names[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
			if u := r.undo(t, r.j.Turns()[0].ID); len(u.Kept) != 20 {
				t.Errorf("kept %+v", u.Kept)
			}
		})
	}
}
