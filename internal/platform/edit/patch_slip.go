package edit

import (
	"slices"
	"strings"
)

// Models forget the space in front of context. The line as it was written then is
// the file's, and it is looked for as that before any other difference is
// tolerated: otherwise a hunk of lines that are indented by spaces fits with one
// space less, and its new lines get one too many.

// fits gives the places that a hunk fits with a tolerance: as it is written, and
// then with lines of context that lack their space.
func (w *placing) fits(h *hunk, t tolerance) (*candidates, error) {
	old := oldLines(h.lines)
	found, err := w.d.blocks(old, t)
	if err != nil {
		return nil, w.refuse("%v", err)
	}
	signed, odd := h.signs()
	if !signed || len(found) > 0 && t&otherIndent == 0 && !w.maybe(h) {
		if len(found) == 0 {
			return nil, nil
		}
		return &candidates{h: h, found: found, t: t}, nil
	}
	var raw *hunk
	var other []block
	if len(found) > 0 || t&otherIndent != 0 {
		raw = h.raw()
		other, err = w.d.blocks(oldLines(raw.lines), t)
	} else {
		other, err = w.d.blocks(old, t|otherSign, h.mayLack()...)
	}
	switch {
	case err != nil:
		return nil, w.refuse("%v", err)
	case len(found) == 0 && len(other) == 0:
		return nil, nil
	case len(found) == 0 && t&otherIndent != 0:
		return &candidates{h: raw, found: other, t: t}, nil
	case len(found) == 0:
		return &candidates{h: h, found: other, t: t | otherSign}, nil
	case len(other) > 0 && (t&otherIndent == 0 || odd):
		r := w.refuse("the hunk fits line %d, and if its context lacks the space in front, line %d", found[0].at+1, other[0].at+1)
		r.Line, r.Nearest = found[0].at+1, excerpt(w.d.around(found[0].at, found[0].at+len(old)))
		return nil, r.hint("Begin each line of context with a space, and copy its indentation or give more of it.")
	}
	return &candidates{h: h, found: found, t: t}, nil
}

// maybe says whether lines that are indented like the context of a hunk, with one
// space more, are in the file at all: their number is mostly even.
func (w *placing) maybe(h *hunk) bool {
	width := func(line string) uint64 {
		n := 0
		for n < len(line) && n < 62 && line[n] == ' ' {
			n++
		}
		return 1 << n
	}
	if w.widths == 0 {
		for i := range w.d.lines() {
			w.widths |= width(w.d.text[w.d.starts[i]:])
		}
		w.widths |= w.widths & (1 << 62) << 1
	}
	return !slices.ContainsFunc(h.lines, func(l patchLine) bool {
		return l.op == ' ' && !l.unsigned && !isBlank(l.text) && w.widths&(width(l.text)<<1) == 0
	})
}

// mayLack says which of the old lines are context that may lack its space.
func (h *hunk) mayLack() []bool {
	var out []bool
	for _, l := range h.lines {
		if l.op != '+' {
			out = append(out, l.op == ' ' && !l.bare && !l.unsigned)
		}
	}
	return out
}

// signs says whether context of a hunk has its sign, so that there is another way to
// read it: who indents with tabs does not begin a line with a space. Odd says that
// something speaks for that: a line without any sign, or an odd number of spaces.
func (h *hunk) signs() (signed, odd bool) {
	for _, l := range h.lines {
		if l.op != ' ' || l.bare || isBlank(l.text) {
			continue
		}
		switch in := indentation(l.text); {
		case l.unsigned:
			odd = true
		case strings.Contains(in, "\t"):
			return false, false
		default:
			signed = true
			odd = odd || len(in)%2 == 1
		}
	}
	return signed, odd
}

// raw gives the hunk with context as it is written, for the case that all of it
// lacks the space in front.
func (h *hunk) raw() *hunk {
	c := *h
	c.lines = slices.Clone(h.lines)
	for i, l := range c.lines {
		if l.op == ' ' && !l.bare && !l.unsigned {
			c.lines[i].text, c.lines[i].unsigned = " "+l.text, true
		}
	}
	return &c
}

// slipped judges a hunk's lines without a sign, at the place that was found. They
// are context without its space, or they have lost the - in front. If all context
// lacks its space they are context, which is noted. Otherwise, and where the line
// added after one is like it, a refusal asks for the sign.
func (w *placing) slipped(c *candidates) error {
	h, at := c.h, c.found[0].at
	lacks := make([]bool, len(h.lines))
	count, signed := 0, 0
	line := at
	for i, l := range h.lines {
		if l.op == '+' {
			continue
		}
		switch {
		case l.op == ' ' && l.text == "" && !l.bare:
			signed++
		case l.op == ' ' && !isBlank(l.text):
			lacks[i] = l.unsigned || c.t&otherSign != 0 && indentation(w.d.line(line)) != indentation(l.text)
			if lacks[i] {
				count++
			} else {
				signed++
			}
		}
		line++
	}
	if err := w.taken(h, at); err != nil || count == 0 {
		return err
	}
	line = at
	for i, l := range h.lines {
		if lacks[i] && h.lostMinus(i, signed > 0) {
			have := clip(w.d.line(line), 120)
			r := w.refuse("line %d, %q, has no sign in the hunk: it may be context, or have lost its -", line+1, have)
			r.Line, r.Nearest = line+1, excerpt(w.d.around(at, at+len(oldLines(h.lines))))
			return r.hint("Begin it with - to remove it, or with a space to keep it.")
		}
		if l.op != '+' {
			line++
		}
	}
	w.p.out.note("%s: the hunk at line %d has lines without a space in front; they were taken as context and stay", w.d.path, at+1)
	return nil
}

// lostMinus says whether a line without a sign may be one that is removed: it
// stands where removed lines do, and the others have their signs, or what is added
// in its place is like it.
func (h *hunk) lostMinus(i int, othersSigned bool) bool {
	beside := func(step int) (int, byte) { // the next line that is not empty
		n := i + step
		for n >= 0 && n < len(h.lines) && h.lines[n].bare {
			n += step
		}
		if n < 0 || n == len(h.lines) {
			return n, ' '
		}
		return n, h.lines[n].op
	}
	_, before := beside(-1)
	n, after := beside(1)
	switch {
	case othersSigned:
		return before == '-' || after != ' '
	case before == '-':
		return false // it parts two changes
	}
	for ; n < len(h.lines) && h.lines[n].op == '+'; n++ {
		if alike(h.lines[i].text, h.lines[n].text) {
			return true
		}
	}
	return false
}

// taken refuses a hunk that begins or ends with new lines, one of which is, with
// its +, what the file has there: it is context without its space.
func (w *placing) taken(h *hunk, at int) error {
	isOld := func(l patchLine) bool { return l.op != '+' && !l.bare }
	first := slices.IndexFunc(h.lines, isOld)
	if first < 0 {
		return nil
	}
	last := len(h.lines)
	for !isOld(h.lines[last-1]) {
		last--
	}
	check := func(run []patchLine, line int) error {
		if line < 0 || line >= w.d.lines() {
			return nil
		}
		have := w.d.line(line)
		for _, l := range run {
			if l.op == '+' && have == "+"+l.text {
				r := w.refuse("the hunk adds %q, and line %d is %q", clip(l.text, 120), line+1, clip(have, 120))
				r.Line, r.Nearest = line+1, excerpt(w.d.around(line-1, line+2))
				return r.hint("As context the line needs a space in front. If it is new, give context on both sides of it.")
			}
		}
		return nil
	}
	if err := check(h.lines[:first], at-1); err != nil {
		return err
	}
	return check(h.lines[last:], at+len(oldLines(h.lines[:last])))
}
