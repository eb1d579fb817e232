package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/platform/git"
)

// The branch is known without git, also of a linked worktree.
func TestHead(t *testing.T) {
	r := newRepo(t)
	r.put("a", "a")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	linked := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", "-b", "other", linked)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for at, want := range map[string]string{r.dir: "main", linked: "other", t.TempDir(): ""} {
		if got := git.Look(late, at); got != (git.Status{Branch: want}) {
			t.Errorf("%s: %+v, want %s", at, got, want)
		}
	}
}

func TestHeadOfRelativeGitFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sub/.git": "gitdir: ../real\n", "real/HEAD": "ref: refs/heads/a/b\n", "table/.git/HEAD": "ref: refs/heads/.invalid\n", "odd/.git/HEAD": "nonsense\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"sub": "a/b", "table": "", "odd": "", "real": ""} {
		if got := git.Head(filepath.Join(dir, name)); got != (git.Status{Branch: want}) {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}
