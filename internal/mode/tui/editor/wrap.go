package editor

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A folded paste is one cluster in the text: its number between two
// noncharacters, which Unicode keeps out of documents for uses like this one.
const (
	foldStart = "\uFDD0"
	foldEnd   = "\uFDD1"
)

const (
	tabWidth = 4
	// minWidth is the narrowest layout: a wide character and the caret's column.
	// A narrower terminal cuts what it is given.
	minWidth = 3
	// fewRows is how many rows are laid out again rather than patched.
	fewRows = 8
)

// layout wraps lines: rows break after spaces, and between characters where a
// word is longer than a row or characters are wide. The last column is the
// caret's and that of one space, so that the end of a full row has a place.
type layout struct {
	width int // columns, the caret's included
	// label is the text that stands for a folded paste.
	label func(id int) string
}

// clusterLen is the length of the first grapheme cluster of s, which is not empty.
func clusterLen(s []byte) int {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1
	}
	if bytes.HasPrefix(s, []byte(foldStart)) {
		if i := bytes.Index(s, []byte(foldEnd)); i >= 0 {
			return i + len(foldEnd)
		}
	}
	c, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if i := bytes.Index(c, []byte(foldStart)); i > 0 {
		return i // characters that take what follows into their cluster
	}
	return max(1, len(c))
}

// foldID is the number of the folded paste that cluster c is.
func foldID(c []byte) (int, bool) {
	c, ok := bytes.CutPrefix(c, []byte(foldStart))
	if !ok {
		return 0, false
	}
	id, err := strconv.Atoi(string(bytes.TrimSuffix(c, []byte(foldEnd))))
	return id, err == nil
}

// clusterWidth is how many columns cluster c takes at column x; never more than
// a row has.
func (lay *layout) clusterWidth(c []byte, x int) int {
	if len(c) == 1 {
		if c[0] == '\t' {
			return min(tabWidth-x%tabWidth, lay.width-1)
		}
		return 1
	}
	if id, ok := foldID(c); ok {
		return min(ansi.StringWidth(lay.label(id)), lay.width-1)
	}
	return min(ansi.StringWidth(glyph(c)), lay.width-1)
}

// unseen is what stands for characters that show nothing by themselves.
const unseen = "◌"

// glyph is how cluster c is drawn. What would vanish, change the direction of the
// row, or join what is drawn beside it for want of a character to stand on, is
// drawn as a dotted circle.
func glyph(c []byte) string {
	s := string(c)
	if len(c) == 1 {
		return s
	}
	r, _ := utf8.DecodeRune(c)
	between := append(append(make([]byte, 0, 64), 'x'), c...)
	between = append(between, 'x')
	if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || ansi.StringWidth(s) == 0 ||
		clusterLen(between) > 1 || clusterLen(between[1:]) > len(c) {
		return unseen
	}
	return s
}

// next is where the row after the one that begins at start begins; false when
// there is none. It depends only on what this row and the next one hold.
func (lay *layout) next(s []byte, start int) (int, bool) {
	x, space := 0, -1
	for i := start; i < len(s); {
		if c := s[i]; c > ' ' && c < 0x7f && x+1 < lay.width && (i+1 == len(s) || s[i+1] < utf8.RuneSelf) {
			x++ // most characters: nothing to look up
			i++
			continue
		}
		n := clusterLen(s[i:])
		w := lay.clusterWidth(s[i:i+n], x)
		if x+w > lay.width-1 {
			switch {
			case s[i] == ' ' && n == 1:
				return i + 1, true // hangs in the caret's column
			case w < 2 && space > start:
				return space, true
			}
			return i, true
		}
		x += w
		i += n
		if c := s[i-1]; n == 1 && (c == ' ' || c == '\t') || w == 2 {
			space = i
		}
	}
	return len(s), false
}

// rows are the rows of l.
func (lay *layout) rows(l *line) []int {
	if l.width == lay.width {
		return l.rows
	}
	l.rows = append(l.rows[:0], 0)
	for at := 0; ; {
		next, more := lay.next(l.s, at)
		if !more {
			break
		}
		l.rows = append(l.rows, next)
		at = next
	}
	l.width = lay.width
	return l.rows
}

// changed brings the rows of l up to date after the bytes from one offset to
// another gave way to n new ones. What follows the change keeps its rows as soon
// as a new row begins where an old one did.
func (lay *layout) changed(l *line, from, to, n int) {
	if l.width != lay.width || len(l.rows) <= fewRows {
		l.width = 0
		return
	}
	old, delta := l.rows, n-(to-from)
	keep := max(1, rowOf(old, from)-1) // two rows before the change may end elsewhere
	tail := sort.SearchInts(old, to+1) // the first row after the change
	fresh := []int{}
	for at := old[keep-1]; ; {
		next, more := lay.next(l.s, at)
		if !more {
			l.rows = append(old[:keep], fresh...)
			return
		}
		for tail < len(old) && old[tail]+delta < next {
			tail++
		}
		if tail < len(old) && old[tail]+delta == next {
			break
		}
		fresh = append(fresh, next)
		at = next
	}
	for i := tail; i < len(old); i++ {
		old[i] += delta
	}
	l.rows = slices.Replace(old, keep, tail, fresh...)
}

// rowOf is the row that holds offset col; the start of a row belongs to it.
func rowOf(rows []int, col int) int {
	return sort.SearchInts(rows, col+1) - 1
}

// rowEnd is where row r of l ends.
func (lay *layout) rowEnd(l *line, r int) int {
	if rows := lay.rows(l); r+1 < len(rows) {
		return rows[r+1]
	}
	return len(l.s)
}

// column is the column of offset col in its row.
func (lay *layout) column(l *line, col int) int {
	rows := lay.rows(l)
	x := 0
	for i := rows[rowOf(rows, col)]; i < col; {
		n := clusterLen(l.s[i:])
		x += lay.clusterWidth(l.s[i:i+n], x)
		i += n
	}
	return x
}

// offset is the last place in row r of l that is at or before column x. The end
// of a row that goes on is the start of the next one and no place of this row.
func (lay *layout) offset(l *line, r, x int) int {
	rows := lay.rows(l)
	end := lay.rowEnd(l, r)
	at := 0
	for i := rows[r]; i < end; {
		n := clusterLen(l.s[i:])
		w := lay.clusterWidth(l.s[i:i+n], at)
		if at+w > x || i+n == end && r+1 < len(rows) {
			return i
		}
		at += w
		i += n
	}
	return end
}

// boundaries are the places around offset col of l: the last one before it and
// the first one at or after it.
func (lay *layout) boundaries(l *line, col int) (before, at int) {
	if col == 0 {
		return 0, 0
	}
	rows := lay.rows(l)
	i := rows[rowOf(rows, col-1)]
	for {
		n := i + clusterLen(l.s[i:])
		if n >= col {
			return i, n
		}
		i = n
	}
}

// class sorts clusters for motions by word.
type class uint8

const (
	classSpace class = iota
	classWord
	classOther
)

func classOf(c []byte) class {
	r, _ := utf8.DecodeRune(c)
	switch {
	case unicode.IsSpace(r):
		return classSpace
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || bytes.HasPrefix(c, []byte(foldStart)):
		return classWord
	}
	return classOther
}
