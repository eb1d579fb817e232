package status

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/git"
)

// repo is a real repository with one commit.
func repo(t testing.TB) (dir string, do func(args ...string)) {
	t.Helper()
	dir = t.TempDir()
	do = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	do("init", "-q", "-b", "main")
	write(t, dir, "a.txt", "a\n")
	write(t, dir, "b.txt", "b\n")
	do("add", ".")
	do("commit", "-q", "-m", "first")
	return dir, do
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRepo(t *testing.T) {
	dir, do := repo(t)
	news := make(chan git.Status, 100)
	r := NewRepo(dir, func(g git.Status) { news <- g })
	defer r.Close()
	want := func(what string, is func(git.Status) bool) {
		t.Helper()
		late := time.After(20 * time.Second)
		for {
			select {
			case g := <-news:
				if is(g) {
					return
				}
			case <-late:
				t.Fatal("not told: " + what)
			}
		}
	}
	for range 50 {
		r.Refresh() // joins to two looks at most
	}
	want("the branch", func(g git.Status) bool { return g.Branch == "main" && !g.Known })
	want("the numbers", func(g git.Status) bool { return g.Branch == "main" && g.Known })
	do("checkout", "-q", "-b", "other")
	write(t, dir, "new.txt", "x")
	r.Refresh()
	want("another branch", func(g git.Status) bool { return g.Branch == "other" && g.Untracked == 1 })
	r.Close()
	r.Refresh()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(news) > 0 && r.ctx.Err() == nil {
		t.Errorf("news after the end: %+v", <-news)
	}
}
