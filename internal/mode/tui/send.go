package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// work is what goes on in the session.
type work struct {
	on      bool // a prompt runs
	began   time.Time
	before  session.Stats // when it began
	busy    string        // what else runs: a compaction, a command; "" is nothing
	since   time.Time
	retry   *session.RetryInfo
	retryAt time.Time
	cancel  context.CancelFunc // of what else runs; nil once it was told to stop
	task    *byte              // which of them it is

	condensing bool // the conversation is being made smaller
}

// queue is what waits to be read by the model.
type queue struct{ steering, followUps []string }

func (q queue) empty() bool { return len(q.steering)+len(q.followUps) == 0 }

// when says when a message that is sent while the model works is read.
type when bool

const (
	steerNow  when = false // at the next opportunity
	afterWork when = true
)

// submit takes what the person has written.
func (a *app) submit(at when) {
	text, ok := a.editor.Submit()
	if !ok {
		return
	}
	a.dirty, a.urgent = true, true
	a.addHistory(text)
	a.send(text, at)
}

// send does what words mean.
func (a *app) send(text string, at when) {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "/") && a.command(trimmed):
	case strings.HasPrefix(trimmed, "!"):
		a.shell(trimmed)
	default:
		a.prompt(text, at)
	}
}

// prompt sends words to the model: now, or where it works, into its queue.
func (a *app) prompt(text string, at when) {
	s := a.session
	if s == nil || a.opening { // what is typed while another session opens is meant for that
		a.waiting = append(a.waiting, text)
		if !a.opening {
			a.open(Wish{})
		}
		return
	}
	m := a.message(text)
	switch {
	case a.work.on && at == afterWork:
		a.queued(s.FollowUp(m), text)
	case a.work.on:
		a.queued(s.Steer(m), text)
	default:
		a.run1(m)
	}
}

// typed are the words of a message: without the files that go with it, which they name.
func typed(m *llm.Message) string {
	for _, b := range m.Content {
		if t, ok := b.(llm.Text); ok {
			return t.Text
		}
	}
	return ""
}

// queued shows what waits, or gives back what could not be queued.
func (a *app) queued(err error, text string) {
	if err != nil {
		a.giveBack(text)
		a.sayError(err)
	}
	a.readQueue()
}

// run1 runs one prompt beside the loop.
func (a *app) run1(m llm.Message) {
	a.turn(func(ctx context.Context, s session.Handle) agent.Outcome { return s.Prompt(ctx, m) }, typed(&m))
}

// turn lets the model work. words are put back into the editor if nothing was sent.
func (a *app) turn(run func(context.Context, session.Handle) agent.Outcome, words string) {
	s := a.session
	a.work.on, a.work.began, a.work.before = true, a.env.Now(), s.Stats()
	a.readFacts()
	go func() {
		out := run(a.ctx, s.Handle)
		seq := s.Events(0).Seq()
		a.inbox.post(func() { a.after(seq, func() { a.onOutcome(s, out, words) }) })
	}()
}

// onOutcome is called when a prompt has come to its end, behind its last event.
func (a *app) onOutcome(s *opened, out agent.Outcome, words string) {
	if a.session != s {
		return
	}
	a.talk.confirm()
	took := a.env.Now().Sub(a.work.began)
	a.work.on, a.work.retry = false, nil
	a.readQueue()
	a.readFacts()
	a.remember(s)
	if path, ok := s.Path(); ok {
		a.o.Host.Crumb(path)
	}
	a.repo.Refresh()
	switch {
	case errors.Is(out.Err, session.ErrBusy) && a.work.busy != "":
		a.waiting = append(a.waiting, words) // sent when that has ended
	case errors.Is(out.Err, session.ErrBusy), errors.Is(out.Err, session.ErrClosed):
		a.giveBack(words)
		a.notice(card.Warning, oneLine(out.Err.Error()))
	case out.Reason == agent.ReasonError && out.Turns == 0 && out.Err != nil:
		a.giveBack(words)
		a.sayError(out.Err)
	case out.Reason == agent.ReasonRefused, out.Reason == agent.ReasonLoop, out.Reason == agent.ReasonMaxTurns:
		a.sayError(out.Err)
	}
	if took >= a.show.notifyAfter {
		a.attention(a.show.notify, "The work is done: "+elapsed(took)+".")
	}
	a.sendQueued()
}

// sayError shows an error of a run, once: what the model's answer told already is there.
func (a *app) sayError(err error) {
	if err != nil {
		a.notice(card.Failure, oneLine(err.Error()))
	}
}

// sendQueued sends what was queued in the last moment of a run.
func (a *app) sendQueued() {
	if a.queue.empty() || a.session == nil {
		return
	}
	steering, followUps := a.session.Unqueue()
	a.queue = queue{}
	all := append(steering, followUps...)
	if len(all) == 0 {
		return
	}
	for _, m := range all[1:] {
		a.queued(a.session.FollowUp(m), typed(&m))
	}
	a.run1(all[0])
	a.readQueue()
}

// readQueue looks at what waits.
func (a *app) readQueue() {
	a.queue = queue{}
	if a.session == nil {
		return
	}
	steering, followUps := a.session.Queued()
	for _, m := range steering {
		a.queue.steering = append(a.queue.steering, typed(&m))
	}
	for _, m := range followUps {
		a.queue.followUps = append(a.queue.followUps, typed(&m))
	}
}

// stop ends what runs, and gives what waits back to the editor.
func (a *app) stop() bool {
	switch {
	case a.work.cancel != nil:
		a.work.cancel()
		a.work.cancel = nil // what does not listen shall not keep the key from the rest
		a.returnWaiting()
	case a.session != nil && (a.work.on || a.work.busy != ""):
		a.unqueue()
		a.session.Abort()
	default:
		return false
	}
	a.dirty, a.urgent = true, true
	return true
}

// unqueue takes everything that waits back into the editor.
func (a *app) unqueue() {
	a.unqueueSent()
	a.returnWaiting()
}

// unqueueSent takes back what waits in the session that is shown. What is meant for the
// next one goes on waiting.
func (a *app) unqueueSent() {
	if a.session == nil {
		return
	}
	steering, followUps := a.session.Unqueue()
	var words []string
	for _, m := range append(steering, followUps...) {
		words = append(words, typed(&m))
	}
	a.queue = queue{}
	a.giveBack(strings.Join(words, "\n\n"))
}

// giveBack puts words into the editor, before what stands there.
func (a *app) giveBack(words string) {
	if strings.TrimSpace(words) == "" {
		return
	}
	if there := a.editor.Text(); there != "" {
		words += "\n\n" + there
	}
	if err := a.editor.SetText(words); err != nil {
		a.notice(card.Warning, err.Error())
	}
	a.dirty, a.urgent = true, true
}

// sendWaiting sends what could not be sent before.
func (a *app) sendWaiting() {
	waiting := a.waiting
	a.waiting = nil
	for _, text := range waiting {
		a.send(text, steerNow)
	}
}

// returnWaiting gives back what was sent before a session that did not open.
func (a *app) returnWaiting() {
	a.giveBack(strings.Join(a.waiting, "\n\n"))
	a.waiting = nil
}

// task runs something beside the loop that the person waits for and can stop. done runs
// on the loop.
func (a *app) task(what string, run func(ctx context.Context) (done func(), err error)) {
	if a.work.busy != "" {
		a.say(card.Warning, "Wait: "+a.work.busy+" is under way; "+a.keyFor("app.interrupt")+" stops it.")
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	me := new(byte)
	a.work.busy, a.work.since, a.work.cancel, a.work.task = what, a.env.Now(), cancel, me
	go func() {
		done, err := run(ctx)
		stopped := ctx.Err() != nil
		cancel()
		a.inbox.post(func() {
			left := a.work.task != me // its session was, for another one
			if !left {
				a.work.busy, a.work.cancel, a.work.task = "", nil, nil
			}
			switch {
			case left && err == nil:
				a.notice(card.Info, "Done in the session before: "+what+".")
			case stopped && err != nil:
				a.notice(card.Warning, "Stopped: "+what+".")
			case err != nil:
				a.notice(card.Failure, oneLine(err.Error()))
			case done != nil:
				done()
			}
			if a.work.busy == "" && a.session != nil && !a.opening {
				a.sendWaiting()
			}
		})
	}()
}
