package shell

import "time"

// patience is how long c may run before it becomes a job, whose output out also keeps as news; 0: it
// stays in the foreground. Where it is more, room for one more job is reserved; lasts gives it back.
func (s *Shells) patience(c Command, out *capture) time.Duration {
	// Near its time limit a command rather ends.
	after := min(c.Detach, clamp(c.Timeout)-MinTimeout)
	if after <= 0 || c.TTY || s.reserveJob() != nil {
		return 0
	}
	out.news = newNews()
	return after
}

// lasts waits for t, and reports whether it still runs after that time.
func (s *Shells) lasts(stop <-chan struct{}, t task, after time.Duration) bool {
	if after <= 0 {
		return false
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.finished():
	case <-stop:
	case <-s.closing:
	}
	s.addJob(nil)
	return false
}

// detach has the command of j, which began in the foreground, go on in the background.
func (s *Shells) detach(j *Job) *Outcome {
	if j.out.live != nil {
		j.out.live.close()
	}
	// What comes between these two is shown twice, which is better than never.
	j.out.news.take(false)
	o := &Outcome{Job: j, Output: j.out.sink.Output(), ExitCode: -1, Elapsed: time.Since(j.started), Dir: s.current().dir}
	if j.command.Timeout != 0 {
		o.Timeout = clamp(j.command.Timeout)
	}
	s.wg.Add(1)
	s.goOn(j)
	return o
}

// detachShell is detach for a command that runs in the persistent shell p. The job takes that shell
// along, and the commands to come have another. The caller owns the shell.
func (s *Shells) detachShell(p *session, j *Job) *Outcome {
	j.left = p.close
	o := s.detach(j)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(noteLeft, s.state.dir)
	o.Note, s.note = s.note, ""
	s.shell, s.busy = nil, false
	if !s.closed {
		s.warm()
	}
	return o
}
