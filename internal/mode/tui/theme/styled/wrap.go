package styled

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks l into lines of at most width cells, at spaces and between wide
// characters, within words that are longer than a line. Spaces at a break go.
// Every line begins with a prefix, which counts: the first with first, the others
// with rest. A prefix that leaves less than a few cells is cut. The result has one
// line at least.
func Wrap(dst []Line, l Line, width int, first, rest Line) []Line {
	width = max(width, 1)
	first, rest = fitPrefix(first, width), fitPrefix(rest, width)
	w := wrapper{out: dst, width: width, rest: rest, restWidth: rest.Width(), source: l, last: piece{span: -1}}
	w.line = append(make(Line, 0, len(first)+4), first...)
	w.used = first.Width()
	var word, gap [8]piece
	w.word, w.gap = word[:0], gap[:0]
	for i := range l {
		w.span(i)
	}
	w.flush()
	return append(w.out, w.line)
}

// Break is [Wrap] for text whose spaces mean something, as code: it breaks where
// the line is full, and keeps all.
func Break(dst []Line, l Line, width int, first, rest Line) []Line {
	width = max(width, 1)
	first, rest = fitPrefix(first, width), fitPrefix(rest, width)
	w := wrapper{out: dst, width: width, rest: rest, restWidth: rest.Width(), source: l, last: piece{span: -1}}
	w.line = append(w.line, first...)
	w.used = first.Width()
	fits := w.used+l.Width() <= width
	for i := range l {
		p := piece{i, 0, len(l[i].Text)}
		if fits {
			w.put(p)
		} else {
			w.cut(p)
		}
	}
	return append(w.out, w.line)
}

// minText is how many cells a prefix leaves at least, where there are as many.
const minText = 8

func fitPrefix(prefix Line, width int) Line {
	room := max(0, width-minText)
	if prefix.Width() <= room {
		return prefix
	}
	return Truncate(prefix, room, "")
}

// wrapper collects a line, and a word that may still not fit on it. Both are made
// of parts of the source's spans, so that no text is copied.
type wrapper struct {
	source    Line
	out       []Line
	width     int
	rest      Line
	restWidth int

	line   Line
	last   piece // where the last span of line is from
	used   int   // cells of line
	filled bool  // line has more than a prefix

	word      []piece
	wordWidth int
	gap       []piece // the spaces before it
	gapWidth  int
}

// piece is a part of a span of the source.
type piece struct{ span, from, to int }

func (w *wrapper) span(i int) {
	text := w.source[i].Text
	for at := 0; at < len(text); {
		if text[at] == ' ' {
			n := len(text) - at - len(strings.TrimLeft(text[at:], " "))
			w.flush()
			w.gap = append(w.gap, piece{i, at, at + n})
			w.gapWidth += n
			at += n
			continue
		}
		n, width, wide := scanWord(text[at:])
		if wide && len(w.word) > 0 && !opening(text[:at]) && !closing(text[at:]) {
			w.flush() // may break before and after
		}
		w.word = append(w.word, piece{i, at, at + n})
		w.wordWidth += width
		at += n
		if wide && at < len(text) && !closing(text[at:]) {
			w.flush()
		}
	}
}

// scanWord is the text up to a space or a wide character, or one wide character.
func scanWord(s string) (n, width int, wide bool) {
	for n < len(s) && s[n] != ' ' {
		size, cells := cluster(s[n:])
		if cells > 1 {
			if n == 0 {
				return size, cells, true
			}
			return n, width, false
		}
		n, width = n+size, width+cells
	}
	return n, width, false
}

// closing reports whether s begins with punctuation that must not begin a line.
func closing(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsRune("、。，．：；！？）」』】〉》〕,.:;!?)]}…", r)
}

// opening reports whether s ends with punctuation that must not end a line.
func opening(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune("（「『【〈《〔([{", r)
}

// flush puts the word on the line, or on a new one.
func (w *wrapper) flush() {
	if len(w.word) == 0 {
		return
	}
	if w.used+w.gapWidth+w.wordWidth > w.width && w.filled {
		w.breakLine()
	} else {
		for _, p := range w.gap {
			p.to = min(p.to, p.from+max(0, w.width-w.used-1)) // indentation may be wider than the line
			w.put(p)
			w.used += p.to - p.from
		}
	}
	w.gap, w.gapWidth = w.gap[:0], 0
	fits := w.used+w.wordWidth <= w.width
	for _, p := range w.word {
		if fits {
			w.put(p)
		} else {
			w.cut(p)
		}
	}
	if fits {
		w.used += w.wordWidth
	}
	w.word, w.wordWidth = w.word[:0], 0
}

// put appends a piece to the line.
func (w *wrapper) put(p piece) {
	if p.from == p.to {
		return
	}
	s := &w.source[p.span]
	if w.last.span == p.span && w.last.to == p.from {
		w.last.to = p.to
		w.line[len(w.line)-1].Text = s.Text[w.last.from:p.to]
		return
	}
	w.line = append(w.line, Span{s.Text[p.from:p.to], s.Look, s.Link})
	w.last, w.filled = p, true
}

// cut puts a piece of a word that is longer than a line on as many as it takes.
func (w *wrapper) cut(p piece) {
	text := w.source[p.span].Text
	start := p.from
	for at := p.from; at < p.to; {
		size, cells := cluster(text[at:p.to])
		if w.used+cells > w.width && (w.filled || at > start) {
			w.put(piece{p.span, start, at})
			w.breakLine()
			start = at
		}
		if w.used+cells > w.width { // wider than any line
			s := &w.source[p.span]
			w.line = append(w.line, Span{"…", s.Look, s.Link})
			w.last, w.filled = piece{span: -1}, true
			w.used++
			at += size
			start = at
			continue
		}
		at, w.used = at+size, w.used+cells
	}
	w.put(piece{p.span, start, p.to})
}

func (w *wrapper) breakLine() {
	w.out = append(w.out, w.line)
	w.line = append(make(Line, 0, len(w.rest)+4), w.rest...)
	w.used, w.filled, w.last = w.restWidth, false, piece{span: -1}
}
