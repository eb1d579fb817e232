package compact

import (
	"strings"
	"unicode/utf8"
)

// What people, tools and files said is quoted for the summarizer as follows, so
// that it can neither end the quotation nor look like a line of the program:
//
//   - Every line begins with a space, except where the program's own words stand
//     before it; a line that begins with "[" is the program's. Anything that might be
//     shown as a line end is one.
//   - A "<" before a name that wraps, in whatever spelling, becomes "&lt;".
//   - Invisible characters, which can hide words from people, are left out.
//   - A part that is too long loses its middle, and says so.

// wrappers are the names of tags around quoted material.
var wrappers = [...]string{"conversation", "previous-summary", "additional-context", "summary"}

// clip keeps the beginning and the end of a text that has more than head+tail bytes.
// It cuts between characters.
func clip(s string, head, tail int) (begin, end string, gone int) {
	if len(s) <= head+tail {
		return s, "", 0
	}
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[:head], s[from:], from - head
}

// quote writes s into b as quoted material.
func quote(b *strings.Builder, s string) {
	if needsCleaning(s) {
		s = visible(s)
	}
	for {
		i := strings.IndexAny(s, "<\n")
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		switch {
		case s[i] == '\n':
			b.WriteString("\n ")
		case wraps(s[i+1:]):
			b.WriteString("&lt;")
		default:
			b.WriteByte('<')
		}
		s = s[i+1:]
	}
}

// wraps reports whether what follows a "<" is the name of a wrapper, as a reader might
// see it: in any case, behind spaces and slashes.
func wraps(s string) bool {
	s = strings.TrimLeft(s[:min(len(s), 64)], " \t\n/\\")
	for _, name := range wrappers {
		if len(s) >= len(name) && strings.EqualFold(s[:len(name)], name) {
			return true
		}
	}
	return false
}

// needsCleaning reports whether visible would change s, or might.
func needsCleaning(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 {
			return true
		}
	}
	return false
}

// visible makes line ends of all that may look like one, and leaves out control
// characters and what cannot be seen.
func visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	last := rune(0)
	for _, r := range s {
		switch {
		case r == '\n' && last == '\r':
		case r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || unseen(r):
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// unseen reports whether a character has no shape: joiners, marks of direction, tags and
// selectors.
func unseen(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x180e, r == 0xfeff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}
