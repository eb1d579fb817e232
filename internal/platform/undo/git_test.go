package undo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/undo"
)

// gitTrees makes trees with a repository of some history.
func gitTrees(t *testing.T) func(*testing.T) *tree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	model := newTree(t, t.TempDir(), t.TempDir())
	defer model.close()
	model.sh(t, `git init -q --template= -b main; echo 1 >f; mkdir d; echo 1 >d/g; git add .; git commit -qm 1; echo 2 >f; git commit -qam 2
git branch side HEAD~; git branch dir/x; git tag v1; git tag -am note v2; git pack-refs --all; git branch loose
echo 0 >f; git stash -q; echo staged >s; git add s; echo work >f`)
	return func(t *testing.T) *tree {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "tree")
		if err := os.CopyFS(dir, os.DirFS(model.dir)); err != nil {
			t.Fatal(err)
		}
		return newTree(t, dir, t.TempDir())
	}
}

// gitState is what git says of the repository.
func (r *tree) gitState(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, args := range []string{"for-each-ref", "ls-files --stage -v", "status --porcelain"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), gitEnv...)
		out, _ := cmd.Output() // that there is no repository is an answer, too
		all[args] = string(out)
	}
	for _, name := range []string{"HEAD", "logs/refs/stash", "config", "MERGE_HEAD"} {
		all[name] = r.text(t, ".git/"+name)
	}
	return all
}

// Whatever a command does to HEAD, refs, index, stashes and settings is undone, and
// done again.
func TestUndoOfGit(t *testing.T) {
	t.Parallel()
	fresh := gitTrees(t)
	for _, script := range []string{
		"git commit -qam new", "git add -A; git commit -qm new; git commit -q --amend -m other", "git checkout -q -f side", "git checkout -q -f --detach HEAD~",
		"git checkout -qb fresh; git rm -q f -f", "git branch -D side loose dir/x", "git branch -D dir/x; git branch dir", "git branch -m loose moved",
		"git stash -q -u", "git stash -q; git stash pop -q", "git stash drop -q", "git stash -q; git stash clear", "git reset -q --hard HEAD~",
		"git add f; git reset -q s", "git tag -d v1 v2; git tag v3", "git checkout -q -f side; git merge -q main || true",
		"git checkout -q -f side; echo c >f; git commit -qam c; git merge main || true", "git config user.name x", "git pack-refs --all --prune",
		"git symbolic-ref refs/heads/alias refs/heads/main", "git update-index --assume-unchanged d/g", "git status",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			defer r.close()
			before, files := r.gitState(t), r.snapshot(t)
			r.agent(t, "1", script)
			after, filesAfter := r.gitState(t), r.snapshot(t)
			if cmp.Equal(before, after) && cmp.Equal(files, filesAfter) {
				if n := len(r.j.Turns()); n != 0 {
					t.Errorf("nothing changed, and %d turns did: %v", n, r.paths())
				}
				return
			}
			for i, want := range []map[string]string{before, after, before} {
				if u := r.undo(t, "1"); len(u.Kept) > 0 {
					t.Fatalf("undo %d kept %+v", i+1, u.Kept)
				}
				if i == 2 {
					break // the files will tell
				}
				if diff := cmp.Diff(want, r.gitState(t)); diff != "" {
					t.Fatalf("after undo %d: %s", i+1, diff)
				}
			}
			if diff := cmp.Diff(files, r.snapshot(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Git's state is left alone, as a whole, where someone else has moved it since, or
// where git is at work.
func TestGitMovedSince(t *testing.T) {
	t.Parallel()
	fresh := gitTrees(t)
	for script, want := range map[string]string{
		"git branch -f side main":                          "refs/heads/side was changed since",
		"echo more >f; git commit -qam mine":               "index was changed since",
		"git config user.name x; git checkout -q --detach": "HEAD was changed since",
		"git add .":              "index was changed since",
		"touch .git/index.lock":  "git is at work",
		"rm -rf .git":            "git's state cannot be read",
		"git status; git log -1": "",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			defer r.close()
			r.agent(t, "1", "git branch -f side HEAD; git add f; git commit -qm agent; git checkout -qb other; echo new >new; echo n >d/g")
			r.sh(t, script)
			before := r.gitState(t)
			u := r.undo(t, "1")
			if want == "" {
				if len(u.Kept) > 0 {
					t.Errorf("%+v", u)
				}
				return
			}
			reason := ""
			for _, k := range u.Kept {
				if k.Path == ".git" {
					reason = k.Reason
				}
			}
			if !strings.Contains(reason, want) {
				t.Errorf("reason %q", reason)
			}
			delete(before, "status --porcelain")
			now := r.gitState(t)
			delete(now, "status --porcelain")
			if diff := cmp.Diff(before, now); diff != "" {
				t.Error(diff)
			}
			if _, err := os.Lstat(filepath.Join(r.dir, "new")); err == nil {
				t.Error("the files were left, too")
			}
		})
	}
}

// A repository that was made is left, and one that is gone is said to be.
func TestRepositoryItself(t *testing.T) {
	t.Parallel()
	fresh := gitTrees(t)
	r := fresh(t)
	defer r.close()
	r.agent(t, "1", "rm -rf .git f")
	u := r.undo(t, "1")
	if len(u.Kept) != 1 || !strings.Contains(u.Kept[0].Reason, "the repository is gone") || r.text(t, "f") != "work\n" {
		t.Errorf("%+v", u)
	}
	r.agent(t, "2", "git init -q; echo x >f")
	u = r.undo(t, "2")
	if len(u.Kept) != 1 || !strings.Contains(u.Kept[0].Reason, "is left") || r.text(t, "f") != "work\n" {
		t.Errorf("%+v", u)
	}
}

// All versions of the index are read, and times do not count.
func TestIndexVersions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	fresh := gitTrees(t)
	r := fresh(t)
	defer r.close()
	read := func(script string) string {
		t.Helper()
		r.sh(t, script)
		data, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
		if err != nil {
			t.Fatal(err)
		}
		what, err := undo.IndexContents(data)
		if err != nil {
			t.Errorf("%s: %v", script, err)
		}
		return what
	}
	for _, version := range []string{"2", "3", "4"} {
		first := read("git add -N new 2>/dev/null; git update-index --index-version " + version)
		if again := read("touch -d 2001-01-01 f d/g; git update-index -q --refresh; true"); again != first {
			t.Errorf("version %s: times count", version)
		}
		if changed := read("git add f; git update-index --chmod=+x d/g"); changed == first {
			t.Errorf("version %s: nothing counts", version)
		}
		r.sh(t, "git reset -q; git add s")
	}
}

// Taking git's state back runs nothing that the repository names.
func TestUndoRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	fresh := gitTrees(t)
	r := fresh(t)
	defer r.close()
	canary := filepath.Join(t.TempDir(), "canary")
	head := r.text(t, ".git/HEAD")
	r.agent(t, "1", "git commit -qam new; git branch another; git checkout -q --detach")
	r.sh(t, `mkdir -p .git/hooks; printf '#!/bin/sh\necho "$0" >>`+canary+`\n' >.git/hooks/reference-transaction
chmod +x .git/hooks/reference-transaction; cp .git/hooks/reference-transaction .git/hooks/post-index-change
git config core.hooksPath .git/hooks; git config core.fsmonitor .git/hooks/post-index-change; git config alias.update-ref '!.git/hooks/post-index-change'`)
	if err := os.RemoveAll(canary); err != nil { // of the script itself
		t.Fatal(err)
	}
	if u := r.undo(t, "1"); len(u.Kept) > 0 || r.text(t, ".git/HEAD") != head {
		t.Errorf("kept %+v", u.Kept)
	}
	if b, err := os.ReadFile(canary); err == nil {
		t.Errorf("it ran %s", b)
	}
}
