package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// ArgsState says how far the arguments of a call could be read.
type ArgsState string

const (
	ArgsComplete ArgsState = "complete" // a JSON object, as written
	ArgsRepaired ArgsState = "repaired" // an object after a repair that can't change its meaning
	ArgsPartial  ArgsState = "partial"  // the start of an object; for display, never run
	ArgsInvalid  ArgsState = "invalid"  // not an object
)

// Object reads the arguments as a JSON object. err is nil exactly if the call may run; the
// state is then ArgsComplete or ArgsRepaired. A defect of the call, a cut text, or anything
// that is not an object is an error whose text can be returned to the model; it never silently
// becomes an empty object. A call that ended properly without any text has no arguments: {}.
func (c ToolCall) Object() (json.RawMessage, ArgsState, error) {
	switch c.Defect {
	case "":
	case DefectCut:
		return nil, ArgsPartial, fmt.Errorf("the call of %s was cut before its arguments were complete; it did not run", c.Name)
	default:
		return nil, ArgsInvalid, fmt.Errorf("the arguments of the call of %s are corrupt (%s); it did not run", c.Name, c.Defect)
	}
	return ParseObject(c.Arguments)
}

// ParseObject reads text as one JSON object. If strict parsing fails, it tries two repairs
// that can't change the meaning: it escapes raw control characters inside strings, and keeps a
// backslash that starts no legal escape as a literal backslash. It guesses nothing else.
func ParseObject(text string) (json.RawMessage, ArgsState, error) {
	t := strings.TrimSpace(text)
	if t == "" {
		return json.RawMessage("{}"), ArgsComplete, nil
	}
	if t[0] != '{' {
		return nil, ArgsInvalid, fmt.Errorf("the arguments are not a JSON object: they begin with %q", prose.Clip(t, 20))
	}
	err := checkJSON([]byte(t))
	if err == nil {
		return json.RawMessage(t), ArgsComplete, nil
	}
	fixed := repairStrings(t)
	if fixed != t && json.Valid([]byte(fixed)) {
		return json.RawMessage(fixed), ArgsRepaired, nil
	}
	var p PartialJSON
	p.Write(fixed)
	if p.Broken() == nil && !p.Complete() {
		return nil, ArgsPartial, errors.New("the arguments end before the JSON object does")
	}
	return nil, ArgsInvalid, fmt.Errorf("the arguments are not valid JSON: %w", err)
}

// checkJSON is json.Valid with a reason.
func checkJSON(b []byte) error {
	if json.Valid(b) {
		return nil
	}
	var v json.RawMessage
	if err := json.Unmarshal(b, &v); err != nil {
		var syn *json.SyntaxError
		if errors.As(err, &syn) {
			at := max(int(syn.Offset)-1, 0)
			return fmt.Errorf("%s at byte %d, near %q", strings.ToLower(syn.Error()), syn.Offset, prose.Clip(string(b[max(at-10, 0):]), 24))
		}
		return err
	}
	return nil
}

// repairStrings escapes raw control characters and lone backslashes inside
// string literals.
func repairStrings(s string) string {
	var out strings.Builder
	in := false
	last := 0
	flush := func(to int, repl string, next int) {
		out.WriteString(s[last:to])
		out.WriteString(repl)
		last = next
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case !in:
			in = c == '"'
		case c == '"':
			in = false
		case c == '\\':
			if i+1 < len(s) && legalEscape(s[i+1:]) {
				i++
				continue
			}
			flush(i, `\\`, i+1)
		case c == '\n':
			flush(i, `\n`, i+1)
		case c == '\r':
			flush(i, `\r`, i+1)
		case c == '\t':
			flush(i, `\t`, i+1)
		case c < 0x20:
			flush(i, fmt.Sprintf(`\u%04x`, c), i+1)
		}
	}
	if last == 0 {
		return s
	}
	out.WriteString(s[last:])
	return out.String()
}

// legalEscape reports whether s starts with what may follow a backslash.
func legalEscape(s string) bool {
	switch s[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if len(s) < 5 {
			return false
		}
		for _, c := range []byte(s[1:5]) {
			if !isHex(c) {
				return false
			}
		}
		return true
	}
	return false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// PartialJSON reads a JSON value as it arrives. It looks at each byte once, so the work per
// delta does not grow with the length of the value. The zero value is ready to use.
//
// It is for display. [ToolCall.Object] decides on the complete text what runs.
type PartialJSON struct {
	buf    []byte
	stack  []byte // '{' or '[' of the open containers
	state  scanState
	escape int    // inside an escape: bytes still expected; -1 is the byte after the backslash
	lit    string // rest of the literal being read
	key    bool   // the string being read is an object key
	num    numState
	safe   int // buf[:safe] plus closers is a valid value
	depth  int // length of stack at safe
	broken error
}

type scanState uint8

const (
	wantValue        scanState = iota
	wantValueOrClose           // just after '['
	wantKeyOrClose             // just after '{'
	wantKey                    // after ',' in an object
	wantColon
	afterValue
	inString
	inLiteral
	inNumber
)

type numState uint8

const (
	numSign numState = iota
	numZero
	numInt
	numDot
	numFrac
	numExp
	numExpSign
	numExpDigits
)

func (n numState) complete() bool {
	return n == numZero || n == numInt || n == numFrac || n == numExpDigits
}

// Write adds a piece of the text. After the first byte that can't be JSON it ignores the rest,
// and Broken says why.
func (p *PartialJSON) Write(s string) {
	if p.broken != nil {
		return
	}
	for i := 0; i < len(s); i++ {
		if p.state == inString && p.escape == 0 { // fast path over plain characters
			j := i
			for j < len(s) && s[j] != '"' && s[j] != '\\' && s[j] >= 0x20 {
				j++
			}
			if j > i {
				p.buf = append(p.buf, s[i:j]...)
				i = j
				if i == len(s) {
					return
				}
			}
		}
		if !p.step(s[i]) {
			p.broken = fmt.Errorf("unexpected %q at byte %d", s[i], len(p.buf)+1)
			return
		}
	}
}

// Broken says why the text can't be JSON, or is nil.
func (p *PartialJSON) Broken() error { return p.broken }

// Complete reports whether a whole value has arrived.
func (p *PartialJSON) Complete() bool {
	return p.broken == nil && len(p.stack) == 0 &&
		(p.state == afterValue || p.state == inNumber && p.num.complete())
}

// step consumes one byte and reports whether it is allowed there.
func (p *PartialJSON) step(c byte) bool {
	if p.state == inNumber {
		if next, ok := p.num.next(c); ok {
			p.num = next
			p.put(c)
			if next.complete() {
				p.mark()
			}
			return true
		}
		if !p.num.complete() {
			return false
		}
		p.state = afterValue
	}
	switch p.state {
	case inString:
		return p.stepString(c)
	case inLiteral:
		if p.lit[0] != c {
			return false
		}
		p.lit = p.lit[1:]
		p.put(c)
		if p.lit == "" {
			p.endValue()
		}
		return true
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		p.put(c)
		return true
	}
	switch p.state {
	case wantValue, wantValueOrClose:
		if c == ']' && p.state == wantValueOrClose {
			return p.close(c)
		}
		return p.beginValue(c)
	case wantKeyOrClose, wantKey:
		if c == '}' && p.state == wantKeyOrClose {
			return p.close(c)
		}
		if c != '"' {
			return false
		}
		p.state, p.key = inString, true
		p.put(c)
		return true
	case wantColon:
		if c != ':' {
			return false
		}
		p.state = wantValue
		p.put(c)
		return true
	}
	// afterValue
	if len(p.stack) == 0 {
		return false
	}
	top := p.stack[len(p.stack)-1]
	switch c {
	case ',':
		p.state = wantValue
		if top == '{' {
			p.state = wantKey
		}
		p.put(c)
		return true
	case '}', ']':
		return p.close(c)
	}
	return false
}

func (p *PartialJSON) beginValue(c byte) bool {
	switch {
	case c == '{':
		p.stack = append(p.stack, c)
		p.state = wantKeyOrClose
		p.put(c)
		p.mark()
	case c == '[':
		p.stack = append(p.stack, c)
		p.state = wantValueOrClose
		p.put(c)
		p.mark()
	case c == '"':
		p.state, p.key = inString, false
		p.put(c)
	case c == 't':
		p.state, p.lit = inLiteral, "rue"
		p.put(c)
	case c == 'f':
		p.state, p.lit = inLiteral, "alse"
		p.put(c)
	case c == 'n':
		p.state, p.lit = inLiteral, "ull"
		p.put(c)
	case c == '-':
		p.state, p.num = inNumber, numSign
		p.put(c)
	case c == '0':
		p.state, p.num = inNumber, numZero
		p.put(c)
		p.mark()
	case '1' <= c && c <= '9':
		p.state, p.num = inNumber, numInt
		p.put(c)
		p.mark()
	default:
		return false
	}
	return true
}

func (p *PartialJSON) stepString(c byte) bool {
	switch {
	case p.escape == -1:
		switch c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			p.escape = 0
		case 'u':
			p.escape = 4
		default:
			return false
		}
	case p.escape > 0:
		if !isHex(c) {
			return false
		}
		p.escape--
	case c == '\\':
		p.escape = -1
	case c == '"':
		p.put(c)
		if p.key {
			p.state = wantColon
			return true
		}
		p.endValue()
		return true
	case c < 0x20:
		return false
	}
	p.put(c)
	return true
}

func (n numState) next(c byte) (numState, bool) {
	digit := '0' <= c && c <= '9'
	switch n {
	case numSign:
		if c == '0' {
			return numZero, true
		}
		return numInt, digit
	case numZero, numInt:
		switch {
		case digit && n == numInt:
			return numInt, true
		case c == '.':
			return numDot, true
		case c == 'e' || c == 'E':
			return numExp, true
		}
	case numDot, numFrac:
		switch {
		case digit:
			return numFrac, true
		case n == numFrac && (c == 'e' || c == 'E'):
			return numExp, true
		}
	case numExp:
		if c == '+' || c == '-' {
			return numExpSign, true
		}
		return numExpDigits, digit
	case numExpSign, numExpDigits:
		return numExpDigits, digit
	}
	return n, false
}

func (p *PartialJSON) close(c byte) bool {
	top := p.stack[len(p.stack)-1]
	if c == '}' && top != '{' || c == ']' && top != '[' {
		return false
	}
	p.stack = p.stack[:len(p.stack)-1]
	p.put(c)
	p.endValue()
	return true
}

func (p *PartialJSON) put(c byte) { p.buf = append(p.buf, c) }

func (p *PartialJSON) endValue() {
	p.state = afterValue
	p.mark()
}

// mark records that the text up to here can be closed into a value.
func (p *PartialJSON) mark() { p.safe, p.depth = len(p.buf), len(p.stack) }

// Value returns the value received so far, closed so that it is valid JSON: an incomplete
// string ends where it is, an object loses a key without a value. It is nil until the first
// byte of a value has arrived. Each call copies the text.
func (p *PartialJSON) Value() json.RawMessage {
	out := bytes.NewBuffer(make([]byte, 0, len(p.buf)+len(p.stack)+1))
	depth := p.depth
	if p.state == inString && !p.key && p.broken == nil {
		out.Write(wholeString(p.buf))
		out.WriteByte('"')
		depth = len(p.stack)
	} else {
		if p.safe == 0 {
			return nil
		}
		out.Write(p.buf[:p.safe])
	}
	for i := depth - 1; i >= 0; i-- {
		if p.stack[i] == '{' {
			out.WriteByte('}')
		} else {
			out.WriteByte(']')
		}
	}
	return out.Bytes()
}

// wholeString drops an unfinished escape or character from the end of b, which
// ends inside a string literal.
func wholeString(b []byte) []byte {
	// An escape has at most six bytes: look back for the backslash that starts one.
	for n := 1; n <= 5 && n <= len(b); n++ {
		if b[len(b)-n] != '\\' {
			continue
		}
		slashes := 0
		for i := len(b) - n; i >= 0 && b[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 && (n == 1 || b[len(b)-n+1] == 'u') {
			b = b[:len(b)-n]
		}
		break
	}
	if n := incompleteSuffix(string(b[max(len(b)-4, 0):])); n > 0 {
		b = b[:len(b)-n]
	}
	return b
}
