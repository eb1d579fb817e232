package regex

import (
	"bytes"
	"sync/atomic"
	"unicode/utf8"
)

// Matcher searches texts for a [Regex]. It belongs to one goroutine.
type Matcher struct {
	re   *Regex
	dfa  *dfa
	vm   *vm
	stop *atomic.Bool

	text    []byte
	cursors []cursor
	way     way
	scratch []byte
}

// way is how lines of the present text are looked for.
type way uint8

const (
	byLiteral way = iota // the lines that hold one
	byScan               // the automaton runs over everything
	byLine               // line after line, because some must be changed before they are looked at
)

// long is from where on it pays to ask the automaton where a match may begin,
// and how much is looked at between two looks at stop.
const long = 64 << 10

// Matcher makes a matcher. When stop becomes true, calls on large texts end soon
// and without a match; it may be nil.
func (r *Regex) Matcher(stop *atomic.Bool) *Matcher {
	return &Matcher{re: r, stop: stop}
}

func (m *Matcher) stopped() bool { return m.stop != nil && m.stop.Load() }

// automaton is the one for this matcher, nil if there cannot be one or it does
// not pay.
func (m *Matcher) automaton() *dfa {
	if m.dfa == nil {
		if m.re.prog.empty {
			return nil
		}
		m.dfa = newDFA(m.re.prog, m.stop)
	}
	if m.dfa.useless {
		return nil
	}
	return m.dfa
}

func (m *Matcher) machine() *vm {
	if m.vm == nil {
		m.vm = newVM(m.re.prog, m.stop)
	}
	return m.vm
}

// Reset gives the matcher a text. For [Matcher.Next] it is whole lines, each
// with its "\n". It must not change until the next Reset.
func (m *Matcher) Reset(text []byte) {
	m.text = text
	m.way = m.choose(text)
}

func (m *Matcher) choose(text []byte) way {
	p, f := m.re.prog, m.re.finder
	if f != nil {
		m.cursors = f.cursors(m.cursors)
		if f.nonASCII && !utf8.Valid(text) {
			return byLine
		}
		if !f.kin || !hasKin(text) {
			return byLiteral
		}
	}
	if p.cr && bytes.Contains(text, []byte("\r\n")) || p.wide && !utf8.Valid(text) {
		return byLine
	}
	return byScan
}

// hasKin reports whether text has one of the characters beyond ASCII whose other
// case is an ASCII letter: the long s and the Kelvin sign.
func hasKin(text []byte) bool {
	return bytes.Contains(text, []byte("\u017f")) || bytes.Contains(text, []byte("\u212a"))
}

// Next gives the bounds of the first line at or after from that matches, without
// its "\n". from is the beginning of a line, and not before that of an earlier
// call.
func (m *Matcher) Next(from int) (start, end int, ok bool) {
	switch {
	case from >= len(m.text):
		return 0, 0, false
	case m.re.prog.empty:
		return from, indexByte(m.text, from, '\n'), true
	case m.way == byLiteral:
		return m.nextByLiteral(from)
	}
	if d := m.automaton(); d != nil && m.way == byScan {
		return m.nextByScan(d, from)
	}
	for from < len(m.text) && !m.stopped() {
		end := indexByte(m.text, from, '\n')
		if m.matchesLine(m.text[from:end]) {
			return from, end, true
		}
		from = end + 1
	}
	return 0, 0, false
}

func (m *Matcher) nextByLiteral(from int) (start, end int, ok bool) {
	for from < len(m.text) && !m.stopped() {
		hit := m.re.finder.next(m.cursors, m.text, from)
		if hit == len(m.text) {
			break
		}
		start = from + bytes.LastIndexByte(m.text[from:hit], '\n') + 1
		end = indexByte(m.text, hit, '\n')
		if m.re.exact || m.matchesLine(m.text[start:end]) {
			return start, end, true
		}
		from = end + 1
	}
	return 0, 0, false
}

func (m *Matcher) nextByScan(d *dfa, from int) (start, end int, ok bool) {
	s := d.lineBegin()
	for at := from; at < len(m.text) && !m.stopped(); {
		block := m.text[at:min(at+long, len(m.text))]
		hit, state := d.scan(block, s)
		if hit >= 0 {
			hit += at - 1
			start = from + bytes.LastIndexByte(m.text[from:hit], '\n') + 1
			return start, indexByte(m.text, hit, '\n'), true
		}
		if d.useless {
			return m.Next(from)
		}
		at, s = at+len(block), state
	}
	return 0, 0, false
}

// matchesLine looks at one line as it is in the text.
func (m *Matcher) matchesLine(line []byte) bool {
	if m.re.prog.cr && len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	if m.re.prog.wide && !utf8.Valid(line) {
		m.scratch = appendDecoded(m.scratch[:0], line)
		line = m.scratch
	}
	d := m.automaton()
	if d == nil {
		_, _, ok := m.machine().find(line, 0)
		return ok
	}
	hit, s := d.scan(line, d.lineBegin())
	return hit >= 0 || d.ends(s)
}

// Spans appends to dst where in line, as [Decode] gives it, the matches are: at
// most limit, none of them empty.
func (m *Matcher) Spans(dst [][2]int, line []byte, limit int) [][2]int {
	for at := 0; at <= len(line) && limit > 0; {
		start, end, ok := m.find(line, at)
		if !ok {
			break
		}
		if start < end {
			dst = append(dst, [2]int{start, end})
			limit--
		}
		at = after(line, start, end)
	}
	return dst
}

// after is where to look on behind a match.
func after(text []byte, start, end int) int {
	if start < end || end >= len(text) {
		return max(end, start+1)
	}
	_, n := utf8.DecodeRune(text[end:])
	return end + n
}

// Find gives the first match at or after from in the text of a multiline
// search. next is where to look on.
func (m *Matcher) Find(from int) (start, end, next int, ok bool) {
	if from > len(m.text) {
		return 0, 0, 0, false
	}
	if m.way == byLiteral && m.re.finder.next(m.cursors, m.text, from) == len(m.text) {
		return 0, 0, 0, false
	}
	start, end, ok = m.find(m.text, from)
	return start, end, after(m.text, start, end), ok
}

// find gives the first match in text at or after from.
func (m *Matcher) find(text []byte, from int) (start, end int, ok bool) {
	if len(text)-from > long || !m.re.prog.lines {
		if d := m.automaton(); d != nil {
			begin, found := m.earliest(d, text, from)
			if !found {
				return 0, 0, false
			}
			from = begin
		}
	}
	return m.machine().find(text, from)
}

// earliest reports whether there is a match at or after from, and gives a place
// before which none begins.
func (m *Matcher) earliest(d *dfa, text []byte, from int) (begin int, ok bool) {
	begin = from
	s := d.begin(text, from)
	for at := from; at < len(text); {
		if m.stopped() {
			return 0, false
		}
		if d.unbegun(s) {
			begin = at
		}
		block := text[at:min(at+long, len(text))]
		resets := d.resets
		hit, end := d.scan(block, s)
		if d.useless {
			return begin, true
		}
		if hit >= 0 {
			if d.resets == resets { // s still is a state
				if last := d.lastUnbegun(block[:hit], s); last > 0 {
					begin = at + last
				}
			}
			return begin, true
		}
		at, s = at+len(block), end
	}
	return begin, d.ends(s)
}
