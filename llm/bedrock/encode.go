package bedrock

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Keys of the body that extras cannot replace. additionalModelRequestFields is
// merged instead, see mergeFields.
var protected = []string{"messages", "system", "toolConfig", fieldsKey}

const fieldsKey = "additionalModelRequestFields"

// encoder turns one request into the body of a Converse request.
type encoder struct {
	req       *llm.Request
	model     *llm.Model
	traits    traits
	history   []llm.Message
	inference inferenceConfig
	names     map[string]bool // document names in use
	cite      bool            // whether documents are given for citation
}

// encode makes the body. more are extra fields for the model from the
// endpoint's configuration.
func encode(r *llm.Request, forceCache bool, more any) ([]byte, error) {
	e := &encoder{req: r, model: r.Model, traits: traitsOf(r.Model), names: map[string]bool{}}
	if forceCache {
		e.traits.cache, e.traits.cacheTools = true, e.traits.cacheTools || e.traits.family != nova && e.traits.family != nova2
	}
	if r.Cache.Retention == llm.CacheOff {
		e.traits.cache, e.traits.cacheTools = false, false
	}
	e.history = llm.Merge(llm.Legal(r.Messages, e.target()))
	e.cite = e.citable()
	body := converseRequest{
		System:          e.system(),
		ToolConfig:      e.tools(),
		Messages:        e.messages(),
		RequestMetadata: requestMetadata(r.Metadata),
	}
	e.inference = inferenceConfig{MaxTokens: r.MaxTokens, Temperature: r.Temperature, TopP: r.TopP, StopSequences: r.Stop}
	if e.inference.MaxTokens == 0 {
		e.inference.MaxTokens = e.model.MaxOutput
	}
	fields, err := wire.Marshal(e.reason()) // also settles the inference parameters
	if err != nil {
		return nil, err
	}
	if body.AdditionalModelRequestFields, err = mergeFields(fields, r.Extra[fieldsKey], more); err != nil {
		return nil, err
	}
	if i := &e.inference; i.MaxTokens > 0 || i.Temperature != nil || i.TopP != nil || len(i.StopSequences) > 0 {
		body.InferenceConfig = i
	}
	if len(r.Output) > 0 {
		body.OutputConfig = &outputConfig{textFormat{"json_schema", outputStructure{jsonSchema{string(r.Output), "answer"}}}}
	}
	return wire.Marshal(body)
}

// target says what the model takes. Documents inside tool results are moved
// behind them: how they are cited there is not documented.
func (e *encoder) target() llm.Target {
	return llm.Target{
		API: llm.APIBedrock, Provider: e.model.Provider, Model: e.model.ID,
		Images: e.model.Accepts(llm.ModalityImage), ToolImages: e.traits.toolImages,
		Documents:        e.model.Accepts(llm.ModalityDocument),
		OwnThinking:      e.traits.ownReasoning,
		ForeignThinking:  llm.DropThinking,
		UnsignedThinking: e.traits.family != claude,
		CallID:           callID,
	}
}

// callID makes an id Claude takes, which is stricter than Converse: letters,
// digits, '_' and '-', at most 64.
func callID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, id)
	return id[:min(len(id), 64)]
}

func (e *encoder) cachePoint() *cachePoint {
	p := &cachePoint{Type: "default"}
	if e.req.Cache.Retention == llm.CacheLong && e.traits.cacheLong {
		p.TTL = "1h"
	}
	return p
}

func (e *encoder) system() []block {
	text := strings.ToValidUTF8(e.req.System, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	blocks := []block{textBlock(text)}
	if e.traits.cache {
		blocks = append(blocks, block{CachePoint: e.cachePoint()})
	}
	return blocks
}

// emptySchema is the schema of tools without one.
const emptySchema = `{"type":"object","properties":{}}`

// tools is the tool configuration, nil if there is nothing to configure.
//
// Converse refuses a history with calls if no tools come with it; what it was
// called with is then listed by name alone. It has no way to forbid calls: with
// [llm.ToolNone] the tools are left out if the history can do without them, and
// otherwise sent with the choice left open, which also keeps the cached prefix.
func (e *encoder) tools() *toolConfig {
	called := e.called()
	list, choice := e.req.Tools, e.req.ToolChoice
	if len(list) == 0 || choice.Mode == llm.ToolNone && len(called) == 0 {
		list = nil
		for _, name := range called {
			list = append(list, llm.Tool{Name: name, Description: "A tool used earlier in this conversation. It is no longer available."})
		}
		choice = llm.ToolChoice{}
	}
	if len(list) == 0 {
		return nil
	}
	c := &toolConfig{}
	for i := range list {
		// A model that cannot be told which tool to call is shown only that one.
		if choice.Mode == llm.ToolNamed && !e.traits.namedTool && list[i].Name != choice.Name {
			continue
		}
		c.Tools = append(c.Tools, tool{ToolSpec: e.toolSpec(&list[i])})
	}
	if e.traits.cacheTools {
		c.Tools = append(c.Tools, tool{CachePoint: e.cachePoint()})
	}
	c.ToolChoice = e.choose(choice)
	return c
}

// choose is the tool choice; nil lets the model decide.
func (e *encoder) choose(c llm.ToolChoice) *toolChoice {
	if !c.Forced() || e.traits.family == claude && e.model.Thinking.Always {
		return nil
	}
	if c.Mode == llm.ToolNamed && e.traits.namedTool {
		return &toolChoice{Tool: &namedValue{c.Name}}
	}
	return &toolChoice{Any: &struct{}{}}
}

func (e *encoder) toolSpec(t *llm.Tool) *toolSpec {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(emptySchema)
	}
	if e.traits.family == nova || e.traits.family == nova2 {
		schema = novaSchema(schema)
	}
	return &toolSpec{
		Name: t.Name, Description: strings.ToValidUTF8(t.Description, "\uFFFD"),
		InputSchema: inputSchema{schema}, Strict: t.Strict && e.traits.strict,
	}
}

// novaSchema keeps the three keys that Nova takes at the top of a schema.
func novaSchema(schema json.RawMessage) json.RawMessage {
	var s struct {
		Type       json.RawMessage `json:"type,omitempty"`
		Properties json.RawMessage `json:"properties,omitempty"`
		Required   json.RawMessage `json:"required,omitempty"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	kept, err := wire.Marshal(s)
	if err != nil {
		return schema
	}
	return kept
}

// called are the names of all tools the history calls, in order of first use.
func (e *encoder) called() []string {
	var names []string
	for i := range e.history {
		for _, c := range e.history[i].ToolCalls() {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// Limits of requestMetadata.
const (
	maxMetadata       = 16
	maxMetadataLength = 256 // of a key and of a value
)

// requestMetadata keeps what Bedrock takes: its logs hold the pairs, and one
// that does not fit would cost the whole request.
func requestMetadata(m map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if len(out) < maxMetadata && key != "" && loggable(key) && loggable(m[key]) {
			out[key] = m[key]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func loggable(s string) bool {
	if len(s) > maxMetadataLength {
		return false
	}
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune(" :_@$#=/+,-.", rune(c)) {
			return false
		}
	}
	return true
}

// mergeFields adds the model fields of the request's extras, then those of the
// endpoint, to ours. Lists of beta features are joined, other keys replaced.
func mergeFields(ours []byte, extra json.RawMessage, more any) (json.RawMessage, error) {
	if len(extra) == 0 && more == nil {
		if string(ours) == "{}" {
			return nil, nil
		}
		return ours, nil
	}
	all := map[string]json.RawMessage{}
	configured, err := json.Marshal(more)
	if err != nil {
		return nil, invalid("%s of the endpoint's extra body: %v", fieldsKey, err)
	}
	for _, source := range []json.RawMessage{ours, extra, configured} {
		if len(source) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(source, &fields) != nil {
			return nil, invalid("%s must be a JSON object", fieldsKey)
		}
		for key, value := range fields {
			if have, ok := all[key]; ok && key == "anthropic_beta" {
				value = joinLists(have, value)
			}
			all[key] = value
		}
	}
	return wire.Marshal(all)
}

// joinLists is the union of two lists of strings; b if either is none.
func joinLists(a, b json.RawMessage) json.RawMessage {
	var x, y []string
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	for _, s := range y {
		if !slices.Contains(x, s) {
			x = append(x, s)
		}
	}
	joined, err := wire.Marshal(x)
	if err != nil {
		return b
	}
	return joined
}
