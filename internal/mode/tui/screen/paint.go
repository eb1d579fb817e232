package screen

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/charmbracelet/x/ansi"
)

func (s *Screen) enter() {
	s.buf = append(s.buf, "\x1b[?1049h\x1b[H\x1b[2J"...)
	s.full = surface{rows: s.full.rows[:0], widths: s.full.widths[:0], hidden: s.inline.hidden}
	for range s.height {
		s.full.rows, s.full.widths = append(s.full.rows, ""), append(s.full.widths, 0)
	}
}

func (s *Screen) leave() {
	s.buf = append(s.buf, "\x1b[?1049l"...)
	s.inline.hidden = s.full.hidden
}

// paint writes one frame.
func (s *Screen) paint() error {
	s.begin()
	if s.onFull {
		if s.pendingBytes >= flushAt {
			s.leave()
			s.paintInline(nil, Cursor{Hidden: true})
			s.enter()
		}
		s.paintFull()
		return s.end()
	}
	return s.paintMain()
}

func (s *Screen) paintMain() error {
	s.paintInline(s.live, s.cursor)
	return s.end()
}

const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
	hide      = "\x1b[?25l"
	show      = "\x1b[?25h"
	wrapOff   = "\x1b[?7l"
	wrapOn    = "\x1b[?7h"
)

func (s *Screen) begin() {
	s.buf = append(s.buf[:0], syncBegin...)
	if !s.sync {
		s.buf = append(s.buf[:0], hide...)
	}
}

// end writes the frame, if there is anything in it. A frame that could not be written
// leaves an unknown picture behind, so the next one paints everything.
func (s *Screen) end() error {
	head := len(syncBegin)
	if !s.sync {
		head = len(hide)
	}
	if len(s.buf) == head {
		return nil
	}
	if s.noWrap {
		s.noWrap = false
		s.buf = append(s.buf, wrapOn...)
	}
	top := &s.inline
	if s.onFull {
		top = &s.full
	}
	switch {
	case s.sync:
		s.buf = append(s.buf, syncEnd...)
	case !top.hidden:
		s.buf = append(s.buf, show...)
	}
	if s.now != nil && s.shifts {
		s.shifted = s.now()
	}
	s.shifts = false
	s.stats.Frames++
	s.stats.Bytes += int64(len(s.buf))
	if _, err := s.w.Write(s.buf); err != nil {
		s.inline.stale, s.full.stale = true, true
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	if cap(s.buf) > 4*flushAt { // one frame in many is that large
		s.buf = nil
	}
	return nil
}

// paintInline draws what is pending and live over the old live part, row by row from
// its first to its last, so that every row that scrolls off is finished.
func (s *Screen) paintInline(live []string, c Cursor) {
	f := &s.inline
	if f.stale {
		s.wipe(f)
	}
	live, c = s.fit(live, c)
	s.target = append(append(s.target[:0], s.pending...), live...)
	commits := len(s.pending)
	s.shifts = s.shifts || commits > 0
	if len(live) == 0 {
		s.target = append(s.target, "") // where the cursor stands
		c.X, c.Y = 0, 0
	}
	s.rows(f, s.target)
	f.rows = append(f.rows[:0], f.rows[commits:]...)
	f.widths = append(f.widths[:0], f.widths[commits:]...)
	f.y -= commits
	s.setCursor(f, c)

	clear(s.pending)
	clear(s.target)
	s.pending, s.pendingBytes = s.pending[:0], 0
	if cap(s.pending) > 1<<14 {
		s.pending, s.target = nil, nil
	}
}

func (s *Screen) paintFull() {
	f := &s.full
	if f.stale {
		s.enterAgain()
	}
	live, c := s.live, s.cursor
	live = live[:min(len(live), s.height)]
	s.target = append(s.target[:0], live...)
	for len(s.target) < s.height {
		s.target = append(s.target, "")
	}
	s.rows(f, s.target)
	s.setCursor(f, c)
}

// enterAgain clears the alternate screen after its size changed.
func (s *Screen) enterAgain() {
	hidden := s.full.hidden
	s.enter()
	s.full.hidden = hidden
}

// fit cuts the live part to the height of the terminal.
func (s *Screen) fit(live []string, c Cursor) ([]string, Cursor) {
	over := len(live) - s.height
	s.over = max(over, 0)
	if over > 0 {
		live = live[over:]
		if s.height > 1 { // the line that tells takes the place of one more
			live = live[1:]
			s.target = append(s.target[:0], ansi.Truncate(s.hidden(over+1), s.width, ""))
			s.target = append(s.target, live...)
			live = slices.Clone(s.target)
		}
		c.Y = max(c.Y-over, 0)
	}
	return live, c
}

// rows makes the rows of f those of target. What is below them is erased.
func (s *Screen) rows(f *surface, target []string) {
	had := len(f.rows)
	for i, line := range target {
		if i < had {
			if f.rows[i] != line {
				s.replace(f, i, line)
			}
			continue
		}
		s.moveRow(f, i-1)
		s.buf = append(s.buf, "\r\n"...)
		f.x, f.y = 0, i
		f.rows, f.widths = append(f.rows, ""), append(f.widths, 0)
		if line != "" {
			s.replace(f, i, line)
		}
	}
	if n := len(target); n < had {
		s.moveRow(f, n)
		s.column(f, 0)
		s.buf = append(s.buf, "\x1b[J"...)
		f.rows, f.widths = f.rows[:n], f.widths[:n]
	}
}

// replace writes line over row i.
func (s *Screen) replace(f *surface, i int, line string) {
	m := scan(line)
	given := line
	if !m.clean {
		s.stats.Unclean++
		line = harmless(line)
		m = scan(line)
	}
	if m.width > s.width {
		s.stats.TooWide++
		line = ansi.Truncate(line, s.width, "")
		m = scan(line)
	}
	// In place, a terminal that is narrower already wraps it as it does what stands there.
	s.shifts = s.shifts || m.width > f.widths[i] && (!m.ascii || s.noWrap)
	s.moveRow(f, i)
	if !s.patch(f, i, line, m) {
		s.column(f, 0)
		s.text(line, m)
		if m.width < f.widths[i] {
			s.buf = append(s.buf, "\x1b[K"...)
		}
	}
	f.x = -1
	f.rows[i], f.widths[i] = given, m.width
}

// patch writes only what differs, where that is possible and shorter.
func (s *Screen) patch(f *surface, i int, line string, m measure) bool {
	before := f.rows[i]
	if before == "" || !m.simple {
		return false
	}
	if b := scan(before); !b.clean || !b.simple || b.width != f.widths[i] {
		return false
	}
	d := compare(before, line)
	middle := line[d.from:d.newTo]
	replay := 0
	for k, n := 0, 0; k < d.from; k += max(n, 1) {
		if n = sequenceLen(line[k:]); n > 0 {
			replay += n
		}
	}
	if replay+len(middle)+10 >= len(line) {
		return false
	}
	s.column(f, d.column)
	s.replay(line[:d.from])
	rest := scan(line[:d.newTo])
	rest.ascii = m.ascii
	s.text(middle, rest)
	if d.newTo == len(line) && m.width < f.widths[i] {
		s.buf = append(s.buf, "\x1b[K"...)
	}
	return true
}

// replay sets the style that head ends with.
func (s *Screen) replay(head string) {
	from := len(s.buf)
	for k := 0; k < len(head); {
		n := sequenceLen(head[k:])
		switch seq := head[k : k+n]; {
		case n == 0:
			n = 1
		case isReset(seq) && !bytes.Contains(s.buf[from:], []byte("\x1b]8;")):
			s.buf = s.buf[:from]
		default:
			s.buf = append(s.buf, seq...)
		}
		k += n
	}
}

// text writes what stands at the cursor and ends its style. What other characters
// than ASCII are wide is not the same in all terminals: without autowrap, one that
// is wider than expected is cut and does not break the rows below.
func (s *Screen) text(line string, m measure) {
	if !m.ascii && !s.noWrap {
		s.noWrap = true
		s.buf = append(s.buf, wrapOff...)
	}
	s.buf = append(s.buf, line...)
	if m.styled {
		s.buf = append(s.buf, "\x1b[m"...)
	}
	if m.linked {
		s.buf = append(s.buf, "\x1b]8;;\x1b\\"...)
	}
}

// moveRow moves the cursor to row y, in a column that is not known then, or as before.
func (s *Screen) moveRow(f *surface, y int) {
	switch n := y - f.y; {
	case n == 1:
		s.buf = append(s.buf, "\r\n"...)
		f.x = 0
	case n > 0:
		s.control(n, 'B')
	case n < 0:
		s.control(-n, 'A')
	}
	f.y = y
}

func (s *Screen) column(f *surface, x int) {
	switch {
	case x == f.x:
		return
	case x == 0:
		s.buf = append(s.buf, '\r')
	default:
		s.control(x+1, 'G')
	}
	f.x = x
}

func (s *Screen) control(n int, final byte) {
	s.buf = append(s.buf, "\x1b["...)
	if n > 1 {
		s.buf = strconv.AppendInt(s.buf, int64(n), 10)
	}
	s.buf = append(s.buf, final)
}

func (s *Screen) setCursor(f *surface, c Cursor) {
	c.Y = min(max(c.Y, 0), len(f.rows)-1)
	c.X = min(max(c.X, 0), s.width-1)
	// A hidden cursor may stay where it is, if that is known and within the live part.
	if !c.Hidden || f.x < 0 || f.y < 0 || f.y >= len(f.rows) {
		s.moveRow(f, c.Y)
		s.column(f, c.X)
	}
	if c.Hidden != f.hidden {
		f.hidden = c.Hidden
		switch {
		case c.Hidden:
			s.buf = append(s.buf, hide...)
		default:
			s.buf = append(s.buf, show...)
		}
	}
}

// wipe erases the live part wherever its rows are now. It moves up by the rows the
// cursor is below the first, which the terminal limits to its first row. That row is
// erased by itself: what is cleared from the first cell of the screen on, tmux keeps in its
// scrollback.
func (s *Screen) wipe(f *surface) {
	up := f.y
	if s.reflow {
		up = f.above(s.width, s.doubt)
	}
	s.buf = append(s.buf, '\r')
	if up > 0 {
		s.control(up, 'A')
	}
	s.buf = append(s.buf, "\x1b[K"...)
	if s.height > 1 {
		s.buf = append(s.buf, "\n\x1b[J\x1b[A"...)
	}
	f.rows, f.widths = append(f.rows[:0], ""), append(f.widths[:0], 0)
	f.x, f.y, f.stale = 0, 0, false
	s.doubt = false
}

// above is the number of rows above the cursor in a terminal that wrapped the rows
// of f at width. In doubt whether it wrapped them or they were written into it when it had
// that width already, it is the least of both: what was written so is wrapped as well, but
// for lines that are written without autowrap.
func (f *surface) above(width int, doubt bool) int {
	needs := func(i int) int {
		if doubt && !scan(f.rows[i]).ascii {
			return 1
		}
		return max(1, (f.widths[i]+width-1)/width)
	}
	n := 0
	for i := range f.y {
		n += needs(i)
	}
	if doubt {
		return n // where the cursor was to be behind the edge, it stands at the edge
	}
	// A cursor behind the text stays in the last row of its line.
	return n + min(max(f.x, 0)/width, needs(f.y)-1)
}
