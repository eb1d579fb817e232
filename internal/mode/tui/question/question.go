// Package question holds the panes that stand where the prompt was and ask a person
// something: whether a call may run ([Approval]), what the model wants to know
// ([Questions]), yes or no ([Confirm]); and one that only waits ([Busy]).
//
// Each belongs to the face's goroutine, as [pane.Pane] says, has no timer and starts
// nothing, except that an Approval asks about earlier calls in a goroutine of its own.
// It tells its answer once, by the function it was made with.
//
// # Nobody answers by accident
//
// A question may appear while a person types, and a person may type in the belief that
// the prompt is there. So
//
//   - keys count only after the question was drawn and then no key came for 300 ms. What
//     is typed before that is for the prompt, which gets it;
//   - a letter or a digit answers only if it stands alone: if nothing else is typed for
//     300 ms. If something is, none of it answers. It is words, and goes where words are
//     written: into the note of a no, or one's own words to the model's question;
//   - Enter answers only if nothing was typed in the 300 ms before, but for words that
//     are written: those it sends.
//
// A paste never answers. A grant for longer than one call counts only while the person can
// see it: the choice must have been drawn before Enter counts, and of several rules the
// fine print, which a question mark opens and closes. Words that were written and not sent
// are not lost: Unsent gives them.
//
// Esc in an Approval, and Ctrl+C, are the exception and are heard at once. They run
// nothing.
//
// # Little room
//
// A pane shows the choice that is selected first, then the title with what is
// dangerous, a few rows of what it is about, the fine print if it is open, the other choices,
// and only then the rest. What it is about can be scrolled with PageUp and PageDown.
package question

import (
	"errors"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
)

// ErrStopped is that the person answered an approval with Esc: the call does not run,
// and the turn is to be stopped.
var ErrStopped = errors.New("the user stopped the work")

// ErrDismissed is that the person does not want to answer.
var ErrDismissed = errors.New("the user dismissed the question")

// quiet is how long no key may have come before keys count, and how long none may follow
// a letter that answers.
const quiet = 300 * time.Millisecond

// guard keeps keys from counting that were meant for something else.
type guard struct {
	shown bool
	armed bool
	last  time.Time // the first drawing, the last key that did not count, or the last text
	held  string    // letters that mean something if no others follow
}

// drawn says that the question is on the screen now.
func (g *guard) drawn(now time.Time) {
	if !g.shown {
		g.shown, g.last = true, now
	}
}

// ready reports whether a key that comes now counts.
func (g *guard) ready(now time.Time) bool {
	if !g.armed && g.shown && now.Sub(g.last) >= quiet {
		g.armed = true
	}
	if !g.armed {
		g.last = now
	}
	return g.armed
}

// disarm makes keys count only after a pause again.
func (g *guard) disarm(now time.Time) { g.armed, g.held, g.last = false, "", now }

// letter takes what a key types. A first letter that means something is held until it is
// known to stand alone. Whatever else is typed gives words, together with what was held.
func (g *guard) letter(text string, means bool, now time.Time) (words string) {
	g.last = now
	if g.held == "" && means {
		g.held = text
		return ""
	}
	words, g.held = g.held+text, ""
	return words
}

// due is when the letter that is held stands alone; zero where none is held.
func (g *guard) due() time.Time {
	if g.held == "" {
		return time.Time{}
	}
	return g.last.Add(quiet)
}

// alone gives the letter that was held, once it is due. That it is known by the clock
// alone, and never by the key that comes next, is what makes a slow machine safe: keys
// that came late are handled before the clock is looked at.
func (g *guard) alone(now time.Time) string {
	if g.held == "" || now.Before(g.due()) {
		return ""
	}
	held := g.held
	g.held = ""
	return held
}

// calm reports whether no text came just before, so that Enter is no end of a message.
func (g *guard) calm(now time.Time) bool { return g.held == "" && now.Sub(g.last) >= quiet }

// typing is the part of the keyboard that writes: keys that came before they count are
// for the prompt if they do.
func typing(ev key.Event) bool {
	switch ev := ev.(type) {
	case key.Paste:
		return true
	case key.Press:
		return ev.Text != "" || ev.Key == "backspace"
	}
	return false
}

// astray gives a key that does not count to whom it was meant for.
func astray(ev key.Event, to func(key.Event)) {
	if to != nil && typing(ev) {
		to(ev)
	}
}

// add writes words at the end of those that stand there.
func add(e *editor.Editor, words string) {
	if text := e.Text(); text != "" && !strings.HasSuffix(text, " ") {
		words = " " + words
	}
	_ = e.Insert(words) // it is full: what is in it is too long to be read
}

// action is what a key means in lists; "" for others.
func action(env *pane.Env, k key.Key) key.Action {
	a, _ := env.Keys.Lookup(key.Select, k)
	return a
}

// digit is the number a key types, 1 to 9; 0 for others.
func digit(p key.Press) int {
	if len(p.Text) == 1 && p.Text[0] >= '1' && p.Text[0] <= '9' {
		return int(p.Text[0] - '0')
	}
	return 0
}

// step is where the selection of n choices goes; it goes round.
func step(at, by, n int) int { return ((at+by)%n + n) % n }

// leaves reports whether a key leaves a line that is written: up and down do where
// there is only one.
func leaves(e *editor.Editor, a key.Action) bool {
	return (a == key.SelectUp || a == key.SelectDown) && !strings.Contains(e.Text(), "\n")
}
