package tui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// ask is a question that a person has to answer. Questions are asked one at a time, in
// the order in which they came.
type ask struct {
	id   string           // of the session's; "" for a question of the face's own
	from string           // the sub-agent that asks; "": the session itself
	pane func() pane.Pane // makes it when its turn has come
	gone func()           // tells who asked that nobody will answer; nil: the session does
	up   pane.Pane        // while it is shown
	over bool             // it is answered, or nobody waits for the answer any more
	call *card.Call       // of a sub-agent: the call that the question is about; nil: it is not known
}

// questions are what a person has to answer. They are asked one at a time, in the order in
// which they came.
type questions struct {
	*base
	*current
	show     *appearance
	display  *display
	panes    *panes
	composer *composer
	stop     func() bool // stops what runs
	review   *planReview
	list     []*ask
	coming   []*ask // the calls that they are about are looked up
}

// asked shows a question of the session.
func (qs *questions) asked(q *session.Question) {
	known := func(o *ask) bool { return o.id == q.ID }
	if slices.ContainsFunc(qs.list, known) || slices.ContainsFunc(qs.coming, known) {
		return
	}
	s, k := qs.session, &ask{id: q.ID, from: q.From}
	reply := func(r session.Reply) {
		qs.answered(k)
		go func() {
			err := s.Questions().Answer(qs.ctx, q.ID, r)
			if err != nil && !errors.Is(err, session.ErrSettled) && qs.ctx.Err() == nil {
				qs.inbox.post(func() { qs.sayError(err) })
			}
		}()
	}
	switch q.Kind {
	case session.AskPermission:
		k.pane = func() pane.Pane { return qs.approvalPane(q, reply) }
	case session.AskChoice:
		if q.Plan != nil {
			k.pane = func() pane.Pane { return qs.review.pane(q, reply) }
			break
		}
		k.pane = func() pane.Pane { return qs.questionsPane(q, reply) }
	case session.AskSecret, session.AskText:
		k.pane = func() pane.Pane { return qs.linePane(q, reply) }
	case session.AskConfirm:
		k.pane = func() pane.Pane {
			return question.NewConfirm(qs.env, question.ConfirmOptions{Title: q.Title, Text: q.Text, From: q.From, OnTyped: qs.composer.typedOn, OnDone: func(sure bool) {
				reply(session.Reply{Yes: sure})
			}})
		}
	default:
		return // a kind of a newer program: another face may know it
	}
	if q.Kind == session.AskPermission && q.From != "" {
		qs.lookUp(s, k, q.Permission.Request.Call)
		return
	}
	qs.enqueue(k)
}

// lookUp finds the call that a sub-agent asks about, which its own session has, and then
// enqueues the question: a person decides by what a call would write.
func (qs *questions) lookUp(s *opened, k *ask, callID string) {
	qs.coming = append(qs.coming, k)
	go func() {
		ctx, cancel := s.brief()
		defer cancel()
		h, err := s.Agents().Open(ctx, k.from, faceName, false)
		var found *card.Call
		if err == nil {
			found = callIn(h.Transcript(), callID)
			_ = h.Close() // it is only left
		}
		qs.inbox.post(func() {
			qs.coming = slices.DeleteFunc(qs.coming, func(o *ask) bool { return o == k })
			if s == qs.session {
				k.call = found
				qs.enqueue(k)
			}
		})
	}()
}

// callIn finds a call in what the model said last.
func callIn(l session.Transcript, id string) (found *card.Call) {
	transcript.LastOf(l, l.Leaf(), func(n transcript.Node) bool { return n.Role == llm.RoleAssistant }, func(e *transcript.Entry) bool {
		if e.Message == nil {
			return false
		}
		for _, c := range e.Message.ToolCalls() {
			if c.ID == id {
				found = &card.Call{Name: c.Name, Args: json.RawMessage(c.Arguments)}
			}
		}
		return true // calls run before the next answer
	})
	return found
}

// settledElsewhere takes away a question that another face has answered, or that nobody
// waits for any more.
func (qs *questions) settledElsewhere(d *session.Settled) {
	for _, k := range qs.coming {
		k.over = k.over || k.id == d.ID
	}
	i := slices.IndexFunc(qs.list, func(q *ask) bool { return q.id == d.ID })
	if i < 0 {
		return
	}
	qs.answered(qs.list[i])
	switch d.How {
	case session.Answered:
		qs.notice(card.Info, "The question was answered elsewhere: "+prose.Line(d.By)+".")
	case session.TimedOut:
		qs.notice(card.Warning, "No one answered the question in time.")
	}
}

// linePane asks for a line.
func (qs *questions) linePane(q *session.Question, reply func(session.Reply)) pane.Pane {
	return list.NewInput(qs.env, list.InputOptions{
		Title: q.Titled(q.Title), Text: q.Text, Secret: q.Kind == session.AskSecret,
		OnDone:   func(text string) { reply(session.Reply{Text: text}) },
		OnCancel: func() { reply(session.Reply{Dismissed: true}) },
	})
}

// enqueue shows a question, or lets it wait for the one that is shown.
func (qs *questions) enqueue(q *ask) {
	if q.over {
		return
	}
	qs.list = append(qs.list, q)
	qs.display.attention(qs.show.askNotify, "A question is waiting for you.")
	qs.next()
}

// next shows the question whose turn it is.
func (qs *questions) next() {
	if len(qs.list) == 0 {
		return
	}
	q := qs.list[0]
	if q.up == nil {
		q.up = q.pane()
		qs.panes.front = q.up
		qs.panes.push(q.up)
	}
	if p, ok := q.up.(interface{ SetWaiting(int) }); ok {
		p.SetWaiting(len(qs.list) - 1)
	}
}

// answered takes a question away.
func (qs *questions) answered(q *ask) {
	q.over = true
	for i, other := range qs.list {
		if other == q {
			qs.list = append(qs.list[:i], qs.list[i+1:]...)
			break
		}
	}
	if q.up != nil {
		if p, ok := q.up.(interface{ Unsent() string }); ok {
			qs.composer.giveBack(p.Unsent())
		}
		qs.panes.front = nil
		qs.panes.remove(q.up)
		q.up = nil
		qs.talk.shorten(nil)
	}
	qs.next()
	qs.redraw()
}

// waits reports whether a question of a sub-agent waits for the person.
func (qs *questions) waits(agent string) bool {
	return slices.ContainsFunc(qs.list, func(q *ask) bool { return q.from == agent })
}

// dismiss tells all who ask that nobody answers any more.
func (qs *questions) dismiss() {
	for _, k := range qs.coming {
		k.over = true
	}
	qs.coming = nil
	for len(qs.list) > 0 {
		if q := qs.list[0]; q.gone != nil {
			q.gone()
		} else {
			qs.answered(q)
		}
	}
}

// asking reports whether a question has the keys.
func (qs *questions) asking() bool {
	return len(qs.list) > 0 && qs.list[0].up != nil && qs.panes.top() == qs.list[0].up
}

// approvalPane asks whether a call may run.
func (qs *questions) approvalPane(q *session.Question, reply func(session.Reply)) pane.Pane {
	s, id := qs.session, q.Permission.Request.Call
	qs.talk.shorten(func(c *call) bool { return c.id == id })
	return question.NewApproval(qs.env, question.ApprovalOptions{
		Request: q.Permission.Request, Decision: q.Permission.Decision, From: q.From,
		Try:     func(rules []permit.Rule) []string { return triedBy(s, rules) },
		OnTyped: qs.composer.typedOn,
		Preview: qs.planned(q),
		OnAnswer: func(given permit.Answer, err error) {
			switch {
			case !errors.Is(err, question.ErrStopped):
			case q.From != "":
				go qs.stopAgent(s, q.From)
			default:
				qs.stop()
			}
			reply(session.Reply{Permission: &given})
		},
	})
}

// stopAgent interrupts a sub-agent, as Esc does where it asks.
func (qs *questions) stopAgent(s *opened, id string) {
	ctx, cancel := s.brief()
	defer cancel()
	h, err := s.Agents().Open(ctx, id, faceName, false)
	if err == nil {
		err = errors.Join(h.Conversation().Abort(ctx), h.Close())
	}
	if err != nil && qs.ctx.Err() == nil {
		qs.inbox.post(func() { qs.sayError(err) })
	}
}

// planned shows what a call would write; nil where nothing is known of the call.
func (qs *questions) planned(q *session.Question) func(width int) []string {
	var planned *card.Call
	if i := slices.IndexFunc(qs.list, func(k *ask) bool { return k.id == q.ID }); i >= 0 {
		planned = qs.list[i].call
	}
	if c := qs.talk.calls[q.Permission.Request.Call]; c != nil && q.From == "" {
		planned = &c.card
	}
	if planned == nil {
		return nil
	}
	return func(width int) []string {
		v := qs.talk.look.View
		v.Width = width
		return card.Planned(*planned, v)
	}
}

// questionsPane puts the model's questions.
func (qs *questions) questionsPane(q *session.Question, reply func(session.Reply)) pane.Pane {
	qs.talk.shorten(func(c *call) bool { return c.card.Name == "ask" })
	return question.NewQuestions(qs.env, question.QuestionsOptions{Questions: q.Choices, From: q.From, Until: q.Until, OnTyped: qs.composer.typedOn, OnDone: func(chosen []session.Chosen, err error) {
		reply(session.Reply{Choices: chosen, Dismissed: err != nil})
	}})
}

// askSecret asks for a line that is not shown, and waits for it.
func (qs *questions) askSecret(ctx context.Context, question string) (string, error) {
	return await(ctx, qs, func(answer func(string, error)) pane.Pane {
		return list.NewInput(qs.env, list.InputOptions{
			Title: question, Secret: true,
			OnDone:   func(text string) { answer(text, nil) },
			OnCancel: func() { answer("", errors.New("no pass phrase given")) },
		})
	})
}

// await shows a pane of the face's own and waits for what it answers.
func await[T any](ctx context.Context, qs *questions, show func(answer func(T, error)) pane.Pane) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replies := make(chan reply, 1)
	q := &ask{}
	answer := func(v T, err error) {
		select {
		case replies <- reply{v, err}:
		default: // it is answered already
		}
		qs.answered(q)
	}
	q.pane = func() pane.Pane { return show(answer) }
	q.gone = func() {
		var none T
		answer(none, context.Canceled)
	}
	qs.inbox.post(func() { qs.enqueue(q) })
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
	case <-qs.ctx.Done():
	}
	qs.inbox.post(func() { qs.answered(q) })
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return none, qs.ctx.Err()
}

// triedBy names calls of this session that were questions and that rules would have
// allowed.
func triedBy(s *opened, rules []permit.Rule) []string {
	if s == nil || s.Permissions() == nil {
		return nil
	}
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.String())
	}
	tried, err := s.Permissions().Try(s.ctx, texts...)
	if err != nil {
		return nil // the rules are shown in words all the same
	}
	var names []string
	for _, t := range tried {
		if t.Decision.Verdict == permit.Allow {
			names = append(names, t.Tool+" "+t.Target)
		}
	}
	return names
}
