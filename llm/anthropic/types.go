package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/burin-dev/burin/llm/wire"
)

// The types of this file are the wire format, for both directions. Pointers
// stand where a value must be sent although it is empty.

// request is the body of POST /v1/messages. The messages come last, so that the
// bodies of two turns share their beginning.
type request struct {
	Version       string        `json:"anthropic_version,omitempty"` // in the body at Bedrock and Vertex only
	Beta          []string      `json:"anthropic_beta,omitempty"`    // in the body at Bedrock only
	Model         string        `json:"model,omitempty"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	Stream        bool          `json:"stream,omitempty"`
	Metadata      *metadata     `json:"metadata,omitempty"`
	Temperature   *float64      `json:"temperature,omitempty"`
	TopP          *float64      `json:"top_p,omitempty"`
	TopK          *int          `json:"top_k,omitempty"`
	StopSequences []string      `json:"stop_sequences,omitempty"`
	Thinking      *thinking     `json:"thinking,omitempty"`
	OutputConfig  *outputConfig `json:"output_config,omitempty"`
	ToolChoice    *toolChoice   `json:"tool_choice,omitempty"`
	Tools         []tool        `json:"tools,omitempty"`
	System        blocks        `json:"system,omitempty"`
	Messages      []message     `json:"messages"`
}

type metadata struct {
	UserID string `json:"user_id,omitempty"`
}

type thinking struct {
	Type         string `json:"type"` // enabled, adaptive, disabled
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"` // summarized, omitted
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"` // json_schema
	Schema json.RawMessage `json:"schema"`
}

type toolChoice struct {
	Type            string `json:"type"` // auto, any, tool, none
	Name            string `json:"name,omitempty"`
	DisableParallel bool   `json:"disable_parallel_tool_use,omitempty"`
}

// tool is a tool of the client (no type, or custom) or of the provider.
type tool struct {
	Type           string          `json:"type,omitempty"`
	Name           string          `json:"name"`
	Description    string          `json:"description,omitempty"`
	InputSchema    json.RawMessage `json:"input_schema,omitempty"`
	Strict         bool            `json:"strict,omitempty"`
	MaxUses        int             `json:"max_uses,omitempty"`
	AllowedDomains []string        `json:"allowed_domains,omitempty"`
	BlockedDomains []string        `json:"blocked_domains,omitempty"`
	Citations      *enabled        `json:"citations,omitempty"`
	CacheControl   *cacheControl   `json:"cache_control,omitempty"`
}

type enabled struct {
	Enabled bool `json:"enabled"`
}

type cacheControl struct {
	Type string `json:"type"`          // ephemeral
	TTL  string `json:"ttl,omitempty"` // 5m (default), 1h
}

type message struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

// blocks is a content list. A plain string stands for one text block.
type blocks []block

// UnmarshalJSON reads a list or a string.
func (c *blocks) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = nil
		if s != "" {
			*c = blocks{{Type: "text", Text: &s}}
		}
		return nil
	}
	var list []block
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*c = list
	return nil
}

// block is one content block. Raw is set instead of the fields for blocks that
// pass through unread.
type block struct {
	Type         string          `json:"type"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Text         *string         `json:"text,omitempty"`
	Citations    json.RawMessage `json:"citations,omitempty"` // a list in text, a setting in documents
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    *string         `json:"signature,omitempty"`
	Data         *string         `json:"data,omitempty"`
	Title        string          `json:"title,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      blocks          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`

	raw json.RawMessage
}

// plainBlock is a block without its methods.
type plainBlock block

// MarshalJSON writes the block, or the bytes it came as.
func (b block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	return wire.Marshal(plainBlock(b))
}

// UnmarshalJSON reads the fields of blocks that are understood and keeps the
// bytes of all.
func (b *block) UnmarshalJSON(data []byte) error {
	var head struct {
		Type         string        `json:"type"`
		CacheControl *cacheControl `json:"cache_control"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	*b = block{Type: head.Type, CacheControl: head.CacheControl}
	switch head.Type {
	case "text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document":
		if err := json.Unmarshal(data, (*plainBlock)(b)); err != nil {
			return fmt.Errorf("%s block: %w", head.Type, err)
		}
	}
	b.raw = bytes.Clone(data)
	return nil
}

// source is where an image or a document is.
type source struct {
	Type      string `json:"type"` // base64, text, url, content, file
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
	Content   blocks `json:"content,omitempty"`
}

// usage counts tokens. A nil field was not reported.
type usage struct {
	Input         *int           `json:"input_tokens,omitempty"`
	CacheWrite    *int           `json:"cache_creation_input_tokens,omitempty"`
	CacheRead     *int           `json:"cache_read_input_tokens,omitempty"`
	CacheCreation *cacheCreation `json:"cache_creation,omitempty"`
	Output        *int           `json:"output_tokens,omitempty"`
	Details       *outputDetails `json:"output_tokens_details,omitempty"`
	ServerTools   *serverToolUse `json:"server_tool_use,omitempty"`
}

type cacheCreation struct {
	Short int `json:"ephemeral_5m_input_tokens"`
	Long  int `json:"ephemeral_1h_input_tokens"`
}

type outputDetails struct {
	Thinking int `json:"thinking_tokens"`
}

type serverToolUse struct {
	WebSearch int `json:"web_search_requests"`
	WebFetch  int `json:"web_fetch_requests"`
}

// answer is a whole answer, and the skeleton of one in message_start.
type answer struct {
	ID           string       `json:"id"`
	Type         string       `json:"type"` // message
	Role         string       `json:"role"` // assistant
	Model        string       `json:"model"`
	Content      []block      `json:"content"`
	StopReason   *string      `json:"stop_reason"`
	StopSequence *string      `json:"stop_sequence"`
	StopDetails  *stopDetails `json:"stop_details,omitempty"`
	Usage        usage        `json:"usage"`
}

type stopDetails struct {
	Type        string `json:"type"` // refusal
	Category    string `json:"category,omitempty"`
	Explanation string `json:"explanation,omitempty"`
}

// event is one event of a stream, of any type, as the client reads it.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Thinking    string          `json:"thinking"`
		PartialJSON string          `json:"partial_json"`
		Signature   string          `json:"signature"`
		Citation    json.RawMessage `json:"citation"`
		StopReason  string          `json:"stop_reason"`
		StopDetails *stopDetails    `json:"stop_details"`
	} `json:"delta"`
	Usage     *usage     `json:"usage"`
	Error     *errorBody `json:"error"`
	RequestID string     `json:"request_id"`
}

// errorBody is the error of an answer or of a stream.
type errorBody struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// errorAnswer is an error as a whole answer or as an event.
type errorAnswer struct {
	Type      string    `json:"type"` // error
	Error     errorBody `json:"error"`
	RequestID string    `json:"request_id,omitempty"`
}
