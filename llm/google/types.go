package google

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/llm/wire"
)

// The wire types of both directions. Fields are in the order they are sent:
// what stays the same from turn to turn comes first.

type request struct {
	SystemInstruction *content          `json:"systemInstruction,omitempty"`
	Tools             []tool            `json:"tools,omitempty"`
	ToolConfig        *toolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *generationConfig `json:"generationConfig,omitempty"`
	CachedContent     string            `json:"cachedContent,omitempty"`
	Contents          []content         `json:"contents"`
}

// content is one turn. Parts are kept as JSON: parts of unknown shape must pass
// through untouched.
type content struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts,omitempty"`
}

const (
	roleUser  = "user"
	roleModel = "model"
)

// part is one piece of a content. Exactly one of its data fields is set.
type part struct {
	Text                *string           `json:"text,omitempty"`
	Thought             bool              `json:"thought,omitempty"`
	InlineData          *blob             `json:"inlineData,omitempty"`
	FileData            *fileData         `json:"fileData,omitempty"`
	FunctionCall        *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse    *functionResponse `json:"functionResponse,omitempty"`
	ExecutableCode      json.RawMessage   `json:"executableCode,omitempty"`
	CodeExecutionResult json.RawMessage   `json:"codeExecutionResult,omitempty"`
	ToolCall            json.RawMessage   `json:"toolCall,omitempty"`
	ToolResponse        json.RawMessage   `json:"toolResponse,omitempty"`
	ThoughtSignature    string            `json:"thoughtSignature,omitempty"`
}

// Kinds of parts that are kept as they are. Two of them belong to the
// combination of server tools with functions.
const (
	kindText         = "text" // an empty text that only carries a signature
	kindInlineData   = "inlineData"
	kindFileData     = "fileData"
	kindToolCall     = "toolCall"
	kindToolResponse = "toolResponse"
)

// opaque names the kind of a part that is neither text nor a call, else "".
func (p *part) opaque() string {
	switch {
	case p.InlineData != nil:
		return kindInlineData
	case p.FileData != nil:
		return kindFileData
	case present(p.ExecutableCode):
		return "executableCode"
	case present(p.CodeExecutionResult):
		return "codeExecutionResult"
	case present(p.ToolCall):
		return kindToolCall
	case present(p.ToolResponse):
		return kindToolResponse
	}
	return ""
}

// present reports whether a field was there with a value: some hosts print all
// fields, null where they have none.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (p part) raw() json.RawMessage {
	data, err := wire.Marshal(p)
	if err != nil { // only raw JSON that is invalid can fail
		return json.RawMessage(`{"text":""}`)
	}
	return data
}

func textPart(s string) part { return part{Text: &s} }

// blob holds bytes in base64.
type blob struct {
	MIMEType string `json:"mimeType,omitempty"`
	Data     string `json:"data,omitempty"`
}

func newBlob(mime string, data []byte) *blob {
	return &blob{MIMEType: mime, Data: base64.StdEncoding.EncodeToString(data)}
}

// bytes decodes either alphabet, padded or not, as proto3 JSON allows.
func (b *blob) bytes() ([]byte, error) {
	s := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(b.Data, "="))
	return base64.RawStdEncoding.DecodeString(s)
}

type fileData struct {
	MIMEType string `json:"mimeType,omitempty"`
	FileURI  string `json:"fileUri,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response,omitempty"`
	Parts    []responsePart  `json:"parts,omitempty"`
}

type responsePart struct {
	InlineData *blob     `json:"inlineData,omitempty"`
	FileData   *fileData `json:"fileData,omitempty"`
}

type tool struct {
	FunctionDeclarations []functionDeclaration `json:"functionDeclarations,omitempty"`
	GoogleSearch         *googleSearch         `json:"googleSearch,omitempty"`
	URLContext           *struct{}             `json:"urlContext,omitempty"`
}

type googleSearch struct {
	ExcludeDomains []string `json:"excludeDomains,omitempty"` // Vertex
}

type functionDeclaration struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description,omitempty"`
	Parameters           json.RawMessage `json:"parameters,omitempty"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type toolConfig struct {
	FunctionCallingConfig            *functionCallingConfig `json:"functionCallingConfig,omitempty"`
	IncludeServerSideToolInvocations bool                   `json:"includeServerSideToolInvocations,omitempty"`
}

type functionCallingConfig struct {
	Mode                 string   `json:"mode,omitempty"`
	AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
}

type generationConfig struct {
	MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
	Temperature        *float64        `json:"temperature,omitempty"`
	TopP               *float64        `json:"topP,omitempty"`
	TopK               *int            `json:"topK,omitempty"`
	PresencePenalty    *float64        `json:"presencePenalty,omitempty"`
	StopSequences      []string        `json:"stopSequences,omitempty"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
	ResponseSchema     json.RawMessage `json:"responseSchema,omitempty"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
}

// response is one chunk of a stream, or a whole answer.
type response struct {
	Candidates     []candidate     `json:"candidates,omitempty"`
	PromptFeedback *promptFeedback `json:"promptFeedback,omitempty"`
	UsageMetadata  *usageMetadata  `json:"usageMetadata,omitempty"`
	ModelVersion   string          `json:"modelVersion,omitempty"`
	ResponseID     string          `json:"responseId,omitempty"`
	Error          json.RawMessage `json:"error,omitempty"`
}

type candidate struct {
	Content            *content            `json:"content,omitempty"`
	FinishReason       string              `json:"finishReason,omitempty"`
	FinishMessage      string              `json:"finishMessage,omitempty"`
	Index              int                 `json:"index"`
	GroundingMetadata  *groundingMetadata  `json:"groundingMetadata,omitempty"`
	URLContextMetadata *urlContextMetadata `json:"urlContextMetadata,omitempty"`
}

type promptFeedback struct {
	BlockReason        string `json:"blockReason,omitempty"`
	BlockReasonMessage string `json:"blockReasonMessage,omitempty"`
}

// usageMetadata counts tokens so far. Prompt holds Cached; Candidates does not
// hold Thoughts; ToolUsePrompt is apart from Prompt.
type usageMetadata struct {
	PromptTokenCount        int `json:"promptTokenCount"`
	CachedContentTokenCount int `json:"cachedContentTokenCount,omitempty"`
	CandidatesTokenCount    int `json:"candidatesTokenCount,omitempty"`
	ThoughtsTokenCount      int `json:"thoughtsTokenCount,omitempty"`
	ToolUsePromptTokenCount int `json:"toolUsePromptTokenCount,omitempty"`
	TotalTokenCount         int `json:"totalTokenCount"`
}

type groundingMetadata struct {
	WebSearchQueries  []string           `json:"webSearchQueries,omitempty"`
	GroundingChunks   []groundingChunk   `json:"groundingChunks,omitempty"`
	GroundingSupports []groundingSupport `json:"groundingSupports,omitempty"`
}

type groundingChunk struct {
	Web *webChunk `json:"web,omitempty"`
}

type webChunk struct {
	URI   string `json:"uri,omitempty"`
	Title string `json:"title,omitempty"`
}

type groundingSupport struct {
	Segment               segment `json:"segment"`
	GroundingChunkIndices []int   `json:"groundingChunkIndices,omitempty"`
}

// segment is a piece of the answer's text; the indexes count bytes.
type segment struct {
	StartIndex int    `json:"startIndex,omitempty"`
	EndIndex   int    `json:"endIndex,omitempty"`
	Text       string `json:"text,omitempty"`
}

type urlContextMetadata struct {
	URLMetadata []struct {
		RetrievedURL string `json:"retrievedUrl,omitempty"`
	} `json:"urlMetadata,omitempty"`
}

type errorBody struct {
	Error errorStatus `json:"error"`
}

type errorStatus struct {
	Code    int           `json:"code"`
	Message string        `json:"message"`
	Status  string        `json:"status"`
	Details []errorDetail `json:"details,omitempty"`
}

type errorDetail struct {
	Type       string           `json:"@type"`
	RetryDelay string           `json:"retryDelay,omitempty"`
	Violations []quotaViolation `json:"violations,omitempty"`
}

type quotaViolation struct {
	QuotaID string `json:"quotaId,omitempty"`
}
