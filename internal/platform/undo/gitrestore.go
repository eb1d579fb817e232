package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// gitUndoing is git's part of an undo.
type gitUndoing struct {
	direction
	folder *folder
}

// conflict says why git's part of a turn cannot be taken back; empty: it can. It is
// taken back as a whole or not at all: a branch without its index, or the reverse,
// would be neither the one state nor the other.
func (g gitUndoing) conflict(ctx context.Context, changes []Change) string {
	now := g.folder.lookAtGit(ctx, nil)
	for _, c := range changes {
		from, to := g.ends(c)
		switch {
		case c.Path == gitDir && to.Kind == "":
			return "the repository that was made is left as it is"
		case c.Path == gitDir:
			return "the repository is gone: git's folder is not kept"
		case !now.known:
			return "git's state cannot be read: branches, HEAD and index are left as they are"
		case !now.states[c.Path].same(from) && !now.states[c.Path].same(to):
			return strings.TrimPrefix(c.Path, gitDir+"/") + " was changed since: branches, HEAD and index are left as they are"
		}
		if _, err := g.folder.root.Lstat(filepath.FromSlash(c.Path + ".lock")); err == nil {
			return "git is at work (" + c.Path + ".lock exists): branches, HEAD and index are left as they are"
		}
	}
	return ""
}

// restore takes git's part back: the refs first, in transactions of git that
// compare and set, so that nothing is touched if they cannot be.
func (g gitUndoing) restore(ctx context.Context, changes []Change) error {
	var drop, set, back strings.Builder
	var later []Change
	now := g.folder.lookAtGit(ctx, nil)
	for _, c := range changes {
		from, to := g.ends(c)
		name := strings.TrimPrefix(c.Path, gitDir+"/")
		switch {
		case now.states[c.Path].same(to): // an undo that was interrupted got this far
		case name == "HEAD" || from.Kind != kindRef && to.Kind != kindRef || from.Link != "" || to.Link != "":
			later = append(later, c)
		case to.Kind == "":
			fmt.Fprintf(&drop, "delete %s\x00%s\x00", name, from.Hash)
			fmt.Fprintf(&back, "create %s\x00%s\x00", name, from.Hash)
		case from.Kind == "":
			fmt.Fprintf(&set, "create %s\x00%s\x00", name, to.Hash)
		default:
			fmt.Fprintf(&set, "update %s\x00%s\x00%s\x00", name, to.Hash, from.Hash)
		}
	}
	// A ref can stand where a folder of refs was, so those that go, go first.
	if err := g.updateRefs(ctx, drop.String()); err != nil {
		return err
	}
	if err := g.updateRefs(ctx, set.String()); err != nil {
		return errors.Join(err, g.updateRefs(ctx, back.String()))
	}
	for _, c := range later {
		if err := g.restoreFile(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (g gitUndoing) updateRefs(ctx context.Context, commands string) error {
	if commands == "" {
		return nil
	}
	return g.git(ctx, commands, "update-ref", "--no-deref", "-m", "burin: undo", "-z", "--stdin")
}

// restoreFile takes back what is no ordinary ref.
func (g gitUndoing) restoreFile(ctx context.Context, c Change) error {
	from, to := g.ends(c)
	name := strings.TrimPrefix(c.Path, gitDir+"/")
	switch {
	case to.Kind == kindRef && to.Link != "":
		return g.git(ctx, "", "symbolic-ref", "-m", "burin: undo", name, to.Link)
	case to.Kind == kindRef:
		return g.git(ctx, "", "update-ref", "--no-deref", "-m", "burin: undo", name, to.Hash)
	case from.Kind == kindRef:
		return g.git(ctx, "", "symbolic-ref", "-d", name)
	case c.Path == stashLog: // the ref is back already, and with it git has written the log
		if from = g.folder.lookAtGit(ctx, nil).states[c.Path]; from.same(to) {
			return nil
		}
		if _, err := rootfile.MkdirAll(g.folder.root, filepath.Dir(filepath.FromSlash(c.Path)), 0o755); err != nil {
			return err
		}
	}
	return g.replaceLocked(c.Path, from, to)
}

// replaceLocked replaces a file of git under the lock that git itself takes, if it
// still is what it was.
func (g gitUndoing) replaceLocked(path string, from, to State) error {
	name := filepath.FromSlash(path)
	lock := name + ".lock"
	f, err := g.folder.root.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	defer func() { _ = g.folder.root.Remove(lock) }() // gone, if it took the file's place
	now := State{}
	data, info, err := rootfile.Read(g.folder.root, name, maxGitFile)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
		now = State{Kind: from.Kind, Hash: hashOf(data)}
		if what, ierr := indexContents(data); from.Kind == kindIndex && ierr == nil {
			now.Link = what
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && !now.same(from) {
		err = errors.New("was changed since")
	}
	if err == nil && to.Kind != "" {
		if data, err = g.folder.store.Get(to.Hash); err == nil {
			_, err = f.Write(data)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && to.Kind == kindIndex {
		// Older than all files: git trusts none of the times in it before it has read them.
		err = g.folder.root.Chtimes(lock, time.Unix(1, 0), time.Unix(1, 0))
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case to.Kind == "":
		return g.folder.root.Remove(name)
	}
	return g.folder.root.Rename(lock, name)
}

// gitLimit is how long git may take for what it is asked here.
const gitLimit = 30 * time.Second

// git runs git on the repository. It runs alone: it writes in the watched folder only, and
// can start nothing that a configuration or a hook names. Where the system cannot keep it
// from starting programs, the switches of [git.Command] do: these orders run no filters,
// and hooks and fetching are off.
func (g gitUndoing) git(ctx context.Context, input string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gitLimit)
	defer cancel()
	dir := g.folder.root.Name()
	run := func(start func(*exec.Cmd) error) (out []byte, err error) {
		cmd, err := git.Command(ctx, dir, append([]string{"--git-dir=" + filepath.Join(dir, gitDir), "--work-tree=" + dir}, args...)...)
		if err != nil {
			return nil, err
		}
		var said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &said, &said
		cmd.WaitDelay = time.Second
		err = start(cmd)
		return said.Bytes(), err
	}
	out, err := run(func(cmd *exec.Cmd) error { return sandbox.Alone(cmd, dir) })
	if errors.Is(err, sandbox.ErrCannotIsolate) {
		out, err = run((*exec.Cmd).Run)
	}
	if err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return fmt.Errorf("git %s: %w: %.200s", args[0], err, line)
	}
	return nil
}
