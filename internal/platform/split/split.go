// Package split takes the changes of a repository apart into pieces, and makes commits of
// them that add up exactly.
//
// [Open] finds a repository, [Repo.Read] what differs from HEAD: of what is staged, or else
// of the working tree. Git itself stores the changed files, so that filters and line ends
// are those of a `git commit`. What follows compares two trees: [Repo.Make] writes a tree
// for each commit from the old contents and the pieces that were chosen, compares the last
// one with what all pieces give together, and only then moves the branch. The working tree
// is never checked out, reset or stashed. The index is replaced once, under its lock.
//
// [Repo.Compare] only looks: it gives the changes of a range of commits, or of what isn't committed,
// as a diff.
//
// Git runs as the person's own: with their configuration, identity, filters and hooks.
package split

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/prose"
)

// Repo is a repository with a working tree.
type Repo struct {
	root string // of the working tree
	dir  string // of git's files: HEAD, index
}

// ErrNone reports that there is no repository to commit to.
var ErrNone = errors.New("not a git repository: run git init first")

// Open finds the repository that a folder is in.
func Open(ctx context.Context, folder string) (*Repo, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	r := &Repo{root: abs}
	out, err := r.git(ctx, command{}, "rev-parse", "--show-toplevel")
	if err != nil {
		if _, missing := errors.AsType[*exec.Error](err); missing {
			return nil, fmt.Errorf("git was not found: %w", err)
		}
		if strings.Contains(err.Error(), "not a git repository") {
			return nil, ErrNone
		}
		return nil, err
	}
	r.root = filepath.FromSlash(strings.TrimSuffix(out, "\n"))
	if out, err = r.git(ctx, command{}, "rev-parse", "--absolute-git-dir"); err != nil {
		return nil, err
	}
	r.dir = filepath.FromSlash(strings.TrimSuffix(out, "\n"))
	return r, nil
}

// Root is the folder of the working tree.
func (r *Repo) Root() string { return r.root }

// idle refuses while git is in the middle of something, which a commit would end.
func (r *Repo) idle() error {
	for _, x := range [][2]string{
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
	} {
		if _, err := os.Lstat(filepath.Join(r.dir, x[0])); err == nil {
			return fmt.Errorf("a %s is in progress: finish or abort it first", x[1])
		}
	}
	return nil
}

// command is how git runs, where that isn't as usual.
type command struct {
	index string // file in place of the index
	input string
	fails *int // takes an exit code over 0, which then is no error
}

// git runs git in the root of the working tree and gives its output.
func (r *Repo) git(ctx context.Context, c command, args ...string) (string, error) {
	cmd, err := installed.Command(ctx, []string{r.root}, "git", append([]string{"--no-pager", "--literal-pathspecs"}, args...)...)
	if err != nil {
		return "", err
	}
	cmd.Dir, cmd.Env = r.root, environment(c.index)
	cmd.Stdin = strings.NewReader(c.input)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		if c.fails != nil {
			*c.fails = exit.ExitCode()
			return out.String(), nil
		}
		return "", fmt.Errorf("git %s: %s", args[0], prose.Short(strings.TrimSpace(problem.String()+"\n"+out.String()), 400))
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), err
}

// environment is the person's, without what would name another repository.
func environment(index string) []string {
	drop := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_LITERAL_PATHSPECS",
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(drop, name)
	})
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:")
	if index != "" {
		env = append(env, "GIT_INDEX_FILE="+index)
	}
	return env
}

// branch is the ref that HEAD names, "HEAD" while it is detached.
func (r *Repo) branch(ctx context.Context) (string, error) {
	var detached int
	out, err := r.git(ctx, command{fails: &detached}, "symbolic-ref", "-q", "HEAD")
	if err != nil {
		return "", err
	}
	if detached != 0 {
		return "HEAD", nil
	}
	return strings.TrimSpace(out), nil
}

// commit is the commit of a revision, "" if there is none.
func (r *Repo) commit(ctx context.Context, revision string) (string, error) {
	var none int
	out, err := r.git(ctx, command{fails: &none}, "rev-parse", "-q", "--verify", revision+"^{commit}")
	return strings.TrimSpace(out), err
}

// tree is the tree of a commit; the empty one for none.
func (r *Repo) tree(ctx context.Context, commit string) (string, error) {
	if commit == "" {
		out, err := r.git(ctx, command{}, "mktree")
		return strings.TrimSpace(out), err
	}
	out, err := r.git(ctx, command{}, "rev-parse", "--verify", commit+"^{tree}")
	return strings.TrimSpace(out), err
}

// Recent are the messages of the newest commits, newest first.
func (r *Repo) Recent(ctx context.Context, most int) ([]string, error) {
	head, err := r.commit(ctx, "HEAD")
	if err != nil || head == "" {
		return nil, err
	}
	out, err := r.git(ctx, command{}, "log", "--no-show-signature", "--no-merges", fmt.Sprint("-", most), "--format=%B%x00")
	if err != nil {
		return nil, err
	}
	var all []string
	for m := range strings.SplitSeq(out, "\x00") {
		if m = strings.TrimSpace(m); m != "" {
			all = append(all, m)
		}
	}
	return all, nil
}

// Push pushes the branch, as `git push` does.
func (r *Repo) Push(ctx context.Context) error {
	_, err := r.git(ctx, command{}, "push", "-q")
	return err
}
