package external

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Stream implements [llm.Client]: it is what the agent says until it makes a call, or ends.
func (a *Agent) Stream(ctx context.Context, r *llm.Request) llm.Stream {
	head := llm.Message{API: llm.APIAgent, Provider: Provider, Model: a.o.Name, Time: time.Now()}
	if r.Model != nil {
		head.Model = r.Model.ID
	}
	if len(r.Tools) == 0 || r.ToolChoice.Mode == llm.ToolNone {
		return llm.Failed(head, failure("%s answers prompts only, and keeps its own context: burin's titles, summaries and asides need a model", a.o.Name))
	}
	b := llm.NewBuilder(head)
	b.Limit(llm.AnswerLimit(&llm.Request{MaxTokens: 1 << 20}))
	return &stream{a: a, ctx: ctx, b: b, at: head.Time, messages: r.Messages, block: -1}
}

// stream is an answer on its way. It has one reader.
type stream struct {
	a        *Agent
	ctx      context.Context
	b        *llm.Builder
	at       time.Time
	messages []llm.Message // of the request; nil: it was sent
	begun    bool
	turn     *turn
	block    int // that is open; -1: none
	thought  bool
}

// Next implements [llm.Stream].
func (s *stream) Next() (llm.Event, bool) {
	for {
		if e, ok := s.b.Next(); ok {
			return e, true
		}
		if s.b.Ended() {
			return llm.Event{}, false
		}
		if err := s.step(); err != nil {
			s.fail(err)
		}
	}
}

// Close implements [llm.Stream]. What the agent works on is canceled, unless the answer had
// ended: then the prompt goes on with the next one.
func (s *stream) Close() error {
	if !s.b.Ended() {
		s.a.Interrupt()
	}
	return nil
}

// step reads on.
func (s *stream) step() error {
	a := s.a
	if !s.begun {
		s.begun = true
		s.b.Start()
		t, err := a.begin(s.ctx, s.messages)
		s.turn, s.messages = t, nil
		return err
	}
	a.mu.Lock()
	t := s.turn
	if a.turn != t {
		a.mu.Unlock()
		return context.Canceled
	}
	if a.money.over(a.o) && a.money.fresh > 0 && !t.over {
		// The session looks at the limit before each request. So it gets one to look at.
		a.mu.Unlock()
		s.done(llm.StopPause)
		return nil
	}
	if len(t.items) > 0 {
		wait, err := s.read(t)
		changed := a.changed
		a.mu.Unlock()
		if wait > 0 {
			s.pause(changed, wait)
		}
		return err
	}
	over, stop, err, changed := t.over, t.stop, t.err, a.changed
	a.mu.Unlock()
	if over {
		return s.end(stop, err)
	}
	s.pause(changed, time.Hour)
	return s.ctx.Err()
}

// pause waits until something changes.
func (s *stream) pause(changed <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// read takes what the agent has said; mu is held. If that is only a call of which the agent may
// still ask, read returns how long to wait for it.
func (s *stream) read(t *turn) (wait time.Duration, err error) {
	calls, words := false, false
	for len(t.items) > 0 {
		i := t.items[0]
		if calls && i.call == nil && !i.plan {
			break // it is of the next answer
		}
		if c := i.call; c != nil && c.gate == nil && !c.ended {
			if wait = time.Until(i.due); wait > 0 && calls {
				break
			} else if wait > 0 && !words {
				return wait, nil
			} else if wait > 0 {
				return 0, nil // the words first
			}
		}
		t.items = t.items[1:]
		switch {
		case i.call != nil:
			if err := s.call(i.call); err != nil {
				return 0, err
			}
			calls = true
		case i.plan:
			s.show(newID(), toolTodo, []byte("{}"))
			calls = true
		default:
			s.say(i.text, i.thought)
			t.unread -= len(i.text)
			words = true
		}
	}
	if calls {
		s.finish(llm.StopToolUse)
	}
	return 0, nil
}

// call shows a call; mu is held.
func (s *stream) call(c *call) error {
	name, args := c.describe(s.a.o.Ground.Name)
	raw := marshal(args)
	if args.Watched && !c.ended {
		if all := touched(name, args); name != toolAny && len(all) > 0 {
			asked := args
			asked.Watched = false
			if err := s.a.o.Ground.Refuses(s.a.tools[name], tool.Call{ID: c.id, Name: name, Arguments: marshal(asked)}); err != nil {
				return failure("canceled, as %s began something without asking: %s", s.a.o.Name, prose.Line(err.Error()))
			}
		}
	}
	c.shown = true
	s.show(c.id, name, raw)
	return nil
}

func (s *stream) show(id, name string, args []byte) {
	s.close()
	at := s.b.OpenToolCall(id, name)
	s.b.Delta(at, string(args))
	s.b.CloseBlock(at)
}

func (s *stream) say(text string, thought bool) {
	if s.block < 0 || s.thought != thought {
		s.close()
		s.thought = thought
		if thought {
			s.block = s.b.OpenThinking()
		} else {
			s.block = s.b.OpenText()
		}
	}
	s.b.Delta(s.block, text)
}

func (s *stream) close() {
	if s.block >= 0 {
		s.b.CloseBlock(s.block)
		s.block = -1
	}
}

// end is the end of the prompt.
func (s *stream) end(stop string, err error) error {
	a := s.a
	if err != nil {
		return err
	}
	switch stop {
	case acp.StopMaxTokens:
		s.done(llm.StopLength)
		return nil
	case acp.StopMaxTurns:
		return failure("%s has reached the number of requests that it makes for a prompt: tell it to go on", a.o.Name)
	case acp.StopRefusal:
		return failure("%s refuses to go on", a.o.Name)
	case acp.StopCancelled:
		return context.Canceled
	}
	a.mu.Lock()
	a.money.silent = !a.money.known
	unknown := a.money.silent && a.o.limited()
	silent := s.b.Len() == 0
	a.mu.Unlock()
	if silent {
		s.say("(no words)", false) // an empty answer would be a reason to ask again
	}
	if unknown {
		return a.unpriced()
	}
	s.done(llm.StopEnd)
	return nil
}

// done ends the answer.
func (s *stream) done(why llm.StopReason) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.finish(why)
}

// finish is done; mu is held.
func (s *stream) finish(why llm.StopReason) {
	s.close()
	s.a.settle(s.b, s.at, false)
	if t := s.turn; t != nil && t.over && len(t.items) == 0 && s.a.turn == t && why != llm.StopToolUse {
		s.a.turn = nil
	}
	s.b.Done(why)
}

// fail ends the answer with an error.
func (s *stream) fail(err error) {
	var known *llm.Error
	var auth *errAuth
	switch {
	case s.ctx.Err() != nil || errors.Is(err, context.Canceled):
		known = &llm.Error{Kind: llm.ErrAborted, Message: "canceled", Err: context.Canceled}
	case errors.As(err, &auth):
		known = &llm.Error{Kind: llm.ErrAuth, Message: auth.words}
	case !errors.As(err, &known):
		known = failure("%v", err)
		known.Err = err
	}
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.close()
	s.a.settle(s.b, s.at, true)
	s.a.interrupt()
	s.b.Fail(known)
}

// settle notes an answer that ends; mu is held.
func (a *Agent) settle(b *llm.Builder, at time.Time, failed bool) {
	if !a.failed {
		a.before = a.last
	}
	a.last, a.failed = at, failed
	b.SetResponseID(a.session)
	if a.turn == nil && failed && a.money.fresh == 0 {
		return // nothing was sent, or nobody knows what it cost
	}
	u := b.Usage()
	u.CacheRead = a.money.used
	u.Cost = &llm.Cost{Total: a.money.fresh, Unknown: !a.money.known}
	a.money.fresh = 0
}

// over reports whether the session has cost a limit.
func (m *account) over(o Options) bool {
	if o.Most > 0 && o.Spent+m.total >= o.Most {
		return true
	}
	left, limited := o.left()
	return limited && m.fresh >= left
}

func (o *Options) left() (left llm.USD, limited bool) {
	if o.Left == nil {
		return 0, false
	}
	return o.Left()
}

// limited reports whether the agent's cost must be known.
func (o *Options) limited() bool {
	_, limited := o.left()
	return limited || o.Most > 0
}

// begin sends what is new, or goes on with the prompt that the agent works on.
func (a *Agent) begin(ctx context.Context, messages []llm.Message) (*turn, error) {
	a.mu.Lock()
	a.refuseNotRun(messages)
	if a.money.silent && a.o.limited() {
		a.mu.Unlock()
		return nil, a.unpriced()
	}
	fresh, goesOn := a.since(messages)
	said := spoken(fresh)
	t := a.turn
	if t != nil && goesOn && len(said) == 0 {
		a.wake()
		a.mu.Unlock()
		return t, nil
	}
	a.interrupt() // the user has said something, or is in another branch
	winding, l, closed := a.winding, a.link, a.closed
	a.wake()
	a.mu.Unlock()
	if closed {
		return nil, errors.New("the session is closed")
	}
	if winding != nil {
		if err := a.wait(ctx, func() bool { return winding.over }); err != nil {
			return nil, err
		}
		a.mu.Lock()
		a.winding, l = nil, a.link
		a.mu.Unlock()
	}
	opened := l != nil && goesOn
	if l == nil {
		var err error
		if l, err = a.start(ctx); err != nil {
			return nil, err
		}
		a.mu.Lock()
		select {
		case <-l.ended:
			a.mu.Unlock()
			return nil, l.why
		default:
		}
		a.link = l
		a.mu.Unlock()
	}
	if !opened || a.unopened() {
		if err := a.reopen(ctx, l, messages, &said, goesOn); err != nil {
			return nil, err
		}
	}
	can := l.is.AgentCapabilities.PromptCapabilities
	can.Image = can.Image && !a.o.NoImages
	prompt, err := blocks(said, can)
	if err != nil {
		return nil, err
	}
	if len(prompt) == 0 {
		prompt = []acp.ContentBlock{{Type: "text", Text: "Continue."}}
	}
	return a.prompt(ctx, l, prompt)
}

// refuseNotRun tells the agent of calls that the loop has done with and did not run; mu is held.
func (a *Agent) refuseNotRun(messages []llm.Message) {
	for _, c := range a.calls {
		if !c.shown || c.judging || !c.undecided() {
			continue
		}
		for i := range slices.Backward(messages) {
			if m := &messages[i]; m.Role == llm.RoleToolResult && m.ToolCallID == c.id {
				c.refusal = errors.New(strings.TrimPrefix(m.Text(), "Error: "))
				break
			}
		}
		c.decide(refused)
	}
}

// unpriced is that a limit of money cannot be kept.
func (a *Agent) unpriced() error {
	return failure("%s does not say what it costs, so --max-cost cannot be kept: leave it out, or limit the cost in the agent", a.o.Name)
}

// unopened reports whether the agent has no session for the conversation.
func (a *Agent) unopened() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session == ""
}

// reopen opens a session of the agent's. One that does not know the conversation is told it.
func (a *Agent) reopen(ctx context.Context, l *link, messages []llm.Message, said *[]llm.Message, goesOn bool) error {
	fresh, err := a.open(ctx, l, goesOn)
	if err != nil || !fresh {
		return err
	}
	earlier := messages[:len(messages)-len(after(messages, *said))]
	if words := quote(earlier); words != "" {
		*said = slices.Concat([]llm.Message{llm.UserText(words)}, *said)
		a.o.Warn(a.o.Name + " begins a new session, as it does not know this conversation: it gets what was said as text, without outputs of tools")
	}
	if a.o.Instructions != "" {
		*said = slices.Concat([]llm.Message{llm.UserText(a.o.Instructions)}, *said)
	}
	return nil
}

// after are the messages from the first of said on.
func after(messages, said []llm.Message) []llm.Message {
	if len(said) == 0 {
		return nil
	}
	for i := range messages {
		if messages[i].Time.Equal(said[0].Time) && messages[i].Role == said[0].Role {
			return messages[i:]
		}
	}
	return nil
}

// prompt sends a prompt.
func (a *Agent) prompt(ctx context.Context, l *link, prompt []acp.ContentBlock) (*turn, error) {
	l.terminals.forget()
	t := &turn{link: l}
	a.mu.Lock()
	a.turn, a.failed = t, false
	a.forgetCalls()
	session := a.session
	a.mu.Unlock()
	unwatch := a.o.Ground.Watch(ctx)
	go func() {
		var r acp.PromptResponse
		err := l.conn.Call(context.Background(), acp.MethodSessionPrompt, acp.PromptRequest{SessionID: session, Prompt: prompt}, &r)
		if err != nil {
			err = a.sorted(l, err)
		}
		unwatch() // before anybody thinks that all is done
		a.mu.Lock()
		defer a.mu.Unlock()
		if t.over {
			return // its process has ended
		}
		t.over, t.stop, t.err = true, r.StopReason, err
		for _, c := range a.calls {
			if a.turn == t {
				c.decide(cancelled)
			}
		}
		a.wake()
	}()
	return t, nil
}
