package tui

import (
	"context"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
)

// notWaited is said where the person did not wait.
const notWaited = "burin quit before the session was closed: what still ran was stopped, and its result is lost."

const (
	// frameTime is the least time between frames for events of the session. Keys do not
	// wait for it.
	frameTime = 33 * time.Millisecond
	// spinTime is the time of one frame of the spinner.
	spinTime = 100 * time.Millisecond
	// resizeTime is how long nothing is drawn after the size has changed. A window that is
	// dragged changes faster than the program is told, and what is drawn for a size that
	// is gone is not where it is looked for.
	resizeTime = 50 * time.Millisecond
	// answerTime is how long the terminal's answers about itself are waited for before
	// lines go into the scrollback, whose colours depend on them.
	answerTime = 150 * time.Millisecond
)

// app is the face. All of it belongs to the loop's goroutine.
type app struct {
	*base
	*current
	*exit
	o Options

	display  *display
	panes    *panes
	show     *appearance
	composer *composer
	prompt   *prompt
	facts    *facts
	work     *work
	outbox   *outbox
	asks     *questions
	shell    *shell
	brake    *brake
	switcher *switcher
	commands *commands
	groups   *groups
	greeter  *greeter
	listener *listener
	input    *input
	follower *follower

	drawn time.Time // the last frame
	rows  []string  // memory of draw
}

// run is the life of the face.
func (a *app) run(ctx context.Context) (Ended, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.ctx = ctx
	if err := a.start(); err != nil {
		return Ended{}, err
	}
	defer a.terminalBack()
	defer context.AfterFunc(ctx, a.display.term.Hurry)()
	a.draw()
	a.display.startKeys()
	a.afterFirstPaint()
	a.loop(ctx)
	a.end()
	return Ended{Last: a.switcher.last, Moved: a.moved.File, MovedTo: a.moved.Dir, Demo: a.demo, Detached: a.detach}, a.err
}

// terminalBack gives the terminal back also where the loop crashed.
func (a *app) terminalBack() { a.display.term.Stop() }

func (a *app) loop(ctx context.Context) {
	var posts []func()
	var events []sessionEvent
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	for !a.over() {
		if next := a.frame(); next > 0 {
			timer.Reset(next)
		} else {
			timer.Stop()
		}
		select {
		case ev := <-a.display.keys:
			a.onKeys(ev)
		case <-a.inbox.wake:
			posts, events = a.inbox.take(posts, events)
			for i := range events {
				a.listener.onEvent(&events[i])
			}
			for _, f := range posts {
				if f != nil {
					f()
				}
				a.redraw()
			}
		case <-a.display.sizes:
			a.display.resize()
		case <-timer.C:
			a.onTimer()
		case <-ctx.Done():
			a.quit = true
		}
	}
}

// onKeys handles an event and all that are there already, so that typing ahead costs
// one frame.
func (a *app) onKeys(ev key.Event) {
	for n := 0; ; n++ {
		a.input.onKey(ev)
		if n == 256 || a.quit {
			return
		}
		select {
		case ev = <-a.display.keys:
		default:
			return
		}
	}
}

// frame draws if it is time to, and says after which time to come back; 0 is never.
func (a *app) frame() time.Duration {
	if a.quit {
		return 0
	}
	now := a.env.Now()
	a.tick(now)
	if left := resizeTime - now.Sub(a.display.resized); a.dirty && left > 0 {
		return left
	}
	since := now.Sub(a.drawn)
	if a.dirty && (a.urgent || since >= frameTime) {
		// What tells of a change comes later than the change, and lines that are too wide would be cut.
		w, h := a.display.term.Size()
		if drawn, rows := a.display.screen.Size(); w != drawn || h != rows {
			a.display.resize()
			return resizeTime
		}
		a.draw()
		since = 0
	}
	next := a.hint.left(now)
	switch {
	case a.dirty:
		next = frameTime - since
	case !a.display.ready:
		next = answerTime
	case a.moving():
		next = max(spinTime-since, time.Millisecond)
	}
	if due := a.panes.due(); !due.IsZero() {
		if left := max(due.Sub(now), time.Millisecond); next == 0 || left < next {
			next = left
		}
	}
	return next
}

// tick tells the pane with the keys that its time has come. Keys that are there already
// come first: they were pressed before.
func (a *app) tick(now time.Time) {
	due := a.panes.due()
	if due.IsZero() || now.Before(due) {
		return
	}
	select {
	case ev := <-a.display.keys:
		a.onKeys(ev)
	default:
		a.panes.top().(pane.Timed).Tick()
	}
	a.redraw()
}

// onTimer is a frame that is due, a step of what moves, or the end of waiting.
func (a *app) onTimer() {
	if !a.display.ready {
		a.greeter.known()
	}
	a.hint.expire(a.env.Now())
	a.redraw()
}

// moving reports whether something is shown that moves by itself.
func (a *app) moving() bool {
	return !a.show.screenReader && a.show.spinner && !a.display.full && len(a.asks.list) == 0 && (a.work.on || a.work.busy != "" || a.switcher.leaving != nil)
}

// showsTime is the time if it is drawn again while it passes; else zero.
func (a *app) showsTime(now time.Time) time.Time {
	if a.moving() {
		return now
	}
	return time.Time{}
}

// draw shows everything as it is now.
func (a *app) draw() {
	now := a.env.Now()
	a.dirty, a.urgent, a.drawn = false, false, now
	width, height := a.display.screen.Size()
	a.talk.look.Width = width
	a.display.term.Mouse(a.wantsMouse())
	if a.display.full {
		if top := a.panes.top(); top != nil {
			rows, cursor := top.Draw(width, height)
			a.failed(a.display.screen.Draw(rows, cursor))
			return
		}
	}
	if a.display.ready {
		a.failed(a.talk.settle(a.display.screen))
	}
	a.talk.tick(a.showsTime(now))
	rows, cursor := a.compose(width, height, now)
	a.failed(a.display.screen.Draw(rows, cursor))
}

// over reports whether the loop has nothing more to do. The session is closed first, and
// the screen lives meanwhile, unless nobody can see it any more.
func (a *app) over() bool {
	switch {
	case !a.quit:
		return false
	case a.atOnce || a.err != nil || a.ctx.Err() != nil:
		return true
	case a.session == nil && a.switcher.leaving == nil:
		return true
	}
	a.quit, a.ending = false, true
	a.input.lastStop = time.Time{} // the keys that have led here do not lead further
	if a.session != nil {
		a.switcher.leave(func() {})
	}
	a.redraw()
	return false
}

// end gives the terminal back.
func (a *app) end() {
	a.display.stopKeys()
	a.ending = true
	if a.session != nil {
		a.switcher.leave(func() {})
	}
	a.outbox.giveBack(a.outbox.recall(true)...)
	a.outbox.returnWaiting()
	a.composer.unsent.keep() // it ends also by signals, with words in the prompt
	if a.display.full {
		a.display.term.Alternate(false)
		_ = a.display.screen.LeaveFullscreen()
		a.display.full = false
	}
	a.panes.clear()
	for a.switcher.leaving != nil && !a.atOnce {
		<-a.switcher.leaving.done
		posts, _ := a.inbox.take(nil, nil) // prompts may come back, and a session that was being opened
		for _, f := range posts {
			f()
		}
		if a.switcher.leaving != nil {
			a.switcher.onLeft(a.switcher.leaving)
		}
		if a.session != nil {
			a.switcher.leave(func() {})
		}
	}
	a.outbox.returnWaiting()
	a.composer.unsent.keep()
	if l := a.switcher.leaving; l != nil {
		l.closed = true
		a.notice(card.Warning, notWaited)
	}
	a.facts.repo.Close()
	a.follower.close()
	a.composer.close()
	if a.ctx.Err() != nil {
		a.display.term.Hurry() // anew: closing the session took its time
	}
	if a.display.ready {
		_ = a.talk.settle(a.display.screen)
		_ = a.display.screen.Commit(a.talk.rows(nil)) // what was cut off
	}
	_ = a.display.screen.Clear()
	a.inbox.end()
	a.display.term.Stop()
	if a.moveTo[0] != "" { // the session is closed now, and can be moved
		moved, err := a.groups.archives.moveFile(context.WithoutCancel(a.ctx), a.moveTo[0], a.moveTo[1])
		if err != nil {
			a.err = err
			return
		}
		a.moved, a.switcher.last = moved, ""
	}
}
