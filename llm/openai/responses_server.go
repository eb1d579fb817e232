package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// ResponsesServer is the server's half of the Responses API.
//
// Nothing is stored: a request that refers to an earlier response carries that
// id as PreviousResponseID, and item references are refused. Tools it cannot
// know (file search, code interpreter) are left out.
type ResponsesServer struct{}

var _ wire.Server = ResponsesServer{}

// API names the format.
func (ResponsesServer) API() llm.API { return llm.APIResponses }

// Match takes POST …/responses.
func (ResponsesServer) Match(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(strings.TrimRight(r.URL.Path, "/"), "/responses")
}

// respBody reads the body of a request.
type respBody struct {
	Model             string            `json:"model"`
	Instructions      string            `json:"instructions"`
	Previous          string            `json:"previous_response_id"`
	Input             json.RawMessage   `json:"input"` // a string or a list of items
	Tools             []respTool        `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"` // a word or an object
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	MaxToolCalls      int               `json:"max_tool_calls"`
	Reasoning         *respReasoning    `json:"reasoning"`
	Text              respTextConfig    `json:"text"`
	MaxOutputTokens   int               `json:"max_output_tokens"`
	Temperature       *float64          `json:"temperature"`
	TopP              *float64          `json:"top_p"`
	PromptCacheKey    string            `json:"prompt_cache_key"`
	CacheRetention    string            `json:"prompt_cache_retention"`
	User              string            `json:"user"`
	SafetyID          string            `json:"safety_identifier"`
	Metadata          map[string]string `json:"metadata"`
	Stream            bool              `json:"stream"`
}

// respTool reads a tool of any type.
type respTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
	Filters     respFilters     `json:"filters"`
}

// respHandled are the keys of the body that end up in a request, or concern
// only the exchange between this server and its client. The rest is Extra.
var respHandled = []string{
	"model", "instructions", "previous_response_id", "input", "tools", "tool_choice", "parallel_tool_calls", "max_tool_calls",
	"reasoning", "text", "include", "max_output_tokens", "temperature", "top_p", "prompt_cache_key", "prompt_cache_retention",
	"user", "safety_identifier", "metadata", "stream", "stream_options", "store", "background", "client_metadata",
}

func respInvalid(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.ErrInvalidRequest, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// DecodeRequest reads a client's request.
func (ResponsesServer) DecodeRequest(_ *http.Request, body []byte) (*llm.Request, bool, error) {
	var b respBody
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, false, respInvalid("the request is not valid: %v", err)
	}
	if b.Model == "" {
		return nil, false, respInvalid("the request names no model")
	}
	req := &llm.Request{
		Model: &llm.Model{
			ID: b.Model, API: llm.APIResponses,
			Input: []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
		},
		System:             b.Instructions,
		PreviousResponseID: b.Previous,
		MaxTokens:          b.MaxOutputTokens,
		Temperature:        b.Temperature,
		TopP:               b.TopP,
		SequentialTools:    b.ParallelToolCalls != nil && !*b.ParallelToolCalls,
		Cache:              llm.CacheHint{Key: b.PromptCacheKey},
		User:               b.User,
		Metadata:           b.Metadata,
	}
	if req.User == "" {
		req.User = b.SafetyID
	}
	if b.CacheRetention == "24h" {
		req.Cache.Retention = llm.CacheLong
	}
	if f := b.Text.Format; f != nil && f.Type == "json_schema" {
		req.Output = f.Schema
	}
	respReadTools(req, &b)
	respReadThought(req, b.Reasoning)
	if err := respReadChoice(req, b.ToolChoice); err != nil {
		return nil, false, err
	}
	if err := respReadInput(req, b.Input); err != nil {
		return nil, false, err
	}
	var err error
	if req.Extra, err = respExtra(body); err != nil {
		return nil, false, err
	}
	return req, b.Stream, nil
}

func respExtra(body []byte) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, respInvalid("the request is not valid: %v", err)
	}
	for _, key := range respHandled {
		delete(all, key)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// respCustomSchema is the schema of a tool whose input is plain text. The
// encoder knows such a tool by it.
const respCustomSchema = `{"type":"object","properties":{"input":{"type":"string","description":"The tool's input, as plain text."}},"required":["input"],"additionalProperties":false}`

func respReadTools(req *llm.Request, b *respBody) {
	for _, t := range b.Tools {
		switch {
		case t.Type == "function":
			req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters, Strict: t.Strict})
		case t.Type == "custom":
			req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: json.RawMessage(respCustomSchema)})
		case strings.HasPrefix(t.Type, "web_search"):
			req.ServerTools = append(req.ServerTools, llm.ServerTool{
				Kind: llm.ServerWebSearch, MaxUses: b.MaxToolCalls,
				AllowedDomains: t.Filters.AllowedDomains, BlockedDomains: t.Filters.BlockedDomains,
			})
		}
	}
}

func respReadThought(req *llm.Request, r *respReasoning) {
	if r == nil {
		return
	}
	switch r.Effort {
	case "":
	case "none":
		req.Thinking.Level = llm.LevelOff
		return // without reasoning there is no summary to ask for
	default:
		if level, err := llm.ParseLevel(r.Effort); err == nil {
			req.Thinking.Level = level
		} else {
			req.Thinking.Effort = r.Effort
		}
	}
	req.Thinking.Hidden = r.Summary == ""
}

func respReadChoice(req *llm.Request, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var word string
	var object struct {
		Type string `json:"type"`
		Mode string `json:"mode"`
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &word) != nil {
		if err := json.Unmarshal(raw, &object); err != nil {
			return respInvalid("tool_choice is neither a word nor an object")
		}
		word = object.Mode // of allowed_tools
	}
	switch {
	case object.Type == "function" || object.Type == "custom":
		req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: object.Name}
	case word == "required":
		req.ToolChoice.Mode = llm.ToolAny
	case word == "none":
		req.ToolChoice.Mode = llm.ToolNone
	}
	return nil
}

func respReadInput(req *llm.Request, raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 {
		req.Messages = []llm.Message{llm.UserText(text)}
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return respInvalid("input is neither a string nor a list of items")
	}
	in := respReader{req: req, calls: map[string]llm.ToolCall{}}
	for i, item := range items {
		if err := in.read(item); err != nil {
			return respInvalid("input[%d]: %v", i, err)
		}
	}
	in.endAnswer()
	return nil
}

// respReader turns items into messages. What the model said in a row, reasoning
// and calls and texts, is one message.
type respReader struct {
	req    *llm.Request
	answer *llm.Message
	calls  map[string]llm.ToolCall // by call_id
}

func (in *respReader) say(b llm.Block) {
	if in.answer == nil {
		in.answer = &llm.Message{Role: llm.RoleAssistant, API: llm.APIResponses, Model: in.req.Model.ID}
	}
	in.answer.Content = append(in.answer.Content, b)
}

func (in *respReader) endAnswer() {
	if in.answer == nil {
		return
	}
	in.answer.StopReason = llm.StopEnd
	if len(in.answer.ToolCalls()) > 0 {
		in.answer.StopReason = llm.StopToolUse
	}
	in.req.Messages = append(in.req.Messages, *in.answer)
	in.answer = nil
}

func (in *respReader) hear(m llm.Message) {
	in.endAnswer()
	in.req.Messages = append(in.req.Messages, m)
}

func (in *respReader) read(raw json.RawMessage) error {
	var it respItem
	if err := json.Unmarshal(raw, &it); err != nil {
		return err
	}
	if it.Type == "" && it.Role != "" {
		it.Type = "message" // the short form
	}
	switch it.Type {
	case "message":
		return in.message(&it)
	case "reasoning":
		in.say(respThinking(&it, raw))
	case "function_call":
		in.call(&it, respArguments(it.Arguments))
	case "custom_tool_call":
		in.call(&it, respCustomArguments(it.Input))
	case "function_call_output", "custom_tool_call_output":
		return in.output(&it)
	case "item_reference":
		return fmt.Errorf("item %q is not stored here: send the item itself", it.ID)
	case "":
		return fmt.Errorf("the item has no type")
	default:
		in.say(llm.Opaque{API: llm.APIResponses, Kind: it.Type, Raw: raw})
	}
	return nil
}

func (in *respReader) message(it *respItem) error {
	parts := it.parts(it.Content)
	if it.Role == "assistant" {
		sig := respSignature(it).signature()
		for i := range parts {
			t := llm.Text{Text: parts[i].text(), Signature: sig}
			if parts[i].Annotations != nil {
				for _, raw := range *parts[i].Annotations {
					t.Citations = append(t.Citations, respCitation(raw))
				}
			}
			in.say(t)
		}
		return nil
	}
	content, err := respReadParts(parts)
	if err != nil {
		return err
	}
	switch it.Role {
	case "user":
		in.hear(llm.Message{Role: llm.RoleUser, Content: content})
	case "system", "developer":
		m := llm.Message{Role: llm.RoleSystem, Content: content}
		if len(in.req.Messages) == 0 && in.answer == nil {
			// Before anything else is said it is the system prompt.
			in.req.System = strings.TrimPrefix(in.req.System+"\n\n"+m.Text(), "\n\n")
			return nil
		}
		in.hear(m)
	default:
		return fmt.Errorf("unknown role %q", it.Role)
	}
	return nil
}

func (in *respReader) call(it *respItem, args string) {
	c := llm.ToolCall{ID: respJoinID(it.CallID, it.ID), Name: it.Name, Arguments: args}
	if it.CallID == "" {
		it.CallID = it.ID
	}
	in.calls[it.CallID] = c
	in.say(c)
}

func (in *respReader) output(it *respItem) error {
	c, known := in.calls[it.CallID]
	if !known {
		c = llm.ToolCall{ID: it.CallID, Name: it.Name} // answers a call of the previous response
	}
	content, err := respReadParts(it.parts(it.Output))
	if err != nil {
		return err
	}
	in.hear(llm.Message{Role: llm.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name, Content: content})
	return nil
}

func respReadParts(parts []respPart) ([]llm.Block, error) {
	var out []llm.Block
	for i := range parts {
		p := &parts[i]
		switch p.Type {
		case "input_text", "output_text", "text", "refusal", "":
			out = append(out, llm.Text{Text: p.text()})
		case "input_image":
			if p.ImageURL == "" {
				return nil, fmt.Errorf("an image must come as image_url: files are not stored here")
			}
			mime, data, err := respReadDataURL(p.ImageURL)
			if err != nil {
				return nil, err
			}
			if data == nil {
				out = append(out, llm.Image{URL: p.ImageURL})
			} else {
				out = append(out, llm.Image{MIME: mime, Data: data})
			}
		case "input_file":
			d := llm.Document{Name: p.Filename, URL: p.FileURL}
			if p.FileData != "" {
				var err error
				if d.MIME, d.Data, err = respReadDataURL(p.FileData); err != nil {
					return nil, err
				}
			}
			if d.URL == "" && d.Data == nil {
				return nil, fmt.Errorf("a file must come as file_data or file_url: files are not stored here")
			}
			out = append(out, d)
		default:
			return nil, fmt.Errorf("content of type %q is not known", p.Type)
		}
	}
	return out, nil
}

// respReadDataURL reads data:MIME;base64,… ; data is nil for any other URL.
func respReadDataURL(url string) (mime string, data []byte, err error) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", nil, nil
	}
	mime, encoded, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return "", nil, fmt.Errorf("a data URL must be base64")
	}
	if data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
		return "", nil, fmt.Errorf("a data URL is not valid base64")
	}
	return mime, data, nil
}

// EncodeError answers with an error.
func (ResponsesServer) EncodeError(w http.ResponseWriter, err *llm.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if err.RetryAfter > 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(err.RetryAfter.Milliseconds(), 10))
		h.Set("Retry-After", strconv.FormatInt(int64(err.RetryAfter.Seconds()+0.999), 10))
	}
	if err.RequestID != "" {
		h.Set("X-Request-Id", err.RequestID)
	}
	w.WriteHeader(respStatus(err))
	fmt.Fprintf(w, `{"error":%s}`, respErrorObject(err))
}

// respErrorObject is the error as the API writes it.
func respErrorObject(err *llm.Error) []byte {
	message := err.Message
	if message == "" {
		message = err.Error()
	}
	code := respCode(err)
	object := struct {
		Message  string  `json:"message"`
		Type     string  `json:"type"`
		Param    *string `json:"param"`
		Code     string  `json:"code"`
		ResetsAt int64   `json:"resets_at,omitempty"`
	}{Message: message, Type: code, Code: code}
	if !err.ResetAt.IsZero() {
		object.ResetsAt = err.ResetAt.Unix()
	}
	raw, _ := wire.Marshal(object) // strings and numbers: cannot fail
	return raw
}

// respCode is a code that sorts into the error's kind: the provider's own if it
// does, else the usual one.
func respCode(e *llm.Error) string {
	if e.Code != "" && wire.Sort(0, e.Code, "").Kind == e.Kind {
		return e.Code
	}
	switch e.Kind {
	case llm.ErrAuth:
		return "invalid_api_key"
	case llm.ErrRateLimit:
		return "rate_limit_exceeded"
	case llm.ErrUsageLimit:
		return "insufficient_quota"
	case llm.ErrContextOverflow:
		return "context_length_exceeded"
	case llm.ErrContentFilter:
		return "content_filter"
	case llm.ErrInvalidRequest:
		return "invalid_request_error"
	}
	return "server_error"
}

// respStatus is the HTTP status of an error: its own, or that of its kind.
func respStatus(e *llm.Error) int {
	if e.Status >= 400 && e.Status <= 599 {
		return e.Status
	}
	return statusOf(e.Kind)
}
