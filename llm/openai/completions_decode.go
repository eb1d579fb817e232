package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// chatDecoder puts an answer together from its chunks.
type chatDecoder struct {
	field string // the field of reasoning to prefer, if several come
	leaky bool   // the model is known to leak control text into arguments

	text   int // open text block + 1
	think  chatThinking
	calls  []chatOpenCall
	last   int    // position of the call that was added to last
	reason string // finish_reason
	seen   bool   // a chunk has come
	fields bool   // reasoning came in a text field, which the records only repeat
	memo   chatMemo
}

// chatThinking is the block of reasoning that is being written.
type chatThinking struct {
	block   int // open block + 1
	field   string
	details []chatDetail
	// What the last record holds, kept apart while it grows: strings would be
	// copied whole for each piece.
	text, summary, data []byte
}

// chatCallBytes is about what a call costs the decoder, in bytes.
const chatCallBytes = 1 << 10

// chatOpenCall is a call on its way. It is opened when its name is known.
type chatOpenCall struct {
	index *int
	id    string
	name  string
	held  []byte // arguments that came before the name
	block int    // open block + 1
}

// Decode reads one chunk.
func (d *chatDecoder) Decode(f wire.Frame, b *llm.Builder) error {
	if d.memo.decode(d, f.Data, b) {
		return nil
	}
	data := bytes.TrimSpace(f.Data)
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		d.end(b)
		return nil
	case string(f.Event) == "error":
		return chatStreamError(data)
	}
	var c chatChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return chatBroken(err)
	}
	return d.chunk(&c, data, b)
}

func (d *chatDecoder) chunk(c *chatChunk, data []byte, b *llm.Builder) error {
	if chatGiven(c.Error) || c.Object == "error" {
		return chatStreamError(data)
	}
	d.seen = true
	if c.ID != "" {
		b.SetResponseID(c.ID)
	}
	if c.Model != "" {
		b.SetModel(c.Model)
	}
	b.Start()
	if c.XGroq != nil {
		chatCount(b, c.XGroq.Usage)
	}
	chatCount(b, c.Usage)
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue // an answer nobody asked for
		}
		if chatGiven(ch.Error) {
			return chatStreamError(chatJSON(map[string]json.RawMessage{"error": ch.Error}))
		}
		chatCount(b, ch.Usage)
		delta := ch.Delta
		if delta == nil {
			delta = ch.Message
		}
		if delta != nil {
			if err := d.delta(delta, b); err != nil {
				return err
			}
		}
		if ch.FinishReason != nil && *ch.FinishReason != "" {
			d.reason = *ch.FinishReason
		}
		if ch.Message != nil && ch.Delta == nil {
			d.end(b) // a whole answer has no [DONE]
			return nil
		}
		if len(c.Choices) == 1 && delta != nil {
			d.memo.learn(data, delta, ch, d.last)
		}
	}
	return nil
}

// chatGiven reports whether a field holds something.
func chatGiven(raw json.RawMessage) bool {
	s := string(raw)
	return s != "" && s != "null" && s != "{}" && s != `""` && s != "false"
}

func (d *chatDecoder) delta(x *chatDelta, b *llm.Builder) error {
	d.reasoning(x, b)
	text, parts, err := chatContent(x.Content)
	if err != nil {
		return chatBroken(err)
	}
	d.say(text, b)
	for _, p := range parts {
		for _, t := range p.Thinking {
			d.ponder(chatReasoningContent, t.Text, b)
		}
		d.say(p.Text, b)
		d.say(p.Refusal, b)
	}
	d.say(x.Refusal, b) // what the model says instead of an answer is text
	for _, a := range x.Annotations {
		if a.URL != nil && d.text > 0 {
			b.Cite(d.text-1, llm.Citation{URL: a.URL.URL, Title: a.URL.Title, Text: a.URL.Content, Raw: chatJSON(a)})
		}
	}
	for i := range x.ToolCalls {
		d.call(&x.ToolCalls[i], b)
	}
	if x.FunctionCall != nil {
		zero := 0
		d.call(&chatCall{Index: &zero, Function: *x.FunctionCall}, b)
	}
	return nil
}

// say adds text.
func (d *chatDecoder) say(s string, b *llm.Builder) {
	if s == "" {
		return
	}
	if d.text == 0 {
		d.closeThinking(b)
		d.text = b.OpenText() + 1
	}
	b.Delta(d.text-1, s)
}

func (d *chatDecoder) closeText(b *llm.Builder) {
	if d.text > 0 {
		b.CloseBlock(d.text - 1)
		d.text = 0
	}
}

// call adds a piece of a tool call. Pieces belong together by their index. Where
// there is none, an id or a name begins a call; and some endpoints give all
// calls the index 0 and tell them apart by id alone.
func (d *chatDecoder) call(x *chatCall, b *llm.Builder) {
	at := d.find(x)
	if at < 0 {
		d.closeText(b)
		d.closeThinking(b)
		if !b.Hold(chatCallBytes) {
			return
		}
		d.calls = append(d.calls, chatOpenCall{index: x.Index, id: x.ID})
		at = len(d.calls) - 1
	}
	d.last = at
	c := &d.calls[at]
	if c.id == "" {
		c.id = x.ID
	}
	if c.name == "" {
		c.name = x.Function.Name
	}
	args := string(x.Function.Arguments)
	if c.block == 0 {
		if b.Hold(len(args)) {
			c.held = append(c.held, args...)
		}
		if c.name != "" {
			d.open(c, b)
		}
		return
	}
	b.Delta(c.block-1, args)
}

func (d *chatDecoder) find(x *chatCall) int {
	if x.Index == nil {
		if x.ID == "" && x.Function.Name == "" && len(d.calls) > 0 {
			return d.last
		}
		for i := range d.calls {
			if x.ID != "" && d.calls[i].id == x.ID {
				return i
			}
		}
		return -1
	}
	for i := len(d.calls) - 1; i >= 0; i-- {
		c := &d.calls[i]
		if c.index == nil || *c.index != *x.Index {
			continue
		}
		if x.ID != "" && c.id != "" && x.ID != c.id && x.Function.Name != "" {
			return -1
		}
		return i
	}
	return -1
}

// open begins the block of a call. A missing id is made up here, once.
func (d *chatDecoder) open(c *chatOpenCall, b *llm.Builder) {
	if c.id == "" {
		c.id = "call_" + rand.Text()
	}
	c.block = b.OpenToolCall(c.id, c.name) + 1
	b.Delta(c.block-1, string(c.held))
	c.held = nil
}

// End is called at the end of the connection. An answer whose finish_reason has
// come is complete, [DONE] or not.
func (d *chatDecoder) End(b *llm.Builder) {
	if d.reason != "" {
		d.end(b)
	}
}

func (d *chatDecoder) end(b *llm.Builder) {
	if !d.seen {
		b.Fail(&llm.Error{Kind: llm.ErrTransport, Message: "the answer was empty"})
		return
	}
	for i := range d.calls {
		if c := &d.calls[i]; c.block == 0 {
			d.open(c, b) // never got a name; it is answered as an unknown tool
		}
		if d.leaky {
			spoilLeak(d.calls[i].block-1, b)
		}
	}
	d.closeThinking(b)
	if d.reason == "" { // a gateway whose upstream broke off also says [DONE]
		for i := range d.calls {
			if at := d.calls[i].block - 1; b.Size(at) == 0 {
				b.Spoil(at, llm.DefectCut)
			}
		}
	}
	stop, failed := chatStopReason(d.reason)
	if failed != nil {
		b.Fail(failed)
		return
	}
	b.Done(stop)
}

// chatStopReason maps finish_reason, which every imitation extends. An unknown
// word is an end: it says that the model stopped, if not why.
func chatStopReason(word string) (llm.StopReason, *llm.Error) {
	switch strings.ToLower(word) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded", "max_output_tokens":
		return llm.StopLength, nil
	case "tool_calls", "function_call", "tool_use", "tool_call":
		return llm.StopToolUse, nil
	case "content_filter", "sensitive", "safety", "refusal", "recitation", "prohibited_content":
		return "", &llm.Error{Kind: llm.ErrContentFilter, Code: word, Message: "the vendor's content filter stopped the answer"}
	case "insufficient_system_resource":
		return "", &llm.Error{Kind: llm.ErrOverload, Code: word, Message: "the service ran out of resources in the middle of the answer"}
	case "error", "network_error", "abort":
		return "", &llm.Error{Kind: llm.ErrTransport, Code: word, Message: "the service broke the answer off"}
	}
	return llm.StopEnd, nil
}

// chatStreamError sorts an error that came in place of a chunk. A number as its
// code is the HTTP status that it would have had.
func chatStreamError(data []byte) error {
	type coded struct {
		Code json.RawMessage `json:"code"`
	}
	var body struct {
		coded
		Error json.RawMessage `json:"error"`
	}
	var inner coded
	_ = json.Unmarshal(data, &body) // text is sorted as text
	_ = json.Unmarshal(body.Error, &inner)
	status := 0
	for _, code := range []json.RawMessage{inner.Code, body.Code} {
		if n, err := strconv.Atoi(strings.Trim(string(code), `"`)); err == nil && status == 0 {
			status = n
		}
	}
	e := wire.Classify(status, nil, data)
	if status != 0 {
		e.Code = strconv.Itoa(status)
	}
	e.Status = 0 // the request itself had been accepted
	return e
}

// chatBroken is the error of a chunk that makes no sense.
func chatBroken(err error) error {
	return &llm.Error{Kind: llm.ErrTransport, Message: "a piece of the answer is not what the format has there", Err: err}
}
