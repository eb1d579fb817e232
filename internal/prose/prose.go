// Package prose prepares text for people and models: on one line ([Line], [Short]),
// no longer than it may be ([Cut] by characters, [Middle] by columns, [Clip] and [Head]
// by bytes), counted
// ([Count], [Noun], [Tokens], [Width]), and unable to steer the terminal that shows it ([Clean], [Inline], [Row]).
//
// A character is what a reader takes for one, a grapheme cluster: no cut goes through
// an emoji or an accented letter. Cuts by bytes go between code points; they are for
// limits that nobody reads up to.
package prose

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Ellipsis stands for what was cut.
const Ellipsis = "…"

// maxCluster is how many bytes a character has on average at most. A letter can carry
// any number of accents, and a limit in characters must also limit the size.
const maxCluster = 16

// Line is s on one line: white space between words becomes one space, and bytes that
// are not UTF-8 become U+FFFD.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// Plain is s on one line as [Line] makes it, without control and format characters, cut to
// n characters. It is for names that others gave: no mark of direction hides in them, but
// an emoji that is joined of several comes apart.
func Plain(s string, n int) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	})
	return Cut(strings.Join(words, " "), n)
}

// Short is s on one line as [Line] makes it, cut to n characters as [Cut] does it. It
// reads no more of s than it needs.
func Short(s string, n int) string {
	var b strings.Builder
	// One character more than fits tells Cut that there is more.
	limit := (max(n, 0) + 1) * maxCluster
	for word := range strings.FieldsSeq(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToValidUTF8(Head(word, limit), "\uFFFD"))
		if b.Len() >= limit {
			break
		}
	}
	return Cut(b.String(), n)
}

// Cut is s if it has at most n characters. Otherwise it is the beginning of s and an
// ellipsis, n characters together, and never more than 16 bytes for each of them.
func Cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	keep, count := 0, 0
	for it := graphemes.FromString(s); it.Next(); count++ {
		if count == n || it.End() > n*maxCluster {
			return strings.TrimRightFunc(s[:keep], unicode.IsSpace) + Ellipsis
		}
		if count < n-1 {
			keep = it.End()
		}
	}
	return s
}

// Width is the number of columns that clean text takes in a terminal.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Middle is s if it takes at most n columns of a terminal. Otherwise its middle gives way
// to an ellipsis: of a path the file's name stays, of a command its beginning.
func Middle(s string, n int) string {
	width := Width(s)
	switch {
	case width <= n:
		return s
	case n <= 0:
		return ""
	}
	head, tail := 0, len(s) // the bytes that stay at either end
	at, room := 0, n/2      // columns before the character, and those of the beginning
	for it := graphemes.FromString(s); it.Next(); {
		if at += Width(it.Value()); at <= room {
			head = it.End()
		}
		if width-at <= n-1-room {
			tail = it.End()
			break
		}
	}
	return s[:head] + Ellipsis + s[tail:]
}

// Head is the first n bytes of s, or as many fewer as it takes to end between two code
// points.
func Head(s string, n int) string {
	if n = max(n, 0); len(s) <= n {
		return s
	}
	for back := range min(utf8.UTFMax, n+1) {
		if utf8.RuneStart(s[n-back]) {
			return s[:n-back]
		}
	}
	return s[:n] // not UTF-8
}

// Clip is [Head], with an ellipsis after it if s is longer.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n) + Ellipsis
}

// Count is "1 file" or "2 files". The noun is given in the singular.
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Noun(n, noun) }

// Tokens is a number of tokens in three digits, as "950", "12.3k", "200k" or "1.2M".
func Tokens[N int | int64](n N) string {
	if n < 1000 {
		return strconv.FormatInt(int64(n), 10)
	}
	v, unit, digits := float64(n)/1000, 0, 1
	for ; v >= 999.5; unit++ {
		v /= 1000
	}
	if v >= 99.95 {
		digits = 0
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', digits, 64), ".0") + "kMGTPE"[unit:unit+1]
}

// Noun is the noun, given in the singular, as it stands after the number n.
func Noun(n int, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}
	for _, end := range [...]string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	return noun + "s"
}
