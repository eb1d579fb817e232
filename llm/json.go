package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The JSON of a message is that of session files, version 3. Other readers ignore two
// additions of ours: a tool call has rawArguments if its text is not exactly the compact form
// of its arguments object, and a defect if it must not run.

type messageJSON struct {
	Role         Role            `json:"role"`
	CustomType   string          `json:"customType,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Content      json.RawMessage `json:"content"`
	Details      json.RawMessage `json:"details,omitempty"`
	IsError      *bool           `json:"isError,omitempty"`
	Display      *bool           `json:"display,omitempty"`
	API          API             `json:"api,omitempty"`
	Provider     string          `json:"provider,omitempty"`
	Model        string          `json:"model,omitempty"`
	ResponseID   string          `json:"responseId,omitempty"`
	Usage        *Usage          `json:"usage,omitempty"`
	StopReason   StopReason      `json:"stopReason,omitempty"`
	ErrorMessage string          `json:"errorMessage,omitempty"`
	Error        *errorJSON      `json:"error,omitempty"`
	Timestamp    int64           `json:"timestamp,omitempty"`
}

type errorJSON struct {
	Kind         ErrorKind `json:"kind,omitempty"`
	Message      string    `json:"message,omitempty"`
	Status       int       `json:"status,omitempty"`
	Code         string    `json:"code,omitempty"`
	RetryAfterMS int64     `json:"retryAfterMs,omitempty"`
	ResetAt      int64     `json:"resetAt,omitempty"` // Unix milliseconds
	RequestID    string    `json:"requestId,omitempty"`
}

type blockJSON struct {
	Type string `json:"type"`

	Text          string     `json:"text,omitempty"`
	TextSignature string     `json:"textSignature,omitempty"`
	Citations     []Citation `json:"citations,omitempty"`

	Thinking          string `json:"thinking,omitempty"`
	ThinkingSignature string `json:"thinkingSignature,omitempty"`
	Redacted          bool   `json:"redacted,omitempty"`

	ID               string          `json:"id,omitempty"`
	Name             string          `json:"name,omitempty"`
	Arguments        json.RawMessage `json:"arguments,omitempty"`
	RawArguments     *string         `json:"rawArguments,omitempty"`
	ThoughtSignature string          `json:"thoughtSignature,omitempty"`
	Defect           Defect          `json:"defect,omitempty"`

	Data     bytesJSON `json:"data,omitzero"`
	MIMEType string    `json:"mimeType,omitempty"`
	URL      string    `json:"url,omitempty"`

	API  API             `json:"api,omitempty"`
	Kind string          `json:"kind,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
	// RawText has Raw if JSON would not keep its bytes.
	RawText string `json:"rawText,omitempty"`
}

// bytesJSON has the bytes of an image or a document as base64, or the name of a blob that has
// them. The block has that name as its URL.
type bytesJSON struct {
	data []byte
	blob string
}

// blobScheme starts the names of blobs in session files.
const blobScheme = "blob:"

func bytesOf(data []byte, url string) (bytesJSON, string) {
	if len(data) == 0 && strings.HasPrefix(url, blobScheme) {
		return bytesJSON{blob: url}, ""
	}
	return bytesJSON{data: data}, url
}

// url returns the URL of a block with this data and a URL of its own.
func (b bytesJSON) url(own string) string {
	if b.blob != "" {
		return b.blob
	}
	return own
}

func (b bytesJSON) IsZero() bool { return len(b.data) == 0 && b.blob == "" }

func (b bytesJSON) MarshalJSON() ([]byte, error) {
	if b.blob != "" {
		return marshal(b.blob)
	}
	return marshal(b.data)
}

func (b *bytesJSON) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`+blobScheme)) {
		return json.Unmarshal(text, &b.blob)
	}
	return json.Unmarshal(text, &b.data)
}

// MarshalJSON writes the message as in session files.
func (m Message) MarshalJSON() ([]byte, error) {
	blocks := make([]blockJSON, 0, len(m.Content))
	for _, b := range m.Content {
		blocks = append(blocks, encodeBlock(b))
	}
	content, err := marshal(blocks)
	if err != nil {
		return nil, fmt.Errorf("encode message content: %w", err)
	}
	j := messageJSON{
		Role: m.Role, CustomType: m.CustomType, ToolCallID: m.ToolCallID, ToolName: m.ToolName,
		Content: content, Details: m.Details, API: m.API, Provider: m.Provider, Model: m.Model,
		ResponseID: m.ResponseID, Usage: m.Usage, StopReason: m.StopReason,
	}
	switch m.Role {
	case RoleToolResult:
		j.IsError = &m.IsError
	case RoleCustom:
		j.Display = &m.Display
	}
	if !m.Time.IsZero() {
		j.Timestamp = m.Time.UnixMilli()
	}
	if e := m.Error; e != nil {
		j.ErrorMessage = e.Error()
		j.Error = &errorJSON{
			Kind: e.Kind, Message: e.Message, Status: e.Status, Code: e.Code,
			RetryAfterMS: e.RetryAfter.Milliseconds(), RequestID: e.RequestID,
		}
		if !e.ResetAt.IsZero() {
			j.Error.ResetAt = e.ResetAt.UnixMilli()
		}
	}
	return marshal(j)
}

// marshal is json.Marshal without escaping of <, > and &.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

func encodeBlock(b Block) blockJSON {
	switch b := b.(type) {
	case Text:
		return blockJSON{Type: "text", Text: b.Text, TextSignature: b.Signature, Citations: b.Citations}
	case Thinking:
		return blockJSON{Type: "thinking", Thinking: b.Text, ThinkingSignature: b.Signature, Redacted: b.Redacted}
	case ToolCall:
		j := blockJSON{Type: "toolCall", ID: b.ID, Name: b.Name, ThoughtSignature: b.Signature, Defect: b.Defect}
		args, _, err := ParseObject(b.Arguments)
		if err != nil {
			args = json.RawMessage("{}")
		}
		j.Arguments = args
		if compact, err := marshal(args); err != nil || string(compact) != b.Arguments {
			j.RawArguments = &b.Arguments
		}
		return j
	case Image:
		data, url := bytesOf(b.Data, b.URL)
		return blockJSON{Type: "image", Data: data, MIMEType: b.MIME, URL: url}
	case Document:
		data, url := bytesOf(b.Data, b.URL)
		return blockJSON{Type: "document", Name: b.Name, Data: data, MIMEType: b.MIME, URL: url, Text: b.Text}
	case Opaque:
		j := blockJSON{Type: "opaque", API: b.API, Kind: b.Kind}
		if kept, err := marshal(b.Raw); err == nil && bytes.Equal(kept, b.Raw) {
			j.Raw = b.Raw
		} else {
			j.RawText = string(b.Raw)
		}
		return j
	}
	return blockJSON{Type: "text"}
}

// UnmarshalJSON reads the message object of a session file. Content may be a string or a list
// of blocks; a block of unknown type becomes an [Opaque] without an API.
func (m *Message) UnmarshalJSON(data []byte) error {
	var j messageJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	*m = Message{
		Role: j.Role, CustomType: j.CustomType, ToolCallID: j.ToolCallID, ToolName: j.ToolName,
		Details: j.Details, API: j.API, Provider: j.Provider, Model: j.Model,
		ResponseID: j.ResponseID, Usage: j.Usage, StopReason: j.StopReason,
		IsError: j.IsError != nil && *j.IsError, Display: j.Display != nil && *j.Display,
	}
	if j.Timestamp != 0 {
		m.Time = time.UnixMilli(j.Timestamp)
	}
	if e := j.Error; e != nil {
		m.Error = &Error{
			Kind: e.Kind, Message: e.Message, Status: e.Status, Code: e.Code, Provider: j.Provider,
			RetryAfter: time.Duration(e.RetryAfterMS) * time.Millisecond, RequestID: e.RequestID,
		}
		if e.ResetAt != 0 {
			m.Error.ResetAt = time.UnixMilli(e.ResetAt)
		}
	} else if j.ErrorMessage != "" {
		m.Error = &Error{Message: j.ErrorMessage}
	}
	content := bytes.TrimSpace(j.Content)
	switch {
	case len(content) == 0 || string(content) == "null":
	case content[0] == '"':
		var s string
		if err := json.Unmarshal(content, &s); err != nil {
			return fmt.Errorf("read message content: %w", err)
		}
		m.Content = []Block{Text{Text: s}}
	default:
		var raws []json.RawMessage
		if err := json.Unmarshal(content, &raws); err != nil {
			return fmt.Errorf("read message content: %w", err)
		}
		for _, raw := range raws {
			b, err := decodeBlock(raw)
			if err != nil {
				return fmt.Errorf("read message content: %w", err)
			}
			m.Content = append(m.Content, b)
		}
	}
	return nil
}

func decodeBlock(raw json.RawMessage) (Block, error) {
	var j blockJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	switch j.Type {
	case "text":
		return Text{Text: j.Text, Signature: j.TextSignature, Citations: j.Citations}, nil
	case "thinking":
		return Thinking{Text: j.Thinking, Signature: j.ThinkingSignature, Redacted: j.Redacted}, nil
	case "toolCall":
		c := ToolCall{ID: j.ID, Name: j.Name, Arguments: string(j.Arguments), Signature: j.ThoughtSignature, Defect: j.Defect}
		if j.RawArguments != nil {
			c.Arguments = *j.RawArguments
		}
		return c, nil
	case "image":
		return Image{MIME: j.MIMEType, Data: j.Data.data, URL: j.Data.url(j.URL)}, nil
	case "document":
		return Document{Name: j.Name, MIME: j.MIMEType, Data: j.Data.data, URL: j.Data.url(j.URL), Text: j.Text}, nil
	case "opaque":
		o := Opaque{API: j.API, Kind: j.Kind, Raw: j.Raw}
		if j.RawText != "" {
			o.Raw = json.RawMessage(j.RawText)
		}
		return o, nil
	}
	return Opaque{Kind: j.Type, Raw: raw}, nil
}
