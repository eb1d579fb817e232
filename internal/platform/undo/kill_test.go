//go:build unix

package undo_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process/killtest"
)

const killEnv = "BURIN_TEST_UNDO"

// TestUndoUntilKilled is the child of TestKillDuringUndo: it undoes one turn again
// and again until it is killed.
func TestUndoUntilKilled(t *testing.T) {
	dir, state, ok := strings.Cut(os.Getenv(killEnv), "\n")
	if !ok {
		t.Skip("it runs as a child of TestKillDuringUndo")
	}
	r := newTree(t, dir, state)
	id := r.j.Turns()[0].ID
	fmt.Println("ready")
	for {
		if u := r.undo(t, id); len(u.Kept) > 0 {
			t.Fatalf("%+v", u)
		}
	}
}

// An undo that is killed at any moment is finished by calling it again.
func TestKillDuringUndo(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for range 15 {
		r := newTree(t, t.TempDir(), t.TempDir())
		r.sh(t, setUp+`; mkdir many; for i in 1 2 3 4 5 6 7 8; do echo $i >many/$i; done; head -c 300000 /dev/zero >big`)
		if err := os.Link(filepath.Join(r.dir, "big"), filepath.Join(t.TempDir(), "twin")); err != nil { // written in place
			t.Fatal(err)
		}
		before := r.snapshot(t)
		r.agent(t, "1", `echo 1 >many/1; chmod 700 many/2 src; echo 3 >many/3; chmod 600 many/3; rm many/4; mkdir many/4; echo x >many/4/x; rm -r src/deep
echo file >src/deep; ln -sfn c link; rm many/5; ln -s 6 many/5; echo new >many/9; head -c 200000 /dev/urandom >big`)
		after := r.snapshot(t)
		r.close()
		killtest.Kill(t, "TestUndoUntilKilled", killEnv+"="+r.dir+"\n"+r.state, 30*time.Millisecond)
		r = newTree(t, r.dir, r.state)
		turn := r.j.Turns()[0]
		want := []map[string]string{before, after}
		if turn.Undone {
			want = []map[string]string{after, before}
		}
		for i, w := range want {
			if u := r.undo(t, turn.ID); len(u.Kept) > 0 {
				t.Errorf("undo %d kept %+v", i+1, u.Kept)
			}
			if now := r.snapshot(t); !maps.Equal(w, now) {
				t.Errorf("after undo %d there is %v", i+1, short(now))
			}
		}
		r.close()
	}
}

func short(all map[string]string) map[string]string {
	for p, s := range all {
		all[p] = fmt.Sprintf("%.40q", s)
	}
	return all
}
