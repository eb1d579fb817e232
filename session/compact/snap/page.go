package snap

// cell is a code in its low byte, and the color it is printed in above; 0 is blank.
type cell uint16

func (c cell) code() byte { return byte(c) }
func (c cell) ink() uint8 { return uint8(c >> 8) }

// Colors of the palette.
const (
	white  = 0
	hues   = 6 // the colors 1 to 6
	black  = 7
	grey   = 8
	colors = 9
)

// pager lays codes out on pages. It allocates nothing from page to page.
type pager struct {
	s     Shape
	codes []byte
	at    int    // the next code
	cells []cell // of the page, row by row
	width int    // cells of a row
	used  int    // rows

	dim      bool // what follows is grey
	sentence int  // of the page
	word     int  // where the run of letters ends that is being printed
	small    bool // it is a small word
}

func newPager(s Shape, codes []byte) *pager {
	p := &pager{s: s, codes: codes, width: s.Size / s.CellW}
	p.cells = make([]cell, p.width*s.Rows())
	return p
}

// next lays out one page and says how many characters are on it. A page holds at
// least one code, as long as there is any.
func (p *pager) next() (chars int) {
	clear(p.cells)
	p.sentence, p.used = 0, 0
	from := p.at
	if p.s.Columns == 1 {
		p.grid()
	} else {
		p.lines()
	}
	return cells(p.codes[from:p.at])
}

// done reports whether nothing is left but toggles.
func (p *pager) done() bool {
	for _, c := range p.codes[p.at:] {
		if !toggle(c) {
			return false
		}
	}
	return true
}

func (p *pager) grid() {
	n := 0
	for ; p.at < len(p.codes); p.at++ {
		c := p.codes[p.at]
		if toggle(c) {
			p.dim = c == codeDimOn
			continue
		}
		if n == len(p.cells) {
			break
		}
		p.cells[n] = p.style(c)
		n++
	}
	p.used = (n + p.width - 1) / p.width
}

// lines fills two columns with lines that end between words where they can.
func (p *pager) lines() {
	cols, rows := p.s.Cols(), p.s.Rows()
	wrapped := p.at > 0 && p.codes[p.at-1] != codeBreak
	for n := 0; n < 2*rows && p.at < len(p.codes); n++ {
		x := n % rows * p.width
		if n >= rows {
			x += cols + gutter
		}
		// A "[" at the beginning of a line is the program's, so what is only
		// continued there stands behind a space.
		if wrapped && cols > 1 && p.begins('[') {
			wrapped = p.line(p.cells[x+1 : x+cols])
		} else {
			wrapped = p.line(p.cells[x : x+cols])
		}
		p.used = max(p.used, n%rows+1)
	}
}

// begins reports whether the next thing that is printed is c.
func (p *pager) begins(c byte) bool {
	for _, next := range p.codes[p.at:] {
		if !toggle(next) {
			return next == c
		}
	}
	return false
}

// line prints one line into row, and reports whether it was ended for want of room.
func (p *pager) line(row []cell) (wrapped bool) {
	end, next := p.breakAt(len(row))
	n := 0
	for ; p.at < next; p.at++ {
		c := p.codes[p.at]
		if toggle(c) {
			p.dim = c == codeDimOn
			continue
		}
		k := p.style(c) // also of what is not printed, which may end a sentence
		if p.at < end {
			row[n] = k
			n++
		}
	}
	return next == 0 || p.codes[next-1] != codeBreak
}

// breakAt finds where a line of at most width cells that begins at the next code
// ends, and where the one behind it begins. What is between is a space or a line end.
func (p *pager) breakAt(width int) (end, next int) {
	space, n := -1, 0
	for i := p.at; i < len(p.codes); i++ {
		c := p.codes[i]
		switch {
		case toggle(c):
			continue
		case c == codeBreak:
			return i, i + 1
		case c == ' ':
			space = i
		}
		if n++; n > width {
			if space > p.at {
				return space, space + 1
			}
			return i, i
		}
	}
	return len(p.codes), len(p.codes)
}

// style colors the code at p.at, and takes note of what comes after it.
func (p *pager) style(c byte) cell {
	if p.s.DimStopwords && p.at >= p.word && letter(c) {
		p.readWord()
	}
	ink := uint8(black)
	switch {
	case c == codeBreak:
	case p.dim || p.small && p.at < p.word:
		ink = grey
	case p.s.Ink == InkSentence:
		ink = uint8(1 + p.sentence%hues)
	}
	if (c == '.' || c == '!' || c == '?') && p.at+1 < len(p.codes) {
		if after := p.codes[p.at+1]; after == ' ' || after == codeBreak {
			p.sentence++
		}
	}
	if c == ' ' {
		return 0
	}
	return cell(c) | cell(ink)<<8
}
