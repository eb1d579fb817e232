package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// NewEncoder begins the answer; see [wire.Server]. A stream ends with a chunk of
// usage if the request's stream_options ask for one.
func (CompletionsServer) NewEncoder(w http.ResponseWriter, req *llm.Request, stream bool) wire.Encoder {
	e := &chatEncoder{w: w, stream: stream, calls: map[int]int{}, records: -1}
	if req.Model != nil {
		e.model = req.Model.ID
	}
	var o chatStreamOptions
	if json.Unmarshal(req.Extra["stream_options"], &o) == nil {
		e.usage = o.IncludeUsage
	}
	return e
}

type chatEncoder struct {
	w       http.ResponseWriter
	stream  bool
	usage   bool // send a chunk of usage
	model   string
	id      string
	created int64
	begun   bool        // the head of the answer is out
	calls   map[int]int // positions of calls by block index
	records int         // index of the last reasoning record
}

// Encode writes one event. An answer that is not streamed is written at its end,
// from the whole message; one that fails before anything was written is an
// error answer.
func (e *chatEncoder) Encode(ev llm.Event) error {
	if ev.Type == llm.EventStart {
		e.start(ev.Message)
		if !e.stream {
			return nil
		}
		return e.delta(map[string]any{"role": "assistant", "content": ""})
	}
	if ev.Type == llm.EventError && !e.begun {
		CompletionsServer{}.EncodeError(e.w, ev.Message.Error)
		return nil
	}
	if !e.stream {
		if ev.Type == llm.EventDone {
			return e.whole(ev.Message)
		}
		return nil
	}
	switch ev.Type {
	case llm.EventTextDelta:
		return e.delta(chatTextDelta{ev.Delta})
	case llm.EventTextEnd:
		if t, ok := ev.Block.(llm.Text); ok && len(t.Citations) > 0 {
			return e.delta(map[string]any{"annotations": chatAnnotations(t.Citations)})
		}
	case llm.EventThinkingDelta:
		return e.delta(chatReasoningDelta{ev.Delta})
	case llm.EventThinkingEnd:
		if t, ok := ev.Block.(llm.Thinking); ok {
			if r := e.details(t, false); r != nil {
				return e.delta(map[string]any{"reasoning_details": r})
			}
		}
	case llm.EventToolCallStart, llm.EventToolCallDelta:
		return e.call(ev)
	case llm.EventToolCallEnd:
		if c, ok := ev.Block.(llm.ToolCall); ok && c.Arguments == "" {
			// Clients parse the arguments, and nothing is not JSON.
			return e.call(llm.Event{Index: ev.Index, Delta: "{}"})
		}
	case llm.EventDone:
		return e.done(ev.Message)
	case llm.EventError:
		return e.send(map[string]chatError{"error": chatErrorOf(ev.Message.Error)})
	}
	return nil
}

type chatTextDelta struct {
	Content string `json:"content"`
}

type chatReasoningDelta struct {
	Content string `json:"reasoning_content"`
}

func (e *chatEncoder) start(m *llm.Message) {
	e.created = time.Now().Unix()
	if m == nil {
		return
	}
	e.id = m.ResponseID
	if e.model == "" {
		e.model = m.Model
	}
	if !m.Time.IsZero() {
		e.created = m.Time.Unix()
	}
}

// details are the records that prove a block of reasoning. In a stream its text
// has been sent already and is not sent again.
func (e *chatEncoder) details(t llm.Thinking, text bool) []json.RawMessage {
	list := chatDetailsOf(t)
	if len(list) != 1 {
		return list
	}
	var r chatDetail
	if json.Unmarshal(list[0], &r) != nil || r.Format != chatOwnFormat {
		return list
	}
	e.records++
	r.Index = &e.records
	if !text {
		r.Text = ""
	}
	return []json.RawMessage{chatJSON(r)}
}

func (e *chatEncoder) call(ev llm.Event) error {
	at, ok := e.calls[ev.Index]
	if !ok {
		at = len(e.calls)
		e.calls[ev.Index] = at
	}
	c := chatCall{Index: &at, Function: chatCallFunction{Arguments: chatArguments(ev.Delta)}}
	if b, ok := ev.Block.(llm.ToolCall); ok {
		c.ID, c.Type, c.Function.Name = b.ID, "function", b.Name
	}
	return e.delta(chatCallsDelta{[1]chatCall{c}})
}

type chatCallsDelta struct {
	ToolCalls [1]chatCall `json:"tool_calls"`
}

func (e *chatEncoder) done(m *llm.Message) error {
	word := chatFinishReason(m.StopReason)
	if err := e.chunk(struct{}{}, &word); err != nil {
		return err
	}
	if e.usage {
		u := chatUsageOf(m.Usage)
		if u == nil {
			u = &chatUsage{}
		}
		c := e.envelope()
		c.Choices, c.Usage = []any{}, u
		if err := e.send(c); err != nil {
			return err
		}
	}
	return e.write([]byte("[DONE]"))
}

func chatFinishReason(r llm.StopReason) string {
	switch r {
	case llm.StopLength:
		return "length"
	case llm.StopToolUse:
		return "tool_calls"
	}
	return "stop"
}

// chatOutChunk is what the server writes; its deltas have only the fields that
// matter, which chatChunk as the reader's type has not.
type chatOutChunk struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"`
	Model   string     `json:"model"`
	Choices []any      `json:"choices"`
	Usage   *chatUsage `json:"usage,omitempty"`
}

type chatOutChoice struct {
	Index        int          `json:"index"`
	Delta        any          `json:"delta,omitempty"`
	Message      *chatMessage `json:"message,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

func (e *chatEncoder) envelope() chatOutChunk {
	return chatOutChunk{ID: e.id, Object: "chat.completion.chunk", Created: e.created, Model: e.model}
}

func (e *chatEncoder) delta(d any) error { return e.chunk(d, nil) }

func (e *chatEncoder) chunk(d any, finish *string) error {
	c := e.envelope()
	c.Choices = []any{chatOutChoice{Delta: d, FinishReason: finish}}
	return e.send(c)
}

func (e *chatEncoder) send(v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a chunk: %w", err)
	}
	return e.write(raw)
}

func (e *chatEncoder) write(data []byte) error {
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
	}
	if err := wire.WriteSSE(e.w, "", data); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// whole writes an answer that is not streamed.
func (e *chatEncoder) whole(m *llm.Message) error {
	out := &chatMessage{Role: "assistant", Content: json.RawMessage("null")}
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			out.Annotations = append(out.Annotations, chatAnnotations(b.Citations)...)
		case llm.Thinking:
			out.ReasoningContent += b.Text
			out.ReasoningDetails = append(out.ReasoningDetails, e.details(b, true)...)
		case llm.ToolCall:
			args := b.Arguments
			if args == "" {
				args = "{}"
			}
			out.ToolCalls = append(out.ToolCalls, chatCall{
				ID: b.ID, Type: "function", Function: chatCallFunction{Name: b.Name, Arguments: chatArguments(args)},
			})
		}
	}
	if s := m.Text(); s != "" || len(out.ToolCalls) == 0 {
		out.Content = chatJSON(s)
	}
	word := chatFinishReason(m.StopReason)
	c := e.envelope()
	c.Object, c.Usage = "chat.completion", chatUsageOf(m.Usage)
	c.Choices = []any{chatOutChoice{Message: out, FinishReason: &word}}
	raw, err := wire.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	e.begun = true
	e.w.Header().Set("Content-Type", "application/json")
	_, err = e.w.Write(raw)
	return err
}

func chatAnnotations(list []llm.Citation) []chatAnnotation {
	var out []chatAnnotation
	for _, c := range list {
		var a chatAnnotation
		if json.Unmarshal(c.Raw, &a) != nil || a.URL == nil {
			a = chatAnnotation{Type: "url_citation", URL: &chatCitation{URL: c.URL, Title: c.Title, Content: c.Text}}
		}
		out = append(out, a)
	}
	return out
}

// EncodeError answers with an error object and its HTTP status.
func (CompletionsServer) EncodeError(w http.ResponseWriter, err *llm.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	after := err.RetryAfter
	if after == 0 && !err.ResetAt.IsZero() {
		after = max(0, time.Until(err.ResetAt))
	}
	if after > 0 && h.Get("Retry-After") == "" && h.Get("Retry-After-Ms") == "" {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	w.WriteHeader(statusOf(err.Kind))
	body := map[string]chatError{"error": chatErrorOf(err)}
	_, _ = w.Write(chatJSON(body)) // the client went away: nobody to tell
}

// statusOf is the HTTP status that says an error of the kind in either format.
func statusOf(k llm.ErrorKind) int {
	switch k {
	case llm.ErrAuth:
		return http.StatusUnauthorized
	case llm.ErrRateLimit, llm.ErrUsageLimit:
		return http.StatusTooManyRequests
	case llm.ErrOverload:
		return http.StatusServiceUnavailable
	case llm.ErrTransport:
		return http.StatusBadGateway
	case llm.ErrStalled:
		return http.StatusGatewayTimeout
	case llm.ErrAborted:
		return 499 // the client closed the request, as nginx says it
	}
	return http.StatusBadRequest
}

// chatErrorOf words an error the way the provider does, so that clients sort it.
func chatErrorOf(err *llm.Error) chatError {
	out := chatError{Message: err.Message, Type: "invalid_request_error"}
	if !err.ResetAt.IsZero() {
		out.ResetsAt = err.ResetAt.Unix()
	}
	switch err.Kind {
	case llm.ErrAuth:
		out.Type, out.Code = "authentication_error", "invalid_api_key"
	case llm.ErrRateLimit:
		out.Type, out.Code = "rate_limit_error", "rate_limit_exceeded"
	case llm.ErrUsageLimit:
		out.Type, out.Code = "insufficient_quota", "insufficient_quota"
	case llm.ErrContextOverflow:
		out.Code = "context_length_exceeded"
	case llm.ErrContentFilter:
		out.Code = "content_filter"
	case llm.ErrInvalidRequest:
		out.Code = "invalid_request"
	default:
		out.Type, out.Code = "server_error", "server_error"
	}
	return out
}
