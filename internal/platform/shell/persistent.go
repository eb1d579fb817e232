package shell

import (
	"bytes"
	"context"
	"fmt"
)

// Notes on what became of the persistent shell. %s is its folder.
const (
	noteEnded  = "The shell ended with this command; a new one takes its place in %s, " + asBefore
	noteKilled = "The shell was killed with all it had started; a new one takes its place in %s, " + asBefore
	noteLeft   = "The shell went to the background with this command; a new one takes its place in %s, " + asBefore
	asBefore   = "with the exported variables from before this command. " + goneWithIt
	noteDied   = "The shell had ended since the last command; this one ran in a new shell with the same folder and exported variables. " + goneWithIt
	notePolicy = "The sandbox has changed; this command ran in a new shell with the same folder and exported variables. " + goneWithIt
	goneWithIt = "Functions, aliases, options, other variables and background processes are gone."
)

// take makes the caller the owner of the persistent shell. It waits while the
// shell starts, and gives false while another command runs in it. The owner calls
// release, or settle.
func (s *Shells) take(ctx context.Context) (bool, error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s.mu.Lock()
		started, busy := s.starting, s.busy
		switch {
		case s.closed:
			s.mu.Unlock()
			return false, ErrClosed
		case !busy:
			s.busy = true
			s.mu.Unlock()
			return true, nil
		}
		s.mu.Unlock()
		if started == nil {
			return false, nil
		}
		select {
		case <-started:
		case <-ctx.Done():
		case <-s.closing:
		}
	}
}

func (s *Shells) release() {
	s.mu.Lock()
	s.busy = false
	s.mu.Unlock()
}

// ready gives the owner a shell that can take a command, and starts one if there
// is none.
func (s *Shells) ready(ctx context.Context) (*session, error) {
	conf := s.confinement()
	if p := s.shell; p != nil {
		switch {
		case !p.alive():
			s.tell(noteDied)
		case !bytes.Equal(conf.policy, s.confined.policy):
			s.tell(notePolicy)
		default:
			return p, nil
		}
		p.close()
		s.put(nil, confinement{})
	}
	p, err := s.startPersistent(ctx, conf)
	if err != nil {
		return nil, err
	}
	s.put(p, conf)
	return p, nil
}

func (s *Shells) startPersistent(ctx context.Context, conf confinement) (*session, error) {
	st := s.current()
	if !isDir(st.dir) {
		st.dir = s.o.Dir // place tells the next command
	}
	rc, err := s.startupText(ctx, s.kind)
	if err != nil {
		return nil, err
	}
	return startSession(ctx, s.closing, sessionOptions{
		kind: s.kind, path: s.path, dir: st.dir, startup: rc,
		policy: conf.policy, env: s.shellEnv(st, conf),
	})
}

// put sets the persistent shell, which Warm looks at too.
func (s *Shells) put(p *session, conf confinement) {
	s.mu.Lock()
	s.shell, s.confined = p, conf
	s.mu.Unlock()
}

// current is where a shell would begin that starts now.
func (s *Shells) current() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// tell adds to the note of the next outcome.
func (s *Shells) tell(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if s.note != "" {
		note = s.note + " " + note
	}
	s.note = note
}

// place gives r its folder. If the one that the shell was in is gone, the shell
// goes to where it was before, or else to where it began; and a command that was
// meant for the old one is not run, because it might remove the wrong files.
func (s *Shells) place(r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := &s.state; st.lost || !isDir(st.dir) {
		if !isDir(st.dir) {
			st.dir = s.o.Dir
		}
		if !isDir(st.dir) {
			return fmt.Errorf("the folder of the shell is gone, and so is %s", st.dir)
		}
		st.lost, st.away = false, true
		if r.dir == "" {
			return fmt.Errorf("the folder that the shell was in is gone, so the command was not run; the shell is in %s now", st.dir)
		}
	}
	r.back = s.state.dir
	if s.state.away {
		r.move = s.state.dir
	}
	return nil
}

// settle takes over what a command left of the shell p, starts a new one if that
// is nothing, and gives the shell back.
func (s *Shells) settle(p *session, r result, o *Outcome) {
	stopped := o.TimedOut || o.Cancelled
	gone := stopped || r.ended || !p.alive()
	if gone {
		p.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case stopped:
		s.tell(noteKilled, s.state.dir)
	case r.ended:
		s.tell(noteEnded, s.state.dir)
	default:
		r.state.sandbox = s.confined.env
		s.state = s.state.after(r.state)
	}
	o.Note, s.note = s.note, ""
	o.Dir = s.state.dir
	s.busy = false
	if !gone {
		return
	}
	if !stopped && !r.ended { // just after the command
		s.tell(noteDied)
	}
	s.shell = nil
	if !s.closed {
		s.warm()
	}
}
