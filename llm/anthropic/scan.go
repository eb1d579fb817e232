package anthropic

import (
	"github.com/burin-dev/burin/internal/jsontext"
)

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
type scanner struct{ jsontext.Reader }

// delta reads one event. ok is false when it is left to the JSON decoder. The
// text is valid until the next call.
func (s *scanner) delta(data []byte) (kind deltaKind, index int, text []byte, ok bool) {
	s.Reset(data)
	named := false
	ok = s.Object(func(key []byte) bool {
		ok := false
		switch string(key) {
		case "type":
			var v []byte
			v, ok = s.Plain()
			named = ok && string(v) == "content_block_delta"
			return named
		case "index":
			index, ok = s.Count()
		case "delta":
			if kind == 0 { // a second one is for the JSON decoder
				kind, text, ok = s.piece()
			}
		}
		return ok
	})
	if !ok || !s.End() || !named || kind == 0 {
		return 0, 0, nil, false
	}
	return kind, index, text, true
}

// piece reads the delta object.
func (s *scanner) piece() (kind deltaKind, text []byte, ok bool) {
	var under deltaKind // whose key the text stood under
	ok = s.Object(func(key []byte) bool {
		if string(key) == "type" {
			v, ok := s.Plain()
			kind = kindOf(v)
			return ok && kind != 0
		}
		if under != 0 {
			return false
		}
		switch string(key) {
		case "text":
			under = textDelta
		case "thinking":
			under = thinkingDelta
		case "partial_json":
			under = inputDelta
		default:
			return false
		}
		var ok bool
		text, ok = s.String()
		return ok
	})
	return kind, text, ok && kind != 0 && kind == under
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
