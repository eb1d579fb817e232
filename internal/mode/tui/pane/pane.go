// Package pane says what the parts of the terminal's face have in common: what they
// are drawn with, and how one of them takes the place of the prompt.
package pane

import (
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// Env is what all panes share. The face owns it and changes it when the theme or the
// bindings change, so panes read it each time they draw and keep no copies of its
// fields.
type Env struct {
	Styles *theme.Styles
	Keys   *key.Bindings
	// Links says that the terminal knows hyperlinks.
	Links bool
	// Post runs f on the face's goroutine and draws afterwards; a nil f only draws.
	// It may be called from any goroutine, and does nothing once the face has ended.
	// It never blocks.
	Post func(f func())
	Now  func() time.Time
}

// Pane is something that has the keys and stands where the prompt was: a list, a
// question, a form. Its methods are called on the face's goroutine and must be fast;
// what takes time runs in a goroutine that ends with Env.Post.
//
// A pane that is done says so by a function it was made with; the face then takes it
// away. It is not used again after that.
type Pane interface {
	// Draw gives the rows, at most height of them, none wider than width, and where
	// the cursor stands in them. It costs what is shown, not what there is.
	Draw(width, height int) ([]string, screen.Cursor)
	// Handle does what an event means here. Every event of the keyboard comes here, and a
	// click, which counts from the first cell of what was drawn last; what means nothing is
	// dropped.
	Handle(ev key.Event)
}

// Timed is a pane in which something happens when a time has come, without a key.
type Timed interface {
	Pane
	// Due is that time, the zero time while nothing is waited for. It is asked after
	// every event, so that a pane that waits for nothing costs nothing.
	Due() time.Time
	// Tick is called when it has come, or later. Keys that were pressed before it were
	// handled.
	Tick()
}

// Hovered is a pane that shows what the mouse points at, without doing anything.
type Hovered interface {
	Pane
	// Hover is told where the mouse is, from the first cell of what was drawn last. It
	// reports whether that changed what is shown.
	Hover(key.Hover) (changed bool)
}

// Full is a pane that wants the whole screen. It is shown on the alternate screen, and
// the scrollback is as it was when it is gone.
type Full interface {
	Pane
	Fullscreen()
}
