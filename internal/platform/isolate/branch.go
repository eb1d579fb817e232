package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"path/filepath"
	"strings"
)

// ErrNothing reports that nothing was changed in the folder.
var ErrNothing = errors.New("nothing was changed")

// Branch makes a branch of the repository: HEAD as it is now, and one commit with the changes
// on top of it. Where HEAD lacks what the changes build on, which the person hasn't committed,
// they are merged; it is an error if that fails. HEAD, the index and the working tree stay
// as they are. Where a branch of that name exists, the name gets a number, as in name-2. The
// author is "Name <address>", else whom git would take.
func (f *Folder) Branch(ctx context.Context, name, message string, author ...string) (branch, commit string, err error) {
	changes, err := f.Changes(ctx)
	if err != nil {
		return "", "", err
	}
	if len(changes) == 0 {
		return "", "", ErrNothing
	}
	b := brancher{f: f, index: filepath.Join(f.own.dir, "branch")}
	if _, err := b.git(ctx, nil, "check-ref-format", "refs/heads/"+name); err != nil || strings.HasPrefix(name, "-") {
		return "", "", fmt.Errorf("%q is no name for a branch", name)
	}
	if b.env, err = identity(ctx, f.user, author); err != nil {
		return "", "", err
	}
	for i := range changes {
		c := &changes[i]
		if c.Path = c.name; c.Repo != "" {
			return "", "", fmt.Errorf("%s belongs to the repository in %s, so it can't be on a branch of the outer one: take the patch", c.name, c.Repo)
		}
	}
	if err := b.clean(ctx, changes); err != nil {
		return "", "", err
	}
	head, _ := b.git(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	parent := strings.TrimSpace(string(head))
	from := parent
	if from == "" {
		from = "--empty"
	}
	if _, err := b.git(ctx, nil, "read-tree", from); err != nil {
		return "", "", err
	}
	merged, err := Merge(changes, func(path string) ([]byte, fs.FileMode, error) {
		data, err := b.read(ctx, path)
		return data, 0, err
	})
	if err != nil {
		return "", "", err
	}
	if len(merged.Conflicts) > 0 {
		c := merged.Conflicts[0]
		return "", "", fmt.Errorf("the changes don't apply to HEAD: %s: %s (%d in all)", c.Path, c.Why, len(merged.Conflicts))
	}
	tree, err := b.write(ctx, merged.Writes)
	if err != nil {
		return "", "", err
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	out, err := b.git(ctx, []byte(message), args...)
	if err != nil {
		return "", "", err
	}
	commit = strings.TrimSpace(string(out))
	there := func(name string) bool {
		_, err := b.git(ctx, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+name)
		return err == nil
	}
	branch = name
	for n := 2; n <= maxBranches; n++ {
		if !there(branch) {
			_, err := b.git(ctx, nil, "update-ref", "-m", "burin: branch of an agent", "refs/heads/"+branch, commit, strings.Repeat("0", len(commit)))
			if err == nil || !there(branch) { // else another one was faster
				return branch, commit, err
			}
		}
		branch = fmt.Sprintf("%s-%d", name, n)
	}
	return "", "", fmt.Errorf("there are %d branches %s already: delete some", maxBranches, name)
}

// maxBranches is how many branches with one name and a number there are at most.
const maxBranches = 999

// identity are the variables for who commits.
func identity(ctx context.Context, p place, author []string) (env []string, err error) {
	if len(author) > 0 && author[0] != "" {
		a, err := mail.ParseAddress(author[0])
		if err != nil {
			return nil, fmt.Errorf("the author %q is not in the form Name <address>", author[0])
		}
		env = append(env, "GIT_AUTHOR_NAME="+a.Name, "GIT_AUTHOR_EMAIL="+a.Address)
	}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		if _, err := p.git(ctx, order{env: append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.useConfigOnly", "GIT_CONFIG_VALUE_0=true")}, "var", "GIT_"+who+"_IDENT"); err != nil {
			env = append(env, "GIT_"+who+"_NAME=burin", "GIT_"+who+"_EMAIL=burin@localhost")
		}
	}
	return env, ctx.Err()
}

// brancher makes a commit with an index of its own.
type brancher struct {
	f     *Folder
	index string
	env   []string
}

// git runs git on the repository of the person.
func (b brancher) git(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return b.f.user.git(ctx, order{
		input: input, env: append([]string{"GIT_INDEX_FILE=" + b.index}, b.env...),
		writable: []string{b.f.user.dir, b.f.user.common, b.f.user.objects, b.f.own.dir},
	}, args...)
}

// clean turns files into what git stores of them: their ends of line and encoding. What a
// filter stores is refused, as no filter may run.
func (b brancher) clean(ctx context.Context, changes []Change) error {
	var names []string
	for _, c := range changes {
		names = append(names, c.name)
	}
	out, err := b.git(ctx, join(names), "check-attr", "-z", "--stdin", "filter", "text", "eol", "ident", "working-tree-encoding")
	if err != nil {
		return err
	}
	converts := map[string]bool{}
	auto := false
	if out, err := b.git(ctx, nil, "config", "--get", "core.autocrlf"); err == nil {
		auto = strings.TrimSpace(string(out)) != "false"
	}
	records := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(records); i += 3 {
		name, attribute, value := records[i], records[i+1], records[i+2]
		if value == "unspecified" || value == "unset" {
			continue
		}
		if attribute == "filter" {
			if _, err := b.git(ctx, nil, "config", "--get-regexp", `^filter\.`); err == nil {
				return fmt.Errorf("%s is stored by the filter %q, which burin doesn't run: take the patch", name, value)
			}
			continue
		}
		converts[name] = true
	}
	for i := range changes {
		c := &changes[i]
		if c.Large || !auto && !converts[c.name] {
			continue
		}
		for _, side := range []struct {
			data *[]byte
			mode fs.FileMode
		}{{&c.Base, c.BaseMode}, {&c.Theirs, c.TheirsMode}} {
			if !side.mode.IsRegular() || *side.data == nil {
				continue
			}
			if *side.data, err = b.stored(ctx, c.name, *side.data); err != nil {
				return err
			}
		}
		c.Binary = binary(c.Base) || binary(c.Theirs)
	}
	return nil
}

// stored is what git stores of a file. The object lands beside the folder.
func (b brancher) stored(ctx context.Context, name string, data []byte) ([]byte, error) {
	p := b.f.user
	out, err := p.git(ctx, order{
		input: data, writable: []string{b.f.own.dir},
		env: []string{"GIT_OBJECT_DIRECTORY=" + b.f.own.objects},
	}, "hash-object", "-w", "--stdin", "--path="+name)
	if err != nil {
		return nil, err
	}
	object := strings.TrimSpace(string(out))
	all, err := b.f.contents(ctx, []string{object})
	return all[object], err
}

// read reads a file of HEAD.
func (b brancher) read(ctx context.Context, name string) ([]byte, error) {
	out, err := b.git(ctx, nil, "ls-files", "--stage", "-z", "--", name)
	if err != nil {
		return nil, err
	}
	for _, e := range lines(out) {
		fields, path, _ := strings.Cut(e, "\t")
		part := strings.Fields(fields)
		switch {
		case path != name || len(part) < 2:
			continue
		case part[0] == gitlink:
			return nil, errors.New("it is a repository of its own")
		}
		data, err := b.git(ctx, nil, "cat-file", "blob", part[1])
		if err == nil && part[0] == "120000" {
			err = &Link{string(data)}
		}
		return data, err
	}
	return nil, fs.ErrNotExist
}

// write writes the tree of HEAD with files in it.
func (b brancher) write(ctx context.Context, writes []Write) (string, error) {
	var gone, put []string
	for _, w := range writes {
		if w.Delete {
			gone = append(gone, "0 "+strings.Repeat("0", len(b.f.base))+"\t"+w.Path)
			continue
		}
		out, err := b.git(ctx, w.Data, "hash-object", "-w", "--stdin", "--no-filters")
		if err != nil {
			return "", err
		}
		mode := "100644"
		switch {
		case w.Mode&fs.ModeSymlink != 0:
			mode = "120000"
		case w.Mode&0o111 != 0:
			mode = "100755"
		}
		put = append(put, mode+" "+strings.TrimSpace(string(out))+"\t"+w.Path)
	}
	if _, err := b.git(ctx, join(append(gone, put...)), "update-index", "--replace", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, err := b.git(ctx, nil, "write-tree")
	return strings.TrimSpace(string(out)), err
}
