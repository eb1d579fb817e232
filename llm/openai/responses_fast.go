package openai

import (
	"bytes"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// Nearly all events of an answer are deltas: a flat object of strings and small
// numbers. They are read without encoding/json, which costs several times as
// much. Whatever is not of that shape goes the ordinary way.

// respDelta is a delta event as it lies in the frame. Strings are without their
// quotes and still escaped.
type respDelta struct {
	kind, itemID, delta []byte
	output              int // -1 where missing
	content, summary    int
}

// fast handles data if it is a plain delta event of an item that is known, and
// says whether it did.
func (d *respDecoder) fast(data []byte, b *llm.Builder) bool {
	ev := respDelta{output: -1}
	if !ev.scan(data) || ev.delta == nil {
		return false
	}
	var kind respKind
	part := ev.content
	switch string(ev.kind) {
	case "response.output_text.delta":
		kind = respKindMessage
	case "response.function_call_arguments.delta":
		kind = respKindCall
	case "response.reasoning_summary_text.delta":
		kind, part = respKindReasoning, ev.summary
	case "response.reasoning_text.delta":
		kind = respKindReasoning
	default:
		return false
	}
	it := d.newest(&ev, kind)
	if it == nil {
		return false
	}
	delta, ok := respUnescape(ev.delta)
	if !ok {
		return false
	}
	switch kind {
	case respKindMessage:
		d.text(it, part, delta, b)
	case respKindReasoning:
		d.reason(it, part, delta, b)
	default:
		b.Delta(d.call(it, b), delta)
	}
	return true
}

// newest is find for ids that are still bytes, as far as the newest item goes.
func (d *respDecoder) newest(ev *respDelta, kind respKind) *respOpen {
	n := len(d.items)
	if n == 0 {
		return nil
	}
	it := &d.items[n-1]
	if it.kind != kind || it.done {
		return nil
	}
	if ev.output >= 0 && it.index >= 0 {
		if ev.output != it.index {
			return nil
		}
		return it
	}
	if string(ev.itemID) != it.id {
		return nil
	}
	return it
}

// scan reads a flat object. It refuses everything it has no simple answer for:
// nested values, numbers that are no small integers, escaped keys, spaces in
// odd places, control characters.
func (ev *respDelta) scan(data []byte) bool {
	i := 0
	if len(data) < 2 || data[0] != '{' {
		return false
	}
	for i = 1; ; i++ {
		key, next, ok := respScanString(data, respSkip(data, i))
		if !ok {
			return false
		}
		i = respSkip(data, next)
		if i >= len(data) || data[i] != ':' {
			return false
		}
		i = respSkip(data, i+1)
		if i >= len(data) {
			return false
		}
		switch c := data[i]; {
		case c == '"':
			var value []byte
			if value, i, ok = respScanString(data, i); !ok {
				return false
			}
			switch string(key) {
			case "type":
				ev.kind = value
			case "item_id":
				ev.itemID = value
			case "delta":
				ev.delta = value
			}
		case '0' <= c && c <= '9':
			n, begin := 0, i
			for ; i < len(data) && '0' <= data[i] && data[i] <= '9'; i++ {
				n = n*10 + int(data[i]-'0')
			}
			if i-begin > 9 || c == '0' && i-begin > 1 {
				return false
			}
			switch string(key) {
			case "output_index":
				ev.output = n
			case "content_index":
				ev.content = n
			case "summary_index":
				ev.summary = n
			}
		case bytes.HasPrefix(data[i:], []byte("[]")):
			i += 2
		case bytes.HasPrefix(data[i:], []byte("null")):
			i += 4
		default:
			return false
		}
		i = respSkip(data, i)
		if i >= len(data) {
			return false
		}
		if data[i] == '}' {
			return respSkip(data, i+1) == len(data)
		}
		if data[i] != ',' {
			return false
		}
	}
}

func respSkip(data []byte, i int) int {
	for i < len(data) && data[i] == ' ' {
		i++
	}
	return i
}

// respScanString finds the string that begins at i and where it ends.
func respScanString(data []byte, i int) (value []byte, next int, ok bool) {
	if i >= len(data) || data[i] != '"' {
		return nil, 0, false
	}
	i++
	for j := i; j < len(data); j++ {
		switch c := data[j]; {
		case c == '"':
			return data[i:j], j + 1, true
		case c == '\\':
			j++
		case c < 0x20:
			return nil, 0, false
		}
	}
	return nil, 0, false
}

// respUnescape is the text of a string literal's inside. Escapes of more than
// one letter and invalid UTF-8 are left to encoding/json.
func respUnescape(s []byte) (string, bool) {
	if !utf8.Valid(s) {
		return "", false
	}
	at := bytes.IndexByte(s, '\\')
	if at < 0 {
		return string(s), true
	}
	var buf [64]byte
	out := append(buf[:0], s[:at]...)
	for i := at; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		switch s[i] {
		case '"', '\\', '/':
			out = append(out, s[i])
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		default:
			return "", false
		}
	}
	return string(out), true
}

// respAppendText appends s as the inside of a JSON string literal.
func respAppendText(dst []byte, s string) []byte {
	begin := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size - 1
				continue
			}
		}
		dst = append(dst, s[begin:i]...)
		begin = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			if c >= utf8.RuneSelf {
				dst = append(dst, "\uFFFD"...)
				continue
			}
			const hex = "0123456789abcdef"
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		}
	}
	return append(dst, s[begin:]...)
}

// respQuote appends s as a JSON string.
func respQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(respAppendText(dst, s), '"')
}
