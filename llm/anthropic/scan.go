package anthropic

import "bytes"

// deltaKind is the kind of a piece that the scanner reads.
type deltaKind uint8

const (
	textDelta deltaKind = iota + 1
	thinkingDelta
	inputDelta
)

// scanner reads the events that make up nearly all of a stream, pieces of text,
// reasoning and input, without reflection and without allocating. Whatever it
// does not know (other events, other keys, \u escapes) it leaves to the JSON
// decoder.
type scanner struct {
	in  []byte
	at  int
	buf []byte // unescaped text
}

// delta reads one event. ok is false when it is left to the JSON decoder. The
// text is valid until the next call.
func (s *scanner) delta(data []byte) (kind deltaKind, index int, text []byte, ok bool) {
	s.in, s.at = data, 0
	fail := func() (deltaKind, int, []byte, bool) { return 0, 0, nil, false }
	if !s.take('{') {
		return fail()
	}
	named := false
	for more := true; more; more = s.take(',') {
		key, ok := s.key()
		if !ok {
			return fail()
		}
		switch string(key) {
		case "type":
			var v []byte
			v, named = s.plain()
			named = named && string(v) == "content_block_delta"
			ok = named
		case "index":
			index, ok = s.number()
		case "delta":
			ok = kind == 0 // a second one is for the JSON decoder
			if ok {
				kind, text, ok = s.piece()
			}
		default:
			ok = false
		}
		if !ok {
			return fail()
		}
	}
	if !s.take('}') || !s.end() || !named || kind == 0 {
		return fail()
	}
	return kind, index, text, true
}

// piece reads the delta object.
func (s *scanner) piece() (kind deltaKind, text []byte, ok bool) {
	var under deltaKind // whose key the text stood under
	if !s.take('{') {
		return 0, nil, false
	}
	for more := true; more; more = s.take(',') {
		key, ok := s.key()
		if !ok {
			return 0, nil, false
		}
		if string(key) == "type" {
			v, ok := s.plain()
			if kind = kindOf(v); !ok || kind == 0 {
				return 0, nil, false
			}
			continue
		}
		if under != 0 {
			return 0, nil, false
		}
		switch string(key) {
		case "text":
			under = textDelta
		case "thinking":
			under = thinkingDelta
		case "partial_json":
			under = inputDelta
		default:
			return 0, nil, false
		}
		if text, ok = s.str(); !ok {
			return 0, nil, false
		}
	}
	return kind, text, s.take('}') && kind != 0 && kind == under
}

func kindOf(name []byte) deltaKind {
	switch string(name) {
	case "text_delta":
		return textDelta
	case "thinking_delta":
		return thinkingDelta
	case "input_json_delta":
		return inputDelta
	}
	return 0
}

// key reads the key of a member and its colon.
func (s *scanner) key() ([]byte, bool) {
	key, ok := s.plain()
	return key, ok && s.take(':')
}

// end says whether only space is left.
func (s *scanner) end() bool {
	s.space()
	return s.at == len(s.in)
}

func (s *scanner) space() {
	for s.at < len(s.in) && (s.in[s.at] == ' ' || s.in[s.at] == '\n' || s.in[s.at] == '\t' || s.in[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if s.at < len(s.in) && s.in[s.at] == c {
		s.at++
		return true
	}
	return false
}

// plain reads a string without escapes.
func (s *scanner) plain() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	end := bytes.IndexByte(s.in[s.at:], '"')
	if end < 0 {
		return nil, false
	}
	v := s.in[s.at : s.at+end]
	s.at += end + 1
	return v, bytes.IndexByte(v, '\\') < 0
}

// str reads a string.
func (s *scanner) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	s.buf = s.buf[:0]
	from := s.at
	for i := s.at; i < len(s.in); i++ {
		c := s.in[i]
		switch {
		case c == '"':
			s.at = i + 1
			if len(s.buf) == 0 {
				return s.in[from:i:i], true
			}
			s.buf = append(s.buf, s.in[from:i]...)
			return s.buf, true
		case c == '\\':
			i++
			if i == len(s.in) {
				return nil, false
			}
			r := unescaped(s.in[i])
			if r == 0 {
				return nil, false
			}
			s.buf = append(append(s.buf, s.in[from:i-1]...), r)
			from = i + 1
		case c < 0x20:
			return nil, false
		}
	}
	return nil, false
}

// unescaped is what \c stands for; 0 where the JSON decoder must look.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

// number reads a small whole number.
func (s *scanner) number() (int, bool) {
	s.space()
	n, from := 0, s.at
	for s.at < len(s.in) && s.at-from < 9 && '0' <= s.in[s.at] && s.in[s.at] <= '9' {
		n = n*10 + int(s.in[s.at]-'0')
		s.at++
	}
	digits := s.at - from
	return n, digits == 1 || digits > 1 && s.in[from] != '0'
}
