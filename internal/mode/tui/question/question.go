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
// A question may appear while a person types. So keys count only after the question
// was drawn and then no key came for 300 ms: whoever types on when it appears has to
// stop first. A paste never answers. What is granted for longer than one call is
// granted only while the person can see what that means: the choice must have been
// drawn, with its rules, before Enter counts.
//
// Esc in an Approval, and Ctrl+C, are the exception and are heard at once. They run
// nothing.
//
// # Little room
//
// A pane shows the choice that is selected first, then the title with what is
// dangerous, a few rows of what it is about, what the choice means, the other choices,
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

// quiet is how long no key may have come before keys count.
const quiet = 300 * time.Millisecond

// guard keeps keys from counting that were meant for something else.
type guard struct {
	shown bool
	armed bool
	last  time.Time // the first drawing, or the last key that did not count
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
