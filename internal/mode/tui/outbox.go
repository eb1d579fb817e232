package tui

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// queue is what waits to be read by the model.
type queue struct {
	steering, followUps []string
	held                bool // nothing of it is sent by itself
}

// when says when a message that is sent while the model works is read.
type when = session.When

const (
	steerNow  = session.Soon  // at the next opportunity
	afterWork = session.After // when the model is done
)

// outbox is what was sent and has not been answered: prompts on their way to the session,
// what waits in it, and what waits until one is open.
type outbox struct {
	*base
	*current
	exit       *exit
	work       *work
	composer   *composer
	open       func(Wish)             // opens a session
	understood func(text string) bool // does what words mean that are no prompt

	queue    queue
	letters  []*letter        // whose turns are not over
	outgoing []*letter        // those of them that it does not have yet, in order
	given    []*letter        // that came back, while others are still to come
	waiting  []string         // what was sent before the session was open, or while it was busy
	enclosed map[int]enclosed // what goes with that, by how many waited before it ever
	passedOn int              // how many have waited before the first that waits now
}

// arrived forgets that a letter is on its way.
func (o *outbox) arrived(l *letter) {
	o.outgoing = slices.DeleteFunc(o.outgoing, func(o *letter) bool { return o == l })
}

// deliver gives a letter to the session, or keeps it for the next one.
func (o *outbox) deliver(l *letter) {
	switch {
	case o.session == nil || o.opening: // what is typed while another session opens is meant for that
		o.wait(l.text, enclosed{pictures: l.pictures})
		if !o.opening {
			o.open(Wish{})
		}
	case o.work.first && !o.work.on && len(o.outgoing) == 0:
		o.wait(l.text, enclosed{pictures: l.pictures})
	default:
		o.dispatch(l)
	}
}

// dispatch sends a letter behind those that were sent before. What the session does with
// it, it says itself: it begins a turn, or lets the letter wait.
func (o *outbox) dispatch(l *letter) {
	s := o.session
	ctx, halt := context.WithCancel(o.ctx)
	l.id, l.sent, l.halt = rand.Text()[:16], o.env.Now(), halt
	l.passed, l.told = make(chan struct{}), make(chan struct{})
	var before <-chan struct{}
	if n := len(o.outgoing); n > 0 {
		before = o.outgoing[n-1].passed
	}
	o.letters, o.outgoing = append(o.letters, l), append(o.outgoing, l)
	if !o.work.on && before == nil {
		o.work.begin(l.sent)
		o.work.letter = l
	}
	o.readQueue()
	go func() {
		defer halt()
		defer close(l.told)
		m := o.write(l)
		if before != nil {
			<-before
		}
		if !l.take(atSession) {
			close(l.passed)
			return
		}
		r, err := s.Conversation().Submit(ctx, session.Input{ID: l.id, Message: m, When: l.at})
		close(l.passed)
		o.inbox.post(func() { o.onAccepted(s, l, r, err) })
	}()
}

// onAccepted is called when the session has a letter, or could not take it.
func (o *outbox) onAccepted(s *opened, l *letter, r session.Receipt, err error) {
	o.arrived(l)
	if o.work.letter == l {
		o.work.letter = nil
		if err != nil && len(o.outgoing) == 0 {
			o.work.rest()
		}
	}
	switch {
	case err != nil:
		o.forget(l.id)
		o.giveBack(l)
		if !l.back && o.session == s && !errors.Is(err, session.ErrUnsent) && !errors.Is(err, session.ErrClosed) {
			o.sayError(err)
		}
	case !l.back && o.session == s:
	case r.Started && o.session == s:
		s.Abort()
	default:
		o.takeBack(s)
	}
	o.readQueue()
}

// forget drops letters whose turns are over. It gives them.
func (o *outbox) forget(ids ...string) (over []*letter) {
	o.letters = slices.DeleteFunc(o.letters, func(l *letter) bool {
		gone := slices.Contains(ids, l.id)
		if gone {
			over = append(over, l)
		}
		return gone
	})
	return over
}

// write makes the message of a letter, with the files that it names. It runs beside the
// loop.
func (o *outbox) write(l *letter) llm.Message {
	m := llm.UserText(l.text)
	m.Time = l.sent
	m.Content = append(m.Content, l.pictures...)
	if !strings.Contains(l.text, "@") {
		return m
	}
	var names, problems []string
	for _, f := range mention.Find(l.text, o.dir) {
		names = append(names, f.Name)
		if f.Dir {
			continue // the model looks into folders by itself
		}
		block, err := host.Attach(f.Path, f.Name)
		if err != nil {
			problems = append(problems, prose.Line(err.Error())) // the words stay, and the model can read the file
			continue
		}
		m.Content = append(m.Content, block)
	}
	if len(names) > 0 {
		o.inbox.post(func() {
			o.composer.completer.Mentioned(names...)
			if l.owner.Load() == atFace {
				return // it is told when it is sent again
			}
			for _, p := range problems {
				o.notice(card.Warning, p)
			}
		})
	}
	return m
}

// lettersOf are the letters that messages of a session's queue were made of.
func (o *outbox) lettersOf(inputs []session.Input) []*letter {
	var out []*letter
	for i := range inputs {
		if known := o.forget(inputs[i].ID); len(known) > 0 {
			out = append(out, known...)
			continue
		}
		// Another face's: what was pasted there can't be told from files.
		m := &inputs[i].Message
		l := &letter{text: typed(m), at: inputs[i].When, sent: m.Time}
		for _, b := range m.Content {
			if _, ok := b.(llm.Image); ok {
				l.pictures = append(l.pictures, b)
			}
		}
		out = append(out, l)
	}
	return out
}

// recall takes back what has not come to the session yet. What is on the last step there
// comes back when it has arrived; that would stop the turn of what began one, so it comes only if
// what runs is to stop.
func (o *outbox) recall(stop bool) (back []*letter) {
	for _, l := range slices.Clone(o.outgoing) {
		if !l.take(atFace) {
			if l == o.work.letter && !stop {
				continue
			}
			l.back = true
			l.halt()
			continue
		}
		o.arrived(l)
		o.forget(l.id)
		if o.work.letter == l {
			o.work.rest()
		}
		back = append(back, l)
	}
	return back
}

// takeBack takes back what waits in a session.
func (o *outbox) takeBack(s *opened) {
	o.giveBack(o.lettersOf(s.TakeBack())...)
}

// giveBack puts letters into the editor, in the order in which they would have been read:
// what comes later, because it was on its last step, joins those that stand there already.
func (o *outbox) giveBack(letters ...*letter) {
	if len(o.given) > 0 && o.composer.takeLetters(o.given) {
		letters = append(o.given, letters...)
	}
	slices.SortStableFunc(letters, func(a, b *letter) int {
		if (a.at == afterWork) != (b.at == afterWork) {
			return strings.Compare(string(a.at), string(b.at)) // "" is read first
		}
		return a.sent.Compare(b.sent)
	})
	o.composer.giveLetters(letters...)
	o.given = nil
	if slices.ContainsFunc(o.outgoing, func(l *letter) bool { return l.back }) {
		o.given = letters
	}
}

// wait keeps words until a session is open.
func (o *outbox) wait(words string, with enclosed) {
	if len(with.pictures) > 0 || with.wish != nil {
		if o.enclosed == nil {
			o.enclosed = map[int]enclosed{}
		}
		o.enclosed[o.passedOn+len(o.waiting)] = with
	}
	o.waiting = append(o.waiting, words)
}

// next takes the first of what waits.
func (o *outbox) next() (words string, with enclosed) {
	words, with = o.waiting[0], o.enclosed[o.passedOn]
	delete(o.enclosed, o.passedOn)
	o.waiting = o.waiting[1:]
	o.passedOn++
	if len(o.waiting) == 0 {
		o.waiting = nil
	}
	return words, with
}

// waitFor keeps a wish for another session until the one before it is fulfilled. The same
// one twice is one: a key that is held shall not fill the list.
func (o *outbox) waitFor(w Wish) {
	n := len(o.waiting)
	if last := o.enclosed[o.passedOn+n-1].wish; n > 0 && last != nil && last.Resume == w.Resume && last.Model == w.Model {
		return
	}
	words := "/new"
	switch {
	case w.Resume != "":
		words = "/resume " + o.homePath(w.Resume)
	case w.Model != "":
		words = "/model " + w.Model
	}
	o.wait(words, enclosed{wish: &w})
}

// sendWaiting sends what could not be sent before, in order. It stops where that opens
// another session: the rest is meant for it.
func (o *outbox) sendWaiting() {
	if o.exit.ending {
		return
	}
	for n := len(o.waiting); n > 0 && !o.opening; n-- {
		words, with := o.next()
		switch {
		case with.wish != nil:
			o.open(*with.wish)
		case o.understood(words):
			o.composer.attached = append(with.pictures, o.composer.attached...)
		default:
			o.deliver(&letter{text: words, pictures: with.pictures})
		}
	}
}

// returnWaiting gives back all that waits, but for wishes: these are gone.
func (o *outbox) returnWaiting() { o.composer.giveLetters(o.waited(true)...) }

// waited takes what waits, all or up to the next wish.
func (o *outbox) waited(all bool) (letters []*letter) {
	for len(o.waiting) > 0 && (all || o.enclosed[o.passedOn].wish == nil) {
		if words, with := o.next(); with.wish == nil {
			letters = append(letters, &letter{text: words, pictures: with.pictures})
		}
	}
	return letters
}

// send does what words mean.
func (o *outbox) send(text string, at when) {
	if !o.understood(text) {
		o.prompt(text, at)
	}
}

// prompt sends words to the model, with the pictures beside them: now, or where it
// works, into its queue.
func (o *outbox) prompt(text string, at when) { o.deliver(o.composer.letter(text, at)) }

// readQueue looks at what waits, on its way there included.
func (o *outbox) readQueue() {
	if o.session == nil {
		o.queue = queue{}
		return
	}
	waits := o.session.Waits()
	o.showQueue(&waits)
}

// showQueue shows what waits, on its way there included.
func (o *outbox) showQueue(waits *session.Queued) {
	o.queue = queue{held: waits.Held}
	there := map[string]bool{}
	for _, w := range waits.Steering {
		o.queue.steering, there[w.ID] = append(o.queue.steering, w.Text), true
	}
	for _, w := range waits.FollowUps {
		o.queue.followUps, there[w.ID] = append(o.queue.followUps, w.Text), true
	}
	for _, l := range o.outgoing {
		switch {
		case there[l.id] || l == o.work.letter:
		case l.at == afterWork:
			o.queue.followUps = append(o.queue.followUps, l.text)
		default:
			o.queue.steering = append(o.queue.steering, l.text)
		}
	}
	o.dirty = true
}

// unqueue takes everything that waits back into the editor. With stop, what runs is about to be
// stopped.
func (o *outbox) unqueue(stop bool) {
	o.unqueueSent(stop)
	o.returnWaiting()
}

// unqueueSent takes back what waits in the session that is shown. What is meant for the
// next one goes on waiting.
func (o *outbox) unqueueSent(stop bool) {
	if o.session == nil {
		return
	}
	back := o.recall(stop)
	o.giveBack(append(o.lettersOf(o.session.TakeBack()), back...)...)
	o.queue = queue{}
}

// panel appends what waits.
func (o *outbox) panel(rows []string, v panel.View) []string {
	w := panel.Waiting{Steering: o.queue.steering, FollowUp: o.queue.followUps, Key: o.keyFor("app.message.dequeue")}
	if len(o.waiting) > 0 {
		w.Steering = slices.Concat(w.Steering, o.waiting)
	}
	return append(rows, panel.Queue(w, v)...)
}

// reset forgets what a session has that is left.
func (o *outbox) reset() { o.queue, o.letters = queue{}, nil }
