package sqlview

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

const maxNesting = 64

// member is a member of an object of JSON5.
type member struct {
	key    string
	value  any  // string, int64, float64, or nil; true and false are 1 and 0
	nested bool // it is an object or an array, which has been checked and left out
}

// json5 reads what https://spec.json5.org describes: JSON with comments, single
// quotes, plain keys, trailing commas and the numbers of JavaScript.
type json5 struct {
	s   string
	pos int
}

var errEnd = errors.New("it ends too early")

// parseObject reads an object and gives its members in order.
func parseObject(s string) ([]member, error) {
	p := &json5{s: strings.TrimPrefix(s, "\ufeff")}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.peek() != '{' {
		return nil, errors.New("it does not begin with {")
	}
	members, err := p.object(0)
	if err == nil {
		err = p.space()
	}
	if err == nil && p.pos < len(p.s) {
		err = fmt.Errorf("something follows the object: %q", prose.Clip(p.s[p.pos:], 20))
	}
	return members, err
}

// peek is the next byte, 0 at the end.
func (p *json5) peek() byte {
	if p.pos < len(p.s) {
		return p.s[p.pos]
	}
	return 0
}

// space passes over white space and comments.
func (p *json5) space() error {
	for p.pos < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.pos:])
		rest := p.s[p.pos:]
		switch {
		case unicode.IsSpace(r), r == '\ufeff':
			p.pos += n
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexAny(rest, "\n\r\u2028\u2029")
			if end < 0 {
				end = len(rest)
			}
			p.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return errors.New("a comment does not end")
			}
			p.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *json5) object(depth int) ([]member, error) {
	var members []member
	err := p.list('}', depth, func() error {
		key, err := p.key()
		if err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() != ':' {
			return fmt.Errorf("no colon after the key %q", key)
		}
		p.pos++
		m := member{key: key}
		if m.value, m.nested, err = p.value(depth + 1); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		members = append(members, m)
		return nil
	})
	return members, err
}

// list reads what stands between brackets, of which the first is next.
func (p *json5) list(end byte, depth int, item func() error) error {
	if depth > maxNesting {
		return fmt.Errorf("more than %d levels", maxNesting)
	}
	p.pos++
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == end {
			p.pos++
			return nil
		}
		if p.pos >= len(p.s) {
			return errEnd
		}
		if err := item(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.pos++
		case end:
		case 0:
			return errEnd
		default:
			return fmt.Errorf("neither a comma nor %c before %q", end, prose.Clip(p.s[p.pos:], 20))
		}
	}
}

func (p *json5) key() (string, error) {
	if c := p.peek(); c == '"' || c == '\'' {
		return p.text()
	}
	start := p.pos
	for p.pos < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.pos:])
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !(unicode.IsDigit(r) && p.pos > start) {
			break
		}
		p.pos += n
	}
	if p.pos == start {
		return "", fmt.Errorf("no key at %q", prose.Clip(p.s[p.pos:], 20))
	}
	return p.s[start:p.pos], nil
}

func (p *json5) value(depth int) (v any, nested bool, err error) {
	if err := p.space(); err != nil {
		return nil, false, err
	}
	switch c := p.peek(); {
	case c == '{':
		_, err = p.object(depth)
		return nil, true, err
	case c == '[':
		err = p.list(']', depth, func() error {
			_, _, err := p.value(depth + 1)
			return err
		})
		return nil, true, err
	case c == '"', c == '\'':
		v, err = p.text()
		return v, false, err
	case p.pos >= len(p.s):
		return nil, false, errEnd
	}
	start := p.pos
	for p.pos < len(p.s) && !strings.ContainsRune(",}] \t\r\n/:", rune(p.s[p.pos])) {
		p.pos++
	}
	v, err = constant(p.s[start:p.pos])
	return v, false, err
}

func constant(word string) (any, error) {
	switch word {
	case "null":
		return nil, nil
	case "true":
		return int64(1), nil
	case "false":
		return int64(0), nil
	}
	digits := strings.TrimLeft(word, "+-")
	sign := strings.TrimSuffix(word, digits)
	if len(sign) > 1 || digits == "" || !strings.Contains("0123456789.", digits[:1]) {
		return nil, fmt.Errorf("unknown value %q", prose.Clip(word, 40))
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		n, err := strconv.ParseInt(strings.TrimPrefix(sign, "+")+hex, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("number %q: SQLite stores 64 bits", prose.Clip(word, 40))
		}
		return n, nil
	}
	if strings.Trim(digits, "0123456789") == "" {
		n, err := strconv.ParseInt(strings.TrimPrefix(word, "+"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("number %q: SQLite stores 64 bits; write it as text", prose.Clip(word, 40))
		}
		return n, nil
	}
	if strings.Trim(digits, "0123456789.eE+-") != "" || len(digits) > 400 {
		return nil, fmt.Errorf("unknown value %q", prose.Clip(word, 40))
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(sign, "+")+digits, 64)
	if err != nil {
		return nil, fmt.Errorf("number %q is too large or cannot be read", prose.Clip(word, 40))
	}
	return n, nil
}

// text reads a text in quotes, of which the first is next.
func (p *json5) text() (string, error) {
	quote := p.peek()
	var b strings.Builder
	for p.pos++; p.pos < len(p.s); p.pos++ {
		switch c := p.s[p.pos]; c {
		case quote:
			p.pos++
			return b.String(), nil
		case '\\':
			p.pos++
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c) // lines may break in a text: the model meant it
		}
	}
	return "", errors.New("a text does not end")
}

// escape reads what follows a backslash, up to its last byte.
func (p *json5) escape(b *strings.Builder) error {
	r, n := utf8.DecodeRuneInString(p.s[p.pos:])
	p.pos += n - 1
	switch r {
	case 'n', 't', 'r', 'b', 'f', 'v':
		b.WriteByte(map[rune]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v'}[r])
	case '0':
		b.WriteByte(0)
	case '\r':
		if p.pos+1 < len(p.s) && p.s[p.pos+1] == '\n' {
			p.pos++
		}
	case '\n', '\u2028', '\u2029': // the line goes on
	case 'x':
		c, err := p.hex(2)
		b.WriteRune(c)
		return err
	case 'u':
		c, err := p.hex(4)
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(c) && strings.HasPrefix(p.s[p.pos+1:], `\u`) {
			p.pos += 2
			low, err := p.hex(4)
			if err != nil {
				return err
			}
			c = utf16.DecodeRune(c, low)
		}
		b.WriteRune(c)
	case utf8.RuneError:
		return errEnd
	default:
		b.WriteRune(r)
	}
	return nil
}

// hex reads digits behind the current byte.
func (p *json5) hex(digits int) (rune, error) {
	if p.pos+digits >= len(p.s) {
		return 0, errEnd
	}
	n, err := strconv.ParseUint(p.s[p.pos+1:p.pos+1+digits], 16, 32)
	if err != nil {
		return 0, fmt.Errorf(`wrong escape \%s`, p.s[p.pos:p.pos+1+digits])
	}
	p.pos += digits
	return rune(n), nil
}
