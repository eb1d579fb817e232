package session

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// MaxContinuations is the default number of times that a link makes a model continue per
// prompt. After that the user decides.
const MaxContinuations = 3

// CustomReminder is the custom type of a message that reminds the model of unfinished work.
const CustomReminder = "reminder"

// continuing is a link of the chain with its state for a prompt.
type continuing struct {
	Continuation
	times int
	from  int // index of the first message after its last one
}

// onwards is the continuation chain of a prompt.
type onwards struct {
	links []*continuing
	rec   *record
	now   func() time.Time
}

// onwards builds the continuation chain of a prompt.
func (s *Session) onwards() *onwards {
	x := &onwards{rec: s.rec, now: s.o.Now}
	if s.o.Tasks != nil && s.o.Reminders > 0 {
		x.add(Continuation{Name: CustomReminder, Max: s.o.Reminders, Ask: s.work.remind})
	}
	for _, c := range s.o.Chains.Continue {
		x.add(c)
	}
	x.add(Continuation{Name: CustomGoal, Max: maxGoalChecks + 1, Ask: pursue(s).next})
	if s.tools.has(ResultTool) {
		x.add(Continuation{Name: ResultTool, Max: 2, Ask: insist})
	}
	// The last link: it looks at what is done when nothing else is left to do, once.
	x.add(Continuation{Name: CustomAdvisor, Max: 1, Ask: s.advisor.advise})
	return x
}

func (x *onwards) add(c Continuation) {
	if c.Max == 0 {
		c.Max = MaxContinuations
	}
	x.links = append(x.links, &continuing{Continuation: c})
}

// finish makes the model continue as long as a link of the chain has a reason, and until a
// prompt that must produce a result has done so.
func (s *Session) finish(ctx context.Context, out agent.Outcome) agent.Outcome {
	chain := s.onwards()
	for out.Reason == agent.ReasonDone {
		if order, ok := s.plans.next(ctx); ok { // like a prompt of its own
			out = join(out, s.attempts.run(ctx, s.agent.Run, order))
			continue
		}
		if s.agent.Exhausted() || handedOver(out.Messages) || reviewing(out.Messages) {
			break
		}
		onward, err := chain.next(ctx, out)
		if err != nil {
			stopped(&out, err)
			break
		}
		if onward == nil {
			break
		}
		s.tools.force(onward.Tool)
		out = join(out, s.attempts.run(ctx, s.agent.Continue, onward.Message))
	}
	s.modelState.lookAway(s.o.Now())
	s.work.endGoal(out)
	if !reviewing(out.Messages) {
		s.plans.end(out)
	}
	if s.tools.has(ResultTool) && out.Reason == agent.ReasonDone && !handedOver(out.Messages) {
		out.Reason, out.Err = agent.ReasonError, ErrNoResult
		if s.agent.Exhausted() {
			out.Reason, out.Err = agent.ReasonMaxTurns, nil
		}
	}
	return out
}

// next calls the links until one has something to continue with. It fails if a link was
// stopped during its call.
func (x *onwards) next(ctx context.Context, out agent.Outcome) (*Onward, error) {
	for _, l := range x.links {
		if l.times >= l.Max {
			continue
		}
		var onward *Onward
		err := guarded("continuation", l.Name, func() (err error) {
			onward, err = l.Ask(ctx, Ending{Outcome: out, Since: out.Messages[min(l.from, len(out.Messages)):], Times: l.times})
			return err
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			x.rec.warn(err.Error())
			continue
		case onward == nil:
			continue
		}
		l.times++
		l.from = len(out.Messages)
		given := *onward
		given.Message = x.rec.redactor.message(given.Message)
		m := &given.Message
		if m.Role == "" {
			m.Role = llm.RoleCustom
		}
		if m.Role == llm.RoleCustom && m.CustomType == "" {
			m.CustomType = l.Name
		}
		if m.Time.IsZero() {
			m.Time = x.now()
		}
		return &given, nil
	}
	return nil, nil
}

// say wraps a link's text for the model.
func say(text string) *Onward {
	return &Onward{Message: llm.Message{Content: []llm.Block{llm.Text{Text: text}}}}
}

// remind is the link that reminds the model of open todos.
func (w *work) remind(_ context.Context, e Ending) (*Onward, error) {
	if text := w.list.Reminder(e.Since); text != "" {
		return say(text), nil
	}
	return nil, nil
}

// insist is the link that asks for the result of a schema.
func insist(context.Context, Ending) (*Onward, error) {
	onward := say("Hand over the result now, with the tool " + ResultTool + ".")
	onward.Tool = ResultTool
	return onward, nil
}

// Result returns the result that the model handed over by the schema of a session
// ([ResultTool]), as valid JSON; ok is false if there is none.
func Result(out agent.Outcome) (result json.RawMessage, ok bool) {
	calls := map[string]json.RawMessage{}
	for i := range out.Messages {
		m := &out.Messages[i]
		for _, c := range m.ToolCalls() {
			calls[c.ID] = json.RawMessage(c.Arguments)
		}
		if handedOver(out.Messages[i : i+1]) {
			// What fits the schema is in the details: an argument may be "7" where 7 is wanted.
			if result, ok = calls[m.ToolCallID]; len(m.Details) > 0 {
				result, ok = m.Details, true
			}
		}
	}
	return result, ok
}

func handedOver(messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return m.Role == llm.RoleToolResult && m.ToolName == ResultTool && !m.IsError
	})
}
