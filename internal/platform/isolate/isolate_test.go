package isolate_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/isolate"
)

// repo is a repository in a temporary folder.
type repo struct {
	testing.TB
	dir, under string
}

func newRepo(t testing.TB) repo {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := repo{t, filepath.Join(home, "repo"), filepath.Join(home, "state", "isolated")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "Person")
	r.git("config", "user.email", "person@example.com")
	return r
}

// in runs git in a folder.
func (r repo) in(dir string, input []byte, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r repo) git(args ...string) string { r.Helper(); return r.in(r.dir, nil, args...) }

func (r repo) put(name, text string) { r.Helper(); put(r, filepath.Join(r.dir, name), text) }

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r repo) open(mode string) *isolate.Folder { r.Helper(); return r.openAt(r.dir, mode) }

func (r repo) openAt(dir, mode string) *isolate.Folder {
	r.Helper()
	f, err := isolate.Open(r.Context(), isolate.Options{Dir: dir, Under: r.under, Mode: mode, Name: "test"})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := f.Close(); err != nil {
			r.Error(err)
		}
	})
	return f
}

// files are all files of a folder but those in its .git, with their modes.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			to, err := os.Readlink(path)
			all[rel] = "-> " + to
			return err
		}
		data, err := os.ReadFile(path)
		all[rel] = fmt.Sprintf("%o %s", info.Mode()&0o100, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// facts are what must not change in a repository.
func (r repo) facts() map[string]string {
	r.Helper()
	index, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
	if err != nil {
		r.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(r.dir, ".git", "config"))
	if err != nil {
		r.Fatal(err)
	}
	worktrees, _ := os.ReadDir(filepath.Join(r.dir, ".git", "worktrees"))
	return map[string]string{
		"status": r.git("status", "--porcelain=v2", "--branch", "--ignored", "-z"), "index": string(index), "config": string(config),
		"stashes": r.git("stash", "list"), "refs": r.git("for-each-ref"), "head": r.git("rev-parse", "HEAD"), "reflog": r.git("reflog"),
		"worktrees": fmt.Sprint(worktrees),
	}
}

func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[k]; !ok || g != want[k] {
			t.Errorf("%s: %s is %.300q (there: %v), want %.300q", what, k, g, ok, want[k])
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: %s is there: %.100q", what, k, got[k])
		}
	}
}

// dirty makes a repository with every kind of uncommitted work.
func dirty(t testing.TB) repo {
	t.Helper()
	r := newRepo(t)
	for i := range 20 {
		var b strings.Builder
		for l := range 100 {
			fmt.Fprintf(&b, "file %d line %d\n", i, l)
		}
		r.put(fmt.Sprintf("src/f%02d.txt", i), b.String())
	}
	r.put(".gitignore", "ignored/\n")
	r.put("deleted", "x")
	r.put("staged", "x")
	r.put("both", "x")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	r.put("both", "stashed")
	r.git("stash", "-q")
	r.put("staged", "staged")
	r.put("both", "staged")
	r.git("add", ".")
	r.put("both", "changed")
	r.put("new\nline", "untracked")
	r.put("ignored/x", "ignored")
	r.put("src/f00.txt", strings.Replace(read(t, filepath.Join(r.dir, "src/f00.txt")), "line 50\n", "line fifty\n", 1))
	if err := os.Remove(filepath.Join(r.dir, "deleted")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("staged", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var modes = []string{isolate.Copy, isolate.Worktree}

func TestFolderBeginsAsTheWorkingTree(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			r := dirty(t)
			before, was := r.facts(), files(t, r.dir)
			f := r.open(mode)
			want := maps.Clone(was)
			delete(want, "ignored/x")
			same(t, "folder", files(t, f.Dir()), want)
			if p, err := f.Patch(t.Context()); err != nil || len(p) > 0 {
				t.Errorf("nothing was changed: %v, %s", err, p)
			}
			status := func(dir string) string {
				return r.in(dir, nil, "status", "--porcelain=v1", "-z", "--untracked-files=all")
			}
			if got, want := status(f.Dir()), status(r.dir); got != want {
				t.Errorf("the agent sees the status %q, want %q", got, want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			same(t, "repository", r.facts(), before)
			same(t, "files", files(t, r.dir), was)
			if left, _ := filepath.Glob(filepath.Join(r.under, "*", "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Eight agents edit the same twenty files at the same time.
func TestEightFolders(t *testing.T) {
	pacetest.Costly(t)
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			r := dirty(t)
			before, was := r.facts(), files(t, r.dir)
			changes := make([][]isolate.Change, 8)
			var agents sync.WaitGroup
			for a := range changes {
				agents.Go(func() {
					f, err := isolate.Open(t.Context(), isolate.Options{Dir: r.dir, Under: r.under, Mode: mode})
					if err != nil {
						t.Error(err)
						return
					}
					defer f.Close()
					for i := range 20 {
						path := filepath.Join(f.Dir(), fmt.Sprintf("src/f%02d.txt", i))
						data, err := os.ReadFile(path)
						if err != nil {
							t.Error(err)
							return
						}
						text := strings.Replace(string(data), fmt.Sprintf("line %d\n", 10*a+5), fmt.Sprintf("agent %d\n", a), 1)
						if i == 7 { // where all of them disagree
							text = strings.Replace(text, "line 99\n", fmt.Sprintf("last %d\n", a), 1)
						}
						if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
							t.Error(err)
						}
					}
					if changes[a], err = f.Changes(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			agents.Wait()
			same(t, "repository", r.facts(), before)
			same(t, "files", files(t, r.dir), was)
			conflicts := 0
			for a, c := range changes {
				if len(c) != 20 {
					t.Fatalf("agent %d changed %d files", a, len(c))
				}
				m, err := isolate.Merge(c, isolate.Reader(r.dir))
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range m.Conflicts {
					conflicts++
					i := slices.IndexFunc(c, func(c isolate.Change) bool { return c.Path == x.Path })
					if want := mergeFile(t, read(t, filepath.Join(r.dir, x.Path)), string(c[i].Base), string(c[i].Theirs)); string(x.Text) != want {
						t.Errorf("%s: git merge-file prints\n%s\nnot\n%s", x.Path, want, x.Text)
					}
				}
				for _, w := range m.Writes {
					put(t, filepath.Join(r.dir, w.Path), string(w.Data))
				}
			}
			if conflicts != 7 {
				t.Errorf("%d conflicts, want 7: one for each agent but the first", conflicts)
			}
			for i := range 20 {
				text := read(t, filepath.Join(r.dir, fmt.Sprintf("src/f%02d.txt", i)))
				for a := range 8 {
					if has := strings.Contains(text, fmt.Sprintf("agent %d\n", a)); has != (i != 7 || a == 0) {
						t.Errorf("file %d has the edit of agent %d: %v", i, a, has)
					}
				}
			}
			now, after := r.facts(), files(t, r.dir)
			for _, x := range []map[string]string{before, now} {
				delete(x, "status")
			}
			same(t, "repository", now, before)
			for i := range 20 {
				delete(was, fmt.Sprintf("src/f%02d.txt", i))
				delete(after, fmt.Sprintf("src/f%02d.txt", i))
			}
			same(t, "files", after, was)
		})
	}
}

func mergeFile(t testing.TB, ours, base, theirs string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), ours)
	put(t, filepath.Join(dir, "b"), base)
	put(t, filepath.Join(dir, "c"), theirs)
	out, _ := exec.Command("git", "merge-file", "-p", "-L", "yours", "-L", "base", "-L", "agent", filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")).Output()
	return string(out)
}

// Whatever is done in the folder, its patch on what was there gives its files.
func TestPatchIsExact(t *testing.T) {
	pacetest.Costly(t)
	for seed := range pacetest.Cases(uint64(6), 25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 16))
			r := dirty(t)
			mode := modes[seed%2]
			f := r.open(mode)
			base := t.TempDir()
			for _, dir := range []string{base} {
				if err := os.CopyFS(dir, os.DirFS(f.Dir())); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
					t.Fatal(err)
				}
			}
			scribble(t, random, f.Dir())
			if seed%3 == 0 {
				r.in(f.Dir(), nil, "add", "-A")
				r.in(f.Dir(), nil, "commit", "-qm", "by the agent")
				scribble(t, random, f.Dir())
			}
			patch, err := f.Patch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.in(base, nil, "init", "-q")
			if len(patch) > 0 {
				r.in(base, patch, "apply", "--whitespace=nowarn", "-")
			}
			same(t, "patched", files(t, base), files(t, f.Dir()))

			changes, err := f.Changes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m, err := isolate.Merge(changes, isolate.Reader(r.dir))
			if err != nil || len(m.Conflicts) > 0 {
				t.Fatalf("the person changed nothing: %v, %v", err, m.Conflicts)
			}
			apply(t, r.dir, m.Writes)
			want := files(t, f.Dir())
			want["ignored/x"] = "0 ignored"
			same(t, "merged", files(t, r.dir), want)
		})
	}
}

// apply does what a caller of Merge does.
func apply(t testing.TB, dir string, writes []isolate.Write) {
	t.Helper()
	for _, w := range writes {
		if w.Delete {
			if err := os.Remove(filepath.Join(dir, w.Path)); err != nil {
				t.Error(err)
			}
			for at := filepath.Dir(w.Path); at != "." && os.Remove(filepath.Join(dir, at)) == nil; at = filepath.Dir(at) {
			}
		}
	}
	for _, w := range writes {
		path := filepath.Join(dir, w.Path)
		if w.Delete {
			continue
		}
		_ = os.Remove(path)
		if w.Mode&fs.ModeSymlink != 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Error(err)
			}
			if err := os.Symlink(string(w.Data), path); err != nil {
				t.Error(err)
			}
			continue
		}
		put(t, path, string(w.Data))
		if err := os.Chmod(path, w.Mode); err != nil {
			t.Error(err)
		}
	}
}

// scribble changes files at random: contents, modes, kinds, places.
func scribble(t testing.TB, random *rand.Rand, dir string) {
	t.Helper()
	names := slices.Sorted(maps.Keys(files(t, dir)))
	for range 15 {
		name := names[random.IntN(len(names))]
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		switch random.IntN(9) {
		case 0: // of the same size, in the same moment
			if info.Mode().IsRegular() {
				data := []byte(read(t, path))
				if len(data) > 0 {
					data[random.IntN(len(data))] ^= 1
				}
				put(t, path, string(data))
			}
		case 1:
			_ = os.Remove(path)
		case 2: // one bit for all, as git has it
			if info.Mode().IsRegular() {
				_ = os.Chmod(path, info.Mode()^0o111)
			}
		case 3:
			_ = os.Remove(path)
			_ = os.Symlink([]string{"/etc/passwd", "src", "nowhere"}[random.IntN(3)], path)
		case 4:
			_ = os.Remove(path)
			put(t, filepath.Join(path, "inside"), "a folder in the place of a file\r\nno end")
		case 5:
			data := make([]byte, random.IntN(5000))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			put(t, filepath.Join(dir, fmt.Sprintf("new %d/\"ü\"%d", random.IntN(3), random.IntN(100))), string(data))
		case 6:
			if info, err := os.Lstat(filepath.Join(dir, "src")); err == nil && info.IsDir() {
				put(t, filepath.Join(dir, fmt.Sprintf("src/empty%d", random.IntN(9))), "")
			}
		case 7:
			_ = os.Rename(path, filepath.Join(dir, fmt.Sprintf("moved%d", random.IntN(99))))
		case 8:
			if info.Mode().IsRegular() {
				put(t, path, strings.ReplaceAll(read(t, path), "\n", "\r\n")+"more")
			}
		}
	}
	if random.IntN(3) == 0 {
		_ = os.RemoveAll(filepath.Join(dir, "src"))
		_ = os.Symlink("new 0", filepath.Join(dir, "src"))
	}
}

func TestNeedsARepository(t *testing.T) {
	r := newRepo(t)
	_, err := isolate.Open(t.Context(), isolate.Options{Dir: t.TempDir(), Under: r.under})
	if !errors.Is(err, isolate.ErrNoRepository) {
		t.Error(err)
	}
}

func TestBranch(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			r := dirty(t)
			f := r.open(mode)
			put(t, filepath.Join(f.Dir(), "src/f03.txt"), "by the agent\n")
			put(t, filepath.Join(f.Dir(), "made"), "new")
			text := read(t, filepath.Join(f.Dir(), "src/f00.txt")) // changed by the person, too
			put(t, filepath.Join(f.Dir(), "src/f00.txt"), strings.Replace(text, "line 10\n", "line ten\n", 1))
			before, was := r.facts(), files(t, r.dir)
			name, commit, err := f.Branch(t.Context(), "burin/one", "By an agent\n", "An Agent <agent@example.com>")
			if err != nil || name != "burin/one" {
				t.Fatal(name, err)
			}
			if got := r.git("diff", "--name-only", "HEAD", commit); got != "made\nsrc/f00.txt\nsrc/f03.txt\n" {
				t.Errorf("the branch changes %q", got)
			}
			if got := r.git("show", commit+":src/f00.txt"); !strings.Contains(got, "line ten\n") || strings.Contains(got, "fifty") {
				t.Error("the branch has what the person did not commit, or lacks the change")
			}
			if got := r.git("log", "-1", "--format=%an %ae %P %s", "burin/one"); got != "An Agent agent@example.com "+strings.TrimSpace(r.git("rev-parse", "HEAD"))+" By an agent\n" {
				t.Error(got)
			}
			if name, _, err := f.Branch(t.Context(), "burin/one", "again"); err != nil || name != "burin/one-2" || strings.TrimSpace(r.git("rev-parse", "burin/one")) != commit {
				t.Errorf("the same name again is %q: %v", name, err)
			}
			r.git("update-ref", "-d", "refs/heads/burin/one-2")
			if _, _, err := f.Branch(t.Context(), "burin/one/sub", "below"); err == nil {
				t.Error("a branch below another one was made")
			}
			if _, _, err := f.Branch(t.Context(), "../x", "bad name"); err == nil {
				t.Error("a bad name was taken")
			}
			r.git("update-ref", "-d", "refs/heads/burin/one")
			same(t, "repository", r.facts(), before)
			same(t, "files", files(t, r.dir), was)
			put(t, filepath.Join(f.Dir(), "staged"), "by the agent")
			if _, _, err := f.Branch(t.Context(), "burin/two", "no"); err == nil || !strings.Contains(err.Error(), "staged") {
				t.Errorf("a change of what isn't committed: %v", err)
			}
		})
	}
}

func TestSubfolderAndNestedRepository(t *testing.T) {
	r := dirty(t)
	inner := filepath.Join(r.dir, "src", "inner")
	put(t, filepath.Join(inner, "a"), "committed\n")
	r.in(inner, nil, "init", "-q")
	r.in(inner, nil, "add", ".")
	r.in(inner, nil, "commit", "-qm", "inner")
	put(t, filepath.Join(inner, "b"), "untracked\n")
	f := r.openAt(filepath.Join(r.dir, "src"), isolate.Auto)
	put(t, filepath.Join(f.Dir(), "inner/a"), "changed\n")
	put(t, filepath.Join(f.Dir(), "inner/b"), "changed\n")
	put(t, filepath.Join(f.Dir(), "../staged"), "outside\n")
	changes, err := f.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.Path+" in "+c.Repo)
	}
	if want := []string{"inner/a in src/inner", "inner/b in src/inner", "../staged in "}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	m, err := isolate.Merge(changes, isolate.Reader(filepath.Join(r.dir, "src")))
	if err != nil || len(m.Writes) != 2 || len(m.Conflicts) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, _, err := f.Branch(t.Context(), "x", "m"); err == nil || !strings.Contains(err.Error(), "src/inner") {
		t.Errorf("%v", err)
	}
}

// What a repository configures and what the agent writes runs nothing.
func TestHostileRepository(t *testing.T) {
	r := dirty(t)
	canary := filepath.Join(t.TempDir(), "canary")
	command := "echo ran >> " + canary + "; cat"
	r.put("hooks/post-checkout", "#!/bin/sh\n"+command+"\n")
	for _, hook := range []string{"post-index-change", "reference-transaction", "pre-commit"} {
		r.put("hooks/"+hook, read(t, filepath.Join(r.dir, "hooks/post-checkout")))
	}
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit"} {
		if err := os.Chmod(filepath.Join(r.dir, "hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.put(".gitattributes", "* filter=x diff=x\n")
	for _, x := range [][2]string{
		{"core.hooksPath", filepath.Join(r.dir, "hooks")},
		{"core.fsmonitor", command},
		{"filter.x.clean", command},
		{"filter.x.smudge", command},
		{"filter.x.required", "true"},
		{"diff.x.textconv", command},
		{"diff.external", command},
	} {
		r.git("config", x[0], x[1])
	}
	for _, mode := range modes {
		f := r.open(mode)
		put(t, filepath.Join(f.Dir(), "src/f03.txt"), "by the agent\n")
		put(t, filepath.Join(f.Dir(), ".gitattributes"), "* filter=x diff=x text working-tree-encoding=UTF-16\n")
		if p, err := f.Patch(t.Context()); err != nil || !bytes.Contains(p, []byte("+by the agent")) {
			t.Errorf("%s: %v: %s", mode, err, p)
		}
		if _, _, err := f.Branch(t.Context(), "b", "m"); err == nil || !strings.Contains(err.Error(), "filter") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if b, err := os.ReadFile(canary); err == nil {
		t.Errorf("something ran: %s", b)
	}
}

func TestMergeNamesConflicts(t *testing.T) {
	file := func(base, theirs string) isolate.Change {
		c := isolate.Change{Path: "f"}
		if base != "" {
			c.Base, c.BaseMode = []byte(base), 0o644
		}
		if theirs != "" {
			c.Theirs, c.TheirsMode = []byte(theirs), 0o644
		}
		c.Binary = strings.Contains(base+theirs, "\x00")
		return c
	}
	mode := func(c isolate.Change, base, theirs fs.FileMode) isolate.Change {
		c.BaseMode, c.TheirsMode = base, theirs
		return c
	}
	for name, x := range map[string]struct {
		change isolate.Change
		ours   string
		mode   fs.FileMode // 0: it isn't known
		why    string
		chmod  bool // it is written, with its mode
	}{
		"delete, changed":   {file("a\n", ""), "b\n", 0, "it was deleted there and changed here", false},
		"change, deleted":   {file("a\n", "b\n"), "", 0, "it was changed there and deleted here", false},
		"both added":        {file("", "b\n"), "c\n", 0, "both sides added it", false},
		"lines":             {file("a\n", "b\n"), "c\n", 0, "both sides changed the same lines", false},
		"binary":            {file("a\x00", "b\x00"), "c\x00", 0, "both sides changed a binary file", false},
		"same":              {file("a\n", "b\n"), "b\n", 0, "", false},
		"outside":           {isolate.Change{Path: "../f"}, "", 0, "it is outside of the workspace", false},
		"large":             {isolate.Change{Path: "f", Large: true, TheirsMode: 0o644}, "", 0, "it is too large to merge (32 MiB, and 256 MiB of all files)", false},
		"mode":              {mode(file("a\n", "a\n"), 0o644, 0o755), "b\n", 0o600, "", true},
		"mode back":         {mode(file("a\n", "a\n"), 0o755, 0o644), "a\n", 0o755, "", true},
		"same mode":         {mode(file("a\n", "b\n"), 0o644, 0o755), "b\n", 0o755, "", false},
		"same, mode":        {mode(file("a\n", "b\n"), 0o755, 0o644), "b\n", 0o755, "", true},
		"mode here":         {mode(file("a\n", "b\n"), 0o644, 0o644), "b\n", 0o755, "", false},
		"mode, deleted":     {mode(file("a\n", "a\n"), 0o644, 0o755), "", 0, "its mode was changed there, and here it was removed or replaced", false},
		"deleted, mode":     {mode(file("a\n", ""), 0o644, 0), "a\n", 0o755, "it was deleted there, and its mode was changed here", false},
		"both added, modes": {mode(file("", "a\n"), 0, 0o755), "a\n", 0o644, "both sides added it, with different modes", false},
	} {
		m, err := isolate.Merge([]isolate.Change{x.change}, func(string) ([]byte, fs.FileMode, error) {
			if x.ours == "" {
				return nil, 0, fs.ErrNotExist
			}
			return []byte(x.ours), x.mode, nil
		})
		why := ""
		if len(m.Conflicts) > 0 {
			why = m.Conflicts[0].Why
		}
		chmod := len(m.Writes) == 1 && m.Writes[0].Chmod
		if err != nil || why != x.why || chmod != x.chmod || len(m.Writes) > 0 && !chmod {
			t.Errorf("%s: %q, %+v, %v", name, why, m.Writes, err)
		}
	}
}

// A burin that is killed leaves its folders. The next one adopts them, or removes them later, and no
// others.
func TestPruneAfterKill(t *testing.T) {
	pacetest.Costly(t)
	if dir := os.Getenv("ISOLATE_DIR"); dir != "" { // the process that is killed
		for _, mode := range modes {
			f, err := isolate.Open(t.Context(), isolate.Options{Dir: dir, Under: os.Getenv("ISOLATE_UNDER"), Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(f.Dir(), "src/f03.txt"), "before the kill\n")
			fmt.Println(f.ID())
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	r := dirty(t)
	before := r.facts()
	kept := r.open(isolate.Copy)
	cmd := exec.Command(os.Args[0], "-test.run=^TestPruneAfterKill$")
	cmd.Env = append(os.Environ(), "ISOLATE_DIR="+r.dir, "ISOLATE_UNDER="+r.under)
	out, err := cmd.Output()
	if err == nil || cmd.ProcessState.ExitCode() > 0 {
		t.Fatalf("it was not killed: %v: %s", err, out)
	}
	if err := isolate.Prune(r.under, time.Hour); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.under, "*", "burin-*")); len(left) != 3 {
		t.Fatalf("there are %v", left)
	}
	for i, id := range strings.Fields(string(out)) {
		o := isolate.Options{Dir: r.dir, Under: r.under}
		f, err := isolate.Adopt(t.Context(), id, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := isolate.Adopt(t.Context(), id, o); !errors.Is(err, isolate.ErrGone) {
			t.Errorf("adopted while it is in use: %v", err)
		}
		put(t, filepath.Join(f.Dir(), "made"), "after the kill\n")
		patch, err := f.Patch(t.Context())
		if err != nil || !bytes.Contains(patch, []byte("+before the kill")) || !bytes.Contains(patch, []byte("+after the kill")) || bytes.Count(patch, []byte("diff --git")) != 2 {
			t.Errorf("%s: %v\n%s", modes[i], err, patch)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{id, "", "..", "lock", "ffffffffffff"} {
			if _, err := isolate.Adopt(t.Context(), id, o); !errors.Is(err, isolate.ErrGone) {
				t.Errorf("adopted %q: %v", id, err)
			}
		}
	}
	cmd = exec.Command(os.Args[0], "-test.run=^TestPruneAfterKill$")
	cmd.Env = append(os.Environ(), "ISOLATE_DIR="+r.dir, "ISOLATE_UNDER="+r.under)
	_ = cmd.Run() // it is killed
	if left, _ := filepath.Glob(filepath.Join(r.under, "*", "burin-*")); len(left) != 3 {
		t.Fatalf("there are %v", left)
	}
	if err := isolate.Prune(r.under, 0); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.under, "*", "burin-*")); len(left) != 1 || left[0] != kept.Dir() {
		t.Errorf("left: %v", left)
	}
	same(t, "repository", r.facts(), before)
}

// A burin that is killed while it removes a folder, whose changes have come back, leaves a part of it.
// Nobody adopts that: what is missing would be taken for deleted. The next one removes the rest.
func TestCloseCutOff(t *testing.T) {
	pacetest.Costly(t)
	if dir := os.Getenv("ISOLATE_DIR"); dir != "" { // the process that is killed
		f, err := isolate.Open(t.Context(), isolate.Options{Dir: dir, Under: os.Getenv("ISOLATE_UNDER"), Mode: os.Getenv("ISOLATE_MODE")})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(f.ID())
		_ = f.Close()
		select {}
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			r := newRepo(t)
			for i := range 500 {
				r.put(fmt.Sprintf("d%02d/f%d", i%50, i), "text\n")
			}
			r.git("add", ".")
			r.git("commit", "-qm", "first")
			id, left := "", 0
			for tries := 1; left == 0; tries++ {
				if tries > 20 {
					t.Fatal("it was never killed in time")
				}
				id = r.cutOff(mode)
				found, _ := filepath.Glob(filepath.Join(r.under, id, "burin-*", "d*"))
				left = len(found)
			}
			t.Logf("%d of 50 folders were left", left)
			if f, err := isolate.Adopt(t.Context(), id, isolate.Options{Dir: r.dir, Under: r.under}); !errors.Is(err, isolate.ErrGone) {
				changes, bad := f.Changes(t.Context())
				t.Errorf("adopted, with %d changes: %v, %v", len(changes), err, bad)
				_ = f.Leave()
			}
			if err := isolate.Prune(r.under, time.Hour); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(r.under, id)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the rest is there: %v", err)
			}
			if list := r.git("worktree", "list"); strings.Count(list, "\n") != 1 {
				t.Errorf("worktrees: %s", list)
			}
		})
	}
}

// cutOff has a process make a folder, and kills it when it has begun to remove the files.
func (r repo) cutOff(mode string) (id string) {
	r.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCloseCutOff$")
	cmd.Env = append(os.Environ(), "ISOLATE_DIR="+r.dir, "ISOLATE_UNDER="+r.under, "ISOLATE_MODE="+mode)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.Fatal(err)
	}
	_, err = fmt.Fscanln(out, &id)
	for late := time.Now().Add(time.Minute); err == nil && time.Now().Before(late); {
		found, _ := filepath.Glob(filepath.Join(r.under, id, "burin-*", "d*"))
		if len(found) < 50 {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil {
		r.Fatal(err)
	}
	return id
}

func BenchmarkOpen(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode, func(b *testing.B) {
			r := newRepo(b)
			for i := range 1000 {
				r.put(fmt.Sprintf("d%02d/f%d", i%50, i), strings.Repeat(fmt.Sprintln("line", i), 200))
			}
			r.git("add", ".")
			r.git("commit", "-qm", "first")
			for b.Loop() {
				f, err := isolate.Open(b.Context(), isolate.Options{Dir: r.dir, Under: r.under, Mode: mode})
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
