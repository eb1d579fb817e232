package split

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/pacetest"
)

// rig is a repository for a test.
type rig struct {
	t    testing.TB
	root string
}

func newRig(t testing.TB) *rig {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "none"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, v := range []string{"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org"} {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	r := &rig{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	data, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(data)
}

func (r *rig) commitAll(message string) {
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
}

func (r *rig) open() *Repo {
	r.t.Helper()
	repo, err := Open(r.t.Context(), r.root)
	if err != nil {
		r.t.Fatal(err)
	}
	return repo
}

func (r *rig) changes(staged bool) (*Repo, *Changes) {
	r.t.Helper()
	repo := r.open()
	c, err := repo.Read(r.t.Context(), staged)
	if err != nil {
		r.t.Fatal(err)
	}
	return repo, c
}

// snapshot is the working tree to the byte, with modes.
func (r *rig) snapshot() string {
	var b strings.Builder
	err := filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == ".git" {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		var content []byte
		if info.Mode()&os.ModeSymlink != 0 {
			to, _ := os.Readlink(path)
			content = []byte(to)
		} else {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", path, info.Mode(), content)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}

func ids(c *Changes) (all []string) {
	for _, p := range c.Pieces {
		all = append(all, p.ID)
	}
	return all
}

func find(t testing.TB, c *Changes, path string) (all []string) {
	t.Helper()
	for _, p := range c.Pieces {
		if p.Path == path {
			all = append(all, p.ID)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no change of %s in %+v", path, c.Pieces)
	}
	return all
}

func (r *rig) make(repo *Repo, c *Changes, o Options, commits ...Commit) []Made {
	r.t.Helper()
	made, err := repo.Make(r.t.Context(), c, commits, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// everything makes a change of every kind.
func (r *rig) everything() {
	r.t.Helper()
	r.write("a.txt", lines(1, 60))
	r.write("crlf.txt", strings.ReplaceAll(lines(1, 40), "\n", "\r\n"))
	r.write("end.txt", lines(1, 30)+"no end")
	r.write("gone.txt", "gone\n")
	r.write("old/name.txt", lines(1, 20))
	r.write("mode.sh", "#!/bin/sh\n")
	r.write("becomes", "a file\n")
	r.write("bin", "\x00\x01\x02")
	r.write("latin.txt", "caf\xe9\n"+lines(1, 30)+"\xff\xfe\n")
	r.write("link-to-be", "text\n")
	r.write("ü \"quoted\"\t.txt", "x\n")
	r.commitAll("first")
	r.write("a.txt", "new head\n"+lines(1, 20)+"middle\n"+lines(21, 50)+"end\n")
	r.write("crlf.txt", "new\r\n"+strings.ReplaceAll(lines(1, 35), "\n", "\r\n")+"mixed\n")
	r.write("end.txt", "top\n"+lines(1, 30)+"no end either")
	r.git("rm", "-q", "--cached", "gone.txt")
	r.git("reset", "-q")
	_ = os.Remove(filepath.Join(r.root, "gone.txt"))
	_ = os.Remove(filepath.Join(r.root, "old/name.txt"))
	r.write("new/name.txt", lines(1, 20)+"more\n")
	_ = os.Chmod(filepath.Join(r.root, "mode.sh"), 0o755)
	_ = os.Remove(filepath.Join(r.root, "becomes"))
	r.write("becomes/a/folder", "x\n")
	r.write("bin", "\x00\x01\x03")
	r.write("latin.txt", "th\xe9\n"+lines(1, 30)+"\xff\xfd\n")
	_ = os.Remove(filepath.Join(r.root, "link-to-be"))
	if err := os.Symlink("a.txt", filepath.Join(r.root, "link-to-be")); err != nil {
		r.t.Fatal(err)
	}
	r.write("ü \"quoted\"\t.txt", "y\n")
	r.write("new.txt", "new\n")
	r.write("empty", "")
	r.write("intended.txt", "i\n")
	r.git("add", "-N", "intended.txt")
}

// split puts pieces into n commits at random.
func split(all []string, n int, choose func(int) int) []Commit {
	commits := make([]Commit, n)
	for _, id := range all {
		k := choose(n)
		commits[k].Pieces = append(commits[k].Pieces, id)
	}
	commits = slices.DeleteFunc(commits, func(c Commit) bool { return len(c.Pieces) == 0 })
	for i := range commits {
		commits[i].Message = fmt.Sprint("part ", i+1)
	}
	return commits
}

func TestEveryKindOfChangeAddsUp(t *testing.T) {
	r := newRig(t)
	r.everything()
	before := r.snapshot()
	repo, c := r.changes(false)
	if len(find(t, c, "a.txt")) != 3 || len(find(t, c, "crlf.txt")) != 2 || len(find(t, c, "latin.txt")) != 2 {
		t.Errorf("pieces: %v", ids(c))
	}
	made := r.make(repo, c, Options{}, split(ids(c), 5, rand.New(rand.NewPCG(1, 2)).IntN)...)
	if got := r.git("status", "--porcelain"); got != "" {
		t.Errorf("after committing everything, status says:\n%s", got)
	}
	if got := r.git("rev-parse", "HEAD^{tree}"); got != c.target || got != r.git("write-tree") {
		t.Errorf("tree %s, want %s", got, c.target)
	}
	if r.git("rev-list", "--count", "HEAD") != strconv.Itoa(1+len(made)) || r.git("rev-parse", "HEAD") != made[len(made)-1].Hash {
		t.Error("not the commits that were said")
	}
	if r.snapshot() != before {
		t.Error("the working tree has changed")
	}
	r.git("fsck", "--strict")
	if _, err := repo.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.snapshot() != before || r.git("rev-list", "--count", "HEAD") != "1" || r.git("diff", "--cached", "--name-only") != "" {
		t.Errorf("undo left: %s", r.git("status", "--porcelain"))
	}
	if _, err := repo.Undo(t.Context()); err == nil {
		t.Error("an undo of an undo")
	}
}

func TestLeftOutChangesStay(t *testing.T) {
	r := newRig(t)
	r.everything()
	before := r.snapshot()
	repo, c := r.changes(false)
	a := find(t, c, "a.txt")
	r.make(repo, c, Options{}, Commit{Message: "middle", Pieces: a[1:2]}, Commit{Message: "rename", Pieces: find(t, c, "new/name.txt")})
	if got := r.git("show", "HEAD:a.txt"); got+"\n" != lines(1, 20)+"middle\n"+lines(21, 60) {
		t.Errorf("committed:\n%s", got)
	}
	diff := r.git("diff", "a.txt")
	if !strings.Contains(diff, "+new head") || !strings.Contains(diff, "+end") || strings.Contains(diff, "+middle") {
		t.Errorf("not the rest is left:\n%s", diff)
	}
	if r.git("diff", "--cached", "--name-only") != "" || r.snapshot() != before {
		t.Error("the index or the working tree is not as before")
	}
	if got := r.git("log", "-1", "--format=", "-M", "--name-status"); !strings.HasPrefix(got, "R") {
		t.Errorf("no rename: %s", got)
	}
}

func TestStagedChangesOnly(t *testing.T) {
	r := newRig(t)
	r.write("a.txt", lines(1, 40))
	r.write("b.txt", "b\n")
	r.commitAll("first")
	r.write("a.txt", "staged\n"+lines(1, 39)+"also staged\n")
	r.git("add", "a.txt")
	r.write("a.txt", "staged\n"+lines(1, 20)+"not staged\n"+lines(21, 39)+"also staged\n")
	r.write("b.txt", "not staged\n")
	r.write("c.txt", "untracked\n")
	before, status := r.snapshot(), r.git("status", "--porcelain")
	repo, c := r.changes(false)
	if !c.Staged || len(c.Pieces) != 2 {
		t.Fatalf("read %+v", c.Pieces)
	}
	r.make(repo, c, Options{}, Commit{Message: "one", Pieces: ids(c)[:1]})
	if got := r.git("diff", "--cached"); !strings.Contains(got, "+also staged") || strings.Contains(got, "+staged") {
		t.Errorf("staged after one of two:\n%s", got)
	}
	if _, err := repo.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.git("status", "--porcelain"); got != status {
		t.Errorf("undo: status is\n%s\nwas\n%s", got, status)
	}
	repo, c = r.changes(true)
	r.make(repo, c, Options{}, Commit{Message: "both", Pieces: ids(c)})
	if got := r.git("status", "--porcelain"); got != " M a.txt\n M b.txt\n?? c.txt" || r.snapshot() != before {
		t.Errorf("status: %s", got)
	}
	if _, err := repo.Read(t.Context(), true); err == nil || !strings.Contains(err.Error(), "nothing is staged") {
		t.Errorf("nothing staged: %v", err)
	}
}

func TestFirstCommitAndDetachedHead(t *testing.T) {
	pacetest.Costly(t)
	r := newRig(t)
	r.write("a.txt", "a\n")
	r.write("b.txt", "b\n")
	repo, c := r.changes(false)
	r.make(repo, c, Options{}, Commit{Message: "a", Pieces: []string{"1"}}, Commit{Message: "b", Pieces: []string{"2"}})
	if got := r.git("log", "--format=%s", "main"); got != "b\na" {
		t.Errorf("log: %s", got)
	}
	if subjects, err := repo.Undo(t.Context()); err != nil || strings.Join(subjects, " ") != "b a" {
		t.Fatal(subjects, err)
	}
	if got := r.git("status", "--porcelain"); got != "?? a.txt\n?? b.txt" {
		t.Errorf("undo of the first commits: %s", got)
	}
	repo, c = r.changes(false)
	r.make(repo, c, Options{}, Commit{Message: "both", Pieces: ids(c)})
	r.git("checkout", "-q", "--detach")
	r.write("a.txt", "A\n")
	repo, c = r.changes(false)
	r.make(repo, c, Options{}, Commit{Message: "detached", Pieces: ids(c)})
	if r.git("log", "-1", "--format=%s") != "detached" || r.git("log", "-1", "--format=%s", "main") != "both" {
		t.Error("a detached HEAD moved the branch")
	}
	if _, err := repo.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.commitAll("by hand")
	if _, err := repo.Undo(t.Context()); err == nil {
		t.Error("undo took back what burin did not make")
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	r.write("a.txt", "a\n")
	r.commitAll("first")
	refuse := func(want string, read func() error) {
		t.Helper()
		if err := read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	repo := r.open()
	refuse("working tree is clean", func() error { _, err := repo.Read(t.Context(), false); return err })
	refuse("not a git repository", func() error { _, err := Open(t.Context(), t.TempDir()); return err })
	r.git("checkout", "-q", "-b", "other")
	r.write("a.txt", "other\n")
	r.commitAll("other")
	r.git("checkout", "-q", "main")
	r.write("a.txt", "main\n")
	r.commitAll("main")
	merge := exec.Command("git", "merge", "-q", "other")
	merge.Dir = r.root
	_ = merge.Run() // it conflicts
	refuse("a merge is in progress", func() error { _, err := repo.Read(t.Context(), false); return err })
	r.git("merge", "--abort")

	r.write("a.txt", "changed\n")
	r.write("inner/x", "x\n")
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = filepath.Join(r.root, "inner")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	repo, c := r.changes(false)
	if len(c.Pieces) != 1 || len(c.Notes) != 1 {
		t.Errorf("a repository inside: %+v %v", c.Pieces, c.Notes)
	}
	one := Commit{Message: "x", Pieces: ids(c)}
	for want, commits := range map[string][]Commit{
		"no commits": {}, "no message": {{Pieces: ids(c)}}, "has no changes": {{Message: "x"}},
		`no change "9"`: {{Message: "x", Pieces: []string{"9"}}}, "is in commit 1 and in commit 2": {one, one},
	} {
		refuse(want, func() error { _, err := repo.Make(t.Context(), c, commits, Options{}); return err })
	}
	r.git("add", "a.txt")
	refuse("has changed meanwhile", func() error { _, err := repo.Make(t.Context(), c, []Commit{one}, Options{}); return err })
	r.git("reset", "-q")
	r.git("checkout", "-q", "-b", "third")
	refuse("has changed meanwhile", func() error { _, err := repo.Make(t.Context(), c, []Commit{one}, Options{}); return err })
	r.git("checkout", "-q", "main")
	r.write(".git/index.lock", "")
	refuse("another git is at work", func() error { _, err := repo.Make(t.Context(), c, []Commit{one}, Options{}); return err })
	if r.read(".git/index.lock") != "" || r.git("log", "-1", "--format=%s") != "main" {
		t.Error("a lock of another was touched, or the branch moved")
	}
}

func TestHooksRunAsInGit(t *testing.T) {
	pacetest.Costly(t)
	r := newRig(t)
	r.write("a.txt", lines(1, 40))
	r.commitAll("first")
	r.write("a.txt", "top\n"+lines(1, 40)+"end\n")
	hook := func(name, script string) {
		r.write(".git/hooks/"+name, "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(r.root, ".git/hooks", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(t.TempDir(), "log")
	hook("pre-commit", "git diff --cached --numstat >> "+log)
	hook("commit-msg", `echo "Ticket: 7" >> "$1"`)
	hook("post-commit", "echo done >> "+log)
	repo, c := r.changes(false)
	commits := []Commit{{Message: "top", Pieces: []string{"1.1"}}, {Message: "end", Pieces: []string{"1.2"}}}
	r.make(repo, c, Options{}, commits...)
	if got, _ := os.ReadFile(log); string(got) != "1\t0\ta.txt\n2\t0\ta.txt\ndone\n" {
		t.Errorf("hooks saw:\n%s", got)
	}
	if got := r.git("log", "-1", "--format=%B"); got != "end\nTicket: 7\n" && got != "end\nTicket: 7" {
		t.Errorf("message: %q", got)
	}
	if _, err := repo.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"too long":                      "echo too long >&2; exit 1",
		"has changed what is committed": "echo x > a.txt; git add a.txt",
	} {
		r.write("a.txt", "top\n"+lines(1, 40)+"end\n")
		hook("pre-commit", `test "$(git diff --cached --numstat | cut -f1)" = 1 || { `+script+`; }`)
		repo, c = r.changes(false)
		head := r.git("rev-parse", "HEAD")
		if _, err := repo.Make(t.Context(), c, commits, Options{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
		if r.git("rev-parse", "HEAD") != head || r.git("diff", "--cached", "--name-only") != "" {
			t.Error("something is committed although a hook has refused")
		}
		r.make(repo, c, Options{NoVerify: true}, commits...)
		r.write("a.txt", "top\n"+lines(1, 40)+"end\n")
		if _, err := repo.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesOfACommit(t *testing.T) {
	r := newRig(t)
	r.write(".gitattributes", "*.md text eol=crlf\n")
	r.write("CHANGELOG.md", "# Changes\r\n")
	r.write("a.txt", "a\n")
	r.commitAll("first")
	r.write("a.txt", "b\n")
	r.write("b.txt", "b\n")
	repo, c := r.changes(false)
	put := func(text string) map[string][]byte { return map[string][]byte{"CHANGELOG.md": []byte(text)} }
	commits := []Commit{
		{Message: "a", Pieces: []string{"1"}, Put: put("# Changes\r\n- a\r\n")},
		{Message: "b", Pieces: []string{"2"}, Put: put("# Changes\r\n- a\r\n- b\r\n")},
	}
	if _, err := repo.Make(t.Context(), c, commits, Options{Before: put("something else")}); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md has changed") {
		t.Errorf("a file that has changed: %v", err)
	}
	r.make(repo, c, Options{Before: put("# Changes\r\n")}, commits...)
	if got := r.git("status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	if got := r.git("show", "HEAD~1:CHANGELOG.md"); got != "# Changes\n- a" {
		t.Errorf("committed %q", got)
	}
	if got := r.read("CHANGELOG.md"); got != "# Changes\r\n- a\r\n- b\r\n" {
		t.Errorf("on the disk: %q", got)
	}
}

// A file that changed in the moment in which git looked at it, with its size as before, is one
// of the changes.
func TestChangeInTheMomentOfTheIndex(t *testing.T) {
	r := newRig(t)
	r.git("config", "core.checkStat", "minimal")
	r.git("config", "core.trustctime", "false")
	r.write("a.txt", "a\n")
	at := func(name string) {
		moment := time.Unix(1700000000, 0)
		if err := os.Chtimes(filepath.Join(r.root, name), moment, moment); err != nil {
			t.Fatal(err)
		}
	}
	at("a.txt")
	r.commitAll("first")
	r.write("a.txt", "b\n")
	at("a.txt")
	at(".git/index")
	_, c := r.changes(false)
	if len(c.Pieces) != 1 || c.Pieces[0].Path != "a.txt" {
		t.Errorf("what has changed: %v", c.Pieces)
	}
}

func TestSignedCommits(t *testing.T) {
	pacetest.Costly(t)
	r := newRig(t)
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen")
	}
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, kv := range [][2]string{{"gpg.format", "ssh"}, {"user.signingKey", key}, {"commit.gpgSign", "true"}} {
		r.git("config", kv[0], kv[1])
	}
	r.write("a.txt", "a\n")
	repo, c := r.changes(false)
	r.make(repo, c, Options{}, Commit{Message: "signed", Pieces: ids(c)})
	if got := r.git("cat-file", "commit", "HEAD"); !strings.Contains(got, "BEGIN SSH SIGNATURE") {
		t.Errorf("not signed:\n%s", got)
	}
}

func TestSubmodules(t *testing.T) {
	pacetest.Costly(t)
	r := newRig(t)
	sub := newRig(t)
	sub.write("x", "1\n")
	sub.commitAll("sub 1")
	r.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", sub.root, "sub")
	r.commitAll("first")
	inner := &rig{t, filepath.Join(r.root, "sub")}
	inner.write("x", "2\n")
	if _, err := r.open().Read(t.Context(), false); err != ErrClean {
		t.Errorf("a dirty submodule: %v", err)
	}
	inner.commitAll("sub 2")
	r.write("a.txt", "a\n")
	repo, c := r.changes(false)
	if p := c.piece(find(t, c, "sub")[0]); p.What != "changed submodule" {
		t.Errorf("%+v", p)
	}
	r.make(repo, c, Options{}, Commit{Message: "sub", Pieces: find(t, c, "sub")}, Commit{Message: "a", Pieces: find(t, c, "a.txt")})
	if got := r.git("status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
}

func TestSecretFilesAreMarked(t *testing.T) {
	r := newRig(t)
	r.write("tracked.pem", "x\n")
	r.commitAll("first")
	r.write("tracked.pem", "y\n")
	r.write(".env", "A=b\n")
	r.write("go.sum", "sum\n")
	_, c := r.changes(false)
	for _, p := range c.Pieces {
		if p.Secret != (p.Path == ".env") || p.Bulk != (p.Path == "go.sum") {
			t.Errorf("%+v", p)
		}
	}
}

// Random changes of a file, put into commits at random and in any order, add up.
func TestRandomSplitsAddUp(t *testing.T) {
	pacetest.Costly(t)
	r := newRig(t)
	r.write("seed", "")
	r.commitAll("first")
	text := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 60).Draw(t, "lines")
		var b strings.Builder
		for range n {
			b.WriteString(rapid.SampledFrom([]string{"", "a", "b", "}", "\r", "é", "\xff", "long line"}).Draw(t, "line") + "\n")
		}
		return b.String() + rapid.SampledFrom([]string{"", "x", "\n"}).Draw(t, "end")
	})
	rapid.Check(t, func(rt *rapid.T) {
		old := text.Draw(rt, "old")
		kept := strings.SplitAfter(old, "\n")
		var b strings.Builder
		for _, l := range kept {
			switch rapid.IntRange(0, 11).Draw(rt, "what") {
			case 0: // removed
			case 1:
				b.WriteString("new\n" + l)
			case 2:
				b.WriteString("other\n")
			default:
				b.WriteString(l)
			}
		}
		edits := b.String()
		c := &Changes{}
		c.add(delta{from: op{"100644", "a", "f"}, to: op{"100644", "b", "f"}}, map[string]blob{
			"a": {text: true, content: old}, "b": {text: true, content: edits},
		}, true)
		f := c.files[0]
		if f.pieces < 2 {
			return
		}
		repo := r.open()
		m := &maker{Repo: repo, Changes: c, chosen: map[string]bool{}}
		order := rapid.Permutation(ids(c)).Draw(rt, "order")
		var chosen [][]byte
		for _, id := range order[:len(order)-1] {
			m.chosen[id] = true
			own, err := m.entries(t.Context(), f)
			if err != nil {
				rt.Fatal(err)
			}
			chosen = append(chosen, []byte(own[0].object))
		}
		m.chosen[order[len(order)-1]] = true
		f.pieces++ // so that it is put together, not taken from the tree
		own, err := m.entries(t.Context(), f)
		if err != nil {
			rt.Fatal(err)
		}
		if got := r.git("cat-file", "blob", own[0].object); got != strings.TrimRight(edits, "\n") {
			rt.Fatalf("all pieces of\n%q\nare\n%q, want\n%q", old, got, edits)
		}
		if slices.ContainsFunc(chosen, func(o []byte) bool { return bytes.Equal(o, []byte(own[0].object)) }) {
			rt.Fatal("fewer pieces give the whole")
		}
	})
}

// The project's own history: each commit's changes are put into a working tree and split again.
func TestOwnHistoryAddsUp(t *testing.T) {
	pacetest.Costly(t)
	here, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skip("this is no repository")
	}
	r := newRig(t)
	source := strings.TrimSpace(string(here))
	r.root = filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("git", "clone", "-q", "--shared", "--no-checkout", source, r.root).CombinedOutput(); err != nil {
		t.Skipf("no clone: %s", out)
	}
	// The newest three commits that change several files, whatever was committed last.
	var list []string
	for commit := range strings.SplitSeq(r.git("log", "--no-merges", "--format=%x00%H", "--name-only", "-200"), "\x00") {
		if lines := strings.Fields(commit); len(list) < 3 && len(lines) > 3 && len(lines) < 40 {
			list = append(list, lines[0])
		}
	}
	if len(list) < 3 {
		t.Skip("the history is shallow")
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, commit := range list {
		want := r.git("rev-parse", commit+"^{tree}")
		r.git("checkout", "-q", "-f", "--detach", commit)
		r.git("reset", "-q", "--soft", commit+"^")
		r.git("reset", "-q")
		repo, c := r.changes(false)
		if len(c.Pieces) < 3 {
			t.Errorf("%s has %d pieces", commit, len(c.Pieces))
		}
		r.make(repo, c, Options{}, split(ids(c), 4, random.IntN)...)
		if got := r.git("rev-parse", "HEAD^{tree}"); got != want || r.git("status", "--porcelain") != "" {
			t.Errorf("%s: tree %s, want %s", commit, got, want)
		}
	}
}
