package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/schema"
	"github.com/burin-dev/burin/llm/wire"
)

// encode makes the body of a request. The same conversation gives the same
// bytes, and a longer one begins with them, up to cache breakpoints.
func (d *chatDialect) encode(req *llm.Request) ([]byte, error) {
	m := req.Model
	out := chatRequest{
		Model:       m.Upstream(),
		Messages:    d.messages(req),
		Stream:      true,
		Temperature: req.Temperature,
		TopP:        req.TopP,
		TopK:        req.TopK,
		MinP:        req.MinP,

		PresencePenalty:   req.PresencePenalty,
		RepetitionPenalty: req.RepetitionPenalty,
		Stop:              req.Stop,
	}
	if d.host != chatHostMistral { // which refuses keys it does not know
		out.User = req.User
	}
	if chatOn(d.SupportsUsageInStreaming) {
		out.StreamOptions = &chatStreamOptions{IncludeUsage: true}
	}
	if d.MaxTokensField == MaxCompletionTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if chatOn(d.SupportsStore) {
		out.Store = new(bool)
	}
	if err := d.tools(req, &out); err != nil {
		return nil, err
	}
	if len(req.Output) > 0 {
		out.ResponseFormat = d.format(req.Output)
	}
	d.thinking(req, &out)
	if d.vendor() {
		out.TopK, out.MinP, out.RepetitionPenalty = nil, nil, nil
		if m.Thinking.Mode != llm.ThinkingNone && out.ReasoningEffort != "none" {
			out.Temperature, out.TopP, out.PresencePenalty = nil, nil, nil
		}
	}
	d.caching(req, &out)
	d.routing(req, &out)
	body, err := wire.Marshal(&out)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

var chatNoArguments = json.RawMessage(`{"type":"object","properties":{}}`)

func (d *chatDialect) tools(req *llm.Request, out *chatRequest) error {
	choice := req.ToolChoice
	if choice.Mode == llm.ToolNone && !chatOn(d.SupportsToolChoice) {
		return nil
	}
	strict := d.strictSchemas(req.Tools)
	for i, t := range req.Tools {
		f := &chatFunction{Name: t.Name, Description: t.Description, Parameters: t.Schema}
		if len(f.Parameters) == 0 {
			f.Parameters = chatNoArguments
		}
		if !json.Valid(f.Parameters) {
			return fmt.Errorf("the schema of the tool %s is not JSON", t.Name)
		}
		if chatOn(d.SupportsStrictMode) {
			// Explicitly false, because some endpoints take its absence for true.
			on := strict[i] != nil
			f.Strict = &on
			if on {
				f.Parameters = strict[i]
			}
		}
		out.Tools = append(out.Tools, chatTool{Type: "function", Function: f})
	}
	if len(out.Tools) == 0 {
		return nil
	}
	if req.SequentialTools {
		out.ParallelToolCalls = new(bool)
	}
	if !chatOn(d.SupportsToolChoice) {
		return nil
	}
	switch choice.Mode {
	case llm.ToolNone:
		out.ToolChoice = chatJSON("none")
	case llm.ToolAny:
		out.ToolChoice = chatJSON("required")
	case llm.ToolNamed:
		named := chatToolChoice{Type: "function"}
		named.Function.Name = choice.Name
		out.ToolChoice = chatJSON(named)
	}
	return nil
}

// strictSchemas are the strict forms of the tools that are sent as strict; nil
// for the others.
func (d *chatDialect) strictSchemas(tools []llm.Tool) []json.RawMessage {
	out := make([]json.RawMessage, len(tools))
	if !chatOn(d.SupportsStrictMode) || d.ToolStrictMode == StrictNone {
		return out
	}
	all := d.ToolStrictMode == StrictAll
	for i, t := range tools {
		if !t.Strict && !all {
			continue
		}
		s, ok := schema.Strict(t.Schema)
		if !ok && all {
			return make([]json.RawMessage, len(tools))
		}
		out[i] = s
	}
	return out
}

// format asks for an answer that follows a schema. Strict is asked for only
// where it does not put nulls where the schema has none.
func (d *chatDialect) format(output json.RawMessage) *chatFormat {
	f := &chatJSONSchema{Name: "answer", Schema: output}
	if exact, ok := schema.Exact(output); ok {
		f.Schema, f.Strict = exact, true
	}
	return &chatFormat{Type: "json_schema", Schema: f}
}

// thinking says how hard to think, in the endpoint's way. What is not said is
// left to the model.
func (d *chatDialect) thinking(req *llm.Request, out *chatRequest) {
	t, support := req.Thinking, req.Model.Thinking
	level := support.Clamp(t.Level)
	word, budget := t.Effort, t.Budget
	if word == "" && level != llm.LevelDefault && level != llm.LevelOff {
		word = d.word(support, level)
	}
	if support.Mode == llm.ThinkingNone && word == "" && budget == 0 {
		return
	}
	forced := req.ToolChoice.Forced() && len(out.Tools) > 0 && chatOn(d.DisableReasoningOnForcedToolChoice)
	if forced {
		word, budget = "", 0
	}
	off := word == "" && budget == 0 && (level == llm.LevelOff || forced)
	on := word != "" || budget > 0
	switch d.ThinkingFormat {
	case ThinkingOpenRouter:
		d.openRouterThinking(t, word, budget, off && !forced, out)
	case ThinkingZAI:
		if !support.Always { // those that always think refuse the switch
			out.Thinking = chatSwitchOf(on, off)
		}
		if chatOn(d.SupportsReasoningEffort) {
			out.ReasoningEffort = word
		}
	case ThinkingQwen:
		out.EnableThinking = chatBool(on, off)
		if out.ThinkingBudget = budget; budget == 0 && on && support.Mode == llm.ThinkingBudget {
			out.ThinkingBudget = support.Budget(level)
		}
	case ThinkingQwenTemplate:
		if b := chatBool(on, off); b != nil {
			out.TemplateArgs = &chatTemplateArgs{EnableThinking: b}
		}
	default:
		if off && !forced {
			word = d.offWord(support)
		}
		if chatOn(d.SupportsReasoningEffort) {
			out.ReasoningEffort = word
		}
	}
}

func (d *chatDialect) word(support llm.ThinkingSupport, level llm.Level) string {
	if w, ok := d.ReasoningEffortMap[level]; ok {
		return w
	}
	return support.Word(level)
}

// offWord is the effort that means no reasoning. Only the provider is known to
// have one; elsewhere the word must be given, or nothing is sent.
func (d *chatDialect) offWord(support llm.ThinkingSupport) string {
	if w, ok := d.ReasoningEffortMap[llm.LevelOff]; ok {
		return w
	}
	if w, ok := support.Words[llm.LevelOff]; ok {
		return w
	}
	if d.vendor() {
		return "none"
	}
	return ""
}

func (d *chatDialect) openRouterThinking(t llm.Thought, word string, budget int, off bool, out *chatRequest) {
	r := chatReasoning{Exclude: t.Hidden && !off}
	switch {
	case off && d.host == chatHostVercel:
		r.Enabled = new(bool)
	case off:
		r.Effort = "none"
	case budget > 0:
		r.MaxTokens = budget
	default:
		r.Effort = word
	}
	if r != (chatReasoning{}) {
		out.Reasoning = &r
	}
}

func chatSwitchOf(on, off bool) *chatSwitch {
	switch {
	case on:
		return &chatSwitch{Type: "enabled"}
	case off:
		return &chatSwitch{Type: "disabled"}
	}
	return nil
}

// chatBool is true, false, or nil where neither is asked for.
func chatBool(on, off bool) *bool {
	if !on && !off {
		return nil
	}
	return &on
}

// caching asks for the prefix to be cached where that has to be asked for.
func (d *chatDialect) caching(req *llm.Request, out *chatRequest) {
	if req.Cache.Retention == llm.CacheOff {
		return
	}
	long := req.Cache.Retention == llm.CacheLong
	switch d.host {
	case chatHostOpenAI, chatHostAzure, chatHostMoonshot:
		out.PromptCacheKey = req.Cache.Key
		if long && d.host == chatHostOpenAI {
			out.PromptCacheKeep = "24h"
		}
	case chatHostOpenRouter:
		if len(req.Cache.Key) <= 256 { // the provider's limit
			out.SessionID = req.Cache.Key
		}
		if d.claude {
			chatBreakpoints(out.Messages, long)
		}
	case chatHostVercel:
		if d.claude {
			out.ProviderOptions = &chatGatewayOptions{Gateway: &chatGateway{Caching: "auto"}}
		}
	}
}

// chatBreakpoints marks the instructions and the last two messages that are not
// the model's: the later one writes the cache that the next request reads, the
// earlier one reads what the request before has written.
func chatBreakpoints(messages []chatMessage, long bool) {
	mark := &chatCaching{Type: "ephemeral"}
	if long {
		mark.TTL = "1h"
	}
	if len(messages) > 0 && messages[0].Role == "system" {
		chatMark(&messages[0], mark)
	}
	for i, left := len(messages)-1, 2; i > 0 && left > 0; i-- {
		if messages[i].Role != "assistant" && chatMark(&messages[i], mark) {
			left--
		}
	}
}

// chatMark puts a breakpoint on the last text of a message.
func chatMark(m *chatMessage, mark *chatCaching) bool {
	text, parts, err := chatContent(m.Content)
	if err != nil {
		return false
	}
	if text != "" {
		parts = []chatPart{{Type: "text", Text: text}}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].Type == "text" {
			parts[i].CacheControl = mark
			m.Content = chatJSON(parts)
			return true
		}
	}
	return false
}

func (d *chatDialect) routing(req *llm.Request, out *chatRequest) {
	if d.host == chatHostOpenRouter {
		out.Provider = d.OpenRouterRouting
	}
	if r := d.VercelGatewayRouting; r != nil && d.host == chatHostVercel {
		if out.ProviderOptions == nil {
			out.ProviderOptions = &chatGatewayOptions{Gateway: &chatGateway{}}
		}
		out.ProviderOptions.Gateway.Only, out.ProviderOptions.Gateway.Order = r.Only, r.Order
	}
	for _, t := range req.ServerTools {
		switch {
		case t.Kind != llm.ServerWebSearch:
		case d.host == chatHostOpenRouter:
			out.Plugins = []chatPlugin{{ID: "web"}}
		case d.vendor() && strings.Contains(out.Model, "-search-"):
			out.WebSearch = &struct{}{}
		}
	}
}
