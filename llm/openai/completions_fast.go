package openai

import (
	"bytes"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/llm"
)

// chatMemo is the short way for the chunks that make up nearly all of an answer.
// They differ in one string only. Once a chunk has been decoded that adds one
// piece to one block, the bytes around that string are remembered; a chunk with
// the same bytes around another string means the same with that string, so only
// it is read. Anything else goes the long way and is remembered in turn.
type chatMemo struct {
	kind       chatPiece
	head, tail []byte // the chunk before and after the string
	call       int    // position of the call that arguments belong to
	buf        []byte // for strings with escapes
}

// chatPiece is what the string of a remembered chunk belongs to.
type chatPiece uint8

const (
	chatPieceNone chatPiece = iota
	chatPieceText
	chatPieceContentReasoning
	chatPiecePlainReasoning
	chatPieceArguments
)

// chatPieceKeys begin the string in the bytes of a chunk. Inside a string the
// quotes would be escaped, so they are found as keys only.
var chatPieceKeys = [...][]byte{
	chatPieceText:             []byte(`"content":"`),
	chatPieceContentReasoning: []byte(`"reasoning_content":"`),
	chatPiecePlainReasoning:   []byte(`"reasoning":"`),
	chatPieceArguments:        []byte(`"arguments":"`),
}

// chatPadding are keys of random content behind the choices: OpenAI's, Mistral's.
var chatPadding = [...][]byte{[]byte(`"obfuscation":"`), []byte(`"p":"`)}

// learn remembers a chunk that has been decoded, if it qualifies. ch is its only
// choice, call the position of the call it added to, if any.
func (m *chatMemo) learn(data []byte, x *chatDelta, ch *chatChoice, call int) {
	m.kind = chatPieceNone
	if ch.FinishReason != nil || ch.Usage != nil || ch.Message != nil ||
		x.Refusal != "" || x.ReasoningText != "" || x.ReasoningDetails != nil || x.Annotations != nil || x.FunctionCall != nil {
		return
	}
	kind, value := chatPieceOf(x)
	if kind == chatPieceNone {
		return
	}
	key := chatPieceKeys[kind]
	at := bytes.Index(data, key)
	if at < 0 || bytes.Count(data, key) != 1 || bytes.Contains(data, []byte(`"usage":{`)) {
		return
	}
	at += len(key)
	end := jsontext.End(data[at:])
	if end < 0 {
		return
	}
	if s, ok := m.unquote(data[at : at+end]); !ok || string(s) != value {
		return // an unusual string, or not the one that was decoded
	}
	m.kind, m.call = kind, call
	m.head = append(m.head[:0], data[:at]...)
	m.tail = append(m.tail[:0], data[at+end:]...)
}

// chatPieceOf is the one piece a delta adds, and its value. None if it does more
// than that.
func chatPieceOf(x *chatDelta) (kind chatPiece, value string) {
	pieces := 0
	note := func(k chatPiece, v string) {
		if v != "" {
			kind, value, pieces = k, v, pieces+1
		}
	}
	text, parts, err := chatContent(x.Content)
	if err != nil || parts != nil || len(x.ToolCalls) > 1 {
		return chatPieceNone, ""
	}
	note(chatPieceText, text)
	note(chatPieceContentReasoning, string(x.ReasoningContent))
	note(chatPiecePlainReasoning, string(x.Reasoning))
	if len(x.ToolCalls) == 1 {
		c := &x.ToolCalls[0]
		if c.Index == nil && c.ID == "" {
			return chatPieceNone, "" // the same bytes may mean another call
		}
		note(chatPieceArguments, string(c.Function.Arguments))
	}
	if pieces != 1 {
		return chatPieceNone, ""
	}
	return kind, value
}

// decode takes the short way if it can.
func (m *chatMemo) decode(d *chatDecoder, data []byte, b *llm.Builder) bool {
	if m.kind == chatPieceNone || !bytes.HasPrefix(data, m.head) {
		return false
	}
	rest := data[len(m.head):]
	end := jsontext.End(rest)
	if end < 0 || !chatSameTail(m.tail, rest[end:]) {
		return false
	}
	s, ok := m.unquote(rest[:end])
	if !ok {
		return false
	}
	switch m.kind {
	case chatPieceText:
		d.say(string(s), b)
	case chatPieceContentReasoning:
		d.ponder(chatReasoningContent, string(s), b)
	case chatPiecePlainReasoning:
		d.ponder(chatReasoningPlain, string(s), b)
	case chatPieceArguments:
		c := &d.calls[m.call]
		if c.block == 0 {
			return false
		}
		d.last = m.call
		b.Delta(c.block-1, string(s))
	}
	return true
}

// chatSameTail compares what follows the string, padding aside.
func chatSameTail(want, got []byte) bool {
	if bytes.Equal(want, got) {
		return true
	}
	at := -1
	for _, key := range chatPadding {
		if i := bytes.Index(want, key); i >= 0 {
			at = i + len(key)
			break
		}
	}
	if at < 0 || len(got) < at || !bytes.Equal(want[:at], got[:at]) {
		return false
	}
	want, got = want[at:], got[at:]
	i, j := bytes.IndexByte(want, '"'), bytes.IndexByte(got, '"')
	if i < 0 || j < 0 || !bytes.Equal(want[i:], got[j:]) {
		return false
	}
	if bytes.IndexByte(want[:i], '\\') >= 0 {
		return false
	}
	for _, c := range got[:j] {
		if c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unquote resolves the escapes of a JSON string, until the next call.
func (m *chatMemo) unquote(s []byte) (text []byte, ok bool) {
	text, m.buf, ok = jsontext.Unquote(m.buf, s)
	return text, ok
}
