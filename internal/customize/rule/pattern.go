package rule

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// matchTime is how long one match may take. A pattern that takes longer is turned off for the
// session: nested repetitions can take forever.
const matchTime = 100 * time.Millisecond

// compile reads a pattern as JavaScript does. It may begin with flags, such as (?i).
func compile(source string) (*regexp2.Regexp, error) {
	re, err := regexp2.Compile(source, regexp2.ECMAScript)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	re.MatchTimeout = matchTime
	return re, nil
}

// maxTail is how much text after a match decides about it at most, in characters.
const maxTail = 64

// tail is how many characters after a match may still decide about it: \b and $ look at one,
// a look-ahead at as many as its pattern has.
func tail(source string) int {
	n := 0
	if strings.Contains(source, `\b`) || strings.Contains(source, `\B`) || strings.Contains(source, "$") {
		n = 1
	}
	for _, look := range []string{"(?=", "(?!"} {
		for rest := source; ; {
			_, after, ok := strings.Cut(rest, look)
			if !ok {
				break
			}
			end := strings.IndexByte(after, ')')
			if end < 0 {
				end = len(after)
			}
			n = max(n, min(maxTail, end+1))
			rest = after
		}
	}
	return n
}

// onOneLine reports that a pattern cannot match a line break.
func onOneLine(source string) bool {
	for _, s := range []string{`\s`, `\S`, `\W`, `\D`, `\n`, `\r`, `\x`, `\u`, `\c`, `\p`, `\P`, "[^", "(?s", "\n", "\r"} {
		if strings.Contains(source, s) {
			return false
		}
	}
	return true
}

// literals returns texts; each match of a pattern contains at least one of them, in lower
// case; nil if it finds none. They only have to be right, not complete: where they appear, the
// pattern itself is tried.
func literals(source string) []string {
	p := &literalParser{s: source}
	best := p.alternatives(0)
	if p.bad || p.i < len(p.s) {
		return nil
	}
	return best
}

// literalParser goes over a pattern that is known to be valid.
type literalParser struct {
	s    string
	i    int
	fold bool // letters beyond ASCII may have other forms
	bad  bool // something that it does not know
}

const maxLiterals = 16 // of one pattern

func (p *literalParser) alternatives(depth int) (best []string) {
	if depth > 50 {
		p.bad = true
		return nil
	}
	all, missing := []string(nil), false
	for {
		seq := p.sequence(depth)
		missing = missing || seq == nil
		all = append(all, seq...)
		if p.bad || p.i >= len(p.s) || p.s[p.i] != '|' {
			break
		}
		p.i++
	}
	if missing || len(all) > maxLiterals {
		return nil
	}
	return all
}

// sequence reads up to "|" or ")".
func (p *literalParser) sequence(depth int) (best []string) {
	var run []byte
	better := func(set []string) {
		if len(set) > 0 && (best == nil || shortest(set) > shortest(best)) {
			best = set
		}
	}
	flush := func() {
		if len(run) > 0 {
			better([]string{lower(string(run))})
		}
		run = nil
	}
	for p.i < len(p.s) && !p.bad {
		switch c := p.s[p.i]; c {
		case '|', ')':
			flush()
			return best
		case '(':
			flush()
			set, within := p.group(depth)
			if least, _ := p.quantifier(); least > 0 && within {
				better(set)
			}
		case '^', '$':
			p.i++
			p.quantifier()
		case '.':
			p.i++
			flush()
			p.quantifier()
		case '[':
			p.class()
			flush()
			p.quantifier()
		default:
			lit, zero := p.atom()
			least, fixed := p.quantifier()
			if zero {
				continue // \b
			}
			switch {
			case lit == "" || p.fold && lit[0] >= utf8.RuneSelf:
				flush()
			case fixed:
				run = append(run, lit...)
			case least > 0:
				run = append(run, lit...)
				flush()
			default:
				flush()
			}
		}
	}
	flush()
	return best
}

// shortest is the length of the shortest text of a set.
func shortest(set []string) int {
	n := len(set[0])
	for _, s := range set {
		n = min(n, len(s))
	}
	return n
}

// atom reads a character or an escape; lit is what it stands for, "" if that is not one text.
// zero reports that it matches no text at all.
func (p *literalParser) atom() (lit string, zero bool) {
	c := p.s[p.i]
	if c != '\\' {
		_, size := utf8.DecodeRuneInString(p.s[p.i:])
		p.i += size
		return p.s[p.i-size : p.i], false
	}
	p.i++
	if p.i >= len(p.s) {
		p.bad = true
		return "", false
	}
	c = p.s[p.i]
	p.i++
	switch {
	case c == 'b' || c == 'B':
		return "", true
	case c == 'n':
		return "\n", false
	case c == 't':
		return "\t", false
	case c == 'k' || c == 'p' || c == 'P' || c == 'x' || c == 'u' || c == 'c' || c == '0':
		p.bad = true // rare, and long to read
		return "", false
	case '1' <= c && c <= '9': // what a group has matched
		for p.i < len(p.s) && '0' <= p.s[p.i] && p.s[p.i] <= '9' {
			p.i++
		}
		return "", false
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf:
		return "", false // a class, or a control character
	}
	return string(c), false
}

// class skips [...].
func (p *literalParser) class() {
	p.i++
	if p.i < len(p.s) && p.s[p.i] == '^' {
		p.i++
	}
	for ; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case '\\':
			p.i++
		case ']':
			p.i++
			return
		}
	}
	p.bad = true
}

// group reads (...). within reports that its text is part of a match.
func (p *literalParser) group(depth int) (set []string, within bool) {
	p.i++
	within = true
	if rest, ok := strings.CutPrefix(p.s[p.i:], "?"); ok {
		switch {
		case strings.HasPrefix(rest, ":"):
			p.i += 2
		case strings.HasPrefix(rest, "="), strings.HasPrefix(rest, "!"):
			p.i += 2
			within = false
		case strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, "<!"):
			p.i += 3
			within = false
		case strings.HasPrefix(rest, "<"):
			end := strings.IndexByte(rest, '>')
			if end < 0 {
				p.bad = true
				return nil, false
			}
			p.i += end + 2
		default: // flags: (?i) or (?i:...)
			end := strings.IndexAny(rest, ":)")
			if end < 0 || strings.Trim(rest[:end], "imsnx-") != "" || strings.Contains(rest[:end], "x") {
				p.bad = true
				return nil, false
			}
			p.fold = p.fold || strings.Contains(rest[:end], "i")
			p.i += end + 2
			if rest[end] == ')' {
				return nil, false
			}
		}
	}
	set = p.alternatives(depth + 1)
	if p.i >= len(p.s) || p.s[p.i] != ')' {
		p.bad = true
		return nil, false
	}
	p.i++
	return set, within
}

// quantifier reads what follows an atom: how often it appears at least, and whether that is
// exactly once.
func (p *literalParser) quantifier() (least int, once bool) {
	if p.i >= len(p.s) {
		return 1, true
	}
	least, once = 1, true
	switch c := p.s[p.i]; {
	case c == '*' || c == '?':
		p.i++
		least, once = 0, false
	case c == '+':
		p.i++
		once = false
	case c == '{':
		end := strings.IndexByte(p.s[p.i:], '}')
		inside := ""
		if end > 0 {
			inside = p.s[p.i+1 : p.i+end]
		}
		if inside == "" || strings.Trim(inside, "0123456789,") != "" || inside[0] == ',' {
			return 1, true // a brace as it is; it is the next atom
		}
		p.i += end + 1
		once = false
		if strings.Trim(strings.SplitN(inside, ",", 2)[0], "0") == "" {
			least = 0
		}
	default:
		return least, once
	}
	if p.i < len(p.s) && p.s[p.i] == '?' {
		p.i++
	}
	return least, once
}
