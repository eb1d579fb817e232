package editor

import (
	"bytes"
	"slices"
	"strings"
)

// pos is a place between grapheme clusters: a line and an offset in its bytes.
type pos struct{ line, col int }

func (p pos) before(q pos) bool {
	return p.line < q.line || p.line == q.line && p.col < q.col
}

// advance is where text that begins at p ends.
func (p pos) advance(text string) pos {
	n := strings.Count(text, "\n")
	if n == 0 {
		return pos{p.line, p.col + len(text)}
	}
	return pos{p.line + n, len(text) - strings.LastIndexByte(text, '\n') - 1}
}

// line is one line without its end, and how it is wrapped.
type line struct {
	s []byte
	// rows are the offsets at which rows begin, for the width they were laid out
	// for; the first is 0. They are made when they are asked for.
	rows  []int
	width int // 0: not laid out
}

// document is the lines of a text, at least one. They are kept around a gap, so
// that a line comes and goes at the cost of a pointer where lines came and went
// last, however many there are.
type document struct {
	above []*line // lines before the gap
	below []*line // lines after it, the last one first
	size  int     // bytes, line ends included
}

func newDocument() document { return document{above: []*line{{}}} }

func (d *document) lines() int { return len(d.above) + len(d.below) }

func (d *document) at(i int) *line {
	if i < len(d.above) {
		return d.above[i]
	}
	return d.below[len(d.below)-1-(i-len(d.above))]
}

// moveGap puts the gap before line i.
func (d *document) moveGap(i int) {
	for len(d.above) > i {
		last := len(d.above) - 1
		d.below = append(d.below, d.above[last])
		d.above[last] = nil
		d.above = d.above[:last]
	}
	for len(d.above) < i {
		last := len(d.below) - 1
		d.above = append(d.above, d.below[last])
		d.below[last] = nil
		d.below = d.below[:last]
	}
}

func (d *document) end() pos {
	n := d.lines() - 1
	return pos{n, len(d.at(n).s)}
}

// slice is the text from one place to another.
func (d *document) slice(from, to pos) string {
	if from.line == to.line {
		return string(d.at(from.line).s[from.col:to.col])
	}
	var b strings.Builder
	b.Write(d.at(from.line).s[from.col:])
	for i := from.line + 1; i < to.line; i++ {
		b.WriteByte('\n')
		b.Write(d.at(i).s)
	}
	b.WriteByte('\n')
	b.Write(d.at(to.line).s[:to.col])
	return b.String()
}

// replace puts text where the text from one place to another was, which it
// returns. The layout of lines it touches is brought up to date or dropped.
func (d *document) replace(from, to pos, text string, lay *layout) string {
	old := d.slice(from, to)
	d.size += len(text) - len(old)
	first := d.at(from.line)
	if from.line == to.line && strings.IndexByte(text, '\n') < 0 {
		first.s = slices.Replace(first.s, from.col, to.col, []byte(text)...)
		lay.changed(first, from.col, to.col, len(text))
		return old
	}
	last := d.at(to.line).s[to.col:]
	// One allocation holds the new lines. Each may grow only by moving away, as
	// the next one begins where it ends.
	all := make([]byte, 0, from.col+len(text)+len(last))
	all = append(append(append(all, first.s[:from.col]...), text...), last...)
	fresh := make([]line, strings.Count(text, "\n")+1)
	d.moveGap(to.line + 1)
	clear(d.above[from.line:])
	d.above = slices.Grow(d.above[:from.line], len(fresh))
	rest := all
	for i := range fresh {
		n := len(rest)
		if i < len(fresh)-1 {
			// The line ends of text are the first there are: neither what is kept of
			// the first line nor what is kept of the last one has any.
			n = bytes.IndexByte(rest, '\n')
		}
		fresh[i].s = rest[:n:n]
		d.above = append(d.above, &fresh[i])
		rest = rest[min(n+1, len(rest)):]
	}
	return old
}
