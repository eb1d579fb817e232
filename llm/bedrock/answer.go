package bedrock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// NewEncoder begins the answer to req on w.
func (s Server) NewEncoder(w http.ResponseWriter, _ *llm.Request, stream bool) wire.Encoder {
	if stream {
		return &streamEncoder{w: w, began: time.Now(), sent: map[int]int{}}
	}
	return &wholeEncoder{w: w, began: time.Now()}
}

// wholeEncoder writes the answer of Converse once it is complete.
type wholeEncoder struct {
	w     http.ResponseWriter
	began time.Time
}

func (e *wholeEncoder) Encode(ev llm.Event) error {
	if !ev.Type.Terminal() {
		return nil
	}
	m := ev.Message
	if m.Error != nil && m.Error.Kind != llm.ErrContentFilter {
		Server{}.EncodeError(e.w, m.Error)
		return nil
	}
	var a converseAnswer
	a.Output.Message = message{Role: roleAssistant, Content: []block{}}
	for _, b := range m.Content {
		if wireBlock, ok := answered(b); ok {
			a.Output.Message.Content = append(a.Output.Message.Content, wireBlock)
		}
	}
	a.StopReason = stopReason(m)
	a.Usage = usageOf(m.Usage)
	a.Metrics.LatencyMS = time.Since(e.began).Milliseconds()
	body, err := wire.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	e.w.Header().Set("Content-Type", "application/json")
	_, err = e.w.Write(body)
	return err
}

// answered encodes a block of the model's answer. Converse accepts only objects
// as arguments, so those of a broken call are left out; the stop reason reports
// the call.
func answered(b llm.Block) (block, bool) {
	switch b := b.(type) {
	case llm.Text:
		raws := citationsOf(b)
		if len(raws) == 0 {
			return textBlock(b.Text), true
		}
		return block{CitationsContent: &citationsContent{Content: []block{textBlock(b.Text)}, Citations: raws}}, true
	case llm.Thinking:
		return block{ReasoningContent: reasoning(b, true)}, true
	case llm.ToolCall:
		args, _, err := b.Object()
		if err != nil {
			args = json.RawMessage(emptyObject)
		}
		return block{ToolUse: &toolUse{ToolUseID: b.ID, Name: b.Name, Input: args}}, true
	case llm.Opaque:
		var own block
		ok := b.API.Family() == llm.APIBedrock && json.Unmarshal(b.Raw, &own) == nil
		return own, ok
	}
	return block{}, false
}

// citationsOf returns Converse's records of the sources of a text, made up from
// what is known where another provider named them.
func citationsOf(t llm.Text) []json.RawMessage {
	var raws []json.RawMessage
	for _, c := range t.Citations {
		var own citation
		if json.Unmarshal(c.Raw, &own) == nil && own.neutral(c.Raw).Text == c.Text {
			raws = append(raws, c.Raw)
			continue
		}
		type words struct {
			Text string `json:"text"`
		}
		made := struct {
			Title         string         `json:"title,omitempty"`
			Source        string         `json:"source,omitempty"`
			SourceContent []words        `json:"sourceContent,omitempty"`
			Location      map[string]any `json:"location,omitempty"`
		}{Title: c.Title}
		if c.Text != "" {
			made.SourceContent = []words{{c.Text}}
		}
		if c.URL != "" {
			made.Location = map[string]any{"web": map[string]string{"url": c.URL}}
		}
		if raw, err := wire.Marshal(made); err == nil {
			raws = append(raws, raw)
		}
	}
	return raws
}

func stopReason(m *llm.Message) string {
	if m.Error != nil {
		if m.Error.Code == "guardrail_intervened" {
			return m.Error.Code
		}
		return "content_filtered"
	}
	switch m.StopReason {
	case llm.StopToolUse:
		return "tool_use"
	case llm.StopLength:
		return "max_tokens"
	}
	return "end_turn"
}

func usageOf(u *llm.Usage) usage {
	if u == nil {
		return usage{}
	}
	n := usage{
		InputTokens: u.Input, OutputTokens: u.Output, TotalTokens: u.Context(),
		CacheReadInputTokens: u.CacheRead, CacheWriteInputTokens: u.CacheWrite,
	}
	if short := u.CacheWrite - u.CacheWriteLong; short > 0 {
		n.CacheDetails = append(n.CacheDetails, cacheDetail{short, "5m"})
	}
	if u.CacheWriteLong > 0 {
		n.CacheDetails = append(n.CacheDetails, cacheDetail{u.CacheWriteLong, "1h"})
	}
	return n
}

// streamEncoder writes the answer of ConverseStream as it comes.
type streamEncoder struct {
	w     http.ResponseWriter
	began time.Time
	begun bool
	sent  map[int]int // bytes of each open block that went out as deltas
	frame []byte
}

func (e *streamEncoder) Encode(ev llm.Event) error {
	switch ev.Type {
	case llm.EventStart:
		e.begun = true
		e.w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		e.w.WriteHeader(http.StatusOK)
		return e.send("messageStart", messageStart{roleAssistant})
	case llm.EventToolCallStart:
		c, _ := ev.Block.(llm.ToolCall)
		return e.send("contentBlockStart", blockStart{ev.Index, start{ToolUse: &toolUse{ToolUseID: c.ID, Name: c.Name}}})
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		e.sent[ev.Index] += len(ev.Delta)
		return e.send("contentBlockDelta", blockDelta{ev.Index, deltaOf(ev.Type, ev.Delta)})
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		return e.end(ev)
	case llm.EventOpaque:
		return e.opaque(ev)
	case llm.EventDone, llm.EventError:
		return e.finish(ev.Message)
	}
	return nil // text and reasoning begin with their first delta
}

func deltaOf(t llm.EventType, s string) delta {
	switch t {
	case llm.EventThinkingDelta:
		return delta{ReasoningContent: &reasoningDelta{Text: s}}
	case llm.EventToolCallDelta:
		return delta{ToolUse: &toolUseDelta{s}}
	}
	return delta{Text: &s}
}

// end sends what is known only at the end of a block: what no delta told,
// signatures, citations.
func (e *streamEncoder) end(ev llm.Event) error {
	var last []delta
	rest := func(t llm.EventType, whole string) {
		if e.sent[ev.Index] < len(whole) {
			last = append(last, deltaOf(t, whole[e.sent[ev.Index]:]))
		}
	}
	switch b := ev.Block.(type) {
	case llm.Text:
		rest(llm.EventTextDelta, b.Text)
		for _, raw := range citationsOf(b) {
			last = append(last, delta{Citation: raw})
		}
	case llm.Thinking:
		switch {
		case b.Redacted:
			last = append(last, delta{ReasoningContent: &reasoningDelta{RedactedContent: b.Signature}})
		default:
			rest(llm.EventThinkingDelta, b.Text)
			if b.Signature != "" {
				last = append(last, delta{ReasoningContent: &reasoningDelta{Signature: b.Signature}})
			}
		}
	case llm.ToolCall:
		rest(llm.EventToolCallDelta, b.Arguments)
	}
	delete(e.sent, ev.Index)
	for _, d := range last {
		if err := e.send("contentBlockDelta", blockDelta{ev.Index, d}); err != nil {
			return err
		}
	}
	return e.send("contentBlockStop", blockStop{ev.Index})
}

// opaque sends an item of a server tool; those of other formats have no place
// in this one.
func (e *streamEncoder) opaque(ev llm.Event) error {
	o, _ := ev.Block.(llm.Opaque)
	b, ok := answered(o)
	var s start
	var d delta
	switch {
	case ok && b.ToolUse != nil:
		d.ToolUse = &toolUseDelta{string(b.ToolUse.Input)}
		s.ToolUse = &toolUse{ToolUseID: b.ToolUse.ToolUseID, Name: b.ToolUse.Name, Type: b.ToolUse.Type}
	case ok && b.ToolResult != nil:
		d.ToolResult = b.ToolResult.Content
		s.ToolResult = &toolResultStart{b.ToolResult.ToolUseID, b.ToolResult.Status, b.ToolResult.Type}
	default:
		return nil
	}
	if err := e.send("contentBlockStart", blockStart{ev.Index, s}); err != nil {
		return err
	}
	if err := e.send("contentBlockDelta", blockDelta{ev.Index, d}); err != nil {
		return err
	}
	return e.send("contentBlockStop", blockStop{ev.Index})
}

func (e *streamEncoder) finish(m *llm.Message) error {
	if m.Error != nil && !e.begun {
		Server{}.EncodeError(e.w, m.Error)
		return nil
	}
	if m.Error != nil && m.Error.Kind != llm.ErrContentFilter {
		name, _, text := exceptionOf(m.Error)
		return e.write(strings.ToLower(name[:1])+name[1:], true, exception{Message: text})
	}
	if err := e.send("messageStop", messageStop{stopReason(m)}); err != nil {
		return err
	}
	return e.send("metadata", metadata{Usage: usageOf(m.Usage), Metrics: metrics{time.Since(e.began).Milliseconds()}})
}

func (e *streamEncoder) send(event string, payload any) error { return e.write(event, false, payload) }

func (e *streamEncoder) write(event string, failed bool, payload any) error {
	data, err := wire.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode %s: %w", event, err)
	}
	e.frame = wire.AppendEventStream(e.frame[:0], event, failed, data)
	if _, err := e.w.Write(e.frame); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// retryAfter is a wait in whole seconds, rounded up.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
