// Package git tells facts of a repository, by asking the git command and by reading.
//
// A repository is not trusted, and commands may rewrite its configuration while git runs.
// Git therefore runs alone (see [sandbox.Alone]): it can start no filter, hook, monitor,
// pager or other program, writes nothing and reaches no network, whatever is configured.
// The switches that turn these off besides are there for git to do without them in good
// order. Where a system cannot keep git from starting programs, git is asked for nothing
// but the root of the repository, for which it starts none; the branch is read from HEAD,
// and counts and commits are left out.
//
// There are no prompts and no locks, and the answer comes within a limit of time, with
// what is known by then.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	collectLimit = 500 * time.Millisecond // for what Collect only tells: the first request waits for it
	placeLimit   = 5 * time.Second        // and for the root, which decides which instructions hold
	lookLimit    = 2 * time.Second        // for Look

	maxOutput = 4 << 20 // bytes of an answer of git that are read; more is counted as far as that
)

// Status says where HEAD is and how many files differ from it. The zero value means that
// there is no repository.
type Status struct {
	Branch   string // empty if HEAD is detached
	Commit   string // abbreviated; empty before the first commit, or if only HEAD was read and names a branch
	Upstream string
	Ahead    int
	Behind   int

	Staged    int
	Modified  int // and not staged
	Untracked int
	Conflicts int
	Known     bool // the counts are
}

// Facts are what is known of a repository. The zero value means that there is
// none, or no git.
type Facts struct {
	Root     string // of the working tree, absolute
	Worktree bool   // an additional working tree of its repository
	Status
	Recent []Commit // newest first
}

// Commit is one commit.
type Commit struct {
	Hash    string // abbreviated
	Age     string // "3 days ago"
	Subject string
}

// Collect asks about the repository that dir is in, for half a second at most; where a busy
// machine has not even started git by then, some seconds more for the root of its working tree.
func Collect(ctx context.Context, dir string) Facts {
	placing, cancel := context.WithTimeout(ctx, placeLimit)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, collectLimit)
	defer cancel()
	if !within(dir) {
		return Facts{} // without starting anything: the first request waits for this
	}
	q, err := about(ctx, dir)
	if err != nil {
		return Facts{}
	}
	var f Facts
	var wg sync.WaitGroup
	wg.Go(func() {
		if out, err := q.ask(ctx, "log", "-5", "--no-show-signature", "--pretty=format:%h%x00%cr%x00%s"); err == nil {
			f.Recent = commits(out)
		}
	})
	wg.Go(func() { f.Root, f.Worktree = q.place(placing) })
	wg.Go(func() { f.Status = q.status(ctx) })
	wg.Wait()
	if f.Root == "" {
		return Facts{}
	}
	if len(f.Recent) > 0 {
		f.Commit = f.Recent[0].Hash
	}
	return f
}

// Look asks about HEAD and the files of the repository that dir is in, for two seconds at
// most. What git doesn't say in that time is read: see [Head].
func Look(ctx context.Context, dir string) Status {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	q, err := about(ctx, dir)
	if err != nil {
		return Head(dir)
	}
	return q.status(ctx)
}

// Origin is the URL of the remote called origin, as it is configured; "" if there is none, or
// if git cannot be asked.
func Origin(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	q, err := about(ctx, dir)
	if err != nil {
		return ""
	}
	out, err := q.ask(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// questions are asked about one folder.
type questions struct {
	dir string
	git *exec.Cmd // as each of them begins
}

func about(ctx context.Context, dir string) (*questions, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cmd, err := Command(ctx, abs, "--no-optional-locks", "-C", abs)
	return &questions{abs, cmd}, err
}

func (q *questions) status(ctx context.Context) Status {
	args := []string{"status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "-z"}
	out, err := q.ask(ctx, args...)
	if err != nil && !errors.Is(err, sandbox.ErrCannotIsolate) && ctx.Err() == nil {
		// A filter that is required and cannot start: that of large files, as a rule.
		var off []string
		if off, err = q.filtersOff(ctx); err == nil {
			out, err = q.ask(ctx, append(off, args...)...)
		}
	}
	if err != nil {
		return Head(q.dir)
	}
	return parseStatus(out)
}

// place asks for the root of the working tree. Git also judges by its owner whether a
// repository is to be read at all.
func (q *questions) place(ctx context.Context) (root string, worktree bool) {
	args := []string{"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"}
	out, err := q.ask(ctx, args...)
	if errors.Is(err, sandbox.ErrCannotIsolate) {
		out, err = q.askBy(ctx, (*exec.Cmd).Run, args...)
	}
	if err != nil {
		return "", false
	}
	return parsePlace(out)
}

// filtersOff gives the options with which git does without the filters that are
// configured. A file that is stored filtered can then count as modified. The filters could
// not run anyway: this is for git to go on without them.
func (q *questions) filtersOff(ctx context.Context) ([]string, error) {
	out, err := q.ask(ctx, "config", "--null", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil {
		return nil, err
	}
	var off []string
	for key := range strings.SplitSeq(string(out), "\x00") {
		if key == "" {
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

// ask asks git one thing. The arguments may begin with options of git itself.
func (q *questions) ask(ctx context.Context, args ...string) ([]byte, error) {
	return q.askBy(ctx, func(cmd *exec.Cmd) error { return sandbox.Alone(cmd) }, args...)
}

func (q *questions) askBy(ctx context.Context, run func(*exec.Cmd) error, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, q.git.Path)
	cmd.Args, cmd.Dir, cmd.Env = slices.Concat(q.git.Args, args), q.git.Dir, q.git.Env
	cmd.WaitDelay = 50 * time.Millisecond
	out := &bounded{}
	cmd.Stdout = out
	if err := run(cmd); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// Command prepares git for something that burin itself wants of the repository in dir. It
// starts in the root folder, so args say where to look. It is a git that no command can
// have replaced, without variables that name another repository, and with all that git can be
// told to do without. What git starts all the same is for [sandbox.Alone] to refuse.
func Command(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	off := []string{"--no-pager"}
	for _, option := range []string{
		"core.fsmonitor=false", "core.hooksPath=" + os.DevNull, "core.untrackedCache=keep", "core.pager=cat",
		"core.sshCommand=false", "credential.helper=", "diff.external=", "gc.auto=0", "log.showSignature=false",
		"maintenance.auto=false", "submodule.recurse=false",
	} {
		off = append(off, "-c", option)
	}
	cmd, err := installed.Command(ctx, []string{dir}, "git", append(off, args...)...)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "darwin" {
		if err := realGit(cmd); err != nil {
			return nil, err
		}
	}
	env := cmd.Env[:0]
	for _, v := range cmd.Env {
		if !strings.HasPrefix(v, "GIT_") {
			env = append(env, v)
		}
	}
	cmd.Env = append(env,
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat", "LC_ALL=C")
	return cmd, nil
}

// realGit replaces the git of macOS, which starts that of the developer tools, or a window
// that offers to install them.
func realGit(cmd *exec.Cmd) error {
	if cmd.Path != "/usr/bin/git" {
		return nil
	}
	for _, tools := range []string{"/Library/Developer/CommandLineTools", "/Applications/Xcode.app/Contents/Developer"} {
		path := tools + "/usr/bin/git"
		if _, err := os.Stat(path); err == nil {
			cmd.Path = path
			return nil
		}
	}
	return &exec.Error{Name: "git", Err: exec.ErrNotFound}
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxOutput-b.Len())])
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

// parsePlace reads the paths of the working tree, its folder in the repository, and
// the repository. Only the first may have line ends in it: the last two are equal
// or the second is below the third.
func parsePlace(out []byte) (root string, worktree bool) {
	lines := strings.Split(strings.TrimRight(string(out), "\r\n"), "\n")
	last := len(lines) - 1
	if last < 2 {
		return "", false
	}
	return filepath.FromSlash(strings.Join(lines[:last-1], "\n")), lines[last] != lines[last-1]
}

// parseStatus reads git's porcelain format, version 2, with NUL between records.
func parseStatus(out []byte) Status {
	s := Status{Known: true}
	renamed := false // the record that follows one of a rename is a path
	for record := range strings.SplitSeq(string(out), "\x00") {
		if renamed {
			renamed = false
			continue
		}
		switch {
		case strings.HasPrefix(record, "# "):
			s.header(record[2:])
		case strings.HasPrefix(record, "? "):
			s.Untracked++
		case strings.HasPrefix(record, "u "):
			s.Conflicts++
		case strings.HasPrefix(record, "1 "), strings.HasPrefix(record, "2 "):
			renamed = record[0] == '2'
			if len(record) > 3 {
				s.count(record[2], record[3])
			}
		}
	}
	return s
}

// count counts a file by what was done to it in the index and in the working tree.
func (s *Status) count(index, tree byte) {
	if index != '.' {
		s.Staged++
	}
	if tree != '.' {
		s.Modified++
	}
}

func (s *Status) header(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			s.Commit = abbreviated(value)
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// abbreviated is an object's name as long as git shows it in a small repository.
func abbreviated(object string) string { return object[:min(len(object), 7)] }

// String is what a model is told: a few lines, or "" without a repository.
func (f Facts) String() string {
	if f.Root == "" {
		return ""
	}
	var b strings.Builder
	switch {
	case f.Branch == "":
		b.WriteString("Git: detached HEAD at " + f.Commit)
	case f.Commit == "" && f.Known:
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
		fmt.Fprintf(&b, "  %s %s (%s)\n", c.Hash, prose.Short(c.Subject, 80), c.Age)
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
