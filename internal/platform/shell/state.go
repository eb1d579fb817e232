package shell

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// state is what outlives a shell: its folder and its exported variables.
type state struct {
	dir     string
	lost    bool     // the shell is in a folder that is no more; dir is where it was before
	away    bool     // the shell has to go to dir before the next command
	exports string   // what "export -p" printed; "" is nothing yet
	sandbox []string // of the variables, those that the sandbox had set
}

// after is the state after a command that left n.
func (s state) after(n state) state {
	if n.dir == "" {
		n.dir, n.lost = s.dir, true
	}
	if n.exports == "" {
		n.exports, n.sandbox = s.exports, s.sandbox
	}
	return n
}

// environ is the environment in the state: base if there was no shell yet, or if
// what it printed cannot be read.
func (s state) environ(base []string) []string {
	if s.exports == "" {
		return base
	}
	env, err := parseExports(s.exports)
	if err != nil {
		return base
	}
	return env
}

// parseExports reads what "export -p" prints: lines like
//
//	declare -x NAME="value"
//	export NAME='value'
//
// in the quoting of the shell. Values are bytes; a shell does not care for UTF-8,
// and neither may this. Names without a value and the shell's own variables are
// left out.
func parseExports(text string) ([]string, error) {
	p := words{text: text}
	var env []string
	for p.skipBlank(); !p.end(); p.skipBlank() {
		var line []string
		for !p.end() && p.text[p.at] != '\n' {
			word, err := p.word()
			if err != nil {
				return nil, fmt.Errorf("read exported variables: %w", err)
			}
			line = append(line, word)
			p.skipSpace()
		}
		if !slices.Contains([]string{"declare", "export", "typeset"}, line[0]) {
			return nil, fmt.Errorf("read exported variables: a line begins with %.20q", line[0])
		}
		for _, word := range line[1:] {
			name, _, ok := strings.Cut(word, "=")
			if ok && variableName().MatchString(name) && !slices.Contains(transient, name) {
				env = append(env, word)
			}
		}
	}
	return env, nil
}

// transient are the variables that a shell sets itself, or that belong to the
// protocol.
var transient = []string{"_", "_burin", "PWD", "OLDPWD", "SHLVL"}

// words takes the words of shell text in which nothing is expanded.
type words struct {
	text string
	at   int
}

var errQuote = errors.New("a quote does not end")

func (p *words) end() bool { return p.at >= len(p.text) }

func (p *words) skip(set string) {
	for !p.end() && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *words) skipBlank() { p.skip(" \t\n") }
func (p *words) skipSpace() { p.skip(" \t") }

// word takes a word: pieces in quotes and without.
func (p *words) word() (string, error) {
	var b []byte
	for !p.end() {
		c := p.text[p.at]
		p.at++
		var ok bool
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			p.at--
			return string(b), nil
		case c == '\'':
			b, ok = p.until(b, '\'', nil)
		case c == '"':
			b, ok = p.until(b, '"', unescapeDouble)
		case c == '$' && strings.HasPrefix(p.text[p.at:], "'"):
			p.at++
			b, ok = p.until(b, '\'', unescapeDollar)
		case c == '\\' && !p.end():
			b, ok = append(b, p.text[p.at]), true
			p.at++
		default:
			b, ok = append(b, c), true
		}
		if !ok {
			return "", errQuote
		}
	}
	return string(b), nil
}

// until takes what is before the next quote. unescape takes a backslash sequence
// from the beginning of a text; nil is for quotes in which there is none.
func (p *words) until(b []byte, quote byte, unescape func(b []byte, s string) ([]byte, int)) ([]byte, bool) {
	for !p.end() {
		c := p.text[p.at]
		if c == quote {
			p.at++
			return b, true
		}
		if c == '\\' && unescape != nil && p.at+1 < len(p.text) {
			var n int
			b, n = unescape(b, p.text[p.at+1:])
			p.at += 1 + n
			continue
		}
		b = append(b, c)
		p.at++
	}
	return b, false
}

// unescapeDouble appends what a backslash and s stand for in double quotes, and
// says how much of s that is.
func unescapeDouble(b []byte, s string) ([]byte, int) {
	if strings.IndexByte("\\\"$`", s[0]) < 0 {
		b = append(b, '\\')
	}
	return append(b, s[0]), 1
}

// unescapeDollar does so in $'…'.
func unescapeDollar(b []byte, s string) ([]byte, int) {
	const letters, values = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
	if i := strings.IndexByte(letters, s[0]); i >= 0 {
		return append(b, values[i]), 1
	}
	digits, base := 0, 8
	switch s[0] {
	case 'x':
		digits, base, s = 2, 16, s[1:]
	case 'u':
		digits, base, s = 4, 16, s[1:]
	case 'U':
		digits, base, s = 8, 16, s[1:]
	case '0', '1', '2', '3', '4', '5', '6', '7':
		digits = 3
	default:
		return append(b, '\\', s[0]), 1
	}
	n := 0
	var value uint64
	for n < digits && n < len(s) {
		d, err := strconv.ParseUint(s[n:n+1], base, 8)
		if err != nil {
			break
		}
		value, n = value*uint64(base)+d, n+1
	}
	switch digits {
	case 3:
		return append(b, byte(value)), n
	case 2:
		return append(b, byte(value)), n + 1
	}
	return utf8.AppendRune(b, rune(value)), n + 1
}
