package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// work is what goes on in the session.
type work struct {
	on      bool               // a prompt runs
	halt    context.CancelFunc // of it, also where the session does not have it yet
	began   time.Time
	before  session.Stats // when it began
	busy    string        // what else runs: a compaction, a command; "" is nothing
	since   time.Time
	retry   *session.RetryInfo
	retryAt time.Time
	cancel  context.CancelFunc // of what else runs; nil once it was told to stop
	task    *byte              // which of them it is
	first   bool               // what is sent waits until it has ended

	reminders  int     // how often the model was reminded of what is open since the last prompt
	condensing bool    // the conversation is being made smaller
	letter     *letter // that the prompt is made of, until the session has it
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
	if !a.understood(text) {
		a.prompt(text, at)
	}
}

// understood does what words mean that are no prompt.
func (a *app) understood(text string) bool {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "/"):
		return a.command(trimmed)
	case strings.HasPrefix(trimmed, "!"):
		a.shell(trimmed)
		return true
	}
	return false
}

// prompt sends words to the model, with the pictures beside them: now, or where it
// works, into its queue.
func (a *app) prompt(text string, at when) { a.deliver(a.letter(text, at)) }

// typed are the words of a message: without the files that go with it, which they name.
func typed(m *llm.Message) string {
	for _, b := range m.Content {
		if t, ok := b.(llm.Text); ok {
			return t.Text
		}
	}
	return ""
}

// run1 runs one prompt beside the loop.
func (a *app) run1(l *letter) {
	l = a.dispatch(l)
	a.outgoing = append(a.outgoing, l)
	a.turn(func(ctx context.Context, s session.Handle) agent.Outcome {
		m := a.write(l)
		mine := l.take(atSession)
		close(l.passed)
		if !mine {
			return agent.Outcome{}
		}
		a.inbox.post(func() { a.arrived(l) })
		return s.Prompt(ctx, m)
	}, l)
}

// turn lets the model work. l, which may be nil, is put back into the editor if nothing
// was sent.
func (a *app) turn(run func(context.Context, session.Handle) agent.Outcome, l *letter) {
	s := a.session
	ctx, halt := context.WithCancel(a.ctx)
	a.work.on, a.work.began, a.work.before, a.work.letter, a.work.halt = true, a.env.Now(), s.Stats(), l, halt
	a.readFacts()
	go func() {
		defer halt()
		out := run(ctx, s.Handle)
		if l != nil {
			defer close(l.told)
			if l.owner.Load() == atFace {
				return // nothing ran
			}
		}
		seq := s.Events(0).Seq()
		a.inbox.post(func() {
			switch {
			case a.session == s:
				a.after(seq, func() { a.onOutcome(s, out, l) })
			case l != nil && notSent(out):
				a.giveLetters(l) // the session was left in the moment in which it was sent
			}
		})
	}()
}

// notSent reports whether nothing came of a prompt: the session does not have it.
func notSent(out agent.Outcome) bool {
	return out.Turns == 0 && (errors.Is(out.Err, session.ErrUnsent) || out.Reason == agent.ReasonError && out.Err != nil)
}

// onOutcome is called when a prompt has come to its end, behind its last event.
func (a *app) onOutcome(s *opened, out agent.Outcome, l *letter) {
	if a.session != s {
		return
	}
	a.talk.confirm()
	took := a.env.Now().Sub(a.work.began)
	a.work.on, a.work.retry, a.work.letter, a.work.halt = false, nil, nil, nil
	if l == nil {
		l = &letter{}
	}
	a.readQueue()
	a.readFacts()
	a.remember(s)
	if path, ok := s.Path(); ok {
		a.o.Host.Crumb(path)
	}
	a.repo.Refresh()
	switch {
	case errors.Is(out.Err, session.ErrBusy) && a.work.busy != "" && l.text != "":
		a.wait(l.text, enclosed{pictures: l.pictures}) // sent when that has ended
	case errors.Is(out.Err, session.ErrUnsent):
		a.giveLetters(l)
	case out.Reason == agent.ReasonAborted && out.Turns == 0: // no answer says so
		a.notice(card.Warning, "Stopped.")
	case errors.Is(out.Err, session.ErrBusy), errors.Is(out.Err, session.ErrClosed):
		a.giveLetters(l)
		a.notice(card.Warning, oneLine(out.Err.Error()))
	case out.Reason == agent.ReasonError && out.Turns == 0 && out.Err != nil:
		a.giveLetters(l)
		a.sayError(out.Err)
	default:
		a.sayEnd(&out)
	}
	if took >= a.show.notifyAfter {
		a.attention(a.show.notify, "The work is done: "+elapsed(took)+".")
	}
	if out.Reason == agent.ReasonDone {
		a.hintPlan()
	}
	a.sendQueued()
	a.nextRound(s, out.Reason)
}

// sayEnd says why the model does not go on where its last answer does not say it, and
// what to do.
func (a *app) sayEnd(out *agent.Outcome) {
	switch {
	case out.Reason == agent.ReasonMaxTurns:
		a.notice(card.Warning, "Stopped after "+counted(out.Turns, "request", "requests")+" (--max-turns); the work may not be done. /retry goes on.")
	case out.Err == nil:
	case out.Reason == agent.ReasonError:
		a.sayKey(out.Err) // the answer told the error
	case out.Reason == agent.ReasonLoop:
		a.notice(card.Failure, "Stopped: "+oneLine(out.Err.Error())+". Say what it shall do instead.")
	case errors.Is(out.Err, session.ErrGoalBudget):
		a.notice(card.Failure, "Stopped: "+oneLine(out.Err.Error())+"; /goal budget says what it may cost.")
	case errors.Is(out.Err, session.ErrBudget):
		a.notice(card.Failure, "Stopped: "+oneLine(out.Err.Error())+"; start burin with a higher --max-cost to go on.")
	case out.Reason == agent.ReasonRefused:
		a.sayError(out.Err)
	}
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
	letters := a.lettersOf(append(steering, followUps...))
	for i, l := range letters {
		if i == 0 {
			a.run1(l)
			continue
		}
		l.at = afterWork
		a.queueUp(l)
	}
	a.readQueue()
}

// readQueue looks at what waits, on its way there included, and forgets the letters that
// were read.
func (a *app) readQueue() {
	a.queue = queue{}
	if a.session == nil {
		return
	}
	steering, followUps := a.session.Queued()
	there := map[int64]bool{}
	for _, m := range steering {
		a.queue.steering = append(a.queue.steering, typed(&m))
		there[m.Time.UnixNano()] = true
	}
	for _, m := range followUps {
		a.queue.followUps = append(a.queue.followUps, typed(&m))
		there[m.Time.UnixNano()] = true
	}
	for _, l := range a.outgoing {
		switch {
		case there[l.sent.UnixNano()] || l == a.work.letter:
		case l.at == afterWork:
			a.queue.followUps = append(a.queue.followUps, l.text)
		default:
			a.queue.steering = append(a.queue.steering, l.text)
		}
	}
	a.letters = slices.DeleteFunc(a.letters, func(l *letter) bool {
		return !there[l.sent.UnixNano()] && !slices.Contains(a.outgoing, l)
	})
}

// stop ends what runs, and gives what waits back to the editor.
func (a *app) stop() bool {
	switch {
	case a.work.cancel != nil:
		a.work.cancel()
		a.work.cancel = nil // what does not listen shall not keep the key from the rest
		a.returnWaiting()
	case a.session != nil && (a.work.on || a.work.busy != "" || len(a.outgoing) > 0):
		a.unqueue()
		a.session.Abort()
		if a.work.halt != nil {
			a.work.halt()
		}
	case a.opening && len(a.waiting) > 0:
		a.returnWaiting()
	case a.stopOwn():
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
	back := a.recall()
	steering, followUps := a.session.Unqueue()
	a.giveLetters(append(a.lettersOf(append(steering, followUps...)), back...)...)
	a.queue = queue{}
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
	a.changed() // nobody else has them now
	a.dirty, a.urgent = true, true
}

// ahead is a task that what is sent next builds on: it waits for it.
func (a *app) ahead(what string, run func(ctx context.Context) (done func(), err error)) {
	if a.work.busy == "" {
		a.work.first = true
	}
	a.task(what, run)
}

// task runs something beside the loop that the person waits for and can stop. done runs
// on the loop.
func (a *app) task(what string, run func(ctx context.Context) (done func(), err error)) {
	if a.work.busy != "" {
		a.say(card.Warning, "Wait: "+a.work.busy+" is under way; "+a.keyFor("app.interrupt")+" stops it.")
		a.giveBack(a.words)
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
				a.work.busy, a.work.cancel, a.work.task, a.work.first = "", nil, nil, false
			}
			switch {
			case left && err == nil && done == nil: // it has told its end itself, or there is nothing to tell
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
