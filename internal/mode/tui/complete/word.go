package complete

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a word of prose, or what stands between quotes.
type word struct {
	start, end int    // in the line, with "@" and quotes
	text       string // without them
	at         bool   // begins with "@"
	quoted     bool
	closed     bool // and has its second quote
}

// opening are the characters that may stand before a word.
const opening = "([{<'`"

// nextWord finds the first word of a line at or after from; its end is the line's
// where there is none.
func nextWord(line string, from int) word {
	at := from
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		if !unicode.IsSpace(r) && !strings.ContainsRune(opening, r) {
			break
		}
		at += n
	}
	w := word{start: at, end: len(line)}
	body := line[at:]
	if strings.HasPrefix(body, "@") {
		w.at, body = true, body[1:]
	}
	if strings.HasPrefix(body, `"`) {
		w.quoted = true
		w.text, _, w.closed = strings.Cut(body[1:], `"`)
		if w.closed {
			w.end = len(line) - len(body) + len(w.text) + 2
		}
		return w
	}
	if i := strings.IndexFunc(body, unicode.IsSpace); i >= 0 {
		body = body[:i]
	}
	w.text, w.end = body, len(line)-len(line[at:])+len(body)
	if w.at {
		w.end++
	}
	return w
}

// lastWord is the word at the end of a line; it is empty after a space.
func lastWord(line string) (last word) {
	for at := 0; ; {
		w := nextWord(line, at)
		if w.end == len(line) {
			if w.closed {
				return word{start: len(line), end: len(line)}
			}
			if w.quoted && !w.at { // of a sentence, in which something is mentioned?
				if inner := lastWord(line[w.start+1:]); inner.at {
					inner.start, inner.end = inner.start+w.start+1, inner.end+w.start+1
					return inner
				}
			}
			return w
		}
		at = w.end
	}
}

// quote writes a path as a word of prose. A folder that needs quotes is left open,
// since it goes on. It is false for a path that no word can be.
func quote(path string) (string, bool) {
	if strings.ContainsFunc(path, unprintable) {
		return "", false
	}
	if !strings.ContainsFunc(path, unicode.IsSpace) && !strings.HasPrefix(path, `"`) {
		return path, true
	}
	if strings.Contains(path, `"`) {
		return "", false
	}
	if strings.HasSuffix(path, "/") {
		return `"` + path, true
	}
	return `"` + path + `"`, true
}
