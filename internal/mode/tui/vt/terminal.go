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

// Terminal is an emulated terminal.
type Terminal struct {
	w, h    int
	reflow  bool
	light   bool
	reply   io.Writer
	parser  parser
	main    grid
	alt     grid
	cur     *grid // main or alt
	history history

	top, bottom int // the scroll region: rows top to bottom-1
	tabs        []bool
	charsets    charsets
	modes       map[int]bool // private modes that are set
	insert      bool         // IRM
	newline     bool         // LNM
	last        last         // where the last grapheme went
	shape       int          // DECSCUSR
	kitty       kittyStack
	modifyKeys  int

	title, directory string
	titles           []string
	clipboard        []byte
	marks            []Mark
	notes            []string
	colors           [3]string // OSC 10, 11, 12 where they were set

	shown *view // what is seen during a synchronised update
	spare *view // memory of the view before
	stats Stats

	unknown map[string]int
}

// Stats counts what a terminal has seen.
type Stats struct {
	Bytes    int64
	Frames   int // synchronised updates that ended
	Bells    int
	Graphics int // images of the kitty, sixel or iTerm2 protocols, which are not drawn
}

// view is a copy of what can be seen.
type view struct {
	grid    grid
	alt     bool
	cursor  Cursor
	history []row
	lost    int
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
		reflow: o.Reflow, light: o.Light, reply: o.Reply,
		w: min(o.Width, maxSide), h: min(o.Height, maxSide),
		history: history{max: max(o.Scrollback, 0)},
		unknown: map[string]int{},
	}
	t.resetAll()
	return t
}

// resetAll is RIS: everything but the scrollback and what was counted.
func (t *Terminal) resetAll() {
	t.main, t.alt = newGrid(t.w, t.h), newGrid(t.w, t.h)
	t.cur = &t.main
	t.top, t.bottom = 0, t.h
	t.tabs = defaultTabs(t.w)
	t.charsets = charsets{}
	t.modes = map[int]bool{modeWrap: true, modeCursor: true}
	t.insert, t.newline = false, false
	t.last, t.shape, t.modifyKeys = last{}, 0, 0
	t.kitty = kittyStack{}
	t.title, t.titles = "", nil
	t.colors = [3]string{}
	t.shown = nil
}

func defaultTabs(w int) []bool {
	tabs := make([]bool, w)
	for i := 8; i < w; i += 8 {
		tabs[i] = true
	}
	return tabs
}

// Write feeds the terminal. Characters and sequences may be cut anywhere. It never
// fails.
func (t *Terminal) Write(p []byte) (int, error) {
	t.stats.Bytes += int64(len(p))
	t.parser.feed(p, t)
	return len(p), nil
}

// WriteString is Write for a string.
func (t *Terminal) WriteString(s string) (int, error) { return t.Write([]byte(s)) }

func (t *Terminal) answer(format string, a ...any) {
	if t.reply != nil {
		// Whoever reads the answers may be gone; the screen stays right without.
		_, _ = fmt.Fprintf(t.reply, format, a...)
	}
}

// Size is the size in cells.
func (t *Terminal) Size() (w, h int) { return t.w, t.h }

// Stats is what was counted so far.
func (t *Terminal) Stats() Stats { return t.stats }

// Synchronized reports whether a synchronised update is under way.
func (t *Terminal) Synchronized() bool { return t.shown != nil }

// Alternate reports whether the alternate screen is shown.
func (t *Terminal) Alternate() bool {
	if t.shown != nil {
		return t.shown.alt
	}
	return t.cur == &t.alt
}

// Cursor is the cursor as one sees it.
func (t *Terminal) Cursor() Cursor {
	if t.shown != nil {
		return t.shown.cursor
	}
	return Cursor{X: t.cur.x, Y: t.cur.y, Hidden: !t.modes[modeCursor], Shape: t.shape}
}

// Title is the title that was set last.
func (t *Terminal) Title() string { return t.title }

// Directory is the address of the working directory that OSC 7 set last.
func (t *Terminal) Directory() string { return t.directory }

// Clipboard is what OSC 52 set last.
func (t *Terminal) Clipboard() []byte { return slices.Clone(t.clipboard) }

// Mark is a mark of OSC 133: A prompt, B command, C output, D end.
type Mark struct {
	Kind byte
	Row  int // counted from the first row that ever was
	Args string
}

// Marks are the marks of OSC 133, the last 10,000.
func (t *Terminal) Marks() []Mark { return slices.Clone(t.marks) }

// Notes are the notifications of OSC 9, 99 and 777, the last 1,000.
func (t *Terminal) Notes() []string { return slices.Clone(t.notes) }

// Unknown lists the sequences the terminal did not know, each with its count, in
// order: "CSI 5z ×2". At most 1,000 different ones are kept.
func (t *Terminal) Unknown() []string {
	list := make([]string, 0, len(t.unknown))
	for s, n := range t.unknown {
		list = append(list, fmt.Sprintf("%s ×%d", s, n))
	}
	slices.Sort(list)
	return list
}

func (t *Terminal) unknownSequence(kind string, raw []byte) {
	if len(raw) > 64 {
		raw = raw[:64]
	}
	name := fmt.Sprintf("%s %q", kind, raw)
	if _, ok := t.unknown[name]; ok || len(t.unknown) < 1000 {
		t.unknown[name]++
	}
}

// beginSync keeps what is seen now until endSync.
func (t *Terminal) beginSync() {
	if t.shown != nil {
		return
	}
	v := t.spare
	if v == nil {
		v = &view{}
	}
	v.alt, v.cursor = t.Alternate(), t.Cursor()
	t.cur.copyInto(&v.grid)
	v.history, v.lost = t.history.last(), t.history.lost
	t.shown, t.spare = v, nil
}

func (t *Terminal) endSync() {
	if t.shown == nil {
		return
	}
	t.stats.Frames++
	t.spare, t.shown = t.shown, nil
}
