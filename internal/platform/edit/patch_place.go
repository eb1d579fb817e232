package edit

import (
	"slices"
	"strings"
)

// splices finds the places of a section's hunks.
func (p *patching) splices(d *document, s section) ([]splice, error) {
	w := &placing{p: p, d: d, s: &s}
	var edits []lineEdit
	for i := range s.hunks {
		w.i = i + 1
		if d.enc == markedUTF8 {
			s.hunks[i].unmark()
		}
		more, err := w.hunk(&s.hunks[i])
		if err != nil {
			return nil, err
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

// placing looks for the hunks of one file, one after the other.
type placing struct {
	p      *patching
	d      *document
	s      *section
	i      int // the hunk in hand, from 1
	cursor int // the line after the last change
	drift  int // how far the last hunk was from where it said
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
	w.p.out.note("%s", toleratedNote(w.d.path, "hunk", number, line, t))
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

func (w *placing) hunk(h *hunk) ([]lineEdit, error) {
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
	for _, t := range blockTolerances {
		for _, v := range []*hunk{h, &short} {
			found, err := w.d.blocks(oldLines(v.lines), t)
			if err != nil {
				return nil, w.refuse("%v", err)
			}
			if len(found) > 0 {
				return w.choose(v, found, t)
			}
			if len(short.lines) == len(h.lines) {
				break
			}
		}
	}
	r := w.d.nearest(w.refuse("the context and removed lines are not in the file"), oldLines(short.lines))
	if r.Line == 0 {
		r.hint("Nothing in the file is like them: read the file, and check the path.")
	}
	return nil, r
}

// addition places a hunk without any line of the file.
func (w *placing) addition(h *hunk) ([]lineEdit, error) {
	end := w.d.lines()
	if w.d.text != "" && !h.atEnd {
		if w.s.format == unifiedDiff || len(h.headers) > 0 || h.line > 0 {
			return nil, w.refuse("the hunk only adds lines, and says not beside which").hint("Give lines of context.")
		}
		w.p.out.note("%s: lines without context were added at the end", w.d.path)
	}
	return w.edits(h, block{at: end})
}

// choose settles which of the places that fit is meant.
func (w *placing) choose(h *hunk, found []block, t tolerance) ([]lineEdit, error) {
	headers := w.d.headers(h.headers)
	b := found[0]
	if len(found) > 1 {
		var ok bool
		if b, ok = w.settle(h, found, headers); !ok {
			at := make([]int, len(found))
			for i, f := range found {
				at[i] = f.at + 1
			}
			r := w.d.ambiguous("the hunk", at).number(w.i, len(w.s.hunks))
			r.unit = "hunk"
			return nil, r.hint("Give more context, or a line of what encloses the place after @@.")
		}
	} else if w.s.format == applyPatch && len(h.headers) > 0 {
		switch name := clip(h.headers[len(h.headers)-1], 80); {
		case len(headers) == 0:
			w.p.out.note("%s: there is no line %q; the hunk fits line %d only", w.d.path, name, b.at+1)
		case b.at+len(oldLines(h.lines)) <= headers[0]:
			r := w.refuse("the hunk fits line %d only, which is before %q in line %d", b.at+1, name, headers[0]+1)
			r.Line, r.Nearest = b.at+1, excerpt(w.d.around(b.at, b.at+len(oldLines(h.lines))))
			return nil, r.hint("Correct the line after @@, or leave it out.")
		}
	}
	if t != 0 {
		w.note(b.at+1, t)
	}
	if h.line > 0 {
		w.drift = b.at + 1 - h.line
	}
	return w.edits(h, b)
}

// settle picks one of several places: by the lines that enclose it, by its exact
// line number, by the end of the file, or by the order of hunks.
func (w *placing) settle(h *hunk, found []block, headers []int) (block, bool) {
	one := func(fits func(b block) bool) (block, bool) {
		n := slices.IndexFunc(found, fits)
		if n < 0 || slices.ContainsFunc(found[n+1:], fits) {
			return block{}, false
		}
		return found[n], true
	}
	numbered := func(b block) bool {
		return h.line > 0 && (b.at+1 == h.line || b.at+1 == h.line+w.drift)
	}
	enclosed := func(b block) bool {
		return slices.ContainsFunc(headers, func(line int) bool {
			// The first place after the header is the one inside.
			return b.at >= line && !slices.ContainsFunc(found, func(o block) bool { return o.at >= line && o.at < b.at })
		})
	}
	ways := []func(block) bool{enclosed, numbered}
	if w.s.format == unifiedDiff {
		ways = []func(block) bool{numbered, enclosed} // the header is decoration
	}
	ways = append(ways, func(b block) bool {
		return h.atEnd && b.at+len(oldLines(h.lines)) == w.d.lines()
	})
	if len(h.headers) == 0 || w.s.format == unifiedDiff {
		ways = append(ways, func(b block) bool { return b.at+firstChange(h) >= w.cursor })
	}
	for _, way := range ways {
		if b, ok := one(way); ok {
			return b, true
		}
	}
	return block{}, false
}

// firstChange is how many lines of the file a hunk has before its first change.
func firstChange(h *hunk) int {
	return max(slices.IndexFunc(h.lines, func(l patchLine) bool { return l.op != ' ' }), 0)
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
				if n := slices.IndexFunc(next, func(i int) bool { return i > outer }); n >= 0 && !slices.Contains(inner, next[n]) {
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
	n := len(oldLines(h.lines))
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
		if len(added) > 0 && added[len(added)-1].open && b.at+n != d.lines() {
			return nil, w.refuse("the hunk says that the file ends with its last line, and it goes on there").
				hint("Leave the mark \"No newline at end of file\" out.")
		}
		edits = append(edits, w.run(line, removed, added, literal)...)
		line += len(removed)
	}
	if bad, ok := b.indent.lines(edits); !ok {
		return nil, d.nearest(w.refuse("the hunk fits line %d with other indentation, and it is not clear how to indent %q",
			b.at+1, clip(bad, 120)), oldLines(h.lines))
	}
	w.cursor = max(w.cursor, line)
	if len(edits) > 0 {
		w.cursor = edits[len(edits)-1].to
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
