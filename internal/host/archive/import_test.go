package archive

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
	"github.com/burin-dev/burin/transcript/place"
)

// A conversation that is imported after each line that is added to its file ends as one
// session, that holds what an import of the whole file gives, on the same branch.
func TestImportOfGrowingFiles(t *testing.T) {
	data := filepath.Join("..", "..", "..", "transcript", "foreign", "testdata")
	for _, name := range []string{
		"claude-code-v1/5a0e.jsonl", "claude-code-v2/77aa.jsonl", "codex-v1/rollout-2025-06-02T10-00-00-8f1c.jsonl",
		"codex-v2/rollout-2026-01-02T10-00-00-019b.jsonl", "gemini-v2/session-2026-01-02T10-00-ef01.jsonl", "pi-v3/2026_ab.jsonl",
	} {
		t.Run(filepath.Dir(name), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(data, filepath.Dir(name)))); err != nil {
				t.Fatal(err)
			}
			source := filepath.Join(dir, filepath.Base(name))
			whole, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			grown, fresh := t.TempDir(), t.TempDir()
			run := func(root string) *importer {
				t.Helper()
				keys := func(context.Context) place.Keys { return nil }
				i := importer{dir: "/there", archive: &Archive{
					root: root, paths: config.Paths{Data: root}, settings: &config.Config{}, keys: keys, warn: func(string) {},
				}}
				if err := i.path(t.Context(), source, foreign.Format("")); err != nil {
					t.Fatal(err)
				}
				return &i
			}
			lines := bytes.SplitAfter(bytes.TrimSpace(whole), []byte("\n"))
			for n := range lines {
				if err := os.WriteFile(source, bytes.Join(lines[:n+1], nil), 0o600); err != nil {
					t.Fatal(err)
				}
				run(grown)
				if i := run(grown); i.report.Count(Fresh, Parted, Grown) > 0 || i.report.Count(Unchanged) > 1 {
					t.Errorf("line %d: a second import did %+v", n+1, i.report)
				}
			}
			run(fresh)
			want, title := contextIn(t, fresh)
			got, gotTitle := contextIn(t, grown)
			if title != "" && gotTitle == "" { // one that it had it keeps: a person may have given it
				t.Errorf("it has no title, want %q", title)
			}
			if diff := cmp.Diff(want.IDs, got.IDs); diff != "" {
				t.Errorf("the branch (-fresh +grown):\n%s", diff)
			}
			if diff := cmp.Diff(want.Messages, got.Messages); diff != "" {
				t.Errorf("what was said (-fresh +grown):\n%s", diff)
			}
		})
	}
}

// contextIn is what the one session under root says, and its title.
func contextIn(t *testing.T, root string) (*transcript.Context, string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("sessions %q, %v", files, err)
	}
	l, damage, err := transcript.ReadSession(files[0], transcript.Options{Blobs: transcript.NewBlobs(filepath.Join(root, "blobs"))})
	if err != nil || damage.Serious() {
		t.Fatal(damage, err)
	}
	defer l.Close()
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	return c, l.Title()
}
