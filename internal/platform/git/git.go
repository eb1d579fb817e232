// Package git tells facts of a repository, by asking the git command.
//
// A repository is not trusted: nothing that it configures is run. There are no
// prompts, no hooks, no filters, no file system monitors, no fetching of missing
// objects and no locks, and the answer comes within half a second, with what is
// known by then.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// limit is how long Collect takes at most.
const limit = 500 * time.Millisecond

// maxOutput is how much of an answer of git is read.
const maxOutput = 1 << 20

// Facts are what is known of a repository. The zero value means that there is
// none, or no git.
type Facts struct {
	Root     string // of the working tree, absolute
	Worktree bool   // an additional working tree of its repository
	Branch   string // empty if HEAD is detached
	Commit   string // abbreviated; empty before the first commit
	Upstream string
	Ahead    int
	Behind   int

	Staged    int
	Modified  int
	Untracked int
	Conflicts int
	Known     bool // the four counts are

	Recent []Commit // newest first
}

// Commit is one commit.
type Commit struct {
	Hash    string // abbreviated
	Age     string // "3 days ago"
	Subject string
}

// Collect asks about the repository that dir is in.
func Collect(ctx context.Context, dir string) Facts {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var f Facts
	var recent []Commit
	var wg sync.WaitGroup
	wg.Go(func() {
		if out, err := run(ctx, dir, "log", "-5", "--no-show-signature", "--pretty=format:%h%x00%cr%x00%s"); err == nil {
			recent = commits(out)
		}
	})
	wg.Go(func() {
		if out, err := run(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"); err == nil {
			f.readPlace(out)
		}
	})
	var status []byte
	var serr error
	wg.Go(func() {
		var off []string
		if off, serr = filtersOff(ctx, dir); serr != nil {
			return
		}
		status, serr = run(ctx, dir, append(off, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "-z")...)
	})
	wg.Wait()
	if f.Root == "" {
		return Facts{}
	}
	f.Recent = recent
	if len(recent) > 0 {
		f.Commit = recent[0].Hash
	}
	if serr == nil {
		f.readStatus(status)
	}
	return f
}

// filtersOff gives the options that keep git from running the filters that are
// configured: to compare a file, status would. Without them a file that is stored
// filtered can count as modified.
func filtersOff(ctx context.Context, dir string) ([]string, error) {
	// Without any match git fails. Each repository has the second key.
	out, err := run(ctx, dir, "config", "--null", "--name-only", "--get-regexp", `^filter\.|^core\.repositoryformatversion$`)
	if err != nil {
		return nil, err
	}
	var off []string
	for key := range strings.SplitSeq(string(out), "\x00") {
		if !strings.HasPrefix(key, "filter.") {
			continue
		}
		if strings.Contains(key, "=") {
			return nil, fmt.Errorf("a filter cannot be switched off: %q", key)
		}
		name := key[:strings.LastIndexByte(key, '.')]
		off = append(off, "-c", name+".clean=", "-c", name+".process=", "-c", name+".required=false")
		if len(off) > maxFilterOptions {
			return nil, errors.New("too many filters are configured")
		}
	}
	return off, nil
}

const maxFilterOptions = 1000

// run asks git one thing. The arguments may begin with options of git itself.
func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	safe := []string{
		"--no-optional-locks", "--no-pager", "-C", dir,
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.untrackedCache=keep",
		"-c", "log.showSignature=false", "-c", "diff.external=", "-c", "core.pager=cat",
	}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Env = append(environment(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat", "LC_ALL=C")
	cmd.WaitDelay = 50 * time.Millisecond
	out := &bounded{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// environment is ours without what would point git at another repository.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GIT_") {
			env = append(env, v)
		}
	}
	return env
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func commits(out []byte) (all []Commit) {
	for line := range strings.SplitSeq(string(out), "\n") {
		if part := strings.SplitN(line, "\x00", 3); len(part) == 3 {
			all = append(all, Commit{Hash: part[0], Age: part[1], Subject: part[2]})
		}
	}
	return all
}

// readPlace reads the paths of the working tree, its folder in the repository, and
// the repository. Only the first may have line ends in it: the last two are equal
// or the second is below the third.
func (f *Facts) readPlace(out []byte) {
	lines := strings.Split(strings.TrimRight(string(out), "\r\n"), "\n")
	if len(lines) < 3 {
		return
	}
	last := len(lines) - 1
	f.Worktree = lines[last] != lines[last-1]
	f.Root = filepath.FromSlash(strings.Join(lines[:last-1], "\n"))
}

// readStatus reads git's porcelain format, version 2, with NUL between entries.
func (f *Facts) readStatus(out []byte) {
	f.Known = true
	entries := strings.Split(string(out), "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if len(e) < 2 {
			continue
		}
		switch e[0] {
		case '#':
			f.header(e)
		case '?':
			f.Untracked++
		case 'u':
			f.Conflicts++
		case '1', '2':
			if len(e) > 3 {
				if e[2] != '.' {
					f.Staged++
				}
				if e[3] != '.' {
					f.Modified++
				}
			}
			if e[0] == '2' {
				i++ // the path it was renamed from
			}
		}
	}
}

func (f *Facts) header(e string) {
	key, value, _ := strings.Cut(strings.TrimPrefix(e, "# "), " ")
	switch key {
	case "branch.head":
		if value != "(detached)" {
			f.Branch = value
		}
	case "branch.upstream":
		f.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		f.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		f.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// String is what a model is told: a few lines, or "" without a repository.
func (f Facts) String() string {
	if f.Root == "" {
		return ""
	}
	var b strings.Builder
	switch {
	case f.Branch == "":
		b.WriteString("Git: detached HEAD at " + f.Commit)
	case f.Commit == "":
		b.WriteString("Git: branch " + f.Branch + ", no commit yet")
	default:
		b.WriteString("Git: branch " + f.Branch)
	}
	if f.Upstream != "" && (f.Ahead > 0 || f.Behind > 0) {
		fmt.Fprintf(&b, " (%d ahead, %d behind %s)", f.Ahead, f.Behind, f.Upstream)
	}
	if f.Known {
		b.WriteString(", " + f.changes())
	}
	b.WriteByte('\n')
	for i, c := range f.Recent {
		if i == 0 {
			b.WriteString("Recent commits:\n")
		}
		fmt.Fprintf(&b, "  %s %s (%s)\n", c.Hash, short(c.Subject), c.Age)
	}
	return b.String()
}

func (f Facts) changes() string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{f.Conflicts, "in conflict"}, {f.Staged, "staged"}, {f.Modified, "modified"}, {f.Untracked, "untracked"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		return "clean"
	}
	return strings.Join(parts, ", ")
}

// short is a subject without what could pass for a line of its own.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}
