package edit

import (
	"strings"
	"unicode/utf8"
)

// plain is the keyboard's character for one that word processors and models put in
// its place, or r itself.
func plain(r rune) rune {
	switch r {
	case '“', '”', '„', '‟', '«', '»', '″':
		return '"'
	case '‘', '’', '‚', '‛', '‹', '›', '′':
		return '\''
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '\u00a0', '\u2007', '\u2009', '\u200a', '\u202f', '\u3000':
		return ' '
	}
	return r
}

// sameTypography says whether two texts differ at most in the kind of quotes,
// dashes, ellipses and spaces.
func sameTypography(a, b string) bool {
	for a != "" && b != "" {
		i, j, ok := typographic(a, b)
		if !ok {
			return false
		}
		a, b = a[i:], b[j:]
	}
	return a == b
}

// foldTypography gives the same for all texts that differ only in typography, if
// the tolerance allows that. It may give the same for others, too.
func foldTypography(s string, t tolerance) string {
	if t&otherTypography == 0 || !strings.Contains(s, "-") && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	var b strings.Builder
	hyphen := false // runs of hyphens are one
	for i, r := range s {
		p := plain(r)
		switch {
		case p == '-' && hyphen:
		case r == '…':
			b.WriteString("...")
		case r == utf8.RuneError:
			b.WriteString(s[i : i+utf8RuneLen(s[i:])])
		default:
			b.WriteRune(p)
		}
		hyphen = p == '-'
	}
	return b.String()
}

// typographic matches one character at the beginning of a with its counterpart at
// the beginning of b, and says how long both are. An ellipsis is three dots, and
// an en or em dash is one hyphen or two.
func typographic(a, b string) (i, j int, ok bool) {
	if a[0] < utf8.RuneSelf && b[0] < utf8.RuneSelf {
		return 1, 1, a[0] == b[0]
	}
	if n, ok := spelled(a, b); ok {
		return utf8RuneLen(a), n, true
	}
	if n, ok := spelled(b, a); ok {
		return n, utf8RuneLen(b), true
	}
	ra, i := utf8.DecodeRuneInString(a)
	rb, j := utf8.DecodeRuneInString(b)
	return i, j, plain(ra) == plain(rb)
}

// spelled says how many bytes of b spell the character that a begins with.
func spelled(a, b string) (int, bool) {
	switch {
	case strings.HasPrefix(a, "…") && strings.HasPrefix(b, "..."):
		return 3, true
	case (strings.HasPrefix(a, "–") || strings.HasPrefix(a, "—")) && strings.HasPrefix(b, "--"):
		return 2, true
	}
	return 0, false
}

func utf8RuneLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
