package bedrock

import "encoding/json"

// The JSON of both directions. Field order is the order of keys sent. A content
// block, a delta and a tool choice are unions: exactly one field is set.

type converseRequest struct {
	System                       []block           `json:"system,omitempty"`
	ToolConfig                   *toolConfig       `json:"toolConfig,omitempty"`
	Messages                     []message         `json:"messages"`
	InferenceConfig              *inferenceConfig  `json:"inferenceConfig,omitempty"`
	OutputConfig                 *outputConfig     `json:"outputConfig,omitempty"`
	AdditionalModelRequestFields json.RawMessage   `json:"additionalModelRequestFields,omitempty"`
	RequestMetadata              map[string]string `json:"requestMetadata,omitempty"`
}

type message struct {
	Role    string  `json:"role"` // user or assistant
	Content []block `json:"content"`
}

// block is a ContentBlock; in system only text and cachePoint, in a tool result
// only text, json, image and document.
type block struct {
	Text             *string           `json:"text,omitempty"`
	JSON             json.RawMessage   `json:"json,omitempty"`
	Image            *imageBlock       `json:"image,omitempty"`
	Document         *documentBlock    `json:"document,omitempty"`
	ToolUse          *toolUse          `json:"toolUse,omitempty"`
	ToolResult       *toolResult       `json:"toolResult,omitempty"`
	ReasoningContent *reasoningContent `json:"reasoningContent,omitempty"`
	CitationsContent *citationsContent `json:"citationsContent,omitempty"`
	CachePoint       *cachePoint       `json:"cachePoint,omitempty"`

	// Results of tools that ran at the provider may hold these; they are returned
	// as they came.
	SearchResult json.RawMessage `json:"searchResult,omitempty"`
	Video        json.RawMessage `json:"video,omitempty"`
}

func textBlock(s string) block { return block{Text: &s} }

type imageBlock struct {
	Format string `json:"format"` // png, jpeg, gif, webp
	Source source `json:"source"`
}

type documentBlock struct {
	Format    string     `json:"format"` // pdf, csv, doc, docx, xls, xlsx, html, txt, md
	Name      string     `json:"name"`
	Source    source     `json:"source"`
	Citations *citations `json:"citations,omitempty"`
}

type citations struct {
	Enabled bool `json:"enabled"`
}

// source is the content of an image or document: bytes travel as base64.
type source struct {
	Bytes      []byte      `json:"bytes,omitempty"`
	S3Location *s3Location `json:"s3Location,omitempty"`
	Text       string      `json:"text,omitempty"` // documents only
}

type s3Location struct {
	URI string `json:"uri"`
}

type toolUse struct {
	ToolUseID string          `json:"toolUseId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input,omitempty"` // an object; absent in contentBlockStart
	Type      string          `json:"type,omitempty"`  // server_tool_use for tools that run at the provider
}

type toolResult struct {
	ToolUseID string  `json:"toolUseId"`
	Content   []block `json:"content"`
	Status    string  `json:"status,omitempty"` // success or error
	Type      string  `json:"type,omitempty"`
}

type reasoningContent struct {
	ReasoningText   *reasoningText `json:"reasoningText,omitempty"`
	RedactedContent string         `json:"redactedContent,omitempty"` // base64
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type citationsContent struct {
	Content   []block           `json:"content"`
	Citations []json.RawMessage `json:"citations"`
}

// citation is the part of a citation that is understood.
type citation struct {
	Title         string `json:"title,omitempty"`
	Source        string `json:"source,omitempty"`
	SourceContent []struct {
		Text string `json:"text"`
	} `json:"sourceContent,omitempty"`
	Location struct {
		Web *struct {
			URL string `json:"url"`
		} `json:"web,omitempty"`
	} `json:"location"`
}

type cachePoint struct {
	Type string `json:"type"`          // default
	TTL  string `json:"ttl,omitempty"` // 5m or 1h
}

type toolConfig struct {
	Tools      []tool      `json:"tools"`
	ToolChoice *toolChoice `json:"toolChoice,omitempty"`
}

type tool struct {
	ToolSpec   *toolSpec   `json:"toolSpec,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type toolSpec struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	InputSchema inputSchema `json:"inputSchema"`
	Strict      bool        `json:"strict,omitempty"`
}

type inputSchema struct {
	JSON json.RawMessage `json:"json"`
}

type toolChoice struct {
	Auto *struct{}   `json:"auto,omitempty"`
	Any  *struct{}   `json:"any,omitempty"`
	Tool *namedValue `json:"tool,omitempty"`
}

type namedValue struct {
	Name string `json:"name"`
}

type inferenceConfig struct {
	MaxTokens     int      `json:"maxTokens,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"topP,omitempty"`
	StopSequences []string `json:"stopSequences,omitempty"`
}

type outputConfig struct {
	TextFormat textFormat `json:"textFormat"`
}

type textFormat struct {
	Type      string          `json:"type"` // json_schema
	Structure outputStructure `json:"structure"`
}

type outputStructure struct {
	JSONSchema jsonSchema `json:"jsonSchema"`
}

type jsonSchema struct {
	Schema string `json:"schema"` // the schema as JSON text
	Name   string `json:"name,omitempty"`
}

// converseAnswer is the body of a whole answer.
type converseAnswer struct {
	Output struct {
		Message message `json:"message"`
	} `json:"output"`
	StopReason string  `json:"stopReason"`
	Usage      usage   `json:"usage"`
	Metrics    metrics `json:"metrics"`
}

type usage struct {
	InputTokens           int           `json:"inputTokens"` // without what came from or went to the cache
	OutputTokens          int           `json:"outputTokens"`
	TotalTokens           int           `json:"totalTokens"`
	CacheReadInputTokens  int           `json:"cacheReadInputTokens,omitempty"`
	CacheWriteInputTokens int           `json:"cacheWriteInputTokens,omitempty"`
	CacheDetails          []cacheDetail `json:"cacheDetails,omitempty"`
}

// cacheDetail is the part of the tokens written that is kept for TTL.
type cacheDetail struct {
	InputTokens int    `json:"inputTokens"`
	TTL         string `json:"ttl"`
}

type metrics struct {
	LatencyMS int64 `json:"latencyMs"`
}

// The payloads of stream events, by their :event-type.

type messageStart struct {
	Role string `json:"role"`
}

type blockStart struct {
	ContentBlockIndex int   `json:"contentBlockIndex"`
	Start             start `json:"start"`
}

type start struct {
	ToolUse    *toolUse         `json:"toolUse,omitempty"`
	ToolResult *toolResultStart `json:"toolResult,omitempty"`
}

type toolResultStart struct {
	ToolUseID string `json:"toolUseId"`
	Status    string `json:"status,omitempty"`
	Type      string `json:"type,omitempty"`
}

type blockDelta struct {
	ContentBlockIndex int   `json:"contentBlockIndex"`
	Delta             delta `json:"delta"`
}

type delta struct {
	Text             *string         `json:"text,omitempty"`
	ToolUse          *toolUseDelta   `json:"toolUse,omitempty"`
	ReasoningContent *reasoningDelta `json:"reasoningContent,omitempty"`
	Citation         json.RawMessage `json:"citation,omitempty"`
	ToolResult       []block         `json:"toolResult,omitempty"`
}

type toolUseDelta struct {
	Input string `json:"input"` // a piece of JSON text
}

type reasoningDelta struct {
	Text            string `json:"text,omitempty"`
	Signature       string `json:"signature,omitempty"`
	RedactedContent string `json:"redactedContent,omitempty"` // base64
}

type blockStop struct {
	ContentBlockIndex int `json:"contentBlockIndex"`
}

type messageStop struct {
	StopReason string `json:"stopReason"`
}

type metadata struct {
	Usage   usage   `json:"usage"`
	Metrics metrics `json:"metrics"`
}

// exception is the payload of an exception inside the stream and, with message
// alone, the body of an error answer.
type exception struct {
	Message            string `json:"message"`
	OriginalMessage    string `json:"originalMessage,omitempty"`
	OriginalStatusCode int    `json:"originalStatusCode,omitempty"`
}
