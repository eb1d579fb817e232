// Package shell runs commands the way a person at a prompt would: in a shell
// that remembers its folder and variables, with a limit of time and output, in
// the background, or on a terminal of their own.
//
// [Shells] belong to one session. They hold one persistent shell, a real bash or
// sh, which [Shells.Run] gives one command after the other. What a command
// changes in it lasts: the folder, variables, functions, aliases, options (but
// errexit, with which the next failing command would end the shell), and what was
// left running in the background. A command may end that shell: with exit or exec,
// with a failure under "set -e", by a signal, or because its time was up or it was
// cancelled. Then everything that the shell had started is killed, and the next
// command finds a new one in the same folder and with the same exported variables
// as before; the rest is gone, and Outcome.Note says so.
//
// A command that lasts longer than Command.Detach takes the persistent shell along: it goes on as a
// [Job], the next command finds a new shell as above, and the old one ends with the job.
//
// A command has a shell of its own while the persistent one is busy, if it wants
// a terminal, and if it is a [Job]. Such a shell begins with a copy of the folder
// and the exported variables; what the command changes in it does not last, and
// what it leaves in the background ends with it.
//
// A person's own command ([Shells.Own]) has such a shell too, without the sandbox. It may be
// another program than the model's shell: bash, zsh or fish, with what the person's start-up
// files define.
//
// Standard output and standard error are one stream. Standard input is empty, but
// for jobs and terminals. Nothing outlives burin: every program stands under the
// guard of package process.
//
// Where there is neither bash nor sh, or if Options.Shell is "builtin", burin's own
// executable takes their place: see [Main]. That shell knows most of bash; it has
// no job control, and "exit" is all that ends it.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/tool"
)

// Limits of commands.
const (
	DefaultTimeout = 300 * time.Second
	MinTimeout     = time.Second
	MaxTimeout     = 3600 * time.Second

	// MaxLine is how many bytes a command may have. It also fits into one
	// argument of a program.
	MaxLine = 100_000

	// grace is how long a command that was asked to end may take.
	grace = 2 * time.Second
)

// ErrClosed is what everything gives after Close.
var ErrClosed = errors.New("the shells of this session are closed")

// Options of the shells of one session.
type Options struct {
	Dir       string            // where commands start, absolute
	Shell     string            // path of the shell; empty finds bash, then sh; "builtin" is burin's own
	Own       string            // path or name of the shell for Own, zsh and fish too; empty is the shell itself
	Prefix    string            // put before every command, "nice"
	Environ   []string          // what commands inherit, NAME=value; nil is burin's own environment
	Strip     []string          // names of further variables they do not inherit, beside those that [Credential] knows
	Env       map[string]string // added to every command, over the hardening
	Snapshot  bool              // take aliases, functions and options of the user's bash start-up files
	Sandbox   Sandbox           // nil is none; see SetSandbox
	Artifacts tool.Artifacts    // where long output goes; nil: what does not fit is lost, and the notice says so
	Head      int               // bytes of the beginning of an output to give; 0 is 20 KB, negative is none
	Tail      int               // bytes of its end; 0 is 30 KB
	Columns   int               // bytes of a line; 0 is 768, negative is no limit
	MaxJobs   int               // background jobs at a time; 0 is 100
	Changed   func()            // is called when a job has started or ended; it must not call Close
	// Named is told the files that a command names, before the command runs and when
	// one in the foreground has ended. nil is nobody.
	Named func(paths []string)
}

// Sandbox is what package sandbox gives.
type Sandbox interface {
	Encoded() []byte
	Env() []string
	Explain(output string, exitCode int) string
}

// Command is one command.
type Command struct {
	Line    string
	Dir     string            // absolute, for this command only; empty is where the shell is
	Env     map[string]string // for this command only
	Timeout time.Duration     // 0 is 300 s; clamped to 1 s … 3600 s; for a job 0 is none
	TTY     bool              // on a terminal of its own (120x40)
	// Show is given the terminal of a command in the foreground before the command begins, for
	// a person to see and to type into. It returns what takes all that the command writes, as
	// it is, and is closed at its end. Without it nobody sees the terminal.
	Show func(t *Terminal) io.WriteCloser
	// Detach is how long a command in the foreground may take before it goes on as a job; 0 is for
	// ever. As a job its time is limited only if Timeout is set. On a terminal it stays.
	Detach time.Duration
	Label  string // of a job: a few words for people
	Ended  func() // of a job: is called when it has ended, just before Done says so
}

// Outcome is how a command ended.
type Outcome struct {
	Output    tool.Output
	ExitCode  int // -1 if it has none; 128 and the signal if one ended it
	TimedOut  bool
	Cancelled bool
	Denied    string // what the sandbox denied, in words; empty: nothing seen
	Note      string // what happened to the shell, in words; empty: nothing
	Dir       string // where the shell is now
	Elapsed   time.Duration
	Timeout   time.Duration // that applied; 0 is none
	Job       *Job          // as which the command goes on; nil: it has ended. Output is what there was so far
}

// Shells are the shells and jobs of one session. They are safe for concurrent use.
type Shells struct {
	o       Options
	kind    kind
	path    string // of the shell
	person  person
	base    []string      // environment of the first shell
	once    sync.Once     // of Close
	closing chan struct{} // closed by Close
	wg      sync.WaitGroup
	rc      startup

	// The owner of the persistent shell is who set busy. The owner alone uses note,
	// and alone changes shell and confined.
	mu       sync.Mutex
	closed   bool
	busy     bool
	starting chan struct{} // closed when the shell is there that Warm starts; nil: none starts
	shell    *session      // nil: none
	box      Sandbox       // of what starts from now on; nil: none
	confined confinement   // in which shell runs
	note     string        // for the outcome of the next command
	state    state         // where the next shell starts
	jobs     []*Job        // oldest first
	lastJob  int
	reserved int // jobs that are being started
}

// Open prepares them. No process is started yet.
func Open(o Options) (*Shells, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fmt.Errorf("the folder of the shells is not absolute: %q", o.Dir)
	}
	dir, err := folder(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	for name, value := range o.Env {
		if err := checkVariable(name, value); err != nil {
			return nil, err
		}
	}
	if o.MaxJobs <= 0 {
		o.MaxJobs = 100
	}
	k, path, err := find(o.Shell)
	if err != nil {
		return nil, err
	}
	own := person{kind: k, path: path}
	if o.Own != "" && o.Own != o.Shell {
		if own, err = findPerson(o.Own); err != nil {
			return nil, err
		}
	}
	s := &Shells{o: o, kind: k, path: path, person: own, base: environment(o), closing: make(chan struct{})}
	s.state.dir, s.box = dir, o.Sandbox
	s.rc.limit, s.rc.path = startupTime, path
	if k != bash {
		s.rc.path = own.path
	}
	return s, nil
}

// Name is what people call the shell: "bash", "sh", or "builtin".
func (s *Shells) Name() string {
	if s.path == "" {
		return "builtin"
	}
	return strings.TrimSuffix(filepath.Base(s.path), ".exe")
}

// Warm starts the persistent shell in the background, so that the first command
// does not wait for it. It does nothing where the shell begins with the user's
// start-up files: these run only when there is a command.
func (s *Shells) Warm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Snapshot && s.kind == bash || s.closed || s.busy || s.starting != nil || s.shell != nil {
		return
	}
	s.warm()
}

// warm is Warm for callers who hold s.mu and know that there is no shell.
func (s *Shells) warm() {
	started := make(chan struct{})
	s.starting, s.busy = started, true
	s.wg.Go(func() {
		_, _ = s.ready(context.Background()) // the next command tries again and tells of the error
		s.mu.Lock()
		s.starting, s.busy = nil, false
		s.mu.Unlock()
		close(started)
	})
}

// Close kills everything that was started and waits for it. Commands that run
// are cancelled.
func (s *Shells) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		close(s.closing)
		s.mu.Unlock()
		s.wg.Wait()
		if s.shell != nil {
			s.shell.close()
		}
	})
	return nil
}

// enter counts the caller among what Close waits for; it calls s.wg.Done when it
// is done.
func (s *Shells) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.wg.Add(1)
	return nil
}
