package split

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/burin-dev/burin/internal/platform/git"
)

// Commit is a commit to make.
type Commit struct {
	Message string
	Pieces  []string // by id
	// Put are files to commit with another content than they have, by path: what they hold
	// then, as in the working tree. Each lasts until a later commit puts another.
	Put map[string][]byte
}

// Options of [Repo.Make].
type Options struct {
	NoVerify bool // run no pre-commit and commit-msg hook
	// Before is what the files of Put hold now. A file that has changed since is not written.
	Before map[string][]byte
}

// Made is a commit that was made.
type Made struct{ Hash, Message string }

// ErrMoved reports that the repository is not as it was when the changes were read.
var ErrMoved = errors.New("the repository has changed meanwhile: run it again")

// maker makes commits of changes.
type maker struct {
	*Repo
	*Changes
	o      Options
	tmp    string
	index  string // in place of git's
	sign   bool
	chosen map[string]bool
	put    map[string]op
	hooks  map[string]bool
}

// Make makes the commits, one after the other, all of them or none: the branch moves once, at
// the end. Pieces that are in no commit stay as they are. The files of Put are written into
// the working tree; nothing else of it is touched.
func (r *Repo) Make(ctx context.Context, c *Changes, commits []Commit, o Options) ([]Made, error) {
	if err := c.check(commits); err != nil {
		return nil, err
	}
	if err := r.still(ctx, c); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "burin-commit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	m := &maker{Repo: r, Changes: c, o: o, tmp: tmp, index: filepath.Join(tmp, "index"), chosen: map[string]bool{}, put: map[string]op{}, hooks: map[string]bool{}}
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	made := make([]Made, 0, len(commits))
	parent, tree := c.head, c.base
	for i, one := range commits {
		before := tree
		if tree, err = m.next(ctx, tree, one); err != nil {
			return nil, err
		}
		if tree == before {
			return nil, fmt.Errorf("commit %d changes nothing", i+1)
		}
		if parent, one.Message, err = m.record(ctx, tree, parent, one.Message); err != nil {
			return nil, fmt.Errorf("commit %d: %w; nothing is committed", i+1, err)
		}
		made = append(made, Made{parent, one.Message})
	}
	if err := m.verify(ctx, tree); err != nil {
		return nil, err
	}
	subject, _, _ := strings.Cut(made[len(made)-1].Message, "\n")
	if err := m.finish(ctx, commits, tree, parent, mark(len(made), c.Staged)+subject); err != nil {
		return nil, err
	}
	_ = m.hook(context.WithoutCancel(ctx), "post-commit") // git doesn't mind how it ends
	return made, nil
}

// check refuses commits that do not divide the changes.
func (c *Changes) check(commits []Commit) error {
	if len(commits) == 0 {
		return errors.New("no commits")
	}
	known, in := map[string]bool{}, map[string]int{}
	for _, p := range c.Pieces {
		known[p.ID] = true
	}
	for i, one := range commits {
		if strings.TrimSpace(one.Message) == "" {
			return fmt.Errorf("commit %d has no message", i+1)
		}
		if len(one.Pieces) == 0 {
			return fmt.Errorf("commit %d has no changes", i+1)
		}
		for _, id := range one.Pieces {
			switch {
			case !known[id]:
				return fmt.Errorf("commit %d: no change %q", i+1, id)
			case in[id] != 0:
				return fmt.Errorf("change %s is in commit %d and in commit %d", id, in[id], i+1)
			}
			in[id] = i + 1
		}
	}
	return nil
}

// still refuses where HEAD or the index is not as it was read.
func (r *Repo) still(ctx context.Context, c *Changes) error {
	if err := r.idle(); err != nil {
		return err
	}
	ref, err := r.branch(ctx)
	if err != nil {
		return err
	}
	head, err := r.commit(ctx, "HEAD")
	if err != nil {
		return err
	}
	index, err := r.git(ctx, command{}, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	if ref != c.ref || head != c.head || index != c.index {
		return ErrMoved
	}
	return nil
}

func (m *maker) prepare(ctx context.Context) error {
	var unset int
	sign, err := m.git(ctx, command{fails: &unset}, "config", "--bool", "--get", "commit.gpgSign")
	if err != nil {
		return err
	}
	m.sign = strings.TrimSpace(sign) == "true"
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"} {
		path, err := m.git(ctx, command{}, "rev-parse", "--git-path", "hooks/"+name)
		if err != nil {
			return err
		}
		path = strings.TrimSuffix(path, "\n")
		if !filepath.IsAbs(path) {
			path = filepath.Join(m.root, path)
		}
		info, err := os.Stat(path)
		m.hooks[name] = err == nil && !info.IsDir()
	}
	_, err = m.git(ctx, command{index: m.index}, "read-tree", m.base)
	return err
}

// next writes the tree of a commit after another.
func (m *maker) next(ctx context.Context, tree string, one Commit) (string, error) {
	touched := map[*file]bool{}
	for _, id := range one.Pieces {
		m.chosen[id] = true
		touched[m.piece(id).file] = true
	}
	var ops []op
	for _, f := range m.files { // in their order
		if !touched[f] {
			continue
		}
		own, err := m.entries(ctx, f)
		if err != nil {
			return tree, err
		}
		ops = append(ops, own...)
	}
	for _, path := range slices.Sorted(maps.Keys(one.Put)) {
		object, err := m.git(ctx, command{input: string(one.Put[path])}, "hash-object", "-w", "--stdin", "--path="+path)
		if err != nil {
			return tree, err
		}
		was, err := m.git(ctx, command{}, "ls-tree", m.base, "--", path)
		if err != nil {
			return tree, err
		}
		mode, _, ok := strings.Cut(was, " ")
		if !ok {
			return tree, fmt.Errorf("%s is not in the last commit", path)
		}
		m.put[path] = op{mode, strings.TrimSpace(object), path}
		ops = append(ops, m.put[path])
	}
	if err := m.enter(ctx, m.index, ops); err != nil {
		return tree, err
	}
	out, err := m.git(ctx, command{index: m.index}, "write-tree")
	return strings.TrimSpace(out), err
}

func (c *Changes) piece(id string) *Piece {
	i := slices.IndexFunc(c.Pieces, func(p Piece) bool { return p.ID == id })
	return &c.Pieces[i] // it was checked
}

// entries are those of a file with the pieces that are chosen by now.
func (m *maker) entries(ctx context.Context, f *file) ([]op, error) {
	n := 0
	var edits []udiff.Edit
	for _, p := range m.Pieces {
		if p.file == f && m.chosen[p.ID] {
			n++
			edits = append(edits, p.hunk...)
		}
	}
	if n == f.pieces {
		return f.ops, nil
	}
	content, err := udiff.ApplyBytes([]byte(f.old), edits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	object, err := m.git(ctx, command{input: string(content)}, "hash-object", "-w", "--no-filters", "--stdin")
	if err != nil {
		return nil, err
	}
	return []op{{f.ops[0].mode, strings.TrimSpace(object), f.path}}, nil
}

// enter puts entries into an index.
func (r *Repo) enter(ctx context.Context, index string, ops []op) error {
	if len(ops) == 0 {
		return nil
	}
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "%s %s\t%s\x00", o.mode, o.object, o.path)
	}
	_, err := r.git(ctx, command{index: index, input: b.String()}, "-c", "core.splitIndex=false", "update-index", "--add", "--replace", "-z", "--index-info")
	return err
}

// record makes the commit of a tree, after the hooks have run. The message is as they left it.
func (m *maker) record(ctx context.Context, tree, parent, message string) (string, string, error) {
	message = strings.TrimSpace(message) + "\n"
	file := filepath.Join(m.tmp, "COMMIT_EDITMSG")
	if err := os.WriteFile(file, []byte(message), 0o600); err != nil {
		return "", "", err
	}
	if !m.o.NoVerify {
		if err := m.hook(ctx, "pre-commit"); err != nil {
			return "", "", err
		}
	}
	if err := m.hook(ctx, "prepare-commit-msg", file, "message"); err != nil {
		return "", "", err
	}
	if !m.o.NoVerify {
		if err := m.hook(ctx, "commit-msg", file); err != nil {
			return "", "", err
		}
	}
	after, err := m.git(ctx, command{index: m.index}, "write-tree")
	if err != nil {
		return "", "", err
	}
	if strings.TrimSpace(after) != tree {
		return "", "", errors.New("a hook has changed what is committed: look at what it changed, and run it again")
	}
	written, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	if message = strings.TrimSpace(string(written)) + "\n"; message == "\n" {
		return "", "", errors.New("a hook has emptied the message")
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	if m.sign {
		args = append(args, "-S")
	}
	hash, err := m.git(ctx, command{input: message}, args...)
	return strings.TrimSpace(hash), message, err
}

// hook runs a hook of the repository, if it has it, as `git commit` does.
func (m *maker) hook(ctx context.Context, name string, args ...string) error {
	if !m.hooks[name] {
		return nil
	}
	if name == "pre-commit" {
		var stale int // of files that differ from what is committed
		if _, err := m.git(ctx, command{index: m.index, fails: &stale}, "update-index", "-q", "--refresh"); err != nil {
			return err
		}
	}
	_, err := m.git(ctx, command{index: m.index}, append([]string{"hook", "run", "--ignore-missing", name, "--"}, args...)...)
	if err != nil {
		err = fmt.Errorf("the hook %s has refused: %s", name, strings.TrimPrefix(err.Error(), "git hook: "))
	}
	return err
}

// verify compares the last tree with all that was chosen, put together at once.
func (m *maker) verify(ctx context.Context, tree string) error {
	index := filepath.Join(m.tmp, "whole")
	all := len(m.chosen) == len(m.Pieces)
	from, ops := m.base, []op(nil)
	if all {
		from = m.target // as git itself has stored it
	} else {
		for _, f := range m.files {
			if !slices.ContainsFunc(m.Pieces, func(p Piece) bool { return p.file == f && m.chosen[p.ID] }) {
				continue
			}
			own, err := m.entries(ctx, f)
			if err != nil {
				return err
			}
			ops = append(ops, own...)
		}
	}
	if _, err := m.git(ctx, command{index: index}, "read-tree", from); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(m.put)) {
		ops = append(ops, m.put[path])
	}
	if err := m.enter(ctx, index, ops); err != nil {
		return err
	}
	out, err := m.git(ctx, command{index: index}, "write-tree")
	if err != nil {
		return err
	}
	if strings.TrimSpace(out) != tree {
		return errors.New("the commits do not add up to the changes; nothing is committed. This is a bug of burin: please report it")
	}
	return nil
}

// finish moves the branch, and makes the index and the files of Put follow.
func (m *maker) finish(ctx context.Context, commits []Commit, tree, tip, why string) (err error) {
	var ops []op
	if !m.Staged {
		for _, f := range m.files {
			if slices.ContainsFunc(m.Pieces, func(p Piece) bool { return p.file == f && m.chosen[p.ID] }) {
				own, err := m.entries(ctx, f)
				if err != nil {
					return err
				}
				ops = append(ops, own...)
			}
		}
	}
	last := map[string][]byte{}
	for _, one := range commits {
		maps.Copy(last, one.Put)
	}
	for _, path := range slices.Sorted(maps.Keys(last)) {
		ops = append(ops, m.put[path])
	}
	back, err := m.write(last)
	if err != nil {
		return err
	}
	err = m.replaceIndex(ctx, ops, func(ctx context.Context) error {
		if err := m.still(ctx, m.Changes); err != nil {
			return err
		}
		old := m.head
		if old == "" {
			old = strings.Repeat("0", len(tip)) // it must not be there
		}
		_, err := m.git(ctx, command{}, "update-ref", "-m", why, m.ref, tip, old)
		return err
	})
	if err != nil {
		return errors.Join(err, back())
	}
	return nil
}

// write writes files into the working tree that hold what they held. back undoes it.
func (m *maker) write(files map[string][]byte) (back func() error, err error) {
	var done []string
	back = func() error {
		var err error
		for _, path := range done {
			err = errors.Join(err, replaceFile(filepath.Join(m.root, filepath.FromSlash(path)), files[path], m.o.Before[path]))
		}
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := replaceFile(filepath.Join(m.root, filepath.FromSlash(path)), m.o.Before[path], files[path]); err != nil {
			return nil, errors.Join(err, back())
		}
		done = append(done, path)
	}
	return back, nil
}

// replaceFile writes a file that holds before. It is written in place: it may be a link.
func replaceFile(path string, before, after []byte) error {
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%s has changed meanwhile: run it again", path)
	}
	return os.WriteFile(path, after, 0o666)
}

// replaceIndex changes entries of the index after act has succeeded, under the lock that git
// itself uses. Nothing of it changes if act fails.
func (r *Repo) replaceIndex(ctx context.Context, ops []op, act func(context.Context) error) error {
	path := filepath.Join(r.dir, "index")
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("another git is at work here: wait for it, or delete %s if there is none", path+".lock")
	}
	if err != nil {
		return err
	}
	held := true
	defer func() {
		if held {
			_ = lock.Close()
			_ = os.Remove(path + ".lock")
		}
	}()
	tmp, err := os.MkdirTemp("", "burin-commit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	index := filepath.Join(tmp, "index")
	if err := r.copyIndex(index); err != nil {
		return err
	}
	if err := r.enter(ctx, index, ops); err != nil {
		return err
	}
	if len(ops) > 0 {
		var stale int // of files that differ
		if _, err := r.git(ctx, command{index: index, fails: &stale}, "update-index", "-q", "--refresh"); err != nil {
			return err
		}
	}
	if err := lock.Close(); err != nil {
		return err
	}
	exists := true
	if err := git.CopyIndex(index, path+".lock"); errors.Is(err, os.ErrNotExist) {
		exists = false // there was none, and nothing was entered
	} else if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the branch and the index go together
	if err := act(ctx); err != nil {
		return err
	}
	held = false
	if !exists {
		return os.Remove(path + ".lock")
	}
	return os.Rename(path+".lock", path)
}
