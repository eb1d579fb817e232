package file

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// What one reading shows at most.
const (
	maxLines   = 2000
	maxBytes   = 50 << 10
	maxColumns = 2000 // bytes of a line; the rest is cut, and said
)

// view is a part of a text as the model sees it.
type view struct {
	text  strings.Builder
	shown []span
	lines int // shown
	most  int // to show
	next  int // first line that was wanted and not shown for lack of room; 0 if none
	cut   int // lines that were cut
	total int // lines of the whole
}

// Lines shown around a single range. They cost little, and often are what the next
// reading would have been for: the line that opens a block, and those that end it.
const (
	linesBefore = 1
	linesAfter  = 3
)

// show gives the selected lines of a text, numbered unless raw, up to the limits.
func show(text string, sel selection) *view {
	lines := splitLines(text)
	spans := sel.spans
	if len(spans) != 1 || spans[0].from <= len(lines) {
		spans = widened(sel)
	}
	v := &view{total: len(lines), most: cmp.Or(sel.most, maxLines)}
	for i, sp := range spans {
		to := sp.to
		if to == 0 || to > len(lines) {
			to = len(lines)
		}
		for n := sp.from; n <= to; n++ {
			if v.add(n, lines[n-1], i > 0, n == sp.from, sel.raw); v.next > 0 {
				return v
			}
		}
	}
	return v
}

// widened are the lines to show for those that were asked for.
func widened(sel selection) []span {
	spans := sel.spans
	switch {
	case len(spans) == 0:
		return []span{{from: 1}}
	case len(spans) == 1 && !sel.exact && !sel.raw && spans[0].to > 0:
		return []span{{max(spans[0].from-linesBefore, 1), spans[0].to + linesAfter}}
	}
	return spans
}

// add shows a line, unless there is no room for it: then it is the one to continue with.
// first is the first of a range, which stands apart if others were shown before.
func (v *view) add(n int, line string, others, first, raw bool) {
	if others && first {
		v.text.WriteString("…\n")
	}
	if v.lines == v.most || v.lines > 0 && v.text.Len()+min(len(line), maxColumns) > maxBytes {
		v.next = n
		return
	}
	v.line(n, line, raw)
	if first {
		v.shown = append(v.shown, span{n, n})
	}
	v.shown[len(v.shown)-1].to = n
}

// splitLines gives the lines with their ends.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (v *view) line(n int, line string, raw bool) {
	v.lines++
	line = strings.TrimRight(line, "\r\n")
	if !raw {
		v.text.WriteString(strconv.Itoa(n))
		v.text.WriteByte('|')
	}
	if len(line) > maxColumns {
		line = prose.Clip(line, maxColumns)
		v.cut++
	}
	v.text.WriteString(line)
	v.text.WriteByte('\n')
}

// notice says what the view leaves out, or how to get lines that there are, or "".
func (v *view) notice() string {
	var parts []string
	switch {
	case v.lines == 0 && v.total > 0:
		parts = append(parts, fmt.Sprintf("No such lines: there are %d; use :1 or :%d", v.total, v.total))
	case v.lines == 0:
		parts = append(parts, "Empty")
	case v.next > 0:
		parts = append(parts, fmt.Sprintf("%s of %d shown; continue with :%d", prose.Count(v.lines, "line"), v.total, v.next))
	}
	if v.cut > 0 {
		parts = append(parts, fmt.Sprintf("%s cut at %d bytes; :raw does not help, grep for a part of it", prose.Count(v.cut, "long line"), maxColumns))
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, ". ") + ".]"
}
