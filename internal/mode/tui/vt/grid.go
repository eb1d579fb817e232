package vt

import (
	"slices"
	"strings"
)

// Cell is one place of the grid.
type Cell struct {
	// Text is one grapheme; "" is a place nothing was written to.
	Text string
	// Width is the number of columns: 1 or 2; 0 is the second half of a wide one.
	Width int
	Style Style
}

var blank = Cell{Width: 1}

// row is one line of the grid or of the scrollback.
type row struct {
	cells []Cell
	soft  bool // the text goes on in the next row: it was wrapped by the terminal
}

func newRow(w int, c Cell) row {
	cells := make([]Cell, w)
	for i := range cells {
		cells[i] = c
	}
	return row{cells: cells}
}

// clear makes a row blank again, with the background of c.
func (r *row) clear(from, to int, c Cell) {
	from, to = max(from, 0), min(to, len(r.cells))
	if from >= to {
		return
	}
	r.split(from)
	r.split(to)
	for i := from; i < to; i++ {
		r.cells[i] = c
	}
	if to == len(r.cells) {
		r.soft = false
	}
}

// split blanks a wide character whose halves lie on both sides of x.
func (r *row) split(x int) {
	if x <= 0 || x >= len(r.cells) || r.cells[x].Width != 0 {
		return
	}
	for _, i := range []int{x - 1, x} {
		r.cells[i] = Cell{Width: 1, Style: r.cells[i].Style}
	}
}

// used is the number of cells without the blank ones at the end.
func (r *row) used() int {
	n := len(r.cells)
	for n > 0 && r.cells[n-1] == blank {
		n--
	}
	return n
}

// raw is what the row says.
func (r *row) raw() string {
	var b strings.Builder
	for _, c := range r.cells {
		switch {
		case c.Width == 0:
		case c.Text == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// text is what the row says, without blanks at its end.
func (r *row) text() string { return strings.TrimRight(r.raw(), " ") }

// grid is one screen, main or alternate.
type grid struct {
	rows  []row
	x, y  int  // the cursor
	wrap  bool // the last column is written: the next character goes to the next row
	style Style
	saved saved
}

// saved is what DECSC keeps.
type saved struct {
	x, y     int
	wrap     bool
	style    Style
	charsets charsets
	origin   bool
}

func newGrid(w, h int) grid {
	g := grid{rows: make([]row, h)}
	for i := range g.rows {
		g.rows[i] = newRow(w, blank)
	}
	return g
}

// copyInto makes dst a deep copy, using its memory.
func (g *grid) copyInto(dst *grid) {
	rows := dst.rows
	*dst = *g
	if len(rows) != len(g.rows) {
		rows = make([]row, len(g.rows))
	}
	for i := range rows {
		rows[i].cells = append(rows[i].cells[:0], g.rows[i].cells...)
		rows[i].soft = g.rows[i].soft
	}
	dst.rows = rows
}

// scrollUp moves rows top to bottom-1 up by n. Rows that leave are handed to keep,
// if it is not nil, before they are used again.
func (g *grid) scrollUp(top, bottom, n int, fill Cell, keep func(row)) {
	n = min(n, bottom-top)
	for range n {
		first := g.rows[top]
		if keep != nil {
			keep(first)
		}
		copy(g.rows[top:bottom-1], g.rows[top+1:bottom])
		first.soft = false
		for i := range first.cells {
			first.cells[i] = fill
		}
		g.rows[bottom-1] = first
	}
}

func (g *grid) scrollDown(top, bottom, n int, fill Cell) {
	n = min(n, bottom-top)
	for range n {
		last := g.rows[bottom-1]
		copy(g.rows[top+1:bottom], g.rows[top:bottom-1])
		last.soft = false
		for i := range last.cells {
			last.cells[i] = fill
		}
		g.rows[top] = last
	}
}

// history is the scrollback: rows that left the main screen at its top. Rows are
// never changed once they are in it.
type history struct {
	rows []row
	max  int
	lost int // rows that were dropped because there were more than max
}

// push keeps a copy of r, without the blanks at its end.
func (h *history) push(r row) {
	if h.max == 0 {
		h.lost++
		return
	}
	h.rows = append(h.rows, row{cells: slices.Clone(r.cells[:r.used()]), soft: r.soft})
	if len(h.rows) >= 2*h.max { // seldom, so that pushing stays cheap
		h.lost += len(h.rows) - h.max
		h.rows = slices.Clone(h.rows[len(h.rows)-h.max:])
	}
}

// last are the rows that are still held.
func (h *history) last() []row { return h.rows[max(0, len(h.rows)-h.max):] }
