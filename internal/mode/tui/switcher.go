package tui

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// opening is what is known of a session before it is shown.
type opening struct {
	warnings []remark
	after    string // the last entry that is shown already; "": none is
	over     bool   // it is shown, or never will be
}

// remark is something to say of a session.
type remark struct {
	level card.Level
	text  string
}

// largeSession is from how many entries on the memory that reading a session took is
// given back to the system at once. Go would do so at its next collection, which an idle
// program does not reach for minutes.
const largeSession = 5000

// switcher opens and leaves sessions. It alone changes which one is shown.
type switcher struct {
	*base
	*current
	exit     *exit
	show     *appearance
	facts    *facts
	composer *composer
	work     *work
	outbox   *outbox
	asks     *questions
	shell    *shell
	repeater *repeater
	opens    func(ctx context.Context, w Wish) (session.Handle, error)
	welcome  func(err error, left func()) bool // helps somebody without a model; false: not with this error
	reload   func()                            // has models and keys read again
	offer    func()                            // names the setup to who is new
	left     func()                            // takes away what shows parts of a session that is left
	prepare  func()                            // looks for the commands that are files

	leaving   *leaving // the session that is being closed; nil: none is
	had       bool     // one was shown
	lastShown string   // the last entry that was shown of the one that is
	last      string   // the file of the last one
	warnings  []remark // of sessions that were opened, each once
}

// beginIfNone opens a session where none could be opened before. Which providers have a
// key is asked again: that there was none is why.
func (sw *switcher) beginIfNone() {
	if sw.session == nil && !sw.opening {
		sw.reload()
		sw.open(Wish{})
	}
}

// onGone continues a session whose owner has ended: here, or with who owns it now.
func (sw *switcher) onGone(s *opened) {
	path, ok := s.Path()
	switch {
	case sw.exit.ending || sw.opening:
	case !ok:
		sw.notice(card.Warning, "The burin that had this session ended before anything was saved.")
		sw.open(Wish{})
	default:
		sw.notice(card.Warning, "The burin that had this session ended, and its work stopped. The session continues here.")
		sw.open(Wish{Resume: path, after: sw.lastShown})
	}
}

// resync reads anew what events tell, when some were lost.
func (sw *switcher) resync() {
	sw.facts.read()
	sw.facts.readTodos()
	sw.facts.readGoal()
	sw.facts.readJobs()
	sw.facts.readAgents()
	sw.outbox.readQueue()
	open := asks(sw.session, sw.session.Questions().Open)
	programs := asks(sw.session, sw.session.Consoles().List)
	for _, q := range slices.Clone(sw.asks.list) {
		if q.id != "" && !slices.ContainsFunc(open, func(o session.Question) bool { return o.ID == q.id }) &&
			!slices.ContainsFunc(programs, func(c session.Console) bool { return c.ID == q.id }) {
			sw.asks.answered(q)
		}
	}
	for i := range open {
		sw.asks.asked(&open[i])
	}
	for i := range programs {
		sw.asks.console(&programs[i])
	}
	if sw.work.on && !sw.session.Facts().Working {
		sw.work.rest()
	}
}

// onMoved shows where in the tree the conversation goes on.
func (sw *switcher) onMoved() {
	s := sw.session
	sw.talk.abandon()
	sw.notice(card.Info, "Moved to another point of the conversation:")
	past := recent(s.Log())
	past = past[max(0, len(past)-3):]
	for i := range past {
		replayEntry(sw.talk, s.Log(), &past[i])
	}
	sw.talk.abandon()
	sw.facts.read()
	sw.facts.readTodos()
	sw.facts.readGoal()
}

// open opens a session beside the loop. What is typed meanwhile waits, other wishes
// included.
func (sw *switcher) open(w Wish) {
	switch {
	case sw.exit.ending:
		return
	case sw.opening:
		sw.outbox.waitFor(w)
		return
	case w.Resume != "" && sw.session != nil:
		if path, _ := sw.session.Path(); path == w.Resume { // its lock is ours until it is closed
			sw.leave(func() { sw.open(w) })
			return
		}
	}
	sw.opening, sw.openSince = true, sw.env.Now()
	w.Secret = sw.asks.askSecret
	o := &opening{after: w.after}
	w.Warn = func(line string) { sw.inbox.post(func() { sw.warned(o, remark{card.Warning, line}) }) }
	w.Note = func(line string) { sw.inbox.post(func() { sw.warned(o, remark{card.Info, sentence(line)}) }) }
	go func() {
		s, err := sw.opens(sw.ctx, w)
		var b beginning
		if err == nil {
			b = beginningOf(s)
		}
		sw.inbox.post(func() { sw.onOpen(s, b, err, o) })
		if err == nil {
			freeRead(s.Transcript())
		}
	}()
}

// freeRead gives back what reading all of a large session has left: several times of what is kept.
func freeRead(l session.Transcript) {
	if l.Len() > largeSession {
		go debug.FreeOSMemory()
	}
}

// warned takes a warning of a session. Until it is shown, the one before may still have
// something to say.
func (sw *switcher) warned(o *opening, r remark) {
	if !o.over {
		o.warnings = append(o.warnings, r)
		return
	}
	sw.notice(r.level, r.text)
}

// tellWarnings says what a session warned of while it was opened, and no other did before.
func (sw *switcher) tellWarnings(o *opening) {
	o.over = true
	for _, r := range o.warnings {
		if !slices.Contains(sw.warnings, r) {
			sw.warnings = append(sw.warnings, r)
			sw.notice(r.level, r.text)
		}
	}
}

// onOpen shows the session that was opened, when the one before is closed.
func (sw *switcher) onOpen(s session.Handle, b beginning, err error, o *opening) {
	if err != nil {
		sw.opening = false
		sw.tellWarnings(o)
		back := func() {
			sw.composer.giveLetters(sw.outbox.waited(false)...)
			sw.outbox.sendWaiting() // what is left is for the session that was wished for next
		}
		if sw.had || !sw.welcome(err, back) { // the screen keeps what waits until there is a model
			sw.notice(card.Failure, notOpened(err))
			back()
		}
		return
	}
	sw.leave(func() { sw.showSession(s, b, o) })
}

// showSession goes on with a session.
func (sw *switcher) showSession(s session.Handle, b beginning, o *opening) {
	sw.opening = false
	ctx, cancel := context.WithCancel(sw.ctx)
	sw.session = &opened{Handle: s, stop: cancel, ctx: sw.ctx}
	if sw.exit.ending {
		return // it is closed next
	}
	if o.after != "" {
		if at := slices.IndexFunc(b.past, func(e seen) bool { return e.ID == o.after }); at >= 0 {
			b.past = b.past[at+1:]
		}
	} else if sw.had {
		title := s.Facts().Stats.Title
		switch {
		case title != "":
			title = "Continuing with: " + prose.Line(title)
		case len(b.past) > 0:
			title = "Continuing with another session."
		default:
			title = "New session."
		}
		sw.notice(card.Info, title)
	}
	sw.had = true
	go sw.inbox.follow(ctx, sw.session, b.feed)
	sw.talk.labels = map[string]string{}
	for _, t := range sw.session.Tooling() {
		sw.talk.labels[t.Name] = t.Label
	}
	sw.replay(s.Transcript(), b)
	sw.tellWarnings(o)
	sw.facts.cache = nil
	sw.facts.read()
	sw.facts.readTodos()
	sw.facts.readGoal()
	sw.facts.readJobs()
	sw.facts.readAgents()
	for id := range sw.talk.calls {
		sw.talk.showAgents(id, sw.facts.agents.of(id))
	}
	if sw.outbox.readQueue(); sw.outbox.queue.held {
		sw.notice(card.Info, "Messages were still queued when the session was left. They go with your next prompt; "+sw.keyFor("app.message.dequeue")+" takes them back.")
	}
	if f := s.Facts(); f.Working {
		sw.work.begin(f.Since)
	}
	for _, q := range asks(sw.session, s.Questions().Open) {
		sw.asks.asked(&q)
	}
	for _, c := range asks(sw.session, s.Consoles().List) {
		sw.asks.console(&c)
	}
	sw.offer()
	sw.prepare()
	sw.outbox.sendWaiting()
	sw.redraw()
}

// NoKey says that there is no key, and what to do in the terminal.
func NoKey(none *credential.NotFoundError) string {
	switch {
	case len(none.Disabled) > 0:
		return prose.Line(none.Error())
	case len(none.Providers) == 1:
		return "No API key for " + none.Providers[0] + ": /login " + none.Providers[0] + " stores one, /model chooses another model."
	}
	return "No API key, login or local model server found: run /login or /setup."
}

// notOpened says why there is no session, and what to do here.
func notOpened(err error) string {
	var none *credential.NotFoundError
	if errors.As(err, &none) {
		return NoKey(none)
	}
	if errors.Is(err, transcript.ErrLocked) {
		return "Another burin has this session open: end it there first. What you send here starts a new session."
	}
	return prose.Line(err.Error())
}
