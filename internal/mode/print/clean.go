package print

import "strings"

// Steers reports whether a terminal obeys a character instead of showing it: it moves the
// cursor, changes colours or the title, or turns the direction of what follows.
func Steers(r rune) bool {
	return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// printable makes one line of text that cannot move the cursor: what tools and
// models say is data.
func printable(s string, width int) string {
	s = strings.Join(strings.FieldsFunc(clean(s), func(r rune) bool { return r == '\n' }), " ")
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

// clean is shown with a space for each tab.
func clean(s string) string { return strings.ReplaceAll(shown(s), "\t", " ") }

// shown is a text of several lines without what would steer the terminal it is shown on.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && Steers(r) {
			return -1
		}
		return r
	}, s)
}
