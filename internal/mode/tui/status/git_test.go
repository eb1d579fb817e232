package status

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// repo is a real repository with one commit.
func repo(t testing.TB) (dir string, git func(args ...string)) {
	t.Helper()
	dir = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	write(t, dir, "a.txt", "a\n")
	write(t, dir, "b.txt", "b\n")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	return dir, git
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCollect(t *testing.T) {
	dir, git := repo(t)
	check := func(what string, want Git) {
		t.Helper()
		if diff := cmp.Diff(want, Collect(t.Context(), dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("clean", Git{Branch: "main", Counted: true})
	write(t, dir, "a.txt", "changed\n")
	write(t, dir, "new.txt", "x")
	git("mv", "b.txt", "c d.txt")
	check("changed", Git{Branch: "main", Staged: 1, Dirty: 1, Untracked: 1, Counted: true})
	sub := filepath.Join(dir, "sub", "deep")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Collect(t.Context(), sub); got.Branch != "main" || got.Staged != 1 {
		t.Errorf("from a folder in it: %+v", got)
	}
	git("reset", "-q", "--hard")
	git("checkout", "-q", "-b", "feature/x")
	git("branch", "-q", "--set-upstream-to", "main")
	write(t, dir, "a.txt", "2\n")
	git("commit", "-q", "-a", "-m", "second")
	check("ahead", Git{Branch: "feature/x", Ahead: 1, Untracked: 1, Counted: true})
	git("checkout", "-q", "--detach")
	if got := Collect(t.Context(), dir); got.Branch != "" || len(got.Commit) != 7 || got.Commit != Head(dir).Commit {
		t.Errorf("detached: %+v, and its HEAD %+v", got, Head(dir))
	}
	if got := Collect(t.Context(), t.TempDir()); got != (Git{}) {
		t.Errorf("without a repository: %+v", got)
	}
}

// The branch is known without git, also of a linked worktree.
func TestHead(t *testing.T) {
	dir, git := repo(t)
	linked := filepath.Join(t.TempDir(), "linked")
	git("worktree", "add", "-q", "-b", "other", linked)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for at, want := range map[string]string{dir: "main", linked: "other", t.TempDir(): ""} {
		if got := Collect(late, at); got != (Git{Branch: want}) {
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
		write(t, dir, name, text)
	}
	for name, want := range map[string]string{"sub": "a/b", "table": "", "odd": "", "real": ""} {
		if got := Head(filepath.Join(dir, name)); got != (Git{Branch: want}) {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const text = "# branch.oid 1234567890abc\x00# branch.head (detached)\x002 RM N... 1 2 3 4 5 R100 new\x00? old name\x00u UU N... x\x00? n\x00! ignored\x00"
	want := Git{Commit: "1234567", Staged: 1, Dirty: 1, Untracked: 1, Conflicts: 1, Counted: true}
	if diff := cmp.Diff(want, parseStatus([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a repository configures to be run is not run.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	dir, git := repo(t)
	trap := filepath.Join(t.TempDir(), "ran")
	script := "touch '" + trap + "'; cat"
	git("config", "core.fsmonitor", script)
	git("config", "filter.x.clean", script)
	git("config", "filter.x.required", "true")
	write(t, dir, ".gitattributes", "* filter=x\n")
	write(t, dir, "a.txt", "b\n") // as long as before: git has to compare
	got := Collect(t.Context(), dir)
	if _, err := os.Stat(trap); err == nil {
		t.Error("a program of the repository was run")
	}
	if !got.Counted || got.Dirty != 1 {
		t.Errorf("%+v", got)
	}
}

func TestRepo(t *testing.T) {
	dir, git := repo(t)
	news := make(chan Git, 100)
	r := NewRepo(dir, func(g Git) { news <- g })
	defer r.Close()
	want := func(what string, is func(Git) bool) {
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
	want("the branch", func(g Git) bool { return g.Branch == "main" && !g.Counted })
	want("the numbers", func(g Git) bool { return g.Branch == "main" && g.Counted })
	git("checkout", "-q", "-b", "other")
	write(t, dir, "new.txt", "x")
	r.Refresh()
	want("another branch", func(g Git) bool { return g.Branch == "other" && g.Untracked == 1 })
	r.Close()
	r.Refresh()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(news) > 0 && r.ctx.Err() == nil {
		t.Errorf("news after the end: %+v", <-news)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid 1234567890\x00# branch.head (detached)\x00# branch.ab +1 -2\x001 .M N... 1 2 3 a\x002 R. N... x\x00old\x00u UU\x00? n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		g := parseStatus([]byte(text))
		if n := strings.Count(text, "\x00") + 1; g.Staged > n || g.Dirty > n || g.Untracked+g.Conflicts > n {
			t.Errorf("%+v of %d records", g, n)
		}
	})
}
