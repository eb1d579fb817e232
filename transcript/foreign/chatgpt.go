package foreign

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// gptConversation is a conversation of a ChatGPT export: a tree of nodes whose root has
// no message.
type gptConversation struct {
	ID             string             `json:"id"`
	ConversationID string             `json:"conversation_id"`
	Title          string             `json:"title"`
	Created        stamp              `json:"create_time"`
	Current        string             `json:"current_node"`
	Model          string             `json:"default_model_slug"`
	Mapping        map[string]gptNode `json:"mapping"`

	mistake error
}

func (c *gptConversation) mistyped(err error) { c.mistake = err }

type gptNode struct {
	Message  *gptMessage `json:"message"`
	Parent   string      `json:"parent"`
	Children []string    `json:"children"`
}

type gptMessage struct {
	ID     string `json:"id"`
	Author struct {
		Role string `json:"role"`
		Name string `json:"name"`
	} `json:"author"`
	Created   stamp      `json:"create_time"`
	Content   gptContent `json:"content"`
	Recipient string     `json:"recipient"`
	Status    string     `json:"status"`
	Metadata  struct {
		Model       string `json:"model_slug"`
		Hidden      bool   `json:"is_visually_hidden_from_conversation"`
		Attachments []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			MIME string `json:"mime_type"`
		} `json:"attachments"`
		Citations []struct {
			Metadata struct {
				Title string `json:"title"`
				URL   string `json:"url"`
			} `json:"metadata"`
		} `json:"citations"`
		References []struct {
			Items []struct {
				Title string `json:"title"`
				URL   string `json:"url"`
			} `json:"items"`
		} `json:"content_references"`
		Finish struct {
			Type string `json:"type"`
		} `json:"finish_details"`
	} `json:"metadata"`
}

// gptContent has the fields of all content types.
type gptContent struct {
	Type         string            `json:"content_type"`
	Parts        []json.RawMessage `json:"parts"`
	Text         words             `json:"text"`
	Result       words             `json:"result"` // of tether_browsing_display
	Title        words             `json:"title"`  // of tether_quote
	URL          words             `json:"url"`
	Profile      words             `json:"user_profile"` // of user_editable_context
	Instructions words             `json:"user_instructions"`
	Memory       words             `json:"model_set_context"` // of model_editable_context
	Thoughts     []struct {
		Summary string `json:"summary"`
		Content string `json:"content"`
	} `json:"thoughts"`
}

// gptReader turns one conversation into a session.
type gptReader struct {
	c     *gptConversation
	x     *export
	t     *tree
	place map[string]int    // node -> the entry that what follows it follows
	calls map[string]string // node -> name of the tool that it calls
	done  map[string]int    // call node -> entry of its result
}

func (c *gptConversation) session(source string, x *export) *Session {
	id := c.ConversationID
	if id == "" {
		id = c.ID
	}
	t := newTree(ChatGPT, source, id)
	t.head(c.Title, "", c.Created)
	if c.mistake != nil {
		t.unreadable("a field", c.mistake)
	}
	r := &gptReader{c: c, x: x, t: t, place: map[string]int{}, calls: map[string]string{}, done: map[string]int{}}
	nodes := c.order()
	at := make(map[string]int, len(nodes))
	for i, id := range nodes {
		at[id] = i
	}
	order, cut := parentsFirst(len(nodes), func(i int) int {
		if p, ok := at[c.Mapping[nodes[i]].Parent]; ok {
			return p
		}
		return root
	})
	t.lose(cut, "circles in the tree", "a message was its own ancestor; they were cut")
	last := root
	for _, i := range order {
		last = r.node(nodes[i])
	}
	if at, ok := r.place[c.Current]; ok {
		last = at
	}
	return t.finish(last)
}

// order lists the nodes so that branches are in the order in which they were made:
// parents name their children in it.
func (c *gptConversation) order() []string {
	ids := make([]string, 0, len(c.Mapping))
	var roots []string
	for id, n := range c.Mapping {
		if _, ok := c.Mapping[n.Parent]; !ok {
			roots = append(roots, id)
		}
		ids = append(ids, id)
	}
	slices.Sort(roots)
	slices.Sort(ids)
	seen := make(map[string]bool, len(ids))
	order := make([]string, 0, len(c.Mapping))
	slices.Reverse(ids)
	stack := ids // what no root leads to comes last
	for _, id := range slices.Backward(roots) {
		stack = append(stack, id)
	}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n, ok := c.Mapping[id]
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		order = append(order, id)
		for _, child := range slices.Backward(n.Children) {
			stack = append(stack, child)
		}
	}
	return order
}

// node adds a node's message and gives the entry that ends it.
func (r *gptReader) node(id string) int {
	n := r.c.Mapping[id]
	parent, ok := r.place[n.Parent]
	if !ok {
		parent = root
	}
	at := parent
	if m := n.Message; m != nil {
		switch m.Author.Role {
		case "system":
			at = r.system(parent, m)
		case "user":
			at = r.user(parent, m)
		case "assistant":
			at = r.assistant(id, parent, m)
		case "tool":
			at = r.tool(id, parent, m)
		default:
			r.t.lose(1, "messages of an unknown role", prose.Plain(m.Author.Role, maxTitle))
		}
	}
	r.place[id] = at
	return at
}

// atStart reports whether nothing but the system prompt comes before parent.
func (r *gptReader) atStart(parent int) bool { return parent == root || parent == r.t.first }

func (r *gptReader) system(parent int, m *gptMessage) int {
	blocks := r.blocks(m)
	all := llm.Message{Content: blocks}
	text := all.Text()
	switch {
	case strings.TrimSpace(text) == "":
		return parent // a mark of the program
	case len(r.t.s.Entries) == 0 || r.atStart(parent) && len(r.t.s.Entries) == 1 && r.t.first == 0:
		r.t.system(text, m.Created)
		return r.t.first
	}
	r.t.injected(1)
	return parent
}

func (r *gptReader) user(parent int, m *gptMessage) int {
	if strings.HasSuffix(m.Content.Type, "_editable_context") {
		return r.system(parent, m)
	}
	blocks := r.blocks(m)
	shown := len(blocks)
	for _, a := range m.Metadata.Attachments {
		if strings.HasPrefix(a.MIME, "image/") && shown > 1 {
			continue // a part of the message points to it
		}
		if b, ok := r.x.media(r.t, a.ID); ok {
			blocks = append(blocks, b)
			continue
		}
		blocks = append(blocks, r.t.missingFile(a.Name))
	}
	if len(blocks) == 0 {
		return parent
	}
	if m.Metadata.Hidden {
		r.t.injected(1)
		return parent
	}
	return r.t.message(parent, m.Created, llm.Message{Role: llm.RoleUser, Content: blocks})
}

func (r *gptReader) assistant(id string, parent int, m *gptMessage) int {
	out := llm.Message{Role: llm.RoleAssistant, Provider: "openai", Model: m.Metadata.Model}
	if name := m.Recipient; name != "" && name != "all" && name != "assistant" {
		all := llm.Message{Content: r.blocks(m)}
		out.StopReason = llm.StopToolUse
		out.Content = []llm.Block{llm.ToolCall{ID: id, Name: name, Arguments: r.t.object(all.Text())}}
		r.calls[id] = name
		return r.t.message(parent, m.Created, out)
	}
	if m.Content.Type == "reasoning_recap" {
		return parent // "Thought for 5 seconds"
	}
	out.Content = r.blocks(m)
	if len(out.Content) == 0 {
		return parent
	}
	switch {
	case m.Metadata.Finish.Type == "max_tokens":
		out.StopReason = llm.StopLength
	case m.Metadata.Finish.Type == "stop":
		out.StopReason = llm.StopEnd
	}
	if t, ok := out.Content[0].(llm.Text); ok && len(out.Content) == 1 {
		t.Citations = citations(m)
		out.Content[0] = t
	}
	return r.t.message(parent, m.Created, out)
}

func citations(m *gptMessage) []llm.Citation {
	var all []llm.Citation
	for _, c := range m.Metadata.Citations {
		if c.Metadata.URL != "" {
			all = append(all, llm.Citation{URL: c.Metadata.URL, Title: c.Metadata.Title})
		}
	}
	for _, ref := range m.Metadata.References {
		for _, c := range ref.Items {
			if c.URL != "" {
				all = append(all, llm.Citation{URL: c.URL, Title: c.Title})
			}
		}
	}
	return all
}

// tool adds the result of the call before it. A tool that says several things in a
// row returns one result.
func (r *gptReader) tool(id string, parent int, m *gptMessage) int {
	blocks := r.blocks(m)
	call := r.callOf(id)
	if at, ok := r.done[call]; ok && at == parent {
		e := r.t.s.Entries[at].Message
		e.Content = append(e.Content, blocks...)
		return at
	}
	out := llm.Message{Role: llm.RoleToolResult, ToolName: m.Author.Name, Content: blocks, IsError: m.Content.Type == "system_error"}
	if _, taken := r.done[call]; call == "" || taken {
		if len(blocks) == 0 {
			return parent
		}
		r.t.lose(1, "tool results without a call", "the export does not hold the call")
		return r.t.message(parent, m.Created, out)
	}
	out.ToolCallID, out.ToolName = call, r.calls[call]
	at := r.t.message(parent, m.Created, out)
	r.done[call] = at
	return at
}

// callOf is the call that a tool's node answers: the nearest before it, with only
// other words of tools in between.
func (r *gptReader) callOf(id string) string {
	for range len(r.c.Mapping) {
		id = r.c.Mapping[id].Parent
		if _, ok := r.calls[id]; ok {
			return id
		}
		if m := r.c.Mapping[id].Message; m == nil || m.Author.Role != "tool" {
			return ""
		}
	}
	return ""
}

// blocks are the content of a message.
func (r *gptReader) blocks(m *gptMessage) []llm.Block {
	c := &m.Content
	var out []llm.Block
	switch c.Type {
	case "thoughts":
		for _, th := range c.Thoughts {
			text := strings.TrimSpace(th.Summary + "\n\n" + th.Content)
			if text != "" {
				out = append(out, llm.Thinking{Text: text})
			}
		}
		return out
	case "user_editable_context":
		return textBlock(strings.TrimSpace(string(c.Profile) + "\n\n" + string(c.Instructions)))
	case "model_editable_context":
		return textBlock(string(c.Memory))
	case "tether_quote":
		return textBlock(strings.TrimSpace(string(c.Title) + "\n" + string(c.URL) + "\n\n" + string(c.Text)))
	case "tether_browsing_display":
		return textBlock(string(c.Result))
	}
	for _, raw := range c.Parts {
		if b := r.part(raw); b != nil {
			out = append(out, b)
		}
	}
	return append(out, textBlock(string(c.Text))...)
}

// part reads a part of a message: text, or a pointer to a file.
func (r *gptReader) part(raw json.RawMessage) llm.Block {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			return nil
		}
		return llm.Text{Text: text}
	}
	var p struct {
		Type    string `json:"content_type"`
		Pointer string `json:"asset_pointer"`
		Text    string `json:"text"`
	}
	if _, err := decode(raw, &p); err != nil {
		return nil // it is valid JSON
	}
	switch p.Type {
	case "image_asset_pointer":
		_, id, _ := strings.Cut(p.Pointer, "://")
		id, _, _ = strings.Cut(id, "#")
		if b, ok := r.x.media(r.t, id); ok {
			return b
		}
		return r.t.missingImage()
	case "audio_transcription":
		return llm.Text{Text: p.Text}
	case "audio_asset_pointer", "real_time_user_audio_video_asset_pointer", "video_container_asset_pointer":
		r.t.lose(1, "sound and video", "a session holds what was said, not how")
		return nil
	}
	if p.Text != "" {
		return llm.Text{Text: p.Text}
	}
	r.t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
	return keep(p.Type, raw)
}
