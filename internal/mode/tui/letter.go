package tui

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/llm"
)

// letter is a prompt as the person wrote it, on its way to the session. The files that
// it names are read beside the loop, so that a slow disk holds up nobody who types; until
// the session has it, the face can take it back.
type letter struct {
	text     string
	pictures []llm.Block // out of the clipboard; pictures that are files are named in text
	at       when
	sent     time.Time    // tells it from others in the session's queue
	ready    *llm.Message // nothing is to be read any more; nil for what was typed

	owner  atomic.Int32  // who has it: onItsWay until one of the others takes it
	passed chan struct{} // closed when the session has it, or will never have it
	told   chan struct{} // closed when the loop was told what became of it
	back   bool          // it is wanted back, and was the session's already
}

// The owners of a letter.
const (
	onItsWay int32 = iota
	atSession
	atFace
)

// take takes the letter for one side. It is false where the other side has it.
func (l *letter) take(side int32) bool { return l.owner.CompareAndSwap(onItsWay, side) }

// letter takes what was written, and the pictures beside it.
func (a *app) letter(text string, at when) *letter {
	l := &letter{text: text, pictures: a.attached, at: at}
	a.attached = nil
	return l
}

// dispatch makes a letter one that can be told from all others, and notes it. One that is
// sent once more keeps its time: by that the session puts it in order with what was
// written after it.
func (a *app) dispatch(l *letter) *letter {
	out := &letter{text: l.text, pictures: l.pictures, at: l.at, ready: l.ready, sent: l.sent, passed: make(chan struct{}), told: make(chan struct{})}
	a.letters = slices.DeleteFunc(a.letters, func(o *letter) bool { return o == l })
	if out.sent.IsZero() {
		out.sent = a.env.Now()
		for _, o := range a.letters {
			if !out.sent.After(o.sent) { // a coarse clock
				out.sent = o.sent.Add(1)
			}
		}
	}
	a.letters = append(a.letters, out)
	return out
}

// arrived forgets a letter that the session has, or the person.
func (a *app) arrived(l *letter) {
	a.outgoing = slices.DeleteFunc(a.outgoing, func(o *letter) bool { return o == l })
}

// deliver gives a letter to the session, or keeps it for the next one.
func (a *app) deliver(l *letter) {
	switch {
	case a.session == nil || a.opening: // what is typed while another session opens is meant for that
		a.wait(l.text, enclosed{pictures: l.pictures})
		if !a.opening {
			a.open(Wish{})
		}
	case a.work.on || len(a.outgoing) > 0: // it does not overtake what is still being read
		a.queueUp(l)
	case a.work.first:
		a.wait(l.text, enclosed{pictures: l.pictures})
	default:
		a.run1(l)
	}
}

// queueUp puts a letter into the queue of the model, behind those that were sent before.
func (a *app) queueUp(l *letter) {
	l = a.dispatch(l)
	var before <-chan struct{}
	if n := len(a.outgoing); n > 0 {
		before = a.outgoing[n-1].passed
	}
	a.outgoing = append(a.outgoing, l)
	a.readQueue()
	s := a.session
	go func() {
		defer close(l.told)
		m := a.write(l)
		if before != nil {
			<-before
		}
		mine := l.take(atSession)
		var err error
		switch {
		case !mine:
		case l.at == afterWork:
			err = s.FollowUp(m)
		default:
			err = s.Steer(m)
		}
		close(l.passed)
		if mine {
			a.inbox.post(func() { a.onQueued(s, l, err) })
		}
	}()
}

// onQueued is called when a letter is in the queue of the model, or could not get there.
func (a *app) onQueued(s *opened, l *letter, err error) {
	a.arrived(l)
	switch {
	case err != nil:
		a.giveLetters(l)
		a.sayError(err)
	case a.session != s || l.back:
		a.takeBack(s)
	case !a.work.on: // that ended before the letter came
		a.readQueue()
		a.sendQueued()
	}
	a.readQueue()
}

// write makes the message of a letter, with the files that it names. It runs beside the
// loop.
func (a *app) write(l *letter) llm.Message {
	if l.ready != nil {
		m := *l.ready
		m.Time = l.sent
		return m
	}
	m := llm.UserText(l.text)
	m.Time = l.sent
	m.Content = append(m.Content, l.pictures...)
	if !strings.Contains(l.text, "@") {
		return m
	}
	var names, problems []string
	for _, f := range complete.Mentions(l.text, a.o.Dir) {
		names = append(names, f.Name)
		if f.Dir {
			continue // the model looks into folders by itself
		}
		block, err := burin.Attach(f.Path, f.Name)
		if err != nil {
			problems = append(problems, oneLine(err.Error())) // the words stay, and the model can read the file
			continue
		}
		m.Content = append(m.Content, block)
	}
	if len(names) > 0 {
		a.inbox.post(func() {
			a.completer.Mentioned(names...)
			if l.owner.Load() == atFace {
				return // it is told when it is sent again
			}
			for _, p := range problems {
				a.notice(card.Warning, p)
			}
		})
	}
	return m
}

// lettersOf are the letters that messages of a session's queue were made of.
func (a *app) lettersOf(messages []llm.Message) []*letter {
	var out []*letter
	for i := range messages {
		m := &messages[i]
		n := slices.IndexFunc(a.letters, func(l *letter) bool { return l.sent.Equal(m.Time) })
		if n < 0 { // another face's: what was pasted there cannot be told from files
			l := &letter{text: typed(m), ready: m, sent: m.Time}
			for _, b := range m.Content {
				if _, ok := b.(llm.Image); ok {
					l.pictures = append(l.pictures, b)
				}
			}
			out = append(out, l)
			continue
		}
		out = append(out, a.letters[n])
	}
	return out
}

// recall takes back what has not come to the session yet. What is on the last step there
// comes back when it has arrived.
func (a *app) recall() (back []*letter) {
	for _, l := range slices.Clone(a.outgoing) {
		if !l.take(atFace) {
			l.back = true
			continue
		}
		a.arrived(l)
		if a.work.letter == l {
			a.work.on, a.work.letter = false, nil
		}
		back = append(back, l)
	}
	return back
}

// takeBack takes back what waits in a session.
func (a *app) takeBack(s *opened) {
	steering, followUps := s.Unqueue()
	a.giveLetters(a.lettersOf(append(steering, followUps...))...)
}

// giveLetters puts letters into the editor, before what stands there, with their
// pictures.
func (a *app) giveLetters(letters ...*letter) {
	var words []string
	var pictures []llm.Block
	for _, l := range letters {
		words = append(words, l.text)
		pictures = append(pictures, l.pictures...)
	}
	a.giveBack(strings.Join(words, "\n\n"))
	a.attached = append(pictures, a.attached...)
}

// enclosed is what goes with words that wait.
type enclosed struct {
	pictures []llm.Block
	wish     *Wish // the words stand for it; nil: they are a prompt or a command
}

// wait keeps words until a session is open.
func (a *app) wait(words string, with enclosed) {
	if len(with.pictures) > 0 || with.wish != nil {
		if a.enclosed == nil {
			a.enclosed = map[int]enclosed{}
		}
		a.enclosed[a.passedOn+len(a.waiting)] = with
	}
	a.waiting = append(a.waiting, words)
}

// next takes the first of what waits.
func (a *app) next() (words string, with enclosed) {
	words, with = a.waiting[0], a.enclosed[a.passedOn]
	delete(a.enclosed, a.passedOn)
	a.waiting = a.waiting[1:]
	a.passedOn++
	if len(a.waiting) == 0 {
		a.waiting = nil
	}
	return words, with
}

// waitFor keeps a wish for another session until the one before it is fulfilled. The same
// one twice is one: a key that is held shall not fill the list.
func (a *app) waitFor(w Wish) {
	n := len(a.waiting)
	if last := a.enclosed[a.passedOn+n-1].wish; n > 0 && last != nil && last.Resume == w.Resume && last.Model == w.Model {
		return
	}
	words := "/new"
	switch {
	case w.Resume != "":
		words = "/resume " + a.homePath(w.Resume)
	case w.Model != "":
		words = "/model " + w.Model
	}
	a.wait(words, enclosed{wish: &w})
}

// sendWaiting sends what could not be sent before, in order. It stops where that opens
// another session: the rest is meant for it.
func (a *app) sendWaiting() {
	if a.ending {
		return
	}
	for n := len(a.waiting); n > 0 && !a.opening; n-- {
		words, with := a.next()
		switch {
		case with.wish != nil:
			a.open(*with.wish)
		case a.understood(words):
			a.attached = append(with.pictures, a.attached...)
		default:
			a.deliver(&letter{text: words, pictures: with.pictures})
		}
	}
}

// returnWaiting gives back all that waits, but for wishes: these are gone.
func (a *app) returnWaiting() { a.giveLetters(a.waited(true)...) }

// waited takes what waits, all or up to the next wish.
func (a *app) waited(all bool) (letters []*letter) {
	for len(a.waiting) > 0 && (all || a.enclosed[a.passedOn].wish == nil) {
		if words, with := a.next(); with.wish == nil {
			letters = append(letters, &letter{text: words, pictures: with.pictures})
		}
	}
	return letters
}
