package edit

import "strings"

// indent turns the indentation that a model wrote into the one the file has. The
// zero value leaves it alone.
type indent struct {
	known    map[string]string // indentations that both sides have shown
	add, cut string            // whitespace at the beginning of all lines
	// Otherwise lines are indented num/den times as deep and by offset more, with to
	// in the place of from.
	num, den, offset int
	from, to         byte
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
		return in.add + old[len(in.cut):] + rest, true
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

// lines indents the lines of edits. It gives the first line for which there is no
// indentation.
func (in *indent) lines(edits []lineEdit) (bad string, ok bool) {
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
