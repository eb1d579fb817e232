package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
)

// maxAside is how many bytes of each output of an [Aside] are kept.
const maxAside = 1 << 20

// Aside is a command that runs beside those of the model, such as a hook: it has an input
// of its own and two outputs, starts in the folder where the shells started, and leaves the
// shells as they are.
type Aside struct {
	Line    string
	Input   []byte
	Env     []string      // NAME=value, added
	Dir     string        // where it runs; "" is the folder of the session
	Timeout time.Duration // required
	// Unconfined runs it without the sandbox of the model's commands.
	Unconfined bool
}

// AsideOutcome is how one ended. Of longer outputs the first megabyte is there.
type AsideOutcome struct {
	Stdout, Stderr string
	ExitCode       int // -1 if it has none; 128 and the signal if one ended it
	TimedOut       bool
}

// Aside runs a command to its end, or until its time is up or ctx ends; what it started is
// killed then.
func (s *Shells) Aside(ctx context.Context, a Aside) (AsideOutcome, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return AsideOutcome{}, ErrClosed
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	ctx, stop := context.WithTimeout(ctx, a.Timeout)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	s.wg.Go(func() {
		select {
		case <-s.closing:
			stop()
		case <-ended:
		}
	})
	var conf confinement
	if !a.Unconfined {
		conf = s.confinement()
	}
	cmd, err := process.CommandContext(ctx, process.Options{
		Dir: cmp.Or(a.Dir, s.o.Dir), Env: slices.Concat(s.base, conf.env, a.Env), Sandbox: conf.policy,
	}, s.path, s.kind.script(a.Line)...)
	if err != nil {
		return AsideOutcome{}, fmt.Errorf("start %s: %w", s.kind.describe(s.path), err)
	}
	var stdout, stderr head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(a.Input), &stdout, &stderr
	cmd.WaitDelay = drain
	if err := cmd.Start(); err != nil {
		select {
		case <-s.closing: // that is why
			return AsideOutcome{}, ErrClosed
		default:
		}
		return AsideOutcome{}, fmt.Errorf("start %s: %w", s.kind.describe(s.path), err)
	}
	_ = cmd.Wait() // its error is the exit code again, or that nobody read the input
	return AsideOutcome{
		Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: exitCode(cmd.ProcessState),
		TimedOut: errors.Is(ctx.Err(), context.DeadlineExceeded),
	}, nil
}

// head keeps the beginning of what is written to it.
type head struct{ kept bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:min(len(p), max(0, maxAside-h.kept.Len()))])
	return len(p), nil
}

func (h *head) String() string { return h.kept.String() }
