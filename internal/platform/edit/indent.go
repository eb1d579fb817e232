package edit

import (
	"iter"
	"strings"
)

// indent turns the indentation that a model wrote into the one the file has. The
// zero value leaves it alone.
type indent struct {
	known    map[string]string // indentations that both sides have shown
	add, cut string            // whitespace at the beginning of all lines
	// Otherwise lines are indented num/den times as deep and by offset more, with to
	// in the place of from.
	num, den, offset int
	from, to         byte
	// What lines have beyond add is made of what the file is indented with: a tab for
	// so many spaces, or the reverse. 0 leaves it as it is.
	unit int
	tabs bool // the file is indented with tabs
}

// fitIndent finds how the indentation of the file's lines comes from that of the
// wanted ones: the same prefix more or less, or a unit of another width or
// character. That must hold for every line that is not blank. Lines whose relation
// to each other differs do not fit: in some languages that is another meaning. Only
// the first wanted line may lack its indentation, as when it was copied from its
// first letter on, if it is the least indented one.
func fitIndent(want, have []string) (indent, bool) {
	var pairs [][2]string
	for i := range want {
		if !isBlank(want[i]) {
			pairs = append(pairs, [2]string{indentation(want[i]), indentation(have[i])})
		}
	}
	in, ok := fitPairs(pairs)
	if !ok && len(pairs) > 1 && pairs[0][0] == "" {
		first := pairs[0][1]
		if in, ok = fitPairs(pairs[1:]); ok {
			if to, seen := in.known[""]; seen && to != first {
				return indent{}, false
			}
			in.known[""] = first
			ok = every(pairs, func(_, h string) bool { return strings.HasPrefix(h, first) })
		}
	}
	return in, ok
}

func fitPairs(pairs [][2]string) (indent, bool) {
	in := indent{known: map[string]string{}}
	for _, p := range pairs {
		if to, ok := in.known[p[0]]; ok && to != p[1] {
			return indent{}, false
		}
		in.known[p[0]] = p[1]
	}
	return in, in.fitPrefix(pairs) || in.fitUnits(pairs)
}

// fitPrefix looks for whitespace that all lines have more, or less, in front.
func (in *indent) fitPrefix(pairs [][2]string) bool {
	first := pairs[0]
	if p, ok := strings.CutSuffix(first[1], first[0]); ok && every(pairs, func(w, h string) bool { return h == p+w }) {
		in.add = p
		return true
	}
	if p, ok := strings.CutSuffix(first[0], first[1]); ok && every(pairs, func(w, h string) bool { return w == p+h }) {
		in.cut = p
		return true
	}
	return false
}

func every(pairs [][2]string, ok func(want, have string) bool) bool {
	for _, p := range pairs {
		if !ok(p[0], p[1]) {
			return false
		}
	}
	return true
}

// fitUnits looks for another unit of indentation: tabs for spaces, four for two.
func (in *indent) fitUnits(pairs [][2]string) bool {
	var ok bool
	if in.from, ok = onlyByte(pairs, 0); !ok {
		return false
	}
	if in.to, ok = onlyByte(pairs, 1); !ok {
		return false
	}
	w, h := len(pairs[0][0]), len(pairs[0][1])
	for _, p := range pairs[1:] {
		if len(p[0]) != w {
			in.num, in.den = len(p[1])-h, len(p[0])-w
			break
		}
	}
	if in.den == 0 { // one depth only
		if in.from == in.to || w == 0 || h == 0 || w%h != 0 && h%w != 0 {
			return false
		}
		in.num, in.den = h, w
	}
	if in.den < 0 {
		in.num, in.den = -in.num, -in.den
	}
	if in.num <= 0 {
		return false
	}
	d := gcd(in.num, in.den)
	in.num, in.den = in.num/d, in.den/d
	if in.num > 8 || in.den > 8 || w*in.num%in.den != 0 {
		return false
	}
	in.offset = h - w*in.num/in.den
	return every(pairs, func(w, h string) bool {
		return len(w)*in.num%in.den == 0 && len(w)*in.num/in.den+in.offset == len(h)
	})
}

// onlyByte is the one character that the indentations of a side consist of.
func onlyByte(pairs [][2]string, side int) (byte, bool) {
	c := byte(0)
	for _, p := range pairs {
		if p[side] == "" {
			continue
		}
		if c == 0 {
			c = p[side][0]
		}
		if strings.Trim(p[side], string(c)) != "" {
			return 0, false
		}
	}
	return c, true
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// line indents a new line. It fails if the line's indentation has no counterpart.
func (in *indent) line(s string) (string, bool) {
	if in.known == nil || isBlank(s) {
		return s, true
	}
	old := indentation(s)
	rest := s[len(old):]
	if to, ok := in.known[old]; ok {
		return to + rest, true
	}
	if in.den == 0 {
		if !strings.HasPrefix(old, in.cut) {
			return "", false
		}
		extra, ok := in.convert(old[len(in.cut):])
		return in.add + extra + rest, ok
	}
	if in.from == 0 || strings.Trim(old, string(in.from)) != "" {
		return "", false
	}
	extra := ""
	n := len(old)
	if over := n % in.den; n*in.num%in.den != 0 {
		if in.from != ' ' || in.to != '\t' {
			return "", false
		}
		n, extra = n-over, strings.Repeat(" ", over) // aligned by single spaces
	}
	if n = n*in.num/in.den + in.offset; n < 0 {
		return "", false
	}
	return strings.Repeat(string(in.to), n) + extra + rest, true
}

// measure finds out whether new lines are indented with spaces where the file has
// tabs, or the reverse.
func (in *indent) measure(d *document, lines iter.Seq[string]) {
	if in.known == nil || in.den != 0 {
		return
	}
	file, model := in.add, ""
	for from, to := range in.known {
		file, model = file+to, model+from
	}
	width, tabs := 0, strings.Contains(file, "\t")
	if file == "" {
		width, tabs = d.indentation()
	}
	in.tabs = tabs
	for l := range lines {
		extra, ok := strings.CutPrefix(indentation(l), in.cut)
		switch {
		case !ok || isBlank(l) || extra == "":
		case strings.Contains(extra, "\t") == tabs:
			if tabs {
				in.unit = 0 // spaces only align
				return
			}
		case !tabs:
			if width == 0 {
				width, _ = d.indentation()
			}
			in.unit = width
		case len(extra) > 1 && !strings.Contains(model, "\t") && (in.unit == 0 || len(extra) < in.unit):
			in.unit = len(extra)
		}
	}
}

// convert makes what a line has beyond the common indentation of the file's
// characters. It fails if it is not clear how.
func (in *indent) convert(extra string) (string, bool) {
	switch tabs := strings.Count(extra, "\t"); {
	case in.tabs && in.unit > 0 && tabs == 0:
		over := len(extra) % in.unit // aligned by a single space
		return strings.Repeat("\t", len(extra)/in.unit) + strings.Repeat(" ", over), over < 2 && (in.unit <= 4 || in.unit == 8)
	case !in.tabs && tabs > 0:
		return strings.Repeat(" ", tabs*in.unit), in.unit > 0 && tabs == len(extra)
	}
	return extra, true
}

// indentation says what a file is indented with: the width by which lines that are
// indented with spaces are most often deeper than those before, and whether most
// lines are indented with tabs.
func (d *document) indentation() (width int, tabs bool) {
	var deeper [9]int
	balance, last := 0, 0
	for i := range min(d.lines(), maxMeasured) {
		line := d.line(i)
		if isBlank(line) {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case line[0] == '\t':
			balance++
		case depth > 1:
			balance--
		}
		if by := depth - last; by > 1 && by < len(deeper) {
			if deeper[by]++; deeper[by] > deeper[width] {
				width = by
			}
		}
		last = depth
	}
	return width, balance > 0
}

// maxMeasured is how many lines of a file are looked at for its indentation.
const maxMeasured = 5000

// lines indents the lines of edits. It gives the first line for which there is no
// indentation.
func (in *indent) lines(d *document, edits []lineEdit) (bad string, ok bool) {
	in.measure(d, func(yield func(string) bool) {
		for _, e := range edits {
			for _, l := range e.lines {
				if !yield(l.text) {
					return
				}
			}
		}
	})
	for _, e := range edits {
		for i := range e.lines {
			s, ok := in.line(e.lines[i].text)
			if !ok {
				return e.lines[i].text, false
			}
			e.lines[i].text = s
		}
	}
	return "", true
}
