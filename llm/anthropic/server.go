package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Server is the server's half of the Messages format. The zero value is ready.
type Server struct{}

var _ wire.Server = Server{}

// API names the format.
func (Server) API() llm.API { return llm.APIAnthropic }

// Match reports whether r asks for an answer in this format.
func (Server) Match(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/messages")
}

// DecodeRequest reads a request. Keys it does not know are ignored. Assistant
// messages are taken to be written by the model that is asked, so that reasoning
// with its signature reaches it again; a gateway that asks another one says so
// in the messages before it sends them on.
func (Server) DecodeRequest(_ *http.Request, body []byte) (*llm.Request, bool, error) {
	var in request
	if deep(body) {
		return nil, false, refused("the body is nested too deeply")
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, false, refused("the body is not a request of the Messages API: %v", err)
	}
	if in.Model == "" {
		return nil, false, refused("model: field required")
	}
	if len(in.Messages) == 0 {
		return nil, false, refused("messages: at least one message is required")
	}
	out := &llm.Request{
		Model:       &llm.Model{ID: in.Model, API: llm.APIAnthropic},
		MaxTokens:   in.MaxTokens,
		Temperature: in.Temperature, TopP: in.TopP, TopK: in.TopK, Stop: in.StopSequences,
		Thinking: thought(&in),
		Cache:    llm.CacheHint{Retention: retention(&in)},
	}
	var system []string
	for _, b := range in.System {
		if b.Text != nil {
			system = append(system, *b.Text)
		}
	}
	out.System = strings.Join(system, "\n\n")
	if in.Metadata != nil {
		out.User = in.Metadata.UserID
	}
	if in.OutputConfig != nil && in.OutputConfig.Format != nil {
		out.Output = in.OutputConfig.Format.Schema
	}
	for _, t := range in.Tools {
		takeTool(out, t)
	}
	takeChoice(out, in.ToolChoice)
	h := reader{model: in.Model, names: map[string]string{}}
	for _, m := range in.Messages {
		if err := h.add(m); err != nil {
			return nil, false, err
		}
	}
	out.Messages = h.out
	return out, in.Stream, nil
}

// maxNesting is how deep the JSON of a request may be. Blocks within blocks are
// read again at each level.
const maxNesting = 100

func deep(body []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func refused(format string, args ...any) *llm.Error {
	e := invalid(format, args...)
	e.Status, e.Code = http.StatusBadRequest, "invalid_request_error"
	return e
}

// thought is how the model shall reason. A budget or an effort alone also gives
// the nearest level, for providers that take only the other.
func thought(in *request) llm.Thought {
	var t llm.Thought
	if in.OutputConfig != nil {
		t.Effort = in.OutputConfig.Effort
	}
	if t.Effort == "max" {
		t.Level = llm.LevelXHigh
	} else if l, err := llm.ParseLevel(t.Effort); err == nil {
		t.Level = l
	}
	if in.Thinking == nil {
		return t
	}
	t.Hidden = in.Thinking.Display == "omitted"
	switch in.Thinking.Type {
	case "disabled":
		t.Level = llm.LevelOff
	case "enabled":
		t.Budget = in.Thinking.BudgetTokens
		for _, l := range llm.Levels()[1:] {
			if t.Level == "" || llm.DefaultBudget(l) <= t.Budget {
				t.Level = l
			}
		}
	}
	return t
}

// retention is the longest that any breakpoint asks for.
func retention(in *request) llm.CacheRetention {
	keep := llm.CacheOff
	see := func(c *cacheControl) {
		switch {
		case c == nil:
		case c.TTL == "1h":
			keep = llm.CacheLong
		case keep == llm.CacheOff:
			keep = llm.CacheShort
		}
	}
	for _, t := range in.Tools {
		see(t.CacheControl)
	}
	for _, b := range in.System {
		see(b.CacheControl)
	}
	for _, m := range in.Messages {
		for _, b := range m.Content {
			see(b.CacheControl)
		}
	}
	return keep
}

// takeTool adds a tool. Of the provider's tools those are known that other
// providers have too.
func takeTool(out *llm.Request, t tool) {
	server := llm.ServerTool{MaxUses: t.MaxUses, AllowedDomains: t.AllowedDomains, BlockedDomains: t.BlockedDomains}
	switch {
	case t.Type == "" || t.Type == "custom":
		out.Tools = append(out.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema, Strict: t.Strict})
	case t.Type == memoryType:
		out.Tools = append(out.Tools, llm.Tool{Name: t.Name, Native: llm.NativeMemory})
	case strings.HasPrefix(t.Type, "web_search_"):
		server.Kind = llm.ServerWebSearch
		out.ServerTools = append(out.ServerTools, server)
	case strings.HasPrefix(t.Type, "web_fetch_"):
		server.Kind = llm.ServerWebFetch
		out.ServerTools = append(out.ServerTools, server)
	}
}

func takeChoice(out *llm.Request, c *toolChoice) {
	if c == nil {
		return
	}
	out.SequentialTools = c.DisableParallel
	switch c.Type {
	case "none":
		out.ToolChoice.Mode = llm.ToolNone
	case "any":
		out.ToolChoice.Mode = llm.ToolAny
	case "tool":
		out.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: c.Name}
	}
}

// reader turns messages of the API into a history.
type reader struct {
	model string
	names map[string]string // tool names by call id
	out   []llm.Message
}

func (h *reader) add(m message) error {
	switch m.Role {
	case "assistant":
		return h.assistant(m)
	case "user", "system":
	default:
		return refused("messages: unexpected role %q", m.Role)
	}
	role := llm.RoleUser
	if m.Role == "system" {
		role = llm.RoleSystem
	}
	var said []llm.Block
	flush := func() {
		if len(said) > 0 {
			h.out = append(h.out, llm.Message{Role: role, Content: said})
			said = nil
		}
	}
	for _, b := range m.Content {
		if b.Type == "tool_result" {
			flush()
			content, err := contentOf(b.Content)
			if err != nil {
				return err
			}
			h.out = append(h.out, llm.Message{
				Role: llm.RoleToolResult, ToolCallID: b.ToolUseID, ToolName: h.names[b.ToolUseID],
				IsError: b.IsError, Content: content,
			})
			continue
		}
		content, err := contentOf(blocks{b})
		if err != nil {
			return err
		}
		said = append(said, content...)
	}
	flush()
	return nil
}

func (h *reader) assistant(m message) error {
	out := llm.Message{Role: llm.RoleAssistant, API: llm.APIAnthropic, Model: h.model, StopReason: llm.StopEnd}
	open := ""
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			t := llm.Text{Text: deref(b.Text)}
			var citations []json.RawMessage
			_ = json.Unmarshal(b.Citations, &citations) // null and nothing are no citations
			for _, c := range citations {
				t.Citations = append(t.Citations, citation(c))
			}
			out.Content = append(out.Content, t)
		case "thinking":
			out.Content = append(out.Content, llm.Thinking{Text: deref(b.Thinking), Signature: deref(b.Signature)})
		case "redacted_thinking":
			out.Content = append(out.Content, llm.Thinking{Signature: deref(b.Data), Redacted: true})
		case "tool_use":
			if b.ID == "" || b.Name == "" {
				return refused("messages: a tool_use block needs an id and a name")
			}
			h.names[b.ID] = b.Name
			out.StopReason = llm.StopToolUse
			out.Content = append(out.Content, llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		default:
			o := llm.Opaque{API: llm.APIAnthropic, Kind: b.Type, Raw: b.raw}
			if item, err := parseObject(b.raw); err == nil && b.CacheControl != nil {
				o.Raw = item.without("cache_control").json()
			}
			if use, of := opaqueIDs(o); use != "" {
				open = use
			} else if of == open {
				open = ""
			}
			out.Content = append(out.Content, o)
		}
	}
	if open != "" && out.StopReason == llm.StopEnd {
		out.StopReason = llm.StopPause // it waits for a server tool
	}
	h.out = append(h.out, out)
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// contentOf reads what a user message or a tool result holds.
func contentOf(list blocks) ([]llm.Block, error) {
	var out []llm.Block
	for _, b := range list {
		switch b.Type {
		case "text":
			out = append(out, llm.Text{Text: deref(b.Text)})
		case "image", "document":
			if b.Source == nil {
				return nil, refused("messages: %s: source: field required", b.Type)
			}
			media, err := b.media()
			if err != nil {
				return nil, err
			}
			out = append(out, media)
		case "search_result":
			out = append(out, llm.Text{Text: searchResult(b.raw)})
		}
	}
	return out, nil
}

// media is the image or document of a block.
func (b *block) media() (llm.Block, error) {
	s := b.Source
	if !slices.Contains([]string{"base64", "url", "text", "content"}, s.Type) {
		return nil, refused("messages: %s: sources of type %q cannot be read here", b.Type, s.Type)
	}
	var data []byte
	switch s.Type {
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(s.Data); err != nil {
			return nil, refused("messages: %s: the data is not base64", b.Type)
		}
	case "text":
		data = []byte(s.Data)
	case "content":
		var text []string
		for _, c := range s.Content {
			text = append(text, deref(c.Text))
		}
		data = []byte(strings.Join(text, "\n"))
	}
	if b.Type == "image" {
		return llm.Image{MIME: s.MediaType, Data: data, URL: s.URL}, nil
	}
	d := llm.Document{Name: b.Title, MIME: s.MediaType, Data: data, URL: s.URL}
	switch s.Type {
	case "text", "content":
		d.MIME, d.Text = "text/plain", string(data)
	case "url":
		d.MIME = "application/pdf"
	}
	return d, nil
}

// searchResult is the text of a search result block.
func searchResult(raw json.RawMessage) string {
	var r struct {
		Title   string `json:"title"`
		Source  string `json:"source"`
		Content blocks `json:"content"`
	}
	_ = json.Unmarshal(raw, &r) // what can be read is kept
	parts := []string{r.Title, r.Source}
	for _, c := range r.Content {
		parts = append(parts, deref(c.Text))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}
