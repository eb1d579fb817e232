package hypertext

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// writer writes Markdown. White space and marks are only owed until text follows,
// so that none stands where it does not belong.
type writer struct {
	ctx     context.Context // of the one call that writes
	base    *url.URL
	layout  map[*html.Node]bool
	out     strings.Builder
	left    int // bytes that may still be written
	visited int

	newlines int    // owed
	space    bool   // owed
	started  bool   // something was written
	margin   string // in front of each line
	bullets  string // in front of the next line, in place of the end of margin
	front    string // in front of the next text, of a heading
	marks    []mark // that are open
	inline   int    // >0: lines must not break
	inLink   bool
	inCell   bool
	lists    int // within each other
}

// mark is a pair of signs around text. The first is owed until there is text, and
// owed again after a line that broke within.
type mark struct {
	open, close string
	written     bool
}

// lines owes n line ends. Where lines must not break it owes a space.
func (w *writer) lines(n int) {
	if w.inline > 0 {
		w.space = true
		return
	}
	if w.bullets != "" { // right behind the sign of an item nothing is owed
		n = 1
	}
	w.newlines = max(w.newlines, n)
	w.space = false
}

// text writes text whose white space is worth one space.
func (w *writer) text(s string) error {
	s = strings.Map(visible, s)
	for len(s) > 0 {
		start := strings.IndexFunc(s, func(r rune) bool { return !isSpace(r) })
		if start != 0 {
			w.space = true
		}
		if start < 0 {
			return nil
		}
		s = s[start:]
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			end = len(s)
		}
		if err := w.word(s[:end]); err != nil {
			return err
		}
		s = s[end:]
	}
	return nil
}

// visible leaves out characters that a page does not show: a reader that sees
// them could be told what nobody else reads.
func visible(r rune) rune {
	switch {
	case r < 0x20 && r != '\n' && r != '\t' && r != '\r' && r != '\f', r >= 0x7f && r < 0xa0, r == 0xad,
		r == 0x200b, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
		return -1
	}
	return r
}

// isSpace is what HTML takes for white space, and the no-break space, which a
// reader needs to be no different.
func isSpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' || r == '\u00a0'
}

// word writes text as it is, behind what is owed.
func (w *writer) word(s string) error {
	if s == "" {
		return nil
	}
	if w.inCell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	if err := w.pay(true); err != nil {
		return err
	}
	return w.put(s)
}

// raw writes a line of code, which may be empty.
func (w *writer) raw(s string) error {
	if err := w.pay(false); err != nil {
		return err
	}
	return w.put(s)
}

// pay writes what is owed: line ends with margins, a space, signs.
func (w *writer) pay(signs bool) error {
	var b strings.Builder
	switch {
	case w.newlines > 0 || !w.started:
		if w.started {
			for i := len(w.marks) - 1; i >= 0; i-- {
				if w.marks[i].written {
					b.WriteString(w.marks[i].close)
					w.marks[i].written = false
				}
			}
			for range w.newlines - 1 {
				b.WriteString("\n" + strings.TrimRight(w.margin, " "))
			}
			b.WriteString("\n")
		}
		b.WriteString(w.lineStart())
	case w.bullets != "": // an item right behind the sign of another
		b.WriteString(w.bullets)
		w.bullets = ""
	case w.space:
		b.WriteByte(' ')
	}
	w.newlines, w.space, w.started = 0, false, true
	if signs {
		b.WriteString(w.front)
		w.front = ""
		for i := range w.marks {
			if !w.marks[i].written {
				b.WriteString(w.marks[i].open)
				w.marks[i].written = true
			}
		}
	}
	return w.put(b.String())
}

// lineStart is the margin of a line, whose end the signs of items replace.
func (w *writer) lineStart() string {
	s := w.margin
	if w.bullets != "" {
		s = s[:max(0, len(s)-len(w.bullets))] + w.bullets
		w.bullets = ""
	}
	return s
}

func (w *writer) put(s string) error {
	if len(s) > w.left {
		for w.left > 0 && !utf8.RuneStart(s[w.left]) {
			w.left--
		}
		w.out.WriteString(s[:w.left])
		w.left = 0
		return errFull
	}
	w.left -= len(s)
	w.out.WriteString(s)
	return nil
}

// place is where lines begin.
type place struct{ margin, bullets string }

// indent begins an element whose first line begins with first and whose others
// begin with rest. It gives the place to go back to.
func (w *writer) indent(first, rest string) place {
	outer := place{w.margin, w.bullets}
	if w.inline > 0 {
		w.space = true
		return outer
	}
	w.margin += rest
	if len(rest) == len(first) {
		w.bullets += first
	} else {
		w.bullets = first
	}
	return outer
}

func (w *writer) outdent(outer place) {
	if w.bullets == "" { // there was text: the signs are written
		outer.bullets = ""
	}
	w.margin, w.bullets = outer.margin, outer.bullets
}

// open owes a mark, unless it is open already.
func (w *writer) open(sign, closing string) bool {
	for _, m := range w.marks {
		if m.open == sign {
			return false
		}
	}
	w.marks = append(w.marks, mark{open: sign, close: closing})
	return true
}

// close ends the mark that was opened last.
func (w *writer) close(sign string) {
	last := len(w.marks) - 1
	if last < 0 || w.marks[last].open != sign {
		return
	}
	m := w.marks[last]
	w.marks = w.marks[:last]
	if m.written {
		_ = w.put(m.close) // what does not fit is found out with the next word
	}
}
