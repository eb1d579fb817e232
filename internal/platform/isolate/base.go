package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// rawAttributes come before those of the repository: files are bytes.
const rawAttributes = "* -text -ident !filter !eol !working-tree-encoding !diff\n"

// rawConfig comes before what the person has configured for all repositories.
const rawConfig = `[core]
	autocrlf = false
	safecrlf = false
	splitIndex = false
	sparseCheckout = false
	compression = 1
`

// makeBase makes the repository of what was there.
func (f *Folder) makeBase(ctx context.Context) error {
	if err := f.initialize(ctx, f.own.dir, "--bare"); err != nil {
		return err
	}
	config := rawConfig + "\tattributesFile = " + strconv.Quote(filepath.ToSlash(os.DevNull)) + "\n"
	if out, err := f.user.git(ctx, order{}, "config", "--path", "--get", "core.excludesFile"); err == nil {
		if name := strings.TrimSuffix(string(out), "\n"); !strings.ContainsAny(name, "\n\x00") {
			config += "\texcludesFile = \"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + "\"\n"
		}
	}
	file, err := os.OpenFile(filepath.Join(f.own.dir, "config"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(config)
	return errors.Join(err, file.Close(), os.WriteFile(filepath.Join(f.own.dir, "info", "attributes"), []byte(rawAttributes), 0o600))
}

// initialize makes a repository that borrows the objects of the person's.
func (f *Folder) initialize(ctx context.Context, dir string, flags ...string) error {
	args := append([]string{"init", "-q", "--template=", "--object-format=" + f.user.format}, flags...)
	if _, err := run(ctx, dir, order{writable: []string{f.home}}, append(args, dir)...); err != nil {
		return err
	}
	if flags == nil {
		dir = filepath.Join(dir, ".git")
	}
	if err := os.MkdirAll(filepath.Join(dir, "objects", "info"), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o700); err != nil {
		return err
	}
	if strings.ContainsAny(f.user.objects, "\n\"") {
		return fmt.Errorf("the path of the repository has a quote or a line end in it: %q", f.user.objects)
	}
	if err := os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(filepath.ToSlash(f.user.objects)+"\n"), 0o600); err != nil {
		return err
	}
	exclude, err := os.ReadFile(filepath.Join(f.user.common, "info", "exclude"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "info", "exclude"), exclude, 0o600)
}

// borrow makes the repository that the agent sees in a copy.
func (f *Folder) borrow(ctx context.Context) error {
	if err := f.initialize(ctx, f.tree); err != nil {
		return err
	}
	refs, err := f.user.git(ctx, order{}, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.repo, "packed-refs"), refs, 0o600); err != nil {
		return err
	}
	if shallow, err := os.ReadFile(filepath.Join(f.user.common, "shallow")); err == nil {
		if err := os.WriteFile(filepath.Join(f.repo, "shallow"), shallow, 0o600); err != nil {
			return err
		}
	}
	if f.user.head == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(f.repo, "HEAD"), []byte(f.user.head+"\n"), 0o600)
}

// link makes the folder a linked worktree. Git would start itself for that, and run a hook;
// gitrepository-layout(5) says what there is to write.
func (f *Folder) link() error {
	if _, err := os.Stat(filepath.Join(f.user.common, "reftable")); err == nil {
		return errors.New("a worktree of a repository with reftables isn't supported: use the mode copy")
	}
	file := f.repo
	f.repo = filepath.Join(f.user.common, "worktrees", filepath.Base(f.tree))
	if err := os.MkdirAll(f.repo, 0o755); err != nil {
		return err
	}
	for _, x := range [][2]string{
		{filepath.Join(f.repo, "gitdir"), file}, // first: Prune goes by it
		{filepath.Join(f.repo, "commondir"), "../.."},
		{filepath.Join(f.repo, "HEAD"), f.user.head},
		{file, "gitdir: " + filepath.ToSlash(f.repo)},
	} {
		if err := os.WriteFile(x[0], []byte(filepath.ToSlash(x[1])+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// theirs runs git on the repository that the agent sees.
func (f *Folder) theirs(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	p := place{root: f.tree, dir: f.repo}
	return p.git(ctx, order{input: input, writable: []string{f.home, f.repo}}, args...)
}

// index is that of what was there.
func (f *Folder) index() string { return filepath.Join(f.own.dir, "index") }

// ours runs git on the repository of what was there.
func (f *Folder) ours(ctx context.Context, index string, input []byte, args ...string) ([]byte, error) {
	return f.own.git(ctx, order{input: input, writable: []string{f.own.dir}, env: []string{"GIT_INDEX_FILE=" + index}}, args...)
}

// refused reports that git ran and said no.
func refused(err error) bool {
	_, ok := errors.AsType[*exec.ExitError](err)
	return ok
}

// add puts files of the folder into an index, as they are.
func (f *Folder) add(ctx context.Context, index string, files []string) error {
	_, err := f.ours(ctx, index, join(files), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	return err
}

func (f *Folder) writeTree(ctx context.Context, index string) (string, error) {
	out, err := f.ours(ctx, index, nil, "write-tree")
	return strings.TrimSpace(string(out)), err
}
