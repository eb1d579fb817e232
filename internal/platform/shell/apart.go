package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/burin-dev/burin/internal/platform/process"
)

// Size of terminals, in characters.
const (
	terminalCols, terminalRows = 120, 40
)

// pipe is a pipe.
type pipe struct{ r, w *os.File }

// pipes makes n pipes, or none.
func pipes(n int) ([]pipe, error) {
	all := make([]pipe, 0, n)
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range all {
				closeAll(p.r, p.w)
			}
			return nil, err
		}
		all = append(all, pipe{r, w})
	}
	return all, nil
}

// apartOptions are how a command in a shell of its own differs.
type apartOptions struct {
	tty   bool
	input bool // the command gets input
	show  func(*Terminal) io.WriteCloser
	stop  context.CancelFunc // for show
}

// apart is a command in a shell of its own.
type apart struct {
	*program
	in  *os.File // the writing end of its input; nil: it has none
	tty *os.File // burin's end of its terminal; nil: it has none
	box Sandbox  // nil: none
}

func (a *apart) finished() <-chan struct{} { return a.ended }
func (a *apart) result() result            { return result{code: a.code} }

// apart starts r in a shell of its own, which begins where the persistent one was
// after its last command.
func (s *Shells) apart(ctx context.Context, r request, out *capture, o apartOptions) (*apart, error) {
	if err := s.place(&r); err != nil {
		return nil, err
	}
	st := s.current()
	if r.dir == "" {
		r.dir = st.dir
	}
	conf := s.confinement()
	env := slices.Concat(s.shellEnv(st, conf), r.env)
	if o.show != nil {
		env = s.shown(env)
	}
	rc, err := s.startupText(ctx, s.kind)
	if err != nil {
		return nil, err
	}
	script := r.line
	if rc != "" {
		if both := "eval " + s.kind.quote(rc) + " </dev/null >/dev/null 2>&1\n" + script; len(both)+len(politeEnd) <= maxArgument {
			script = both
		}
	}
	a := &apart{box: conf.box}
	l := launch{
		path: s.path, args: s.kind.script(script), to: out,
		options: process.Options{Dir: r.dir, Env: env, Sandbox: conf.policy, TTY: o.tty},
	}
	if err := a.connect(&l, o); err != nil {
		return nil, fmt.Errorf("start a command: %w", err)
	}
	in := a.in
	var view io.WriteCloser
	if o.show != nil {
		view = o.show(&Terminal{file: a.tty, stop: o.stop})
		l.to = io.MultiWriter(out, view)
	}
	l.after = func(*program) {
		closeAll(in)
		if view != nil {
			_ = view.Close()
		}
	}
	if a.program, err = start(l); err != nil {
		closeAll(in)
		if view != nil {
			_ = view.Close()
		}
		return nil, fmt.Errorf("start the shell %s: %w", s.kind.describe(s.path), err)
	}
	return a, nil
}

// maxArgument is how long one argument of a program may be on Linux.
const maxArgument = 128<<10 - 1

// connect makes the files of the command.
func (a *apart) connect(l *launch, o apartOptions) error {
	if o.tty {
		master, slave, err := openTerminal()
		if err != nil {
			return err
		}
		l.stdin, l.stdout, l.stderr, l.out = slave, slave, slave, master
		a.tty = master
		if o.input {
			a.in = master
		}
		return nil
	}
	n := 1
	if o.input {
		n = 2
	}
	files, err := pipes(n)
	if err != nil {
		return err
	}
	l.out, l.stdout, l.stderr = files[0].r, files[0].w, files[0].w
	if o.input {
		l.stdin, a.in = files[1].r, files[1].w
	}
	return nil
}
