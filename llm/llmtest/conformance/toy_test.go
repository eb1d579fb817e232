package conformance_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// The toy format is the package llm itself as JSON: what the suite is tried on.

const toyAPI llm.API = "toy"

type toyRequest struct {
	Model      string          `json:"model"`
	System     string          `json:"system,omitempty"`
	Tools      []llm.Tool      `json:"tools,omitempty"`
	Choice     llm.ToolChoice  `json:"choice"`
	Sequential bool            `json:"sequential,omitempty"`
	Thinking   llm.Thought     `json:"thinking"`
	MaxTokens  int             `json:"maxTokens,omitempty"`
	Temp       *float64        `json:"temp,omitempty"`
	TopP       *float64        `json:"topP,omitempty"`
	Stop       []string        `json:"stop,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Messages   []llm.Message   `json:"messages"`
}

type toyEvent struct {
	Type    llm.EventType `json:"type"`
	Index   int           `json:"index,omitempty"`
	Delta   string        `json:"delta,omitempty"`
	Block   *llm.Message  `json:"block,omitempty"` // a message of that one block
	Message *llm.Message  `json:"message,omitempty"`
}

type toyError struct {
	Error struct {
		Message  string        `json:"message"`
		Code     llm.ErrorKind `json:"code"`
		ResetsAt int64         `json:"resets_at,omitempty"`
	} `json:"error"`
}

type toyClient struct {
	e    wire.Endpoint
	flaw string // what the client does wrong, see flaws
}

func openToy(flaw string) func(string, wire.Endpoint) llm.Client {
	return func(base string, e wire.Endpoint) llm.Client {
		e.BaseURL = base
		return &toyClient{e, flaw}
	}
}

func (c *toyClient) Stream(ctx context.Context, r *llm.Request) llm.Stream {
	call := wire.Call{
		Request: r, API: toyAPI, Decoder: &toyDecoder{flaw: c.flaw},
		Classify: func(status int, h http.Header, body []byte) *llm.Error {
			e := wire.Classify(status, h, body)
			e.Kind = llm.ErrorKind(e.Code)
			if c.flaw == "one error" {
				e.Kind = llm.ErrOverload
			}
			return e
		},
		Build: func(ctx context.Context) (*http.Request, error) { return c.build(ctx, r) },
	}
	switch c.flaw {
	case "reads ahead":
		call.Frames = func(body io.Reader) wire.FrameReader {
			all, _ := io.ReadAll(body)
			return wire.NewSSE(bytes.NewReader(all))
		}
	case "leaves a goroutine":
		go func() { select {} }()
	case "waits forever":
		c.e.FirstEvent, c.e.Idle = -1, -1
	}
	return c.e.Stream(ctx, call)
}

func (c *toyClient) build(ctx context.Context, r *llm.Request) (*http.Request, error) {
	has := r.Model.Accepts
	messages := slices.Clone(r.Messages)
	if c.flaw != "any history" {
		messages = llm.Legal(r.Messages, llm.Target{
			API: toyAPI, Provider: r.Model.Provider, Model: r.Model.ID,
			Images: has(llm.ModalityImage), ToolImages: has(llm.ModalityImage),
			Documents: has(llm.ModalityDocument), ToolDocuments: has(llm.ModalityDocument),
			ForeignThinking: llm.ThinkingAsText,
		})
	}
	for i := range messages { // what an answer carries beside its content
		m := &messages[i]
		*m = llm.Message{Role: m.Role, Content: slices.Clone(m.Content), ToolCallID: m.ToolCallID, ToolName: m.ToolName, IsError: m.IsError}
		for k, b := range m.Content {
			if call, ok := b.(llm.ToolCall); ok {
				call.Defect = ""
				m.Content[k] = call
			}
		}
	}
	req := toyRequest{
		Model: r.Model.Upstream(), System: r.System, Tools: r.Tools, Choice: r.ToolChoice, Sequential: r.SequentialTools,
		Thinking: r.Thinking, MaxTokens: r.MaxTokens, Temp: r.Temperature, TopP: r.TopP, Stop: r.Stop, Output: r.Output, Messages: messages,
	}
	headers := map[string]string{}
	switch c.flaw {
	case "random bytes":
		req.System += rand.Text()
	case "temperature 0 is unset":
		req.Temp = nil
	case "no choice":
		req.Choice = llm.ToolChoice{}
	case "connection per request":
		headers["Connection"] = "close"
	}
	body, err := wire.Marshal(req)
	if err != nil {
		return nil, err
	}
	return c.e.NewRequest(ctx, r, c.e.BaseURL, "/toy", body, headers, "messages")
}

type toyDecoder struct {
	flaw string
	kept [][]byte
}

func (d *toyDecoder) End(b *llm.Builder) {
	switch d.flaw {
	case "done at the end of the body":
		b.Done(llm.StopEnd)
	case "cut calls run":
		b.CloseAll()
	}
}

func (d *toyDecoder) Decode(f wire.Frame, b *llm.Builder) error {
	var ev toyEvent
	if err := json.Unmarshal(f.Data, &ev); err != nil {
		return err
	}
	var block llm.Block
	if ev.Block != nil && len(ev.Block.Content) == 1 {
		block = ev.Block.Content[0]
	}
	if d.flaw == "keeps frames" {
		d.kept = append(d.kept, bytes.Clone(f.Data))
	}
	if d.flaw != "trusts the server" && strings.HasSuffix(string(ev.Type), "_end") && !b.IsOpen(ev.Index) {
		return errors.New("the end of a block that is not open")
	}
	if ev.Type.Terminal() && (ev.Message == nil || ev.Type == llm.EventError && ev.Message.Error == nil) {
		return errors.New("an end without a message")
	}
	switch ev.Type {
	case llm.EventStart:
		b.Start()
	case llm.EventTextStart:
		b.OpenText()
	case llm.EventThinkingStart:
		b.OpenThinking()
	case llm.EventToolCallStart:
		call, _ := block.(llm.ToolCall)
		if d.flaw == "one id" {
			call.ID = "call"
		}
		b.OpenToolCall(call.ID, call.Name)
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		b.Delta(ev.Index, ev.Delta)
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		if th, ok := block.(llm.Thinking); ok && th.Redacted {
			b.Redact(ev.Index, th.Signature)
		} else if ok && d.flaw != "no signature" {
			b.Sign(ev.Index, th.Signature)
		}
		b.CloseBlock(ev.Index)
	case llm.EventOpaque:
		// Items of other vendors have no place in an answer of this one, but the
		// index must not be lost.
		b.Opaque("", nil)
	case llm.EventDone:
		if ev.Message.Usage != nil {
			*b.Usage() = *ev.Message.Usage
			if d.flaw == "cached is fresh" {
				b.Usage().Input += b.Usage().CacheRead
			}
		}
		switch r := ev.Message.StopReason; r {
		case llm.StopEnd, llm.StopLength, llm.StopToolUse, llm.StopPause:
			b.Done(r)
		default:
			b.Done(llm.StopEnd)
		}
	case llm.EventError:
		b.Fail(ev.Message.Error)
	}
	return nil
}

type toyServer struct{}

func (toyServer) API() llm.API               { return toyAPI }
func (toyServer) Match(r *http.Request) bool { return r.URL.Path == "/toy" }

func (toyServer) DecodeRequest(_ *http.Request, body []byte) (*llm.Request, bool, error) {
	var t toyRequest
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, false, &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
	}
	return &llm.Request{
		Model: &llm.Model{ID: t.Model, API: toyAPI}, System: t.System, Tools: t.Tools, ToolChoice: t.Choice, SequentialTools: t.Sequential,
		Thinking: t.Thinking, MaxTokens: t.MaxTokens, Temperature: t.Temp, TopP: t.TopP, Stop: t.Stop, Output: t.Output, Messages: t.Messages,
	}, true, nil
}

func (toyServer) NewEncoder(w http.ResponseWriter, _ *llm.Request, stream bool) wire.Encoder {
	if !stream {
		return toyWhole{w}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	return &toyEncoder{w}
}

// toyWhole answers with the message alone.
type toyWhole struct{ w http.ResponseWriter }

func (e toyWhole) Encode(ev llm.Event) error {
	if !ev.Type.Terminal() {
		return nil
	}
	if ev.Type == llm.EventError {
		toyServer{}.EncodeError(e.w, ev.Message.Error)
		return nil
	}
	e.w.Header().Set("Content-Type", "application/json")
	data, err := json.Marshal(ev.Message)
	if err != nil {
		return err
	}
	_, err = e.w.Write(data)
	return err
}

type toyEncoder struct{ w http.ResponseWriter }

func (e *toyEncoder) Encode(ev llm.Event) error {
	t := toyEvent{Type: ev.Type, Index: ev.Index, Delta: ev.Delta, Message: ev.Message}
	if ev.Block != nil {
		t.Block = &llm.Message{Content: []llm.Block{ev.Block}}
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := wire.WriteSSE(e.w, "", data); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

func (toyServer) EncodeError(w http.ResponseWriter, e *llm.Error) {
	var body toyError
	body.Error.Message, body.Error.Code = e.Message, e.Kind
	if !e.ResetAt.IsZero() {
		body.Error.ResetsAt = e.ResetAt.Unix()
	}
	if e.RetryAfter > 0 && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", strconv.FormatFloat(e.RetryAfter.Seconds(), 'f', -1, 64))
	}
	w.WriteHeader(http.StatusTeapot)
	data, _ := json.Marshal(body)
	_, _ = w.Write(data)
}
