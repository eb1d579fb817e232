package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/schema"
	"github.com/burin-dev/burin/llm/wire"
)

const (
	respMinTokens = 16 // smallest max_output_tokens the API accepts
	// respInstructions stands in where Codex is given no system prompt, which it
	// refuses.
	respInstructions = "You are a helpful assistant."
	respEncrypted    = "reasoning.encrypted_content"
	respAnyObject    = `{"type":"object","properties":{}}`
)

// encode makes the body of a request.
func (c *ResponsesClient) encode(req *llm.Request) ([]byte, error) {
	m := req.Model
	codex := c.o.API == llm.APICodexResponses
	b := respRequest{
		Model:        m.Upstream(),
		Instructions: req.System,
		Stream:       true,
		Store:        c.o.Stateful,
	}
	if c.o.API == llm.APIAzureResponses {
		b.Model = c.o.Azure.deployment(m.ID, m.Upstream())
	}
	if codex && strings.TrimSpace(b.Instructions) == "" {
		b.Instructions = respInstructions
	}
	if c.o.Stateful {
		b.PreviousResponseID = req.PreviousResponseID
	}
	b.Input = c.input(req, b.PreviousResponseID != "")
	if err := c.tools(&b, req); err != nil {
		return nil, err
	}
	effort := respEffort(&b, req)
	if err := respOutputFormat(&b, req.Output); err != nil {
		return nil, err
	}
	if req.Cache.Retention != llm.CacheOff {
		b.PromptCacheKey = respShort(req.Cache.Key)
	}
	if codex {
		return wire.Marshal(b)
	}
	if req.Cache.Retention == llm.CacheLong {
		b.CacheRetention = "24h"
	}
	if req.MaxTokens > 0 {
		b.MaxOutputTokens = max(req.MaxTokens, respMinTokens)
	}
	if !respFixedSampling(m.Upstream()) || effort == "none" {
		b.Temperature, b.TopP = req.Temperature, req.TopP
	}
	b.User = req.User
	b.Metadata = req.Metadata
	return wire.Marshal(b)
}

// respFixedSampling reports whether the model is one of OpenAI's that refuse
// temperature and top-p while they reason.
func respFixedSampling(id string) bool {
	id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	if len(id) >= 2 && id[0] == 'o' && '1' <= id[1] && id[1] <= '9' {
		return true
	}
	return strings.HasPrefix(id, "gpt-5") && !strings.Contains(id, "-chat")
}

// respEffort says how hard to think and returns the word for it.
func respEffort(b *respRequest, req *llm.Request) string {
	support := req.Model.Thinking
	if support.Mode == llm.ThinkingNone {
		return ""
	}
	// Without this, reasoning comes back as a reference to what is not stored.
	b.Include = append(b.Include, respEncrypted)
	level := support.Clamp(req.Thinking.Level)
	r := respReasoning{Effort: req.Thinking.Effort}
	switch {
	case r.Effort != "":
	case level == llm.LevelOff:
		r.Effort = "none"
		if w, ok := support.Words[llm.LevelOff]; ok {
			r.Effort = w
		}
	case level != llm.LevelDefault:
		r.Effort = support.Word(level)
	}
	if !req.Thinking.Hidden && r.Effort != "none" {
		r.Summary = "auto"
	}
	if r != (respReasoning{}) {
		b.Reasoning = &r
	}
	return r.Effort
}

// respOutputFormat asks for an answer that follows a schema. It is enforced
// where the schema can be as it is; one that would have to be changed for that
// (optional fields become required) is only asked for, so that the answer
// follows the schema of the caller and no other.
func respOutputFormat(b *respRequest, output json.RawMessage) error {
	if len(output) == 0 {
		return nil
	}
	if !json.Valid(output) {
		return fmt.Errorf("the schema of the answer is not valid JSON")
	}
	strict, ok := schema.Strict(output)
	ok = ok && respSameJSON(strict, output)
	b.Text = &respTextConfig{Format: &respFormat{Type: "json_schema", Name: "answer", Strict: &ok, Schema: output}}
	return nil
}

func respSameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func (c *ResponsesClient) tools(b *respRequest, req *llm.Request) error {
	for i := range req.Tools {
		t := &req.Tools[i]
		f := respFunction{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema}
		if len(t.Schema) == 0 {
			f.Parameters = json.RawMessage(respAnyObject)
		} else if !json.Valid(t.Schema) {
			return fmt.Errorf("the schema of tool %s is not valid JSON", t.Name)
		}
		if t.Strict && !c.o.NoStrict {
			if strict, ok := schema.Strict(f.Parameters); ok {
				f.Parameters, f.Strict = strict, true
			}
		}
		b.Tools = append(b.Tools, f)
	}
	for _, s := range req.ServerTools {
		if s.Kind != llm.ServerWebSearch {
			continue
		}
		w := respWebSearch{Type: "web_search"}
		if len(s.AllowedDomains)+len(s.BlockedDomains) > 0 {
			w.Filters = &respFilters{AllowedDomains: s.AllowedDomains, BlockedDomains: s.BlockedDomains}
		}
		b.Tools = append(b.Tools, w)
		b.MaxToolCalls = s.MaxUses
	}
	if len(b.Tools) == 0 {
		return nil // a choice without tools is refused
	}
	switch req.ToolChoice.Mode {
	case llm.ToolNone:
		b.ToolChoice = "none"
	case llm.ToolAny:
		b.ToolChoice = "required"
	case llm.ToolNamed:
		b.ToolChoice = respNamed{Type: "function", Name: req.ToolChoice.Name}
	}
	if req.SequentialTools {
		no := false
		b.ParallelToolCalls = &no
	}
	return nil
}

// target says what the host reads. System messages inside a conversation become
// items of their own.
func (c *ResponsesClient) target(m *llm.Model) llm.Target {
	ids := respIDs{}
	images, documents := m.Accepts(llm.ModalityImage), m.Accepts(llm.ModalityDocument)
	return llm.Target{
		API: c.o.API, Provider: m.Provider, Model: m.ID,
		Images: images, ToolImages: images && !c.o.PlainOutputs,
		Documents: documents, ToolDocuments: documents && !c.o.PlainOutputs,
		// Reasoning of others proves nothing here; as text it would teach the
		// model to write tags.
		ForeignThinking:  llm.DropThinking,
		OwnThinking:      llm.KeepThinking,
		UnsignedThinking: true, // left out here, where it is known what that means for ids
		CallID:           ids.legal,
		SystemInline:     true,
	}
}

// input makes the items of a history. Where chained, the history continues from a
// response the host holds, so that outputs may answer calls that are not in it.
func (c *ResponsesClient) input(req *llm.Request, chained bool) []any {
	t := c.target(req.Model)
	messages := req.Messages
	lead := 0
	if chained {
		messages, lead = respBridge(messages, t)
	}
	items := []any{}
	for _, m := range llm.Legal(messages, t)[lead:] {
		switch m.Role {
		case llm.RoleAssistant:
			items = c.assistant(items, &m, &t)
		case llm.RoleToolResult:
			call, _ := respSplitID(m.ToolCallID)
			items = append(items, respOutput{Type: "function_call_output", CallID: call, Output: respToolOutput(m.Content)})
		case llm.RoleSystem:
			role := "system"
			switch {
			case len(items) == 0 && !chained:
				role = "user" // instructions have their own place: a user begins
			case c.o.API == llm.APICodexResponses:
				role = "developer"
			}
			items = append(items, respMessage{Type: "message", Role: role, Content: respParts(m.Content)})
		default:
			items = append(items, respMessage{Type: "message", Role: "user", Content: respParts(m.Content)})
		}
	}
	return items
}

// respBridge puts the calls that leading results answer in front of them, so
// that they pass for results. lead is the number of messages to leave out again
// once the history is legal.
func respBridge(messages []llm.Message, t llm.Target) (bridged []llm.Message, lead int) {
	calls := llm.Message{Role: llm.RoleAssistant, API: t.API, Provider: t.Provider, Model: t.Model}
	for _, m := range messages {
		if m.Role != llm.RoleToolResult {
			break
		}
		calls.Content = append(calls.Content, llm.ToolCall{ID: m.ToolCallID, Name: m.ToolName})
	}
	if len(calls.Content) == 0 {
		return messages, 0
	}
	return append([]llm.Message{llm.UserText("-"), calls}, messages...), 2
}

// respToolOutput is a plain string unless there is more than text.
func respToolOutput(blocks []llm.Block) any {
	var texts []string
	for _, b := range blocks {
		t, ok := b.(llm.Text)
		if !ok {
			return respParts(blocks)
		}
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, "\n")
}

// respParts is the content of a message the model reads.
func respParts(blocks []llm.Block) []respPart {
	parts := make([]respPart, 0, len(blocks))
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			parts = append(parts, respPart{Type: "input_text", Text: &b.Text})
		case llm.Image:
			url := b.URL
			if len(b.Data) > 0 {
				url = respDataURL(b.MIME, b.Data)
			}
			parts = append(parts, respPart{Type: "input_image", Detail: "auto", ImageURL: url})
		case llm.Document:
			p := respPart{Type: "input_file"}
			if len(b.Data) > 0 {
				p.FileData = respDataURL(b.MIME, b.Data)
				if p.Filename = b.Name; p.Filename == "" {
					p.Filename = "document.pdf" // required beside data
				}
			} else {
				p.FileURL = b.URL
			}
			parts = append(parts, p)
		}
	}
	return parts
}

func respDataURL(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// assistant appends the items of an answer.
func (c *ResponsesClient) assistant(items []any, m *llm.Message, t *llm.Target) []any {
	w := respReplay{items: items, stateless: !c.o.Stateful && c.o.API == llm.APIAzureResponses}
	own := m.API.Family() == t.API.Family() && m.Provider == t.Provider && m.Model == t.Model
	broken := m.StopReason == llm.StopError || m.StopReason == llm.StopAborted
	w.sealed = respAllSealed(m.Content)
	w.ids = own && !broken && !w.stateless && w.sealed
	// Reasoning must be followed by what it led to.
	end := len(m.Content)
	for end > 0 {
		if _, ok := m.Content[end-1].(llm.Thinking); !ok {
			break
		}
		end--
	}
	for _, b := range m.Content[:end] {
		switch b := b.(type) {
		case llm.Thinking:
			w.thinking(b)
		case llm.Text:
			w.text(b)
		case llm.ToolCall:
			w.call(b)
		case llm.Opaque:
			// Hosts know only the items of their own.
			if m.Provider == t.Provider {
				w.add(b.Raw)
			}
		}
	}
	return w.items
}

// respAllSealed reports whether all reasoning can be returned. If some cannot,
// the items it led to must not name themselves: the host would ask for it.
func respAllSealed(blocks []llm.Block) bool {
	for _, b := range blocks {
		if t, ok := b.(llm.Thinking); ok && !respSealed(t.Signature) {
			return false
		}
	}
	return true
}

// respSealed reports whether a signature is a reasoning item that holds its own
// content, encrypted or plain. One that has only an id is worth nothing where
// nothing is stored.
func respSealed(signature string) bool {
	var it respItem
	if !strings.HasPrefix(signature, "{") || respLenient([]byte(signature), &it) != nil || it.Type != "reasoning" {
		return false
	}
	return it.Encrypted != "" || len(it.parts(it.Content)) > 0
}

// respReplay appends the items of one answer.
type respReplay struct {
	items     []any
	ids       bool         // items keep their ids
	sealed    bool         // all reasoning can be returned
	stateless bool         // Azure looks ids up even where nothing is stored: none may be sent
	open      *respMessage // message that further text of the same item joins
	sig       string       // its signature
}

func (w *respReplay) add(item any) {
	w.items = append(w.items, item)
	w.open = nil
}

func (w *respReplay) thinking(b llm.Thinking) {
	if !w.sealed && !respSealed(b.Signature) {
		return
	}
	raw := json.RawMessage(b.Signature)
	if w.stateless {
		raw = respWithoutID(raw)
	}
	w.add(raw)
}

func respWithoutID(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return raw
	}
	delete(object, "id")
	out, err := wire.Marshal(object)
	if err != nil {
		return raw
	}
	return out
}

func (w *respReplay) text(b llm.Text) {
	part := respPart{Type: "output_text", Text: &b.Text}
	if w.open != nil && w.sig == b.Signature {
		if w.open.ID != "" {
			part.Annotations = respAnnotations(b.Citations)
		}
		w.open.Content = append(w.open.Content, part)
		return
	}
	id := respReadTextID(b.Signature)
	m := &respMessage{Type: "message", Role: "assistant", Phase: id.Phase}
	if w.ids && respItemID(id.ID, "msg") {
		m.ID, m.Status = id.ID, "completed"
		part.Annotations = respAnnotations(b.Citations)
	}
	m.Content = []respPart{part}
	w.add(m)
	w.open, w.sig = m, b.Signature
}

// respAnnotations are the records of citations that came from this API.
func respAnnotations(citations []llm.Citation) *[]json.RawMessage {
	out := []json.RawMessage{}
	for _, c := range citations {
		if bytes.HasPrefix(c.Raw, []byte("{")) {
			out = append(out, c.Raw)
		}
	}
	return &out
}

func (w *respReplay) call(b llm.ToolCall) {
	call, item := respSplitID(b.ID)
	if !w.ids {
		item = ""
	}
	w.add(respCall{Type: "function_call", ID: item, CallID: call, Name: b.Name, Arguments: &b.Arguments})
}
