package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// decoder reads the events of one answer.
type decoder struct {
	open    []openBlock
	scan    scanner
	stop    string
	details *stopDetails
}

// openBlock is a block between its start and its stop.
type openBlock struct {
	index int // the provider's
	at    int // the builder's; -1 for a provider's item, which is reported whole
	// held is a call's whole input where it came with the start, used if no
	// piece of it follows.
	held string
	kind string          // of the provider's item
	item json.RawMessage // the provider's item as it began
	args []byte          // pieces of the item's input
}

// openItem is about what an item costs that has begun, in bytes, whatever it holds.
const openItem = 1 << 10

// Decode reports one event.
func (d *decoder) Decode(f wire.Frame, b *llm.Builder) error {
	if f.Exception {
		return exception(f)
	}
	if kind, index, text, ok := d.scan.delta(f.Data); ok {
		d.delta(b, index, kind, text)
		return nil
	}
	data := bytes.TrimSpace(f.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil
	}
	var ev event
	if json.Unmarshal(data, &ev) != nil {
		return &llm.Error{Kind: llm.ErrTransport, Message: "the answer holds an event that is not valid JSON"}
	}
	return d.event(&ev, b)
}

func (d *decoder) event(ev *event, b *llm.Builder) error {
	if ev.Error != nil || ev.Type == "error" { // some hosts leave out the type
		return streamError(ev)
	}
	switch ev.Type {
	case "message_start":
		if m := ev.Message; m != nil {
			b.SetResponseID(m.ID)
			b.SetModel(m.Model)
			m.Usage.report(b)
		}
		b.Start()
	case "content_block_start":
		return d.start(ev, b)
	case "content_block_delta":
		d.anyDelta(ev, b)
	case "content_block_stop":
		d.close(ev.Index, b)
	case "message_delta":
		ev.Usage.report(b)
		if ev.Delta.StopReason != "" {
			d.stop, d.details = ev.Delta.StopReason, ev.Delta.StopDetails
		}
	case "message_stop":
		d.finish(b)
	}
	return nil
}

// start begins a block. Text and reasoning may come with their first piece,
// calls and items with all of their input.
func (d *decoder) start(ev *event, b *llm.Builder) error {
	item, err := parseObject(ev.ContentBlock)
	if err != nil {
		return &llm.Error{Kind: llm.ErrTransport, Message: "the answer begins a block that is not a JSON object"}
	}
	o := openBlock{index: ev.Index, at: -1}
	switch item.str("type") {
	case "text":
		o.at = b.OpenText()
		b.Delta(o.at, item.str("text"))
		var citations []json.RawMessage
		if json.Unmarshal(item.get("citations"), &citations) == nil {
			for _, c := range citations {
				b.Cite(o.at, citation(c))
			}
		}
	case "thinking":
		o.at = b.OpenThinking()
		b.Delta(o.at, item.str("thinking"))
		b.AddSignature(o.at, item.str("signature"))
	case "redacted_thinking":
		o.at = b.OpenThinking()
		b.Redact(o.at, item.str("data"))
	case "tool_use":
		id, name := item.str("id"), item.str("name")
		if id == "" || name == "" {
			return &llm.Error{Kind: llm.ErrTransport, Message: "the answer calls a tool without a name or an id"}
		}
		o.at = b.OpenToolCall(id, name)
		if input := strings.TrimSpace(string(item.get("input"))); input != "" && input != "{}" && input != "null" {
			o.held = input
			b.Hold(len(input))
		}
	case "":
		return &llm.Error{Kind: llm.ErrTransport, Message: "the answer begins a block without a type"}
	default:
		o.kind, o.item = item.str("type"), ev.ContentBlock
		b.Start()
		b.Hold(openItem + len(o.item))
	}
	d.open = append(d.open, o)
	return nil
}

func (d *decoder) find(index int) int {
	for i := len(d.open) - 1; i >= 0; i-- {
		if d.open[i].index == index {
			return i
		}
	}
	return -1
}

// delta reports a piece of text, reasoning or input. Pieces that do not fit
// their block are ignored.
func (d *decoder) delta(b *llm.Builder, index int, kind deltaKind, text []byte) {
	i := d.find(index)
	if i < 0 {
		return
	}
	o := &d.open[i]
	if o.at < 0 {
		if kind == inputDelta && b.Hold(len(text)) {
			o.args = append(o.args, text...)
		}
		return
	}
	switch b.Block(o.at).(type) {
	case llm.Text:
		if kind != textDelta {
			return
		}
	case llm.Thinking:
		if kind != thinkingDelta {
			return
		}
	case llm.ToolCall:
		if kind != inputDelta {
			return
		}
	}
	b.Delta(o.at, string(text))
}

// anyDelta reports a piece that the scanner left to the JSON decoder.
func (d *decoder) anyDelta(ev *event, b *llm.Builder) {
	switch ev.Delta.Type {
	case "text_delta":
		d.delta(b, ev.Index, textDelta, []byte(ev.Delta.Text))
	case "thinking_delta":
		d.delta(b, ev.Index, thinkingDelta, []byte(ev.Delta.Thinking))
	case "input_json_delta":
		d.delta(b, ev.Index, inputDelta, []byte(ev.Delta.PartialJSON))
	case "signature_delta":
		if i := d.find(ev.Index); i >= 0 && d.open[i].at >= 0 {
			b.AddSignature(d.open[i].at, ev.Delta.Signature)
		}
	case "citations_delta":
		if i := d.find(ev.Index); i >= 0 && d.open[i].at >= 0 && len(ev.Delta.Citation) > 0 {
			b.Cite(d.open[i].at, citation(ev.Delta.Citation))
		}
	}
}

// citation reads what all kinds of citations share and keeps the record.
func citation(raw json.RawMessage) llm.Citation {
	c := llm.Citation{Raw: bytes.Clone(raw)}
	o, err := parseObject(raw)
	if err != nil {
		return c
	}
	c.Text, c.URL = o.str("cited_text"), o.str("url")
	if c.Title = o.str("title"); c.Title == "" {
		c.Title = o.str("document_title")
	}
	if source := o.str("source"); c.URL == "" && strings.Contains(source, "://") {
		c.URL = source
	}
	return c
}

func (d *decoder) close(index int, b *llm.Builder) {
	i := d.find(index)
	if i < 0 {
		return
	}
	o := d.open[i]
	d.open = append(d.open[:i], d.open[i+1:]...)
	o.complete(b)
	b.CloseBlock(o.at)
}

// complete reports what the end of a block completes.
func (o *openBlock) complete(b *llm.Builder) {
	switch {
	case o.at < 0:
		if item, err := parseObject(o.item); err == nil && json.Valid(o.args) {
			o.item = item.set("input", o.args).json()
		}
		b.Opaque(o.kind, o.item)
	case o.held != "" && b.Size(o.at) == 0:
		b.Delta(o.at, o.held)
	}
}

// End completes an answer whose host leaves out the last event.
func (d *decoder) End(b *llm.Builder) {
	if d.stop != "" {
		d.finish(b)
	}
}

func (d *decoder) finish(b *llm.Builder) {
	for i := range d.open { // some hosts leave out the stops
		d.open[i].complete(b)
	}
	switch d.stop {
	case "max_tokens", "model_context_window_exceeded":
		b.Done(llm.StopLength)
	case "tool_use":
		b.Done(llm.StopToolUse)
	case "pause_turn":
		b.Done(llm.StopPause)
	case "refusal", "sensitive":
		e := &llm.Error{Kind: llm.ErrContentFilter, Code: d.stop, Message: "the model refused to continue"}
		if d.details != nil && d.details.Explanation != "" {
			e.Message = prose.Line(d.details.Explanation)
		}
		b.Fail(e) // a call that was cut must not end as if it were whole
	default: // end_turn, stop_sequence, and what may come
		b.Done(llm.StopEnd)
	}
}

// report sets the counts that are known by now. The figures of a stream are
// running totals, so the newest holds. A zero of input in a later event is a
// host that counts its input only once, not a smaller total.
func (u *usage) report(b *llm.Builder) {
	if u == nil {
		return
	}
	t := b.Usage()
	set := func(to *int, v *int) {
		if v != nil && *v > 0 {
			*to = *v
		}
	}
	set(&t.Input, u.Input)
	if u.Output != nil {
		t.Output = *u.Output
	}
	set(&t.CacheRead, u.CacheRead)
	allLong := t.CacheWrite > 0 && t.CacheWriteLong == t.CacheWrite
	set(&t.CacheWrite, u.CacheWrite)
	if c := u.CacheCreation; c != nil {
		set(&t.CacheWriteLong, &c.Long)
		t.CacheWrite = max(t.CacheWrite, c.Short+c.Long) // some hosts give the parts alone
	} else if allLong {
		t.CacheWriteLong = t.CacheWrite // later events give the total without its parts
	}
	if u.Details != nil {
		set(&t.Reasoning, &u.Details.Thinking)
	}
	if s := u.ServerTools; s != nil {
		set(&t.WebSearches, &s.WebSearch)
		set(&t.WebFetches, &s.WebFetch)
	}
}

// chunks unwraps the events that Bedrock carries in the chunks of its stream.
type chunks struct {
	in  *wire.EventStream
	buf []byte
}

func newChunks(r io.Reader) wire.FrameReader { return &chunks{in: wire.NewEventStream(r)} }

// Next returns the next event. Exceptions pass as they are; messages of other
// kinds are skipped.
func (c *chunks) Next() (wire.Frame, error) {
	for {
		f, err := c.in.Next()
		if err != nil || f.Exception {
			return f, err
		}
		if string(f.Event) != "chunk" {
			continue
		}
		encoded := chunkBytes(f.Data)
		c.buf, err = base64.StdEncoding.AppendDecode(c.buf[:0], encoded)
		if err != nil || len(c.buf) == 0 {
			return wire.Frame{}, &llm.Error{Kind: llm.ErrTransport, Message: "the answer holds a chunk without an event"}
		}
		return wire.Frame{Data: c.buf}, nil
	}
}

// chunkBytes finds the value of "bytes", which is base64 and needs no unescaping.
func chunkBytes(data []byte) []byte {
	const key = `"bytes":"`
	if _, rest, ok := bytes.Cut(data, []byte(key)); ok {
		if value, _, ok := bytes.Cut(rest, []byte{'"'}); ok && !bytes.ContainsRune(value, '\\') {
			return value
		}
	}
	var chunk struct {
		Bytes string `json:"bytes"`
	}
	_ = json.Unmarshal(data, &chunk) // nothing found is reported by the caller
	return []byte(chunk.Bytes)
}

// exception is an error of Bedrock inside the stream.
func exception(f wire.Frame) *llm.Error {
	var body struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(f.Data, &body) // the exception's name says enough
	return refine(wire.Sort(0, string(f.Event), body.Message))
}

func streamError(ev *event) *llm.Error {
	if ev.Error == nil {
		ev.Error = &errorBody{Type: "api_error"}
	}
	e := refine(wire.Sort(0, ev.Error.Type, ev.Error.Message))
	e.RequestID = ev.RequestID
	return e
}

// classify sorts an HTTP error.
func classify(status int, header http.Header, body []byte) *llm.Error {
	return refine(wire.Classify(status, header, body))
}

// refine knows what the provider says without a code of its own.
func refine(e *llm.Error) *llm.Error {
	if e.Kind == llm.ErrInvalidRequest && strings.Contains(strings.ToLower(e.Message), filterPhrase) {
		e.Kind = llm.ErrContentFilter
	}
	return e
}
