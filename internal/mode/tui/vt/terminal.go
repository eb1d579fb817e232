// Package vt is a terminal in memory. It takes the bytes a program writes, keeps the
// grid and the scrollback a person would see, answers queries as a terminal does,
// and can say what is on the screen: as text, with styles in words (for golden
// files), and as a picture (for documentation).
//
// It is made for tests of what we draw, so it is strict where terminals are
// lenient: a sequence it does not know is counted and listed by Unknown, and tests
// assert that there is none. It behaves as xterm does; where terminals differ, this
// is what it does:
//
//   - Graphemes occupy one cell, with the width of package ansi.
//   - A screen that becomes narrower cuts its rows, as xterm does. With
//     Options.Reflow wrapped rows are joined and wrapped anew, as most others do.
//   - A screen that becomes higher takes rows back from the scrollback. One that
//     becomes lower drops blank rows below the cursor first, then moves rows into the
//     scrollback, and only then drops what stands below the cursor.
//   - Inside a synchronised update everything one can ask for shows the state before
//     it. There is no time limit on an update; Synchronized tells of a forgotten end.
//
// A Terminal has no goroutines and is not safe for concurrent use; package robot
// joins one to a running program.
package vt

import (
	"fmt"
	"io"
	"slices"
)

// Options of a terminal. The zero value is 80×24 with 10,000 lines of scrollback.
type Options struct {
	Width, Height int
	// Scrollback is the number of rows that are kept; the oldest are dropped beyond
	// it. 0: 10,000; negative: none.
	Scrollback int
	// Reflow wraps rows anew when the width changes.
	Reflow bool
	// Reply takes what the terminal answers. nil: answers are dropped.
	Reply io.Writer
	// Light makes queries of the colours say black on white; otherwise white on black.
	Light bool
}

// Largest size of a terminal; larger ones are made smaller.
const maxSide = 2000

// Terminal is an emulated terminal: its parser hands what it finds to an interpreter,
// which changes the parts that a test looks at.
type Terminal struct {
	parser      parser
	interpreter interpreter
	screen      screen
	keyboard    keyboard
	desktop     desktop
	tally       tally
}

// Cursor is where the next character goes, and how the terminal shows it.
type Cursor struct {
	X, Y   int
	Hidden bool
	Shape  int // the number of DECSCUSR, 0: default
}

// New makes a terminal.
func New(o Options) *Terminal {
	if o.Width <= 0 {
		o.Width = 80
	}
	if o.Height <= 0 {
		o.Height = 24
	}
	if o.Scrollback == 0 {
		o.Scrollback = 10_000
	}
	t := &Terminal{
		screen: screen{
			w: min(o.Width, maxSide), h: min(o.Height, maxSide), reflow: o.Reflow,
			history: history{max: max(o.Scrollback, 0)},
		},
		tally: tally{unknown: map[string]int{}},
	}
	t.interpreter = interpreter{screen: &t.screen, keyboard: &t.keyboard, desktop: &t.desktop, tally: &t.tally, light: o.Light, reply: o.Reply}
	t.interpreter.reset()
	return t
}

// Write feeds the terminal. Characters and sequences may be cut anywhere. It never
// fails.
func (t *Terminal) Write(p []byte) (int, error) {
	t.tally.stats.Bytes += int64(len(p))
	t.parser.feed(p, &t.interpreter)
	return len(p), nil
}

// WriteString is Write for a string.
func (t *Terminal) WriteString(s string) (int, error) { return t.Write([]byte(s)) }

// Size is the size in cells.
func (t *Terminal) Size() (w, h int) { return t.screen.w, t.screen.h }

// Stats is what was counted so far.
func (t *Terminal) Stats() Stats { return t.tally.stats }

// Synchronized reports whether a synchronised update is under way.
func (t *Terminal) Synchronized() bool { return t.screen.shown != nil }

// Alternate reports whether the alternate screen is shown.
func (t *Terminal) Alternate() bool {
	if t.screen.shown != nil {
		return t.screen.shown.alt
	}
	return t.screen.alternative()
}

// Cursor is the cursor as one sees it.
func (t *Terminal) Cursor() Cursor { return t.screen.cursor() }

// Mode reports whether a private mode is set, such as 2004 for bracketed paste.
func (t *Terminal) Mode(mode int) bool { return t.screen.mode(mode) }

// Keyboard gives the flags of the kitty keyboard protocol that are in force, 0 for
// none, and the level of xterm's modifyOtherKeys.
func (t *Terminal) Keyboard() (kitty, modifyOtherKeys int) {
	return t.keyboard.flags(t.screen.alternative()), t.keyboard.modifyKeys
}

// Title is the title that was set last.
func (t *Terminal) Title() string { return t.desktop.title }

// Directory is the address of the working directory that OSC 7 set last.
func (t *Terminal) Directory() string { return t.desktop.directory }

// Clipboard is what OSC 52 set last.
func (t *Terminal) Clipboard() []byte { return slices.Clone(t.desktop.clipboard) }

// Marks are the marks of OSC 133, the last 10,000.
func (t *Terminal) Marks() []Mark { return slices.Clone(t.desktop.marks) }

// Notes are the notifications of OSC 9, 99 and 777, the last 1,000.
func (t *Terminal) Notes() []string { return slices.Clone(t.desktop.notes) }

// Unknown lists the sequences the terminal did not know, each with its count, in
// order: "CSI 5z ×2". At most 1,000 different ones are kept.
func (t *Terminal) Unknown() []string {
	list := make([]string, 0, len(t.tally.unknown))
	for s, n := range t.tally.unknown {
		list = append(list, fmt.Sprintf("%s ×%d", s, n))
	}
	slices.Sort(list)
	return list
}
