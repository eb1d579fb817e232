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

func (sc *screen) graphics(r rune) rune {
	g := 0
	if sc.charsets.shifted {
		g = 1
	}
	if !sc.charsets.graphics[g] || r < 0x60 || r > 0x7e {
		return r
	}
	return []rune(decGraphics)[r-0x60]
}

func (sc *screen) print(r rune) {
	r = sc.graphics(r)
	if r >= utf8.RuneSelf && r >= 0x300 && sc.join(r) {
		return
	}
	s, w := string(r), 1
	if r >= utf8.RuneSelf {
		w = ansi.StringWidth(s)
	}
	if w == 0 || w > sc.w {
		return // nothing to join with, or no room at all
	}
	sc.put(s, w)
	sc.last.r = r
}

// join adds r to the grapheme before it and reports whether they are one.
func (sc *screen) join(r rune) bool {
	at := sc.last
	if !at.ok {
		if ansi.StringWidth(string(r)) > 0 {
			return false
		}
		at = sc.before()
		if !at.ok {
			return true // a mark on nothing is dropped
		}
	}
	c := &sc.cur.rows[at.y].cells[at.x]
	if c.Text == "" || len(c.Text) > 64 { // more marks than anyone writes
		return ansi.StringWidth(string(r)) == 0
	}
	joined := c.Text + string(r)
	cluster, w := ansi.FirstGraphemeCluster(joined, ansi.GraphemeWidth)
	if cluster != joined {
		return ansi.StringWidth(string(r)) == 0
	}
	c.Text = joined
	if w == 2 && c.Width == 1 && at.x+1 < sc.w && sc.cur.x == at.x+1 && !sc.cur.wrap {
		style := c.Style
		sc.cur.rows[at.y].clear(at.x+1, at.x+2, blank)
		c.Width = 2
		sc.cur.rows[at.y].cells[at.x+1] = Cell{Style: style}
		sc.advance(1)
	}
	return true
}

// before is the grapheme left of the cursor.
func (sc *screen) before() last {
	g := sc.cur
	x := g.x - 1
	if g.wrap {
		x = g.x
	}
	if x > 0 && g.rows[g.y].cells[x].Width == 0 {
		x--
	}
	return last{ok: x >= 0, x: max(x, 0), y: g.y}
}

func (sc *screen) put(s string, w int) {
	g := sc.cur
	if g.wrap && sc.modes[modeWrap] || g.x+w > sc.w && sc.modes[modeWrap] {
		g.rows[g.y].soft = true
		g.x, g.wrap = 0, false
		sc.index()
	}
	if g.x+w > sc.w {
		g.x = sc.w - w
	}
	row := &g.rows[g.y]
	if sc.insert {
		sc.insertCells(w)
	}
	row.split(g.x)
	row.split(g.x + w)
	row.cells[g.x] = Cell{Text: s, Width: w, Style: g.style}
	if w == 2 {
		row.cells[g.x+1] = Cell{Style: g.style}
	}
	sc.last.ok, sc.last.x, sc.last.y = true, g.x, g.y
	sc.advance(w)
}

// advance moves the cursor over what was written.
func (sc *screen) advance(w int) {
	g := sc.cur
	if g.x+w >= sc.w {
		g.x, g.wrap = sc.w-1, true
		return
	}
	g.x += w
}

// index moves the cursor down and scrolls at the end of the region.
func (sc *screen) index() {
	g := sc.cur
	switch {
	case g.y == sc.bottom-1:
		sc.scrollUp(sc.top, 1)
		sc.last.ok = false
	case g.y < sc.h-1:
		g.y++
	}
}

// scrollUp moves the region from row top up by n. What leaves the main screen at its
// first row goes into the scrollback.
func (sc *screen) scrollUp(top, n int) {
	var keep func(row)
	if top == 0 && sc.cur == &sc.main {
		keep = sc.history.push
	}
	sc.cur.scrollUp(top, sc.bottom, n, sc.erased(), keep)
}

// erased is a cell as erasing leaves it: blank, with the background in use.
func (sc *screen) erased() Cell { return Cell{Width: 1, Style: Style{BG: sc.cur.style.BG}} }

func (sc *screen) reverseIndex() {
	g := sc.cur
	switch {
	case g.y == sc.top:
		g.scrollDown(sc.top, sc.bottom, 1, sc.erased())
	case g.y > 0:
		g.y--
	}
}

func (sc *screen) insertCells(n int) {
	g := sc.cur
	r := &g.rows[g.y]
	n = min(n, sc.w-g.x)
	r.split(g.x)
	r.split(sc.w - n)
	copy(r.cells[g.x+n:], r.cells[g.x:sc.w-n])
	for i := g.x; i < g.x+n; i++ {
		r.cells[i] = sc.erased()
	}
}

func (sc *screen) deleteCells(n int) {
	g := sc.cur
	r := &g.rows[g.y]
	n = min(n, sc.w-g.x)
	r.split(g.x)
	r.split(g.x + n)
	copy(r.cells[g.x:], r.cells[g.x+n:])
	for i := sc.w - n; i < sc.w; i++ {
		r.cells[i] = sc.erased()
	}
	r.soft = false
}

// tab moves by n tab stops, back where n is negative.
func (sc *screen) tab(n int) {
	g := sc.cur
	for ; n > 0 && g.x < sc.w-1; n-- {
		for g.x++; g.x < sc.w-1 && !sc.tabs[g.x]; {
			g.x++
		}
	}
	for ; n < 0 && g.x > 0; n++ {
		for g.x--; g.x > 0 && !sc.tabs[g.x]; {
			g.x--
		}
	}
}
