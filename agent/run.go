package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Outcome says how a run ended.
type Outcome struct {
	Reason   Reason
	Messages []llm.Message // added by the run, without the messages it was given and the steering before them; the newest 1,000
	Err      error         // of ReasonError, ReasonAborted, ReasonRefused and ReasonLoop
	Turns    int           // requests
	Usage    llm.Usage     // sum
}

// Text returns the text of the last answer, or "" if there is none.
func (o *Outcome) Text() string {
	for i := len(o.Messages) - 1; i >= 0; i-- {
		if m := &o.Messages[i]; m.Role == llm.RoleAssistant {
			return m.Text()
		}
	}
	return ""
}

// maxOutcome is the maximum number of messages in an outcome. When it is reached, the oldest
// quarter goes; events have reported them.
const maxOutcome = 1000

// Reason says why a run ended.
type Reason string

const (
	ReasonDone     Reason = "done"
	ReasonLength   Reason = "length"    // the answer was cut at its limit
	ReasonError    Reason = "error"     // the stream failed, or the run could not start
	ReasonAborted  Reason = "aborted"   // ctx ended, or a tool returned ErrAbort; Err is of kind llm.ErrAborted
	ReasonMaxTurns Reason = "max_turns" // MaxTurns requests were made, including those before Continue
	ReasonRefused  Reason = "refused"   // BeforeRequest returned an error
	ReasonLoop     Reason = "loop"      // the model made no progress; Err says how
)

// run is the state of one run.
type run struct {
	*Agent
	opt   Options // of the current turn
	tools toolbox
	out   Outcome
}

var (
	errBusy    = errors.New("this conversation is already running")
	errNothing = errors.New("nothing to continue: the model has answered the last message")
)

func (a *Agent) run(ctx context.Context, messages []llm.Message, on bool) Outcome {
	a.mu.Lock()
	if a.running {
		a.mu.Unlock()
		return Outcome{Reason: ReasonError, Err: errBusy}
	}
	a.running = true
	a.mu.Unlock()

	if !on {
		a.requests, a.guard = 0, guard{}
	}
	r := &run{Agent: a}
	r.opt, r.tools = a.options()
	r.emit(Event{Type: AgentStart})
	r.out.Reason, r.out.Err = r.loop(ctx, messages)

	a.mu.Lock()
	a.running = false
	a.mu.Unlock()
	outcome := r.out
	r.emit(Event{Type: AgentEnd, Messages: outcome.Messages, Outcome: &outcome})
	return r.out
}

func (r *run) emit(e Event) {
	r.emitting.Lock()
	defer r.emitting.Unlock()
	if r.opt.Emit != nil {
		r.opt.Emit(e)
	}
}

// loop takes turns until one of them, or a limit, ends the run.
func (r *run) loop(ctx context.Context, given []llm.Message) (Reason, error) {
	if r.Exhausted() {
		return ReasonMaxTurns, nil
	}
	given = r.precede(given)
	spoken := r.takeSteering()
	if len(spoken) > 0 {
		r.guard = guard{}
	}
	pending := slices.Concat(given, spoken)
	if len(pending) == 0 && !continuable(r.Messages()) {
		if pending = r.takeFollowUps(); len(pending) == 0 {
			return ReasonError, errNothing
		}
	}
	for {
		r.opt, r.tools = r.options()
		if r.tools.err != nil {
			return ReasonError, r.tools.err
		}
		v := r.turn(ctx, pending, len(given))
		given = nil
		if v.final {
			return v.reason, v.err
		}
		if r.opt.MaxTurns > 0 && r.requests >= r.opt.MaxTurns {
			if v.reason != "" && !r.waits(v.reason) {
				return v.reason, v.err
			}
			return ReasonMaxTurns, nil
		}
		if v.paused { // nothing may come between the parts of a paused answer
			pending = nil
			continue
		}
		pending = r.takeSteering()
		if len(pending) > 0 {
			r.guard = guard{} // the user may have said what to do about it
			continue
		}
		if v.reason == ReasonDone {
			pending = r.takeFollowUps()
		}
		switch {
		case len(pending) > 0:
		case v.reason != "":
			return v.reason, v.err
		case v.empty:
			pending = []llm.Message{nudge()}
		}
	}
}

// precede puts steering messages that were sent before the last of the given messages, while
// nothing ran, in front of that one: the model reads messages in the order they were sent.
func (r *run) precede(given []llm.Message) []llm.Message {
	if len(given) == 0 {
		return given
	}
	last := len(given) - 1
	earlier := r.takeSteeredBefore(given[last].Time)
	return slices.Concat(given[:last], earlier, given[last:])
}

// waits reports whether a run continues after a turn that could end it.
func (r *run) waits(reason Reason) bool {
	steering, followUps := r.Queued()
	return len(steering) > 0 || reason == ReasonDone && len(followUps) > 0
}

// continuable reports whether a model can be asked to continue after messages.
func continuable(messages []llm.Message) bool {
	if len(messages) == 0 {
		return false
	}
	last := &messages[len(messages)-1]
	return last.Role != llm.RoleAssistant || last.StopReason == llm.StopPause || len(last.ToolCalls()) > 0
}

// verdict says what a turn means for the run.
type verdict struct {
	reason Reason // why the run could end; empty if the model must be asked again
	err    error
	final  bool // queued messages don't change it
	paused bool // by the provider
	empty  bool // the model said nothing
}

// turn adds messages, asks the model and runs its calls. The first given messages are the
// caller's own.
func (r *run) turn(ctx context.Context, messages []llm.Message, given int) verdict {
	r.emit(Event{Type: TurnStart})
	for i := range messages {
		m := messages[i]
		if m.Time.IsZero() {
			m.Time = time.Now()
		}
		r.emit(Event{Type: MessageStart, Message: &m})
		r.say(&m, i >= given)
	}
	answer, v := r.ask(ctx)
	var results []llm.Message
	if answer != nil && !v.final {
		results, v = r.judge(ctx, answer)
	}
	r.emit(Event{Type: TurnEnd, Message: answer, ToolResults: results})
	return v
}

// say ends a message: it is now part of the conversation.
func (r *run) say(m *llm.Message, added bool) {
	r.add(*m)
	if added {
		if len(r.out.Messages) == maxOutcome {
			// A run that takes days must not keep everything that its tools returned.
			r.out.Messages = append(make([]llm.Message, 0, maxOutcome), r.out.Messages[maxOutcome/4:]...)
		}
		r.out.Messages = append(r.out.Messages, *m)
	}
	r.emit(Event{Type: MessageEnd, Message: m})
}

// judge checks a complete answer and runs its calls.
func (r *run) judge(ctx context.Context, m *llm.Message) ([]llm.Message, verdict) {
	calls := m.ToolCalls()
	if m.StopReason != llm.StopPause {
		r.guard.pauses = 0
	}
	if len(calls) > 0 {
		r.guard.empty = 0
		results, err := r.execute(ctx, m, calls)
		switch {
		case ctx.Err() != nil:
			return results, aborted(context.Cause(ctx))
		case err != nil:
			return results, aborted(err)
		}
		if err := r.guard.stuck; err != nil {
			return results, verdict{reason: ReasonLoop, err: err}
		}
		if r.guard.final {
			return results, verdict{reason: ReasonDone}
		}
		return results, verdict{}
	}
	switch {
	case m.StopReason == llm.StopPause:
		if r.guard.pauses++; r.guard.pauses > maxPauses {
			return nil, verdict{reason: ReasonLoop, err: fmt.Errorf("the provider paused the answer %d times in a row", r.guard.pauses)}
		}
		return nil, verdict{paused: true}
	case m.StopReason == llm.StopLength:
		return nil, verdict{reason: ReasonLength}
	case isEmpty(m):
		if r.guard.empty++; r.guard.empty > maxNudges {
			return nil, verdict{reason: ReasonLoop, err: fmt.Errorf("the model gave %d empty answers in a row", r.guard.empty)}
		}
		return nil, verdict{empty: true}
	}
	r.guard.empty = 0
	return nil, verdict{reason: ReasonDone}
}

func aborted(cause error) verdict {
	var known *llm.Error
	if !errors.As(cause, &known) || known.Kind != llm.ErrAborted {
		known = &llm.Error{Kind: llm.ErrAborted, Message: "the run was stopped: " + cause.Error(), Err: cause}
	}
	return verdict{reason: ReasonAborted, err: known, final: true}
}
