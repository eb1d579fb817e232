package command

import "strings"

// A set of options is a text of words: "-n: -k --kill-after: --arg:: --foreground".
// Each colon at the end stands for a value. "-#" is a number, as in head -5. A name
// with one dash and several letters is an option of the kind that Go's programs
// take.

// lookup finds an option in a set and the number of its values; -1 if it is not
// there.
func lookup(set, name string) int {
	for rest := set; rest != ""; {
		var o string
		o, rest, _ = strings.Cut(rest, " ")
		if len(o) < len(name) || o[:len(name)] != name {
			continue
		}
		switch o[len(name):] {
		case "":
			return 0
		case ":":
			return 1
		case "::":
			return 2
		}
	}
	return -1
}

// scanned is a list of arguments sorted into options and operands.
type scanned struct {
	operands []Word
	options  []option
	rest     []Word // from the first operand on, if the scan stopped there
	bad      string // the first argument that does not fit the set; empty: all do
}

type option struct {
	name  string
	value Word
	set   bool // it has a value
}

func (s *scanned) has(names ...string) bool {
	for _, o := range s.options {
		for _, n := range names {
			if o.name == n {
				return true
			}
		}
	}
	return false
}

// scan sorts args by the options of set. With stop it ends at the first operand,
// as programs do that start another one.
func scan(set string, args []Word, stop bool) scanned {
	var s scanned
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.Exact && a.Text == "--":
			if stop {
				s.rest = args[i+1:]
			}
			s.operands = append(s.operands, args[i+1:]...)
			return s
		case !a.mayBeOption():
			if stop {
				s.rest = args[i:]
				return s
			}
			s.operands = append(s.operands, a)
			continue
		}
		values := s.option(set, a)
		if values < 0 || i+values >= len(args) {
			s.bad = a.Source
			return s
		}
		for ; values > 0; values-- {
			i++
			last := s.options[len(s.options)-1]
			if last.set {
				s.options = append(s.options, option{name: last.name})
			}
			s.options[len(s.options)-1].value, s.options[len(s.options)-1].set = args[i], true
		}
	}
	return s
}

// option takes one argument that may be an option. It returns how many of the
// next arguments are its values; -1 if it is none of the set.
func (s *scanned) option(set string, a Word) int {
	name, val, has := strings.Cut(a.Text, "=")
	if !a.Exact && (!a.glob || !has || !strings.HasPrefix(name, "--")) {
		return -1 // it may be any option; --include=*.go is this one
	}
	values := lookup(set, name)
	if values >= 0 && (strings.HasPrefix(name, "--") || len(name) > 2 || !has) {
		v := a
		v.Text = val
		s.options = append(s.options, option{name, v, has})
		if has {
			return 0
		}
		return values
	}
	if strings.HasPrefix(name, "--") || !a.Exact {
		return -1
	}
	return s.letters(set, a)
}

// letters takes options of one letter each that are written together.
func (s *scanned) letters(set string, a Word) int {
	for i := 1; i < len(a.Text); i++ {
		c := a.Text[i : i+1]
		if c >= "0" && c <= "9" && lookup(set, "-#") >= 0 {
			continue
		}
		values := lookup(set, "-"+c)
		if values < 0 {
			return -1
		}
		rest := a.Text[i+1:]
		s.options = append(s.options, option{"-" + c, Word{Text: rest, Exact: true, Source: a.Source}, values > 0 && rest != ""})
		if values > 0 {
			if rest != "" {
				values--
			}
			return values
		}
	}
	return 0
}

// optional reports whether an argument may be the option with that name, written
// out or cut short as GNU programs allow, alone or among other letters.
func optional(a Word, name string) bool {
	if !a.mayBeOption() {
		return false
	}
	if !a.Exact {
		return true
	}
	given, _, _ := strings.Cut(a.Text, "=")
	switch {
	case strings.HasPrefix(name, "--"):
		return len(given) > 2 && strings.HasPrefix(name, given)
	case len(name) == 2: // one letter
		return !strings.HasPrefix(a.Text, "--") && strings.Contains(given[1:], name[1:])
	}
	return strings.TrimLeft(given, "-") == name[1:]
}
