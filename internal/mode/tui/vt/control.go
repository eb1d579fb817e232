package vt

// control runs CSI sequences.
func (t *Terminal) control(raw []byte) {
	q, ok := parseControl(raw)
	if ok {
		switch {
		case q.prefix == 0 && q.inter == 0:
			ok = t.move(&q) || t.edit(&q) || t.set(&q)
		case q.prefix == '?' && q.inter == 0:
			ok = t.private(&q)
		default:
			ok = t.rare(&q)
		}
	}
	if !ok {
		t.unknownSequence("CSI", raw)
	}
	t.last.ok = t.last.ok && ok && q.final == 'm'
}

func (t *Terminal) moveTo(x, y int) {
	top, bottom := 0, t.h
	if t.modes[modeOrigin] {
		top, bottom = t.top, t.bottom
		y += top
	}
	t.cur.x = min(max(x, 0), t.w-1)
	t.cur.y = min(max(y, top), bottom-1)
	t.cur.wrap = false
}

// moveY moves by rows and stops at the margins if it begins inside of them.
func (t *Terminal) moveY(n int) {
	g := t.cur
	lo, hi := 0, t.h-1
	if g.y >= t.top {
		lo = t.top
	}
	if g.y < t.bottom {
		hi = t.bottom - 1
	}
	g.y = min(max(g.y+n, lo), hi)
	g.wrap = false
}

// move runs what moves the cursor.
func (t *Terminal) move(q *sequence) bool {
	g, n := t.cur, q.count(0)
	origin := 0
	if t.modes[modeOrigin] {
		origin = t.top
	}
	switch q.final {
	case 'A':
		t.moveY(-n)
	case 'B', 'e':
		t.moveY(n)
	case 'C', 'a':
		t.moveTo(g.x+n, g.y-origin)
	case 'D':
		t.moveTo(g.x-n, g.y-origin)
	case 'E':
		t.moveY(n)
		g.x = 0
	case 'F':
		t.moveY(-n)
		g.x = 0
	case 'G', '`':
		t.moveTo(n-1, g.y-origin)
	case 'H', 'f':
		t.moveTo(q.count(1)-1, n-1)
	case 'd':
		t.moveTo(g.x, n-1)
	case 'I':
		t.tab(n)
		g.wrap = false
	case 'Z':
		t.tab(-n)
		g.wrap = false
	default:
		return false
	}
	return true
}

// edit runs what changes cells.
func (t *Terminal) edit(q *sequence) bool {
	g, n := t.cur, q.count(0)
	r := &g.rows[g.y]
	inside := g.y >= t.top && g.y < t.bottom
	switch q.final {
	case '@':
		t.insertCells(n)
	case 'P':
		t.deleteCells(n)
	case 'X':
		r.clear(g.x, g.x+n, t.erased())
	case 'J':
		return t.eraseScreen(q.num(0, 0))
	case 'K':
		return t.eraseLine(q.num(0, 0))
	case 'L':
		if inside {
			g.scrollDown(g.y, t.bottom, n, t.erased())
			g.x = 0
		}
	case 'M':
		if inside {
			g.scrollUp(g.y, t.bottom, n, t.erased(), nil)
			g.x = 0
		}
	case 'S':
		t.scrollUp(t.top, n)
		return true
	case 'T':
		if q.n > 1 { // highlight tracking, of no use here
			return false
		}
		g.scrollDown(t.top, t.bottom, n, t.erased())
		return true
	case 'b':
		for range min(n, t.w*t.h) {
			if t.last.r != 0 {
				t.print(t.last.r)
			}
		}
		return true
	default:
		return false
	}
	g.wrap = false
	return true
}

func (t *Terminal) eraseLine(how int) bool {
	g := t.cur
	r := &g.rows[g.y]
	g.wrap = false
	switch how {
	case 0:
		r.clear(g.x, t.w, t.erased())
	case 1:
		r.clear(0, g.x+1, t.erased())
	case 2:
		r.clear(0, t.w, t.erased())
	default:
		return false
	}
	return true
}

func (t *Terminal) eraseScreen(how int) bool {
	g := t.cur
	from, to := 0, t.h
	switch how {
	case 0:
		t.eraseLine(0)
		from = g.y + 1
	case 1:
		t.eraseLine(1)
		to = g.y
	case 2:
	case 3:
		if t.cur == &t.main {
			t.history.lost += len(t.history.rows)
			t.history.rows = nil
		}
		return true
	default:
		return false
	}
	for y := from; y < to; y++ {
		g.rows[y].clear(0, t.w, t.erased())
	}
	g.wrap = false
	return true
}

// set runs what changes the state of the terminal, and queries.
func (t *Terminal) set(q *sequence) bool {
	switch q.final {
	case 'm':
		return t.cur.style.sgr(q)
	case 'r':
		top, bottom := q.count(0)-1, min(q.num(1, t.h), t.h)
		if bottom == 0 {
			bottom = t.h
		}
		if top < bottom-1 {
			t.top, t.bottom = top, bottom
			t.moveTo(0, 0)
		}
	case 's':
		t.save()
	case 'u':
		t.restore()
	case 'g':
		return t.clearTabs(q.num(0, 0))
	case 'h', 'l':
		return t.setANSI(q)
	case 'c':
		t.answer("\x1b[?62;22;52c")
	case 'n':
		return t.status(q)
	case 't':
		return t.window(q)
	default:
		return false
	}
	return true
}

func (t *Terminal) clearTabs(how int) bool {
	switch how {
	case 0:
		t.tabs[t.cur.x] = false
	case 3:
		clear(t.tabs)
	default:
		return false
	}
	return true
}

func (t *Terminal) setANSI(q *sequence) bool {
	ok := true
	for i := range q.n {
		switch q.num(i, 0) {
		case 4:
			t.insert = q.final == 'h'
		case 20:
			t.newline = q.final == 'h'
		default:
			ok = false
		}
	}
	return ok
}

func (t *Terminal) status(q *sequence) bool {
	switch q.num(0, 0) {
	case 5:
		t.answer("\x1b[0n")
	case 6:
		y := t.cur.y
		if t.modes[modeOrigin] {
			y -= t.top
		}
		t.answer("\x1b[%d;%dR", y+1, t.cur.x+1)
	default:
		return false
	}
	return true
}

// window answers questions for sizes and keeps the stack of titles.
func (t *Terminal) window(q *sequence) bool {
	switch q.num(0, 0) {
	case 14:
		t.answer("\x1b[4;%d;%dt", t.h*cellH, t.w*cellW)
	case 16:
		t.answer("\x1b[6;%d;%dt", cellH, cellW)
	case 18:
		t.answer("\x1b[8;%d;%dt", t.h, t.w)
	case 22:
		if len(t.titles) < 16 {
			t.titles = append(t.titles, t.title)
		}
	case 23:
		if n := len(t.titles); n > 0 {
			t.title, t.titles = t.titles[n-1], t.titles[:n-1]
		}
	default:
		return false
	}
	return true
}

func (t *Terminal) save() {
	g := t.cur
	g.saved = saved{g.x, g.y, g.wrap, g.style, t.charsets, t.modes[modeOrigin]}
}

func (t *Terminal) restore() {
	g := t.cur
	s := g.saved
	g.x, g.y = min(s.x, t.w-1), min(s.y, t.h-1)
	g.wrap = s.wrap && g.x == t.w-1
	g.style, t.charsets = s.style, s.charsets
	t.modes[modeOrigin] = s.origin
}
