package vt

// Resize changes the size, as the package comment says. The scroll region is reset
// and tab stops stand where they do at the start.
func (t *Terminal) Resize(w, h int) {
	w, h = min(max(w, 1), maxSide), min(max(h, 1), maxSide)
	if w == t.screen.w && h == t.screen.h {
		return
	}
	t.screen.resize(w, h)
	if t.screen.modes[modeInBand] {
		t.interpreter.answer("\x1b[48;%d;%d;%d;%dt", h, w, h*cellH, w*cellW)
	}
}

func (sc *screen) resize(w, h int) {
	sc.resizeMain(w, h)
	sc.alt.crop(w, h)
	sc.w, sc.h = w, h
	sc.top, sc.bottom = 0, h
	sc.tabs = defaultTabs(w)
	sc.last.ok = false
}

// crop cuts or fills a screen at its right and lower sides.
func (g *grid) crop(w, h int) {
	for i := range g.rows {
		g.rows[i].fit(w)
	}
	for len(g.rows) < h {
		g.rows = append(g.rows, newRow(w, blank))
	}
	g.rows = g.rows[:h]
	g.x, g.y = min(g.x, w-1), min(g.y, h-1)
	g.wrap = false
}

// fit makes a row w cells wide.
func (r *row) fit(w int) {
	if w < len(r.cells) {
		r.split(w)
		r.cells = r.cells[:w:w]
		r.soft = false
		return
	}
	for len(r.cells) < w {
		r.cells = append(r.cells, blank)
		r.soft = false
	}
}

// resizeMain lays the main screen and the scrollback out anew. What is asked for
// during a synchronised update stays as it was.
func (sc *screen) resizeMain(w, h int) {
	g := &sc.main
	kept := len(sc.history.last())
	rows := append(append(make([]row, 0, kept+len(g.rows)), sc.history.last()...), g.rows...)
	top, cursor, x := kept, kept+g.y, g.x
	if sc.reflow && w != sc.w {
		rows, top, cursor, x = rewrap(rows, w, top, cursor, x)
	}
	end := len(rows) // without the blank rows below the cursor
	for end > cursor+1 && rows[end-1].used() == 0 {
		end--
	}
	if h > sc.h {
		top -= h - sc.h
	}
	top = min(max(top, end-h, 0), cursor)

	sc.history.rows = nil
	for _, r := range rows[:top] {
		sc.history.push(r)
	}
	g.rows = nil
	for _, r := range rows[top:min(end, top+h)] {
		r.cells = append(make([]Cell, 0, w), r.cells...)
		soft := r.soft
		r.fit(w)
		r.soft = soft && sc.reflow
		g.rows = append(g.rows, r)
	}
	for len(g.rows) < h {
		g.rows = append(g.rows, newRow(w, blank))
	}
	g.x, g.y, g.wrap = min(x, w-1), cursor-top, false
	g.saved.x, g.saved.y = min(g.saved.x, w-1), min(g.saved.y, h-1)
}

// rewrap joins rows that were wrapped and wraps them at w. It says where the first
// row of the screen and the cursor have gone.
func rewrap(rows []row, w, top, cursor, x int) (out []row, newTop, newCursor, newX int) {
	var line []Cell
	at, topAt := -1, -1 // offsets in the line
	for i, r := range rows {
		if i == top {
			topAt = len(line)
		}
		if i == cursor {
			at = len(line) + x
		}
		n := r.used()
		if r.soft {
			n = len(r.cells)
			if n > 0 && r.cells[n-1] == blank { // a wide character did not fit
				n--
			}
		}
		line = append(line, r.cells[:n]...)
		if r.soft && i < len(rows)-1 {
			continue
		}
		first := len(out)
		out = wrapLine(out, line, w)
		if topAt >= 0 {
			newTop = min(first+topAt/w, len(out)-1)
		}
		if at >= 0 {
			newCursor = min(first+at/w, len(out)-1)
			newX = at - (newCursor-first)*w
		}
		line, at, topAt = nil, -1, -1
	}
	return out, newTop, newCursor, newX
}

// wrapLine appends the rows of line to out; a blank line has one.
func wrapLine(out []row, line []Cell, w int) []row {
	for {
		n := min(w, len(line))
		if n < len(line) && line[n].Width == 0 {
			n-- // a wide character stays whole
		}
		cells := line[:n:n]
		if n == 0 && len(line) > 0 { // it is wider than the screen
			cells, n = []Cell{{Width: 1, Style: line[0].Style}}, 2
		}
		line = line[n:]
		out = append(out, row{cells: cells, soft: len(line) > 0})
		if len(line) == 0 {
			return out
		}
	}
}
