package openai

import "encoding/json"

// Wire types of the Responses API, for both directions. What one side only
// reads is lenient (raw JSON where servers disagree); what it writes is typed.
// Source: OpenAI's API reference, "Responses" and "Streaming events".

// respRequest is the body of POST /responses as it is written. Key order is
// fixed so that equal histories give equal prefixes.
type respRequest struct {
	Model              string            `json:"model"`
	Instructions       string            `json:"instructions,omitempty"`
	PreviousResponseID string            `json:"previous_response_id,omitempty"`
	Input              []any             `json:"input"`
	Tools              []any             `json:"tools,omitempty"`
	ToolChoice         any               `json:"tool_choice,omitempty"`
	ParallelToolCalls  *bool             `json:"parallel_tool_calls,omitempty"`
	MaxToolCalls       int               `json:"max_tool_calls,omitempty"`
	Reasoning          *respReasoning    `json:"reasoning,omitempty"`
	Text               *respTextConfig   `json:"text,omitempty"`
	Include            []string          `json:"include,omitempty"`
	MaxOutputTokens    int               `json:"max_output_tokens,omitempty"`
	Temperature        *float64          `json:"temperature,omitempty"`
	TopP               *float64          `json:"top_p,omitempty"`
	PromptCacheKey     string            `json:"prompt_cache_key,omitempty"`
	CacheRetention     string            `json:"prompt_cache_retention,omitempty"`
	User               string            `json:"user,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	Store              bool              `json:"store"`
	Stream             bool              `json:"stream"`
}

type respReasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type respTextConfig struct {
	Format *respFormat `json:"format,omitempty"`
}

type respFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Strict *bool           `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// respFunction is a function the model may call. Strict is always written: the
// API takes its absence for true and then refuses most schemas.
type respFunction struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type respWebSearch struct {
	Type    string       `json:"type"`
	Filters *respFilters `json:"filters,omitempty"`
}

type respFilters struct {
	AllowedDomains []string `json:"allowed_domains,omitempty"`
	BlockedDomains []string `json:"blocked_domains,omitempty"`
}

type respNamed struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// respMessage is a message item.
type respMessage struct {
	Type    string     `json:"type"`
	ID      string     `json:"id,omitempty"`
	Status  string     `json:"status,omitempty"`
	Role    string     `json:"role"`
	Phase   string     `json:"phase,omitempty"`
	Content []respPart `json:"content"`
}

// respPart is a piece of content, in or out.
type respPart struct {
	Type        string             `json:"type"`
	Text        *string            `json:"text,omitempty"`
	Refusal     string             `json:"refusal,omitempty"`
	Annotations *[]json.RawMessage `json:"annotations,omitempty"`
	Detail      string             `json:"detail,omitempty"`
	ImageURL    string             `json:"image_url,omitempty"`
	Filename    string             `json:"filename,omitempty"`
	FileData    string             `json:"file_data,omitempty"`
	FileURL     string             `json:"file_url,omitempty"`
}

// text is the words of a part of any textual type.
func (p *respPart) text() string {
	if p.Type == "refusal" {
		return p.Refusal
	}
	if p.Text == nil {
		return ""
	}
	return *p.Text
}

// respCall is a call of a function, or of a custom tool whose input is plain
// text instead of arguments.
type respCall struct {
	Type      string  `json:"type"`
	ID        string  `json:"id,omitempty"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments *string `json:"arguments,omitempty"`
	Input     *string `json:"input,omitempty"`
	Status    string  `json:"status,omitempty"`
}

// respOutput answers a call. Output is a string or a list of parts.
type respOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

// respReasoningItem is reasoning as this package's server half writes it.
type respReasoningItem struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	Summary   []respPart `json:"summary"`
	Encrypted string     `json:"encrypted_content,omitempty"`
}

// respItem reads an item of any type.
type respItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role"`
	Phase     string          `json:"phase"`
	Content   json.RawMessage `json:"content"` // a string or a list of parts
	Summary   []respPart      `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string; some servers write the object itself
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"` // a string or a list of parts
	Action    struct {
		Type string `json:"type"`
	} `json:"action"`
}

// parts are the item's content whichever way it is written.
func (it *respItem) parts(raw json.RawMessage) []respPart {
	var parts []respPart
	if respLenient(raw, &parts) == nil && parts != nil {
		return parts
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []respPart{{Type: "input_text", Text: &s}}
	}
	return nil
}

// respUsage counts tokens. InputTokens includes what was read from and written
// to the cache.
type respUsage struct {
	InputTokens  int `json:"input_tokens"`
	InputDetails struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

// respResponse reads a response object.
type respResponse struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *respUsage        `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// respEvent reads a streamed event of any type.
type respEvent struct {
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	OutputIndex  *int            `json:"output_index"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Text         string          `json:"text"`
	Refusal      string          `json:"refusal"`
	Arguments    json.RawMessage `json:"arguments"`
	Name         string          `json:"name"`
	Input        string          `json:"input"`
	Annotation   json.RawMessage `json:"annotation"`
	Part         respPart        `json:"part"`
	Item         json.RawMessage `json:"item"`
	Response     *respResponse   `json:"response"`
	Error        json.RawMessage `json:"error"` // of an answer that is only that
}
