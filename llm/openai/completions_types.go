package openai

import (
	"bytes"
	"encoding/json"

	"github.com/burin-dev/burin/llm/wire"
)

// chatRequest is the body of POST /chat/completions. The order of the fields is
// the order on the wire, and stays the same, so that prompt caches hit.
type chatRequest struct {
	Model               string             `json:"model"`
	Messages            []chatMessage      `json:"messages"`
	Tools               []chatTool         `json:"tools,omitempty"`
	ToolChoice          json.RawMessage    `json:"tool_choice,omitempty"` // a word or chatToolChoice
	ParallelToolCalls   *bool              `json:"parallel_tool_calls,omitempty"`
	Stream              bool               `json:"stream,omitempty"`
	StreamOptions       *chatStreamOptions `json:"stream_options,omitempty"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
	MaxTokens           int                `json:"max_tokens,omitempty"`
	Temperature         *float64           `json:"temperature,omitempty"`
	TopP                *float64           `json:"top_p,omitempty"`
	TopK                *int               `json:"top_k,omitempty"` // this and the next: OpenRouter, vLLM, llama.cpp and others
	MinP                *float64           `json:"min_p,omitempty"`
	PresencePenalty     *float64           `json:"presence_penalty,omitempty"`
	RepetitionPenalty   *float64           `json:"repetition_penalty,omitempty"` // not OpenAI, as top_k
	Stop                chatStop           `json:"stop,omitempty"`
	ResponseFormat      *chatFormat        `json:"response_format,omitempty"`
	Store               *bool              `json:"store,omitempty"`
	Metadata            map[string]string  `json:"metadata,omitempty"`
	User                string             `json:"user,omitempty"`
	PromptCacheKey      string             `json:"prompt_cache_key,omitempty"`
	PromptCacheKeep     string             `json:"prompt_cache_retention,omitempty"`
	WebSearch           *struct{}          `json:"web_search_options,omitempty"`

	ReasoningEffort string              `json:"reasoning_effort,omitempty"`
	Reasoning       *chatReasoning      `json:"reasoning,omitempty"`            // OpenRouter, Vercel
	Thinking        *chatSwitch         `json:"thinking,omitempty"`             // Z.ai, Moonshot, DeepSeek
	EnableThinking  *bool               `json:"enable_thinking,omitempty"`      // Qwen
	ThinkingBudget  int                 `json:"thinking_budget,omitempty"`      // Qwen
	TemplateArgs    *chatTemplateArgs   `json:"chat_template_kwargs,omitempty"` // vLLM, llama.cpp, SGLang
	Provider        *Routing            `json:"provider,omitempty"`             // OpenRouter
	ProviderOptions *chatGatewayOptions `json:"providerOptions,omitempty"`      // Vercel
	SessionID       string              `json:"session_id,omitempty"`           // OpenRouter
	Plugins         []chatPlugin        `json:"plugins,omitempty"`              // OpenRouter
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatStop is one text or a list of them.
type chatStop []string

func (s *chatStop) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		if one != "" {
			*s = chatStop{one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}

type chatFormat struct {
	Type   string          `json:"type"` // text, json_object, json_schema
	Schema *chatJSONSchema `json:"json_schema,omitempty"`
}

type chatJSONSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

type chatReasoning struct {
	Effort    string `json:"effort,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
	Enabled   *bool  `json:"enabled,omitempty"`
	Exclude   bool   `json:"exclude,omitempty"`
}

type chatSwitch struct {
	Type string `json:"type"` // enabled, disabled
}

type chatTemplateArgs struct {
	EnableThinking *bool `json:"enable_thinking,omitempty"`
}

type chatGatewayOptions struct {
	Gateway *chatGateway `json:"gateway"`
}

type chatGateway struct {
	Only    []string `json:"only,omitempty"`
	Order   []string `json:"order,omitempty"`
	Caching string   `json:"caching,omitempty"`
}

type chatPlugin struct {
	ID string `json:"id"`
}

type chatTool struct {
	Type     string        `json:"type"`
	Function *chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

type chatToolChoice struct {
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// chatMessage is a message of the request, and the whole message of an answer
// that is not streamed.
type chatMessage struct {
	Role             string            `json:"role"`
	Content          json.RawMessage   `json:"content"` // text, a list of chatPart, or null
	Refusal          string            `json:"refusal,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningText    string            `json:"reasoning_text,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []chatCall        `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	Name             string            `json:"name,omitempty"`
	Annotations      []chatAnnotation  `json:"annotations,omitempty"`
	Prefix           bool              `json:"prefix,omitempty"` // Mistral's: the answer continues this message, which is the last one
}

type chatPart struct {
	Type         string       `json:"type"` // text, image_url, file, input_audio; refusal, thinking and output_text are read
	Text         string       `json:"text,omitempty"`
	ImageURL     *chatImage   `json:"image_url,omitempty"`
	File         *chatFile    `json:"file,omitempty"`
	Audio        *chatAudio   `json:"input_audio,omitempty"`
	CacheControl *chatCaching `json:"cache_control,omitempty"`
	Refusal      string       `json:"refusal,omitempty"`
	// Thinking is Mistral's: a list of text parts.
	Thinking []chatPart `json:"thinking,omitempty"`
}

type chatAudio struct {
	Data   []byte `json:"data"`
	Format string `json:"format"` // wav, mp3; OpenRouter has more
}

type chatImage struct {
	URL string `json:"url"`
}

// UnmarshalJSON also reads the bare URL that some clients send.
func (i *chatImage) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &i.URL) == nil {
		return nil
	}
	type plain chatImage
	return json.Unmarshal(b, (*plain)(i))
}

type chatFile struct {
	Name string `json:"filename,omitempty"`
	Data string `json:"file_data,omitempty"` // data URL
	ID   string `json:"file_id,omitempty"`   // of a file uploaded before; not supported
}

// chatCaching is Anthropic's cache breakpoint, as OpenRouter takes it.
type chatCaching struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

type chatCall struct {
	Index    *int             `json:"index,omitempty"`
	ID       string           `json:"id,omitempty"`
	Type     string           `json:"type,omitempty"`
	Function chatCallFunction `json:"function"`
}

type chatCallFunction struct {
	Name      string        `json:"name,omitempty"`
	Arguments chatArguments `json:"arguments"`
}

// chatArguments is JSON text. Some servers send the object itself.
type chatArguments string

func (a *chatArguments) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, (*string)(a))
	case string(b) == "null":
		return nil
	}
	*a = chatArguments(b)
	return nil
}

type chatAnnotation struct {
	Type string        `json:"type"` // url_citation
	URL  *chatCitation `json:"url_citation,omitempty"`
}

type chatCitation struct {
	URL     string `json:"url"`
	Title   string `json:"title,omitempty"`
	Content string `json:"content,omitempty"`
	Start   int    `json:"start_index"`
	End     int    `json:"end_index"`
}

// chatDetail is a record of reasoning_details, as OpenRouter documents it.
type chatDetail struct {
	Type      string `json:"type"` // reasoning.text, reasoning.summary, reasoning.encrypted
	Text      string `json:"text,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Data      string `json:"data,omitempty"`
	Signature string `json:"signature,omitempty"`
	ID        string `json:"id,omitempty"`
	Format    string `json:"format,omitempty"`
	Index     *int   `json:"index,omitempty"`
}

// chatOwnFormat marks the records that carry another provider's signature through
// this format.
const chatOwnFormat = "burin-v1"

const (
	chatDetailText      = "reasoning.text"
	chatDetailSummary   = "reasoning.summary"
	chatDetailEncrypted = "reasoning.encrypted"
)

// chatChunk is one event of a streamed answer, or a whole answer.
type chatChunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object,omitempty"`
	Created int64           `json:"created,omitempty"`
	Model   string          `json:"model,omitempty"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	// Groq's place for usage.
	XGroq *struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq,omitempty"`
}

type chatChoice struct {
	Index        int             `json:"index"`
	Delta        *chatDelta      `json:"delta,omitempty"`
	Message      *chatDelta      `json:"message,omitempty"`
	FinishReason *string         `json:"finish_reason"`
	Usage        *chatUsage      `json:"usage,omitempty"` // Moonshot
	Error        json.RawMessage `json:"error,omitempty"` // OpenRouter
}

// chatDelta is what a chunk adds to the message.
type chatDelta struct {
	Role             string            `json:"role,omitempty"`
	Content          json.RawMessage   `json:"content,omitempty"`
	Refusal          string            `json:"refusal,omitempty"`
	ReasoningContent chatLooseText     `json:"reasoning_content,omitempty"`
	Reasoning        chatLooseText     `json:"reasoning,omitempty"`
	ReasoningText    chatLooseText     `json:"reasoning_text,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []chatCall        `json:"tool_calls,omitempty"`
	FunctionCall     *chatCallFunction `json:"function_call,omitempty"` // before tool_calls
	Annotations      []chatAnnotation  `json:"annotations,omitempty"`
}

// chatLooseText is text. Anything else in its place is not an error but nothing.
type chatLooseText string

func (t *chatLooseText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	return nil
}

// chatUsage counts tokens. prompt_tokens includes cached ones. The fields at
// the end are other providers' names for the same.
type chatUsage struct {
	PromptTokens     int                 `json:"prompt_tokens"`
	CompletionTokens int                 `json:"completion_tokens"`
	TotalTokens      int                 `json:"total_tokens"`
	PromptDetails    *chatPromptDetails  `json:"prompt_tokens_details,omitempty"`
	OutputDetails    *chatOutputDetails  `json:"completion_tokens_details,omitempty"`
	CacheHit         int                 `json:"prompt_cache_hit_tokens,omitempty"`     // DeepSeek
	Cached           int                 `json:"cached_tokens,omitempty"`               // Moonshot
	CacheRead        int                 `json:"cache_read_input_tokens,omitempty"`     // proxies of Anthropic
	CacheCreation    int                 `json:"cache_creation_input_tokens,omitempty"` // proxies of Anthropic
	Reasoning        int                 `json:"reasoning_tokens,omitempty"`
	ServerTools      *chatServerToolUses `json:"server_tool_use,omitempty"` // OpenRouter
}

type chatPromptDetails struct {
	Cached     int `json:"cached_tokens"`
	CacheWrite int `json:"cache_write_tokens,omitempty"`
	// CacheWriteLong is the part of CacheWrite kept for an hour; an addition of ours.
	CacheWriteLong int `json:"cache_write_1h_tokens,omitempty"`
	CacheCreation  int `json:"cache_creation_tokens,omitempty"`
}

type chatOutputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

type chatServerToolUses struct {
	WebSearches int `json:"web_search_requests,omitempty"`
	WebFetches  int `json:"web_fetch_requests,omitempty"`
}

// chatError is the body of an error.
type chatError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    any    `json:"code"`
	// ResetsAt is the end of a usage limit in Unix seconds, as Codex gives it.
	ResetsAt int64 `json:"resets_at,omitempty"`
}

// chatContent reads a content field: text, or a list of parts.
func chatContent(raw json.RawMessage) (text string, parts []chatPart, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0, string(raw) == "null":
	case raw[0] == '"':
		err = json.Unmarshal(raw, &text)
	case raw[0] == '{':
		parts = make([]chatPart, 1)
		err = json.Unmarshal(raw, &parts[0])
	default:
		err = json.Unmarshal(raw, &parts)
	}
	return text, parts, err
}

// chatJSON encodes what cannot fail to encode: texts, numbers and structs of them.
func chatJSON(v any) json.RawMessage {
	raw, _ := wire.Marshal(v)
	return raw
}
