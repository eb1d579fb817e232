package tui

import (
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/prose"
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

// leavingLine says that a session is being closed, while it is.
type leavingLine struct {
	*leaving
	show *appearance
}

func (b *leavingLine) kind() kind { return told }

func (b *leavingLine) rows(v look) ([]string, int) {
	if b.closed || !b.told {
		return nil, 0
	}
	now := b.show.env.Now()
	w := panel.Work{Words: b.words, Elapsed: now.Sub(b.since), Frame: spinFrame(now)}
	return b.show.workRows(w, panel.View{Width: v.Width, Styles: v.Styles}), 0
}

func (b *leavingLine) done() bool { return b.closed }

func (b *leavingLine) drop() {}

// leave closes the session that is shown. then runs on the loop when no session is open
// any more, behind what waits for that already; until then the face opens no other.
func (sw *switcher) leave(then func()) {
	if l := sw.leaving; l != nil {
		l.then = append(l.then, then)
		return
	}
	s := sw.session
	if s == nil {
		then()
		return
	}
	l := &leaving{of: s, words: sw.waitsFor(), since: sw.env.Now(), done: make(chan struct{}), then: []func(){then}}
	if s.Owns() {
		sw.outbox.unqueueSent(true) // what waits was meant for a person's eyes at least
	} else { // what the session has goes on without this face
		sw.outbox.giveBack(sw.outbox.recall(true)...)
	}
	sw.session, sw.leaving = nil, l
	// The line of what is left says enough; that of what is opened would be a second one.
	sw.opening, sw.openSince = true, l.since.Add(24*time.Hour)
	s.stop()
	sw.left()
	sw.remember(s)
	sw.talk.abandon()
	if sw.work.cancel != nil {
		sw.work.cancel() // it would go on for a session that nobody sees
	}
	comesBack := slices.Clone(sw.outbox.outgoing)
	sw.work.reset()
	sw.outbox.reset()
	sw.repeater.leave()
	sw.asks.dismiss()
	sw.talk.add(&leavingLine{l, sw.show})
	go func() {
		l.err = s.Close()
		hear(comesBack)
		close(l.done)
		sw.inbox.post(func() { sw.onLeft(l) })
	}()
	l.timer = time.AfterFunc(leaveTime, func() { sw.inbox.post(func() { l.told = true }) })
}

// onLeft goes on when a session is closed.
func (sw *switcher) onLeft(l *leaving) {
	if l.closed {
		return
	}
	l.closed = true
	l.timer.Stop()
	sw.leaving, sw.opening = nil, false
	sw.shell.end(l.of)
	if l.err != nil {
		sw.notice(card.Warning, prose.Line(l.err.Error()))
	}
	for i, f := range l.then {
		if sw.leaving != nil { // one of them has opened another, and closes it
			sw.leaving.then = append(sw.leaving.then, l.then[i:]...)
			break
		}
		f()
	}
	if sw.exit.ending && sw.leaving == nil {
		sw.exit.quit = true
	}
	sw.redraw()
}

// waitsFor says what closing the session is going to wait for.
func (sw *switcher) waitsFor() string {
	words := "Closing the session"
	switch n := len(sw.talk.calls); {
	case n > 1:
		return words + ": waiting for " + prose.Count(n, "call") + " to end"
	case n == 1:
		for _, c := range sw.talk.calls {
			words += ": waiting for " + prose.Line(c.card.Name) + " to end"
		}
	case sw.work.busy != "":
		words += ": waiting for " + sw.work.busy + " to end"
	}
	return words
}

// remember notes the file of the session, to be gone on with.
func (sw *switcher) remember(s *opened) {
	if path, ok := s.Path(); ok {
		sw.last = path
	}
}
