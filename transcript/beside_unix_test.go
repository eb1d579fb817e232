//go:build unix

package transcript_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/process/killtest"
	"github.com/burin-dev/burin/transcript"
)

const moveEnv = "BURIN_TEST_MOVE"

// TestMoveUntilKilled is the child of TestKillDuringMove: it moves one session to the
// trash and back, to another folder and back, again and again until it is killed.
func TestMoveUntilKilled(t *testing.T) {
	root, path, ok := strings.Cut(os.Getenv(moveEnv), "\n")
	if !ok {
		t.Skip("it runs as a child of TestKillDuringMove")
	}
	fmt.Println("ready")
	for {
		for _, cwd := range []string{"/home/bob/b", "/home/ann/a"} {
			trashed, err := transcript.Trash(path, filepath.Join(root, "trash"))
			if err != nil {
				t.Fatal(err)
			}
			if path, err = transcript.Restore(trashed); err != nil {
				t.Fatal(err)
			}
			if path, err = transcript.Move(path, root, cwd); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// belongings are the files that belong to the session at path, with what they hold.
func belongings(t *testing.T, path string) map[string]string {
	t.Helper()
	all := files(t, filepath.Dir(path))
	delete(all, filepath.Base(path))
	return all
}

// Wherever a move, a deletion or a restoration is killed, the session is whole in one
// place, or comes back whole out of the trash.
func TestKillDuringMove(t *testing.T) {
	t.Parallel()
	for range 10 {
		root := t.TempDir()
		path := place(t, root, tree)
		for i := range 40 {
			for _, name := range []string{filepath.Join(transcript.ArtifactDir(path), "sub", fmt.Sprintf("%d.bash.log", i)), fmt.Sprintf("%s.before-%d", path, i)} {
				if err := os.WriteFile(name, []byte(strings.Repeat("output\n", i)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := belongings(t, path)
		killtest.Kill(t, "TestMoveUntilKilled", moveEnv+"="+root+"\n"+path, 30*time.Millisecond)

		there, err := filepath.Glob(filepath.Join(root, "--*--", "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if len(there) == 0 {
			trashed, err := filepath.Glob(filepath.Join(root, "trash", "*", "*.jsonl"))
			if err != nil || len(trashed) != 1 {
				t.Fatalf("there is no session, and in the trash %v", trashed)
			}
			back, err := transcript.Restore(trashed[0])
			if err != nil {
				t.Fatal(err)
			}
			there = []string{back}
		}
		whole := false
		for _, path := range there {
			if read(t, path).Len() != 7 {
				t.Errorf("%s is not all of the session", path)
			}
			whole = whole || maps.Equal(want, belongings(t, path))
		}
		if !whole {
			t.Fatalf("what belonged to %v is not all there: %s", there, cmp.Diff(want, belongings(t, there[0])))
		}
	}
}
