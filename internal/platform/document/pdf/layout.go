package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// layout makes lines of the pieces of a page. It keeps the order in which they
// were drawn, which is the order of reading in nearly all files, columns included,
// and reads from their places what the file does not say: where words, cells,
// lines and paragraphs end. Text that is turned against the page comes last.
func layout(pieces []piece) string {
	var b strings.Builder
	var quarters [4]int
	for _, p := range pieces {
		quarters[p.turned] += len(p.text)
	}
	first := 0
	for q, n := range quarters {
		if n > quarters[first] {
			first = q
		}
	}
	for i := range quarters {
		q := (first + i) % 4
		if quarters[q] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		layoutTurned(&b, pieces, q)
	}
	return b.String()
}

func layoutTurned(b *strings.Builder, pieces []piece, turned int) {
	var last piece
	started, blank := false, false // blank: the line ends with white space
	for _, p := range pieces {
		if p.turned != turned {
			continue
		}
		s := clean(p.text)
		if s == "" || started && again(last, p) {
			continue
		}
		sep := ""
		if started {
			sep = separator(last, p)
		}
		if sep == " " && (blank || strings.HasPrefix(s, " ")) {
			sep = ""
		}
		if strings.HasPrefix(sep, "\n") {
			s = strings.TrimLeft(s, " ")
		}
		b.WriteString(sep)
		b.WriteString(s)
		if s != "" {
			r, _ := utf8.DecodeLastRuneInString(s)
			blank = unicode.IsSpace(r)
		}
		last, started = p, true
	}
	if started {
		b.WriteByte('\n')
	}
}

// again reports whether b is a once more, drawn to look bold or to cast a shadow.
func again(a, b piece) bool {
	return a.text == b.text && math.Abs(a.x-b.x) < 0.3*a.size && math.Abs(a.y-b.y) < 0.3*a.size
}

// ligatures are written out, or nobody would find a word that has one.
var ligatures = strings.NewReplacer(
	"\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st",
)

// clean takes out what is not for reading.
func clean(s string) string {
	s = ligatures.Replace(s)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r == '\u00a0':
			return ' '
		case r < 0x20, r == 0x7f, r == utf8.RuneError, r == '\u00ad', r == '\ufeff':
			return -1
		}
		return r
	}, s)
}

// separator is what stands between two pieces.
func separator(a, b piece) string {
	size := math.Max(a.size, b.size)
	down := a.y - b.y
	gap := b.x - a.end
	if math.Abs(down) <= 0.45*size && (gap > -0.6*size || b.x > a.x) {
		switch {
		case gap > 1.8*size:
			return "\t"
		case gap > 0.17*math.Min(a.size, b.size):
			return " "
		}
		return ""
	}
	if down > 0 && down <= 1.7*size {
		return "\n"
	}
	return "\n\n"
}
