// Package screen draws the terminal's face inline: below what the terminal shows
// already, without taking it over.
//
// Lines are of two kinds. Committed lines are finished: they go into the terminal's
// own scrollback once, above the live part, and are never touched again. The live
// part is what may still change; Draw replaces it by difference. A frame is one
// Write inside one synchronised update, and no frame is written where nothing
// changed. There are no timers and no goroutines; a Screen belongs to one.
//
// The Screen never asks where the cursor is. It knows only how its own rows lie to
// each other, so it works below any prompt, and never moves above the first live
// row: what was committed, and what others wrote, cannot be lost.
//
// The live part never has more rows than the terminal, because a row that scrolled
// off could not be taken back. Of a longer one the last rows are drawn below one line
// that says how many are hidden. Only the terminal itself can push live rows into
// its scrollback, when it becomes too low for them; they stay there as they were.
//
// A line is text with SGR sequences and links (OSC 8), at most as wide as the
// terminal, without line ends. Every line begins and ends in the terminal's own
// style. Lines that break these rules are cut, or shown without their sequences,
// and counted in Stats, because they are defects of the caller. Do not fill lines with
// spaces: terminals that rewrap would wrap them.
package screen

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	// flushAt is the size of committed lines in bytes that are written without
	// waiting for the next Draw.
	flushAt = 64 << 10
	// maxHeld is the size of committed lines in bytes that are held while another
	// program has the terminal. More are refused with ErrFull.
	maxHeld = 64 << 20
	// tellTime is the longest time in which a program hears of a new size, as a rule.
	tellTime = 50 * time.Millisecond
)

// ErrFull is the refusal of lines while the screen is suspended and holds 64 MiB of
// them. The caller still has them and commits them after Restore.
var ErrFull = errors.New("another program uses the terminal, and too many lines are waiting")

// Options of a screen.
type Options struct {
	// Width and Height are the size of the terminal in cells; 80×24 where unknown.
	Width, Height int
	// Sync encloses frames in synchronised updates (mode 2026). Terminals that do
	// not know them ignore them. Without, the cursor is hidden during a frame.
	Sync bool
	// Reflow says that the terminal wraps its lines anew when its width changes, as
	// most do; see [Reflows]. Where it is wrongly false, old live rows may stay in
	// the scrollback after a change of width; where it is wrongly true, committed
	// lines just above the live part may be drawn over.
	Reflow bool
	// Now is the clock. With it, a frame that moved rows just before a change of size is
	// taken to have been drawn in the new size perhaps: the terminal has it before anybody
	// is told, and does not say which came first. Then rather old live rows stay in the
	// scrollback than that committed lines are drawn over: one for each line beyond ASCII
	// that the new width wraps. A frame that changed rows where they stand leaves no such
	// doubt. nil: what was drawn was drawn in the size that was known.
	Now func() time.Time
	// Hidden is the line that stands for n live rows that do not fit, cut to the width.
	// nil: "… n more lines above".
	Hidden func(n int) string
}

// Reflows reports whether the terminal described by the environment wraps its lines
// anew when its width changes.
func Reflows(getenv func(string) string) bool {
	term := getenv("TERM")
	switch {
	case getenv("TMUX") != "":
		return true
	case getenv("XTERM_VERSION") != "", getenv("STY") != "", term == "linux",
		strings.HasPrefix(term, "screen"), strings.HasPrefix(term, "st-"):
		return false
	}
	return true
}

// Cursor is where the terminal's cursor stands, and with it the window of an input
// method: column X of row Y of the lines given to Draw, both from 0.
type Cursor struct {
	X, Y   int
	Hidden bool
}

// Stats counts what a screen did.
type Stats struct {
	Frames    int   // writes
	Bytes     int64 // of them
	Committed int   // lines
	TooWide   int   // lines that had to be cut
	Unclean   int   // lines with other sequences or control characters
}

// Screen draws on a terminal.
type Screen struct {
	w             io.Writer
	width, height int
	sync, reflow  bool
	hidden        func(n int) string

	inline, full surface
	onFull       bool // the alternate screen is shown
	suspended    bool

	pending      []string // committed, not yet written
	pendingBytes int
	live         []string // as given to Draw
	over         int      // first rows of it that were not drawn last, for there was no room
	cursor       Cursor
	target       []string // memory of paint
	buf          []byte
	noWrap       bool // autowrap is off within this frame
	now          func() time.Time
	shifts       bool      // this frame moves rows, as a terminal of another width would not
	shifted      time.Time // the last frame that did, if there is a clock
	doubt        bool      // whether that was drawn in the size before or in the present one
	stats        Stats
}

// surface is what stands on one of the terminal's two screens.
type surface struct {
	rows   []string // never empty once something was drawn
	widths []int
	x, y   int // the cursor; x is -1 where it is not known
	hidden bool
	stale  bool // nothing in rows can be relied on but their widths
}

// New makes a screen. The cursor is at the beginning of an empty line.
func New(w io.Writer, o Options) *Screen {
	s := &Screen{w: w, sync: o.Sync, reflow: o.Reflow, hidden: o.Hidden, now: o.Now}
	if s.hidden == nil {
		s.hidden = func(n int) string { return "… " + strconv.Itoa(n) + " more lines above" }
	}
	if o.Width <= 0 || o.Height <= 0 {
		o.Width, o.Height = 80, 24
	}
	s.width, s.height = o.Width, o.Height
	s.inline = surface{rows: []string{""}, widths: []int{0}}
	return s
}

// Size is the size of the terminal as it was told last.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Stats is what was counted so far.
func (s *Screen) Stats() Stats { return s.stats }

// Commit adds finished lines above the live part. They are written with the next
// Draw or Flush, in the same frame, or at once where more than 64 KiB wait. While the
// alternate screen is shown they pass behind it. Lines of a frame whose write failed
// are not written again, because nobody knows how many of them the terminal has.
func (s *Screen) Commit(lines []string) error {
	for i, l := range lines {
		if s.suspended && s.pendingBytes+len(l) > maxHeld {
			return fmt.Errorf("commit %d lines: %w", len(lines)-i, ErrFull)
		}
		s.pending = append(s.pending, l)
		s.pendingBytes += len(l) + 1
		s.stats.Committed++
		if s.pendingBytes >= flushAt && !s.suspended {
			if err := s.paint(); err != nil {
				return err
			}
		}
	}
	return nil
}

// CommitPicture adds a picture above the live part, behind the lines that were committed:
// a sequence of the terminal's that draws so many rows down from where the cursor is and
// leaves the cursor there. The rows are made first, because not all terminals scroll for
// pictures. The live part is drawn anew by the next Draw. A picture as high as the
// terminal, and one that comes while another program has the terminal, is left out.
func (s *Screen) CommitPicture(sequence string, rows int) error {
	if s.suspended || rows <= 0 || rows >= s.height {
		return nil
	}
	s.begin()
	if s.onFull {
		s.leave()
	}
	s.live, s.cursor = s.live[:0], Cursor{}
	s.paintInline(nil, Cursor{})
	s.shifts = true
	for range rows {
		s.buf = append(s.buf, "\r\n"...)
	}
	s.buf = fmt.Appendf(s.buf, "\x1b[%dA%s\x1b[%dB\r", rows, sequence, rows)
	if s.onFull {
		s.enter()
	}
	return s.end()
}

// Draw shows live as the live part, or as the content of the alternate screen while
// that is shown. It keeps no reference to live, but to its lines.
func (s *Screen) Draw(live []string, c Cursor) error {
	s.live = append(s.live[:0], live...)
	s.cursor = c
	return s.Flush()
}

// CursorRow is the row of the live part, as it was given to Draw, in which the terminal's
// cursor is now; false where the terminal may have moved rows since. Who asks the terminal
// where its cursor is knows then where all rows are.
func (s *Screen) CursorRow() (int, bool) {
	return s.inline.y + s.over, !s.onFull && !s.suspended && !s.inline.stale
}

// Flush writes what was committed and draws what has to be drawn. It writes nothing
// while the screen is suspended.
func (s *Screen) Flush() error {
	if s.suspended {
		return nil
	}
	return s.paint()
}

// Resize tells the size of the terminal after it changed. The next Draw paints
// everything afresh; a caller that has to wrap its lines anew does so before it.
func (s *Screen) Resize(width, height int) {
	if width <= 0 || height <= 0 || width == s.width && height == s.height {
		return
	}
	s.width, s.height = width, height
	if s.now != nil && s.now().Sub(s.shifted) < tellTime {
		s.doubt = true
	}
	s.inline.stale, s.full.stale = true, true
}

// Repaint makes the next Draw paint everything afresh, from where the first live row
// was. It is for when something else wrote to the terminal. If that made the
// terminal scroll, what is drawn begins lower, and nothing is lost.
func (s *Screen) Repaint() { s.inline.stale, s.full.stale = true, true }

// Clear erases the live part and leaves the cursor, visible, at the beginning of its
// first row. What was committed before is written.
func (s *Screen) Clear() error {
	s.live, s.cursor = s.live[:0], Cursor{}
	return s.Flush()
}

// Suspend erases the live part, leaves the alternate screen and gives the terminal to
// another program: cursor visible, at the beginning of a line below what was committed.
// Committed lines are held until Restore.
func (s *Screen) Suspend() error {
	if s.suspended {
		return nil
	}
	if err := s.LeaveFullscreen(); err != nil {
		return err
	}
	err := s.Clear()
	s.suspended = true
	return err
}

// Restore takes the terminal back, with the cursor at the beginning of an empty line.
// The next Draw paints the live part there.
func (s *Screen) Restore() {
	s.suspended = false
	s.inline = surface{rows: append(s.inline.rows[:0], ""), widths: append(s.inline.widths[:0], 0)}
}

// EnterFullscreen shows the alternate screen, empty until the next Draw. The live part
// is erased before, so that nothing of it is left where the terminal is resized
// meanwhile.
func (s *Screen) EnterFullscreen() error {
	if s.onFull || s.suspended {
		return nil
	}
	if err := s.Clear(); err != nil {
		return err
	}
	s.onFull = true
	s.begin()
	s.enter()
	return s.end()
}

// LeaveFullscreen shows the terminal's own screen again, as it was but for lines that
// were committed meanwhile. The next Draw draws the live part.
func (s *Screen) LeaveFullscreen() error {
	if !s.onFull {
		return nil
	}
	s.onFull = false
	s.live, s.cursor = s.live[:0], Cursor{}
	s.begin()
	s.leave()
	return s.paintMain()
}
