package vt

import (
	"fmt"
	"strconv"
	"strings"
)

// Color is the terminal's own colour (0), one of its 256, or 24 bits.
type Color uint32

const (
	indexed Color = 1 << 24
	trueRGB Color = 2 << 24
)

// Indexed is colour i of the palette: 0–15 are named, 16–255 fixed.
func Indexed(i uint8) Color { return indexed | Color(i) }

// RGB is a colour of 24 bits.
func RGB(r, g, b uint8) Color { return trueRGB | Color(r)<<16 | Color(g)<<8 | Color(b) }

// Index is the number of a palette colour; ok is false for others.
func (c Color) Index() (i uint8, ok bool) { return uint8(c), c&^0xffffff == indexed }

// RGB gives the parts of a 24-bit colour; ok is false for others.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&^0xffffff == trueRGB
}

// String is "" for the terminal's own colour, a number, or "#rrggbb".
func (c Color) String() string {
	if i, ok := c.Index(); ok {
		return strconv.Itoa(int(i))
	}
	if r, g, b, ok := c.RGB(); ok {
		return fmt.Sprintf("#%02x%02x%02x", r, g, b)
	}
	return ""
}

// Attr is a set of attributes.
type Attr uint16

// Attributes of a cell.
const (
	Bold Attr = 1 << iota
	Dim
	Italic
	Underline
	DoubleUnderline
	CurlyUnderline
	Blink
	Reverse
	Hidden
	Strike
	Overline

	underlines = Underline | DoubleUnderline | CurlyUnderline
)

var attrNames = []struct {
	attr Attr
	name string
}{
	{Bold, "bold"},
	{Dim, "dim"},
	{Italic, "italic"},
	{Underline, "underline"},
	{DoubleUnderline, "double-underline"},
	{CurlyUnderline, "curly-underline"},
	{Blink, "blink"},
	{Reverse, "reverse"},
	{Hidden, "hidden"},
	{Strike, "strike"},
	{Overline, "overline"},
}

// Style is how a cell looks. Styles can be compared.
type Style struct {
	FG, BG Color
	Line   Color // of underlines
	Attr   Attr
	Link   string // the address of OSC 8
}

// String names a style in words: "bold fg=2 bg=#102030 link=https://…"; the
// terminal's own look is "".
func (s Style) String() string {
	var words []string
	for _, a := range attrNames {
		if s.Attr&a.attr != 0 {
			words = append(words, a.name)
		}
	}
	for _, c := range []struct {
		name  string
		value string
	}{{"fg", s.FG.String()}, {"bg", s.BG.String()}, {"line", s.Line.String()}, {"link", s.Link}} {
		if c.value != "" {
			words = append(words, c.name+"="+c.value)
		}
	}
	return strings.Join(words, " ")
}

// sgr applies select graphic rendition; ok is false where it has a part that is
// not known.
func (s *Style) sgr(q *sequence) (ok bool) {
	if q.n == 0 {
		s.reset()
		return true
	}
	ok = true
	for i := 0; i < q.n; {
		n := 1 // the parameter with those behind colons
		for i+n < q.n && q.params[i+n].sub {
			n++
		}
		v := q.num(i, 0)
		switch {
		case v == 38 || v == 48 || v == 58:
			c, used, good := extended(q, i, n)
			ok = ok && good
			switch v {
			case 38:
				s.FG = c
			case 48:
				s.BG = c
			case 58:
				s.Line = c
			}
			n = used
		case v == 4 && n > 1:
			s.underline(q.num(i+1, 1))
		default:
			ok = s.set(v) && ok
		}
		i += n
	}
	return ok
}

func (s *Style) reset() { *s = Style{Link: s.Link} }

func (s *Style) underline(kind int) {
	s.Attr &^= underlines
	switch kind {
	case 0:
	case 2:
		s.Attr |= DoubleUnderline
	case 3:
		s.Attr |= CurlyUnderline
	default: // dotted and dashed too
		s.Attr |= Underline
	}
}

func (s *Style) set(v int) bool {
	switch {
	case v >= 30 && v <= 37:
		s.FG = Indexed(uint8(v - 30))
	case v >= 40 && v <= 47:
		s.BG = Indexed(uint8(v - 40))
	case v >= 90 && v <= 97:
		s.FG = Indexed(uint8(v - 90 + 8))
	case v >= 100 && v <= 107:
		s.BG = Indexed(uint8(v - 100 + 8))
	default:
		return s.setAttr(v)
	}
	return true
}

func (s *Style) setAttr(v int) bool {
	switch v {
	case 0:
		s.reset()
	case 1:
		s.Attr |= Bold
	case 2:
		s.Attr |= Dim
	case 3:
		s.Attr |= Italic
	case 4:
		s.underline(1)
	case 5, 6:
		s.Attr |= Blink
	case 7:
		s.Attr |= Reverse
	case 8:
		s.Attr |= Hidden
	case 9:
		s.Attr |= Strike
	case 21:
		s.underline(2)
	case 22:
		s.Attr &^= Bold | Dim
	case 23:
		s.Attr &^= Italic
	case 24:
		s.underline(0)
	case 25:
		s.Attr &^= Blink
	case 27:
		s.Attr &^= Reverse
	case 28:
		s.Attr &^= Hidden
	case 29:
		s.Attr &^= Strike
	case 39:
		s.FG = 0
	case 49:
		s.BG = 0
	case 53:
		s.Attr |= Overline
	case 55:
		s.Attr &^= Overline
	case 59:
		s.Line = 0
	default:
		return false
	}
	return true
}

// extended reads 38, 48 or 58 at i, which has n parameters joined by colons (n is 1
// where the old form with semicolons is used), and says how many it took.
func extended(q *sequence, i, n int) (c Color, used int, ok bool) {
	if n == 1 {
		switch q.num(i+1, -1) {
		case 5:
			return Indexed(uint8(q.num(i+2, 0))), 3, true
		case 2:
			return RGB(uint8(q.num(i+2, 0)), uint8(q.num(i+3, 0)), uint8(q.num(i+4, 0))), 5, true
		}
		return 0, q.n, false
	}
	switch q.num(i+1, -1) {
	case 5:
		return Indexed(uint8(q.num(i+2, 0))), n, true
	case 2:
		at := i + 2
		if n >= 6 { // a colour space stands before the parts
			at++
		}
		return RGB(uint8(q.num(at, 0)), uint8(q.num(at+1, 0)), uint8(q.num(at+2, 0))), n, true
	}
	return 0, n, false
}
