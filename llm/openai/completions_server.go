package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// CompletionsServer is the server's half of Chat Completions.
//
// Reasoning is answered in reasoning_content, which most clients show, and what
// proves it in reasoning_details; see the package comment. Items of server tools
// have no words in the format and are left out. A paused turn ends as "stop".
type CompletionsServer struct{}

var _ wire.Server = CompletionsServer{}

// API names the format.
func (CompletionsServer) API() llm.API { return llm.APICompletions }

// Match accepts POST to any path that ends in /chat/completions.
func (CompletionsServer) Match(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/chat/completions")
}

// chatKnown are the keys of a body that have a place in llm.Request. All others
// become Request.Extra.
var chatKnown = []string{
	"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "max_completion_tokens", "max_tokens",
	"temperature", "top_p", "top_k", "min_p", "presence_penalty", "repetition_penalty", "stop", "response_format", "store", "metadata", "user", "prompt_cache_key", "prompt_cache_retention",
	"web_search_options", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "thinking_budget",
	"chat_template_kwargs", "session_id", "plugins",
}

// DecodeRequest reads the body; see [wire.Server]. Keys that an llm.Request has
// no place for, such as seed or stream_options, are kept in Extra.
func (CompletionsServer) DecodeRequest(_ *http.Request, body []byte) (*llm.Request, bool, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, false, chatInvalid("the body is not a chat completion request: " + err.Error())
	}
	if in.Model == "" {
		return nil, false, chatInvalid("model is missing")
	}
	req := &llm.Request{
		Model:           &llm.Model{ID: in.Model, API: llm.APICompletions},
		SequentialTools: in.ParallelToolCalls != nil && !*in.ParallelToolCalls,
		MaxTokens:       max(in.MaxCompletionTokens, in.MaxTokens),
		Temperature:     in.Temperature,
		TopP:            in.TopP,
		TopK:            in.TopK,
		MinP:            in.MinP,
		PresencePenalty: in.PresencePenalty, RepetitionPenalty: in.RepetitionPenalty,
		Stop:     in.Stop,
		Thinking: in.thought(),
		Cache:    llm.CacheHint{Key: in.PromptCacheKey},
		User:     in.User,
		Metadata: in.Metadata,
	}
	if req.Cache.Key == "" {
		req.Cache.Key = in.SessionID
	}
	if in.PromptCacheKeep == "24h" {
		req.Cache.Retention = llm.CacheLong
	}
	if in.WebSearch != nil || len(in.Plugins) > 0 && in.Plugins[0].ID == "web" {
		req.ServerTools = []llm.ServerTool{{Kind: llm.ServerWebSearch}}
	}
	for _, t := range in.Tools {
		if t.Type != "function" || t.Function == nil {
			return nil, false, chatInvalid("only tools of the type function are supported")
		}
		f := t.Function
		req.Tools = append(req.Tools, llm.Tool{
			Name: f.Name, Description: f.Description, Schema: f.Parameters, Strict: f.Strict != nil && *f.Strict,
		})
	}
	var err error
	if req.ToolChoice, err = chatChoiceOf(in.ToolChoice); err != nil {
		return nil, false, err
	}
	if f := in.ResponseFormat; f != nil {
		switch {
		case f.Schema != nil && len(f.Schema.Schema) > 0:
			req.Output = f.Schema.Schema
		case f.Type == "json_object":
			req.Output = json.RawMessage(`{"type":"object"}`)
		}
	}
	if err := chatHistory(req, in.Messages); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(body, &req.Extra); err != nil {
		return nil, false, chatInvalid(err.Error())
	}
	for _, key := range chatKnown {
		delete(req.Extra, key)
	}
	if len(req.Extra) == 0 {
		req.Extra = nil
	}
	return req, in.Stream, nil
}

func chatInvalid(message string) *llm.Error {
	return &llm.Error{Kind: llm.ErrInvalidRequest, Message: message}
}

func chatChoiceOf(raw json.RawMessage) (llm.ToolChoice, error) {
	var word string
	if len(raw) == 0 || json.Unmarshal(raw, &word) == nil {
		switch word {
		case "none":
			return llm.ToolChoice{Mode: llm.ToolNone}, nil
		case "required", "any":
			return llm.ToolChoice{Mode: llm.ToolAny}, nil
		case "", "auto":
			return llm.ToolChoice{}, nil
		}
		return llm.ToolChoice{}, chatInvalid("tool_choice is not one of auto, none, required or a function")
	}
	var named chatToolChoice
	if err := json.Unmarshal(raw, &named); err != nil || named.Function.Name == "" {
		return llm.ToolChoice{}, chatInvalid("tool_choice names no function")
	}
	return llm.ToolChoice{Mode: llm.ToolNamed, Name: named.Function.Name}, nil
}

// thought reads how hard to think from all the dialects that say so.
func (in *chatRequest) thought() llm.Thought {
	var t llm.Thought
	word := in.ReasoningEffort
	off, on := false, false
	if r := in.Reasoning; r != nil {
		if word == "" {
			word = r.Effort
		}
		t.Budget, t.Hidden = r.MaxTokens, r.Exclude
		off, on = r.Enabled != nil && !*r.Enabled, r.Enabled != nil && *r.Enabled
	}
	if s := in.Thinking; s != nil {
		off, on = s.Type == "disabled", s.Type == "enabled"
	}
	flag := in.EnableThinking
	if k := in.TemplateArgs; k != nil && flag == nil {
		flag = k.EnableThinking
	}
	if flag != nil {
		off, on = !*flag, *flag
	}
	if in.ThinkingBudget > 0 {
		t.Budget = in.ThinkingBudget
	}
	level, err := llm.ParseLevel(word)
	switch {
	case off || word == "none":
		t.Level = llm.LevelOff
	case err == nil:
		t.Level = level
	case word == "max":
		t.Level, t.Effort = llm.LevelXHigh, word
	case word != "":
		t.Effort = word
	case on && t.Budget == 0:
		t.Level = llm.LevelMedium // on, without saying how much
	}
	return t
}

// chatHistory reads the messages. Instructions in front become the system
// prompt; later ones keep their place.
func chatHistory(req *llm.Request, in []chatMessage) error {
	names := map[string]string{} // tool names by call id
	front := true
	for i := range in {
		m := &in[i]
		system := m.Role == "system" || m.Role == "developer"
		front = front && system
		msg := llm.Message{Role: llm.RoleUser}
		var err error
		switch {
		case m.Role == "assistant":
			msg, err = chatAnswer(m)
			for _, c := range msg.ToolCalls() {
				names[c.ID] = c.Name
			}
		case m.Role == "tool":
			msg = llm.Message{Role: llm.RoleToolResult, ToolCallID: m.ToolCallID, ToolName: m.Name}
			if msg.ToolName == "" {
				msg.ToolName = names[m.ToolCallID]
			}
			msg.Content, err = chatInput(m)
		case m.Role == "user", system:
			msg.Content, err = chatInput(m)
			if system {
				msg.Role = llm.RoleSystem
			}
		default:
			return chatInvalid("a message has the unknown role " + m.Role)
		}
		if err != nil {
			return err
		}
		if front {
			if req.System != "" {
				req.System += "\n\n"
			}
			req.System += chatPlain(msg.Content, "\n\n")
			continue
		}
		req.Messages = append(req.Messages, msg)
	}
	return nil
}

// chatInput reads the content of a message that the model reads.
func chatInput(m *chatMessage) ([]llm.Block, error) {
	text, parts, err := chatContent(m.Content)
	if err != nil {
		return nil, chatInvalid("the content of a message is neither text nor a list of parts")
	}
	var out []llm.Block
	if text != "" {
		out = append(out, llm.Text{Text: text})
	}
	for _, p := range parts {
		switch {
		case p.Type == "text":
			out = append(out, llm.Text{Text: p.Text})
		case p.Type == "image_url" && p.ImageURL != nil:
			mime, data, ok := chatReadDataURL(p.ImageURL.URL)
			if !ok {
				out = append(out, llm.Image{URL: p.ImageURL.URL})
				break
			}
			out = append(out, llm.Image{MIME: mime, Data: data})
		case p.Type == "file" && p.File != nil && p.File.ID == "":
			mime, data, ok := chatReadDataURL(p.File.Data)
			if !ok {
				return nil, chatInvalid("the file " + p.File.Name + " is not given as a data URL")
			}
			out = append(out, llm.Document{Name: p.File.Name, MIME: mime, Data: data})
		case p.Type == "input_audio" && p.Audio != nil:
			i := slices.IndexFunc(audioFormats, func(f audioFormat) bool { return f.name == p.Audio.Format })
			if i < 0 {
				return nil, chatInvalid("recordings of the format " + p.Audio.Format + " are not supported")
			}
			out = append(out, llm.Document{MIME: audioFormats[i].mime, Data: p.Audio.Data})
		default:
			return nil, chatInvalid("parts of the type " + p.Type + " are not supported in a message")
		}
	}
	return out, nil
}

func chatReadDataURL(url string) (mime string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	head, encoded, found := strings.Cut(rest, ",")
	mime, base := strings.CutSuffix(head, ";base64")
	if !ok || !found || !base {
		return "", nil, false
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	mime, _, _ = strings.Cut(mime, ";")
	return mime, data, err == nil
}

// chatAnswer reads an earlier answer: reasoning, then text, then calls.
func chatAnswer(m *chatMessage) (llm.Message, error) {
	out := llm.Message{Role: llm.RoleAssistant, API: llm.APICompletions, StopReason: llm.StopEnd}
	text, parts, err := chatContent(m.Content)
	if err != nil {
		return out, chatInvalid("the content of a message is neither text nor a list of parts")
	}
	out.Content = chatReasoningOf(m)
	for _, p := range append([]chatPart{{Text: text}}, parts...) {
		if s := p.Text + p.Refusal; s != "" {
			out.Content = append(out.Content, llm.Text{Text: s})
		}
	}
	if m.Refusal != "" {
		out.Content = append(out.Content, llm.Text{Text: m.Refusal})
	}
	for _, c := range m.ToolCalls {
		out.StopReason = llm.StopToolUse
		out.Content = append(out.Content, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: string(c.Function.Arguments)})
	}
	return out, nil
}

// chatReasoningOf reads the reasoning that a client returns. Records of ours
// become blocks as they were; other records stay as they are in one block.
func chatReasoningOf(m *chatMessage) []llm.Block {
	x := chatDelta{
		ReasoningContent: chatLooseText(m.ReasoningContent),
		Reasoning:        chatLooseText(m.Reasoning),
		ReasoningText:    chatLooseText(m.ReasoningText),
	}
	field, text := chatReasoningField(&x, "")
	if field == chatReasoningContent {
		field = ""
	}
	var blocks []llm.Block
	var others []json.RawMessage
	words := ""
	for _, raw := range m.ReasoningDetails {
		var r chatDetail
		switch err := json.Unmarshal(raw, &r); {
		case err != nil || r.Format != chatOwnFormat:
			others = append(others, raw)
			words += r.Text + r.Summary
		case r.Type == chatDetailEncrypted:
			blocks = append(blocks, llm.Thinking{Signature: r.Data, Redacted: true})
		default:
			blocks = append(blocks, llm.Thinking{Text: r.Text, Signature: r.Signature})
		}
	}
	if len(others) > 0 {
		if text == "" {
			text = words
		}
		return append([]llm.Block{llm.Thinking{Text: text, Signature: string(chatJSON(others)), Redacted: text == ""}}, blocks...)
	}
	if len(blocks) == 1 {
		// A client may return the text next to the record instead of in it.
		if b := blocks[0].(llm.Thinking); b.Text == "" && !b.Redacted {
			b.Text, text = text, ""
			blocks[0] = b
		}
	}
	if text != "" && !chatRepeats(blocks, text) {
		blocks = append([]llm.Block{llm.Thinking{Text: text, Signature: field}}, blocks...)
	}
	return blocks
}

// chatRepeats reports whether text is what blocks say already.
func chatRepeats(blocks []llm.Block, text string) bool {
	said := ""
	for _, b := range blocks {
		said += b.(llm.Thinking).Text
	}
	return said == text
}
