package bedrock

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Server reads Converse requests and writes their answers. It does not check
// signatures.
type Server struct{}

var _ wire.Server = Server{}

// API names the format.
func (Server) API() llm.API { return llm.APIBedrock }

// Match reports whether r is POST …/model/<id>/converse or …/converse-stream.
func (Server) Match(r *http.Request) bool {
	_, _, ok := operation(r)
	return ok
}

// operation takes the model's id and the operation from the path.
func operation(r *http.Request) (model string, stream, ok bool) {
	path := r.URL.EscapedPath()
	begin := strings.Index(path, "/model/")
	end := strings.LastIndexByte(path, '/')
	if r.Method != http.MethodPost || begin < 0 || end < begin+len("/model/") {
		return "", false, false
	}
	model, err := url.PathUnescape(path[begin+len("/model/") : end])
	operation := path[end+1:]
	stream = operation == "converse-stream"
	return model, stream, err == nil && model != "" && (stream || operation == "converse")
}

// DecodeRequest reads a client's request. Cache points become the request's
// hint; what Converse passes on without understanding it (guardrailConfig,
// performanceConfig, fields for the model) becomes Extra.
func (Server) DecodeRequest(r *http.Request, body []byte) (*llm.Request, bool, error) {
	model, stream, ok := operation(r)
	if !ok {
		return nil, false, &llm.Error{Kind: llm.ErrInvalidRequest, Status: http.StatusNotFound, Message: "no such operation: want POST /model/<id>/converse or converse-stream"}
	}
	var in converseRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, stream, invalid("the request is not a valid Converse request: %v", err)
	}
	d := requestDecoder{req: &llm.Request{Model: &llm.Model{ID: model, API: llm.APIBedrock}, Metadata: in.RequestMetadata}, names: map[string]string{}}
	d.req.Cache.Retention = llm.CacheOff
	for _, b := range in.System {
		if b.Text != nil {
			if d.req.System != "" {
				d.req.System += "\n\n"
			}
			d.req.System += *b.Text
		}
		d.cachePoint(b.CachePoint)
	}
	d.tools(in.ToolConfig)
	for i := range in.Messages {
		if err := d.message(&in.Messages[i]); err != nil {
			return nil, stream, err
		}
	}
	if len(d.req.Messages) == 0 {
		return nil, stream, invalid("the conversation holds no message")
	}
	if c := in.InferenceConfig; c != nil {
		d.req.MaxTokens, d.req.Temperature, d.req.TopP, d.req.Stop = c.MaxTokens, c.Temperature, c.TopP, c.StopSequences
	}
	if c := in.OutputConfig; c != nil && c.TextFormat.Structure.JSONSchema.Schema != "" {
		d.req.Output = json.RawMessage(c.TextFormat.Structure.JSONSchema.Schema)
	}
	if err := d.extras(body, in.AdditionalModelRequestFields); err != nil {
		return nil, stream, err
	}
	return d.req, stream, nil
}

type requestDecoder struct {
	req   *llm.Request
	names map[string]string // call id -> tool name
}

func (d *requestDecoder) cachePoint(p *cachePoint) {
	switch {
	case p == nil:
	case p.TTL == "1h":
		d.req.Cache.Retention = llm.CacheLong
	case d.req.Cache.Retention == llm.CacheOff:
		d.req.Cache.Retention = llm.CacheShort
	}
}

func (d *requestDecoder) tools(c *toolConfig) {
	if c == nil {
		return
	}
	for _, t := range c.Tools {
		d.cachePoint(t.CachePoint)
		if s := t.ToolSpec; s != nil {
			d.req.Tools = append(d.req.Tools, llm.Tool{Name: s.Name, Description: s.Description, Schema: s.InputSchema.JSON, Strict: s.Strict})
		}
	}
	switch choice := c.ToolChoice; {
	case choice == nil:
	case choice.Any != nil:
		d.req.ToolChoice.Mode = llm.ToolAny
	case choice.Tool != nil:
		d.req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: choice.Tool.Name}
	}
}

// message takes one message apart: tool results become messages of their own.
func (d *requestDecoder) message(m *message) error {
	if m.Role != roleUser && m.Role != roleAssistant {
		return invalid("a message has the role %q: want user or assistant", m.Role)
	}
	if m.Role == roleAssistant {
		content, err := d.content(m.Content, true)
		if err != nil {
			return err
		}
		d.req.Messages = append(d.req.Messages, llm.Message{Role: llm.RoleAssistant, API: llm.APIBedrock, Model: d.req.Model.ID, Content: content})
		return nil
	}
	var own []block
	for i := range m.Content {
		r := m.Content[i].ToolResult
		if r == nil {
			own = append(own, m.Content[i])
			continue
		}
		content, err := d.content(r.Content, false)
		if err != nil {
			return err
		}
		d.req.Messages = append(d.req.Messages, llm.Message{
			Role: llm.RoleToolResult, ToolCallID: r.ToolUseID, ToolName: d.names[r.ToolUseID],
			IsError: r.Status == "error", Content: content,
		})
	}
	content, err := d.content(own, false)
	if err == nil && len(content) > 0 {
		d.req.Messages = append(d.req.Messages, llm.Message{Role: llm.RoleUser, Content: content})
	}
	return err
}

func (d *requestDecoder) content(blocks []block, assistant bool) ([]llm.Block, error) {
	var out []llm.Block
	for i := range blocks {
		b := &blocks[i]
		d.cachePoint(b.CachePoint)
		switch {
		case b.Text != nil:
			out = append(out, llm.Text{Text: *b.Text})
		case len(b.JSON) > 0:
			out = append(out, llm.Text{Text: string(b.JSON)})
		case b.Image != nil:
			out = append(out, llm.Image{MIME: "image/" + b.Image.Format, Data: b.Image.Source.Bytes, URL: b.Image.Source.url()})
		case b.Document != nil:
			out = append(out, b.Document.neutral())
		case b.CitationsContent != nil:
			out = append(out, b.CitationsContent.neutral())
		case b.ReasoningContent != nil && assistant:
			out = append(out, b.ReasoningContent.neutral())
		case assistant && (b.ToolResult != nil || b.ToolUse != nil && b.ToolUse.Type != ""):
			raw, err := wire.Marshal(b)
			if err != nil {
				return nil, err
			}
			kind := "toolUse"
			if b.ToolResult != nil {
				kind = "toolResult"
			}
			out = append(out, llm.Opaque{API: llm.APIBedrock, Kind: kind, Raw: raw})
		case assistant && b.ToolUse != nil:
			u := b.ToolUse
			d.names[u.ToolUseID] = u.Name
			out = append(out, llm.ToolCall{ID: u.ToolUseID, Name: u.Name, Arguments: string(u.Input)})
		case b.ToolUse != nil || b.ReasoningContent != nil:
			return nil, invalid("a user message holds what only the assistant can say")
		}
	}
	return out, nil
}

func (s source) url() string {
	if s.S3Location != nil {
		return s.S3Location.URI
	}
	return ""
}

func (b *documentBlock) neutral() llm.Document {
	d := llm.Document{Name: b.Name, Data: b.Source.Bytes, URL: b.Source.url(), Text: b.Source.Text}
	for mime, format := range documentFormats {
		if format == b.Format {
			d.MIME = mime
		}
	}
	return d
}

func (c *citationsContent) neutral() llm.Text {
	var t llm.Text
	for _, b := range c.Content {
		if b.Text != nil {
			t.Text += *b.Text
		}
	}
	for _, raw := range c.Citations {
		var one citation
		if json.Unmarshal(raw, &one) == nil {
			t.Citations = append(t.Citations, one.neutral(raw))
		}
	}
	return t
}

func (r *reasoningContent) neutral() llm.Thinking {
	if r.ReasoningText != nil {
		return llm.Thinking{Text: r.ReasoningText.Text, Signature: r.ReasoningText.Signature}
	}
	return llm.Thinking{Signature: r.RedactedContent, Redacted: true}
}

// understood are the keys of a request that have a place in llm.Request.
var understood = []string{"system", "toolConfig", "messages", "inferenceConfig", "outputConfig", fieldsKey, "requestMetadata"}

// extras keeps what has no place of its own, and reads from the fields for the
// model how hard it shall think.
func (d *requestDecoder) extras(body []byte, fields json.RawMessage) error {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &all); err != nil {
		return invalid("the request is not a JSON object: %v", err)
	}
	for _, key := range understood {
		delete(all, key)
	}
	if len(fields) > 0 {
		rest, err := d.thinking(fields)
		if err != nil {
			return err
		}
		if rest != nil {
			all[fieldsKey] = rest
		}
	}
	if len(all) > 0 {
		d.req.Extra = all
	}
	return nil
}

// thinking reads the fields that make a model reason and returns the others.
func (d *requestDecoder) thinking(raw json.RawMessage) (json.RawMessage, error) {
	var f struct {
		Thinking        claudeThinking `json:"thinking"`
		OutputConfig    effort         `json:"output_config"`
		NovaConfig      novaReasoning  `json:"reasoningConfig"`
		ReasoningEffort string         `json:"reasoning_effort"`
		ReasoningLevel  string         `json:"reasoning_config"`
		Reasoning       effort         `json:"reasoning"`
	}
	var rest map[string]json.RawMessage
	if json.Unmarshal(raw, &rest) != nil || json.Unmarshal(raw, &f) != nil {
		return nil, invalid("%s has a shape that is not understood", fieldsKey)
	}
	t := &d.req.Thinking
	t.Budget = f.Thinking.BudgetTokens
	t.Hidden = f.Thinking.Display == "omitted"
	for _, word := range []string{f.OutputConfig.Effort, f.NovaConfig.MaxReasoningEffort, f.ReasoningEffort, f.ReasoningLevel, f.Reasoning.Effort} {
		if word != "" {
			t.Effort = word
		}
	}
	switch {
	case t.Effort == "none", f.Thinking.Type == "disabled", f.NovaConfig.Type == "disabled":
		*t = llm.Thought{Level: llm.LevelOff}
	case f.Thinking.Type == "adaptive" && t.Effort == "":
		t.Level = llm.LevelHigh // what adaptive thinking does unless told otherwise
	case t.Effort != "":
		if level, err := llm.ParseLevel(t.Effort); err == nil {
			t.Level = level
		}
	case t.Budget > 0:
		t.Level = levelOf(t.Budget)
	}
	for _, key := range []string{"thinking", "output_config", "reasoningConfig", "reasoning_effort", "reasoning_config", "reasoning"} {
		delete(rest, key)
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return wire.Marshal(rest)
}

// levelOf is the level whose budget is the largest that fits.
func levelOf(budget int) llm.Level {
	best := llm.LevelMinimal
	for _, l := range llm.Levels() {
		if n := llm.DefaultBudget(l); n > 0 && n <= budget {
			best = l
		}
	}
	return best
}

// EncodeError answers with an error: its type in a header, its text as JSON.
func (Server) EncodeError(w http.ResponseWriter, err *llm.Error) {
	name, status, text := exceptionOf(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Amzn-Errortype", name)
	if err.RequestID != "" {
		h.Set("X-Amzn-Requestid", err.RequestID)
	}
	if err.RetryAfter > 0 {
		h.Set("Retry-After", retryAfter(err.RetryAfter))
	}
	w.WriteHeader(status)
	body, _ := wire.Marshal(exception{Message: text}) // strings only: cannot fail
	_, _ = w.Write(body)                              // the client may be gone
}
