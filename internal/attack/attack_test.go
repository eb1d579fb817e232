//go:build linux

// Package attack attacks a built burin from outside, the way a hostile model, a
// hostile repository and a hostile server would: every attack starts the program in
// a home and a workspace of its own, with a scripted model behind its real wire
// format, and looks only at what can be seen from outside. Which files exist or
// changed, what the model's server was sent, the exit code, the memory and the time
// of the process, what is in its data folder.
//
//	BURIN_ATTACK=1 go test ./internal/attack                     # the program of this tree
//	BURIN_ATTACK_BINARY=/path/burin go test ./internal/attack    # another program
//
// Without either variable the suite does not run. More variables change it:
//
//	BURIN_ATTACK_SEED=7      seed of the generated attacks, 1 if not set
//	BURIN_ATTACK_COUNT=500   generated attacks of each area, 40 if not set
//	BURIN_ATTACK_IDLE=30s    longest life of an answer that is alive but has no content, 12s if not set;
//	                         stream.noContentTimeoutMs is 3000 where burin knows that setting
//	BURIN_ATTACK_SLOW=4      every limit on time is so many times longer, for a busy machine
//
// An attack that comes through is a hole, and its subtest fails with what was seen.
// A control is something ordinary that must go on working beside the defense: a
// wall that nothing passes would be simple to build. The last line of the output is
// "N attacks, M holes; N controls, M broken".
//
// The areas are rules (what may run and which files it may touch), sandbox (what a
// confined command reaches), programs (what burin starts for itself), secrets
// (what must not reach the model or a file), streams (what a server can do), files
// (what a file that is opened can do), project (what hooks, settings, commands and
// instructions of a project can do that nobody trusts) and money (limits on spending). Each has a
// table of attacks. Rules, sandbox, secrets and streams have generators besides, which
// combine ways to hide with ways to act. The sandbox of Linux is attacked, so the suite
// is for Linux.
package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lab is what all attacks share.
type lab struct {
	binary string
	path   string // PATH of burin and of its commands
	seed   uint64
	count  int           // generated attacks of an area
	idle   time.Duration // longest life of an answer without content
	slow   int           // times that every limit on time is longer

	mu                               sync.Mutex
	attacks, holes, controls, broken int
	open                             []string // names of what failed
}

var the lab

func TestMain(m *testing.M) {
	code, err := the.run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		code = 1
	}
	os.Exit(code)
}

func (l *lab) run(m *testing.M) (int, error) {
	l.binary = os.Getenv("BURIN_ATTACK_BINARY")
	if l.binary == "" && os.Getenv("BURIN_ATTACK") != "1" {
		fmt.Println("attack: not run; set BURIN_ATTACK=1 or BURIN_ATTACK_BINARY")
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "attack-")
	if err != nil {
		return 0, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // some attacks run as another user
		return 0, err
	}
	defer os.RemoveAll(dir)
	if l.binary == "" {
		l.binary = filepath.Join(dir, "burin")
		if out, err := exec.Command("go", "build", "-o", l.binary, "../../cmd/burin").CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build burin: %w: %s", err, out)
		}
	}
	l.seed, l.count, l.idle = 1, 40, 12*time.Second
	if s := os.Getenv("BURIN_ATTACK_SEED"); s != "" {
		if l.seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			return 0, fmt.Errorf("BURIN_ATTACK_SEED: %w", err)
		}
	}
	if s := os.Getenv("BURIN_ATTACK_COUNT"); s != "" {
		if l.count, err = strconv.Atoi(s); err != nil {
			return 0, fmt.Errorf("BURIN_ATTACK_COUNT: %w", err)
		}
	}
	if s := os.Getenv("BURIN_ATTACK_IDLE"); s != "" {
		if l.idle, err = time.ParseDuration(s); err != nil {
			return 0, fmt.Errorf("BURIN_ATTACK_IDLE: %w", err)
		}
	}
	l.slow = 1
	if s := os.Getenv("BURIN_ATTACK_SLOW"); s != "" {
		if l.slow, err = strconv.Atoi(s); err != nil || l.slow < 1 {
			return 0, fmt.Errorf("BURIN_ATTACK_SLOW: %q is not a positive number", s)
		}
	}
	l.path = os.Getenv("PATH")
	// A version manager's stand-in for python3 needs the home folder that it was set
	// up in; attacks have another.
	if out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		l.path = filepath.Dir(strings.TrimSpace(string(out))) + ":" + l.path
	}
	code := m.Run()
	slices.Sort(l.open)
	for _, name := range l.open {
		fmt.Println(name)
	}
	fmt.Printf("%d attacks, %d holes; %d controls, %d broken\n", l.attacks, l.holes, l.controls, l.broken)
	return code, nil
}

// hole reports one attack as a subtest: what the attacker did, and what was seen of
// it, which is empty if it was held.
func hole(t *testing.T, name, does, seen string) {
	t.Helper()
	the.mu.Lock()
	the.attacks++
	if seen != "" {
		the.holes++
		the.open = append(the.open, "hole "+t.Name()+"/"+name)
	}
	the.mu.Unlock()
	t.Run(name, func(t *testing.T) {
		if seen != "" {
			t.Errorf("hole: %s\nattack: %s", clip(seen, 400), clip(does, 600))
		}
	})
}

// control reports whether something ordinary works.
func control(t *testing.T, name, does, missing string) {
	t.Helper()
	the.mu.Lock()
	the.controls++
	if missing != "" {
		the.broken++
		the.open = append(the.open, "broken "+t.Name()+"/"+name)
	}
	the.mu.Unlock()
	t.Run("control/"+name, func(t *testing.T) {
		if missing != "" {
			t.Errorf("broken: %s\nordinary work: %s", clip(missing, 600), clip(does, 600))
		}
	})
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// dice are those of one generator: the same for the same seed.
func dice(area uint64) *rand.Rand { return rand.New(rand.NewPCG(the.seed, area)) }

// pick takes one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// box is the world of one attack: a home folder, a workspace that is a git
// repository, and a folder outside of both.
type box struct {
	root, home, own, ws, out string
	env                      []string // more variables
}

func newBox(t *testing.T) *box {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{root: root, home: filepath.Join(root, "home"), ws: filepath.Join(root, "ws"), out: filepath.Join(root, "out")}
	b.own = filepath.Join(b.home, ".burin")
	for _, dir := range []string{b.home, b.own, b.ws, b.out, filepath.Join(root, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.put(t, "home/.gitconfig", "[user]\n\tname = A\n\temail = a@example.com\n[core]\n\texcludesFile = ~/.excluded\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n")
	b.put(t, "home/.excluded", "run-*.sh\n")
	b.put(t, "home/.burin/config.yml", "compaction: {enabled: false}\ntitles: {model: false}\nretry: {enabled: false}\nstartup: {quiet: true, setupWizard: false}\n")
	return b
}

// put writes a file of the box; its folders are made.
func (b *box) put(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(b.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// content reads a file of the box; a file that is not there is empty.
func (b *box) content(name string) string {
	text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return string(text)
}

// repository makes the workspace one, with all that is in it committed.
func (b *box) repository(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}, {"commit", "-q", "--allow-empty", "-m", "all"}} {
		b.git(t, args...)
	}
}

func (b *box) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.ws, b.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// give lets another user own the box.
func (b *box) give(t *testing.T, user int) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(b.root), 0o755); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(b.root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *box) environment() []string {
	return append([]string{
		"HOME=" + b.home, "BURIN_HOME=" + b.own, "BURIN_NO_KEYRING=1", "PATH=" + the.path, "TMPDIR=" + filepath.Join(b.root, "tmp"),
		"AWS_EC2_METADATA_DISABLED=true", "OLLAMA_HOST=http://127.0.0.1:1", "LLAMA_CPP_BASE_URL=http://127.0.0.1:1", "LM_STUDIO_BASE_URL=http://127.0.0.1:1",
		"LC_ALL=C.UTF-8", "TERM=xterm-256color",
	}, b.env...)
}

// ended is what a process left behind.
type ended struct {
	code   int // -1 after a signal
	out    string
	err    string
	took   time.Duration
	peak   int64  // bytes of memory
	killed string // why the attack ended it; empty if it ended by itself
}

// all is what a process wrote.
func (e ended) all() string { return e.out + e.err }

// limits of a process that is attacked; 0 is the suite's own, which end a run that
// would never end.
type limits struct {
	memory int64
	time   time.Duration
	stdin  *os.File
	dir    string // other than the workspace
	quiet  bool   // its output is not kept
	user   int    // who runs it, where root does the testing; 0 is root
}

// start runs burin and ends it where it needs more than l. pid gets the id of its process.
func (b *box) start(t *testing.T, l limits, pid func(int), args ...string) ended {
	t.Helper()
	if l.memory == 0 {
		l.memory = 2 << 30
	}
	if l.time == 0 {
		l.time = 90 * time.Second
	}
	l.time *= time.Duration(the.slow)
	cmd := exec.Command(the.binary, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.ws, b.environment(), time.Second
	if l.dir != "" {
		cmd.Dir = l.dir
	}
	if l.stdin != nil {
		cmd.Stdin = l.stdin
	}
	if l.user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(l.user), Gid: uint32(l.user)}}
	}
	var out, errs bytes.Buffer
	if !l.quiet {
		cmd.Stdout = &out
	}
	cmd.Stderr = &errs
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if pid != nil {
		pid(cmd.Process.Pid)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var e ended
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			e.took, e.out, e.err = time.Since(began), out.String(), errs.String()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				e.code = exit.ExitCode()
			} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
				t.Fatal(err)
			}
			b.quiet()
			return e
		case <-tick.C:
			e.peak = max(e.peak, peak(cmd.Process.Pid))
			switch {
			case e.killed != "":
			case e.peak > l.memory:
				e.killed = fmt.Sprintf("it held %d MB, want less than %d", e.peak>>20, l.memory>>20)
			case time.Since(began) > l.time:
				e.killed = fmt.Sprintf("it did not end in %s", l.time)
			default:
				continue
			}
			_ = cmd.Process.Kill()
		}
	}
}

// quiet waits until no process of the box is left: what burin's commands started ends
// with it, a moment later.
func (b *box) quiet() {
	until(10*time.Second, func() bool {
		found, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range found {
			environ, err := os.ReadFile(path)
			if err == nil && bytes.Contains(environ, []byte("BURIN_HOME="+b.own)) {
				return false
			}
		}
		return true
	})
}

// peak is the most memory that a living process has held, in bytes.
func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// state is what a folder holds: each name with its mode and content.
func state(dir string) map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			all[path] = err.Error()
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		name, _ := filepath.Rel(dir, path)
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, _ := os.ReadFile(path)
			text += " " + string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			text += " -> " + target
		}
		all[name] = text
		return nil
	})
	return all
}

// changed names what differs between two states; empty if nothing does.
func changed(before, after map[string]string) string {
	var all []string
	for name, was := range before {
		if is, ok := after[name]; !ok {
			all = append(all, name+" is gone")
		} else if is != was {
			all = append(all, name+" changed to "+strconv.Quote(clip(is, 80)))
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			all = append(all, name+" was made")
		}
	}
	return strings.Join(all, ", ")
}

// holding lists the files below dir with one of the texts in them.
func holding(dir string, texts ...string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				name, _ := filepath.Rel(dir, path)
				found = append(found, name)
				return nil
			}
		}
		return nil
	})
	return found
}

// until waits for a state, at most for limit, and says whether it came.
func until(limit time.Duration, done func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(limit); !done(); {
		select {
		case <-tick.C:
		case <-deadline:
			return done()
		}
	}
	return true
}

func installed(names ...string) bool {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return false
		}
	}
	return true
}
