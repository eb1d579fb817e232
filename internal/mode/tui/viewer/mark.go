package viewer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/viewer/scan"
)

// mark shows where a folded query stands in a row, and reports whether it does. What
// was coloured before is so again behind each place.
func mark(row, query string, s *theme.Styles) (string, bool) {
	places := matches(plain(row), query)
	if len(places) == 0 {
		return row, false
	}
	on := string(s.AppendLook(nil, theme.Look{Mod: theme.Reverse}))
	if on == "" {
		return row, true
	}
	var b strings.Builder
	last, lit, k := "\x1b[0m", false, 0
	for i := 0; i < len(row); {
		if n := sequence(row[i:]); n > 0 {
			styles := row[i+1] == '['
			if styles {
				last = row[i : i+n]
			}
			if !lit || !styles {
				b.WriteString(row[i : i+n])
			}
			i += n
			continue
		}
		if lit && k >= places[0][1] {
			b.WriteString(last)
			lit, places = false, places[1:]
		}
		if !lit && len(places) > 0 && k >= places[0][0] {
			b.WriteString(on)
			lit = true
		}
		r, n := utf8.DecodeRuneInString(row[i:])
		b.WriteString(row[i : i+n])
		i, k = i+n, k+utf8.RuneLen(unicode.ToLower(r))
	}
	if lit {
		b.WriteString("\x1b[0m")
	}
	return b.String(), true
}

// plain is a row without its sequences, folded.
func plain(row string) string {
	if !strings.Contains(row, "\x1b") {
		return scan.Fold(row)
	}
	var b strings.Builder
	for i := 0; i < len(row); {
		if n := sequence(row[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(row[i:])
		b.WriteRune(unicode.ToLower(r))
		i += n
	}
	return b.String()
}

// matches are the places of query in text, from and to.
func matches(text, query string) (places [][2]int) {
	if query == "" {
		return nil
	}
	for at := 0; ; {
		i := strings.Index(text[at:], query)
		if i < 0 {
			return places
		}
		places = append(places, [2]int{at + i, at + i + len(query)})
		at += i + len(query)
	}
}

// sequence is the length of the look or hyperlink that s begins with; 0 for text.
func sequence(s string) int {
	if strings.HasPrefix(s, "\x1b[") {
		n := len(s) - len(strings.TrimLeft(s[2:], "0123456789;:"))
		if n < len(s) && s[n] == 'm' {
			return n + 1
		}
		return 0
	}
	if !strings.HasPrefix(s, "\x1b]8;") {
		return 0
	}
	i := strings.IndexFunc(s[4:], func(r rune) bool { return r < ' ' }) + 4
	if i < 4 || !strings.HasPrefix(s[i:], "\x1b\\") {
		return 0
	}
	return i + 2
}
