package editor

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// foldLines and foldChars are how much a paste may have and still be shown in
	// full.
	foldLines = 10
	foldChars = 1000
)

// folds are the pastes that are shown as one character.
type folds struct {
	texts  map[int]string
	labels map[int]string // what stands for them on the screen
	last   int            // the number of the last one
	size   int            // bytes
}

func (f *folds) label(id int) string { return f.labels[id] }

// lineCount counts the lines of text; a line end at its end begins none.
func lineCount(text string) int {
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}

// add folds text and returns the cluster that stands for it.
func (f *folds) add(text string) string {
	if f.texts == nil {
		f.texts, f.labels = map[int]string{}, map[int]string{}
	}
	f.last++
	f.texts[f.last] = text
	f.size += len(text)
	if n := lineCount(text); n > foldLines {
		f.labels[f.last] = fmt.Sprintf("[paste #%d +%d lines]", f.last, n)
	} else {
		f.labels[f.last] = fmt.Sprintf("[paste #%d %d chars]", f.last, utf8.RuneCountInString(text))
	}
	return foldStart + strconv.Itoa(f.last) + foldEnd
}

// expand puts the pastes in their places.
func (f *folds) expand(s string) string {
	if len(f.texts) == 0 || !strings.Contains(s, foldStart) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, foldStart)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		number, after, _ := strings.Cut(rest, foldEnd)
		if id, err := strconv.Atoi(number); err == nil {
			b.WriteString(f.texts[id])
		}
		s = after
	}
}

func (f *folds) clear() { *f = folds{} }

// Paste puts pasted text at the cursor. One of more than 10 lines or 1000
// characters is folded: it is shown, moved over and deleted as one character, and
// is there in full in [Editor.Text].
func (e *Editor) Paste(text string) error {
	e.popup.close()
	text = clean(text)
	if lineCount(text) <= foldLines && (len(text) <= foldChars || utf8.RuneCountInString(text) <= foldChars) {
		return e.insert(kindOther, text)
	}
	if e.doc.size+e.folds.size+len(text) > MaxText {
		return ErrFull
	}
	return e.insert(kindOther, e.folds.add(text))
}
