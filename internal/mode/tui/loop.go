package tui

import (
	"context"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/viewer"
)

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
	o      Options
	env    *pane.Env
	term   terminalOf
	screen *screen.Screen
	inbox  *inbox
	keys   chan key.Event
	ctx    context.Context // of everything that runs beside the loop; ends with it
	sizes  chan os.Signal

	talk   *talk
	editor *editor.Editor
	panes  []pane.Pane // the last one has the keys
	facts  facts
	show   appearance

	session *opened // nil while none is open
	seen    uint64  // the last event of it that was shown
	later   []behind
	opening bool     // a session is being opened, or closed before that
	had     bool     // one was shown
	leaving *leaving // the session that is being closed; nil: none is
	work    work
	rounds  *rounds // of a loop; nil: there is none
	queue   queue
	asks    []*ask
	own     []*own // commands of the person's that run

	letters  []*letter        // that the session has not read yet
	outgoing []*letter        // those of them that it does not have yet, in order
	waiting  []string         // what was sent before the session was open, or while it was busy
	enclosed map[int]enclosed // what goes with that, by how many waited before it ever
	passedOn int              // how many have waited before the first that waits now

	dirty    bool      // something has to be drawn
	urgent   bool      // at once
	drawn    time.Time // the last frame
	resized  time.Time // the last change of the size
	ready    bool      // the terminal has answered
	full     bool      // the alternate screen is shown
	focus    notify.Focus
	lastEsc  time.Time
	lastStop time.Time
	hint     hint
	rows     []string // memory of draw

	services
	commands   []command
	offers     []complete.Command // all of them, for completion
	fromFiles  []complete.Command
	lookedFor  bool     // commands that are files
	unknown    string   // a command that nobody knows, and that was sent once
	words      string   // of the command that is being called, for who must refuse it
	beforePlan string   // the mode that plan mode came after
	planTold   bool     // how to go on from a plan
	warnings   []string // of sessions that were opened, each once
	badTheme   string   // the one that cannot be read, once that was said
	openSince  time.Time
	viewer     *viewer.Viewer // while it is shown
	stopKeys   func()
	unsent     unsent
	moveTo     [2]string // the session's file, and the folder that it is to be moved to

	quit   bool // the person leaves, or the terminal is gone
	ending bool // the person has left: what is open is being closed
	atOnce bool // without waiting for that
	last   string
	err    error
}

// run is the life of the face.
func (a *app) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.ctx = ctx
	if err := a.start(); err != nil {
		return "", err
	}
	defer a.terminalBack()
	defer context.AfterFunc(ctx, a.term.Hurry)()
	a.draw()
	a.startKeys()
	a.afterFirstPaint()
	a.loop(ctx)
	a.end()
	return a.last, a.err
}

// terminalBack gives the terminal back also where the loop crashed.
func (a *app) terminalBack() { a.term.Stop() }

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
		case ev := <-a.keys:
			a.onKeys(ev)
		case <-a.inbox.wake:
			posts, events = a.inbox.take(posts, events)
			for i := range events {
				a.onEvent(&events[i])
			}
			for _, f := range posts {
				if f != nil {
					f()
				}
				a.dirty, a.urgent = true, true
			}
		case <-a.sizes:
			a.onResize()
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
		a.onKey(ev)
		if n == 256 || a.quit {
			return
		}
		select {
		case ev = <-a.keys:
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
	if left := resizeTime - now.Sub(a.resized); a.dirty && left > 0 {
		return left
	}
	since := now.Sub(a.drawn)
	if a.dirty && (a.urgent || since >= frameTime) {
		a.draw()
		since = 0
	}
	next := a.hint.left(now)
	switch {
	case a.dirty:
		next = frameTime - since
	case !a.ready:
		next = answerTime
	case a.moving():
		next = max(spinTime-since, time.Millisecond)
	}
	if due := a.due(); !due.IsZero() {
		if left := max(due.Sub(now), time.Millisecond); next == 0 || left < next {
			next = left
		}
	}
	return next
}

// due is when the pane with the keys wants to be told of the time; zero: never.
func (a *app) due() time.Time {
	if p, ok := a.top().(pane.Timed); ok {
		return p.Due()
	}
	return time.Time{}
}

// tick tells the pane with the keys that its time has come. Keys that are there already
// come first: they were pressed before.
func (a *app) tick(now time.Time) {
	due := a.due()
	if due.IsZero() || now.Before(due) {
		return
	}
	select {
	case ev := <-a.keys:
		a.onKeys(ev)
	default:
		a.top().(pane.Timed).Tick()
	}
	a.dirty, a.urgent = true, true
}

// onTimer is a frame that is due, a step of what moves, or the end of waiting.
func (a *app) onTimer() {
	if !a.ready {
		a.terminalKnown()
	}
	a.hint.expire(a.env.Now())
	a.dirty, a.urgent = true, true
}

// moving reports whether something is shown that moves by itself.
func (a *app) moving() bool {
	return !a.show.screenReader && a.show.spinner && !a.full && len(a.asks) == 0 && (a.work.on || a.work.busy != "" || a.leaving != nil)
}

// readKeys reads the terminal until ctx ends or the terminal is gone.
func (a *app) readKeys(ctx context.Context) {
	err := key.NewReader(a.term, key.Options{}).Run(ctx, a.keys)
	if ctx.Err() == nil {
		a.inbox.post(func() { a.quit, a.err = true, err })
	}
}

// draw shows everything as it is now.
func (a *app) draw() {
	now := a.env.Now()
	a.dirty, a.urgent, a.drawn = false, false, now
	width, height := a.screen.Size()
	a.talk.look.Width = width
	if a.full {
		if top := a.top(); top != nil {
			rows, cursor := top.Draw(width, height)
			a.failed(a.screen.Draw(rows, cursor))
			return
		}
	}
	if a.ready {
		a.failed(a.talk.settle(a.screen))
	}
	rows, cursor := a.compose(width, height, now)
	a.failed(a.screen.Draw(rows, cursor))
}

// failed ends the face when the terminal can no longer be written.
func (a *app) failed(err error) {
	switch {
	case err == nil || a.quit:
	case a.ctx.Err() != nil: // it was told to end, and does not wait for the terminal
		a.quit = true
	default:
		a.quit, a.err = true, err
	}
}

// notice says something in the conversation.
func (a *app) notice(l card.Level, text string) {
	a.talk.notice(l, text)
	a.dirty = true
}
