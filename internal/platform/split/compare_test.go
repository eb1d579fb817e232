package split

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// compared gives the names of what a comparison says has changed.
func (r *rig) compared(what string) (*Comparison, []string) {
	r.t.Helper()
	c, err := r.open().Compare(r.t.Context(), what, 3)
	if err != nil {
		r.t.Fatalf("%q: %v", what, err)
	}
	var names []string
	for line := range strings.Lines(c.Diff) {
		if rest, ok := strings.CutPrefix(line, "diff --git a/"); ok {
			name, _, _ := strings.Cut(rest, " b/")
			names = append(names, name)
		}
	}
	return c, names
}

func TestCompareUncommitted(t *testing.T) {
	r := newRig(t)
	r.write("staged.go", "1\n")
	_, names := r.compared("") // before the first commit
	if !slices.Equal(names, []string{"staged.go"}) {
		t.Errorf("before the first commit: %v", names)
	}
	r.write("tree.go", "1\n")
	r.write(".gitignore", "ignored\n")
	r.commitAll("begin")
	r.write("staged.go", "2\n")
	r.git("add", "staged.go")
	r.write("tree.go", "2\n")
	r.write("new ü.go", "new\n")
	r.write("ignored", "x\n")
	r.write(".env", "KEY=x\n")
	before := r.snapshot() + r.read(".git/index")
	c, names := r.compared("")
	if want := []string{"new ü.go", "staged.go", "tree.go"}; !slices.Equal(names, want) {
		t.Errorf("changed: %v, want %v", names, want)
	}
	if c.Name != "uncommitted changes" || c.Commit != "" || !strings.Contains(c.Diff, "+new\n") || !strings.Contains(strings.Join(c.Notes, "\n"), "left out: .env") {
		t.Errorf("%+v", c)
	}
	if after := r.snapshot() + r.read(".git/index"); after != before {
		t.Errorf("the repository has changed: %s\nbefore: %s", after, before)
	}
}

func TestCompareCommits(t *testing.T) {
	pacetest.Costly(t)
	r := newRig(t)
	r.write("a.go", "1\n")
	r.commitAll("begin")
	r.git("checkout", "-q", "-b", "topic")
	r.write("b.go", "1\n")
	r.commitAll("add b")
	r.write("c.go", "1\n")
	r.commitAll("add c")
	r.git("checkout", "-q", "main")
	r.write("d.go", "1\n")
	r.commitAll("add d")
	r.git("checkout", "-q", "topic")
	for what, want := range map[string]string{
		"":              "main..HEAD: b.go c.go; add c,add b",
		"main..topic":   "main..topic: b.go c.go; add c,add b",
		"main...":       "main...: b.go c.go; add c,add b",
		"HEAD":          "commit HEAD: c.go; add c",
		"HEAD~2":        "commit HEAD~2: a.go; begin", // without a parent
		"topic..main":   "topic..main: d.go; add d",
		"HEAD~1..topic": "HEAD~1..topic: c.go; add c",
	} {
		c, names := r.compared(what)
		if got := c.Name + ": " + strings.Join(names, " ") + "; " + strings.Join(c.Commits, ","); got != want {
			t.Errorf("%q is %s, want %s", what, got, want)
		}
		if elsewhere := what == "HEAD~2" || what == "topic..main"; (c.Commit != "") != elsewhere {
			t.Errorf("%q is at %q", what, c.Commit)
		}
	}
	for what, want := range map[string]string{
		"--output=x": "not a range", "main..--all": "not a revision", "nothing": `no commit "nothing"`, "HEAD..HEAD": "nothing to review",
	} {
		if _, err := r.open().Compare(t.Context(), what, 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", what, err, want)
		}
	}
	r.git("checkout", "-q", "main")
	if _, err := r.open().Compare(t.Context(), "", 3); err == nil || !strings.Contains(err.Error(), "name a commit or a range") {
		t.Errorf("on main: %v", err)
	}
}

func TestCompareWithUpstream(t *testing.T) {
	r := newRig(t)
	r.write("a.go", "1\n")
	r.commitAll("begin")
	r.git("branch", "develop")
	r.git("checkout", "-q", "-b", "topic")
	r.write("b.go", "1\n")
	r.commitAll("add b")
	r.git("branch", "-q", "-f", "main", "topic")
	r.git("branch", "-q", "--set-upstream-to=develop")
	if c, _ := r.compared(""); c.Name != "develop..HEAD" {
		t.Errorf("compared %s", c.Name)
	}
}

func TestExport(t *testing.T) {
	r := newRig(t)
	r.write("sub/a.go", "old\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(r.root, "link")); err != nil {
		t.Skip(err)
	}
	r.commitAll("begin")
	r.write("sub/a.go", "new\n")
	r.commitAll("again")
	repo, dir := r.open(), t.TempDir()
	before := r.snapshot()
	if err := repo.Export(t.Context(), "HEAD~1", dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"sub/a.go": "old\n", "link": "/etc/passwd"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		} else if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if after := r.snapshot(); after != before {
		t.Errorf("the repository has changed: %s\nbefore: %s", after, before)
	}
	if !repo.Has(t.Context(), r.git("rev-parse", "HEAD")) || repo.Has(t.Context(), "--all") || repo.Has(t.Context(), strings.Repeat("1", 40)) {
		t.Error("Has is wrong")
	}
}
