package bedrock

import (
	"bytes"

	"github.com/burin-dev/burin/internal/jsontext"
)

// plain is a delta of text, reasoning or tool input.
type plain struct {
	index int
	kind  blockKind
	text  []byte // of the frame, or of the buffer for strings with escapes
}

var deltaKinds = [...]struct {
	kind         blockKind
	begin, close string
}{
	{textKind, `"text":"`, `"}`},
	{thinkingKind, `"reasoningContent":{"text":"`, `"}}`},
	{callKind, `"toolUse":{"input":"`, `"}}`},
}

// plainDelta reads the deltas that make up nearly all of a stream without a
// JSON decoder:
//
//	{"contentBlockIndex":0,"delta":{"text":"…"},"p":"abc"}
//
// where p is padding and may be missing. Text with escapes is written over buf, which may
// grow. ok is false for anything that is written in another way; the decoder then reads it.
func plainDelta(data []byte, buf *[]byte) (p plain, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"contentBlockIndex":`))
	if !ok {
		return p, false
	}
	digits := 0
	for digits < len(rest) && digits < 6 && '0' <= rest[digits] && rest[digits] <= '9' {
		p.index = p.index*10 + int(rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > 1 && rest[0] == '0' {
		return p, false
	}
	if rest, ok = bytes.CutPrefix(rest[digits:], []byte(`,"delta":{`)); !ok {
		return p, false
	}
	for i := range deltaKinds {
		k := &deltaKinds[i]
		text, ok := bytes.CutPrefix(rest, []byte(k.begin))
		if !ok {
			continue
		}
		end := jsontext.End(text)
		if end < 0 {
			return p, false
		}
		tail, ok := bytes.CutPrefix(text[end:], []byte(k.close))
		if !ok || !padding(tail) {
			return p, false
		}
		p.kind = k.kind
		p.text, *buf, ok = jsontext.Unquote(*buf, text[:end])
		return p, ok
	}
	return p, false
}

// padding reports whether s is the end of an event, with or without padding.
func padding(s []byte) bool {
	s, padded := bytes.CutPrefix(s, []byte(`,"p":"`))
	if !padded {
		return string(s) == "}"
	}
	return string(s[jsontext.Plain(s):]) == `"}`
}
