package tool

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// window keeps the beginning and the end of a text that arrives in pieces of whole characters.
// It cuts each line at a number of bytes.
type window struct {
	headMax, tailMax int
	columns          int // negative is no limit

	head, tail []byte // tail grows to twice its limit, then drops its older half
	lost       int64  // bytes that have left tail
	whole      bool   // the last of them ended a line
	col        int    // bytes of the current line
	cut        bool   // the current line is full
	cuts       int    // lines that were cut
}

// ellipsis marks where a line was cut.
const ellipsis = "…"

// overflows reports whether adding p would hide part of the text.
func (w *window) overflows(p []byte) bool {
	if w.lost > 0 || w.cuts > 0 || len(w.head)+len(w.tail)+len(p) > w.headMax+w.tailMax {
		return true
	}
	if w.columns < 0 {
		return false
	}
	for col := w.col; len(p) > 0; col = 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return col+len(p) > w.columns
		}
		if col+i > w.columns {
			return true
		}
		p = p[i+1:]
	}
	return false
}

func (w *window) add(p []byte) {
	if w.columns < 0 {
		w.keep(p)
		return
	}
	from := 0 // p[from:at] fits unchanged
	for at := 0; at < len(p); {
		i := bytes.IndexByte(p[at:], '\n')
		n := i
		if i < 0 {
			n = len(p) - at
		}
		if fit := w.fit(p[at : at+n]); fit < n {
			w.keep(p[from : at+fit])
			if !w.cut {
				w.cut = true
				w.cuts++
				w.keep([]byte(ellipsis))
			}
			from = at + n
		}
		at += n
		w.col += n
		if i >= 0 {
			w.col, w.cut = 0, false
			at++
		}
	}
	w.keep(p[from:])
}

// fit returns how much of p, a piece of the current line, fits into the line: whole
// characters, and nothing after a cut.
func (w *window) fit(p []byte) int {
	if w.cut {
		return 0
	}
	n := w.columns - w.col
	if n >= len(p) {
		return len(p)
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return max(n, 0)
}

// keep adds the part of the text that is shown.
func (w *window) keep(p []byte) {
	if room := w.headMax - len(w.head); room > 0 && len(w.tail) == 0 && w.lost == 0 {
		n := min(room, len(p))
		w.head = append(w.head, p[:n]...)
		p = p[n:]
	}
	if over := len(p) - w.tailMax; over > 0 {
		w.lost += int64(len(w.tail) + over)
		w.whole = p[over-1] == '\n'
		w.tail = append(w.tail[:0], p[over:]...)
		return
	}
	if len(w.tail)+len(p) > 2*w.tailMax {
		over := len(w.tail) + len(p) - w.tailMax
		w.lost += int64(over)
		w.whole = w.tail[over-1] == '\n'
		w.tail = w.tail[:copy(w.tail, w.tail[over:])]
	}
	w.tail = append(w.tail, p...)
}

// output returns the window with the unfinished line at its end. lines counts those of the
// whole text.
func (w *window) output(line []byte, lines int) Output {
	now := *w
	now.head, now.tail = slices.Clip(w.head), slices.Clone(w.tail)
	now.add(line)
	o := Output{Lines: lines, Shown: lines, CutLines: now.cuts, Columns: max(w.columns, 0)}
	if o.CutLines > 0 {
		o.Truncated, o.By = true, "columns"
	}
	if now.lost == 0 && len(now.head)+len(now.tail) <= w.headMax+w.tailMax {
		o.Text = string(now.head) + string(now.tail)
		return o
	}
	over := max(len(now.tail)-w.tailMax, 0)
	if over > 0 {
		now.whole = now.tail[over-1] == '\n'
	}
	head, tail := wholeHead(now.head), now.tail[over:]
	if !now.whole {
		tail = wholeTail(tail)
	}
	o.elide(head, tail, now.lost+int64(len(now.head)+len(now.tail)-len(head)-len(tail)))
	return o
}

// wholeHead cuts p, a beginning, back to the end of a line, or of a character if that would
// lose more than half of it.
func wholeHead(p []byte) []byte {
	if i := bytes.LastIndexByte(p, '\n'); i >= len(p)/2 {
		return p[:i+1]
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if i := len(p) - n; utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return p[:i]
			}
			break
		}
	}
	return p
}

// wholeTail does the same for an end.
func wholeTail(p []byte) []byte {
	if i := bytes.IndexByte(p, '\n'); i >= 0 && i < len(p)/2 {
		return p[i+1:]
	}
	for len(p) > 0 && !utf8.RuneStart(p[0]) {
		p = p[1:]
	}
	return p
}
