package llm

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
)

// Role says who wrote a message.
type Role string

const (
	RoleSystem     Role = "system"     // instructions in the middle of a conversation; the system prompt itself is Request.System
	RoleUser       Role = "user"       // the user
	RoleAssistant  Role = "assistant"  // the model
	RoleToolResult Role = "toolResult" // the result of one tool call
	RoleCustom     Role = "custom"     // written by the program or an extension; the model reads it as user text
)

// Message is one entry of a conversation.
type Message struct {
	Role    Role
	Content []Block
	Time    time.Time

	// For assistant messages.
	API        API    // the wire format it came in
	Provider   string // id of the provider
	Model      string // id of the model at the provider
	ResponseID string // the provider's id of the response, for chaining
	Usage      *Usage // nil if the provider reported none
	StopReason StopReason
	Error      *Error // set if StopReason is error or aborted

	// For tool results.
	ToolCallID string
	ToolName   string
	IsError    bool
	Details    json.RawMessage // for faces; never sent to a model

	// For custom messages.
	CustomType string
	Display    bool // whether faces show it
}

// Block is one piece of a message's content: [Text], [Thinking], [ToolCall], [Image],
// [Document] or [Opaque]. No other type implements it.
type Block interface{ block() }

// Text is text for the reader.
type Text struct {
	Text      string
	Signature string     // the provider's id or signature of the piece, sent back unchanged to the same API
	Citations []Citation // sources that the provider named for this piece
}

// Citation is a source of a piece of text.
type Citation struct {
	URL   string          `json:"url,omitempty"`
	Title string          `json:"title,omitempty"`
	Text  string          `json:"text,omitempty"` // the cited text
	Raw   json.RawMessage `json:"raw,omitempty"`  // the provider's own record, sent back unchanged to the same API
}

// Thinking is the model's reasoning, or a summary of it.
type Thinking struct {
	Text string
	// Signature proves the block to its provider and must be sent back unchanged: Anthropic's
	// and Bedrock's signature, Google's thoughtSignature, or the whole reasoning item as JSON
	// for OpenAI Responses.
	Signature string
	// Redacted marks reasoning that the provider encrypted; Signature then has the encrypted
	// data, and Text is empty.
	Redacted bool
}

// ToolCall asks to run a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text exactly as the model wrote it; may be empty if there are no arguments
	Signature string // Google's thoughtSignature of the call
	Defect    Defect // why the call must not run; empty for a good call
}

// Defect says why a tool call must not run.
type Defect string

const (
	DefectCut     Defect = "cut"     // the stream or the token limit ended inside the arguments
	DefectCorrupt Defect = "corrupt" // the provider's own control text leaked into the arguments
)

// Image is an image, by value or by reference.
type Image struct {
	MIME string // image/png, image/jpeg, image/gif, image/webp
	Data []byte
	URL  string // used if Data is empty
}

// Document is a file for the model to read, usually a PDF, or a recording to listen to.
type Document struct {
	Name string
	MIME string
	Data []byte
	URL  string // used if Data is empty
	// Text is the extracted text, or what is said in a recording. It replaces the document for
	// models that can't read the file itself.
	Text string
}

// Audio reports whether a document is a recording.
func (d Document) Audio() bool { return strings.HasPrefix(d.MIME, "audio/") }

// Opaque is an item that only its provider understands (a server-side tool call, its encrypted
// result). It is kept byte for byte, sent back to the same API, and omitted for all others.
type Opaque struct {
	API  API
	Kind string // the provider's own type name
	Raw  json.RawMessage
}

func (Text) block()     {}
func (Thinking) block() {}
func (ToolCall) block() {}
func (Image) block()    {}
func (Document) block() {}
func (Opaque) block()   {}

// UserText returns a user message with one text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Content: []Block{Text{Text: text}}}
}

// AssistantText returns an assistant message with one text.
func AssistantText(text string) Message {
	return Message{Role: RoleAssistant, Content: []Block{Text{Text: text}}, StopReason: StopEnd}
}

// ToolResultText returns the result of the call, with one text.
func ToolResultText(call ToolCall, text string, isError bool) Message {
	return Message{
		Role: RoleToolResult, ToolCallID: call.ID, ToolName: call.Name, IsError: isError,
		Content: []Block{Text{Text: text}},
	}
}

// Text returns the text of all text blocks, joined without separators: providers split one
// paragraph into several blocks when they cite.
func (m *Message) Text() string {
	var first string
	var joined []byte
	for _, b := range m.Content {
		t, ok := b.(Text)
		switch {
		case !ok:
		case joined != nil:
			joined = append(joined, t.Text...)
		case first == "":
			first = t.Text
		default:
			joined = append([]byte(first), t.Text...)
		}
	}
	if joined != nil {
		return string(joined)
	}
	return first
}

// Sources returns the sources that the text cites, each address once, in order of appearance.
func (m *Message) Sources() []Citation {
	var all []Citation
	for _, b := range m.Content {
		if t, ok := b.(Text); ok {
			all = addSources(all, t.Citations)
		}
	}
	return all
}

func addSources(all, more []Citation) []Citation {
	for _, c := range more {
		if c.URL != "" && !slices.ContainsFunc(all, func(have Citation) bool { return have.URL == c.URL }) {
			all = append(all, c)
		}
	}
	return all
}

// Paragraphs returns blocks for display: neighboring texts become one, with each source once.
func Paragraphs(blocks []Block) []Block {
	var out []Block
	for _, b := range AllParagraphs(blocks) {
		out = append(out, b)
	}
	return out
}

// AllParagraphs iterates over the blocks of [Paragraphs], each with the index of the first
// block that it is made of.
func AllParagraphs(blocks []Block) iter.Seq2[int, Block] {
	return func(yield func(int, Block) bool) {
		for i := 0; i < len(blocks); {
			first, one := i, blocks[i]
			i++
			if t, ok := one.(Text); ok {
				var more strings.Builder
				t.Citations = addSources(nil, t.Citations)
				for ; i < len(blocks); i++ {
					next, ok := blocks[i].(Text)
					if !ok {
						break
					}
					more.WriteString(next.Text)
					t.Citations = addSources(t.Citations, next.Citations)
				}
				if more.Len() > 0 {
					t.Text += more.String()
				}
				one = t
			}
			if !yield(first, one) {
				return
			}
		}
	}
}

// ToolCalls returns the calls of the message in order, including defective ones.
func (m *Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, b := range m.Content {
		if c, ok := b.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}
