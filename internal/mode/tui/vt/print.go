package vt

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// last is where the last grapheme went, so that what belongs to it can be added.
type last struct {
	ok   bool
	x, y int
	r    rune // for REP
}

// charsets are G0 and G1, which SI and SO choose from.
type charsets struct {
	graphics [2]bool // DEC special graphics
	shifted  bool
}

// decGraphics are the characters 0x60–0x7e of DEC special graphics.
const decGraphics = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"

func (t *Terminal) graphics(r rune) rune {
	g := 0
	if t.charsets.shifted {
		g = 1
	}
	if !t.charsets.graphics[g] || r < 0x60 || r > 0x7e {
		return r
	}
	return []rune(decGraphics)[r-0x60]
}

func (t *Terminal) print(r rune) {
	r = t.graphics(r)
	if r >= utf8.RuneSelf && r >= 0x300 && t.join(r) {
		return
	}
	s, w := string(r), 1
	if r >= utf8.RuneSelf {
		w = ansi.StringWidth(s)
	}
	if w == 0 || w > t.w {
		return // nothing to join with, or no room at all
	}
	t.put(s, w)
	t.last.r = r
}

// join adds r to the grapheme before it and reports whether they are one.
func (t *Terminal) join(r rune) bool {
	at := t.last
	if !at.ok {
		if ansi.StringWidth(string(r)) > 0 {
			return false
		}
		at = t.before()
		if !at.ok {
			return true // a mark on nothing is dropped
		}
	}
	c := &t.cur.rows[at.y].cells[at.x]
	if c.Text == "" || len(c.Text) > 64 { // more marks than anyone writes
		return ansi.StringWidth(string(r)) == 0
	}
	joined := c.Text + string(r)
	cluster, w := ansi.FirstGraphemeCluster(joined, ansi.GraphemeWidth)
	if cluster != joined {
		return ansi.StringWidth(string(r)) == 0
	}
	c.Text = joined
	if w == 2 && c.Width == 1 && at.x+1 < t.w && t.cur.x == at.x+1 && !t.cur.wrap {
		style := c.Style
		t.cur.rows[at.y].clear(at.x+1, at.x+2, blank)
		c.Width = 2
		t.cur.rows[at.y].cells[at.x+1] = Cell{Style: style}
		t.advance(1)
	}
	return true
}

// before is the grapheme left of the cursor.
func (t *Terminal) before() last {
	g := t.cur
	x := g.x - 1
	if g.wrap {
		x = g.x
	}
	if x > 0 && g.rows[g.y].cells[x].Width == 0 {
		x--
	}
	return last{ok: x >= 0, x: max(x, 0), y: g.y}
}

func (t *Terminal) put(s string, w int) {
	g := t.cur
	if g.wrap && t.modes[modeWrap] || g.x+w > t.w && t.modes[modeWrap] {
		g.rows[g.y].soft = true
		g.x, g.wrap = 0, false
		t.index()
	}
	if g.x+w > t.w {
		g.x = t.w - w
	}
	row := &g.rows[g.y]
	if t.insert {
		t.insertCells(w)
	}
	row.split(g.x)
	row.split(g.x + w)
	row.cells[g.x] = Cell{Text: s, Width: w, Style: g.style}
	if w == 2 {
		row.cells[g.x+1] = Cell{Style: g.style}
	}
	t.last.ok, t.last.x, t.last.y = true, g.x, g.y
	t.advance(w)
}

// advance moves the cursor over what was written.
func (t *Terminal) advance(w int) {
	g := t.cur
	if g.x+w >= t.w {
		g.x, g.wrap = t.w-1, true
		return
	}
	g.x += w
}

// index moves the cursor down and scrolls at the end of the region.
func (t *Terminal) index() {
	g := t.cur
	switch {
	case g.y == t.bottom-1:
		t.scrollUp(t.top, 1)
		t.last.ok = false
	case g.y < t.h-1:
		g.y++
	}
}

// scrollUp moves the region from row top up by n. What leaves the main screen at its
// first row goes into the scrollback.
func (t *Terminal) scrollUp(top, n int) {
	var keep func(row)
	if top == 0 && t.cur == &t.main {
		keep = t.history.push
	}
	t.cur.scrollUp(top, t.bottom, n, t.erased(), keep)
}

// erased is a cell as erasing leaves it: blank, with the background in use.
func (t *Terminal) erased() Cell { return Cell{Width: 1, Style: Style{BG: t.cur.style.BG}} }

func (t *Terminal) reverseIndex() {
	g := t.cur
	switch {
	case g.y == t.top:
		g.scrollDown(t.top, t.bottom, 1, t.erased())
	case g.y > 0:
		g.y--
	}
}

func (t *Terminal) insertCells(n int) {
	g := t.cur
	r := &g.rows[g.y]
	n = min(n, t.w-g.x)
	r.split(g.x)
	r.split(t.w - n)
	copy(r.cells[g.x+n:], r.cells[g.x:t.w-n])
	for i := g.x; i < g.x+n; i++ {
		r.cells[i] = t.erased()
	}
}

func (t *Terminal) deleteCells(n int) {
	g := t.cur
	r := &g.rows[g.y]
	n = min(n, t.w-g.x)
	r.split(g.x)
	r.split(g.x + n)
	copy(r.cells[g.x:], r.cells[g.x+n:])
	for i := t.w - n; i < t.w; i++ {
		r.cells[i] = t.erased()
	}
	r.soft = false
}

func (t *Terminal) execute(b byte) {
	g := t.cur
	switch b {
	case 0x07:
		t.stats.Bells++
		return
	case 0x08:
		g.x = max(g.x-1, 0)
	case 0x09:
		t.tab(1)
	case 0x0a, 0x0b, 0x0c:
		if t.newline {
			g.x = 0
		}
		t.index()
	case 0x0d:
		g.x = 0
	case 0x0e, 0x0f:
		t.charsets.shifted = b == 0x0e
		return
	default:
		return // the others have no meaning for a screen
	}
	g.wrap = false
	t.last.ok = false
}

// tab moves by n tab stops, back where n is negative.
func (t *Terminal) tab(n int) {
	g := t.cur
	for ; n > 0 && g.x < t.w-1; n-- {
		for g.x++; g.x < t.w-1 && !t.tabs[g.x]; {
			g.x++
		}
	}
	for ; n < 0 && g.x > 0; n++ {
		for g.x--; g.x > 0 && !t.tabs[g.x]; {
			g.x--
		}
	}
}
