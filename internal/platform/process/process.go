// Package process starts programs that do not outlive burin.
//
// [Command] gives an ordinary [exec.Cmd]. What it starts is not the program but a
// guard: burin's own executable once more, which [Main] recognizes before anything
// else happens. The guard starts the program, adopts whatever the program and its
// children leave behind, and ends with the program's exit code or by the signal
// that ended it, so that Wait tells what it would tell without a guard.
//
//	burin ── guard ── program ── …
//
// Promises:
//
//   - When burin ends, by kill -9 too, the guard kills the program and everything
//     it started, also what went to a session of its own or was forked twice.
//   - The same happens on [Kill], and when the program itself ends: what it left
//     in the background ends with it. Something that shall keep running belongs in
//     a program that stays, such as a shell. After Wait nothing is left.
//   - The program leads a session and process group of its own. It has no
//     controlling terminal, and so cannot ask for a password on burin's, unless
//     Options.TTY gives it one.
//
// Linux keeps them whole: the guard is a child subreaper. Elsewhere under Unix a
// process that left the program's session and whose parents have ended is not
// found. Windows has job objects. Two things can undo a guard: a signal that
// kills the guard itself (the program dies with it then, its children may stay;
// a sandboxed program cannot send one on Linux 6.12 and later), and children that
// run as another user, whom the guard may not kill. It gives up on those when
// nothing has died for ten seconds.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// marker is the argv[0] of guards. An environment variable could come from a
// file of a repository; argv[0] is set by whoever calls exec. It does not hold
// burin's name: killing all burins by name shall leave the guards to their work.
const marker = "(guard)"

// Options of a guarded program.
type Options struct {
	Dir     string   // where it starts; empty is burin's own folder
	Env     []string // complete; nil is burin's own
	Sandbox []byte   // encoded policy of package sandbox, under 100 KB; nil is none

	// ExtraFiles become descriptors 3, 4, … of the program. Not on Windows.
	ExtraFiles []*os.File

	// TTY makes standard input the program's controlling terminal. Set Stdin (and
	// the other streams) to the terminal's slave side. Not on Windows.
	TTY bool
}

// maxPolicy bounds an encoded policy: it travels as one argument, of which Linux
// allows 128 KB.
const maxPolicy = 100_000

// Main runs the guard if this process was started as one, and then does not
// return. It is the first call of main, and of TestMain in packages that start
// guarded programs.
func Main() {
	if g, ok := parseGuard(os.Args); ok {
		os.Exit(g.run())
	}
}

// Command prepares name to run under a guard: when burin ends, however it ends,
// or Kill is called, the program and all it started are killed. Streams are set
// by the caller on the Cmd; nothing else on it may be changed. The Process of the
// Cmd is the guard: end it with [Kill], never with its own Kill, which would leave
// the program's children alive.
func Command(o Options, name string, args ...string) (*exec.Cmd, error) {
	return CommandContext(context.Background(), o, name, args...)
}

// CommandContext is like Command, and calls Kill when ctx ends.
func CommandContext(ctx context.Context, o Options, name string, args ...string) (*exec.Cmd, error) {
	if len(os.Args) > 0 && os.Args[0] == marker {
		return nil, errors.New("start program: this is a guard whose main did not call process.Main")
	}
	if len(o.Sandbox) > maxPolicy {
		return nil, fmt.Errorf("start %s: the sandbox policy has %d bytes, more than %d", name, len(o.Sandbox), maxPolicy)
	}
	path := name
	if filepath.Base(name) == name {
		found, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("start program: %w", err)
		}
		path = found
	}
	g := guard{
		parent:  os.Getpid(),
		extra:   len(o.ExtraFiles),
		tty:     o.TTY,
		sandbox: o.Sandbox,
		path:    path,
		args:    append([]string{name}, args...),
	}
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("start %s: find burin's executable: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = g.command()
	cmd.Dir = o.Dir
	cmd.Env = o.Env
	cmd.ExtraFiles = o.ExtraFiles
	cmd.Cancel = func() error { Kill(cmd); return nil }
	return cmd, prepare(cmd, o)
}

// guard is what a guard has to do.
type guard struct {
	parent  int // burin's process id
	extra   int // descriptors beyond the standard three
	tty     bool
	sandbox []byte
	path    string   // of the program
	args    []string // of the program, its name first
}

// command is the command line that parseGuard reads.
func (g guard) command() []string {
	return append([]string{
		marker, strconv.Itoa(g.parent), strconv.Itoa(g.extra), strconv.FormatBool(g.tty), string(g.sandbox), g.path,
	}, g.args...)
}

func parseGuard(args []string) (g guard, ok bool) {
	if len(args) < 7 || args[0] != marker {
		return guard{}, false
	}
	var errs [3]error
	g.parent, errs[0] = strconv.Atoi(args[1])
	g.extra, errs[1] = strconv.Atoi(args[2])
	g.tty, errs[2] = strconv.ParseBool(args[3])
	g.sandbox, g.path, g.args = []byte(args[4]), args[5], args[6:]
	return g, errors.Join(errs[:]...) == nil && g.extra >= 0
}
