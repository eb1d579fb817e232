package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/prose"
)

// measure is what one pass over a line finds.
type measure struct {
	width  int
	clean  bool // nothing but text, SGR and links
	ascii  bool // no terminal measures it in another way
	simple bool // every grapheme is one character, about which terminals agree mostly
	styled bool // it ends with a style of its own
	linked bool // it ends inside of a link
}

func scan(line string) measure {
	m := measure{clean: true, ascii: true, simple: true}
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c >= ' ' && c < 0x7f && (i+1 == len(line) || line[i+1] < utf8.RuneSelf):
			m.width++
			i++
		case c == 0x1b:
			n := m.sequence(line[i:])
			if n == 0 {
				m.clean = false
				return m
			}
			i += n
		case c < ' ' || c == 0x7f:
			m.clean = false
			return m
		default:
			n, w := grapheme(line[i:])
			r, size := utf8.DecodeRuneInString(line[i:])
			if r == utf8.RuneError && size == 1 || r >= 0x80 && r < 0xa0 {
				m.clean = false
				return m
			}
			m.ascii = m.ascii && c < utf8.RuneSelf && n == 1
			m.simple = m.simple && n == size
			m.width += w
			i += n
		}
	}
	return m
}

// grapheme is the length in bytes and the width of the first grapheme of s.
func grapheme(s string) (n, width int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, 1
	}
	cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(cluster), width
}

// sequence takes the sequence s begins with and gives its length, 0 where it is
// neither SGR nor a link.
func (m *measure) sequence(s string) int {
	n := sequenceLen(s)
	switch {
	case n == 0:
	case s[1] == '[':
		m.styled = !isReset(s[:n])
	default:
		m.linked = !isUnlink(s[:n])
	}
	return n
}

// sequenceLen is the length of the SGR or OSC 8 that s begins with, or 0.
func sequenceLen(s string) int {
	if strings.HasPrefix(s, "\x1b[") {
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c == 'm':
				return i + 1
			case c >= '0' && c <= ';':
			default:
				return 0
			}
		}
		return 0
	}
	if !strings.HasPrefix(s, "\x1b]8;") {
		return 0
	}
	for i := 4; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0x07:
			return i + 1
		case c == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case c < ' ' || c == 0x7f:
			return 0
		}
	}
	return 0
}

func isReset(seq string) bool { return seq == "\x1b[m" || seq == "\x1b[0m" }

func isUnlink(seq string) bool { return seq == "\x1b]8;;\x1b\\" || seq == "\x1b]8;;\x07" }

// harmless makes a line that is not clean one that is: its sequences go, control
// characters become pictures of themselves.
func harmless(line string) string {
	return prose.Inline(ansi.Strip(strings.ToValidUTF8(line, "\ufffd")))
}

// difference says how a line becomes another one: what stands before byte from stays,
// and what stands behind newTo of the new line, oldTo of the old one, stays too,
// in the columns where it is.
type difference struct {
	from, column int
	newTo, oldTo int
}

// compare finds the difference of two lines that are clean and simple. It is
// conservative: what it says stays is the same in all terminals.
func compare(before, after string) difference {
	d := prefix(before, after)
	d.newTo, d.oldTo = len(after), len(before)
	i, j := suffix(before[d.from:], after[d.from:])
	i, j = i+d.from, j+d.from
	// Behind the first reset in what is common, both have the same style; before it
	// they have only if nothing that changes the style stands in the middle.
	if hasEscape(before[d.from:i]) || hasEscape(after[d.from:j]) {
		for j < len(after) {
			n := sequenceLen(after[j:])
			if n == 0 {
				n, _ = grapheme(after[j:])
			}
			reset := isReset(after[j : j+n])
			i, j = i+n, j+n
			if reset {
				break
			}
		}
		if strings.Contains(after, "\x1b]8;") || strings.Contains(before, "\x1b]8;") {
			return d // a reset does not end links
		}
	}
	if scan(before[d.from:i]).width == scan(after[d.from:j]).width {
		d.oldTo, d.newTo = i, j
	}
	return d
}

func hasEscape(s string) bool { return strings.IndexByte(s, 0x1b) >= 0 }

// prefix finds where two lines begin to differ, at the border of graphemes.
func prefix(before, after string) difference {
	common := 0
	for common < len(before) && common < len(after) && before[common] == after[common] {
		common++
	}
	var d difference
	for d.from < common {
		n, w := sequenceLen(after[d.from:]), 0
		if n == 0 {
			n, w = grapheme(after[d.from:])
		}
		if d.from+n > common {
			return d
		}
		d.from, d.column = d.from+n, d.column+w
	}
	return d
}

// suffix finds where the common ends of two lines begin.
func suffix(before, after string) (i, j int) {
	n := 0
	for n < len(before) && n < len(after) && before[len(before)-1-n] == after[len(after)-1-n] {
		n++
	}
	i, j = len(before)-n, len(after)-n
	// It must not begin inside of a character or a sequence, of either line.
	safe := 0
	for safe < j {
		size := sequenceLen(after[safe:])
		if size == 0 {
			size, _ = grapheme(after[safe:])
		}
		safe += size
	}
	i += safe - j
	if inSequence(before, i) {
		return len(before), len(after)
	}
	return i, safe
}

// inSequence reports whether byte at of line stands inside of a sequence.
func inSequence(line string, at int) bool {
	for k := 0; k < at; {
		n := max(sequenceLen(line[k:]), 1)
		if k+n > at {
			return true
		}
		k += n
	}
	return false
}
