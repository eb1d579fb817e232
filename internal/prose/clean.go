package prose

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	emojiStyle = 0xfe0f   // shows the character before as a picture
	keycap     = "\u20e3" // puts the character before on a key
)

// Clean makes text that nobody vouches for harmless: line feeds stay, tabs become
// spaces up to the next of the stops, every tab cells, carriage returns are line
// ends, control characters become their pictures, and characters that are
// invisible or reorder their neighbors are written as codes, as ⟨U+202E⟩.
// Invalid bytes become U+FFFD. Text that is clean comes back without a copy.
func Clean(s string, tab int) string {
	i := 0
	for i < len(s) && (s[i] >= ' ' && s[i] < 0x7f || s[i] == '\n') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	c := cleaner{Builder: &b, tab: tab}
	for i := 0; i < len(s); {
		if s[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n
			c.wide(r, s[i:])
			continue
		}
		if s[i] != '\r' || i+1 == len(s) || s[i+1] != '\n' {
			c.ascii(s[i])
		}
		i++
	}
	return b.String()
}

type cleaner struct {
	*strings.Builder
	tab    int
	column int
	last   rune // what was written before
}

// wide writes a character that is not ASCII; rest is what follows.
func (c *cleaner) wide(r rune, rest string) {
	if r == emojiStyle && (c.last < utf8.RuneSelf || unicode.Is(unicode.M, c.last)) &&
		!(strings.HasPrefix(rest, keycap) && strings.ContainsRune("0123456789#*", c.last)) {
		return // it would make a space or a letter wider, and that of another span
	}
	if Deceptive(r) {
		n, _ := fmt.Fprintf(c, "⟨U+%04X⟩", r)
		c.column += n - 4 // two brackets of three bytes each
	} else {
		c.WriteRune(r)
		c.column++
	}
	c.last = r
}

func (c *cleaner) ascii(b byte) {
	c.last = rune(b)
	c.column++
	switch {
	case b == '\n' || b == '\r':
		c.WriteByte('\n')
		c.column = 0
	case b == '\t':
		n := c.tab - (c.column-1)%c.tab
		c.WriteString("        "[:min(n, 8)])
		c.column += n - 1
	case b < ' ':
		c.WriteRune(0x2400 + rune(b))
	case b == 0x7f:
		c.WriteRune(0x2421)
	default:
		c.WriteByte(b)
	}
}

// Inline is [Clean] for text that must stay in one line: line ends are spaces.
func Inline(s string) string {
	s = Clean(s, 1)
	if strings.IndexByte(s, '\n') >= 0 {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	return s
}

// Row is [Inline], cut to n characters as [Cut] does it. It reads no more of s than it
// needs.
func Row(s string, n int) string { return Cut(Inline(Head(s, (max(n, 0)+1)*maxCluster)), n) }

// Steers reports whether a terminal obeys r instead of showing it, or whether r is
// [Deceptive]. Line feeds and tabs are among what a terminal obeys.
func Steers(r rune) bool { return r < ' ' || r == 0x7f || Deceptive(r) }

// Deceptive says whether r is invisible or changes the order of its neighbors:
// controls of C1, bidirectional controls, zero-width characters and tags. Joiners
// are left alone: emoji and several scripts need them.
func Deceptive(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r <= 0x9f, r == 0xad, r == 0x61c, r == 0x180e:
		return true
	case r < 0x200b:
		return false
	case r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff:
		return true
	case 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, 0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}
