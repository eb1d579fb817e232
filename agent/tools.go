package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

const (
	maxCalls    = 256             // calls of one answer that run; the rest are refused
	maxParallel = 8               // calls that run in parallel
	grace       = 2 * time.Second // for a canceled tool to return
)

// Reasons why calls do not run, or do not finish.
var (
	ErrSpoke = errors.New("the user spoke")
	errEnded = errors.New("another call ended the run")

	errTooMany = fmt.Errorf("this call did not run: an answer may have %d calls, and this one has more. "+
		"Look at the results of the first ones, then make those calls that are still needed", maxCalls)
)

// task is one call of an answer on the way to its result.
type task struct {
	call     llm.ToolCall
	shown    tool.Call  // as events and tools see it
	tool     *tool.Tool // nil if there is no tool of that name
	refused  error      // why it can't run
	together bool
	finishes bool // not interrupted when the user sends a message

	began   time.Time // zero if it did not run
	ended   bool      // guarded by Agent.emitting
	result  *tool.Result
	skipped bool // by the user or the end of the run; not the model's fault
}

// execute runs the calls of an answer. Neighbors that may run in parallel do; the others run
// one after the other. Every call gets a result. The error is the one that ends the run, if a
// call ends it.
func (r *run) execute(ctx context.Context, m *llm.Message, calls []llm.ToolCall) (results []llm.Message, err error) {
	tasks := make([]*task, len(calls))
	for i, c := range calls {
		if i < maxCalls {
			tasks[i] = r.prepare(m, c)
			continue
		}
		// Looks up and checks nothing, and the guard doesn't count it as a failure of this
		// call.
		tasks[i] = &task{call: c, shown: tool.Call{ID: c.ID, Name: c.Name}, together: true, refused: errTooMany, skipped: true}
	}
	r.guard.final = false
	live, stop := r.interruptible(ctx)
	defer stop(nil)
	x := executor{run: r, ctx: ctx, live: live, stop: stop, reviewing: make(chan struct{}, 1)}
	for from := 0; from < len(tasks); {
		to := from + 1
		for tasks[from].together && to < len(tasks) && tasks[to].together {
			to++
		}
		x.group(tasks[from:to])
		for _, t := range tasks[from:to] {
			results = append(results, r.settle(t))
		}
		from = to
	}
	return results, x.err
}

// interruptible returns the context of calls that end when the user sends a message. The
// caller must call stop.
func (r *run) interruptible(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	live, cancel := context.WithCancelCause(ctx)
	if r.opt.Interrupt == Wait {
		return live, cancel
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt = cancel
	if len(r.steering) > 0 {
		cancel(ErrSpoke)
	}
	return live, func(cause error) {
		if cause == nil {
			r.mu.Lock()
			r.interrupt = nil
			r.mu.Unlock()
		}
		cancel(cause)
	}
}

// prepare finds the tool of a call and validates the arguments.
func (r *run) prepare(m *llm.Message, c llm.ToolCall) *task {
	t := &task{call: c, shown: tool.Call{ID: c.ID, Name: c.Name}, together: true}
	args, state, _ := c.Object()
	t.shown.Arguments = args
	if t.tool, t.refused = r.tools.set.Find(c.Name); t.refused != nil {
		return t
	}
	t.shown.Name = t.tool.Name
	if m.StopReason == llm.StopLength && (c.Defect == llm.DefectCut || state == llm.ArgsPartial) {
		t.refused = fmt.Errorf("%s did not run: the answer reached its token limit inside the arguments. "+
			"Write less at once: several calls, each with a part", t.tool.Name)
		return t
	}
	if args, t.refused = t.tool.Validate(c); t.refused != nil {
		return t
	}
	t.shown.Arguments = args
	t.finishes = t.tool.Effects.Has(tool.Writes) && !t.tool.Effects.Has(tool.Executes)
	err := protect(func() { t.together = t.tool.RunsTogether(args) })
	t.together = t.together && err == nil
	return t
}

// settle makes the result message and adds it to the conversation.
func (r *run) settle(t *task) llm.Message {
	m := llm.Message{
		Role: llm.RoleToolResult, ToolCallID: t.call.ID, ToolName: t.call.Name, Time: time.Now(),
		Content: t.result.Content, IsError: t.result.IsError, Details: t.result.Details,
	}
	r.guard.final = r.guard.final || t.result.Final && !t.result.IsError
	if !t.skipped {
		if advice := r.guard.note(t); advice != "" {
			m.Content = append(m.Content[:len(m.Content):len(m.Content)], llm.Text{Text: advice})
		}
	}
	r.emit(Event{Type: MessageStart, Message: &m})
	r.say(&m, true)
	return m
}

// failed makes a result of an error. It keeps what the tool returned in addition.
func failed(err error, given *tool.Result) *tool.Result {
	return withText(given, "Error: "+err.Error())
}

func withText(given *tool.Result, text string) *tool.Result {
	f := tool.Failure(text)
	if given != nil {
		f.Content = append(given.Content[:len(given.Content):len(given.Content)], f.Content...)
		f.Details = given.Details
	}
	return f
}

// panicked is a panic in a tool.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("the tool failed through a mistake of its own: %v", p.value)
}

// details returns the stack for developers.
func (p *panicked) details() json.RawMessage {
	const most = 4 << 10
	out, _ := json.Marshal(map[string]string{"panic": fmt.Sprint(p.value), "stack": string(p.stack[:min(len(p.stack), most)])})
	return out
}

// protect calls f and turns a panic into an error.
func protect(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// maxResult is the most bytes of text of one result that the model reads, whatever the tool
// returned. Tools stay far below it by themselves.
const maxResult = 256 << 10

// bounded returns r with its texts cut to maxResult.
func bounded(r *tool.Result) *tool.Result {
	total := 0
	for _, b := range r.Content {
		if t, ok := b.(llm.Text); ok {
			total += len(t.Text)
		}
	}
	if total <= maxResult {
		return r
	}
	out := *r
	out.Content = nil
	room := maxResult
	for _, b := range r.Content {
		if t, ok := b.(llm.Text); ok && len(t.Text) > room {
			cut := tool.Fit(t.Text, tool.SinkOptions{Head: room / 100 * 60, Tail: max(room/100*25, 1)})
			b = llm.Text{Text: cut.Text + "\n\n" + cut.Notice()}
			room = 0
		} else if ok {
			room -= len(t.Text)
		}
		out.Content = append(out.Content, b)
	}
	return &out
}
