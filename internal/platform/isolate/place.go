package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/prose"
)

// place is a repository and its working tree.
type place struct {
	root    string // of the working tree
	dir     string // the repository: .git
	common  string // dir, or that of the repository which a linked worktree belongs to
	objects string
	prefix  string // where the workspace is in root, with slashes; "" or ending in none
	format  string // of the names of objects
	head    string // the commit; "" before the first
}

// find finds the repository that dir is in.
func find(ctx context.Context, dir string) (place, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return place{}, err
	}
	ask := func(args ...string) (string, error) {
		out, err := run(ctx, abs, order{}, append([]string{"-C", abs, "rev-parse"}, args...)...)
		return strings.TrimSuffix(string(out), "\n"), err
	}
	var p place
	if p.root, err = ask("--show-toplevel"); err != nil {
		if ctx.Err() == nil && strings.Contains(err.Error(), "not a git repository") {
			err = ErrNoRepository
		}
		return p, err
	}
	for _, x := range []struct {
		to   *string
		args []string
	}{
		{&p.dir, []string{"--absolute-git-dir"}},
		{&p.common, []string{"--path-format=absolute", "--git-common-dir"}},
		{&p.objects, []string{"--path-format=absolute", "--git-path", "objects"}},
		{&p.prefix, []string{"--show-prefix"}},
		{&p.format, []string{"--show-object-format"}},
	} {
		if *x.to, err = ask(x.args...); err != nil {
			return p, err
		}
	}
	p.head, _ = ask("--verify", "--quiet", "HEAD^{commit}")
	p.root, p.dir, p.common, p.objects = filepath.FromSlash(p.root), filepath.FromSlash(p.dir), filepath.FromSlash(p.common), filepath.FromSlash(p.objects)
	p.prefix = strings.TrimSuffix(p.prefix, "/")
	return p, ctx.Err()
}

// order is how git runs, where that is not as usual.
type order struct {
	writable []string
	env      []string
	input    []byte
	output   io.Writer // nil: it is given back
}

// git runs git on the repository.
func (p place) git(ctx context.Context, o order, args ...string) ([]byte, error) {
	return run(ctx, p.root, o, append([]string{"--literal-pathspecs", "--git-dir=" + p.dir, "--work-tree=" + p.root, "-C", p.root}, args...)...)
}

// run runs git. It runs alone where the system can do that; elsewhere the switches of
// [git.Command] keep it from starting hooks and monitors, and these orders run no filters.
func run(ctx context.Context, dir string, o order, args ...string) ([]byte, error) {
	once := func(start func(*exec.Cmd) error) (out, said bytes.Buffer, err error) {
		cmd, err := git.Command(ctx, dir, args...)
		if err != nil {
			return out, said, err
		}
		cmd.Env = append(cmd.Env, o.env...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(o.input), &out, &said
		if o.output != nil {
			cmd.Stdout = o.output
		}
		cmd.WaitDelay = time.Second
		err = start(cmd)
		return out, said, err
	}
	out, said, err := once(func(cmd *exec.Cmd) error { return sandbox.Alone(cmd, o.writable...) })
	if errors.Is(err, sandbox.ErrCannotIsolate) {
		out, said, err = once((*exec.Cmd).Run)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return out.Bytes(), &gitError{verb(args), err, prose.Short(prose.Line(said.String()), 300)}
	}
	return out.Bytes(), nil
}

// gitError is a failure of git.
type gitError struct {
	verb string
	err  error
	said string
}

func (e *gitError) Error() string { return fmt.Sprintf("git %s: %v: %s", e.verb, e.err, e.said) }
func (e *gitError) Unwrap() error { return e.err }

// verb is what git is asked for.
func verb(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-C" || args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// lines are records that end with NUL.
func lines(out []byte) (all []string) {
	for record := range strings.SplitSeq(string(out), "\x00") {
		if record != "" {
			all = append(all, record)
		}
	}
	return all
}

// join writes records that end with NUL.
func join(all []string) []byte {
	var b bytes.Buffer
	for _, record := range all {
		b.WriteString(record)
		b.WriteByte(0)
	}
	return b.Bytes()
}

const gitlink = "160000" // the mode of another repository

// listing is what a repository holds.
type listing struct {
	entries []string // of the index, as update-index reads them
	files   []string // tracked or not, unique
	repos   []string // inside of it
}

// list lists the files that git does not ignore.
func (p place) list(ctx context.Context) (l listing, err error) {
	out, err := p.git(ctx, order{}, "ls-files", "--stage", "-z")
	if err != nil {
		return l, err
	}
	l.entries = lines(out)
	last := ""
	for _, e := range l.entries {
		fields, name, _ := strings.Cut(e, "\t")
		switch {
		case strings.HasPrefix(fields, gitlink):
			l.repos = append(l.repos, name)
		case name != last: // a file in conflict has several entries
			l.files = append(l.files, name)
		}
		last = name
	}
	out, err = p.git(ctx, order{}, "ls-files", "--others", "--exclude-standard", "-z")
	for _, name := range lines(out) {
		if repo, ok := strings.CutSuffix(name, "/"); ok {
			l.repos = append(l.repos, repo)
		} else {
			l.files = append(l.files, name)
		}
	}
	return l, err
}

// inside finds the repository at a path of this one: false if there is none, as for a
// submodule that was never fetched.
func (p place) inside(ctx context.Context, name string) (place, bool, error) {
	dir := filepath.Join(p.root, filepath.FromSlash(name))
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return place{}, false, nil
	}
	q, err := find(ctx, dir)
	if err != nil || q.root != dir {
		return q, false, err
	}
	return q, true, nil
}

// at is a path of the repository as one of the workspace.
func (p place) at(name string) string {
	if p.prefix == "" {
		return name
	}
	if rest, ok := strings.CutPrefix(name, p.prefix+"/"); ok {
		return rest
	}
	rel, err := filepath.Rel(filepath.FromSlash("/"+p.prefix), filepath.FromSlash("/"+name))
	if err != nil {
		return path.Join("..", name)
	}
	return filepath.ToSlash(rel)
}
