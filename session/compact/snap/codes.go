package snap

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is worked on as codes: one byte is one cell of a frame. A code is a character
// of ASCII or Latin-1 that has a shape, the space, or one of these.
const (
	codeBreak  = 0x01 // a line end; shown as █ where codes are written as text
	codeDimOn  = 0x0e // what follows is printed in grey; takes no cell
	codeDimOff = 0x0f
)

// trust says what marks in a text mean.
type trust bool

const (
	content trust = false // said by people, tools and files: it has no marks
	printed trust = true  // codes as text: toggles and █ are what they stand for
)

// cleaner turns text into codes.
type cleaner struct {
	lost int // characters that became a question mark
}

// cleaning is the state within one text.
type cleaning struct {
	dst   []byte
	space byte // what a run of white space will be: 0, a space, or codeBreak
	begun bool // white space counts: there is something before it
	trust trust
}

// put appends a code that has a shape. A "[" of content never stands directly behind
// a line end: what does is the program's.
func (c *cleaning) put(code byte) {
	if c.space != 0 {
		if c.begun {
			c.dst = append(c.dst, c.space)
			if c.space == codeBreak && code == '[' && c.trust == content {
				c.dst = append(c.dst, ' ')
			}
		}
		c.space = 0
	}
	c.begun = true
	c.dst = append(c.dst, code)
}

func (c *cleaning) blank(r rune) {
	switch r {
	case '\n', '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		c.space = codeBreak
	default:
		if c.space == 0 {
			c.space = ' '
		}
	}
}

// append adds the codes of s to dst. A run of white space and invisible characters
// becomes one line end if it holds one, else one space, or nothing if none of it is
// white space; at both ends it is left out, but not at the beginning of what is
// printed, which may continue from something. Control sequences of terminals, control
// characters and marks that combine are left out.
func (k *cleaner) append(dst []byte, s string, t trust) []byte {
	c := cleaning{dst: dst, trust: t, begun: t == printed}
	for i := 0; i < len(s); {
		b := s[i]
		switch {
		case b > ' ' && b < 0x7f:
			c.put(b)
			i++
		case b == ' ' || b >= '\t' && b <= '\r':
			c.blank(rune(b))
			i++
		case b == 0x1b:
			i += escapeLen(s[i:])
		case b < utf8.RuneSelf:
			if t == printed && (b == codeDimOn || b == codeDimOff) {
				c.dst = append(c.dst, b)
			}
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			k.wide(&c, r)
			i += n
		}
	}
	return c.dst
}

// wide takes a character that is not ASCII.
func (k *cleaner) wide(c *cleaning, r rune) {
	switch {
	case r == '█' && c.trust == printed:
		c.put(codeBreak)
	case r > 0xa0 && r <= 0xff && r != 0xad:
		c.put(byte(r))
	case unicode.IsSpace(r):
		c.blank(r)
	case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Mn, unicode.Me):
	default:
		s := folded(r)
		if s == "?" {
			k.lost++
		}
		for i := range len(s) {
			c.put(s[i])
		}
	}
}

// maxEscape is how far the end of a string for a terminal is looked for. A longer
// one loses only its beginning.
const maxEscape = 4096

// escapeLen is the length of the control sequence that s begins with.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s) && s[i] >= 0x20 && s[i] < 0x7f; i++ {
			if s[i] >= 0x40 {
				return i + 1
			}
		}
		return 2
	case ']', 'P', 'X', '^', '_':
		body := s[2:min(len(s), maxEscape)]
		end := strings.IndexAny(body, "\a\x1b\n")
		switch {
		case end < 0 || body[end] == '\n':
			return 2
		case body[end] == '\a':
			return 2 + end + 1
		case strings.HasPrefix(s[2+end:], "\x1b\\"):
			return 2 + end + 2
		}
		return 2 + end
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] < 0x30 {
		i++
	}
	if i < len(s) && s[i] > 0x20 && s[i] < 0x7f {
		i++
	}
	return i
}

// folded is what is printed for a character outside Latin-1.
func folded(r rune) string {
	switch {
	case r >= 0x2500 && r <= 0x257f:
		return box(r)
	case r >= 0x2580 && r <= 0x259f:
		return "#"
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212 || r == 0x2043:
		return "-"
	case r >= 0xff01 && r <= 0xff5e: // full-width forms of ASCII
		return string(r - 0xff01 + '!')
	}
	if s, ok := folds[r]; ok {
		return s
	}
	return "?"
}

var folds = map[rune]string{
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", 'ʼ': "'", '“': `"`, '”': `"`, '„': `"`, '‟': `"`, '″': `"`,
	'‹': "<", '›': ">", '…': "...", '•': "*", '‣': "*", '◦': "*", '●': "*", '○': "*", '▪': "*", '■': "*", '◆': "*", '∙': "*",
	'←': "<-", '→': "->", '↔': "<->", '⇐': "<=", '⇒': "=>", '⇔': "<=>", '↑': "^", '↓': "v", '➜': "->", '⟶': "->",
	'✓': "v", '✔': "v", '✅': "v", '☑': "v", '✗': "x", '✘': "x", '✕': "x", '✖': "x", '❌': "x", '☒': "x",
	'≤': "<=", '≥': ">=", '≠': "!=", '≈': "~", '∗': "*", '⁄': "/", '€': "EUR", '™': "(TM)", '▶': ">", '❯': ">", '◀': "<",
}

// box is a line of a drawn table.
func box(r rune) string {
	switch r {
	case '─', '━', '┄', '┅', '┈', '┉', '═', '╌', '╍', '╴', '╶', '╸', '╺', '╼', '╾':
		return "-"
	case '│', '┃', '┆', '┇', '┊', '┋', '║', '╎', '╏', '╵', '╷', '╹', '╻', '╽', '╿':
		return "|"
	}
	return "+"
}

// textOf writes codes as text.
func textOf(codes []byte) string {
	var b strings.Builder
	b.Grow(len(codes) + len(codes)/16)
	for _, c := range codes {
		switch {
		case c == codeBreak:
			b.WriteRune('█')
		case c < utf8.RuneSelf:
			b.WriteByte(c)
		default:
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

// cells is how many cells codes take.
func cells(codes []byte) int {
	n := len(codes)
	for _, c := range codes {
		if toggle(c) {
			n--
		}
	}
	return n
}

func toggle(c byte) bool { return c == codeDimOn || c == codeDimOff }

// elide appends codes to dst. If they have more than limit cells, it appends only the
// beginning, which gets ratio of the limit, and the end, and returns how many cells it
// left out. A grey span that ends or begins in the gap does so there.
func elide(dst, codes []byte, limit int, ratio float64) ([]byte, int) {
	n := cells(codes)
	if limit < 0 || n <= limit {
		return append(dst, codes...), 0
	}
	head := int(float64(limit) * ratio)
	from, dim := skip(codes, head, false)
	dst = append(dst, codes[:from]...)
	gone := n - limit
	if dim {
		dst = append(dst, codeDimOff)
	}
	dst = append(dst, elided(gone)...)
	rest, dim := skip(codes[from:], gone, dim)
	if dim {
		dst = append(dst, codeDimOn)
	}
	return append(dst, codes[from+rest:]...), gone
}

// skip is the length of the codes that take n cells, and whether what follows is grey.
func skip(codes []byte, n int, dim bool) (int, bool) {
	for i, c := range codes {
		switch {
		case c == codeDimOn:
			dim = true
		case c == codeDimOff:
			dim = false
		case n == 0:
			return i, dim
		default:
			n--
		}
	}
	return len(codes), dim
}
