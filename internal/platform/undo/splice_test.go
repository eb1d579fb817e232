package undo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
	"github.com/burin-dev/burin/tool/change"
)

// largeSize is more than is kept of one file.
const largeSize = 70 << 20

// large makes a file that is too large to be kept, mostly a hole, with words in it.
func (r *tree) large(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(largeSize); err != nil {
		t.Fatal(err)
	}
	for at, words := range map[int64]string{0: "begin", 40 << 20: "middle", largeSize - 3: "end"} {
		if _, err := f.WriteAt([]byte(words), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Chmod(0o640); err != nil {
		t.Fatal(err)
	}
}

// splice changes one place of a file, as an edit does.
func (r *tree) splice(t *testing.T, name string, at int64, before, after string) error {
	t.Helper()
	i, err := r.j.Intend()
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.j.PlanSplice(name, at, []byte(before), []byte(after))
	if err == nil {
		err = i.Announce([]undo.Change{c})
	}
	if err == nil {
		err = rootfile.Splice(r.root, name, at, []byte(before), []byte(after))
	}
	return errors.Join(err, i.Settle())
}

// holds checks the size of a file, and what stands in it at some places.
func (r *tree) holds(t *testing.T, name string, size int64, places map[int64]string) {
	t.Helper()
	f, err := os.Open(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != size || info.Mode().Perm() != 0o640 {
		t.Errorf("%s has %d bytes and mode %v, want %d", name, info.Size(), info.Mode(), size)
	}
	for at, want := range places {
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, at); err != nil && !errors.Is(err, io.EOF) || string(got) != want {
			t.Errorf("%s has %q at %d, want %q", name, got, at, want)
		}
	}
}

// Edits of a file that is too large to be kept are taken back and brought back, in little memory
// and little room, also by another process.
func TestUndoSplices(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	r.large(t, "big.log")
	before := map[int64]string{0: "begin\x00", 40 << 20: "middle\x00", largeSize - 3: "end"}
	after := map[int64]string{0: "start here\x00", 40<<20 + 5: "center\x00", largeSize + 2: "end"}
	if err := r.j.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	var began, ended runtime.MemStats
	runtime.ReadMemStats(&began)
	r.j.BeginTurn("1", "edit")
	if err := r.splice(t, "big.log", 0, "begin", "start here"); err != nil {
		t.Fatal(err)
	}
	if err := r.splice(t, "big.log", 40<<20+5, "middle", "center"); err != nil {
		t.Fatal(err)
	}
	r.holds(t, "big.log", largeSize+5, after)
	planned, err := r.j.Preview(context.Background(), "1")
	if err != nil || len(planned) != 1 || planned[0].Action != change.Restore {
		t.Errorf("planned %+v, %v", planned, err)
	}
	if u := r.undo(t, "1"); len(u.Restored) != 1 || len(u.Kept) != 0 {
		t.Errorf("undone: %+v", u)
	}
	r.holds(t, "big.log", largeSize, before)
	runtime.ReadMemStats(&ended)
	if n := (ended.TotalAlloc - began.TotalAlloc) >> 20; n > 8 {
		t.Errorf("it took %d MB of memory", n)
	}

	r = newTree(t, r.dir, r.state)
	defer r.close()
	turns := r.j.Turns()
	if len(turns) != 1 {
		t.Fatalf("%d turns", len(turns))
	}
	id := turns[0].ID
	if u := r.undo(t, id); len(u.Restored) != 1 || len(u.Kept) != 0 {
		t.Errorf("brought back: %+v", u)
	}
	r.holds(t, "big.log", largeSize+5, after)
	// A look finds nothing that is new.
	if err := r.j.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	if paths := r.agent(t, "2", "echo >other"); len(paths) != 1 {
		t.Errorf("a command changed %v", paths)
	}
	if err := r.j.Prune(time.Now(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if u := r.undo(t, id); len(u.Restored) != 1 || len(u.Kept) != 0 {
		t.Errorf("after tidying: %+v", u)
	}
	r.holds(t, "big.log", largeSize, before)
	kept := int64(0)
	_ = filepath.Walk(r.state, func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			kept += info.Size()
		}
		return nil
	})
	if kept > 1<<20 {
		t.Errorf("the journal has %d bytes", kept)
	}
}

// What others did to a large file is never lost by an undo, and a failed edit is none.
func TestUndoSplicesKeepsOthers(t *testing.T) {
	pacetest.Costly(t)
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	r.large(t, "big.log")
	r.j.BeginTurn("1", "edit")
	if err := r.splice(t, "big.log", 1, "begin", "start"); !errors.Is(err, rootfile.ErrMoved) {
		t.Errorf("a place that is another: %v", err)
	}
	if turns := r.j.Turns(); len(turns) != 0 {
		t.Errorf("a change that was not made is in %+v", turns)
	}
	if err := r.splice(t, "big.log", 0, "begin", "start"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "big.log"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("theirs"), 50<<20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	u := r.undo(t, "1")
	if len(u.Restored) != 0 || len(u.Kept) != 1 || !strings.Contains(u.Kept[0].Reason, "someone else") {
		t.Errorf("undone: %+v", u)
	}
	r.holds(t, "big.log", largeSize, map[int64]string{0: "start", 50 << 20: "theirs"})

	// A command goes over an edit of the same turn: only what is known is taken back.
	r.large(t, "more.log")
	r.j.BeginTurn("2", "edit and command")
	if err := r.splice(t, "more.log", 0, "begin", "start"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.j.Watch(context.Background(), func() error {
		return os.WriteFile(filepath.Join(r.dir, "more.log"), bytes.Repeat([]byte("x"), largeSize), 0o640)
	}); err != nil {
		t.Fatal(err)
	}
	u = r.undo(t, "2")
	if len(u.Restored) != 0 || len(u.Kept) != 1 || !strings.Contains(u.Kept[0].Reason, "64 MB") {
		t.Errorf("undone: %+v", u)
	}
	r.holds(t, "more.log", largeSize, map[int64]string{0: "xxx"})
}

// An edit that a killed process announced is in its turn if it was made, and can be taken back.
func TestSpliceOfAKilledProcess(t *testing.T) {
	pacetest.Costly(t)
	for _, made := range []bool{false, true} {
		r := newTree(t, t.TempDir(), t.TempDir())
		r.large(t, "big.log")
		r.j.BeginTurn("1", "edit")
		i, err := r.j.Intend()
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.j.PlanSplice("big.log", 0, []byte("begin"), []byte("start here"))
		if err == nil {
			err = i.Announce([]undo.Change{c})
		}
		if err == nil && made {
			err = rootfile.Splice(r.root, "big.log", 0, []byte("begin"), []byte("start here"))
		}
		if err != nil {
			t.Fatal(err)
		}
		i.Kill()

		next := newTree(t, r.dir, r.state)
		if err := next.j.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		j, err := next.j.Intend() // settles what is left
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Settle(); err != nil {
			t.Fatal(err)
		}
		turns := next.j.Turns()
		if made != (len(turns) == 1) {
			t.Fatalf("made %v: turns %+v", made, turns)
		}
		if made {
			if u := next.undo(t, turns[0].ID); len(u.Restored) != 1 {
				t.Errorf("undone: %+v", u)
			}
		}
		next.holds(t, "big.log", largeSize, map[int64]string{0: "begin\x00"})
		next.close()
		r.close()
	}
}
