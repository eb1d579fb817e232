package git_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/git"
)

// repo is a repository made by the real git.
type repo struct {
	*testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t, dir}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

func (r repo) git(args ...string) {
	r.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r repo) put(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// collect gives all facts of a repository: git gets half a second for them, which may be
// too short where the machine does much else, and so several tries.
func collect(dir string) (f git.Facts) {
	for range 20 {
		f = git.Collect(context.Background(), dir)
		if f.Root != "" && f.Known && (f.Commit == "" || len(f.Recent) > 0) {
			break
		}
	}
	return f
}

func TestCollect(t *testing.T) {
	r := newRepo(t)
	if f := collect(r.dir); f.Root != r.dir || f.Branch != "main" || f.Commit != "" || !strings.HasPrefix(f.String(), "Git: branch main, no commit yet, clean") {
		t.Errorf("an empty repository: %+v\n%s", f, f)
	}
	for _, name := range []string{"a", "b", "c d", "e"} {
		r.put(name, name)
	}
	r.git("add", ".")
	r.git("commit", "-qm", "first\n\nbody")
	r.git("branch", "other")
	r.git("branch", "--set-upstream-to=other")
	r.put("a", "changed")
	r.put("new/x", "")
	r.git("mv", "c d", "c e")
	r.git("commit", "-qm", "second")
	r.git("rm", "-q", "e")
	r.git("mv", "b", "b2")
	f := collect(filepath.Join(r.dir, "new"))
	want := git.Facts{
		Root:   r.dir,
		Status: git.Status{Branch: "main", Upstream: "other", Ahead: 1, Staged: 2, Modified: 1, Untracked: 1, Known: true},
		Recent: []git.Commit{{Subject: "second"}, {Subject: "first"}},
	}
	if diff := cmp.Diff(want, f, cmpopts.IgnoreFields(git.Status{}, "Commit"), cmpopts.IgnoreFields(git.Commit{}, "Hash", "Age")); diff != "" {
		t.Error(diff)
	}
	if got := f.String(); !strings.HasPrefix(got, "Git: branch main (1 ahead, 0 behind other), 2 staged, 1 modified, 1 untracked\nRecent commits:\n  "+f.Commit+" second (") {
		t.Errorf("in words: %s", got)
	}
	second := filepath.Join(t.TempDir(), "second")
	r.git("worktree", "add", "-q", "-b", "third", second)
	if f := collect(second); !f.Worktree || f.Branch != "third" || f.Modified != 0 {
		t.Errorf("an additional working tree: %+v", f)
	}
	r.git("checkout", "-qf", "--detach", "other")
	if f := collect(r.dir); f.Branch != "" || !strings.HasPrefix(f.String(), "Git: detached HEAD at "+f.Commit) {
		t.Errorf("detached: %+v", f)
	}
}

func TestNoRepository(t *testing.T) {
	if f := git.Collect(context.Background(), t.TempDir()); f.Root != "" || f.String() != "" {
		t.Errorf("facts of nothing: %+v", f)
	}
	r := newRepo(t)
	t.Setenv("GIT_DIR", filepath.Join(r.dir, ".git")) // of a hook that started us
	if f := git.Collect(context.Background(), t.TempDir()); f.Root != "" {
		t.Errorf("facts of another repository: %+v", f)
	}
	t.Setenv("PATH", t.TempDir())
	if f := git.Collect(context.Background(), r.dir); f.Root != "" {
		t.Errorf("facts without git: %+v", f)
	}
}

// To compare a file with the index, git would run it through a filter.
func TestFiltersAreNotRun(t *testing.T) {
	r := newRepo(t)
	marker := filepath.Join(t.TempDir(), "was-run")
	r.put("a", "a")
	r.put(".gitattributes", "* filter=x.y\n")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	for _, option := range []string{"clean", "process"} {
		r.git("config", "filter.x.y."+option, "echo ran >> "+marker+"; cat")
	}
	r.git("config", "filter.x.y.required", "true")
	r.put("a", "b") // of the same size, so that its contents are looked at
	if f := collect(r.dir); !f.Known || f.Modified != 1 {
		t.Errorf("facts %+v", f)
	}
	r.git("config", "filter.a=b.clean", "echo ran >> "+marker+"; cat")
	if f := git.Collect(context.Background(), r.dir); f.Known || f.Root == "" {
		t.Errorf("a filter that cannot be named: %+v", f)
	}
	if b, err := os.ReadFile(marker); err == nil {
		t.Errorf("the repository ran its filter: %s", b)
	}
}

func TestCollectIsBounded(t *testing.T) {
	dir, exe := t.TempDir(), ""
	var err error
	if exe, err = os.Executable(); err == nil {
		err = os.Symlink(exe, filepath.Join(dir, "git")) // see TestMain
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir()) // or a program in dir would be one that a command has made
	t.Setenv("PATH", dir)
	t.Setenv(hang, "1")
	took := time.Hour
	for tries := 0; tries < 20 && took > 400*time.Millisecond; tries++ { // a busy machine may stand still for as long
		start := time.Now()
		git.Collect(context.Background(), t.TempDir())
		took = time.Since(start)
	}
	if took > 400*time.Millisecond {
		t.Errorf("git is asked where there is no repository, for %v", took)
	}
	pacetest.Costly(t) // it waits for seconds
	repository := t.TempDir()
	if err := os.Mkdir(filepath.Join(repository, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	git.Collect(context.Background(), repository)
	if took := time.Since(start); took < 400*time.Millisecond || took > time.Minute {
		t.Errorf("a git that hangs holds us for %v", took)
	}
}

// hang makes the test binary a git that never ends.
const hang = "BURIN_TEST_HANG"

func TestMain(m *testing.M) {
	if os.Getenv(hang) != "" {
		never := make(chan os.Signal, 1)
		signal.Notify(never, os.Interrupt)
		<-never
	}
	os.Exit(m.Run())
}

func BenchmarkCollect(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		git.Collect(context.Background(), ".")
	}
}
