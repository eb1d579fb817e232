package tui

import (
	"context"
	"errors"
	"slices"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// ask is a question that a person has to answer. Questions are asked one at a time, in
// the order in which they came.
type ask struct {
	pane func() pane.Pane // makes it when its turn has come
	gone func()           // tells who asked that nobody will answer
	up   pane.Pane        // while it is shown
	over bool             // it is answered, or nobody waits for the answer any more
}

// Ask is [burin.Approver]'s: it waits until the person has answered, or ctx ends.
func (a *app) Ask(ctx context.Context, r burin.Request, d burin.Decision) (burin.Answer, error) {
	return await(ctx, a, func(answer func(burin.Answer, error)) pane.Pane {
		return a.approvalPane(r, d, answer)
	})
}

// AskQuestions is [burin.Questioner]'s.
func (a *app) AskQuestions(ctx context.Context, questions []burin.Question) ([]burin.Reply, error) {
	return await(ctx, a, func(answer func([]burin.Reply, error)) pane.Pane {
		return a.questionsPane(questions, answer)
	})
}

// await shows a pane and waits for what it answers.
func await[T any](ctx context.Context, a *app, show func(answer func(T, error)) pane.Pane) (T, error) {
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
		a.answered(q)
	}
	q.pane = func() pane.Pane { return show(answer) }
	q.gone = func() {
		var none T
		answer(none, context.Canceled)
	}
	a.inbox.post(func() {
		if a.session == nil {
			a.enqueue(q)
			return
		}
		// What led to the question is shown first.
		a.after(a.session.Events(0).Seq(), func() { a.enqueue(q) })
	})
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
	case <-a.ctx.Done():
	}
	a.inbox.post(func() { a.answered(q) })
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return none, a.ctx.Err()
}

// enqueue shows a question, or lets it wait for the one that is shown.
func (a *app) enqueue(q *ask) {
	if q.over {
		return
	}
	a.asks = append(a.asks, q)
	a.attention(a.show.askNotify, "A question waits for you.")
	a.nextAsk()
}

// nextAsk shows the question whose turn it is.
func (a *app) nextAsk() {
	if len(a.asks) == 0 {
		return
	}
	q := a.asks[0]
	if q.up == nil {
		q.up = q.pane()
		a.push(q.up)
	}
	if p, ok := q.up.(interface{ SetWaiting(int) }); ok {
		p.SetWaiting(len(a.asks) - 1)
	}
}

// answered takes a question away.
func (a *app) answered(q *ask) {
	q.over = true
	for i, other := range a.asks {
		if other == q {
			a.asks = append(a.asks[:i], a.asks[i+1:]...)
			break
		}
	}
	if q.up != nil {
		if p, ok := q.up.(interface{ Unsent() string }); ok {
			a.giveBack(p.Unsent())
		}
		a.remove(q.up)
		q.up = nil
		a.talk.shorten(nil)
	}
	a.nextAsk()
	a.dirty, a.urgent = true, true
}

// typedOn takes what was typed while a question appeared, which was meant for the prompt,
// and says where it is: the prompt is not to be seen now.
func (a *app) typedOn(ev key.Event) {
	a.changed()
	a.editor.Handle(ev)
	a.flash("typed into the prompt: " + a.editor.Line())
}

// dismissAsks tells all who ask that nobody answers any more.
func (a *app) dismissAsks() {
	for len(a.asks) > 0 {
		a.asks[0].gone()
	}
}

// push gives a pane the keys. A question keeps them: what opens by itself meanwhile waits
// behind it, so that no key that was meant for one of them reaches the other.
func (a *app) push(p pane.Pane) {
	at := len(a.panes)
	if at > 0 && len(a.asks) > 0 && a.panes[at-1] == a.asks[0].up {
		at--
	}
	a.panes = slices.Insert(a.panes, at, p)
	a.setFull()
}

// asking reports whether a question has the keys.
func (a *app) asking() bool { return len(a.asks) > 0 && a.asks[0].up != nil && a.top() == a.asks[0].up }

// readBehind opens the conversation in front of a question, for who wants to know more
// before the answer: the question comes back when it is closed.
func (a *app) readBehind() {
	if a.session == nil || a.viewer != nil {
		return
	}
	a.openViewer("")
	if p := a.viewer; p != nil {
		a.remove(p)
		a.panes = append(a.panes, p)
		a.setFull()
	}
}

// remove takes a pane away, wherever it stands.
func (a *app) remove(p pane.Pane) {
	for i, other := range a.panes {
		if other == p {
			a.panes = append(a.panes[:i], a.panes[i+1:]...)
			break
		}
	}
	a.setFull()
}

// top is the pane that has the keys; nil: the prompt has.
func (a *app) top() pane.Pane {
	if n := len(a.panes); n > 0 {
		return a.panes[n-1]
	}
	return nil
}

// setFull shows the alternate screen while the pane with the keys wants it.
func (a *app) setFull() {
	_, want := a.top().(pane.Full)
	a.dirty, a.urgent = true, true
	if want == a.full {
		return
	}
	a.full = want
	if want {
		a.failed(a.screen.EnterFullscreen())
		a.term.Alternate(true)
		return
	}
	a.term.Alternate(false)
	a.failed(a.screen.LeaveFullscreen())
}

// approvalPane asks whether a call may run.
func (a *app) approvalPane(r burin.Request, d burin.Decision, answer func(burin.Answer, error)) pane.Pane {
	s := a.session
	a.talk.shorten(func(c *call) bool { return c.id == r.Call })
	return question.NewApproval(a.env, question.ApprovalOptions{
		Request: r, Decision: d,
		Try:     func(rules []burin.Rule) []string { return triedBy(s, rules) },
		OnTyped: a.typedOn,
		Preview: a.planned(r.Call),
		OnAnswer: func(given burin.Answer, err error) {
			if errors.Is(err, question.ErrStopped) {
				a.stop()
			}
			answer(given, err)
		},
	})
}

// planned shows what a call would write; nil where nothing is known of the call.
func (a *app) planned(id string) func(width int) []string {
	c := a.talk.calls[id]
	if c == nil {
		return nil
	}
	return func(width int) []string {
		v := a.talk.look.View
		v.Width = width
		return card.Planned(c.card, v)
	}
}

// triedBy names calls of this session that were questions and that rules would have
// allowed.
func triedBy(s *opened, rules []burin.Rule) []string {
	if s == nil || s.Permissions() == nil {
		return nil
	}
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.String())
	}
	tried, err := s.Permissions().Try(texts...)
	if err != nil {
		return nil // the rules are shown in words all the same
	}
	var names []string
	for _, t := range tried {
		if t.Verdict == "allow" {
			names = append(names, t.Tool+" "+t.Target)
		}
	}
	return names
}

// questionsPane puts the model's questions.
func (a *app) questionsPane(questions []burin.Question, answer func([]burin.Reply, error)) pane.Pane {
	a.talk.shorten(func(c *call) bool { return c.card.Name == "ask" })
	return question.NewQuestions(a.env, question.QuestionsOptions{Questions: questions, OnTyped: a.typedOn, OnDone: answer})
}

// confirm asks before something is done.
func (a *app) confirm(title, text string, yes func()) {
	var p pane.Pane
	p = question.NewConfirm(a.env, question.ConfirmOptions{Title: title, Text: text, OnTyped: a.typedOn, OnDone: func(sure bool) {
		a.remove(p)
		if sure {
			yes()
		}
	}})
	a.push(p)
}

// still reports whether the session that a pane is about is shown, and says so where it
// is not: a copy or a handoff that was under way may have put another in its place.
func (a *app) still(s *opened) bool {
	if s != nil && s == a.session {
		return true
	}
	a.say(card.Warning, "That was about the session before, which is left: nothing was changed.")
	return false
}

// askLine asks for a line of text.
func (a *app) askLine(title, text string, done func(string)) {
	var p pane.Pane
	p = list.NewInput(a.env, list.InputOptions{
		Title: title, Text: text, OnCancel: func() { a.remove(p) },
		OnDone: func(text string) { a.remove(p); done(text) },
	})
	a.push(p)
}

// report shows Markdown to read.
func (a *app) report(title, text string) {
	var p pane.Pane
	p = panel.FullReport{Report: panel.NewReport(a.env, panel.ReportOptions{
		Title: title, OnClose: func() { a.remove(p) },
		Rows: func(width int, s *theme.Styles) []string {
			return markdown.Render(text, width, markdown.Options{Styles: s, Links: a.env.Links})
		},
	})}
	a.push(p)
}

// reportLines shows lines to read: in the place of the prompt where they fit there, else
// on the whole screen.
func (a *app) reportLines(title string, draw func(width int, s *theme.Styles) []styled.Line) {
	var p pane.Pane
	r := panel.NewReport(a.env, panel.ReportOptions{Title: title, Draw: draw, OnClose: func() { a.remove(p) }})
	p = r
	if width, height := a.screen.Size(); len(draw(width, a.env.Styles)) > height/2 {
		p = panel.FullReport{Report: r}
	}
	a.push(p)
}

// askSecret asks for a line that is not shown, and waits for it.
func (a *app) askSecret(ctx context.Context, question string) (string, error) {
	return await(ctx, a, func(answer func(string, error)) pane.Pane {
		return list.NewInput(a.env, list.InputOptions{
			Title: question, Secret: true,
			OnDone:   func(text string) { answer(text, nil) },
			OnCancel: func() { answer("", errors.New("no pass phrase was given")) },
		})
	})
}
