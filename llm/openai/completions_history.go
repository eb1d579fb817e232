package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Texts that stand in for what an endpoint insists on.
const (
	chatBridge       = "The tools have run."
	chatCallingTools = "Calling tools."
)

// messages encodes the conversation.
func (d *chatDialect) messages(req *llm.Request) []chatMessage {
	m := req.Model
	keep := llm.KeepThinking
	foreign := llm.DropThinking
	if chatOn(d.RequiresThinkingAsText) {
		keep, foreign = llm.ThinkingAsText, llm.ThinkingAsText
	}
	pdf := m.Accepts(llm.ModalityDocument) && (d.host == chatHostOpenAI || d.host == chatHostOpenRouter)
	history := llm.Merge(llm.Legal(chatSendable(req.Messages), llm.Target{
		API: llm.APICompletions, Provider: m.Provider, Model: m.ID,
		Images:          m.Accepts(llm.ModalityImage),
		Documents:       pdf,
		Audio:           func(mime string) bool { return m.Accepts(llm.ModalityAudio) && d.audioFormat(mime) != "" },
		ForeignThinking: foreign, OwnThinking: keep, UnsignedThinking: true,
		CallID:       d.callID,
		SystemInline: d.vendor(), // many others want one system message, in front
	}))

	instructions := "system"
	if chatOn(d.SupportsDeveloperRole) && m.Thinking.Mode != llm.ThinkingNone {
		instructions = "developer"
	}
	var out []chatMessage
	if req.System != "" {
		out = append(out, chatMessage{Role: instructions, Content: chatJSON(strings.ToValidUTF8(req.System, "\uFFFD"))})
	}
	for i := range history {
		h := &history[i]
		switch {
		case h.Role == llm.RoleSystem:
			out = append(out, chatMessage{Role: instructions, Content: d.input(h.Content)})
		case h.Role == llm.RoleAssistant:
			if msg, ok := d.assistant(h); ok {
				out = append(out, msg)
			}
		case h.Role == llm.RoleToolResult:
			msg := chatMessage{Role: "tool", ToolCallID: h.ToolCallID, Content: chatJSON(chatPlain(h.Content, "\n"))}
			if chatOn(d.RequiresToolResultName) {
				msg.Name = h.ToolName
			}
			out = append(out, msg)
		default:
			if n := len(out); n > 0 && out[n-1].Role == "tool" && chatOn(d.RequiresAssistantAfterToolResult) {
				out = append(out, chatMessage{Role: "assistant", Content: chatJSON(chatBridge)})
			}
			out = append(out, chatMessage{Role: "user", Content: d.input(h.Content)})
		}
	}
	if text := req.Begun(); text != "" {
		out = append(out, chatMessage{Role: "assistant", Content: chatJSON(text), Prefix: d.host == chatHostMistral})
	}
	return out
}

func chatOnlyText(blocks []llm.Block) bool {
	for _, b := range blocks {
		if _, ok := b.(llm.Text); !ok {
			return false
		}
	}
	return true
}

// chatSendable takes the data out of documents that the format cannot carry,
// which is all but PDF by value, so that their text is sent instead.
func chatSendable(history []llm.Message) []llm.Message {
	var out []llm.Message
	for i, m := range history {
		var content []llm.Block
		for j, b := range m.Content {
			doc, ok := b.(llm.Document)
			if !ok || doc.Audio() || (doc.MIME == "application/pdf" && len(doc.Data) > 0) {
				continue
			}
			if content == nil {
				content = append(content, m.Content...)
			}
			doc.Data, doc.URL = nil, ""
			content[j] = doc
		}
		if content == nil {
			continue
		}
		if out == nil {
			out = append(out, history...)
		}
		out[i].Content = content
	}
	if out == nil {
		return history
	}
	return out
}

// chatPlain joins the texts of blocks.
func chatPlain(blocks []llm.Block, sep string) string {
	var texts []string
	for _, b := range blocks {
		if t, ok := b.(llm.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, sep)
}

// input encodes what the model reads. Text alone goes as one text, which every
// endpoint and every chat template understands; where lists of parts are sure to
// be understood, the borders between texts are kept.
func (d *chatDialect) input(blocks []llm.Block) json.RawMessage {
	lists := d.vendor() || d.host == chatHostOpenRouter || d.host == chatHostVercel
	if chatOnlyText(blocks) && (len(blocks) == 1 || !lists) {
		return chatJSON(chatPlain(blocks, "\n\n"))
	}
	parts := make([]chatPart, 0, len(blocks))
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case llm.Image:
			url := b.URL
			if len(b.Data) > 0 {
				url = chatDataURL(b.MIME, b.Data)
			}
			parts = append(parts, chatPart{Type: "image_url", ImageURL: &chatImage{URL: url}})
		case llm.Document:
			if b.Audio() {
				parts = append(parts, chatPart{Type: "input_audio", Audio: &chatAudio{b.Data, d.audioFormat(b.MIME)}})
				continue
			}
			name := b.Name
			if name == "" {
				name = "document.pdf" // a name is required
			}
			parts = append(parts, chatPart{Type: "file", File: &chatFile{Name: name, Data: chatDataURL(b.MIME, b.Data)}})
		}
	}
	return chatJSON(parts)
}

// audioFormat is a type of recordings under the format's name for it.
type audioFormat struct{ mime, name string }

// audioFormats are those that OpenRouter takes; OpenAI, and the servers that imitate it, take the first
// two (developers.openai.com, audio inputs; openrouter.ai/docs, audio).
var audioFormats = []audioFormat{
	{"audio/wav", "wav"},
	{"audio/mpeg", "mp3"},
	{"audio/aiff", "aiff"},
	{"audio/aac", "aac"},
	{"audio/ogg", "ogg"},
	{"audio/flac", "flac"},
	{"audio/mp4", "m4a"},
}

// audioFormat is the host's name for a type of recordings; "" if it takes none.
func (d *chatDialect) audioFormat(mime string) string {
	takes := audioFormats
	if d.host != chatHostOpenRouter {
		takes = takes[:2]
	}
	for _, f := range takes {
		if f.mime == mime {
			return f.name
		}
	}
	return ""
}

func chatDataURL(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// assistant encodes an answer. ok is false for one that holds nothing the format
// has words for. The format puts all text before all calls.
func (d *chatDialect) assistant(m *llm.Message) (out chatMessage, ok bool) {
	out.Role = "assistant"
	var text strings.Builder
	var names []string
	reasoning, field := "", ""
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.HasSuffix(text.String(), "</thinking>") {
				text.WriteString("\n\n")
			}
			text.WriteString(b.Text)
		case llm.Thinking:
			if details := chatDetailsOf(b); details != nil {
				out.ReasoningDetails = append(out.ReasoningDetails, details...)
				continue
			}
			field = b.Signature
			if reasoning != "" {
				reasoning += "\n\n"
			}
			reasoning += b.Text
		case llm.ToolCall:
			names = append(names, b.Name)
			out.ToolCalls = append(out.ToolCalls, chatCall{
				ID: b.ID, Type: "function",
				Function: chatCallFunction{Name: b.Name, Arguments: chatArguments(b.Arguments)},
			})
		}
	}
	if text.Len() == 0 && len(out.ToolCalls) == 0 {
		return out, false
	}
	content := text.String()
	if content == "" && chatOn(d.RequiresAssistantContentForToolCalls) {
		content = chatCallingTools
	}
	out.Content = json.RawMessage("null")
	if content != "" {
		out.Content = chatJSON(content)
	}
	if chatOn(d.RequiresReasoningContentForToolCalls) {
		if reasoning == "" && len(names) > 0 && d.standIn && out.ReasoningDetails == nil {
			// Names the tools, because the same words on every turn make
			// DeepSeek repeat them as its answer.
			reasoning = "Call " + strings.Join(names, ", ") + "."
		}
		d.reason(&out, field, reasoning)
	}
	return out, true
}

// reason puts reasoning into the endpoint's field, or the one it came in.
func (d *chatDialect) reason(out *chatMessage, field, text string) {
	if d.ReasoningContentField != "" {
		field = d.ReasoningContentField
	}
	switch field {
	case chatReasoningPlain:
		out.Reasoning = text
	case chatReasoningText:
		out.ReasoningText = text
	default:
		out.ReasoningContent = text
	}
}

// chatDetailsOf are the records a block of reasoning goes back in, nil if it is
// plain text. See the package comment.
func chatDetailsOf(t llm.Thinking) []json.RawMessage {
	switch t.Signature {
	case "", chatReasoningContent, chatReasoningPlain, chatReasoningText:
		return nil
	}
	var list []json.RawMessage
	if strings.HasPrefix(t.Signature, "[") && json.Unmarshal([]byte(t.Signature), &list) == nil {
		return list
	}
	record := chatDetail{Type: chatDetailText, Text: t.Text, Signature: t.Signature, Format: chatOwnFormat}
	if t.Redacted {
		record = chatDetail{Type: chatDetailEncrypted, Data: t.Signature, Format: chatOwnFormat}
	}
	return []json.RawMessage{chatJSON(record)}
}

// callID maps a call id to one that the endpoint takes. Of an id of the
// Responses API, "call|item", the first part is the call's. OpenAI takes 40
// characters; Claude behind a gateway only letters, digits, '_' and '-'; the
// others are not known to be choosy. Kimi wants its own ids, such as
// "functions.read:0", back as they were.
func (d *chatDialect) callID(id string) string {
	if chatOn(d.RequiresMistralToolIds) {
		return chatMistralID(id)
	}
	limit, punctuation := 64, "_-.:"
	switch {
	case d.vendor():
		limit = 40
	case d.claude:
		punctuation = "_-"
	case d.kimi:
		limit = 128
	}
	call, _, _ := strings.Cut(id, "|")
	bad := strings.ContainsFunc(call, func(r rune) bool {
		return !chatAlphanumeric(r) && !strings.ContainsRune(punctuation, r)
	})
	if call != "" && !bad && len(call) <= limit {
		return call
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])[:24]
}

func chatAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// chatMistralID keeps an id of nine letters and digits and hashes any other.
func chatMistralID(id string) string {
	if len(id) == 9 && strings.IndexFunc(id, func(r rune) bool { return !chatAlphanumeric(r) }) < 0 {
		return id
	}
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := sha256.Sum256([]byte(id))
	out := make([]byte, 9)
	for i := range out {
		out[i] = letters[int(sum[i])%len(letters)]
	}
	return string(out)
}
