package status

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

// Git is what the line tells of a repository. The zero value is none.
type Git struct {
	Branch        string // empty if HEAD is detached
	Commit        string // of a detached HEAD, abbreviated
	Ahead, Behind int    // of the upstream
	Staged        int
	Dirty         int // changed and not staged
	Untracked     int
	Conflicts     int
	Counted       bool // the numbers are known
}

const (
	gitTime   = 2 * time.Second
	maxStatus = 4 << 20 // bytes of git's answer that are read; more is counted as far as that
	maxHead   = 4 << 10
)

// Repo keeps the facts of the repository that a folder is in. It asks when it is told
// to and at no other time; one process of git runs at most.
type Repo struct {
	dir    string
	report func(Git)
	ctx    context.Context
	stop   context.CancelFunc

	mu      sync.Mutex
	running bool
	again   bool

	last Git // that was reported; of the one goroutine that looks
}

// NewRepo makes a Repo whose news go to report, which is called in a goroutine of
// Repo's: the face gives its own by Env.Post.
func NewRepo(dir string, report func(Git)) *Repo {
	ctx, stop := context.WithCancel(context.Background())
	return &Repo{dir: dir, report: report, ctx: ctx, stop: stop}
}

// Refresh asks anew. It does not wait. What changed is reported: another branch at
// once, numbers when git has counted. While git is asked, further calls join to one
// more look.
func (r *Repo) Refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	if r.running {
		r.again = true
		return
	}
	r.running = true
	go r.look()
}

// Close ends what is running; nothing is reported after it but what is on its way.
func (r *Repo) Close() { r.stop() }

func (r *Repo) look() {
	for {
		if head := Head(r.dir); head.Branch != r.last.Branch || head.Commit != r.last.Commit {
			r.tell(head)
		}
		r.tell(Collect(r.ctx, r.dir))
		r.mu.Lock()
		if !r.again || r.ctx.Err() != nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.again = false
		r.mu.Unlock()
	}
}

func (r *Repo) tell(g Git) {
	if r.ctx.Err() == nil && g != r.last {
		r.last = g
		r.report(g)
	}
}

// Collect asks git about the folder, for two seconds at most. What git does not say in
// that time is read from the repository itself: the branch, without numbers.
//
// A repository is not trusted: no hook, filter or monitor that it configures is run.
func Collect(ctx context.Context, dir string) Git {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	off, err := filtersOff(ctx, dir)
	if err != nil {
		return Head(dir)
	}
	out, err := run(ctx, dir, append(off, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "-z")...)
	if err != nil {
		return Head(dir)
	}
	return parseStatus(out)
}

// filtersOff gives the options that keep git from running the filters that are
// configured: to compare a file, status would.
func filtersOff(ctx context.Context, dir string) ([]string, error) {
	out, err := run(ctx, dir, "config", "--null", "--name-only", "--get-regexp", `^filter\.|^core\.repositoryformatversion$`)
	if err != nil { // without any match git fails, and each repository has the second key
		return nil, err
	}
	var off []string
	for key := range strings.SplitSeq(string(out), "\x00") {
		if !strings.HasPrefix(key, "filter.") {
			continue
		}
		if strings.Contains(key, "=") || len(off) > 1000 {
			return nil, errors.New("the filters of the repository cannot be switched off")
		}
		name := key[:strings.LastIndexByte(key, '.')]
		off = append(off, "-c", name+".clean=", "-c", name+".process=", "-c", name+".required=false")
	}
	return off, nil
}

// run asks git one thing.
func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	safe := []string{
		"--no-optional-locks", "--no-pager", "-C", dir,
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.untrackedCache=keep",
	}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // they may name another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")
	cmd.WaitDelay = 50 * time.Millisecond
	var out bounded
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ask git: %w", err)
	}
	return out.Bytes(), nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxStatus-b.Len())])
	return len(p), nil
}

// parseStatus reads the records of git status --porcelain=v2 -z.
func parseStatus(out []byte) Git {
	g := Git{Counted: true}
	renamed := false // the record that follows one of a rename is a path
	var commit string
	for rec := range strings.SplitSeq(string(out), "\x00") {
		if renamed {
			renamed = false
			continue
		}
		switch {
		case strings.HasPrefix(rec, "# branch.oid "):
			commit = rec[len("# branch.oid "):]
		case strings.HasPrefix(rec, "# branch.head "):
			if g.Branch = rec[len("# branch.head "):]; g.Branch == "(detached)" {
				g.Branch, g.Commit = "", commit[:min(len(commit), 7)]
			}
		case strings.HasPrefix(rec, "# branch.ab "):
			fmt.Sscanf(rec, "# branch.ab +%d -%d", &g.Ahead, &g.Behind) //nolint:errcheck // what is not there stays 0
		case strings.HasPrefix(rec, "1 "), strings.HasPrefix(rec, "2 "):
			renamed = rec[0] == '2'
			if len(rec) > 3 {
				g.count(rec[2], rec[3])
			}
		case strings.HasPrefix(rec, "u "):
			g.Conflicts++
		case strings.HasPrefix(rec, "? "):
			g.Untracked++
		}
	}
	return g
}

// count counts a file by what was done to it in the index and in the folder.
func (g *Git) count(index, folder byte) {
	if index != '.' {
		g.Staged++
	}
	if folder != '.' {
		g.Dirty++
	}
}

// Head is the branch of the repository that dir is in, read from its files: without
// git, and without numbers.
func Head(dir string) Git {
	for range 64 {
		if g, ok := readHead(filepath.Join(dir, ".git")); ok {
			return g
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return Git{}
}

// readHead reads the HEAD of a repository, or of what a .git file names.
func readHead(at string) (Git, bool) {
	info, err := os.Stat(at)
	if err != nil {
		return Git{}, false
	}
	if info.Mode().IsRegular() {
		text, err := readSmall(at)
		name, ok := strings.CutPrefix(text, "gitdir: ")
		if err != nil || !ok {
			return Git{}, false
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(at), name)
		}
		at = name
	}
	head, err := readSmall(filepath.Join(at, "HEAD"))
	if err != nil {
		return Git{}, false
	}
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok && branch != ".invalid" { // as reftables have it
		return Git{Branch: branch}, true
	}
	if _, err := strconv.ParseUint(head[:min(len(head), 7)], 16, 64); err == nil && len(head) >= 40 {
		return Git{Commit: head[:7]}, true
	}
	return Git{}, false
}

// readSmall reads the first line of a small regular file.
func readSmall(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxHead {
		return "", fmt.Errorf("%s is not a small file", name)
	}
	b, err := os.ReadFile(name)
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), err
}
