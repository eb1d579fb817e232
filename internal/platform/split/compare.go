package split

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/prose"
)

// Comparison is what changed between two states of a repository.
type Comparison struct {
	Name    string   // for people: "uncommitted changes", "main..HEAD"
	Diff    string   // as git writes it, with around lines of context
	Commits []string // messages of what is compared, newest first; none for uncommitted changes
	Commit  string   // the new side; "" is the working tree, or a commit that it doesn't differ from
	Notes   []string // what is left out, for people
}

// maxCommits is how many messages of commits a comparison has.
const maxCommits = 30

// Compare gives the changes that what names: a range such as main..HEAD, which is what the second
// has over their merge base, or one commit. "" is what isn't committed, untracked files included,
// or, where all is, what the branch has over the one that it goes into. No ref, index or file changes.
func (r *Repo) Compare(ctx context.Context, what string, around int) (*Comparison, error) {
	switch from, to, isRange := cutRange(what); {
	case strings.HasPrefix(what, "-"):
		return nil, fmt.Errorf("%q is not a range of commits", prose.Short(what, 60))
	case what == "":
		c, err := r.uncommitted(ctx, around)
		if err != nil || c.Diff != "" {
			return c, err
		}
		base, err := r.destination(ctx)
		if err != nil {
			return nil, err
		}
		return r.between(ctx, base+"..HEAD", base, "HEAD", around)
	case isRange:
		return r.between(ctx, what, cmp.Or(from, "HEAD"), cmp.Or(to, "HEAD"), around)
	default:
		return r.one(ctx, what, around)
	}
}

func cutRange(what string) (from, to string, ok bool) {
	if from, to, ok = strings.Cut(what, "..."); ok {
		return from, to, ok
	}
	return strings.Cut(what, "..")
}

// known is the commit of a revision that a person named.
func (r *Repo) known(ctx context.Context, revision string) (string, error) {
	if strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%q is not a revision", prose.Short(revision, 60))
	}
	commit, err := r.commit(ctx, revision)
	if err == nil && commit == "" {
		err = fmt.Errorf("no commit %q in this repository", prose.Short(revision, 60))
	}
	return commit, err
}

// uncommitted compares the working tree with HEAD. Untracked files are entered into a copy of the
// index by name only, so that git stores nothing.
func (r *Repo) uncommitted(ctx context.Context, around int) (*Comparison, error) {
	c := &Comparison{Name: "uncommitted changes"}
	base, err := r.commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	if base == "" {
		if base, err = r.emptyTree(ctx); err != nil {
			return nil, err
		}
	}
	at, drop, err := r.spareIndex()
	if err != nil {
		return nil, err
	}
	defer drop()
	out, err := r.git(ctx, at, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	var enter []string
	for name := range strings.SplitSeq(out, "\x00") {
		switch {
		case name == "":
		case strings.HasSuffix(name, "/"):
			c.Notes = append(c.Notes, name+" is a repository of its own and is left out")
		case private.Named(name):
			c.Notes = append(c.Notes, "left out: "+name+" (files of this name usually hold keys or passwords)")
		default:
			enter = append(enter, name)
		}
	}
	if len(enter) > maxFiles {
		return nil, fmt.Errorf("%d files are new, more than %d: commit a part, or have git ignore what doesn't belong here", len(enter), maxFiles)
	}
	if len(enter) > 0 {
		add := at
		add.input = strings.Join(enter, "\x00") + "\x00"
		if _, err := r.git(ctx, add, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return nil, err
		}
	}
	c.Diff, err = r.diff(ctx, at, around, base)
	return c, err
}

// spareIndex is a copy of the index, so that git can refresh and change it.
func (r *Repo) spareIndex() (at command, drop func(), err error) {
	tmp, err := os.MkdirTemp("", "burin-review-")
	if err != nil {
		return at, nil, err
	}
	at.index = filepath.Join(tmp, "index")
	if err := r.copyIndex(at.index); err != nil {
		os.RemoveAll(tmp)
		return at, nil, err
	}
	return at, func() { os.RemoveAll(tmp) }, nil
}

func (r *Repo) diff(ctx context.Context, c command, around int, sides ...string) (string, error) {
	args := []string{
		"-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/",
		"--find-renames", "--ignore-submodules=dirty", fmt.Sprint("--unified=", around),
	}
	return r.git(ctx, c, slices.Concat(args, sides, []string{"--"})...)
}

// between compares what a commit has over its merge base with another.
func (r *Repo) between(ctx context.Context, name, from, to string, around int) (*Comparison, error) {
	old, err := r.known(ctx, from)
	if err != nil {
		return nil, err
	}
	tip, err := r.known(ctx, to)
	if err != nil {
		return nil, err
	}
	base, err := r.mergeBase(ctx, old, tip)
	if err != nil {
		return nil, err
	}
	return r.commits(ctx, &Comparison{Name: name}, cmp.Or(base, old), tip, around)
}

// emptyTree is the tree without files, which git knows without having it.
func (r *Repo) emptyTree(ctx context.Context) (string, error) {
	out, err := r.git(ctx, command{}, "hash-object", "-t", "tree", "--stdin")
	return strings.TrimSpace(out), err
}

// one compares a commit with its first parent.
func (r *Repo) one(ctx context.Context, revision string, around int) (*Comparison, error) {
	tip, err := r.known(ctx, revision)
	if err != nil {
		return nil, err
	}
	base, err := r.commit(ctx, tip+"^")
	if err != nil {
		return nil, err
	}
	if base == "" {
		if out, err := r.git(ctx, command{}, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(out) == "true" {
			return nil, fmt.Errorf("the commit before %s isn't here, because the clone is shallow: git fetch --deepen=1 gets it", prose.Short(revision, 60))
		}
		if base, err = r.emptyTree(ctx); err != nil {
			return nil, err
		}
	}
	return r.commits(ctx, &Comparison{Name: "commit " + revision}, base, tip, around)
}

// commits fills in a comparison of two commits.
func (r *Repo) commits(ctx context.Context, c *Comparison, base, tip string, around int) (*Comparison, error) {
	var err error
	if c.Diff, err = r.diff(ctx, command{}, around, base, tip); err != nil {
		return nil, err
	}
	if c.Diff == "" {
		return nil, fmt.Errorf("nothing to review: %s changes no files", c.Name)
	}
	span := []string{base + ".." + tip}
	if strings.HasPrefix(c.Name, "commit ") {
		span = []string{"-1", tip}
	}
	out, err := r.git(ctx, command{}, slices.Concat([]string{"log", "--no-show-signature", fmt.Sprint("--max-count=", maxCommits), "--format=%B%x00"}, span, []string{"--"})...)
	if err != nil {
		return nil, err
	}
	for m := range strings.SplitSeq(out, "\x00") {
		if m = strings.TrimSpace(m); m != "" {
			c.Commits = append(c.Commits, m)
		}
	}
	at, drop, err := r.spareIndex()
	if err != nil {
		return nil, err
	}
	defer drop()
	var differs int
	at.fails = &differs
	if _, err := r.git(ctx, at, "diff", "--quiet", "--no-ext-diff", "--ignore-submodules", tip, "--"); err != nil {
		return nil, err
	}
	if differs != 0 {
		c.Commit = tip
	}
	return c, nil
}

func (r *Repo) mergeBase(ctx context.Context, a, b string) (string, error) {
	var none int
	out, err := r.git(ctx, command{fails: &none}, "merge-base", a, b)
	first, _, _ := strings.Cut(out, "\n")
	return first, err
}

// destination is the branch that the current one goes into: its upstream, if that has another name, or
// else the default branch; for the default branch itself it is the upstream.
func (r *Repo) destination(ctx context.Context) (string, error) {
	head, err := r.commit(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	var none int
	upstream, err := r.git(ctx, command{fails: &none}, "rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}")
	if err != nil {
		return "", err
	}
	if upstream = strings.TrimSpace(upstream); none != 0 {
		upstream = ""
	}
	ref, err := r.branch(ctx)
	if err != nil {
		return "", err
	}
	own := strings.TrimPrefix(ref, "refs/heads/")
	candidates := []string{"origin/HEAD", "origin/main", "origin/master", "main", "master"}
	if upstream != "" {
		if strings.HasSuffix("/"+upstream, "/"+own) {
			candidates = append(candidates, upstream)
		} else {
			candidates = append([]string{upstream}, candidates...)
		}
	}
	for _, name := range candidates {
		tip, err := r.commit(ctx, name)
		if err != nil {
			return "", err
		}
		if tip == "" {
			continue
		}
		base, err := r.mergeBase(ctx, tip, head)
		if err != nil {
			return "", err
		}
		if base != "" && base != head {
			return name, nil
		}
	}
	return "", errors.New("nothing to review: everything is committed, and the branch has nothing that the default branch lacks; name a commit or a range such as HEAD~3..HEAD")
}

// Has reports whether a commit is in the repository.
func (r *Repo) Has(ctx context.Context, commit string) bool {
	if strings.HasPrefix(commit, "-") {
		return false
	}
	found, err := r.commit(ctx, commit)
	return err == nil && found != ""
}

// Export writes the files of a commit into a folder that is there. Links become files with their
// targets.
func (r *Repo) Export(ctx context.Context, commit, dir string) error {
	tmp, err := os.MkdirTemp("", "burin-review-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	at := command{index: filepath.Join(tmp, "index")}
	if _, err := r.git(ctx, at, "read-tree", commit); err != nil {
		return err
	}
	_, err = r.git(ctx, at, "-c", "core.symlinks=false", "checkout-index", "--all", "--quiet", "--prefix="+filepath.ToSlash(dir)+"/")
	return err
}

// Bulk reports whether a program writes a file, by its name or by how it begins: its lines say
// little.
func Bulk(name, head string) bool {
	return lock(name) || edit.Generated(name, []byte(head[:min(len(head), 1024)])) != ""
}
