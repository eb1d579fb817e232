package command

import "strings"

// sedReads judges sed: its scripts must not write (w, W), run (e) or read further
// files (r, R), and it must not edit in place.
func sedReads(args []Word) ([]Word, bool) {
	s := scan("-n --quiet --silent -E -r --regexp-extended -s --separate -u --unbuffered -z --null-data --posix --debug -e: --expression:", args, false)
	if s.bad != "" {
		return nil, false
	}
	var scripts []Word
	for _, o := range s.options {
		if o.name == "-e" || o.name == "--expression" {
			scripts = append(scripts, o.value)
		}
	}
	named := s.operands
	if len(scripts) == 0 {
		if len(named) == 0 {
			return nil, false
		}
		scripts, named = named[:1], named[1:]
	}
	for _, script := range scripts {
		if !script.Exact || !sedPrints(script.Text) {
			return nil, false
		}
	}
	return named, true
}

// sedPrints reports whether a script of sed surely does nothing but print. What
// this does not understand may do more.
func sedPrints(script string) bool {
	s := sedScript(script)
	for depth := 0; ; {
		s = s.skip(" \t\n;")
		if s == "" {
			return depth == 0
		}
		var ok bool
		if s, ok = s.addresses(); !ok || s == "" {
			return false
		}
		c := s[0]
		s = s[1:]
		switch {
		case c == '{':
			depth++
			continue
		case c == '}':
			depth--
		case c == 's' || c == 'y':
			if s, ok = s.substitution(c == 's'); !ok {
				return false
			}
		case c == 'q' || c == 'Q' || c == 'l':
			s = s.skip(" ").skip("0123456789")
		case strings.IndexByte("pdDPNnhHgGx=", c) < 0:
			return false
		}
		if s = s.skip(" \t"); s != "" && strings.IndexByte(";\n}", s[0]) < 0 {
			return false
		}
	}
}

// sedScript is what is left of a script.
type sedScript string

func (s sedScript) skip(chars string) sedScript {
	return sedScript(strings.TrimLeft(string(s), chars))
}

// addresses takes the lines off that a command is for: 3, $, /re/, 1~2, 3,/re/, !.
func (s sedScript) addresses() (sedScript, bool) {
	s, ok := s.address("")
	if !ok {
		return s, false
	}
	if s = s.skip(" \t"); s != "" && s[0] == ',' {
		if s, ok = s[1:].skip(" \t").address("+~"); !ok {
			return s, false
		}
	}
	return s.skip(" \t!"), true
}

func (s sedScript) address(signs string) (sedScript, bool) {
	switch {
	case s == "":
		return s, true
	case s[0] == '$':
		return s[1:], true
	case s[0] == '/':
		rest, ok := s[1:].section('/', true)
		return rest.skip("I"), ok
	}
	s = s.skip(signs).skip("0123456789")
	if s != "" && s[0] == '~' {
		s = s[1:].skip("0123456789")
	}
	return s, true
}

// section takes text up to and with the delimiter off. Versions of sed do not
// agree on a delimiter in brackets: that is not understood.
func (s sedScript) section(delimiter byte, re bool) (sedScript, bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == delimiter:
			return s[i+1:], true
		case s[i] == '\n':
			return s, false
		case s[i] == '\\':
			i++
			if i < len(s) && s[i] == '\n' {
				return s, false
			}
		case s[i] == '[' && re && strings.IndexByte(string(s[i:i+bracket(s[i:])]), delimiter) >= 0:
			return s, false
		}
	}
	return s, false
}

// bracket is the length of a set of characters by the reading that makes it
// longest: "]" is one of them at the beginning, behind a backslash and in a class.
func bracket(s sedScript) int {
	i := 1
	for i < len(s) && (s[i] == '^' || s[i] == ']') {
		i++
	}
	for ; i < len(s) && s[i] != ']'; i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			end := strings.Index(string(s[i+2:]), string(s[i+1])+"]")
			if end < 0 {
				return len(s)
			}
			i += end + 3
		}
	}
	return min(i, len(s))
}

// substitution takes the rest of s/a/b/flags or y/a/b/ off. The flags e, which
// runs the text, and w, which writes it, are not among those that are understood.
func (s sedScript) substitution(flags bool) (sedScript, bool) {
	if s == "" || strings.IndexByte("\\\n; ", s[0]) >= 0 {
		return s, false
	}
	delimiter := s[0]
	s, ok := s[1:].section(delimiter, true)
	if ok {
		s, ok = s.section(delimiter, false)
	}
	if flags {
		s = s.skip("gpiI0123456789")
	}
	return s, ok
}
