package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// terminalOf is what the face uses of its terminal.
type terminalOf interface {
	io.ReadWriter
	Start() error
	Stop()
	Guard(report string) error
	Reply(key.Reply) (last bool)
	Alternate(on bool)
	Size() (width, height int)
	SetReadDeadline(time.Time) error
	Hurry()
	Foreground() bool
	Lend() (in, out *os.File, err error)
}

// opened is the session that is shown.
type opened struct {
	session.Handle
	stop context.CancelFunc // of following its events
}

func newApp(o Options) *app {
	a := &app{o: o, term: o.Terminal, inbox: newInbox(), keys: make(chan key.Event, 256), talk: newTalk()}
	a.show = appearanceOf(o.Settings)
	a.env = &pane.Env{Post: a.inbox.post, Now: time.Now, Links: a.show.links(o.Getenv)}
	a.facts.init(o)
	return a
}

// start takes the terminal and makes what the first picture needs.
func (a *app) start() error {
	keys, problems := a.readBindings()
	a.env.Keys = keys
	a.statusLine()
	a.talk.images = a.showPicture
	a.talk.look.HideThinking = a.show.hideThinking
	a.chooseStyles(theme.DetectBackground("", a.o.Getenv("COLORFGBG")))
	if err := a.term.Start(); err != nil {
		return err
	}
	a.commands = commands()
	a.startServices()
	w, h := a.term.Size()
	a.screen = screen.New(a.term, screen.Options{Width: w, Height: h, Sync: true, Reflow: screen.Reflows(a.o.Getenv), Now: a.env.Now, Hidden: a.hidden})
	a.editor = editor.New(editor.Options{
		Keys: keys, Placeholder: a.placeholder(), Styles: a.editorStyles(),
		History: a.history.Prefix, Completer: a.completer, OnProblem: func(err error) { a.say(card.Warning, err.Error()) },
	})
	for _, p := range problems {
		a.notice(card.Warning, p.Error())
	}
	a.watchSize()
	return nil
}

// afterFirstPaint starts what the first picture did not need.
func (a *app) afterFirstPaint() {
	if err := a.term.Guard(a.crashReport()); err != nil {
		a.notice(card.Warning, fmt.Sprintf("the terminal cannot be restored after a crash: %v", err))
	}
	if a.o.Prompt != "" {
		a.waiting = append(a.waiting, a.o.Prompt)
	}
	switch {
	case a.needsSetup():
		a.openSetup("")
	case a.o.Choose:
		a.resume("")
	default:
		a.open(Wish{})
	}
	a.repo.Refresh()
	a.history.Load()
	go a.findUnsent()
}

// terminalKnown is called when the terminal has said what it can, or has had its time.
func (a *app) terminalKnown() {
	if a.ready {
		return
	}
	a.ready = true
	if a.show.quiet {
		return
	}
	a.talk.say(told, a.greeting)
	// The greeting stands above what was said meanwhile.
	last := len(a.talk.blocks) - 1
	greeting := a.talk.blocks[last]
	copy(a.talk.blocks[1:], a.talk.blocks[:last])
	a.talk.blocks[0] = greeting
	a.dirty, a.urgent = true, true
}

// largeSession is from how many entries on the memory that reading a session took is
// given back to the system at once. Go would do so at its next collection, which an idle
// program does not reach for minutes.
const largeSession = 5000

// open opens a session beside the loop. What is typed meanwhile waits, other wishes
// included.
func (a *app) open(w Wish) {
	switch {
	case a.ending:
		return
	case a.opening:
		a.waitFor(w)
		return
	case w.Resume != "" && a.session != nil:
		if path, _ := a.session.Path(); path == w.Resume { // its lock is ours until it is closed
			a.leave(func() { a.open(w) })
			return
		}
	}
	a.opening, a.openSince = true, a.env.Now()
	w.Approver, w.Questioner, w.Secret = a, a, a.askSecret
	o := &opening{}
	w.Warn = func(line string) { a.inbox.post(func() { a.warned(o, line) }) }
	go func() {
		s, err := a.o.Open(a.ctx, w)
		var past []seen
		if err == nil {
			past = recent(s.Log())
		}
		a.inbox.post(func() { a.onOpen(s, past, err, o) })
		if err == nil && s.Log().Len() > largeSession {
			debug.FreeOSMemory() // reading left several times of what is kept
		}
	}()
}

// opening is what is known of a session before it is shown.
type opening struct {
	warnings []string
	over     bool // it is shown, or never will be
}

// warned takes a warning of a session. Until it is shown, the one before may still have
// something to say.
func (a *app) warned(o *opening, line string) {
	if !o.over {
		o.warnings = append(o.warnings, line)
		return
	}
	a.notice(card.Warning, line)
}

// tellWarnings says what a session warned of while it was opened, and no other did before.
func (a *app) tellWarnings(o *opening) {
	o.over = true
	for _, line := range o.warnings {
		if !slices.Contains(a.warnings, line) {
			a.warnings = append(a.warnings, line)
			a.notice(card.Warning, line)
		}
	}
}

// onOpen shows the session that was opened, when the one before is closed.
func (a *app) onOpen(s session.Handle, past []seen, err error, o *opening) {
	if err != nil {
		a.opening = false
		a.tellWarnings(o)
		a.notice(card.Failure, notOpened(err))
		a.giveLetters(a.waited(false)...)
		a.sendWaiting() // what is left is for the session that was wished for next
		return
	}
	a.leave(func() { a.showSession(s, past, o) })
}

// showSession goes on with a session.
func (a *app) showSession(s session.Handle, past []seen, o *opening) {
	a.opening = false
	ctx, cancel := context.WithCancel(a.ctx)
	a.session = &opened{Handle: s, stop: cancel}
	if a.ending {
		return // it is closed next
	}
	if a.had {
		title := s.Stats().Title
		switch {
		case title != "":
			title = "Going on with: " + oneLine(title)
		case len(past) > 0:
			title = "Going on with another session."
		default:
			title = "A new session."
		}
		a.notice(card.Info, title)
	}
	a.had = true
	feed := s.Events(0)
	a.seen, a.later = feed.Seq()-1, nil // it may have said something already
	go a.inbox.follow(ctx, a.session, feed)
	a.talk.labels = map[string]string{}
	for _, t := range s.Tools() {
		a.talk.labels[t.Name] = t.Label
	}
	if len(past) > 0 {
		a.replay(s.Log(), past)
	}
	a.tellWarnings(o)
	a.facts.cache = nil
	a.readFacts()
	a.readTodos()
	a.readJobs()
	a.fileCommands()
	a.sendWaiting()
	a.dirty, a.urgent = true, true
}

// notOpened says why there is no session, and what to do here.
func notOpened(err error) string {
	var none *credential.NotFoundError
	switch {
	case errors.As(err, &none) && len(none.Disabled) == 0 && len(none.Providers) == 1:
		return "There is no key for " + none.Providers[0] + ": /login " + none.Providers[0] + " stores one, /model chooses another model."
	case errors.As(err, &none) && len(none.Disabled) == 0:
		return "There is no key, login or local server yet: /login stores a key or logs in, /setup goes step by step."
	}
	if errors.Is(err, transcript.ErrLocked) {
		return "Another burin has this session open: end it there first, or begin a new one here; what you send now does."
	}
	return oneLine(err.Error())
}

// counted is "1 entry", "2 entries".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
