package edit

import (
	"slices"
	"strings"
)

// splices finds the places of a section's hunks: first all places that each fits,
// then the ones that are meant, and then what changes there.
func (p *patching) splices(d *document, s section) ([]splice, error) {
	w := &placing{p: p, d: d, s: &s}
	all := make([]*candidates, len(s.hunks))
	places := 0
	for i := range s.hunks {
		w.i = i + 1
		if d.enc == markedUTF8 {
			s.hunks[i].unmark()
		}
		c, err := w.find(&s.hunks[i])
		if err == nil {
			err = w.narrow(c)
		}
		if err != nil {
			return nil, err
		}
		if places += len(c.found) - 1; places > maxCandidates {
			return nil, w.refuse("%v", errRepetitive).hint("Give more context, or make the change in several patches.")
		}
		all[i] = c
	}
	if err := w.order(all); err != nil {
		return nil, err
	}
	var edits []lineEdit
	for i, c := range all {
		w.i = i + 1
		more, err := w.place(c)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 && len(all) > 1 {
			p.out.note("%s, hunk %d: changes nothing", d.path, w.i)
		}
		edits = append(edits, more...)
	}
	return d.splices(edits, len(s.hunks), "hunk")
}

// unmark takes the byte order mark off the lines of a hunk that has it where the
// file begins, as diffs do. The document's text is without.
func (h *hunk) unmark() {
	if lines := oldLines(h.lines); len(lines) == 0 || !strings.HasPrefix(lines[0], byteOrderMark) {
		return
	}
	for i := range h.lines {
		h.lines[i].text = strings.TrimPrefix(h.lines[i].text, byteOrderMark)
	}
}

// placing looks for the hunks of one file.
type placing struct {
	p     *patching
	d     *document
	s     *section
	i     int // the hunk in hand, from 1
	drift int // how far the last hunk was from where it said
	// widths has a bit for each number of spaces that lines begin with, once needed.
	widths uint64
}

func (w *placing) refuse(format string, args ...any) *Refusal {
	r := refuse(w.d.path, format, args...).number(w.i, len(w.s.hunks))
	r.unit = "hunk"
	return r
}

func (w *placing) note(line int, t tolerance) {
	number := w.i
	if len(w.s.hunks) == 1 {
		number = 0
	}
	w.p.out.tolerated(toleratedNote(w.d.path, "hunk", number, line, t), t)
}

// oldLines are the lines that the file must have.
func oldLines(lines []patchLine) []string {
	var out []string
	for _, l := range lines {
		if l.op != '+' {
			out = append(out, l.text)
		}
	}
	return out
}

// find gives all places that a hunk fits with the least tolerance.
func (w *placing) find(h *hunk) (*candidates, error) {
	var added strings.Builder
	for _, l := range h.lines {
		if l.op == '+' {
			added.WriteString(l.text + "\n")
		}
	}
	if line := elision(w.d.path, added.String(), strings.Join(oldLines(h.lines), "\n")); line != "" {
		r := refuseElision(w.d.path, line).number(w.i, len(w.s.hunks))
		r.unit = "hunk"
		return nil, r
	}
	if len(oldLines(h.lines)) == 0 {
		return w.addition(h)
	}
	// An empty line at the end of a hunk is context or, without its space, a gap
	// before what follows.
	short := *h
	for len(short.lines) > 0 && short.lines[len(short.lines)-1].bare {
		short.lines = short.lines[:len(short.lines)-1]
	}
	variants := []*hunk{h, &short}
	if len(short.lines) == len(h.lines) {
		variants = variants[:1]
	}
	for _, t := range blockTolerances {
		for _, v := range variants {
			if c, err := w.fits(v, t); c != nil || err != nil {
				return c, err
			}
		}
	}
	return nil, w.notFound(&short)
}

func (w *placing) notFound(h *hunk) *Refusal {
	r := w.d.nearest(w.refuse("the context and removed lines are not in the file"), oldLines(h.lines))
	if r.Line == 0 {
		return r.hint("Nothing in the file is like them: read the file, and check the path.")
	}
	line := r.Line - 1
	for _, l := range h.lines {
		if l.op == '-' && line < w.d.lines() && w.d.line(line) == "-"+l.text {
			return r.hint("Line %d is %q: as context it needs a space in front, and to remove it another -.",
				line+1, clip(w.d.line(line), 120))
		}
		if l.op != '+' {
			line++
		}
	}
	return r
}

// addition places a hunk without any line of the file.
func (w *placing) addition(h *hunk) (*candidates, error) {
	end := w.d.lines()
	if w.d.text != "" && !h.atEnd {
		if w.s.format == unifiedDiff || len(h.headers) > 0 || h.line > 0 {
			return nil, w.refuse("the hunk only adds lines and has no context to place them").hint("Give lines of context.")
		}
		w.p.out.note("%s: lines without context were added at the end", w.d.path)
	}
	return &candidates{h: h, found: []block{{at: end}}}, nil
}

// narrow leaves of the places that a hunk fits those that its own marks allow: the
// end of the file, the lines that enclose it, and its line number.
func (w *placing) narrow(c *candidates) error {
	h, n := c.h, len(oldLines(c.h.lines))
	if n == 0 {
		return nil
	}
	c.headers = w.d.headers(h.headers)
	all := c.found
	if h.atEnd {
		c.found = w.atEnd(c)
		if len(c.found) == 0 {
			r := w.refuse("the hunk says that the file ends with its last line, but the file continues")
			r.Line, r.Nearest = all[0].at+1, excerpt(w.d.around(all[0].at, all[0].at+n+1))
			return r.hint("Leave out the mark of the end, or correct the lines before it.")
		}
	}
	named := w.s.format == applyPatch && len(h.headers) > 0
	switch {
	case len(c.found) > 1:
		if !w.settle(c) && named && len(c.headers) == 0 {
			return w.ambiguous(c.found) // the order of hunks does not stand in for a header
		}
	case named && len(c.headers) == 0:
		w.p.out.res.Inexact = true
		w.p.out.note("%s: no line %q; the hunk fits line %d only", w.d.path, innermost(h), c.found[0].at+1)
	case named && c.found[0].at+n <= c.headers[0]:
		at := c.found[0].at
		r := w.refuse("the hunk fits line %d only, which is before %q in line %d", at+1, innermost(h), c.headers[0]+1)
		r.Line, r.Nearest = at+1, excerpt(w.d.around(at, at+n))
		return r.hint("Correct the line after @@, or leave it out.")
	}
	if h.line > 0 && len(c.found) == 1 {
		w.drift = c.found[0].at + 1 - h.line
	}
	return nil
}

// innermost is the last header of a hunk, as it is shown.
func innermost(h *hunk) string { return clip(h.headers[len(h.headers)-1], 80) }

// atEnd gives the place at which a hunk ends the file, or else the one that only
// blank lines follow.
func (w *placing) atEnd(c *candidates) []block {
	n, end := len(oldLines(c.h.lines)), w.d.lines()
	last := c.found[len(c.found)-1]
	if last.at+n == end {
		return []block{last}
	}
	open := slices.ContainsFunc(c.h.lines, func(l patchLine) bool { return l.open })
	for i := last.at + n; i < end; i++ {
		if open || !isBlank(w.d.line(i)) {
			return nil
		}
	}
	return []block{last}
}

// settle picks one of several places by the lines that enclose it or by its exact
// line number. If that leaves several, those that headers enclose stay.
func (w *placing) settle(c *candidates) bool {
	var enclosed, numbered []block
	for _, line := range c.headers {
		// The first place after the header is the one inside.
		n, _ := slices.BinarySearchFunc(c.found, line, func(b block, line int) int { return b.at - line })
		if n < len(c.found) && (len(enclosed) == 0 || enclosed[len(enclosed)-1].at != c.found[n].at) {
			enclosed = append(enclosed, c.found[n])
		}
	}
	if line := c.h.line; line > 0 {
		for _, b := range c.found {
			if b.at+1 == line || b.at+1 == line+w.drift {
				numbered = append(numbered, b)
			}
		}
	}
	ways := [2][]block{enclosed, numbered}
	if w.s.format == unifiedDiff {
		ways = [2][]block{numbered, enclosed} // the header is decoration
	}
	for _, places := range ways {
		if len(places) == 1 {
			c.found = places
			return true
		}
	}
	if w.s.format == applyPatch && len(enclosed) > 0 {
		c.found = enclosed
	}
	return false
}

// place gives the edits of a hunk, whose place is known.
func (w *placing) place(c *candidates) ([]lineEdit, error) {
	if err := w.slipped(c); err != nil {
		return nil, err
	}
	if t := c.t &^ otherSign; t != 0 {
		w.note(c.found[0].at+1, t)
	}
	return w.edits(c.h, c.found[0])
}

// headers are the lines at which the innermost of some nested headers is found.
func (d *document) headers(names []string) []int {
	var places []int
	for level, name := range names {
		var next []int
		for _, same := range [...]func(a, b string) bool{func(a, b string) bool { return a == b }, strings.HasPrefix} {
			for i := range d.lines() {
				if same(strings.TrimSpace(d.line(i)), name) {
					next = append(next, i)
				}
			}
			if len(next) > 0 {
				break
			}
		}
		if level > 0 { // the first after each of the outer ones
			var inner []int
			for _, outer := range places {
				n, _ := slices.BinarySearch(next, outer+1)
				if n < len(next) && (len(inner) == 0 || inner[len(inner)-1] != next[n]) {
					inner = append(inner, next[n])
				}
			}
			next = inner
		}
		if places = next; len(places) == 0 {
			return nil
		}
	}
	return places
}

// edits gives the edits of a hunk at its place.
func (w *placing) edits(h *hunk, b block) ([]lineEdit, error) {
	d := w.d
	literal := w.endingsAgree(h, b.at)
	var edits []lineEdit
	line := b.at
	for i := 0; i < len(h.lines); {
		if h.lines[i].op == ' ' {
			i++
			line++
			continue
		}
		var removed, added []patchLine
		for ; i < len(h.lines) && h.lines[i].op != ' '; i++ {
			if h.lines[i].op == '-' {
				removed = append(removed, h.lines[i])
			} else {
				added = append(added, h.lines[i])
			}
		}
		edits = append(edits, w.run(line, removed, added, literal)...)
		line += len(removed)
	}
	if bad, ok := b.indent.lines(d, edits); !ok {
		return nil, d.nearest(w.refuse("the hunk fits line %d with other indentation, and it is not clear how to indent %q",
			b.at+1, clip(bad, 120)), oldLines(h.lines))
	}
	return edits, nil
}

// run gives the edits for lines that are removed at a line and those added there.
func (w *placing) run(line int, removed, added []patchLine, literal bool) []lineEdit {
	text := func(lines []patchLine) (out []string, marked bool) {
		for _, l := range lines {
			out = append(out, l.text)
			marked = marked || l.open
		}
		return out, marked
	}
	before, markedBefore := text(removed)
	after, markedAfter := text(added)
	if !literal && !markedBefore && !markedAfter {
		n, m := len(before)-1, len(after)-1
		if n < 0 || m < 0 || line+n+1 < w.d.lines() || !w.d.endsOpen() {
			return lineDiff(line, before, after, w.i)
		}
		// The last line stays the one without newline.
		return append(lineDiff(line, before[:n], after[:m], w.i), lineDiff(line+n, before[n:], after[m:], w.i)...)
	}
	e := lineEdit{from: line, to: line + len(removed), lines: autoLines(after), edit: w.i}
	for i, l := range added {
		switch {
		case l.open:
			e.lines[i].end = endNone
		case literal && l.cr:
			e.lines[i].end = endCRLF
		case literal:
			e.lines[i].end = endLF
		case markedBefore:
			e.lines[i].end = endLine
		}
	}
	return []lineEdit{e}
}

// endingsAgree says that a hunk tells the line endings: it has some CR LF, and those
// of its lines are the file's.
func (w *placing) endingsAgree(h *hunk, at int) bool {
	if !slices.ContainsFunc(h.lines, func(l patchLine) bool { return l.cr }) {
		return false
	}
	line := at
	for _, l := range h.lines {
		if l.op == '+' {
			continue
		}
		if _, ending := w.d.cutLine(line); ending != "" && (ending == "\r\n") != l.cr {
			return false
		}
		line++
	}
	return true
}
