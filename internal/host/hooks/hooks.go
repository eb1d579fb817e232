// Package hooks runs the hooks of a session: it joins what package hook reads to the
// chains, the questions and the events of a session.
//
// Hooks of one moment run at the same time, under the sandbox of the model's commands. The
// strictest answer wins. A hook that fails or takes too long blocks nothing, and the person
// is told; one that means to block says so with exit code 2.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/hook"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

// maxEnd is how long hooks of the end of a session may take.
const maxEnd = 10 * time.Second

// maxAnswer is how many bytes of a server's answer are read.
const maxAnswer = 1 << 20

// Options of an engine.
type Options struct {
	Set *hook.Set
	// May reports whether the hooks of a file may run now.
	May    func(*hook.File) bool
	Dir    string
	HTTP   http.RoundTripper
	Getenv func(string) string
	Warn   func(string) // what the person should know, a line each
	// Unconfined runs commands without the sandbox.
	Unconfined bool
	Resumed    bool
	Agent      *Agent // whose session it is; nil: a person's
}

// Agent is a sub-agent. Where a session begins and its model is done, hooks of sub-agents run
// in place of those of sessions.
type Agent struct {
	ID, Type string
	// Names are those by which matchers may mean Type.
	Names []string
	// For gives the person's session that it works for.
	For func() session.Facts
}

// Engine runs the hooks of one session.
type Engine struct {
	o    Options
	life context.Context
	stop context.CancelFunc
	busy sync.WaitGroup // hooks that nobody waits for

	mu  sync.Mutex
	run func(context.Context, bench.Program) (bench.Ended, error) // nil: commands cannot run
	// behind gives the files that a call is about, and its command, with paths for addresses.
	behind  func(*tool.Tool, json.RawMessage) (files []string, command string)
	facts   func() session.Facts // nil: the session has not begun
	calls   map[string]*call     // that were seen and have not ended, by id
	begun   map[*hook.Hook]bool  // hooks of the start that have run
	start   chan struct{}        // closed when those of the start have ended; nil: none has begun
	lines   []string             // their words for the model
	refusal string               // a hook of the start refused the agent
	held    int                  // results of this turn that hooks of the agent's end did not let it hand over
}

// call is what is known of a call between its start and its end.
type call struct {
	about    []map[string]any
	decision hook.Decision
	reason   string
	context  []string
}

var _ bench.Hooks = (*Engine)(nil)

// New makes an engine.
func New(o Options) *Engine {
	e := &Engine{o: o, calls: map[string]*call{}, begun: map[*hook.Hook]bool{}}
	e.life, e.stop = context.WithCancel(context.Background())
	return e
}

// Begin implements [bench.Hooks].
func (e *Engine) Begin(run func(context.Context, bench.Program) (bench.Ended, error), behind func(*tool.Tool, json.RawMessage) ([]string, string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.run, e.behind = run, behind
}

// Bind says which session it is, and runs the hooks of its start. Nobody waits for them
// but the first prompt.
func (e *Engine) Bind(s *session.Session) {
	e.mu.Lock()
	e.facts = s.Facts
	e.mu.Unlock()
	e.Start()
}

// Start runs the hooks of the start that may run and have not: at the beginning, and when
// a person has just trusted a file.
func (e *Engine) Start() {
	source := "startup"
	if e.o.Resumed {
		source = "resume"
	}
	event, fields, names := hook.SessionStart, map[string]any{"source": source}, []string{source}
	if a := e.o.Agent; a != nil {
		event, fields, names = hook.SubagentStart, nil, a.Names
	}
	var all []*hook.Hook
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.o.Set.For(event, e.o.May, names...) {
		if !e.begun[h] {
			e.begun[h] = true
			all = append(all, h)
		}
	}
	if len(all) == 0 {
		return
	}
	before, done := e.start, make(chan struct{})
	e.start = done
	e.busy.Go(func() {
		defer close(done)
		o := e.each(e.life, event, all, fields)
		if before != nil {
			<-before
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.o.Agent != nil {
			if o.Decision == hook.Deny {
				e.refusal = o.Reason
			}
			if e.o.Resumed { // it has read them
				return
			}
		}
		e.lines = append(e.lines, o.Context...)
	})
}

// fire runs the hooks of an event and says what they have said. names are those of the
// event's subject.
func (e *Engine) fire(ctx context.Context, event hook.Event, fields map[string]any, names ...string) hook.Outcome {
	hooks := e.o.Set.For(event, e.o.May, names...)
	if len(hooks) == 0 {
		return hook.Outcome{}
	}
	return e.each(ctx, event, hooks, fields)
}

// each runs hooks at the same time.
func (e *Engine) each(ctx context.Context, event hook.Event, hooks []*hook.Hook, fields map[string]any) hook.Outcome {
	moment := e.moment()
	outcomes := make([]hook.Outcome, len(hooks))
	var all sync.WaitGroup
	for i, h := range hooks {
		if !h.Wants(fields) {
			continue
		}
		input := h.Input(moment, event, fields)
		if h.Async {
			e.busy.Go(func() { e.tell(e.one(e.life, h, input)) })
			continue
		}
		all.Go(func() { outcomes[i] = e.one(ctx, h, input) })
	}
	all.Wait()
	o := hook.Merge(outcomes)
	e.tell(o)
	return o
}

func (e *Engine) tell(o hook.Outcome) {
	for _, line := range o.Told {
		e.o.Warn(line)
	}
}

// moment is what every hook is told.
func (e *Engine) moment() hook.Moment {
	e.mu.Lock()
	facts := e.facts
	e.mu.Unlock()
	m := hook.Moment{Dir: e.o.Dir}
	if facts != nil {
		f := facts()
		m.Session, m.Transcript, m.Mode = f.ID, f.Path, f.Mode
		if f.Model != nil {
			m.Model = f.Model.Ref()
		}
	}
	if a := e.o.Agent; a != nil {
		f := a.For()
		m.Agent, m.AgentType, m.Session, m.Transcript = a.ID, a.Type, f.ID, f.Path
	}
	return m
}

// one runs one hook to its end.
func (e *Engine) one(ctx context.Context, h *hook.Hook, input []byte) hook.Outcome {
	if h.URL != "" {
		return e.post(ctx, h, input)
	}
	e.mu.Lock()
	run := e.run
	e.mu.Unlock()
	if run == nil {
		return h.Failed(errors.New("commands cannot run in this session"))
	}
	ended, err := run(ctx, bench.Program{
		Line: h.Command, Input: input, Timeout: h.Timeout, Unconfined: e.o.Unconfined,
		Dir: h.Dir, Env: e.environ(),
	})
	switch {
	case ctx.Err() != nil: // the person has stopped it, or the session ends
		return hook.Outcome{}
	case err != nil:
		return h.Failed(err)
	case ended.TimedOut:
		return h.TimedOut()
	}
	return h.Read(ended.ExitCode, ended.Stdout, ended.Stderr)
}

// environ says to a hook, in the words of each program, where the project is.
func (e *Engine) environ() (all []string) {
	for _, program := range []string{"BURIN", "CLAUDE", "CURSOR", "GEMINI"} {
		all = append(all, program+"_PROJECT_DIR="+e.o.Dir)
	}
	return all
}

// post sends the input to the server of a hook.
func (e *Engine) post(ctx context.Context, h *hook.Hook, input []byte) hook.Outcome {
	within, stop := context.WithTimeout(ctx, h.Timeout)
	defer stop()
	r, err := http.NewRequestWithContext(within, http.MethodPost, h.URL, bytes.NewReader(input))
	if err != nil {
		return h.Failed(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		r.Header.Set(name, h.Expand(value, e.o.Getenv))
	}
	client := http.Client{Transport: e.o.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	switch {
	case ctx.Err() != nil:
		return hook.Outcome{}
	case within.Err() != nil:
		return h.TimedOut()
	case err != nil:
		return h.Failed(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return h.Failed(err)
	case answer.StatusCode/100 != 2:
		return h.Failed(fmt.Errorf("the server says %s", answer.Status))
	}
	return h.Read(0, string(body), "")
}

// Prompt runs the hooks of a prompt and gives the words for the model that go behind it:
// theirs, and those of the start. An error says why the prompt is not sent.
func (e *Engine) Prompt(ctx context.Context, text string) (behind string, err error) {
	e.mu.Lock()
	start := e.start
	e.mu.Unlock()
	if start != nil {
		select {
		case <-start:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if e.o.Agent != nil { // what another model writes to it is no prompt of a person
		e.mu.Lock()
		defer e.mu.Unlock()
		lines, refusal := e.lines, e.refusal
		e.lines, e.refusal = nil, ""
		if refusal != "" {
			return "", fmt.Errorf("a hook refused this agent: %s", refusal)
		}
		return inWords(lines), nil
	}
	o := e.fire(ctx, hook.UserPromptSubmit, map[string]any{"prompt": text})
	switch {
	case o.Decision == hook.Deny:
		return "", fmt.Errorf("a hook refused this prompt: %s", o.Reason)
	case o.End:
		return "", fmt.Errorf("a hook refused this prompt: %s", o.EndReason)
	}
	e.mu.Lock()
	lines := e.lines
	e.lines = nil
	e.mu.Unlock()
	return inWords(append(lines, o.Context...)), nil
}

// inWords is what hooks have for the model, marked as what it is.
func inWords(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "<hooks>\n" + strings.Join(lines, "\n") + "\n</hooks>"
}

// Chains are the links with which hooks take part in the conversation.
func (e *Engine) Chains() session.Chains {
	return session.Chains{
		Calls:    []session.CallInterceptor{{Name: "hooks", Before: e.before, After: e.after}},
		Continue: []session.Continuation{{Name: "hooks", Ask: e.stopping}},

		Compactions: []session.CompactionInterceptor{{Name: "hooks", Before: e.compacting}},
	}
}

// compacting runs the hooks of a compaction, which may prevent it.
func (e *Engine) compacting(ctx context.Context, reason string) error {
	trigger := trigger(reason)
	switch o := e.fire(ctx, hook.PreCompact, map[string]any{"trigger": trigger}, trigger); {
	case o.Decision == hook.Deny:
		return fmt.Errorf("a hook refused the compaction: %s", o.Reason)
	case o.End:
		return fmt.Errorf("a hook refused the compaction: %s", o.EndReason)
	}
	return ctx.Err()
}

// trigger is what hooks call the reason of a compaction.
func trigger(reason string) string {
	if reason == "manual" {
		return reason
	}
	return "auto"
}

// about are the fields about a call. They are several where it is about several files: a hook is
// told of one at a time.
func (e *Engine) about(t *tool.Tool, c tool.Call) (all []map[string]any, real []hook.Real) {
	e.mu.Lock()
	behind := e.behind
	e.mu.Unlock()
	real = []hook.Real{{}}
	if behind != nil {
		files, command := behind(t, c.Arguments)
		real[0].Command = command
		for i, file := range files {
			if i == 0 {
				real = nil
			}
			real = append(real, hook.Real{File: file, Command: command})
		}
	}
	for _, one := range real {
		all = append(all, hook.ToolFields(t.Name, c.ID, e.o.Dir, c.Arguments, one))
	}
	return all, real
}

// ask runs the hooks of an event about a call. What they allow they must allow for each file.
// rewrites is of which of all they have given other arguments.
func (e *Engine) ask(ctx context.Context, event hook.Event, all []map[string]any, name string) (o hook.Outcome, rewrites int) {
	var said []hook.Outcome
	for i, fields := range all {
		one := e.fire(ctx, event, fields, name)
		if one.Input != nil {
			rewrites = i // Merge takes the last, too
		}
		said = append(said, one)
	}
	o = hook.Merge(said)
	if o.Decision == hook.Allow && slices.ContainsFunc(said, func(one hook.Outcome) bool { return one.Decision != hook.Allow }) {
		o.Decision, o.Reason = hook.NoDecision, ""
	}
	return o, rewrites
}

func (e *Engine) before(ctx context.Context, t *tool.Tool, c *tool.Call) (*tool.Result, error) {
	all, real := e.about(t, *c)
	o, rewrites := e.ask(ctx, hook.PreToolUse, all, t.Name)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case o.End:
		return nil, fmt.Errorf("%s: %w", o.EndReason, tool.ErrAbort)
	case o.Decision == hook.Deny:
		return tool.Failure("A hook of the user refused this call: " + o.Reason), nil
	}
	if o.Input != nil {
		args, err := hook.Rewritten(t.Name, e.o.Dir, c.Arguments, real[rewrites], o.Input, o.Partial)
		if err != nil {
			return nil, err
		}
		c.Arguments = args
		all, _ = e.about(t, *c)
	}
	if reason := e.handingOver(ctx, t, *c); reason != "" {
		return tool.Failure(reason), nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls[c.ID] = &call{about: all, decision: o.Decision, reason: o.Reason, context: o.Context}
	return nil, nil
}

func (e *Engine) after(ctx context.Context, t *tool.Tool, c tool.Call, r *tool.Result) (*tool.Result, error) {
	e.mu.Lock()
	known := e.calls[c.ID]
	delete(e.calls, c.ID)
	e.mu.Unlock()
	if known == nil {
		known = &call{}
		known.about, _ = e.about(t, c)
	}
	event := hook.PostToolUse
	if r.IsError {
		event = hook.PostToolUseFailure
	}
	var o hook.Outcome
	if hooks := e.o.Set.For(event, e.o.May, t.Name); len(hooks) > 0 {
		fields := known.about[0]
		fields["tool_response"] = map[string]any{"content": textOf(r), "is_error": r.IsError, "details": r.Details}
		if r.IsError {
			fields["error"] = textOf(r)
		}
		o = e.each(ctx, event, hooks, fields)
	}
	words := append(known.context, o.Context...)
	if o.Decision == hook.Deny {
		words = append(words, o.Reason)
	}
	if o.Output == nil && len(words) == 0 && !o.End {
		return nil, nil
	}
	changed := *r
	if o.End {
		changed.Final = true
		e.o.Warn(o.EndReason)
	}
	changed.Content = append([]llm.Block(nil), r.Content...)
	if o.Output != nil {
		changed.Content = []llm.Block{llm.Text{Text: *o.Output}}
	}
	if text := inWords(words); text != "" {
		changed.Content = append(changed.Content, llm.Text{Text: text})
	}
	return &changed, nil
}

// textOf is the text of a result.
func textOf(r *tool.Result) string {
	var b strings.Builder
	for _, block := range r.Content {
		if t, ok := block.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// stopping runs the hooks of the end of the work, which may make the model go on.
func (e *Engine) stopping(ctx context.Context, end session.Ending) (*session.Onward, error) {
	last := ""
	for _, m := range end.Since {
		if m.Role == llm.RoleAssistant {
			last = m.Text()
		}
	}
	o := e.ended(ctx, end.Times, last)
	if o.Decision != hook.Deny || o.End {
		return nil, nil
	}
	return &session.Onward{Message: llm.Message{Content: []llm.Block{llm.Text{Text: inWords([]string{o.Reason})}}}}, nil
}

// ended runs the hooks of the end of the work; times is how often they have made it go on.
func (e *Engine) ended(ctx context.Context, times int, last string) hook.Outcome {
	fields := map[string]any{"stop_hook_active": times > 0, "times": times, "last_assistant_message": last}
	a := e.o.Agent
	if a == nil {
		return e.fire(ctx, hook.Stop, fields)
	}
	e.mu.Lock()
	facts := e.facts
	e.mu.Unlock()
	if facts != nil {
		fields["agent_transcript_path"] = facts().Path
	}
	return e.fire(ctx, hook.SubagentStop, fields, a.Names...)
}

// handingOver runs the hooks of an agent's end when it hands over its result, which ends its
// work at once. What they say is why it must continue; "" lets it end.
func (e *Engine) handingOver(ctx context.Context, t *tool.Tool, c tool.Call) (reason string) {
	if e.o.Agent == nil || t.Name != session.ResultTool {
		return ""
	}
	e.mu.Lock()
	held := e.held
	e.mu.Unlock()
	if held >= session.MaxContinuations {
		return ""
	}
	o := e.ended(ctx, held, string(c.Arguments))
	if o.Decision != hook.Deny || o.End {
		return ""
	}
	e.mu.Lock()
	e.held++
	e.mu.Unlock()
	return inWords([]string{o.Reason})
}

// Asks implements [bench.Hooks].
func (e *Engine) Asks(id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.calls[id]
	switch {
	case c == nil || c.decision != hook.Ask:
		return ""
	case c.reason == "":
		return "a hook wants you to be asked"
	}
	return c.reason
}

// Answer implements [bench.Hooks]. What is dangerous stays a question: a hook can refuse it,
// and not allow it.
func (e *Engine) Answer(ctx context.Context, q permit.Question) (a permit.Answer, ok bool) {
	e.mu.Lock()
	c := e.calls[q.Request.Call]
	e.mu.Unlock()
	if c == nil {
		return permit.Answer{}, false
	}
	o, _ := e.ask(ctx, hook.PermissionRequest, c.about, q.Request.Tool)
	if o.Decision == hook.NoDecision {
		o.Decision = c.decision
	}
	switch {
	case o.Decision == hook.Deny:
		return permit.Answer{Note: "A hook of the user refused this call: " + o.Reason}, true
	case o.Decision == hook.Allow && q.Decision.Dangerous == "":
		return permit.Answer{Allow: true}, true
	}
	return permit.Answer{}, false
}

// Watch sees the events of the session. It does not wait for hooks.
func (e *Engine) Watch(ev session.Event) {
	later := func(event hook.Event, fields map[string]any, names ...string) {
		hooks := e.o.Set.For(event, e.o.May, names...)
		if len(hooks) > 0 && e.life.Err() == nil {
			e.busy.Go(func() { e.each(e.life, event, hooks, fields) })
		}
	}
	switch ev.Type {
	case session.CompactionEnd:
		if info, ok := ev.Data.(*session.CompactionInfo); ok {
			trigger := trigger(info.Reason)
			later(hook.PostCompact, map[string]any{"trigger": trigger}, trigger)
		}
	case session.QuestionAsked:
		q, ok := ev.Data.(*session.Question)
		if !ok {
			return
		}
		kind, message := "elicitation_dialog", "burin has a question"
		if q.Kind == session.AskPermission {
			kind, message = "permission_prompt", "burin asks whether a call may run"
			if q.Permission != nil {
				message = "burin asks whether " + hook.ToolName(q.Permission.Request.Tool) + " may run"
			}
		}
		later(hook.Notification, map[string]any{"message": message, "notification_type": kind}, kind)
	case session.AgentSettled:
		e.mu.Lock()
		clear(e.calls) // those that were refused
		e.held = 0
		e.mu.Unlock()
		if t, ok := ev.Data.(*session.SettledTurn); ok && t.Reason == agent.ReasonError {
			later(hook.StopFailure, map[string]any{"error": t.Error})
		}
	}
}

// End implements [bench.Hooks]: the hooks of the end run, for at most ten seconds, and what
// still runs is stopped.
func (e *Engine) End() {
	ctx, stop := context.WithTimeout(e.life, maxEnd)
	defer stop()
	e.mu.Lock()
	began := e.facts != nil
	e.mu.Unlock()
	if began && e.o.Agent == nil {
		e.fire(ctx, hook.SessionEnd, map[string]any{"reason": "other"}, "other")
	}
	e.stop()
	e.busy.Wait()
}
