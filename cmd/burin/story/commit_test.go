package story_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// /commit shows what it would commit and commits once the person says yes.
func TestCommit(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	divided := `{"commits":[{"message":"clock: tell the time","changes":["1"]},{"message":"docs: begin","changes":["2"]}]}`
	s := begin(t, []llmtest.Turn{
		call("result", divided), call("result", divided),
	})
	repository(t, s.dir, map[string]string{"a.txt": "a\n", ".gitignore": ".burin\n"})
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", s.dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("config", "user.name", "a")
	git("config", "user.email", "a@b")
	git("add", "-A")
	git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "rest")
	write(t, filepath.Join(s.dir, "a.txt"), "b\n")
	write(t, filepath.Join(s.dir, "b.txt"), "b\n")

	s.send("/commit the clock first")
	s.WaitText("Make these commits?")
	s.WaitText("1. clock: tell the time")
	s.WaitText("2. docs: begin")
	if heard := s.heard(0); !strings.Contains(heard, "The person says: the clock first") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.answer("n")
	s.WaitGone("Make these commits?")
	if got := git("log", "-1", "--format=%s"); got != "rest" {
		t.Errorf("committed without a yes: %s", got)
	}
	s.send("/commit")
	s.WaitText("Make these commits?")
	s.answer("y")
	s.WaitText("/commit undo takes them back.")
	if got := git("log", "-2", "--format=%s"); got != "docs: begin\nclock: tell the time" || git("status", "--porcelain") != "" {
		t.Errorf("log %q, status %q", got, git("status", "--porcelain"))
	}
	s.Press("esc")
	s.send("/commit undo")
	s.WaitText("Took back 2 commits.")
	if got := git("log", "-1", "--format=%s"); got != "rest" {
		t.Errorf("after undo: %s", got)
	}
}
