package vt

// control runs CSI sequences.
func (in *interpreter) control(raw []byte) {
	q, ok := parseControl(raw)
	if ok {
		switch {
		case q.prefix == 0 && q.inter == 0:
			ok = in.move(&q) || in.edit(&q) || in.set(&q)
		case q.prefix == '?' && q.inter == 0:
			ok = in.private(&q)
		default:
			ok = in.rare(&q)
		}
	}
	if !ok {
		in.tally.unknownSequence("CSI", raw)
	}
	in.screen.last.ok = in.screen.last.ok && ok && q.final == 'm'
}

// move runs what moves the cursor.
func (in *interpreter) move(q *sequence) bool {
	g, n := in.screen.cur, q.count(0)
	origin := 0
	if in.screen.modes[modeOrigin] {
		origin = in.screen.top
	}
	switch q.final {
	case 'A':
		in.screen.moveY(-n)
	case 'B', 'e':
		in.screen.moveY(n)
	case 'C', 'a':
		in.screen.moveTo(g.x+n, g.y-origin)
	case 'D':
		in.screen.moveTo(g.x-n, g.y-origin)
	case 'E':
		in.screen.moveY(n)
		g.x = 0
	case 'F':
		in.screen.moveY(-n)
		g.x = 0
	case 'G', '`':
		in.screen.moveTo(n-1, g.y-origin)
	case 'H', 'f':
		in.screen.moveTo(q.count(1)-1, n-1)
	case 'd':
		in.screen.moveTo(g.x, n-1)
	case 'I':
		in.screen.tab(n)
		g.wrap = false
	case 'Z':
		in.screen.tab(-n)
		g.wrap = false
	default:
		return false
	}
	return true
}

// edit runs what changes cells.
func (in *interpreter) edit(q *sequence) bool {
	g, n := in.screen.cur, q.count(0)
	r := &g.rows[g.y]
	inside := g.y >= in.screen.top && g.y < in.screen.bottom
	switch q.final {
	case '@':
		in.screen.insertCells(n)
	case 'P':
		in.screen.deleteCells(n)
	case 'X':
		r.clear(g.x, g.x+n, in.screen.erased())
	case 'J':
		return in.screen.eraseScreen(q.num(0, 0))
	case 'K':
		return in.screen.eraseLine(q.num(0, 0))
	case 'L':
		if inside {
			g.scrollDown(g.y, in.screen.bottom, n, in.screen.erased())
			g.x = 0
		}
	case 'M':
		if inside {
			g.scrollUp(g.y, in.screen.bottom, n, in.screen.erased(), nil)
			g.x = 0
		}
	case 'S':
		in.screen.scrollUp(in.screen.top, n)
		return true
	case 'T':
		if q.n > 1 { // highlight tracking, of no use here
			return false
		}
		g.scrollDown(in.screen.top, in.screen.bottom, n, in.screen.erased())
		return true
	case 'b':
		for range min(n, in.screen.w*in.screen.h) {
			if in.screen.last.r != 0 {
				in.screen.print(in.screen.last.r)
			}
		}
		return true
	default:
		return false
	}
	g.wrap = false
	return true
}

// set runs what changes the state of the terminal, and queries.
func (in *interpreter) set(q *sequence) bool {
	switch q.final {
	case 'm':
		return in.screen.cur.style.sgr(q)
	case 'r':
		top, bottom := q.count(0)-1, min(q.num(1, in.screen.h), in.screen.h)
		if bottom == 0 {
			bottom = in.screen.h
		}
		if top < bottom-1 {
			in.screen.top, in.screen.bottom = top, bottom
			in.screen.moveTo(0, 0)
		}
	case 's':
		in.screen.save()
	case 'u':
		in.screen.restore()
	case 'g':
		return in.screen.clearTabs(q.num(0, 0))
	case 'h', 'l':
		return in.setANSI(q)
	case 'c':
		in.answer("\x1b[?62;22;52c")
	case 'n':
		return in.status(q)
	case 't':
		return in.window(q)
	default:
		return false
	}
	return true
}

func (in *interpreter) setANSI(q *sequence) bool {
	ok := true
	for i := range q.n {
		switch q.num(i, 0) {
		case 4:
			in.screen.insert = q.final == 'h'
		case 20:
			in.screen.newline = q.final == 'h'
		default:
			ok = false
		}
	}
	return ok
}

func (in *interpreter) status(q *sequence) bool {
	switch q.num(0, 0) {
	case 5:
		in.answer("\x1b[0n")
	case 6:
		y := in.screen.cur.y
		if in.screen.modes[modeOrigin] {
			y -= in.screen.top
		}
		in.answer("\x1b[%d;%dR", y+1, in.screen.cur.x+1)
	default:
		return false
	}
	return true
}

// window answers questions for sizes and keeps the stack of titles.
func (in *interpreter) window(q *sequence) bool {
	switch q.num(0, 0) {
	case 14:
		in.answer("\x1b[4;%d;%dt", in.screen.h*cellH, in.screen.w*cellW)
	case 16:
		in.answer("\x1b[6;%d;%dt", cellH, cellW)
	case 18:
		in.answer("\x1b[8;%d;%dt", in.screen.h, in.screen.w)
	case 22:
		if len(in.desktop.titles) < 16 {
			in.desktop.titles = append(in.desktop.titles, in.desktop.title)
		}
	case 23:
		if n := len(in.desktop.titles); n > 0 {
			in.desktop.title, in.desktop.titles = in.desktop.titles[n-1], in.desktop.titles[:n-1]
		}
	default:
		return false
	}
	return true
}
