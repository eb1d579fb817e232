package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
)

// session is a persistent shell.
type session struct {
	kind    kind
	prog    *program
	in      *os.File
	reports *os.File
	ready   chan struct{}  // closed with the first report
	wg      sync.WaitGroup // of send

	reported chan struct{} // closed after the last report
	said     string        // what the shell said instead of a report; set before reported is closed

	mu   sync.Mutex
	cur  *sessionTask // nil: no command runs
	late late         // what was written while none ran
	dead bool
	code int // of the dead shell
}

// sessionTask is a command in a session.
type sessionTask struct {
	s          *session
	out        *capture
	token      string
	begin, end splitter
	begun      bool // the output is that of the command
	// The command has ended when its report and its mark have come, or the shell
	// has ended.
	reported, marked bool
	res              result
	done             chan struct{}
}

type sessionOptions struct {
	kind    kind
	path    string
	dir     string
	startup string // evaluated first, silently
	policy  []byte
	env     []string
}

// startTime is how long a shell may take to start.
const startTime = 20 * time.Second

// startSession starts a shell and waits until it can take commands.
func startSession(ctx context.Context, closing <-chan struct{}, o sessionOptions) (*session, error) {
	files, err := pipes(3)
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	in, out, reports := files[0], files[1], files[2]
	s := &session{kind: o.kind, in: in.w, reports: reports.r, ready: make(chan struct{}), reported: make(chan struct{})}
	l := launch{
		path:    o.path,
		options: process.Options{Dir: o.dir, Env: o.env, Sandbox: o.policy},
		stdin:   in.r, stdout: out.w, stderr: reports.w, out: out.r,
		to: s, after: s.end,
	}
	text := prologue + hello(newToken())
	if o.startup != "" {
		text = `\command eval ` + o.kind.quote(o.startup) + " </dev/null >/dev/null 2>&1\n" + text
	}
	switch o.kind {
	case bash:
		l.args = []string{"--norc", "--noprofile", "-c", loopBash, "bash"}
	case builtin:
		l.args = []string{interpreterName}
		text = "" // it reports unasked
	}
	if s.prog, err = start(l); err != nil {
		closeAll(in.w, reports.r)
		return nil, fmt.Errorf("start the shell %s: %w", o.kind.describe(o.path), err)
	}
	go s.readReports()
	s.send(text)
	if err := s.await(ctx, closing); err != nil {
		s.close()
		return nil, fmt.Errorf("the shell %s does not start: %w", o.kind.describe(o.path), err)
	}
	return s, nil
}

// await waits until the shell is ready, or says why it is not.
func (s *session) await(ctx context.Context, closing <-chan struct{}) error {
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case <-s.ready:
		return nil
	case <-s.prog.ended:
		if said := strings.TrimSpace(s.said); said != "" {
			return errors.New(said)
		}
		return fmt.Errorf("it ends with code %d", s.prog.code)
	case <-ctx.Done():
		return ctx.Err()
	case <-closing:
		return ErrClosed
	case <-timer.C:
		return fmt.Errorf("it is not there after %s", startTime)
	}
}

// send passes text to the shell. If the shell does not read it, it is killed
// sometime, and then the write ends.
func (s *session) send(text string) {
	s.wg.Go(func() { _, _ = s.in.WriteString(s.kind.wire(text)) })
}

func (s *session) alive() bool {
	select {
	case <-s.reported:
		return false
	default:
		return !s.prog.over()
	}
}

func (s *session) close() {
	s.prog.kill()
	<-s.prog.ended
	s.wg.Wait()
}

// begin runs r. No other command runs.
func (s *session) begin(r request, out *capture) task {
	token := newToken()
	t := &sessionTask{
		s: s, out: out, token: token, done: make(chan struct{}),
		begin: splitter{mark: beginMark(token)}, end: splitter{mark: endMark(token)},
	}
	s.mu.Lock()
	s.cur = t
	if s.dead {
		t.shellEnded()
	}
	s.mu.Unlock()
	s.send(s.kind.frame(r, token))
	return t
}

// Write takes what comes out of the shell.
func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	t := s.cur
	if t != nil && !t.begun {
		var before []byte
		before, p, t.begun = t.begin.split(p)
		s.late.add(before)
		if !t.begun {
			return n, nil
		}
		s.late.flush(t.out)
	}
	if t != nil && !t.marked {
		var before []byte
		before, p, t.marked = t.end.split(p)
		_, _ = t.out.Write(before)
		if !t.marked {
			return n, nil
		}
		t.finish()
	}
	s.late.add(p)
	return n, nil
}

// readReports takes the reports of the shell. They end when the shell does, or
// becomes another program with exec, which then runs to its end. One that cannot
// be read, or that nobody waits for, means that something else writes there: that
// is the end of this shell.
func (s *session) readReports() {
	defer close(s.reported)
	r := bufio.NewReaderSize(s.reports, 16<<10)
	for first := true; ; first = false {
		m, err := readMessage(r)
		if err == nil && first {
			close(s.ready)
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			s.said = m.token
			return
		}
		if err != nil || !s.take(m) {
			s.prog.kill()
			return
		}
	}
}

// take gives a report to the command it tells of.
func (s *session) take(m message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.cur
	if t == nil || t.token != m.token || t.reported {
		return false
	}
	t.reported = true
	t.res = result{code: m.code, state: state{dir: m.dir, exports: m.exports}}
	t.finish()
	return true
}

// end is called when the shell p and its output have ended.
func (s *session) end(p *program) {
	s.in.Close()
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-s.reported:
	case <-timer.C:
	}
	s.reports.Close()
	<-s.reported
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead, s.code = true, p.code
	if t := s.cur; t != nil {
		t.shellEnded()
	}
}

// shellEnded ends the task with its shell. The caller holds s.mu.
func (t *sessionTask) shellEnded() {
	s := t.s
	if !t.begun {
		s.late.add(t.begin.held)
		s.late.flush(t.out)
	}
	_, _ = t.out.Write(t.end.held)
	t.res = result{code: s.code, ended: true, unrun: !t.begun}
	t.reported, t.marked = true, true
	t.finish()
}

// finish ends the task if all is there that tells of its end. The caller holds
// s.mu.
func (t *sessionTask) finish() {
	if t.reported && t.marked {
		t.s.cur = nil
		close(t.done)
	}
}

func (t *sessionTask) finished() <-chan struct{} { return t.done }
func (t *sessionTask) terminate()                { t.s.prog.terminate() }
func (t *sessionTask) kill()                     { t.s.prog.kill() }
func (t *sessionTask) result() result            { return t.res }
