package anthropic

import (
	"encoding/json"
	"net/http"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// NewEncoder begins the answer to req on w.
func (Server) NewEncoder(w http.ResponseWriter, req *llm.Request, stream bool) wire.Encoder {
	r := &responder{w: w, stream: stream}
	if req.Model != nil {
		r.model = req.Model.ID
	}
	return r
}

// responder writes one answer. The format knows one open block at a time;
// pieces of later blocks wait until the earlier ones have ended.
type responder struct {
	w      http.ResponseWriter
	stream bool
	model  string
	begun  bool
	blocks []outBlock // by content index
	cur    int        // content index of the block that may be written
	wire   int        // index of the next block on the wire
}

// outBlock is a block on its way.
type outBlock struct {
	begun   bool // its start has been written
	waiting []llm.Event
}

// Encode writes one event.
func (r *responder) Encode(ev llm.Event) error {
	switch ev.Type {
	case llm.EventStart:
		return r.start(ev.Message)
	case llm.EventDone:
		return r.done(ev.Message)
	case llm.EventError:
		return r.fail(ev.Message)
	}
	if !r.stream {
		return nil
	}
	for ev.Index >= len(r.blocks) {
		r.blocks = append(r.blocks, outBlock{})
	}
	if ev.Index != r.cur {
		b := &r.blocks[ev.Index]
		b.waiting = append(b.waiting, ev)
		return nil
	}
	return r.block(ev)
}

// block writes an event of the current block and, once that has ended, what
// waits of the next ones.
func (r *responder) block(ev llm.Event) error {
	if err := r.write(ev); err != nil {
		return err
	}
	if !ended(ev.Type) {
		return nil
	}
	r.cur++
	for r.cur < len(r.blocks) {
		waiting := r.blocks[r.cur].waiting
		r.blocks[r.cur].waiting = nil
		over := false
		for _, ev := range waiting {
			if err := r.write(ev); err != nil {
				return err
			}
			over = over || ended(ev.Type)
		}
		if !over {
			return nil
		}
		r.cur++
	}
	return nil
}

func ended(t llm.EventType) bool {
	switch t {
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd, llm.EventOpaque:
		return true
	}
	return false
}

// Events of the stream, as the server writes them.
type (
	startEvent struct {
		Type    string `json:"type"`
		Message answer `json:"message"`
	}
	blockEvent struct {
		Type  string          `json:"type"`
		Index int             `json:"index"`
		Block json.RawMessage `json:"content_block,omitempty"`
		Delta any             `json:"delta,omitempty"`
	}
	endEvent struct {
		Type  string   `json:"type"`
		Delta endDelta `json:"delta"`
		Usage usage    `json:"usage"`
	}
	endDelta struct {
		StopReason   string       `json:"stop_reason"`
		StopSequence *string      `json:"stop_sequence"`
		StopDetails  *stopDetails `json:"stop_details,omitempty"`
	}
	typed struct {
		Type string `json:"type"`
	}
	piece struct {
		Type      string          `json:"type"`
		Text      *string         `json:"text,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"`
		Partial   *string         `json:"partial_json,omitempty"`
		Signature string          `json:"signature,omitempty"`
		Citation  json.RawMessage `json:"citation,omitempty"`
	}
)

func (r *responder) send(name string, v any) error {
	data, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	if err := wire.WriteSSE(r.w, name, data); err != nil {
		return err
	}
	if f, ok := r.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

// start writes the head of a stream.
func (r *responder) start(m *llm.Message) error {
	if r.begun || !r.stream {
		return nil
	}
	r.begun = true
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	r.w.WriteHeader(http.StatusOK)
	if err := r.send("message_start", startEvent{"message_start", r.skeleton(m)}); err != nil {
		return err
	}
	return r.send("ping", typed{"ping"})
}

// skeleton is the answer to m without its content.
func (r *responder) skeleton(m *llm.Message) answer {
	a := answer{ID: m.ResponseID, Type: "message", Role: "assistant", Model: r.model, Content: []block{}, Usage: reported(m.Usage)}
	if a.Model == "" {
		a.Model = m.Model
	}
	return a
}

// reported is u as the format counts it; the counts that every answer has are
// there also when they are zero or unknown.
func reported(u *llm.Usage) usage {
	if u == nil {
		u = new(llm.Usage)
	}
	out := usage{
		Input: &u.Input, Output: &u.Output, CacheRead: &u.CacheRead, CacheWrite: &u.CacheWrite,
		CacheCreation: &cacheCreation{Short: u.CacheWrite - u.CacheWriteLong, Long: u.CacheWriteLong},
	}
	if u.Reasoning > 0 {
		out.Details = &outputDetails{u.Reasoning}
	}
	if u.WebSearches > 0 || u.WebFetches > 0 {
		out.ServerTools = &serverToolUse{u.WebSearches, u.WebFetches}
	}
	return out
}

// write writes an event of a block.
func (r *responder) write(ev llm.Event) error {
	b := &r.blocks[ev.Index]
	switch ev.Type {
	case llm.EventTextStart:
		return r.begin(b, block{Type: "text", Text: new(string)})
	case llm.EventToolCallStart:
		c, _ := ev.Block.(llm.ToolCall)
		return r.begin(b, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: json.RawMessage("{}")})
	case llm.EventThinkingStart:
		return nil // whether it is redacted shows only later
	case llm.EventOpaque:
		o, _ := ev.Block.(llm.Opaque)
		return r.opaque(b, o)
	case llm.EventTextDelta:
		return r.piece(piece{Type: "text_delta", Text: &ev.Delta})
	case llm.EventToolCallDelta:
		return r.piece(piece{Type: "input_json_delta", Partial: &ev.Delta})
	case llm.EventThinkingDelta:
		if err := r.beginThinking(b); err != nil {
			return err
		}
		return r.piece(piece{Type: "thinking_delta", Thinking: &ev.Delta})
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		return r.end(b, ev.Block)
	}
	return nil
}

func (r *responder) begin(b *outBlock, w block) error {
	raw, err := wire.Marshal(w)
	if err != nil {
		return err
	}
	b.begun = true
	return r.send("content_block_start", blockEvent{Type: "content_block_start", Index: r.wire, Block: raw})
}

func (r *responder) beginThinking(b *outBlock) error {
	if b.begun {
		return nil
	}
	return r.begin(b, block{Type: "thinking", Thinking: new(string), Signature: new(string)})
}

func (r *responder) piece(p piece) error {
	return r.send("content_block_delta", blockEvent{Type: "content_block_delta", Index: r.wire, Delta: p})
}

func (r *responder) stop() error {
	i := r.wire
	r.wire++
	return r.send("content_block_stop", blockEvent{Type: "content_block_stop", Index: i})
}

// end writes what is known only at the end of a block, and the end.
func (r *responder) end(b *outBlock, whole llm.Block) error {
	var rest []piece
	switch c := whole.(type) {
	case llm.Text:
		for _, cite := range c.Citations {
			rest = append(rest, piece{Type: "citations_delta", Citation: citationRecord(cite)})
		}
	case llm.Thinking:
		if c.Redacted && !b.begun {
			if err := r.begin(b, block{Type: "redacted_thinking", Data: &c.Signature}); err != nil {
				return err
			}
			break
		}
		if err := r.beginThinking(b); err != nil {
			return err
		}
		if c.Signature != "" {
			rest = append(rest, piece{Type: "signature_delta", Signature: c.Signature})
		}
	}
	for _, p := range rest {
		if err := r.piece(p); err != nil {
			return err
		}
	}
	return r.stop()
}

// citationRecord is the provider's record of a citation, or one made of what
// another provider said.
func citationRecord(c llm.Citation) json.RawMessage {
	if _, err := parseObject(c.Raw); err == nil {
		return c.Raw
	}
	return object{
		{"type", quote("web_search_result_location")},
		{"url", quote(c.URL)},
		{"title", quote(c.Title)},
		{"cited_text", quote(c.Text)},
		{"encrypted_index", quote("")},
	}.json()
}

// opaque writes a provider's item; the input of server tool calls travels in a
// piece, as the provider sends it. Items of other formats are left out.
func (r *responder) opaque(b *outBlock, o llm.Opaque) error {
	item, err := parseObject(o.Raw)
	if o.API.Family() != llm.APIAnthropic || err != nil {
		return nil
	}
	input := item.get("input")
	if use, _ := opaqueIDs(o); use != "" && len(input) > 0 {
		item = item.set("input", json.RawMessage("{}"))
	} else {
		input = nil
	}
	b.begun = true
	if err := r.send("content_block_start", blockEvent{Type: "content_block_start", Index: r.wire, Block: item.json()}); err != nil {
		return err
	}
	if input != nil {
		text := string(input)
		if err := r.piece(piece{Type: "input_json_delta", Partial: &text}); err != nil {
			return err
		}
	}
	return r.stop()
}

// stopReason is the provider's word.
func stopReason(s llm.StopReason) string {
	switch s {
	case llm.StopLength:
		return "max_tokens"
	case llm.StopToolUse:
		return "tool_use"
	case llm.StopPause:
		return "pause_turn"
	}
	return "end_turn"
}

func (r *responder) done(m *llm.Message) error {
	return r.finish(m, stopReason(m.StopReason), nil)
}

func (r *responder) finish(m *llm.Message, stop string, details *stopDetails) error {
	if !r.stream {
		a := r.skeleton(m)
		a.Content, a.StopReason, a.StopDetails = whole(m), &stop, details
		return writeJSON(r.w, http.StatusOK, a)
	}
	if err := r.start(m); err != nil {
		return err
	}
	end := endEvent{"message_delta", endDelta{StopReason: stop, StopDetails: details}, reported(m.Usage)}
	if err := r.send("message_delta", end); err != nil {
		return err
	}
	return r.send("message_stop", typed{"message_stop"})
}

// fail ends the answer with an error: as a refusal where the content was
// refused, as an event where the stream has begun, else as an HTTP error.
func (r *responder) fail(m *llm.Message) error {
	e := m.Error
	if e == nil {
		e = &llm.Error{Kind: llm.ErrOverload}
	}
	switch {
	case e.Kind == llm.ErrContentFilter && e.Status == 0:
		if r.cur < len(r.blocks) && r.blocks[r.cur].begun {
			if err := r.stop(); err != nil {
				return err
			}
		}
		return r.finish(m, "refusal", &stopDetails{Type: "refusal", Explanation: e.Message})
	case r.begun:
		_, kind := errorType(e)
		return r.send("error", errorAnswer{Type: "error", Error: errorBody{kind, errorMessage(e)}, RequestID: e.RequestID})
	}
	Server{}.EncodeError(r.w, e)
	return nil
}

// whole is the content of an answer that is not streamed.
func whole(m *llm.Message) []block {
	out := []block{}
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			t := textBlock(b.Text)
			for _, c := range b.Citations {
				t.Citations = append(t.Citations, ',')
				t.Citations = append(t.Citations, citationRecord(c)...)
			}
			if len(t.Citations) > 0 {
				t.Citations[0] = '['
				t.Citations = append(t.Citations, ']')
			}
			out = append(out, t)
		case llm.Thinking:
			if b.Redacted {
				out = append(out, block{Type: "redacted_thinking", Data: &b.Signature})
			} else {
				out = append(out, block{Type: "thinking", Thinking: &b.Text, Signature: &b.Signature})
			}
		case llm.ToolCall:
			args, _, err := b.Object()
			if err != nil {
				args = json.RawMessage("{}")
			}
			out = append(out, block{Type: "tool_use", ID: b.ID, Name: b.Name, Input: args})
		case llm.Opaque:
			if b.API.Family() == llm.APIAnthropic && json.Valid(b.Raw) {
				out = append(out, block{raw: b.Raw})
			}
		}
	}
	return out
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(data)
	return err
}
