package tui

import (
	"context"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
)

// leaveTime is how long closing a session may take before that is told: most are closed
// before anybody could read it.
const leaveTime = 250 * time.Millisecond

// leaving is a session that is being closed, beside the loop: a tool that does not end
// may hold that up for seconds.
type leaving struct {
	of     *opened
	words  string // what it waits for
	since  time.Time
	told   bool        // it takes long enough to be told
	timer  *time.Timer // until that
	done   chan struct{}
	err    error    // of closing; good when done is closed
	closed bool     // the loop knows
	then   []func() // what comes after it, in order
}

// leave closes the session that is shown. then runs on the loop when no session is open
// any more, behind what waits for that already; until then the face opens no other.
func (a *app) leave(then func()) {
	if l := a.leaving; l != nil {
		l.then = append(l.then, then)
		return
	}
	s := a.session
	if s == nil {
		then()
		return
	}
	l := &leaving{of: s, words: a.waitsFor(), since: a.env.Now(), done: make(chan struct{}), then: []func(){then}}
	a.unqueueSent() // what waits was meant for a person's eyes at least
	a.session, a.leaving = nil, l
	// The line of what is left says enough; that of what is opened would be a second one.
	a.opening, a.openSince = true, l.since.Add(24*time.Hour)
	s.stop()
	a.remember(s)
	a.talk.abandon()
	if a.work.cancel != nil {
		a.work.cancel() // it would go on for a session that nobody sees
	}
	comesBack := slices.Clone(a.outgoing)
	if a.work.letter != nil {
		comesBack = append(comesBack, a.work.letter)
	}
	a.work, a.queue = work{}, queue{}
	a.leaveRounds()
	a.dismissAsks()
	a.talk.add(&leavingLine{l, a})
	go func() {
		l.err = s.Close()
		hear(comesBack)
		close(l.done)
		a.inbox.post(func() { a.onLeft(l) })
	}()
	l.timer = time.AfterFunc(leaveTime, func() { a.inbox.post(func() { l.told = true }) })
}

// hear waits until the loop was told what became of letters that a closed session had in
// its hands: that is at once, unless something in it did not end.
func hear(letters []*letter) {
	late := time.After(leaveTime)
	for _, l := range letters {
		select {
		case <-l.told:
		case <-late:
			return
		}
	}
}

// onLeft goes on when a session is closed.
func (a *app) onLeft(l *leaving) {
	if l.closed {
		return
	}
	l.closed = true
	l.timer.Stop()
	a.leaving, a.opening = nil, false
	a.endOwn(l.of)
	if l.err != nil {
		a.notice(card.Warning, oneLine(l.err.Error()))
	}
	for i, f := range l.then {
		if a.leaving != nil { // one of them has opened another, and closes it
			a.leaving.then = append(a.leaving.then, l.then[i:]...)
			break
		}
		f()
	}
	if a.ending && a.leaving == nil {
		a.quit = true
	}
	a.dirty, a.urgent = true, true
}

// waitsFor says what closing the session is going to wait for.
func (a *app) waitsFor() string {
	words := "Closing the session"
	switch n := len(a.talk.calls); {
	case n > 1:
		return words + ": waiting for " + counted(n, "call", "calls") + " to end"
	case n == 1:
		for _, c := range a.talk.calls {
			words += ": waiting for " + oneLine(c.card.Name) + " to end"
		}
	case a.work.busy != "":
		words += ": waiting for " + a.work.busy + " to end"
	}
	return words
}

// leavingLine says that a session is being closed, while it is.
type leavingLine struct {
	*leaving
	a *app
}

func (b *leavingLine) kind() kind { return told }

func (b *leavingLine) rows(v look) ([]string, int) {
	if b.closed || !b.told {
		return nil, 0
	}
	now := b.a.env.Now()
	w := panel.Work{Words: b.words, Elapsed: now.Sub(b.since), Frame: b.a.spinFrame(now)}
	return b.a.workRows(w, panel.View{Width: v.Width, Styles: v.Styles}), 0
}

func (b *leavingLine) done() bool { return b.closed }

func (b *leavingLine) drop() {}

// over reports whether the loop has nothing more to do. The session is closed first, and
// the screen lives meanwhile, unless nobody can see it any more.
func (a *app) over() bool {
	switch {
	case !a.quit:
		return false
	case a.atOnce || a.err != nil || a.ctx.Err() != nil:
		return true
	case a.session == nil && a.leaving == nil:
		return true
	}
	a.quit, a.ending = false, true
	a.lastStop = time.Time{} // the keys that have led here do not lead further
	if a.session != nil {
		a.leave(func() {})
	}
	a.dirty, a.urgent = true, true
	return false
}

// remember notes the file of the session, to be gone on with.
func (a *app) remember(s *opened) {
	if path, ok := s.Path(); ok {
		a.last = path
	}
}

// notWaited is said where the person did not wait.
const notWaited = "burin did not wait until the session was closed: what still ran is stopped, and its result is not kept."

// end gives the terminal back.
func (a *app) end() {
	a.stopKeys()
	a.ending = true
	if a.session != nil {
		a.leave(func() {})
	}
	a.giveLetters(a.recall()...)
	a.returnWaiting()
	a.keepUnsent() // it ends also by signals, with words in the prompt
	if a.full {
		a.term.Alternate(false)
		_ = a.screen.LeaveFullscreen()
		a.full = false
	}
	a.panes = nil
	for a.leaving != nil && !a.atOnce {
		<-a.leaving.done
		posts, _ := a.inbox.take(nil, nil) // prompts may come back, and a session that was being opened
		for _, f := range posts {
			f()
		}
		if a.leaving != nil {
			a.onLeft(a.leaving)
		}
		if a.session != nil {
			a.leave(func() {})
		}
	}
	a.returnWaiting()
	a.keepUnsent()
	if l := a.leaving; l != nil {
		l.closed = true
		a.notice(card.Warning, notWaited)
	}
	a.endServices()
	if a.ctx.Err() != nil {
		a.term.Hurry() // anew: closing the session took its time
	}
	if a.ready {
		_ = a.talk.settle(a.screen)
		_ = a.screen.Commit(a.talk.rows(nil)) // what was cut off
	}
	_ = a.screen.Clear()
	a.inbox.end()
	a.term.Stop()
	if a.moveTo[0] != "" { // the session is closed now, and can be moved
		if _, err := a.o.Host.Command(context.WithoutCancel(a.ctx), "sessions", "move", a.moveTo[0], a.moveTo[1]); err != nil {
			a.err = err
		}
		a.last = ""
	}
}
