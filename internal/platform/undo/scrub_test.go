package undo_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/tool/change"
)

const canary = "c4n4ry-0f-a-s3cret"

func scrubber(write bool) undo.Scrubber {
	return undo.Scrubber{
		Secret: func(data []byte) bool { return bytes.Contains(data, []byte(canary)) },
		Hide:   func(text string) string { return strings.ReplaceAll(text, canary, "HIDDEN") },
		Write:  write,
	}
}

// holding are the files under a folder in which the canary stands.
func holding(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What holds a secret is taken out of the journal, also out of packs and labels; all
// else is restored exactly, and of the rest undo says why not.
func TestScrub(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]int{"loose": 1 << 20, "packed": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTree(t, t.TempDir(), t.TempDir())
			defer func() { r.close() }()
			r.j.PackFrom(from)
			// Nothing is tidied when it closes, which would remove what no turn names.
			if err := os.WriteFile(filepath.Join(r.state, "tidied"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for f, text := range map[string]string{"a": "one", "b": "two", "secret": "x " + canary, "c": "three", "stays": canary + " y"} {
				r.put(t, f, text)
			}
			r.agent(t, "1", "echo new >a; echo "+canary+" >b; rm secret c; ln -s "+canary+" link")
			if _, err := undo.Scrub(t.Context(), r.state, scrubber(true)); err == nil {
				t.Error("a journal in use is scrubbed")
			}
			r.close()
			found, err := undo.Scrub(t.Context(), r.state, scrubber(false))
			if want := (undo.Scrubbed{Contents: 3, Lines: 1}); err != nil || found != want {
				t.Errorf("found %+v, want %+v, %v", found, want, err)
			}
			if len(holding(t, r.state)) == 0 {
				t.Fatal("looking takes something out")
			}
			if _, err := undo.Scrub(t.Context(), r.state, scrubber(true)); err != nil {
				t.Fatal(err)
			}
			if left := holding(t, r.state); len(left) > 0 {
				t.Errorf("a secret stays in %v", left)
			}
			if found, err := undo.Scrub(t.Context(), r.state, scrubber(false)); err != nil || found != (undo.Scrubbed{}) {
				t.Errorf("the second time: %+v, %v", found, err)
			}
			r = newTree(t, r.dir, r.state)
			id := r.j.Turns()[0].ID
			plan, err := r.j.Preview(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plan {
				if keep := p.Path == "secret" || p.Path == "link"; (p.Action == change.Keep) != keep {
					t.Errorf("plan: %+v", p)
				}
			}
			u := r.undo(t, id)
			for _, k := range u.Kept {
				if k.Path == "secret" && !strings.Contains(k.Reason, "a secret stood in") {
					t.Errorf("kept %+v", k)
				}
			}
			now := r.snapshot(t)
			for f, want := range map[string]string{"a": "one", "b": "two", "c": "three"} {
				data, err := os.ReadFile(filepath.Join(r.dir, f))
				if err != nil || string(data) != want {
					t.Errorf("%s is %q, %v; there is %v", f, data, err, now)
				}
			}
		})
	}
}

// Nobody else gets into a journal that was made with other permissions.
func TestJournalIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	state := filepath.Join(t.TempDir(), "undo", "x")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o755); err != nil { // #nosec G302
		t.Fatal(err)
	}
	r := newTree(t, t.TempDir(), state)
	r.put(t, "a", "one")
	r.agent(t, "1", "echo two >a")
	r.close()
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	err := filepath.WalkDir(filepath.Dir(state), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
