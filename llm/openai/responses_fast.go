package openai

import (
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/jsontext"
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
// reports whether it did.
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
	r := jsontext.Reader{Text: data}
	return r.Object(func(key []byte) (ok bool) {
		var text *[]byte
		var number *int
		switch string(key) {
		case "type":
			text = &ev.kind
		case "item_id":
			text = &ev.itemID
		case "delta":
			ev.delta, ok = r.Inside() // read when it is known what it is
			return ok
		case "output_index":
			number = &ev.output
		case "content_index":
			number = &ev.content
		case "summary_index":
			number = &ev.summary
		default:
			if jsontext.Plain(key) != len(key) {
				return false
			}
		}
		switch c := r.Peek(); {
		case c == '"':
			s, ok := r.Plain()
			if text != nil {
				*text = s
			}
			return ok
		case '0' <= c && c <= '9':
			n, ok := r.Count()
			if number != nil {
				*number = n
			}
			return ok
		}
		return r.Take('[') && r.Take(']') || r.Word("null")
	}) && r.End()
}

// respUnescape is the text of a string literal's inside. What is rare is left to
// encoding/json.
func respUnescape(s []byte) (string, bool) {
	var buf [64]byte
	text, _, ok := jsontext.Unquote(buf[:0], s)
	return string(text), ok
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
