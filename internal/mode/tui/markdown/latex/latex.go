// Package latex writes the mathematics of LaTeX with Unicode's characters, where
// they are enough: letters, operators, arrows, scripts, simple fractions and
// roots. What has no such form stays as it was written.
package latex

import (
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep groups may stand within each other; deeper ones stay as
// they were written.
const maxDepth = 20

// Unicode is the formula tex, without the dollars around it. Its time is linear
// but for groups within groups.
func Unicode(tex string) string {
	return convert(tex, 0)
}

func convert(tex string, depth int) string {
	if depth > maxDepth {
		return tex
	}
	if !strings.ContainsAny(tex, `\^_{}~&'`) {
		return tex
	}
	r := reader{s: tex, depth: depth}
	var b strings.Builder
	for r.pos < len(r.s) {
		c := r.s[r.pos]
		switch c {
		case '\\':
			b.WriteString(r.command())
		case '^', '_':
			r.pos++
			b.WriteString(script(c, r.argument()))
		case '{', '}':
			r.pos++
		case '~', '&':
			r.pos++
			b.WriteByte(' ')
		case '\'':
			r.pos++
			b.WriteRune('′')
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
	return b.String()
}

type reader struct {
	s     string
	pos   int
	depth int
}

// command reads a command and its arguments.
func (r *reader) command() string {
	name := r.name()
	if s, ok := symbols[name]; ok {
		return r.spaced(name, s)
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac":
		return fraction(r.argument(), r.argument())
	case "binom":
		return "C(" + r.argument() + ", " + r.argument() + ")"
	case "sqrt":
		return r.root()
	case "text", "mathrm", "mathbf", "mathit", "mathsf", "mathtt", "textbf", "textit", "textrm", "operatorname", "boldsymbol", "mathcal", "boxed", "operatorname*":
		return r.argument()
	case "mathbb":
		return double(r.argument())
	case "hat", "bar", "overline", "vec", "dot", "ddot", "tilde", "underline", "widehat", "widetilde":
		return accented(name, r.argument())
	case "left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "middle":
		if strings.HasPrefix(r.s[r.pos:], ".") {
			r.pos++ // an invisible bracket
		}
		return ""
	case "displaystyle", "textstyle", "limits", "nolimits", "nonumber", "!":
		return ""
	case "begin", "end":
		r.argument()
		return ""
	case "tag", "label":
		return " (" + r.argument() + ")"
	case "\\":
		return "\n"
	case "{", "}", "$", "%", "&", "#", "_":
		return name
	case ",", ";", ":", " ", ">":
		return " "
	case "quad", "qquad":
		return "  "
	}
	if functions[name] {
		return r.spaced(name, name)
	}
	return "\\" + name
}

// name reads the name of a command.
func (r *reader) name() string {
	r.pos++
	start := r.pos
	for r.pos < len(r.s) && letter(r.s[r.pos]) {
		r.pos++
	}
	if r.pos == start && r.pos < len(r.s) {
		_, n := utf8.DecodeRuneInString(r.s[r.pos:])
		r.pos += n
	}
	return r.s[start:r.pos]
}

// spaced takes the space after a command that ends before a letter: it only
// parted the two, except after the name of a function.
func (r *reader) spaced(name, s string) string {
	if r.pos+1 < len(r.s) && r.s[r.pos] == ' ' && letter(r.s[r.pos+1]) && !functions[name] && len(s) <= 2 {
		r.pos++
	}
	return s
}

// argument reads a group, a command or one character, converted.
func (r *reader) argument() string {
	for r.pos < len(r.s) && r.s[r.pos] == ' ' {
		r.pos++
	}
	switch {
	case r.pos >= len(r.s):
		return ""
	case r.s[r.pos] == '\\':
		if r.depth >= maxDepth {
			return r.name()
		}
		r.depth++
		defer func() { r.depth-- }()
		return r.command()
	case r.s[r.pos] != '{':
		_, n := utf8.DecodeRuneInString(r.s[r.pos:])
		r.pos += n
		return r.s[r.pos-n : r.pos]
	}
	start, open := r.pos+1, 0
	for ; r.pos < len(r.s); r.pos++ {
		switch r.s[r.pos] {
		case '\\':
			r.pos++
		case '{':
			open++
		case '}':
			open--
		}
		if open == 0 {
			break
		}
	}
	end := min(r.pos, len(r.s))
	r.pos = min(r.pos+1, len(r.s))
	return convert(r.s[min(start, end):end], r.depth+1)
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// script raises or lowers s if there is a character for each of its own.
func script(c byte, s string) string {
	table, sign := superscripts, "^"
	if c == '_' {
		table, sign = subscripts, "_"
	}
	var b strings.Builder
	for _, r := range s {
		to, ok := table[r]
		if !ok {
			return sign + grouped(s)
		}
		b.WriteRune(to)
	}
	return b.String()
}

// grouped puts brackets around what is more than one character.
func grouped(s string) string {
	if utf8.RuneCountInString(s) <= 1 {
		return s
	}
	return "(" + s + ")"
}

func fraction(over, under string) string {
	if f, ok := fractions[over+"/"+under]; ok {
		return f
	}
	return operand(over) + "/" + operand(under)
}

// operand puts brackets around what is more than a word.
func operand(s string) string {
	for _, r := range s {
		if strings.ContainsRune(" +-−=*/·×±", r) {
			return "(" + s + ")"
		}
	}
	return s
}

func (r *reader) root() string {
	sign := "√"
	if strings.HasPrefix(r.s[r.pos:], "[") {
		if end := strings.IndexByte(r.s[r.pos:], ']'); end > 0 {
			switch n := r.s[r.pos+1 : r.pos+end]; n {
			case "3":
				sign = "∛"
			case "4":
				sign = "∜"
			default:
				sign = script('^', convert(n, r.depth+1)) + "√"
			}
			r.pos += end + 1
		}
	}
	return sign + grouped(r.argument())
}

func double(s string) string {
	var b strings.Builder
	for _, r := range s {
		if to, ok := doubles[r]; ok {
			r = to
		}
		b.WriteRune(r)
	}
	return b.String()
}

func accented(name, s string) string {
	if utf8.RuneCountInString(s) != 1 {
		return s
	}
	return s + accents[name]
}
