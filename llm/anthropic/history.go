package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// encoder turns a history into messages of the API.
type encoder struct {
	host   Host
	model  *llm.Model
	called []string            // names of the tools that were called, in order of their first call
	uses   map[string]struct{} // server tool calls that have their result, by id
	after  blocks              // what must follow the tool results
	begun  string              // what the answer begins with
}

// messages is the history as the API takes it.
func (e *encoder) messages(history []llm.Message) []message {
	legal := llm.Legal(history, llm.Target{
		API: llm.APIAnthropic, Provider: e.model.Provider, Model: e.model.ID,
		Images: e.model.Accepts(llm.ModalityImage), Documents: e.model.Accepts(llm.ModalityDocument),
		ToolImages: true, ToolDocuments: true,
		OwnThinking: llm.KeepThinking, ForeignThinking: llm.DropThinking,
		CallID: callID,
	})
	e.pair(legal)
	var out []message
	paused := false
	for i := range legal {
		m := &legal[i]
		w := message{Role: "user"}
		if len(e.after) > 0 && m.Role != llm.RoleToolResult {
			last := &out[len(out)-1] // the results that it belongs to
			last.Content = append(last.Content, e.after...)
			e.after = nil
		}
		switch m.Role {
		case llm.RoleAssistant:
			last := i == len(legal)-1
			w.Role, w.Content = "assistant", e.answer(m, last && m.StopReason == llm.StopPause)
			paused = last && m.StopReason == llm.StopPause
		case llm.RoleToolResult:
			w.Content = blocks{e.result(m)}
		default:
			w.Content = e.input(m.Content)
		}
		if len(w.Content) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == w.Role {
			out[n-1].Content = append(out[n-1].Content, w.Content...)
			continue
		}
		out = append(out, w)
	}
	if n := len(out); n > 0 {
		out[n-1].Content = append(out[n-1].Content, e.after...)
	}
	if e.begun != "" {
		return append(out, message{Role: "assistant", Content: blocks{textBlock(e.begun)}})
	}
	if n := len(out); n == 0 || out[n-1].Role == "assistant" && !paused {
		out = append(out, message{Role: "user", Content: blocks{textBlock("Continue.")}})
	}
	return out
}

// callID makes an id the API takes: letters, digits, '_' and '-', at most 64.
func callID(id string) string {
	id = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	return id[:min(len(id), 64)]
}

// pair finds the server tool calls that have a result. The API refuses one
// without the other, which an answer cut by the token limit leaves behind.
func (e *encoder) pair(history []llm.Message) {
	called := map[string]struct{}{}
	e.uses = map[string]struct{}{}
	for i := range history {
		for _, b := range history[i].Content {
			o, ok := b.(llm.Opaque)
			if !ok {
				continue
			}
			use, of := opaqueIDs(o)
			if use != "" {
				called[use] = struct{}{}
			}
			if _, known := called[of]; known {
				e.uses[of] = struct{}{}
			}
		}
	}
}

// opaqueIDs are the id of a server tool call and of the call that a result
// answers; at most one is set.
func opaqueIDs(o llm.Opaque) (use, of string) {
	var ids struct {
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
	}
	if json.Unmarshal(o.Raw, &ids) != nil {
		return "", ""
	}
	if ids.ToolUseID != "" {
		return "", ids.ToolUseID
	}
	if strings.HasSuffix(o.Kind, "tool_use") {
		return ids.ID, ""
	}
	return "", ""
}

// answer is the content of an assistant message; nil when nothing but
// reasoning is left. A paused answer keeps the call that it waits for.
func (e *encoder) answer(m *llm.Message, paused bool) blocks {
	var out blocks
	said := false
	for _, b := range m.Content {
		w, ok := e.answered(b, paused)
		if !ok {
			continue
		}
		if _, thought := b.(llm.Thinking); !thought {
			said = true
		}
		out = append(out, w)
	}
	if !said {
		return nil
	}
	return out
}

func (e *encoder) answered(b llm.Block, paused bool) (block, bool) {
	switch b := b.(type) {
	case llm.Text:
		t := textBlock(b.Text)
		t.Citations = returnedCitations(b.Citations)
		return t, true
	case llm.Thinking:
		if b.Signature == "" {
			return block{}, false
		}
		if b.Redacted {
			return block{Type: "redacted_thinking", Data: &b.Signature}, true
		}
		return block{Type: "thinking", Thinking: &b.Text, Signature: &b.Signature}, true
	case llm.ToolCall:
		if !slices.Contains(e.called, b.Name) {
			e.called = append(e.called, b.Name)
		}
		return block{Type: "tool_use", ID: b.ID, Name: b.Name, Input: mendSurrogates([]byte(b.Arguments))}, true
	case llm.Opaque:
		if !json.Valid(b.Raw) {
			return block{}, false
		}
		use, of := opaqueIDs(b)
		if id := use + of; id != "" {
			if _, whole := e.uses[id]; !whole && !(paused && use != "") {
				return block{}, false
			}
		}
		return block{Type: b.Kind, raw: b.Raw}, true
	}
	return block{}, false
}

// returnedCitations are the provider's own records without file_id, which the API
// sends but does not take back. Citations of other providers have no record.
func returnedCitations(citations []llm.Citation) json.RawMessage {
	var list []string
	for _, c := range citations {
		if o, err := parseObject(c.Raw); err == nil {
			list = append(list, string(o.without("file_id").json()))
		}
	}
	if list == nil {
		return nil
	}
	return json.RawMessage("[" + strings.Join(list, ",") + "]")
}

// result is the answer to one call. The API takes only text in the result of a
// failed call; anything else follows the results.
func (e *encoder) result(m *llm.Message) block {
	b := block{Type: "tool_result", ToolUseID: m.ToolCallID, IsError: m.IsError}
	for _, c := range e.input(m.Content) {
		if m.IsError && c.Type != "text" {
			e.after = append(e.after, c)
			c = textBlock("[The " + c.Type + " follows the tool results.]")
		}
		b.Content = append(b.Content, c)
	}
	return b
}

// input is the content of a user message or a tool result.
func (e *encoder) input(content []llm.Block) blocks {
	var out blocks
	for _, b := range content {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, textBlock(b.Text))
		case llm.Image:
			out = append(out, e.image(b))
		case llm.Document:
			out = append(out, e.document(b))
		}
	}
	return out
}

func textBlock(s string) block { return block{Type: "text", Text: &s} }

// remote reports whether the host fetches what a URL names.
func (e *encoder) remote(url string) bool {
	return e.host == "" && (strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://"))
}

func (e *encoder) image(i llm.Image) block {
	if len(i.Data) == 0 {
		if !e.remote(i.URL) {
			return textBlock(fmt.Sprintf("[An image was here: %s. It could not be sent.]", i.URL))
		}
		return block{Type: "image", Source: &source{Type: "url", URL: i.URL}}
	}
	mime := imageType(i)
	if mime == "" {
		return textBlock(fmt.Sprintf("[An image of type %q was here. This model reads PNG, JPEG, GIF and WebP.]", i.MIME))
	}
	return block{Type: "image", Source: &source{Type: "base64", MediaType: mime, Data: base64.StdEncoding.EncodeToString(i.Data)}}
}

// imageType is the type of an image by its content, because the API refuses one
// that is not what it is said to be; by its label where the content says nothing.
func imageType(i llm.Image) string {
	for _, t := range []string{http.DetectContentType(i.Data), i.MIME} {
		switch t {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return t
		}
	}
	return ""
}

func (e *encoder) document(d llm.Document) block {
	b := block{Type: "document", Title: d.Name}
	pdf := d.MIME == "application/pdf" || d.MIME == ""
	switch {
	case len(d.Data) == 0 && pdf && e.remote(d.URL):
		b.Source = &source{Type: "url", URL: d.URL}
	case len(d.Data) > 0 && pdf:
		b.Source = &source{Type: "base64", MediaType: "application/pdf", Data: base64.StdEncoding.EncodeToString(d.Data)}
	case len(d.Data) > 0 && strings.HasPrefix(d.MIME, "text/"):
		b.Source = &source{Type: "text", MediaType: "text/plain", Data: string(d.Data)}
	case strings.TrimSpace(d.Text) != "":
		b.Source = &source{Type: "text", MediaType: "text/plain", Data: d.Text}
	default:
		return textBlock(fmt.Sprintf("[A document was here: %s. This model reads PDF and text.]", d.Name+d.URL))
	}
	return b
}
