package editor

// left is the place one cluster before p; line ends count as one.
func (d *document) left(p pos, lay *layout) pos {
	if p.col > 0 {
		before, _ := lay.boundaries(d.at(p.line), p.col)
		return pos{p.line, before}
	}
	if p.line > 0 {
		return pos{p.line - 1, len(d.at(p.line - 1).s)}
	}
	return p
}

// right is the place one cluster behind p.
func (d *document) right(p pos) pos {
	s := d.at(p.line).s
	if p.col < len(s) {
		return pos{p.line, p.col + clusterLen(s[p.col:])}
	}
	if p.line+1 < d.lines() {
		return pos{p.line + 1, 0}
	}
	return p
}

// between is the class of what lies between two neighboring places.
func (d *document) between(from, to pos) class {
	if from.line != to.line {
		return classSpace
	}
	return classOf(d.at(from.line).s[from.col:to.col])
}

// wordLeft is the start of the word before p.
func (d *document) wordLeft(p pos, lay *layout) pos {
	in := classSpace
	for {
		q := d.left(p, lay)
		if q == p {
			return p
		}
		switch c := d.between(q, p); {
		case in == classSpace:
			in = c
		case c != in:
			return p
		}
		p = q
	}
}

// wordRight is the end of the word behind p.
func (d *document) wordRight(p pos) pos {
	in := classSpace
	for {
		q := d.right(p)
		if q == p {
			return p
		}
		switch c := d.between(p, q); {
		case in == classSpace:
			in = c
		case c != in:
			return p
		}
		p = q
	}
}

// moveRows goes n rows down, or up where n is negative, keeping the column as
// far as rows allow. It is false, and the cursor stays, where there is no row
// left in that direction.
func (e *Editor) moveRows(n int) bool {
	l := e.doc.at(e.cur.line)
	if e.goal < 0 {
		e.goal = e.lay.column(l, e.cur.col)
	}
	from := scroll{e.cur.line, rowOf(e.lay.rows(l), e.cur.col)}
	to := e.doc.walk(from, n, &e.lay)
	if to == from {
		return false
	}
	goal := e.goal
	e.moveTo(pos{to.line, e.lay.offset(e.doc.at(to.line), to.row, goal)})
	e.goal = goal
	return true
}

// walk is the row n rows after from, or before it; the first or the last one
// where there are fewer.
func (d *document) walk(from scroll, n int, lay *layout) scroll {
	for ; n > 0; n-- {
		switch {
		case from.row+1 < len(lay.rows(d.at(from.line))):
			from.row++
		case from.line+1 < d.lines():
			from = scroll{from.line + 1, 0}
		default:
			return from
		}
	}
	for ; n < 0; n++ {
		switch {
		case from.row > 0:
			from.row--
		case from.line > 0:
			from.line--
			from.row = len(lay.rows(d.at(from.line))) - 1
		default:
			return from
		}
	}
	return from
}
