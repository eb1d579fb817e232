//go:build unix

package workspace_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process/killtest"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

const killEnv = "BURIN_TEST_COMMITS"

// TestCommitUntilKilled is the child of TestKill: it commits until it is killed.
func TestCommitUntilKilled(t *testing.T) {
	dirs := strings.Split(os.Getenv(killEnv), "\n")
	if len(dirs) != 3 {
		t.Skip("it runs as a child of TestKill")
	}
	w, err := workspace.Open(dirs[0], workspace.Options{StateDir: dirs[1]})
	if err != nil {
		t.Fatal(err)
	}
	var seed uint64
	fmt.Sscan(dirs[2], &seed)
	r := rand.New(rand.NewPCG(seed, 0))
	fmt.Println("ready")
	for i := 0; ; i++ {
		if i%5 == 0 {
			if err := w.BeginTurn(fmt.Sprint(i), "turn"); err != nil {
				t.Fatal(err)
			}
		}
		changes := someChanges(w, r)
		if err := w.Commit(context.Background(), changes); err != nil {
			t.Fatalf("%v: %+v", err, changes)
		}
	}
}

// someChanges are one to four changes of different files.
func someChanges(w *workspace.Workspace, r *rand.Rand) []workspace.Change {
	names := []string{"a", "b", "hard", "d/c", "d/e/f", "x/y/z", "x/big"}
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	text := func() []byte { return bytes.Repeat(fmt.Appendf(nil, "%d ", r.IntN(1e6)), 1+r.IntN(1+r.IntN(20_000))) }
	var all []workspace.Change
	for i := range 1 + r.IntN(4) {
		c := workspace.Change{Path: names[i], After: text()}
		before, err := fs.ReadFile(w.Files(), c.Path)
		if err == nil {
			c.Before = before
			switch r.IntN(4) {
			case 0:
				c.After = nil
			case 1: // it moves, and changes on the way or not
				to := fmt.Sprintf("m%d/%d", r.IntN(3), r.IntN(1e9))
				c.From, c.Path = c.Path, to
				if r.IntN(2) == 0 {
					c.After = before
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// A process that is killed at any moment of a commit leaves a tree that undo makes
// exactly what it was.
func TestKill(t *testing.T) {
	pacetest.Costly(t)
	for seed := range uint64(25) {
		base := t.TempDir()
		dir, state := filepath.Join(base, "ws"), filepath.Join(base, "state")
		for name, text := range map[string]string{"a": "one", "b": strings.Repeat("two\n", 5000), "hard": strings.Repeat("hard ", 9000), "d/c": "three", "d/e/f": ""} {
			put(t, filepath.Join(dir, name), text)
		}
		if err := os.Link(filepath.Join(dir, "hard"), filepath.Join(base, "twin")); err != nil { // written in place
			t.Fatal(err)
		}
		before := everything(t, dir)
		killtest.Kill(t, "TestCommitUntilKilled", fmt.Sprintf("%s=%s\n%s\n%d", killEnv, dir, state, seed), 60*time.Millisecond)
		w, err := workspace.Open(dir, workspace.Options{StateDir: state})
		if err != nil {
			t.Fatal(err)
		}
		turns, err := w.Turns()
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			if u, err := w.Undo(context.Background(), turn.ID); err != nil || len(u.Kept) > 0 {
				t.Errorf("seed %d: undo %s: %+v, %v", seed, turn.ID, u, err)
			}
		}
		if diff := cmp.Diff(before, everything(t, dir)); diff != "" {
			t.Errorf("seed %d, %d turns: %.2000s", seed, len(turns), diff)
		}
		w.Close()
	}
}

// everything is every path below a folder with what it holds.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if !d.IsDir() {
			all[path] += " " + get(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
