package mention

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is a word of prose, or what stands between quotes.
type Word struct {
	Start, End int    // in the line, with "@" and quotes
	Text       string // without them
	At         bool   // begins with "@"
	Quoted     bool
	Closed     bool // and has its second quote
}

// opening are the characters that may stand before a word.
const opening = "([{<'`"

// Next finds the first word of a line at or after from; its end is the line's
// where there is none.
func Next(line string, from int) Word {
	at := from
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		if !unicode.IsSpace(r) && !strings.ContainsRune(opening, r) {
			break
		}
		at += n
	}
	w := Word{Start: at, End: len(line)}
	body := line[at:]
	if strings.HasPrefix(body, "@") {
		w.At, body = true, body[1:]
	}
	if strings.HasPrefix(body, `"`) {
		w.Quoted = true
		w.Text, _, w.Closed = strings.Cut(body[1:], `"`)
		if w.Closed {
			w.End = len(line) - len(body) + len(w.Text) + 2
		}
		return w
	}
	if i := strings.IndexFunc(body, unicode.IsSpace); i >= 0 {
		body = body[:i]
	}
	w.Text, w.End = body, len(line)-len(line[at:])+len(body)
	if w.At {
		w.End++
	}
	return w
}

// Last is the word at the end of a line; it is empty after a space.
func Last(line string) (last Word) {
	for at := 0; ; {
		w := Next(line, at)
		if w.End == len(line) {
			if w.Closed {
				return Word{Start: len(line), End: len(line)}
			}
			if w.Quoted && !w.At { // of a sentence, in which something is mentioned?
				if inner := Last(line[w.Start+1:]); inner.At {
					inner.Start, inner.End = inner.Start+w.Start+1, inner.End+w.Start+1
					return inner
				}
			}
			return w
		}
		at = w.End
	}
}
