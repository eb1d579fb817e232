package pdf

import (
	"errors"
	"math"
	"strconv"
)

// An object is nil, bool, int, float64, name, text, array, dict, ref, *stream or,
// in content streams, operator.
type object any

type (
	name     string
	text     string // bytes of a string, decoded but not decrypted
	operator string
	array    []object
	dict     map[name]object
)

// ref points to an object of the file.
type ref struct{ num, gen int }

// stream is a dictionary with data, which stays where it is until it is wanted.
type stream struct {
	dict
	at  int64 // of the data, in the file
	own ref   // the object that holds it: its number is part of the key of encryption
}

var (
	errShort = errors.New("pdf: object ends beyond the data") // more data may help
	errDeep  = errors.New("pdf: objects too deep within each other")
)

const (
	maxDepth    = 100     // arrays and dictionaries within each other
	maxElements = 200_000 // of an array; more are left out
)

// lexer reads objects from data.
type lexer struct {
	data []byte
	pos  int
	// content streams have operators and no references
	content bool
	// whole says that nothing follows data, so that a word may end there
	whole bool
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case isSpace(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// next reads one object. At the end of the data it fails with errShort.
func (l *lexer) next() (object, error) { return l.object(0) }

// closing ends an array or a dictionary.
type closing byte

func (l *lexer) object(depth int) (object, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	l.skipSpace()
	if l.pos >= len(l.data) {
		return nil, errShort
	}
	switch c := l.data[l.pos]; c {
	case '/':
		return l.name()
	case '(':
		return l.literal()
	case '<':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '<' {
			l.pos += 2
			return l.dict(depth)
		}
		return l.hex()
	case '[':
		l.pos++
		return l.array(depth)
	case ']':
		l.pos++
		return closing(']'), nil
	case '>':
		l.pos++
		if l.pos < len(l.data) && l.data[l.pos] == '>' {
			l.pos++
		}
		return closing('>'), nil
	case ')', '{', '}':
		l.pos++
		return operator(c), nil
	}
	return l.word()
}

func (l *lexer) array(depth int) (object, error) {
	a := array{}
	for {
		o, err := l.object(depth + 1)
		if err != nil {
			return nil, err
		}
		switch o := o.(type) {
		case closing:
			return a, nil
		case operator:
			if !l.content && (o == "endobj" || o == "endstream") {
				return a, nil // it was never closed
			}
		default:
			if len(a) < maxElements {
				a = append(a, o)
			}
		}
	}
}

func (l *lexer) dict(depth int) (object, error) {
	d := dict{}
	for {
		key, err := l.object(depth + 1)
		if err != nil {
			return nil, err
		}
		switch k := key.(type) {
		case closing:
			return d, nil
		case operator:
			if k == "endobj" || k == "stream" || k == "endstream" {
				return d, nil
			}
		case name:
			v, err := l.object(depth + 1)
			if err != nil {
				return nil, err
			}
			switch v.(type) {
			case closing:
				return d, nil
			case operator:
			default:
				d[k] = v
			}
		}
	}
}

func (l *lexer) name() (object, error) {
	start := l.pos + 1
	end := start
	escaped := false
	for end < len(l.data) && !isSpace(l.data[end]) && !isDelimiter(l.data[end]) {
		escaped = escaped || l.data[end] == '#'
		end++
	}
	if end == len(l.data) && !l.whole {
		return nil, errShort
	}
	l.pos = end
	raw := l.data[start:end]
	if !escaped {
		return name(raw), nil
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if hi, lo := unhex(raw[i+1]), unhex(raw[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return name(out), nil
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func (l *lexer) literal() (object, error) {
	var out []byte
	open := 0
	for i := l.pos; i < len(l.data); i++ {
		switch c := l.data[i]; c {
		case '(':
			if open++; open > 1 {
				out = append(out, c)
			}
		case ')':
			if open--; open == 0 {
				l.pos = i + 1
				return text(out), nil
			}
			out = append(out, c)
		case '\r':
			out = append(out, '\n')
			if i+1 < len(l.data) && l.data[i+1] == '\n' {
				i++
			}
		case '\\':
			if i++; i >= len(l.data) {
				return nil, errShort
			}
			out, i = unescape(out, l.data, i)
		default:
			out = append(out, c)
		}
	}
	return nil, errShort
}

// unescape appends what the escape at data[i] means and says where it ends.
func unescape(out, data []byte, i int) ([]byte, int) {
	switch c := data[i]; c {
	case 'n':
		return append(out, '\n'), i
	case 'r':
		return append(out, '\r'), i
	case 't':
		return append(out, '\t'), i
	case 'b':
		return append(out, '\b'), i
	case 'f':
		return append(out, '\f'), i
	case '\n':
		return out, i
	case '\r':
		if i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		return out, i
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 0
		for end := min(i+3, len(data)); i < end && data[i] >= '0' && data[i] <= '7'; i++ {
			n = n<<3 | int(data[i]-'0')
		}
		return append(out, byte(n)), i - 1
	default:
		return append(out, c), i
	}
}

func (l *lexer) hex() (object, error) {
	var out []byte
	half := -1
	for i := l.pos + 1; i < len(l.data); i++ {
		c := l.data[i]
		if c == '>' {
			if half >= 0 {
				out = append(out, byte(half<<4))
			}
			l.pos = i + 1
			return text(out), nil
		}
		n := unhex(c)
		switch {
		case n < 0:
		case half < 0:
			half = n
		default:
			out = append(out, byte(half<<4|n))
			half = -1
		}
	}
	return nil, errShort
}

// word reads a number, a reference, a constant or an operator.
func (l *lexer) word() (object, error) {
	start := l.pos
	for l.pos < len(l.data) && !isSpace(l.data[l.pos]) && !isDelimiter(l.data[l.pos]) {
		l.pos++
	}
	if l.pos == len(l.data) && !l.whole {
		return nil, errShort
	}
	w := l.data[start:l.pos]
	if c := w[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if n, ok := number(w); ok {
			if num, isInt := n.(int); isInt && !l.content && num >= 0 {
				return l.reference(num)
			}
			return n, nil
		}
	}
	switch string(w) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	}
	return operator(w), nil
}

// reference looks whether num begins "num gen R".
func (l *lexer) reference(num int) (object, error) {
	back := l.pos
	l.skipSpace()
	start := l.pos
	for l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '9' && l.pos-start < 6 {
		l.pos++
	}
	gen, err := strconv.Atoi(string(l.data[start:l.pos]))
	l.skipSpace()
	if l.pos >= len(l.data) && !l.whole {
		return nil, errShort
	}
	if err == nil && l.pos < len(l.data) && l.data[l.pos] == 'R' &&
		(l.pos+1 >= len(l.data) || isSpace(l.data[l.pos+1]) || isDelimiter(l.data[l.pos+1])) {
		l.pos++
		return ref{num, gen}, nil
	}
	l.pos = back
	return num, nil
}

// number reads a number as readers in the field do: signs may be doubled, what
// follows a second point or sign is left out.
func number(w []byte) (object, bool) {
	i, negative := 0, false
	for i < len(w) && (w[i] == '-' || w[i] == '+') {
		negative = negative || w[i] == '-'
		i++
	}
	var v, scale float64 = 0, 0
	digits := 0
	for ; i < len(w); i++ {
		c := w[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
			v = v*10 + float64(c-'0')
			scale *= 10
		case c == '.' && scale == 0:
			scale = 1
		case c == '-' || c == '.':
			i = len(w)
		default:
			return nil, false
		}
	}
	if digits == 0 {
		return nil, false
	}
	if negative {
		v = -v
	}
	if scale == 0 && math.Abs(v) < 1<<53 {
		return int(v), true
	}
	if scale > 1 {
		v /= scale
	}
	return v, true
}

// toInt is a number as a whole one; 0 if o is no number.
func toInt(o object) int {
	switch n := o.(type) {
	case int:
		return n
	case float64:
		if math.Abs(n) < 1<<53 {
			return int(n)
		}
	}
	return 0
}

// toFloat is a number; 0 if o is none, or none that a page can have.
func toFloat(o object) float64 {
	switch n := o.(type) {
	case int:
		return float64(n)
	case float64:
		if math.IsInf(n, 0) || math.IsNaN(n) {
			return 0
		}
		return n
	}
	return 0
}
