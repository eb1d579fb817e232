package agent

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/burin-dev/burin/tool"
)

// executor runs the calls of one answer. It lives no longer than its contexts.
type executor struct {
	run  *run
	ctx  context.Context         // of the run
	live context.Context         // also ends when the user sends a message or a call ends the run
	stop context.CancelCauseFunc // of live
	err  error                   // what ends the run

	reviewing chan struct{} // has capacity one: AfterTool runs
}

// finished is the result of a call that ran.
type finished struct {
	task    *task
	result  *tool.Result
	err     error
	elapsed time.Duration
	final   bool // the result is what the model reads
}

// answer reports whether a call may run.
type answer struct {
	task   *task
	call   tool.Call    // that runs
	result *tool.Result // instead of running; nil means it runs
	err    error
}

// group runs calls in parallel, started in order, and returns when all have results. Abandoned
// calls never block on the channels.
func (x *executor) group(tasks []*task) {
	done, answers := make(chan finished, 2*len(tasks)), make(chan answer, len(tasks))
	running := map[*task]bool{}
	var asking *task
	var ready *answer // waits until nothing runs, because it must run alone
	alone := false    // the running call must run alone
	live, all := x.live.Done(), x.ctx.Done()
	var patience, end <-chan time.Time
	for next := 0; ; {
		if ready != nil && len(running) == 0 {
			a := *ready
			ready = nil
			if x.begin(a) {
				running[a.task], alone = true, true
				go x.call(a, done)
			}
		}
		alone = alone && len(running) > 0
		for ; asking == nil && ready == nil && !alone && next < len(tasks) && len(running) < maxParallel; next++ {
			if t := tasks[next]; x.announce(t) {
				asking = t
				go func() { answers <- x.permit(t) }()
			}
		}
		if asking == nil && len(running) == 0 {
			return
		}
		select {
		case a := <-answers:
			if a.task != asking {
				continue
			}
			asking = nil
			if len(running) > 0 && x.alone(a) {
				ready = &a
			} else if x.begin(a) {
				running[a.task] = true
				go x.call(a, done)
			}
		case f := <-done:
			if !running[f.task] {
				continue
			}
			if !f.final {
				f.result, f.final = x.outcome(f), x.run.opt.AfterTool == nil
			}
			if !f.final {
				go x.review(f, done)
				continue
			}
			delete(running, f.task)
			x.end(f.task, f.result, f.elapsed)
		case <-live:
			live, patience = nil, time.After(grace)
		case <-all:
			all, end = nil, time.After(grace)
		case <-patience:
			asking = x.giveUp(asking)
			x.abandon(running, func(t *task) bool { return !t.finishes })
		case <-end:
			asking = x.giveUp(asking)
			x.abandon(running, func(*task) bool { return true })
		}
	}
}

// announce emits the start of a call and reports whether it can run. If not, it already has
// its result.
func (x *executor) announce(t *task) bool {
	t.shown.Update = func(r tool.Result) { x.update(t, r) }
	x.run.emit(Event{Type: ToolStart, Call: &t.shown, Label: label(t)})
	switch {
	case x.live.Err() != nil:
		x.skip(t)
	case t.refused != nil:
		x.end(t, failed(t.refused, nil), 0)
	default:
		return true
	}
	return false
}

// permit asks whether the call may run.
func (x *executor) permit(t *task) answer {
	a := answer{task: t, call: t.shown}
	if x.run.opt.BeforeTool == nil {
		return a
	}
	if p := protect(func() { a.result, a.err = x.run.opt.BeforeTool(x.live, t.tool, &a.call) }); p != nil {
		a.err = p
	}
	return a
}

// alone reports whether a call must run alone because its arguments were changed.
func (x *executor) alone(a answer) bool {
	if a.err != nil || a.result != nil || !a.task.together || bytes.Equal(a.call.Arguments, a.task.shown.Arguments) {
		return false
	}
	together := false
	_ = protect(func() { together = a.task.tool.RunsTogether(a.call.Arguments) })
	return !together
}

// begin reports whether a call that was permitted still runs. If not, it already has its
// result.
func (x *executor) begin(a answer) bool {
	switch {
	case errors.Is(a.err, ErrAbort):
		x.abort(a.err)
		x.end(a.task, failed(a.err, nil), 0)
	case x.live.Err() != nil: // while BeforeTool was deciding
		x.skip(a.task)
	case a.err != nil:
		x.end(a.task, failed(a.err, nil), 0)
	case a.result != nil:
		x.end(a.task, a.result, 0)
	default:
		a.task.began = time.Now()
		return true
	}
	return false
}

// giveUp stops waiting for the answer about a call.
func (x *executor) giveUp(asking *task) *task {
	if asking != nil {
		x.skip(asking)
	}
	return nil
}

// call runs the tool. It doesn't touch parts of the task that others change: the task may be
// abandoned before the tool returns.
func (x *executor) call(a answer, done chan<- finished) {
	t, ctx := a.task, x.live
	if t.finishes {
		ctx = x.ctx
	}
	began := t.began
	f := finished{task: t}
	if p := protect(func() { f.result, f.err = t.tool.Run(ctx, a.call) }); p != nil {
		f.result, f.err = nil, p
	}
	f.elapsed = time.Since(began)
	done <- f
}

// outcome returns the result of a call that returned.
func (x *executor) outcome(f finished) *tool.Result {
	r := f.result
	var p *panicked
	switch {
	case f.err == nil && r == nil:
		r = &tool.Result{}
	case f.err == nil:
	case errors.Is(f.err, ErrAbort):
		x.abort(f.err)
		r = failed(f.err, r)
	case x.cancelled(f.task):
		f.task.skipped = true
		more := " The tool says: " + f.err.Error()
		if errors.Is(f.err, x.live.Err()) || errors.Is(f.err, context.Cause(x.live)) {
			more = ""
		}
		r = withText(r, x.interrupted(more))
	case errors.As(f.err, &p):
		r = failed(f.err, nil)
		r.Details = p.details()
	default:
		r = failed(f.err, r)
	}
	return r
}

// review passes a result to AfterTool, outside the loop because it may take long.
func (x *executor) review(f finished, done chan<- finished) {
	x.reviewing <- struct{}{}
	defer func() { <-x.reviewing }()
	var changed *tool.Result
	err := protect(func() { changed = x.run.opt.AfterTool(x.live, f.task.tool, f.task.shown, f.result) })
	switch {
	case err != nil:
		f.result = failed(err, f.result)
	case changed != nil:
		f.result = changed
	}
	f.final = true
	done <- f
}

func (x *executor) cancelled(t *task) bool {
	return x.ctx.Err() != nil || x.live.Err() != nil && !t.finishes
}

// abandon gives up on calls that do not return.
func (x *executor) abandon(running map[*task]bool, which func(*task) bool) {
	for t := range running {
		if which(t) {
			delete(running, t)
			t.skipped = true
			x.end(t, tool.Failure(x.interrupted(" It did not stop within "+grace.String()+" and may still be running.")), time.Since(t.began))
		}
	}
}

// abort ends the run.
func (x *executor) abort(err error) {
	if x.err == nil {
		x.err = err
	}
	x.stop(errEnded)
}

func (x *executor) skip(t *task) {
	t.skipped = true
	text := "Not run: the run was stopped before this call began."
	if errors.Is(context.Cause(x.live), ErrSpoke) {
		text = "Not run: the user sent a message before this call began. Read it first, and call again if that is still right."
	}
	x.end(t, tool.Failure(text), 0)
}

// interrupted is the result of a canceled call.
func (x *executor) interrupted(more string) string {
	text := "Interrupted: the run was stopped while this call was running."
	if x.ctx.Err() == nil && errors.Is(context.Cause(x.live), ErrSpoke) {
		text = "Interrupted: the user sent a message while this call was running."
	}
	return text + " What it had done until then is done." + more
}

// end gives a call its result.
func (x *executor) end(t *task, r *tool.Result, elapsed time.Duration) {
	t.result = bounded(r)
	x.run.emitting.Lock()
	t.ended = true
	x.run.emitting.Unlock()
	x.run.emit(Event{Type: ToolEnd, Call: &t.shown, Label: label(t), Result: t.result, Elapsed: elapsed})
}

// update emits a partial result unless the call has ended.
func (x *executor) update(t *task, r tool.Result) {
	x.run.emitting.Lock()
	defer x.run.emitting.Unlock()
	if !t.ended && x.run.opt.Emit != nil {
		x.run.opt.Emit(Event{Type: ToolUpdate, Call: &t.shown, Label: label(t), Result: &r})
	}
}

func label(t *task) string {
	if t.tool == nil {
		return ""
	}
	return t.tool.Label
}
