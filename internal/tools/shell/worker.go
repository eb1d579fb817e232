package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Worker is a job that isn't a command: a sub-agent in the background.
type Worker interface {
	ID() string
	About() string // one line that says what it does
	State() string // how far it is, such as "running for 12s, 3 requests"
	// Follow says that a call waits for the result until leave is called: meanwhile, the model
	// doesn't get it in any other way. done is closed when there is one.
	Follow() (done <-chan struct{}, leave func())
	// Await says that a call waits for the first of the workers with those ids, this one among them,
	// until leave is called: so none of them waits for the session that waits for it.
	Await(ids []string) (leave func())
	// Take returns the result of a worker that is followed and has ended. The model gets it once.
	Take() (text string, failed bool)
	// Kill ends the worker and all it started, and returns when they have ended.
	Kill(ctx context.Context) error
}

// worker finds one of the workers.
func (s *commands) worker(id string) Worker {
	for _, w := range s.workers() {
		if strings.EqualFold(w.ID(), id) {
			return w
		}
	}
	return nil
}

func (s *commands) workers() []Worker {
	if s.Workers == nil {
		return nil
	}
	return s.Workers()
}

// either finds the job with that id, a command or a worker, or says which there are.
func (s *commands) either(id string) (*shell.Job, Worker, error) {
	if w := s.worker(id); w != nil {
		return nil, w, nil
	}
	j, err := s.job(id)
	return j, nil, err
}

const (
	maxPolled = 32       // jobs of one job_poll
	maxShown  = 50 << 10 // bytes of results of several jobs
)

// polled is one of several jobs that a call waits for.
type polled struct {
	command *shell.Job
	worker  Worker
	done    <-chan struct{}
}

func (p *polled) id() string {
	if p.worker != nil {
		return p.worker.ID()
	}
	return p.command.ID()
}

func (p *polled) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// result is what the model reads of a job. whole asks for all of a command's output.
func (p *polled) result(whole bool) *tool.Result {
	switch {
	case p.worker == nil:
		out := p.command.Output
		if !whole {
			out = p.command.Unread
		}
		return jobResult(p.command, kept(p.command, out()))
	case !p.ended():
		return tool.Text(fmt.Sprintf("[Job %s: %s.]", p.id(), p.worker.State())).WithDetails(bashDetails{Job: p.id()})
	}
	text, failed := p.worker.Take()
	r := tool.Text(text).WithDetails(bashDetails{Job: p.id()})
	r.IsError = failed
	return r
}

// line says in one line how far a job is.
func (p *polled) line() string {
	if p.worker != nil {
		return fmt.Sprintf("[Job %s: %s.]", p.id(), p.worker.State())
	}
	return fmt.Sprintf("[Job %s: %s.]", p.id(), state(p.command))
}

// follow finds the jobs that a call names, and follows them until leave is called.
func (s *commands) follow(names string) (all []polled, leave func(), err error) {
	var ends []func()
	leave = func() {
		for _, end := range ends {
			end()
		}
	}
	ids := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case len(ids) == 0:
		return nil, leave, errors.New("job is empty: name the job")
	case len(ids) > maxPolled:
		return nil, leave, fmt.Errorf("%d jobs in one call, at most %d", len(ids), maxPolled)
	}
	for _, id := range ids {
		j, w, err := s.either(id)
		if err != nil {
			leave()
			return nil, func() {}, err
		}
		p := polled{command: j, worker: w}
		if w == nil {
			p.done = j.Done()
		} else {
			var end func()
			p.done, end = w.Follow()
			ends = append(ends, end)
		}
		if !slices.ContainsFunc(all, func(o polled) bool { return o.id() == p.id() }) {
			all = append(all, p)
		}
	}
	return all, leave, nil
}

// waitFirst waits until the first of the jobs has ended, or the time is over.
func waitFirst(ctx context.Context, all []polled, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	defer await(all)()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errWaited)
	defer cancel()
	first := make(chan struct{}, len(all))
	for _, p := range all {
		go func() {
			select {
			case <-p.done:
				first <- struct{}{}
			case <-ctx.Done():
			}
		}()
	}
	select {
	case <-first:
		return nil
	case <-ctx.Done():
		if err := context.Cause(ctx); !errors.Is(err, errWaited) {
			return err
		}
		return nil
	}
}

// await tells the workers that a call waits for them, unless it may end by another job.
func await(all []polled) (leave func()) {
	var ids []string
	for i := range all {
		if all[i].worker == nil || all[i].ended() {
			return func() {}
		}
		ids = append(ids, all[i].id())
	}
	return all[0].worker.Await(ids)
}

var errWaited = errors.New("the time to wait is over")

// pollResult is what the model reads of jobs: of several, the results of those that have ended, and
// a line about each of the others.
func pollResult(all []polled, whole bool) *tool.Result {
	if len(all) == 1 {
		return all[0].result(whole)
	}
	r := &tool.Result{}
	shown := 0
	var lines []string
	for i := range all {
		p := &all[i]
		if !p.ended() {
			lines = append(lines, p.line())
			continue
		}
		if shown >= maxShown {
			lines = append(lines, p.line()+" Poll it for its result.")
			continue
		}
		one := p.result(whole)
		for _, block := range one.Content {
			if t, ok := block.(llm.Text); ok {
				shown += len(t.Text)
			}
		}
		r.Content = append(r.Content, one.Content...)
		r.IsError = r.IsError || one.IsError
	}
	if len(lines) > 0 {
		r.Content = append(r.Content, tool.Text(strings.Join(lines, "\n")).Content...)
	}
	return r
}

// list names all jobs of the session.
func (s *commands) list() string {
	var b strings.Builder
	for _, j := range s.Shells.Jobs() {
		fmt.Fprintf(&b, "%s  %s  %s\n", j.ID(), state(j), prose.Short(j.Command().Line, 100))
	}
	for _, w := range s.workers() {
		fmt.Fprintf(&b, "%s  %s  %s\n", w.ID(), w.State(), prose.Short(w.About(), 100))
	}
	if b.Len() == 0 {
		return "No jobs."
	}
	return b.String()
}

// killWorker ends a worker, and gives what it had to say.
func killWorker(ctx context.Context, w Worker) (*tool.Result, error) {
	done, leave := w.Follow()
	defer leave()
	if err := w.Kill(ctx); err != nil {
		return nil, fmt.Errorf("job %s: %w", w.ID(), err)
	}
	p := polled{worker: w, done: done}
	r := p.result(false)
	r.IsError = false
	return r, nil
}

// aboutJobs is a description, which names agents only where jobs can be agents.
func (s *commands) aboutJobs(description string) string {
	if s.Workers == nil {
		return description
	}
	description = strings.Replace(description, "the commands in the background", "the commands and agents in the background", 1)
	return strings.Replace(description, "whether it still runs.", "whether it still runs; of an agent, its result.", 1)
}
