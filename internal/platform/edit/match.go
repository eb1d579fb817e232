package edit

import (
	"strings"
	"unicode/utf8"
)

// match is a place in a document's text where an old text was found.
type match struct {
	start, end int
	marks      []int // where the lines of the old text begin in the document, its end included
	atEnd      bool  // the newline that ends the old text is the end of the file
}

// find gives the places where old, whose line endings are LF, is found with the
// tolerance, which is not zero: all of them, apart from each other, or else also
// those that overlap, more than maxPlaces of which are not looked for.
//
// It looks only at lines that can begin a match: those that are as far before a
// line with the core of old as old begins before its core.
func (d *document) find(old string, t tolerance, all bool) ([]match, error) {
	f := finding{d: d, old: old, t: t, all: all}
	at := core(old, t)
	word, before := old[at[0]:at[1]], strings.Count(old[:at[0]], "\n")
	for next := 0; next < len(d.text) && !f.enough(); {
		n := strings.Index(d.text[next:], word)
		if n < 0 {
			break
		}
		line := lineStart(d.text, next+n)
		next = lineEnd(d.text, line+1)
		if f.work += before; f.work > maxWork && len(f.out) < 2 {
			return nil, errRepetitive
		}
		above := before
		for ; above > 0 && line > 0; above-- {
			line = lineStart(d.text, line-1)
		}
		if above == 0 {
			if err := f.in(line, lineEnd(d.text, line+1)); err != nil {
				return nil, err
			}
		}
	}
	if n := len(f.out); n > 1 && f.out[n-1].atEnd {
		f.out = f.out[:n-1] // the others have a newline for the one in old
	}
	return f.out, nil
}

// finding is a search at work.
type finding struct {
	d    *document
	old  string
	t    tolerance
	all  bool
	out  []match
	work int // bytes compared, but for those of matches that are apart
}

// maxWork is how many bytes a search compares before it gives up.
const maxWork = 8 << 20

func (f *finding) enough() bool {
	return !f.all && (len(f.out) > maxPlaces || len(f.out) > 1 && f.work > maxWork)
}

// in adds the matches that begin in a line.
func (f *finding) in(start, end int) error {
	text, first := f.d.text, f.old[0]
	certain := isPlain(first) && first > ' ' // each match begins with it
	atBreak := strings.HasPrefix(strings.TrimLeft(f.old, " \t"), "\n")
	if n := len(f.out); f.all && n > 0 {
		start = max(start, f.out[n-1].end)
	}
	for i := start; i < end && !f.enough(); i++ {
		switch c := text[i]; {
		case certain && c != first,
			!utf8.RuneStart(c),
			c == '\n' && i > 0 && text[i-1] == '\r',                          // found at the carriage return
			atBreak && isBlankByte(c) && i > start && isBlankByte(text[i-1]): // found at the first blank
			continue
		}
		m, failed := f.d.matchAt(i, f.old, f.t, nil)
		if f.work += max(failed, 0); f.work > maxWork && len(f.out) < 2 {
			return errRepetitive
		}
		if failed >= 0 {
			continue
		}
		m, _ = f.d.matchAt(i, f.old, f.t, make([]int, 0, 8)) // again, as few places come this far
		if n := len(f.out); n > 0 && f.out[n-1].end == m.end {
			f.out = f.out[:n-1] // whitespace before a line's end may or may not belong to it
		}
		f.out = append(f.out, m)
		if f.all {
			i = max(i, m.end-1)
		} else {
			f.work += m.end - m.start
		}
	}
	return nil
}

func isBlankByte(c byte) bool { return c == ' ' || c == '\t' }

// core is the longest part of a text that the tolerance does not let differ.
func core(text string, t tolerance) (at [2]int) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != '\n' && (t&otherTypography == 0 || isPlain(text[i])) {
			continue
		}
		end := i
		for t&otherTrailing != 0 && end > start && isBlankByte(text[end-1]) {
			end--
		}
		if end-start > at[1]-at[0] {
			at = [2]int{start, end}
		}
		start = i + 1
	}
	return at
}

// isPlain says that a character is not one that typography replaces.
func isPlain(c byte) bool { return c < utf8.RuneSelf && strings.IndexByte(" \"'-.", c) < 0 }

// matchAt matches old with the text at i. It marks lines if marks is not nil. If old
// is not there, failed says after how many bytes that was known; otherwise it is -1.
func (d *document) matchAt(i int, old string, t tolerance, marks []int) (m match, failed int) {
	text := d.text
	m.start = i
	mark := func(i int) {
		if marks != nil {
			marks = append(marks, i)
			m.marks = marks
		}
	}
	mark(i)
	for j := 0; j < len(old); {
		if end := blankEnd(old, j, t); end == len(old) && end > j || end < len(old) && old[end] == '\n' {
			k := blankEnd(text, i, t)
			n := breakAt(text, k)
			switch {
			case end == len(old) && (n > 0 || k == len(text)):
				i, j = k, end
				continue
			case end == len(old): // blanks within a line
			case n > 0:
				i, j = k+n, end+1
				mark(i)
				continue
			case k == len(text) && end+1 == len(old) && d.endsOpen():
				m.end, m.atEnd = k, true
				mark(k)
				return m, -1
			default:
				return m, i - m.start
			}
		}
		if i == len(text) || breakAt(text, i) > 0 {
			return m, i - m.start
		}
		if t&otherTypography == 0 {
			if text[i] != old[j] {
				return m, i - m.start
			}
			i++
			j++
			continue
		}
		a, b, ok := typographic(text[i:], old[j:])
		if !ok {
			return m, i - m.start
		}
		i += a
		j += b
	}
	if !strings.HasSuffix(old, "\n") {
		mark(i)
	}
	m.end = i
	return m, -1
}

// blankEnd is where the blanks at i end, if they may differ; otherwise i.
func blankEnd(s string, i int, t tolerance) int {
	if t&otherTrailing != 0 {
		for i < len(s) && isBlankByte(s[i]) {
			i++
		}
	}
	return i
}

// breakAt is the length of the line ending at i, 0 if there is none.
func breakAt(s string, i int) int {
	switch {
	case i < len(s) && s[i] == '\n':
		return 1
	case i+1 < len(s) && s[i] == '\r' && s[i+1] == '\n':
		return 2
	}
	return 0
}

// occurrences gives the places where old is found exactly, overlapping ones too,
// at most limit.
func occurrences(text, old string, limit int) []match {
	var out []match
	for i := 0; len(out) < limit; {
		n := strings.Index(text[i:], old)
		if n < 0 {
			break
		}
		out = append(out, match{start: i + n, end: i + n + len(old)})
		i += n + 1
	}
	return out
}

// apart gives all places where old is found exactly and that do not overlap, from
// the first on.
func apart(text, old string) []match {
	var out []match
	for i := 0; ; {
		n := strings.Index(text[i:], old)
		if n < 0 {
			return out
		}
		out = append(out, match{start: i + n, end: i + n + len(old)})
		i += n + len(old)
	}
}
