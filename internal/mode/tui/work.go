package tui

import (
	"context"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// work is what goes on: the model's work on a prompt, and what the person waits for beside
// it.
type work struct {
	*base
	*current
	facts    *facts
	composer *composer
	show     *appearance
	idle     func() // called when what the person waited for has ended
	workState
}

// workState is how far it has come; the zero value is none.
type workState struct {
	on      bool // a prompt runs
	began   time.Time
	before  session.Stats // when it began
	busy    string        // what else runs: a compaction, a command; "" is nothing
	since   time.Time
	retry   *session.RetryInfo
	retryAt time.Time
	cancel  context.CancelFunc // of what else runs; nil once it was told to stop
	running *byte              // which of them it is
	first   bool               // what is sent waits until it has ended

	reminders  int     // how often the model was reminded of what is open since the last prompt
	condensing bool    // the conversation is being made smaller
	letter     *letter // that began it, until the session has that
}

// reset forgets what went on in a session that is left.
func (w *work) reset() { w.workState = workState{} }

// rows appends the line that says that something runs.
func (w *work) rows(rows []string, v panel.View, now time.Time, asked bool) []string {
	stop := w.keyFor("app.interrupt")
	switch r := w.retry; {
	case r != nil:
		return append(rows, panel.Retry(panel.Retrying{
			In: max(w.retryAt.Sub(now), 0), Attempt: r.Attempt, Max: r.Max, Reason: r.Error, Key: stop,
		}, v)...)
	case w.busy != "":
		return append(rows, w.show.workRows(panel.Work{Frame: spinFrame(now), Words: sentence(w.busy), Elapsed: now.Sub(w.since), Key: stop}, v)...)
	case w.on && asked:
		return rows // a question says enough
	case w.on:
		words := "Working"
		if w.condensing {
			words = "Condensing the conversation"
		}
		written := w.facts.status.Usage.Output - w.before.Usage.Output
		return append(rows, w.show.workRows(panel.Work{Frame: spinFrame(now), Words: words, Elapsed: now.Sub(w.began), Tokens: written, Key: stop}, v)...)
	case w.opening && w.env.Now().Sub(w.openSince) > time.Second:
		return append(rows, w.show.workRows(panel.Work{Words: "Opening the session", Elapsed: now.Sub(w.openSince), Frame: spinFrame(now)}, v)...)
	}
	return rows
}

// begin notes that a prompt runs.
func (w *work) begin(since time.Time) {
	w.on, w.began, w.before = true, since, w.session.Stats()
	w.facts.read()
}

// rest notes that none runs any more.
func (w *work) rest() {
	w.on, w.retry, w.letter = false, nil, nil
	w.dirty = true
}

// resend has the model answer again.
func (w *work) resend() {
	s := w.session
	w.begin(w.env.Now())
	go func() {
		if _, err := s.Conversation().Resend(w.ctx); err != nil {
			w.inbox.post(func() {
				if w.session == s {
					w.rest()
					w.sayError(err)
				}
			})
		}
	}()
}

// ahead is a task that what is sent next builds on: it waits for it.
func (w *work) ahead(what string, run func(ctx context.Context) (done func(), err error)) {
	if w.busy == "" {
		w.first = true
	}
	w.task(what, run)
}

// task runs something beside the loop that the person waits for and can stop. done runs
// on the loop.
func (w *work) task(what string, run func(ctx context.Context) (done func(), err error)) {
	if w.busy != "" {
		w.notice(card.Warning, "Wait: "+w.busy+" is in progress; "+w.keyFor("app.interrupt")+" stops it.")
		w.composer.refuse()
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	me := new(byte)
	w.busy, w.since, w.cancel, w.running = what, w.env.Now(), cancel, me
	go func() {
		done, err := run(ctx)
		stopped := ctx.Err() != nil
		cancel()
		w.inbox.post(func() {
			left := w.running != me // its session was, for another one
			if !left {
				w.busy, w.cancel, w.running, w.first = "", nil, nil, false
			}
			switch {
			case left && err == nil && done == nil: // it has told its end itself, or there is nothing to tell
			case left && err == nil:
				w.notice(card.Info, "Done in the session before: "+what+".")
			case stopped && err != nil:
				w.notice(card.Warning, "Stopped: "+what+".")
			case err != nil:
				w.notice(card.Failure, prose.Line(err.Error()))
			case done != nil:
				done()
			}
			if w.busy == "" && w.session != nil && !w.opening {
				w.idle()
			}
		})
	}()
}
