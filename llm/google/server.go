package google

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Server answers the clients of the format: POST …/models/<id>:generateContent
// and :streamGenerateContent, under any prefix, Vertex's included.
type Server struct{}

var _ wire.Server = Server{}

// API names the format.
func (Server) API() llm.API { return llm.APIGoogle }

const (
	methodWhole  = ":generateContent"
	methodStream = ":streamGenerateContent"
)

// Match reports whether r calls generateContent in either form.
func (Server) Match(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	_, _, ok := target(r.URL)
	return ok
}

// target reads the model's id and the method from the address.
func target(u *url.URL) (model string, stream, ok bool) {
	path, stream := strings.CutSuffix(u.Path, methodStream)
	if !stream {
		if path, ok = strings.CutSuffix(u.Path, methodWhole); !ok {
			return "", false, false
		}
	}
	for _, prefix := range []string{"/models/", "/tunedModels/", "/endpoints/"} {
		if i := strings.LastIndex(path, prefix); i >= 0 && len(path) > i+len(prefix) {
			model = path[i+1:]
			if prefix == "/models/" {
				model = path[i+len(prefix):]
			}
			return model, stream, true
		}
	}
	return "", false, false
}

// DecodeRequest reads a request. Calls without ids get ids that are the same
// each time the conversation is sent. Cached contents are refused: the server
// has none, and leaving one out would change the conversation.
func (Server) DecodeRequest(r *http.Request, body []byte) (*llm.Request, bool, error) {
	model, stream, ok := target(r.URL)
	if !ok {
		return nil, false, invalid("the address names no model and method of generateContent")
	}
	var in request
	if err := json.Unmarshal(camelCase(body), &in); err != nil {
		return nil, stream, invalid("the body is not a generateContent request: " + err.Error())
	}
	if in.CachedContent != "" {
		return nil, stream, invalid("cachedContent is not supported here: send the contents themselves")
	}
	req := &llm.Request{Model: &llm.Model{ID: model, API: llm.APIGoogle}}
	if in.SystemInstruction != nil {
		req.System = systemText(in.SystemInstruction)
	}
	d := historyDecoder{model: req.Model, ids: newCallIDs(nil)}
	for i := range in.Contents {
		if err := d.content(&in.Contents[i]); err != nil {
			return nil, stream, invalid(fmt.Sprintf("contents[%d]: %v", i, err))
		}
	}
	req.Messages = d.out
	decodeTools(req, &in)
	if err := decodeConfig(req, in.GenerationConfig); err != nil {
		return nil, stream, err
	}
	return req, stream, nil
}

func systemText(c *content) string {
	var texts []string
	for _, raw := range c.Parts {
		var p part
		if json.Unmarshal(raw, &p) == nil && p.Text != nil {
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// historyDecoder turns contents into messages.
type historyDecoder struct {
	model   *llm.Model
	ids     *callIDs
	out     []llm.Message
	pending []llm.ToolCall // of the last answer, not yet answered
	renamed map[string]string
}

func (d *historyDecoder) content(c *content) error {
	parts := make([]part, len(c.Parts))
	for i, raw := range c.Parts {
		if err := json.Unmarshal(raw, &parts[i]); err != nil {
			return fmt.Errorf("parts[%d]: %w", i, err)
		}
	}
	switch c.Role {
	case roleModel:
		return d.answer(c, parts)
	case roleUser, "", "function", "tool": // the last two are of older clients
		return d.input(parts)
	}
	return fmt.Errorf("unknown role %q", c.Role)
}

func (d *historyDecoder) answer(c *content, parts []part) error {
	m := llm.Message{Role: llm.RoleAssistant, API: llm.APIGoogle, Provider: d.model.Provider, Model: d.model.ID, StopReason: llm.StopEnd}
	d.pending, d.renamed = nil, map[string]string{}
	for i := range parts {
		p := &parts[i]
		switch kind := p.opaque(); {
		case p.FunctionCall != nil:
			call := d.call(p)
			d.pending = append(d.pending, call)
			m.Content = append(m.Content, call)
			m.StopReason = llm.StopToolUse
		case kind != "":
			m.Content = append(m.Content, llm.Opaque{API: llm.APIGoogle, Kind: kind, Raw: c.Parts[i]})
		case p.Text == nil:
		case p.Thought && *p.Text == "" && p.ThoughtSignature != "":
			m.Content = append(m.Content, llm.Thinking{Signature: p.ThoughtSignature, Redacted: true})
		case p.Thought:
			m.Content = append(m.Content, llm.Thinking{Text: *p.Text, Signature: p.ThoughtSignature})
		case *p.Text == "" && p.ThoughtSignature != "":
			m.Content = append(m.Content, llm.Opaque{API: llm.APIGoogle, Kind: kindText, Raw: c.Parts[i]})
		default:
			m.Content = append(m.Content, llm.Text{Text: *p.Text, Signature: p.ThoughtSignature})
		}
	}
	d.out = append(d.out, m)
	return nil
}

func (d *historyDecoder) call(p *part) llm.ToolCall {
	args := p.FunctionCall.Args
	if !present(args) {
		args = json.RawMessage("{}")
	}
	c := llm.ToolCall{Name: p.FunctionCall.Name, Arguments: string(args), Signature: p.ThoughtSignature}
	if c.Signature == placeholderSignature {
		c.Signature = ""
	}
	c.ID = d.ids.take(p.FunctionCall.ID, "", c.Name, args)
	if p.FunctionCall.ID != "" {
		d.renamed[p.FunctionCall.ID] = c.ID
	}
	return c
}

func (d *historyDecoder) input(parts []part) error {
	user := llm.Message{Role: llm.RoleUser}
	for i := range parts {
		p := &parts[i]
		var b llm.Block
		var err error
		switch {
		case p.FunctionResponse != nil:
			var m llm.Message
			if m, err = d.result(p.FunctionResponse); err == nil {
				d.out = append(d.out, m)
			}
		case p.Text != nil:
			b = llm.Text{Text: *p.Text}
		case p.InlineData != nil:
			b, err = inline(p.InlineData)
		case p.FileData != nil:
			b = linked(p.FileData)
		}
		if err != nil {
			return fmt.Errorf("parts[%d]: %w", i, err)
		}
		if b != nil {
			user.Content = append(user.Content, b)
		}
	}
	if len(user.Content) > 0 {
		d.out = append(d.out, user)
	}
	return nil
}

// result finds the call that r answers: by id, else the first of that name that
// is still open.
func (d *historyDecoder) result(r *functionResponse) (llm.Message, error) {
	m := llm.Message{Role: llm.RoleToolResult, ToolName: r.Name, ToolCallID: r.ID}
	at := slices.IndexFunc(d.pending, func(c llm.ToolCall) bool {
		if r.ID != "" {
			return c.ID == d.renamed[r.ID]
		}
		return c.Name == r.Name
	})
	if at >= 0 {
		m.ToolCallID = d.pending[at].ID
		d.pending = slices.Delete(d.pending, at, at+1)
	}
	text, failed := resultText(r.Response)
	m.IsError = failed
	if text != "" {
		m.Content = append(m.Content, llm.Text{Text: text})
	}
	for _, p := range r.Parts {
		switch {
		case p.InlineData != nil:
			b, err := inline(p.InlineData)
			if err != nil {
				return m, err
			}
			m.Content = append(m.Content, b)
		case p.FileData != nil:
			m.Content = append(m.Content, linked(p.FileData))
		}
	}
	return m, nil
}

// resultText reads {"output": …} or {"error": …}; any other object is output as
// a whole, as the reference says.
func resultText(raw json.RawMessage) (text string, failed bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || len(fields) == 0 {
		return "", false
	}
	value := raw
	if v, ok := fields["output"]; ok {
		value = v
	} else if v, ok := fields["error"]; ok {
		value, failed = v, true
	}
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return text, failed
}

func inline(b *blob) (llm.Block, error) {
	data, err := b.bytes()
	if err != nil {
		return nil, fmt.Errorf("inlineData holds no base64: %w", err)
	}
	if strings.HasPrefix(b.MIMEType, "image/") {
		return llm.Image{MIME: b.MIMEType, Data: data}, nil
	}
	return llm.Document{MIME: b.MIMEType, Data: data}, nil
}

func linked(f *fileData) llm.Block {
	if strings.HasPrefix(f.MIMEType, "image/") {
		return llm.Image{MIME: f.MIMEType, URL: f.FileURI}
	}
	return llm.Document{MIME: f.MIMEType, URL: f.FileURI}
}

func decodeTools(req *llm.Request, in *request) {
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			s := f.ParametersJSONSchema
			switch {
			case s != nil:
			case f.Parameters != nil:
				s = jsonSchema(f.Parameters)
			default:
				s = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			req.Tools = append(req.Tools, llm.Tool{Name: f.Name, Description: f.Description, Schema: s})
		}
		if t.GoogleSearch != nil {
			req.ServerTools = append(req.ServerTools, llm.ServerTool{Kind: llm.ServerWebSearch, BlockedDomains: t.GoogleSearch.ExcludeDomains})
		}
		if t.URLContext != nil {
			req.ServerTools = append(req.ServerTools, llm.ServerTool{Kind: llm.ServerWebFetch})
		}
	}
	if in.ToolConfig == nil || in.ToolConfig.FunctionCallingConfig == nil {
		return
	}
	c := in.ToolConfig.FunctionCallingConfig
	switch strings.ToUpper(c.Mode) {
	case "NONE":
		req.ToolChoice.Mode = llm.ToolNone
	case "ANY":
		req.ToolChoice.Mode = llm.ToolAny
		if len(c.AllowedFunctionNames) == 1 {
			req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: c.AllowedFunctionNames[0]}
		} else if len(c.AllowedFunctionNames) > 1 {
			// Some of the tools: the others are as good as absent.
			req.Tools = slices.DeleteFunc(req.Tools, func(t llm.Tool) bool {
				return !slices.Contains(c.AllowedFunctionNames, t.Name)
			})
		}
	}
}

func decodeConfig(req *llm.Request, g *generationConfig) error {
	req.Thinking.Hidden = true // thoughts are shown only to those who ask
	if g == nil {
		return nil
	}
	req.MaxTokens, req.Temperature, req.TopP, req.Stop = g.MaxOutputTokens, g.Temperature, g.TopP, g.StopSequences
	req.TopK, req.PresencePenalty = g.TopK, g.PresencePenalty
	switch {
	case len(g.ResponseJSONSchema) > 0:
		req.Output = g.ResponseJSONSchema
	case len(g.ResponseSchema) > 0:
		req.Output = jsonSchema(g.ResponseSchema)
	case g.ResponseMIMEType == "application/json":
		req.Output = json.RawMessage(`{}`)
	}
	t := g.ThinkingConfig
	if t == nil {
		return nil
	}
	req.Thinking.Hidden = !t.IncludeThoughts
	if t.ThinkingLevel != "" {
		level := llm.Level(strings.ToLower(t.ThinkingLevel))
		if level == "thinking_level_unspecified" {
			level = llm.LevelDefault
		} else if _, err := llm.ParseLevel(string(level)); err != nil {
			return invalid("generationConfig.thinkingConfig.thinkingLevel: " + err.Error())
		}
		req.Thinking.Level = level
	}
	if t.ThinkingBudget != nil {
		req.Thinking.Level, req.Thinking.Budget = budgetLevel(*t.ThinkingBudget), *t.ThinkingBudget
	}
	return nil
}

// budgetLevel is the lowest level that grants a budget, for models that take
// words.
func budgetLevel(n int) llm.Level {
	switch {
	case n < 0:
		return llm.LevelDefault
	case n == 0:
		return llm.LevelOff
	}
	for _, l := range llm.Levels()[1:] {
		if llm.DefaultBudget(l) >= n {
			return l
		}
	}
	return llm.LevelXHigh
}
