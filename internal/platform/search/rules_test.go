package search_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/search"
)

// listed are the files that a search reads, in the order of their paths.
func listed(t testing.TB, fsys fs.FS, f search.Filter) []string {
	t.Helper()
	names := []string{}
	_, err := search.Grep(context.Background(), fsys, search.GrepOptions{Filter: f, Pattern: "", Mode: search.GrepFiles}, func(m search.Match) bool {
		names = append(names, m.Path)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRules(t *testing.T) {
	tree := makeTree(t, map[string]string{
		".git/info/exclude":        "excluded\n",
		".git/config":              "[core]\n\tignorecase = false\n",
		".gitignore":               "*.log\n/top\nbuild/\n!/keep.log\nvendor\n",
		".github/flow.yml":         "x\n",
		".hidden":                  "x\n",
		"a.go":                     "x\n",
		"a.log":                    "x\n",
		"keep.log":                 "x\n",
		"excluded":                 "x\n",
		"top":                      "x\n",
		"sub/top":                  "x\n",
		"sub/build/out.go":         "x\n",
		"sub/.gitignore":           "!b.log\n*.tmp\n",
		"sub/b.log":                "x\n",
		"sub/c.tmp":                "x\n",
		"sub/.ignore":              "!c.tmp\nx.md\n",
		"sub/x.md":                 "x\n",
		"sub/.rgignore":            "!x.md\n",
		"vendor/v.go":              "x\n",
		"nested/.git/config":       "",
		"nested/.git/info/exclude": "priv\n",
		"nested/n.log":             "x\n",
		"nested/priv":              "x\n",
		"web/app.ts":               "x\n",
		"web/app.test.ts":          "x\n",
		"web/node_modules/m.js":    "x\n",
	})
	for _, tt := range []struct {
		name string
		f    search.Filter
		want []string
	}{
		{"plain", search.Filter{}, []string{"a.go", "keep.log", "nested/n.log", "sub/b.log", "sub/c.tmp", "sub/top", "sub/x.md", "web/app.test.ts", "web/app.ts", "web/node_modules/m.js"}},
		{"globs", search.Filter{Globs: []string{"*.ts", "!*.test.ts"}}, []string{"web/app.ts"}},
		{"the last glob counts", search.Filter{Globs: []string{"!*.test.ts", "*.ts"}}, []string{"web/app.test.ts", "web/app.ts"}},
		{"globs that exclude", search.Filter{Globs: []string{"!web", "!*.log"}}, []string{"a.go", "sub/c.tmp", "sub/top", "sub/x.md"}},
		{"braces", search.Filter{Globs: []string{"{a,web/app}.{go,ts"}}, []string{"a.go", "web/app.ts"}},
		{"a glob names what is hidden or ignored", search.Filter{Globs: []string{".hidden", "top"}}, []string{".hidden", "sub/top", "top"}},
		{"an anchored glob", search.Filter{Globs: []string{"/top"}}, []string{"top"}},
		{"types", search.Filter{Types: []string{"go", "markdown"}}, []string{"a.go", "sub/x.md"}},
		{"types and globs", search.Filter{Types: []string{"ts"}, Globs: []string{"!*.test.*"}}, []string{"web/app.ts"}},
		{"a path", search.Filter{Paths: []string{"sub/"}}, []string{"sub/b.log", "sub/c.tmp", "sub/top", "sub/x.md"}},
		{"a path that is ignored", search.Filter{Paths: []string{"vendor", "top", "sub/build"}}, []string{"sub/build/out.go", "top", "vendor/v.go"}},
		{
			"a path in others",
			search.Filter{Paths: []string{"sub", "./sub/b.log", "sub/../a.log", "sub/build/out.go"}},
			[]string{"a.log", "sub/c.tmp", "sub/top", "sub/x.md", "sub/b.log", "sub/build/out.go"},
		},
		{"an absolute path inside", search.Filter{Paths: []string{filepath.Join(tree.dir, "a.go")}}, []string{"a.go"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, listed(t, tree, tt.f)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, f := range []search.Filter{{Hidden: true}, {Ignored: true}, {Hidden: true, Ignored: true}} {
		for _, name := range listed(t, tree, f) {
			if strings.Contains(name, ".git/") {
				t.Errorf("with %+v %s is searched", f, name)
			}
		}
	}
	if all := listed(t, tree, search.Filter{Hidden: true, Ignored: true}); len(all) != 22 {
		t.Errorf("with everything %d files are searched: %v", len(all), all)
	}
}

// The rules above a folder hold in it, up to the root of the repository, and the
// user's own; in a linked work tree those of the repository.
func TestRulesFromOutside(t *testing.T) {
	tree := makeTree(t, map[string]string{
		".gitignore":                      "all\n",
		"repo/.git/worktrees/w/commondir": "../..\n",
		"repo/.git/info/exclude":          "*.priv\n",
		"repo/.gitignore":                 "*.log\n/in/only\n/only\n",
		"repo/in/.ignore":                 "dot\n",
		"repo/in/deep/all":                "x\n",
		"repo/in/deep/a.log":              "x\n",
		"repo/in/deep/a.priv":             "x\n",
		"repo/in/deep/dot":                "x\n",
		"repo/in/deep/only":               "x\n",
		"repo/in/deep/a.user":             "x\n",
		"repo/in/only":                    "x\n",
		"repo/in/x":                       "x\n",
		"work/.git":                       "gitdir: ../repo/.git/worktrees/w\n",
		"work/w.priv":                     "x\n",
		"work/w":                          "x\n",
	})
	home := t.TempDir()
	t.Setenv("HOME", home)
	writeFile(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = x\n[core]\n\texcludesFile = \"~/my \\\"rules\\\"\" ; mine\n")
	writeFile(t, filepath.Join(home, `my "rules"`), "*.user\n")
	for dir, want := range map[string][]string{
		"repo/in/deep": {"all", "only"},
		"repo/in":      {"deep/all", "deep/only", "x"},
		"work":         {"w"},
	} {
		if diff := cmp.Diff(want, listed(t, dirFS(filepath.Join(tree.dir, dir)), search.Filter{})); diff != "" {
			t.Errorf("in %s: %s", dir, diff)
		}
	}
}

// What git and ripgrep list in random trees is what a search reads there.
func TestAgainstGitAndRipgrep(t *testing.T) {
	for _, tool := range []string{"git", "rg"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	seed := rand.Uint64()
	for round := range rounds(t, 10) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		of := func(s ...string) string { return s[r.IntN(len(s))] }
		files := map[string]string{}
		folder := func() string {
			return strings.Repeat(of("", "a/"), 1) + strings.Repeat(of("", "b/", ".h/", "ab/"), 1) + of("", "c/", "b/")
		}
		for range 60 {
			files[folder()+of("a", "b", "x", ".x")+of("0", ".go", ".md", ".log", "-1")] = "x\n"
		}
		rules := func() string {
			var b strings.Builder
			for range 1 + r.IntN(4) {
				b.WriteString(of("", "", "!", "/", "!/", "**/") + of("a", "a0", "b", "*.go", "x*", "ab", "c", ".h", "?", "[ab]", "a/b", "b/*", "a/**", "*/c", ".x*") + of("", "", "/") + "\n")
			}
			return b.String()
		}
		gitOnly := round%2 == 0
		for range 3 {
			files[folder()+".gitignore"] = rules()
			if !gitOnly {
				files[folder()+of(".ignore", ".rgignore")] = rules()
			}
		}
		tree := makeTree(t, files)
		tool(t, tree.dir, "git", "init", "-q")
		writeFile(t, filepath.Join(tree.dir, ".git/info/exclude"), rules())
		if gitOnly {
			want := lines(tool(t, tree.dir, "git", "ls-files", "-o", "--exclude-standard"))
			compare(t, seed, round, tree, files, want, search.Filter{Hidden: true})
		}
		compare(t, seed, round, tree, files, lines(tool(t, tree.dir, "rg", "--files", "--hidden")), search.Filter{Hidden: true})
		compare(t, seed, round, tree, files, lines(tool(t, tree.dir, "rg", "--files")), search.Filter{})
		glob := of("*.go", "!*.go", "a", "!a", "/b", "b/*", "!**/b/**", "{a,x}.*", "**/c/*")
		compare(t, seed, round, tree, files, lines(tool(t, tree.dir, "rg", "--files", "-g", glob)), search.Filter{Globs: []string{glob}})
		if t.Failed() {
			return
		}
	}
}

func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); ok && name == "rg" && e.ExitCode() == 1 {
		err = nil // nothing found
	}
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func lines(s string) []string {
	out := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	slices.Sort(out)
	return out
}

func compare(t *testing.T, seed uint64, round int, tree rooted, files map[string]string, want []string, f search.Filter) {
	t.Helper()
	want = slices.DeleteFunc(want, func(n string) bool { return strings.HasPrefix(n, ".git/") })
	got := listed(t, tree, f)
	if !slices.IsSorted(got) {
		t.Errorf("not in order: %v", got)
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		var b strings.Builder
		for name, text := range files {
			if strings.HasSuffix(name, "ignore") {
				fmt.Fprintf(&b, "%s: %q\n", name, text)
			}
		}
		exclude, _ := os.ReadFile(filepath.Join(tree.dir, ".git/info/exclude"))
		t.Errorf("round %d of seed %d, filter %+v, exclude %q\n%s%s", round, seed, f, exclude, b.String(), diff)
	}
}

// All ways to reach a tree give the same.
func TestTreesAgree(t *testing.T) {
	files := map[string]string{"z/a/b": "x\n", ".gitignore": "no*\n", "z.go": "x\n", "z-1": "x\n", "z/no": "x\n", "é": "x\n", "z/.h": "x\n"}
	tree := makeTree(t, files)
	virtual := fstest.MapFS{}
	for name, text := range files {
		virtual[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := []string{"z-1", "z.go", "z/a/b", "é"}
	for name, fsys := range map[string]fs.FS{"rooted": tree, "plain": os.DirFS(tree.dir), "virtual": virtual} {
		if diff := cmp.Diff(want, listed(t, fsys, search.Filter{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]string{"z/a/b"}, listed(t, fsys, search.Filter{Paths: []string{"z"}})); diff != "" {
			t.Errorf("%s, in a folder: %s", name, diff)
		}
	}
}

func TestTypesAreKnown(t *testing.T) {
	out, err := exec.Command("rg", "--type-list").Output()
	if err != nil {
		t.Skip("no ripgrep here")
	}
	known := search.Kinds()
	var unknown []string
	for line := range bytes.Lines(out) {
		name, _, _ := strings.Cut(string(line), ":")
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 40 {
		t.Errorf("ripgrep knows %d types that are not known here: %v", len(unknown), unknown)
	}
	for _, k := range known {
		if names := listed(t, fstest.MapFS{}, search.Filter{Types: []string{k}}); len(names) != 0 {
			t.Errorf("type %s finds %v in an empty tree", k, names)
		}
	}
}
