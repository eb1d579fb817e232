package google

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/schema"
	"github.com/burin-dev/burin/llm/wire"
)

// placeholderSignature is what Google's guide on thought signatures names for
// calls that another model made: Gemini 3 then does not look for its own.
const placeholderSignature = "skip_thought_signature_validator"

// encodeRequest makes the body of a request. The same history gives the same
// bytes, so that the provider's cache finds its prefix again.
func encodeRequest(req *llm.Request, vertex bool) ([]byte, error) {
	e := encoder{req: req, vertex: vertex, gen: generation(req.Model)}
	r := request{GenerationConfig: e.generationConfig()}
	if req.System != "" {
		r.SystemInstruction = &content{Parts: []json.RawMessage{textPart(req.System).raw()}}
	}
	var err error
	if r.Tools, err = e.tools(); err != nil {
		return nil, err
	}
	r.ToolConfig = e.toolConfig()
	r.Contents = e.contents()
	body, err := wire.Marshal(r)
	if err != nil {
		return nil, invalid("the schema of the answer is not valid JSON")
	}
	return body, nil
}

type encoder struct {
	req    *llm.Request
	vertex bool
	gen    int
	mixed  bool // functions and server tools together
}

func (e *encoder) tools() ([]tool, error) {
	var tools []tool
	if len(e.req.Tools) > 0 {
		t := tool{}
		for _, have := range e.req.Tools {
			d := functionDeclaration{Name: have.Name, Description: have.Description}
			if len(have.Schema) > 0 {
				parameters, err := schema.Google(have.Schema)
				if err != nil {
					return nil, invalid(fmt.Sprintf("the schema of the tool %s: %v", have.Name, err))
				}
				d.Parameters = parameters
			}
			t.FunctionDeclarations = append(t.FunctionDeclarations, d)
		}
		tools = append(tools, t)
		if e.vertex || e.gen < 3 {
			return tools, nil
		}
	}
	for _, s := range e.req.ServerTools {
		switch s.Kind {
		case llm.ServerWebSearch:
			if len(s.AllowedDomains) > 0 || len(s.BlockedDomains) > 0 && !e.vertex {
				continue
			}
			tools = append(tools, tool{GoogleSearch: &googleSearch{ExcludeDomains: s.BlockedDomains}})
		case llm.ServerWebFetch:
			if len(s.AllowedDomains) > 0 || len(s.BlockedDomains) > 0 {
				continue
			}
			tools = append(tools, tool{URLContext: &struct{}{}})
		default:
			continue
		}
		e.mixed = len(e.req.Tools) > 0
	}
	return tools, nil
}

func (e *encoder) toolConfig() *toolConfig {
	if len(e.req.Tools) == 0 {
		return nil // the API refuses a calling mode without functions
	}
	c := toolConfig{IncludeServerSideToolInvocations: e.mixed}
	switch choice := e.req.ToolChoice; choice.Mode {
	case llm.ToolNone:
		c.FunctionCallingConfig = &functionCallingConfig{Mode: "NONE"}
	case llm.ToolAny:
		c.FunctionCallingConfig = &functionCallingConfig{Mode: "ANY"}
	case llm.ToolNamed:
		c.FunctionCallingConfig = &functionCallingConfig{Mode: "ANY", AllowedFunctionNames: []string{choice.Name}}
	default:
		if !e.mixed {
			return nil
		}
	}
	return &c
}

func (e *encoder) generationConfig() *generationConfig {
	r := e.req
	g := generationConfig{
		MaxOutputTokens: r.MaxTokens, // the documented default is the model's limit
		Temperature:     r.Temperature, TopP: r.TopP, TopK: r.TopK, PresencePenalty: r.PresencePenalty, StopSequences: r.Stop,
		ThinkingConfig: e.thinkingConfig(),
	}
	if limit := r.Model.MaxOutput; limit > 0 && g.MaxOutputTokens > limit {
		g.MaxOutputTokens = limit
	}
	if len(r.Output) > 0 {
		g.ResponseMIMEType, g.ResponseJSONSchema = "application/json", r.Output
	}
	if g.MaxOutputTokens == 0 && g.Temperature == nil && g.TopP == nil && g.TopK == nil && g.PresencePenalty == nil && len(g.StopSequences) == 0 &&
		g.ResponseMIMEType == "" && g.ThinkingConfig == nil {
		return nil
	}
	return &g
}

func (e *encoder) thinkingConfig() *thinkingConfig {
	support := e.req.Model.Thinking
	if support.Mode == llm.ThinkingNone {
		return nil
	}
	t := e.req.Thinking
	level := support.Clamp(t.Level)
	c := thinkingConfig{IncludeThoughts: !t.Hidden && t.Level != llm.LevelOff && level != llm.LevelOff}
	if support.Mode == llm.ThinkingBudget {
		c.ThinkingBudget = e.budget(level)
		if c.ThinkingBudget != nil && *c.ThinkingBudget == 0 {
			c.IncludeThoughts = false
		}
	} else {
		c.ThinkingLevel = e.level(level)
	}
	if c == (thinkingConfig{}) {
		return nil
	}
	return &c
}

// level is the word for Gemini 3. It cannot stop thinking; off is the least.
func (e *encoder) level(l llm.Level) string {
	t, support := e.req.Thinking, e.req.Model.Thinking
	word := t.Effort
	switch {
	case word != "":
	case l == llm.LevelDefault:
		return ""
	case l == llm.LevelOff:
		word = support.Word(e.lowest())
	default:
		word = support.Word(l)
	}
	return strings.ToUpper(word)
}

func (e *encoder) lowest() llm.Level {
	for _, l := range e.req.Model.Thinking.Levels {
		if l != llm.LevelOff {
			return l
		}
	}
	if strings.Contains(e.req.Model.Upstream(), "-pro") {
		return llm.LevelLow // Pro knows no minimal
	}
	return llm.LevelMinimal
}

// budget is the number of thinking tokens for Gemini 2.5, within the model's
// documented range and with room left for an answer: thinking counts towards
// the output limit. nil leaves it to the model, -1 asks it to decide.
func (e *encoder) budget(l llm.Level) *int {
	t, r := e.req.Thinking, budgetRange(e.req.Model)
	n := t.Budget
	switch {
	case n < 0:
		n = -1
		return &n
	case n > 0:
	case l == llm.LevelDefault:
		return nil
	case l == llm.LevelOff:
		if r.off {
			return &n
		}
		n = r.min
	default:
		n = e.req.Model.Thinking.Budget(l)
	}
	if limit := e.req.MaxTokens; limit > 0 && n >= limit {
		n = limit / 2
	}
	n = min(max(n, r.min), r.max)
	return &n
}

type thinkingRange struct {
	min, max int
	off      bool // thinking can be turned off
}

func budgetRange(m *llm.Model) thinkingRange {
	id := m.Upstream()
	r := thinkingRange{min: 0, max: 24576, off: true}
	switch {
	case strings.Contains(id, "flash-lite"):
		r.min = 512
	case strings.Contains(id, "-pro"):
		r = thinkingRange{min: 128, max: 32768}
	}
	if m.Thinking.Always {
		r.off, r.min = false, max(r.min, 128)
	}
	return r
}

// target says what the history must be like.
func (e *encoder) target() llm.Target {
	m := e.req.Model
	api := llm.APIGoogle
	if e.vertex {
		api = llm.APIVertex
	}
	images, documents := m.Accepts(llm.ModalityImage), m.Accepts(llm.ModalityDocument)
	return llm.Target{
		API: api, Provider: m.Provider, Model: m.ID,
		Images: images, Documents: documents,
		Audio:      func(string) bool { return m.Accepts(llm.ModalityAudio) },
		ToolImages: images && e.gen >= 3, ToolDocuments: documents && e.gen >= 3,
		// Thoughts of other models are left out: Gemini reads nothing from a
		// thought without its signature, and as text they would be imitated.
		OwnThinking: llm.KeepThinking, UnsignedThinking: true, ForeignThinking: llm.DropThinking,
	}
}

func (e *encoder) contents() []content {
	history := llm.Merge(llm.Legal(e.req.Messages, e.target()))
	var out []content
	for i := 0; i < len(history); i++ {
		m := &history[i]
		switch m.Role {
		case llm.RoleAssistant:
			if parts := e.modelParts(m); len(parts) > 0 {
				out = append(out, content{Role: roleModel, Parts: parts})
			}
		case llm.RoleToolResult:
			n := i
			for n < len(history) && history[n].Role == llm.RoleToolResult {
				n++
			}
			answers, after := e.results(history[i:n])
			out = append(out, answers)
			parts := userParts(after)
			if n < len(history) && history[n].Role == llm.RoleUser {
				parts = append(parts, userParts(history[n].Content)...)
				n++
			}
			if len(parts) > 0 {
				out = append(out, content{Role: roleUser, Parts: parts})
			}
			i = n - 1
		default:
			out = append(out, content{Role: roleUser, Parts: userParts(m.Content)})
		}
	}
	return out
}

func userParts(blocks []llm.Block) []json.RawMessage {
	var parts []json.RawMessage
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			parts = append(parts, textPart(b.Text).raw())
		case llm.Image:
			parts = append(parts, media(b.MIME, b.Data, b.URL).raw())
		case llm.Document:
			parts = append(parts, media(b.MIME, b.Data, b.URL).raw())
		}
	}
	return parts
}

func media(mime string, data []byte, url string) part {
	if len(data) > 0 {
		return part{InlineData: newBlob(mime, data)}
	}
	return part{FileData: &fileData{MIMEType: mime, FileURI: url}}
}

// modelParts are the parts of an answer as they were received.
func (e *encoder) modelParts(m *llm.Message) []json.RawMessage {
	var parts []json.RawMessage
	first := true
	for _, b := range m.Content {
		var p part
		switch b := b.(type) {
		case llm.Text:
			p = textPart(b.Text)
			p.ThoughtSignature = b.Signature
		case llm.Thinking:
			p = textPart(b.Text)
			p.Thought, p.ThoughtSignature = true, b.Signature
		case llm.ToolCall:
			p = part{FunctionCall: e.call(b), ThoughtSignature: b.Signature}
			// Of parallel calls only the first has, and needs, a signature.
			if first && p.ThoughtSignature == "" && e.gen >= 3 {
				p.ThoughtSignature = placeholderSignature
			}
			first = false
		case llm.Opaque:
			if raw := e.keep(b, m); raw != nil {
				parts = append(parts, raw)
			}
			continue
		default:
			continue
		}
		parts = append(parts, p.raw())
	}
	return parts
}

// keep is what is returned of a part kept as it was. Server tools are known
// only to requests that ask for their combination with functions, and a
// signature only to the model that gave it.
func (e *encoder) keep(o llm.Opaque, m *llm.Message) json.RawMessage {
	own := m.Provider == e.req.Model.Provider && m.Model == e.req.Model.ID
	switch o.Kind {
	case kindText:
		if !own {
			return nil
		}
	case kindToolCall, kindToolResponse:
		if !e.mixed {
			return nil
		}
	case kindInlineData, kindFileData:
		if !e.req.Model.Accepts(llm.ModalityImage) {
			return nil
		}
	}
	if own {
		return o.Raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(o.Raw, &fields) != nil {
		return nil
	}
	delete(fields, "thoughtSignature")
	raw, err := wire.Marshal(fields)
	if err != nil {
		return nil
	}
	return raw
}

func (e *encoder) call(c llm.ToolCall) *functionCall {
	f := functionCall{Name: c.Name, Args: json.RawMessage(c.Arguments)}
	if e.sendsIDs() {
		f.ID = c.ID
	}
	return &f
}

func (e *encoder) sendsIDs() bool { return !e.vertex && e.gen >= 3 }

// results are the answers to the calls of one turn, and what they held that
// cannot travel inside.
func (e *encoder) results(messages []llm.Message) (answers content, after []llm.Block) {
	answers.Role = roleUser
	for i := range messages {
		m := &messages[i]
		f := functionResponse{Name: m.ToolName}
		if e.sendsIDs() {
			f.ID = m.ToolCallID
		}
		var text []string
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				text = append(text, b.Text)
			case llm.Image:
				if p, ok := e.inside(b.MIME, b.Data, b.URL); ok {
					f.Parts = append(f.Parts, p)
				} else {
					after = append(after, b)
				}
			case llm.Document:
				if p, ok := e.inside(b.MIME, b.Data, b.URL); ok {
					f.Parts = append(f.Parts, p)
				} else {
					after = append(after, b)
				}
			}
		}
		f.Response = outcome(strings.Join(text, "\n"), m.IsError)
		answers.Parts = append(answers.Parts, part{FunctionResponse: &f}.raw())
	}
	return answers, after
}

// insideTypes are what Gemini 3 reads inside a function's response.
var insideTypes = []string{"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}

func (e *encoder) inside(mime string, data []byte, url string) (responsePart, bool) {
	switch {
	case !slices.Contains(insideTypes, mime):
		return responsePart{}, false
	case len(data) > 0:
		return responsePart{InlineData: newBlob(mime, data)}, true
	}
	// Files by address are Vertex's alone.
	return responsePart{FileData: &fileData{MIMEType: mime, FileURI: url}}, e.vertex
}

func outcome(text string, failed bool) json.RawMessage {
	o := struct {
		Output *string `json:"output,omitempty"`
		Error  *string `json:"error,omitempty"`
	}{Output: &text}
	if failed {
		o.Output, o.Error = nil, &text
	}
	raw, err := wire.Marshal(o)
	if err != nil { // strings always encode
		return json.RawMessage("{}")
	}
	return raw
}
