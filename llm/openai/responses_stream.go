package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// NewEncoder begins the answer to req.
func (ResponsesServer) NewEncoder(w http.ResponseWriter, req *llm.Request, stream bool) wire.Encoder {
	e := &respEncoder{w: w, stream: stream, custom: map[string]bool{}, created: time.Now().Unix(), items: map[int]*respWriting{}}
	if req != nil {
		if req.Model != nil {
			e.model = req.Model.ID
		}
		for _, t := range req.Tools {
			if string(t.Schema) == respCustomSchema {
				e.custom[t.Name] = true
			}
		}
	}
	return e
}

// respEncoder writes one answer.
type respEncoder struct {
	w       http.ResponseWriter
	stream  bool
	custom  map[string]bool // tools whose input is plain text
	model   string
	id      string
	created int64
	seq     int
	begun   bool
	items   map[int]*respWriting // by index of the block
	output  []json.RawMessage    // by output_index
	buf     []byte
}

// respWriting is an item on its way out.
type respWriting struct {
	index  int
	id     string
	text   bool // reasoning: its summary has begun
	custom bool // a call whose input is plain text
}

// Encode writes what follows from one event.
func (e *respEncoder) Encode(ev llm.Event) error {
	if !e.stream {
		return e.whole(ev)
	}
	if ev.Type == llm.EventError && !e.begun {
		ResponsesServer{}.EncodeError(e.w, ev.Message.Error)
		return nil
	}
	if err := e.write(ev); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func (e *respEncoder) write(ev llm.Event) error {
	switch ev.Type {
	case llm.EventStart:
		return e.start(ev.Message)
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		return e.delta(ev)
	case llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart:
		return e.open(ev)
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		return e.close(ev)
	case llm.EventOpaque:
		return e.opaque(ev)
	case llm.EventDone, llm.EventError:
		return e.finish(ev.Message)
	}
	return nil
}

func (e *respEncoder) start(m *llm.Message) error {
	e.head(m)
	e.begun = true
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	e.w.WriteHeader(http.StatusOK)
	response := e.response("in_progress", nil)
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := e.emit(kind, "response", response); err != nil {
			return err
		}
	}
	return nil
}

func (e *respEncoder) head(m *llm.Message) {
	if m == nil || e.id != "" {
		return
	}
	if e.id = m.ResponseID; e.id == "" {
		e.id = "resp_" + respMade + respNewID()
	}
	if e.model == "" {
		e.model = m.Model
	}
}

// respFinal is a response object as it is written.
type respFinal struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	CreatedAt  int64             `json:"created_at"`
	Status     string            `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *respReason       `json:"incomplete_details"`
	Model      string            `json:"model"`
	Output     []json.RawMessage `json:"output"`
	Usage      *respUsage        `json:"usage"`
}

type respReason struct {
	Reason string `json:"reason"`
}

func (e *respEncoder) response(status string, m *llm.Message) any {
	r := respFinal{ID: e.id, Object: "response", CreatedAt: e.created, Status: status, Model: e.model, Output: e.output}
	if r.Output == nil {
		r.Output = []json.RawMessage{}
	}
	if m == nil {
		return r
	}
	// Items that were cut have only their place.
	r.Output = slices.DeleteFunc(slices.Clone(r.Output), func(item json.RawMessage) bool { return item == nil })
	if m.Usage != nil {
		r.Usage = respUsageOf(m.Usage)
	}
	if m.Error != nil {
		r.Error = respErrorObject(respTellDelay(m.Error))
	}
	if status == "incomplete" {
		r.Incomplete = &respReason{Reason: "max_output_tokens"}
	}
	return r
}

// respTellDelay puts the time to wait into the message, the only place for it
// inside a stream.
func respTellDelay(e *llm.Error) *llm.Error {
	if e.RetryAfter <= 0 || strings.Contains(e.Message, "try again in") {
		return e
	}
	told := *e
	told.Message = strings.TrimSuffix(told.Message, ".") + ". Please try again in " + strconv.FormatFloat(e.RetryAfter.Seconds(), 'f', -1, 64) + "s."
	return &told
}

func respUsageOf(u *llm.Usage) *respUsage {
	var r respUsage
	r.InputTokens = u.Prompt()
	r.InputDetails.Cached, r.InputDetails.Written = u.CacheRead, u.CacheWrite
	r.OutputTokens = u.Output
	r.OutputDetails.Reasoning = u.Reasoning
	r.TotalTokens = r.InputTokens + r.OutputTokens
	return &r
}

// respStatusOf is how an answer ended.
func respStatusOf(m *llm.Message) string {
	switch m.StopReason {
	case llm.StopLength:
		return "incomplete"
	case llm.StopError, llm.StopAborted:
		return "failed"
	}
	return "completed"
}

func (e *respEncoder) finish(m *llm.Message) error {
	status := respStatusOf(m)
	return e.emit("response."+status, "response", e.response(status, m))
}

// whole answers without a stream.
func (e *respEncoder) whole(ev llm.Event) error {
	if !ev.Type.Terminal() {
		return nil
	}
	m := ev.Message
	if m.Error != nil {
		ResponsesServer{}.EncodeError(e.w, m.Error)
		return nil
	}
	e.head(m)
	for i, b := range m.Content {
		if item := e.item(i, b, &respWriting{}); item != nil {
			raw, err := wire.Marshal(item)
			if err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
			e.output = append(e.output, raw)
		}
	}
	raw, err := wire.Marshal(e.response(respStatusOf(m), m))
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	e.w.Header().Set("Content-Type", "application/json")
	if _, err := e.w.Write(raw); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// open begins the item of a block.
func (e *respEncoder) open(ev llm.Event) error {
	w := &respWriting{index: len(e.output)}
	e.output = append(e.output, nil) // its place until it ends
	e.items[ev.Index] = w
	var item any
	switch b := ev.Block.(type) {
	case llm.Text:
		w.id = respReadTextID(b.Signature).ID
		if !respItemID(w.id, "msg") {
			w.id = "msg_" + respMade + strconv.Itoa(ev.Index)
		}
		item = respMessage{Type: "message", ID: w.id, Status: "in_progress", Role: "assistant", Content: []respPart{}}
	case llm.Thinking:
		w.id = "rs_" + respMade + strconv.Itoa(ev.Index)
		item = respReasoningItem{Type: "reasoning", ID: w.id, Summary: []respPart{}}
	case llm.ToolCall:
		c := e.callItem(b)
		c.Status = "in_progress"
		w.id, w.custom = c.ID, c.Input != nil
		item = c
	}
	if err := e.emitItem("response.output_item.added", w, item); err != nil {
		return err
	}
	if _, ok := ev.Block.(llm.Text); ok {
		return e.emitPart("response.content_part.added", w, "content_index", respPart{Type: "output_text", Text: new(string), Annotations: &[]json.RawMessage{}})
	}
	return nil
}

func (e *respEncoder) delta(ev llm.Event) error {
	w := e.items[ev.Index]
	if w == nil {
		return nil
	}
	switch ev.Type {
	case llm.EventTextDelta:
		return e.emitDelta("response.output_text.delta", w, "content_index", ev.Delta)
	case llm.EventThinkingDelta:
		if !w.text {
			w.text = true
			if err := e.emitPart("response.reasoning_summary_part.added", w, "summary_index", respPart{Type: "summary_text", Text: new(string)}); err != nil {
				return err
			}
		}
		return e.emitDelta("response.reasoning_summary_text.delta", w, "summary_index", ev.Delta)
	}
	if w.custom {
		return nil // pieces of JSON are not pieces of its input, which comes at the end
	}
	return e.emitDelta("response.function_call_arguments.delta", w, "", ev.Delta)
}

func (e *respEncoder) close(ev llm.Event) error {
	w := e.items[ev.Index]
	if w == nil {
		return nil
	}
	delete(e.items, ev.Index)
	item := e.item(ev.Index, ev.Block, w)
	switch b := ev.Block.(type) {
	case llm.Text:
		part := item.(respMessage).Content[0]
		for i, a := range *part.Annotations {
			if err := e.emit("response.output_text.annotation.added", "item_id", w.id, "output_index", w.index, "content_index", 0, "annotation_index", i, "annotation", a); err != nil {
				return err
			}
		}
		if err := e.emit("response.output_text.done", "item_id", w.id, "output_index", w.index, "content_index", 0, "text", b.Text); err != nil {
			return err
		}
		if err := e.emitPart("response.content_part.done", w, "content_index", part); err != nil {
			return err
		}
	case llm.Thinking:
		if w.text {
			if err := e.emit("response.reasoning_summary_text.done", "item_id", w.id, "output_index", w.index, "summary_index", 0, "text", b.Text); err != nil {
				return err
			}
			if err := e.emitPart("response.reasoning_summary_part.done", w, "summary_index", respPart{Type: "summary_text", Text: &b.Text}); err != nil {
				return err
			}
		}
	case llm.ToolCall:
		kind, key, value := "response.function_call_arguments.done", "arguments", b.Arguments
		if c := item.(respCall); c.Input != nil {
			kind, key, value = "response.custom_tool_call_input.done", "input", *c.Input
		}
		if err := e.emit(kind, "item_id", w.id, "output_index", w.index, key, value); err != nil {
			return err
		}
	}
	return e.done(w, item)
}

func (e *respEncoder) opaque(ev llm.Event) error {
	item := e.item(ev.Index, ev.Block, &respWriting{})
	if item == nil {
		return nil
	}
	w := &respWriting{index: len(e.output)}
	e.output = append(e.output, nil)
	if err := e.emitItem("response.output_item.added", w, item); err != nil {
		return err
	}
	return e.done(w, item)
}

func (e *respEncoder) done(w *respWriting, item any) error {
	raw, err := wire.Marshal(item)
	if err != nil {
		return err
	}
	e.output[w.index] = raw
	return e.emitItem("response.output_item.done", w, json.RawMessage(raw))
}

func (e *respEncoder) emitItem(kind string, w *respWriting, item any) error {
	return e.emit(kind, "output_index", w.index, "item", item)
}

func (e *respEncoder) emitPart(kind string, w *respWriting, index string, part respPart) error {
	return e.emit(kind, "item_id", w.id, "output_index", w.index, index, 0, "part", part)
}

// emitDelta writes the most frequent events without encoding/json. index is the
// name of the index of the part, always 0; empty = none.
func (e *respEncoder) emitDelta(kind string, w *respWriting, index, delta string) error {
	b := e.prefix(kind)
	b = append(b, `,"item_id":`...)
	b = respQuote(b, w.id)
	b = append(b, `,"output_index":`...)
	b = strconv.AppendInt(b, int64(w.index), 10)
	if index != "" {
		b = append(b, `,"`...)
		b = append(b, index...)
		b = append(b, `":0`...)
	}
	b = append(b, `,"delta":`...)
	b = respQuote(b, delta)
	return e.send(b)
}

// emit writes an event with the given keys and values, in order.
func (e *respEncoder) emit(kind string, fields ...any) error {
	b := e.prefix(kind)
	for i := 0; i < len(fields); i += 2 {
		raw, err := wire.Marshal(fields[i+1])
		if err != nil {
			return err
		}
		b = append(b, ',')
		b = respQuote(b, fields[i].(string))
		b = append(b, ':')
		b = append(b, raw...)
	}
	return e.send(b)
}

// prefix begins an event in the encoder's buffer.
func (e *respEncoder) prefix(kind string) []byte {
	b := append(e.buf[:0], "event: "...)
	b = append(b, kind...)
	b = append(b, "\ndata: {\"type\":\""...)
	b = append(b, kind...)
	b = append(b, `","sequence_number":`...)
	b = strconv.AppendInt(b, int64(e.seq), 10)
	e.seq++
	return b
}

func (e *respEncoder) send(b []byte) error {
	b = append(b, "}\n\n"...)
	e.buf = b
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}
