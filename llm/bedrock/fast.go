package bedrock

import (
	"bytes"
	"unicode/utf8"
)

// plain is a delta of text, reasoning or tool input without escapes.
type plain struct {
	index int
	kind  blockKind
	text  []byte // of the frame
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
// where p is padding and may be missing. ok is false for anything that is
// written in another way; the decoder then reads it.
func plainDelta(data []byte) (p plain, ok bool) {
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
		end := plainString(text)
		if end < 0 {
			return p, false
		}
		tail, ok := bytes.CutPrefix(text[end:], []byte(k.close))
		if !ok || !padding(tail) {
			return p, false
		}
		p.kind, p.text = k.kind, text[:end]
		return p, true
	}
	return p, false
}

// plainString is the length of the string that s begins with, up to its closing
// quote; -1 if it holds escapes or what JSON does not allow.
func plainString(s []byte) int {
	end := bytes.IndexByte(s, '"')
	if end < 0 || bytes.IndexByte(s[:end], '\\') >= 0 {
		return -1
	}
	for _, c := range s[:end] {
		if c < 0x20 {
			return -1
		}
	}
	if !utf8.Valid(s[:end]) {
		return -1
	}
	return end
}

// padding says whether s is the end of an event, with or without padding.
func padding(s []byte) bool {
	s, padded := bytes.CutPrefix(s, []byte(`,"p":"`))
	if !padded {
		return string(s) == "}"
	}
	end := plainString(s)
	return end >= 0 && string(s[end:]) == `"}`
}
