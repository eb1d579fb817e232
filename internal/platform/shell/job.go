package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

const (
	// keptJobs is how many jobs that have ended are remembered.
	keptJobs = 100

	// inputTime is how long a command may leave its input unread.
	inputTime = 5 * time.Second
)

// Job is a command in the background. It is safe for concurrent use.
type Job struct {
	id      string
	command Command
	started time.Time
	out     *capture
	task    task
	in      *os.File      // the writing end of its input; nil: it takes none
	box     Sandbox       // nil: none
	left    func()        // ends what outlives the task; nil: nothing does
	stop    chan struct{} // closed by Kill
	stopped sync.Once
	done    chan struct{}
	outcome *Outcome // set before done is closed
	writing sync.Mutex
	patient time.Duration // for the command to read its input
}

// Start runs a command in the background, in a shell of its own. It gets input
// from Job.Write. Its time is limited only if c.Timeout is set.
func (s *Shells) Start(c Command) (*Job, error) {
	r, err := s.check(c)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	if err := s.reserveJob(); err != nil {
		s.wg.Done()
		return nil, err
	}
	s.named(c)
	out := s.capture(nil)
	out.news = newNews()
	apart, err := s.apart(context.Background(), r, out, apartOptions{tty: c.TTY, input: true})
	if err != nil {
		out.close()
		s.addJob(nil)
		s.wg.Done()
		return nil, err
	}
	j := &Job{command: c, out: out, task: apart, in: apart.in, box: apart.box, started: time.Now()}
	s.goOn(j)
	return j, nil
}

// goOn makes j one of the jobs. The caller has reserved its room, and has counted it among what Close
// waits for.
func (s *Shells) goOn(j *Job) {
	j.stop, j.done, j.patient = make(chan struct{}), make(chan struct{}), inputTime
	s.addJob(j)
	s.changed()
	go func() {
		defer s.wg.Done()
		s.follow(j)
	}()
}

// reserveJob makes room for one more job, or says why there is none. addJob takes
// the room.
func (s *Shells) reserveJob() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var running []string
	for _, j := range s.jobs {
		if j.Outcome() == nil {
			running = append(running, j.id+" ("+j.label()+")")
		}
	}
	if len(running)+s.reserved >= s.o.MaxJobs {
		const shown = 10
		if more := len(running) - shown; more > 0 {
			running = append(running[:shown], fmt.Sprintf("and %d more", more))
		}
		return fmt.Errorf("%s at a time is the maximum: kill %s first", prose.Count(s.o.MaxJobs, "background job"), strings.Join(running, " or "))
	}
	s.reserved++
	return nil
}

// addJob gives j its id and its place among the jobs. A nil j only gives the
// reserved room back.
func (s *Shells) addJob(j *Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved--
	if j == nil {
		return
	}
	s.lastJob++
	j.id = strconv.Itoa(s.lastJob)
	ended := 0
	for _, old := range s.jobs {
		if old.Outcome() != nil {
			ended++
		}
	}
	s.jobs = slices.DeleteFunc(s.jobs, func(old *Job) bool {
		drop := ended > keptJobs && old.Outcome() != nil
		if drop {
			ended--
		}
		return drop
	})
	s.jobs = append(s.jobs, j)
}

// follow waits for the end of j.
func (s *Shells) follow(j *Job) {
	o := &Outcome{}
	if j.command.Timeout != 0 {
		o.Timeout = clamp(j.command.Timeout)
	}
	s.supervise(j.stop, j.task, o, j.started)
	o.Elapsed = time.Since(j.started)
	o.Dir = s.current().dir
	conclude(o, j.task.result(), j.out, j.box)
	if j.left != nil {
		j.left()
	}
	if j.command.Ended != nil {
		j.command.Ended()
	}
	j.outcome = o
	close(j.done)
	s.changed()
}

// changed tells that a job has started or ended.
func (s *Shells) changed() {
	if s.o.Changed != nil {
		s.o.Changed()
	}
}

// Job gives a job by its id: "1", "2", ….
func (s *Shells) Job(id string) (*Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.jobs, func(j *Job) bool { return j.id == id })
	if i < 0 {
		return nil, false
	}
	return s.jobs[i], true
}

// Jobs are all jobs of the session, oldest first. Of ended ones the last 100 are kept.
func (s *Shells) Jobs() []*Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.jobs)
}

// ID is the number of the job, from "1".
func (j *Job) ID() string { return j.id }

// Command is what was started.
func (j *Job) Command() Command { return j.command }

// Started is when.
func (j *Job) Started() time.Time { return j.started }

// Done is closed when it has ended.
func (j *Job) Done() <-chan struct{} { return j.done }

// Outcome is how it ended; nil while it runs.
func (j *Job) Outcome() *Outcome {
	select {
	case <-j.done:
		return j.outcome
	default:
		return nil
	}
}

// Output is the window on all its output so far.
func (j *Job) Output() tool.Output {
	if o := j.Outcome(); o != nil {
		return o.Output
	}
	return j.out.sink.Output()
}

// Unread is what it wrote since the last call, at most 50 KB of the end.
func (j *Job) Unread() tool.Output { return j.out.news.take(j.Outcome() != nil) }

// Write sends input to the command. It fails if the command has ended or does not
// read it for five seconds.
func (j *Job) Write(b []byte) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	in := j.in
	if in == nil {
		return fmt.Errorf("job %s takes no input", j.id)
	}
	_ = in.SetWriteDeadline(time.Now().Add(j.patient)) // not everywhere; then there is no limit
	n, err := in.Write(b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("job %s does not read its input: %d of %d bytes were written", j.id, n, len(b))
	case j.Outcome() != nil:
		return fmt.Errorf("job %s has ended", j.id)
	case errors.Is(err, os.ErrClosed):
		return fmt.Errorf("the input of job %s is closed", j.id)
	}
	return fmt.Errorf("write to job %s: %w", j.id, err)
}

// Kill ends it and all it started, and returns when it has ended. It gets two
// seconds to end in its own way.
func (j *Job) Kill() {
	j.stopped.Do(func() { close(j.stop) })
	<-j.done
}

// label names the job for people.
func (j *Job) label() string {
	if j.command.Label != "" {
		return j.command.Label
	}
	const most = 40
	line, rest, _ := strings.Cut(strings.TrimSpace(j.command.Line), "\n")
	if short := prose.Cut(line, most); short != line {
		return short
	}
	if rest != "" {
		return line + " …"
	}
	return line
}
