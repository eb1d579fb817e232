package bedrock

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Texts of ours inside requests.
const (
	documentPrompt = "The document is attached."
	continuePrompt = "Continue."
	defaultName    = "document"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// messages are the messages of the request: users and assistants strictly in
// turn, the results of one answer's calls together in the user message after
// it. The last one is the user's: an answer that is to be continued is not
// accepted by most models.
func (e *encoder) messages() []message {
	var out []message
	add := func(role string, blocks ...block) {
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		out = append(out, message{role, blocks})
	}
	for i := range e.history {
		m := &e.history[i]
		switch m.Role {
		case llm.RoleAssistant:
			if said := e.assistant(m); len(said) > 0 {
				add(roleAssistant, said...)
			}
		case llm.RoleToolResult:
			add(roleUser, e.result(m))
		default:
			add(roleUser, e.user(m.Content)...)
		}
	}
	if out[len(out)-1].Role == roleAssistant {
		add(roleUser, textBlock(continuePrompt))
	}
	for i := range out {
		out[i].Content = withPrompt(out[i].Content)
	}
	if e.traits.cache {
		e.markCache(out)
	}
	return out
}

// markCache ends the last two user messages with a cache point: the one reads
// what the request before has written, the other writes for the next.
func (e *encoder) markCache(out []message) {
	left := 2
	for i := len(out) - 1; i >= 0 && left > 0; i-- {
		if out[i].Role == roleUser {
			out[i].Content = append(out[i].Content, block{CachePoint: e.cachePoint()})
			left--
		}
	}
}

// withPrompt adds text to a message with a document that has none, as Bedrock
// demands.
func withPrompt(blocks []block) []block {
	document := false
	for _, b := range blocks {
		if b.Text != nil {
			return blocks
		}
		document = document || b.Document != nil
	}
	if document {
		return append(blocks, textBlock(documentPrompt))
	}
	return blocks
}

func (e *encoder) user(content []llm.Block) []block {
	var out []block
	for _, b := range content {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, textBlock(b.Text))
		case llm.Image:
			out = append(out, image(b))
		case llm.Document:
			out = append(out, e.document(b))
		}
	}
	return out
}

func (e *encoder) result(m *llm.Message) block {
	status := "success"
	if m.IsError {
		status = "error"
	}
	return block{ToolResult: &toolResult{ToolUseID: m.ToolCallID, Content: e.user(m.Content), Status: status}}
}

func (e *encoder) assistant(m *llm.Message) []block {
	var out []block
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, e.said(b))
		case llm.Thinking:
			out = append(out, block{ReasoningContent: reasoning(b, e.traits.family == claude)})
		case llm.ToolCall:
			out = append(out, block{ToolUse: &toolUse{ToolUseID: b.ID, Name: b.Name, Input: json.RawMessage(b.Arguments)}})
		case llm.Opaque:
			var server block
			if json.Unmarshal(b.Raw, &server) == nil && (server.ToolUse != nil || server.ToolResult != nil) {
				out = append(out, server)
			}
		}
	}
	return out
}

// said is a text of the model, with its citations if they can be returned.
func (e *encoder) said(t llm.Text) block {
	var raws []json.RawMessage
	for _, c := range t.Citations {
		if len(c.Raw) > 0 {
			raws = append(raws, c.Raw)
		}
	}
	if len(raws) == 0 || !e.cite {
		return textBlock(t.Text)
	}
	return block{CitationsContent: &citationsContent{Content: []block{textBlock(t.Text)}, Citations: raws}}
}

func reasoning(t llm.Thinking, signed bool) *reasoningContent {
	if t.Redacted {
		return &reasoningContent{RedactedContent: t.Signature}
	}
	r := &reasoningText{Text: t.Text}
	if signed { // other providers refuse the key
		r.Signature = t.Signature
	}
	return &reasoningContent{ReasoningText: r}
}

var imageFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp",
}

// image is the block of a picture. Converse reads bytes and files on S3; any
// other address, and any other format, becomes a note that says so.
func image(i llm.Image) block {
	format := imageFormats[strings.ToLower(i.MIME)]
	src, ok := sourceOf(i.Data, i.URL)
	switch {
	case ok && format != "":
		return block{Image: &imageBlock{format, src}}
	case ok:
		return textBlock("[An image of type " + i.MIME + " was here. This model reads PNG, JPEG, GIF and WebP.]")
	}
	return textBlock("[An image was here that this model cannot fetch: " + i.URL + "]")
}

func sourceOf(data []byte, url string) (source, bool) {
	if len(data) > 0 {
		return source{Bytes: data}, true
	}
	if strings.HasPrefix(url, "s3://") {
		return source{S3Location: &s3Location{url}}, true
	}
	return source{}, false
}

var documentFormats = map[string]string{
	"application/pdf":    "pdf",
	"text/csv":           "csv",
	"application/msword": "doc",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
	"text/html":     "html",
	"text/plain":    "txt",
	"text/markdown": "md",
}

// document is the block of a file; its text stands in where Bedrock does not
// know the format or cannot fetch the file.
func (e *encoder) document(d llm.Document) block {
	format := documentFormats[mediaType(d.MIME)]
	src, ok := sourceOf(d.Data, d.URL)
	switch {
	case ok && format != "":
		b := &documentBlock{Format: format, Name: e.documentName(d.Name), Source: src}
		if e.cite {
			b.Citations = &citations{true}
		}
		return block{Document: b}
	case strings.TrimSpace(d.Text) != "":
		return textBlock("<document name=" + strconv.Quote(d.Name) + ">\n" + strings.ToValidUTF8(d.Text, "\uFFFD") + "\n</document>")
	}
	return textBlock("[A document was here that this model cannot read: " + d.Name + "]")
}

// citable reports whether the documents are given for citation. That is what makes
// Claude see the pages of a PDF and not only its text. It must hold for all
// documents or none, is not possible for tables, and not together with a schema
// for the answer.
func (e *encoder) citable() bool {
	if e.traits.family != claude || len(e.req.Output) > 0 {
		return false
	}
	pdf := false
	for i := range e.history {
		for _, b := range e.history[i].Content {
			d, ok := b.(llm.Document)
			if !ok {
				continue
			}
			switch documentFormats[mediaType(d.MIME)] {
			case "pdf":
				pdf = true
			case "txt":
			default:
				return false
			}
		}
	}
	return pdf
}

func mediaType(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	return strings.ToLower(strings.TrimSpace(mime))
}

// documentName makes a name Bedrock takes: letters, digits, single spaces,
// hyphens, parentheses and square brackets, at most 200 characters, each name
// once in a request.
func (e *encoder) documentName(name string) string {
	const limit = 190
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-()[]", r):
			return r
		}
		return ' '
	}, name)
	clean = prose.Line(clean)
	clean = strings.TrimSpace(clean[:min(len(clean), limit)])
	if clean == "" {
		clean = defaultName
	}
	unique := clean
	for n := 2; e.names[unique]; n++ {
		unique = clean + " (" + strconv.Itoa(n) + ")"
	}
	e.names[unique] = true
	return unique
}
