package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// request is a command that has been checked.
type request struct {
	line string
	dir  string   // absolute, for this command; empty: where the shell is
	move string   // where the shell goes first, for good; empty: nowhere
	back string   // where the shell was
	env  []string // NAME=value, for this command
}

// task is a command that runs in some shell.
type task interface {
	// finished is closed when the command has ended and all its output was written.
	finished() <-chan struct{}
	terminate() // asks it to end, with all it started
	kill()      // ends it
	result() result
}

// result is how a task ended. It is read after finished.
type result struct {
	code  int
	state state // the shell's, if it still runs
	ended bool  // the shell has ended with the command
	unrun bool  // it ended before the command began
}

// Run runs a command to its end in the session's shell, or in a shell of its own
// while that one is busy. Output is passed to onOutput as it comes (at most every
// 50 ms), cleaned of control sequences; what comes faster than 32 KB in that time
// is cut, and says so. onOutput may be nil; it is never called twice at a time nor
// after Run returned. An error means that the command did not start; time-outs and
// cancellation are outcomes. A command that takes longer than c.Detach goes on as a job,
// which the outcome names.
func (s *Shells) Run(ctx context.Context, c Command, onOutput func(string)) (*Outcome, error) {
	r, err := s.check(c)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.wg.Done()
	named := s.named(c)
	defer named()
	timeout := clamp(c.Timeout)
	taken := false
	if !c.TTY {
		if taken, err = s.take(ctx); err != nil {
			return nil, err
		}
	}
	if taken {
		return s.runHere(ctx, r, c, onOutput)
	}
	if c.Show != nil && c.Timeout == 0 {
		timeout = MaxTimeout // a person takes their time
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.runApart(ctx, r, c, apartOptions{tty: c.TTY, show: c.Show, stop: cancel}, timeout, onOutput)
}

// runHere runs r, the request of c, in the persistent shell, which the caller has taken.
func (s *Shells) runHere(ctx context.Context, r request, c Command, onOutput func(string)) (*Outcome, error) {
	p, err := s.ready(ctx)
	if err != nil {
		s.release()
		return nil, err
	}
	if err := s.place(&r); err != nil {
		s.release()
		return nil, err
	}
	box := s.confined.box // of this command, whatever is set meanwhile
	out := s.capture(onOutput)
	o := &Outcome{Timeout: clamp(c.Timeout)}
	after := s.patience(c, out)
	start := time.Now()
	t := p.begin(r, out)
	if s.lasts(ctx.Done(), t, after) {
		return s.detachShell(p, &Job{command: c, out: out, task: t, box: box, started: start}), nil
	}
	s.supervise(ctx.Done(), t, o, start)
	if t.result().unrun && !o.TimedOut && !o.Cancelled {
		// What an earlier command left behind has ended the shell as it read this one.
		if next, err := s.ready(ctx); err == nil {
			box = s.confined.box
			p, t = next, next.begin(r, out)
			s.supervise(ctx.Done(), t, o, start)
		}
	}
	o.Elapsed = time.Since(start)
	s.settle(p, t.result(), o)
	conclude(o, t.result(), out, box)
	return o, nil
}

// runApart runs r, the request of c, in a shell of its own.
func (s *Shells) runApart(ctx context.Context, r request, c Command, apart apartOptions, timeout time.Duration, onOutput func(string)) (*Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := s.capture(onOutput)
	after := s.patience(c, out)
	start := time.Now()
	t, err := s.apart(ctx, r, out, apart)
	if err != nil {
		if after > 0 {
			s.addJob(nil)
		}
		out.close()
		return nil, err
	}
	if s.lasts(ctx.Done(), t, after) {
		return s.detach(&Job{command: c, out: out, task: t, box: t.box, started: start}), nil
	}
	o := &Outcome{Timeout: timeout}
	s.supervise(ctx.Done(), t, o, start)
	o.Elapsed = time.Since(start)
	o.Dir = s.current().dir
	conclude(o, t.result(), out, t.box)
	return o, nil
}

// supervise waits until t has ended, which began at start, and ends it when stop is closed,
// its time is up or the shells are closed.
func (s *Shells) supervise(stop <-chan struct{}, t task, o *Outcome, start time.Time) {
	var expired <-chan time.Time
	if o.Timeout > 0 {
		timer := time.NewTimer(o.Timeout - time.Since(start))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-t.finished():
		return
	case <-s.closing:
		o.Cancelled = true
		t.kill()
		<-t.finished()
		return
	case <-stop:
		o.Cancelled = true
	case <-expired:
		o.TimedOut = true
	}
	t.terminate()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-t.finished():
		return
	case <-timer.C:
	case <-s.closing:
	}
	t.kill()
	<-t.finished()
}

// conclude completes o with what the command wrote and how it ended in its sandbox.
func conclude(o *Outcome, r result, out *capture, box Sandbox) {
	o.ExitCode = r.code
	if o.TimedOut || o.Cancelled {
		o.ExitCode = -1
	}
	out.close()
	o.Output = out.sink.Output()
	if box != nil {
		end := o.Output.Text
		end = end[max(len(end)-explained, 0):]
		o.Denied = box.Explain(strings.ToValidUTF8(end, ""), o.ExitCode)
	}
}

// explained is how much of the end of an output the sandbox looks at.
const explained = 4 << 10

// check makes a request of c, or says what is wrong with it.
func (s *Shells) check(c Command) (request, error) {
	r := request{line: c.Line}
	if s.o.Prefix != "" {
		r.line = s.o.Prefix + " " + c.Line
	}
	if len(r.line) > MaxLine {
		return r, fmt.Errorf("the command has %d bytes, at most %d are possible: write it into a file and run that", len(r.line), MaxLine)
	}
	if strings.ContainsRune(r.line, 0) {
		return r, errors.New("the command contains a NUL byte")
	}
	for name, value := range c.Env {
		if err := checkVariable(name, value); err != nil {
			return r, err
		}
		r.env = append(r.env, name+"="+value)
	}
	slices.Sort(r.env)
	if c.Dir == "" {
		return r, nil
	}
	if !filepath.IsAbs(c.Dir) {
		return r, fmt.Errorf("the working directory is not absolute: %q", c.Dir)
	}
	dir, err := folder(c.Dir)
	r.dir = dir
	return r, err
}

// folder is the folder at path, without links, so that a shell's idea of where it
// is agrees with that of the programs it starts.
func folder(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("the name of the working directory contains a NUL byte: %q", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the working directory does not exist: %s", path)
	}
	if err != nil {
		return "", fmt.Errorf("the working directory cannot be used: %w", err)
	}
	if !isDir(real) {
		return "", fmt.Errorf("the working directory is not a directory: %s", path)
	}
	return real, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// clamp is the time-out that applies where d is asked for.
func clamp(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultTimeout
	}
	return min(max(d, MinTimeout), MaxTimeout)
}
