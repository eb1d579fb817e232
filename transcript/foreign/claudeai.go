package foreign

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// claudeChat is a conversation of a Claude.ai export.
type claudeChat struct {
	UUID     string          `json:"uuid"`
	Name     string          `json:"name"`
	Created  stamp           `json:"created_at"`
	Current  string          `json:"current_leaf_message_uuid"`
	Messages []claudeMessage `json:"chat_messages"`

	mistake error
}

func (c *claudeChat) mistyped(err error) { c.mistake = err }

type claudeMessage struct {
	UUID        string            `json:"uuid"`
	Parent      string            `json:"parent_message_uuid"`
	Sender      string            `json:"sender"`
	Text        string            `json:"text"`
	Created     stamp             `json:"created_at"`
	Content     []json.RawMessage `json:"content"`
	Attachments []struct {
		Name string `json:"file_name"`
		Type string `json:"file_type"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
	Files []struct {
		UUID string `json:"file_uuid"`
		Name string `json:"file_name"`
	} `json:"files"`
}

// claudeBlock has the fields of all kinds of content.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	CallID    string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Citations []struct {
		URL   string `json:"url"`
		Title string `json:"title"`
	} `json:"citations"`
}

func (c *claudeChat) session(source string, x *export) *Session {
	t := newTree(ClaudeAI, source, c.UUID)
	t.head(c.Name, "", c.Created)
	if c.mistake != nil {
		t.unreadable("a field", c.mistake)
	}
	at := make(map[string]int, len(c.Messages))
	for i := range c.Messages {
		if id := c.Messages[i].UUID; id != "" {
			at[id] = i
		}
	}
	order, cut := parentsFirst(len(c.Messages), func(i int) int {
		m := &c.Messages[i]
		if p, ok := at[m.Parent]; ok {
			return p
		}
		if m.Parent == "" {
			return i - 1 // older exports are lists without parents
		}
		return root
	})
	t.lose(cut, "circles in the tree", "a message was its own ancestor; they were cut")
	ends := make([]int, len(c.Messages))
	last := root
	for _, i := range order {
		m := &c.Messages[i]
		parent := root
		if p, ok := at[m.Parent]; ok {
			parent = ends[p]
		} else if m.Parent == "" && i > 0 {
			parent = ends[i-1]
		}
		ends[i] = m.add(t, parent, i, x)
	}
	if len(ends) > 0 {
		last = ends[len(ends)-1]
	}
	if i, ok := at[c.Current]; ok {
		last = ends[i]
	}
	return t.finish(last)
}

func (m *claudeMessage) add(t *tree, parent, index int, x *export) int {
	if m.Sender == "assistant" {
		u := newTurn(t, parent, m.Created, llm.Message{Provider: "anthropic"})
		for i, raw := range m.Content {
			claudeAnswer(u, raw, fmt.Sprintf("%s-%d", m.UUID, i))
		}
		if len(m.Content) == 0 && m.Text != "" {
			u.say(llm.Text{Text: m.Text})
		}
		return u.end(nil, "", nil)
	}
	if m.Sender != "human" {
		t.lose(1, "messages of an unknown role", prose.Plain(m.Sender, maxTitle))
		return parent
	}
	var blocks []llm.Block
	for i, raw := range m.Content {
		var b claudeBlock
		if _, err := decode(raw, &b); err != nil {
			t.unreadable(fmt.Sprintf("message %d, block %d", index+1, i+1), err)
			continue
		}
		switch b.Type {
		case "text", "voice_note":
			blocks = append(blocks, textBlock(b.Text)...)
		default:
			blocks = append(blocks, anthropicInput(t, raw)...)
		}
	}
	if len(blocks) == 0 {
		blocks = textBlock(m.Text)
	}
	for _, a := range m.Attachments {
		blocks = append(blocks, llm.Document{Name: prose.Plain(a.Name, maxTitle), MIME: mimeOf(a.Type), Text: a.Text})
	}
	for _, f := range m.Files {
		if b, ok := x.media(t, f.UUID); ok {
			blocks = append(blocks, b)
			continue
		}
		if isImageName(f.Name) {
			blocks = append(blocks, t.missingImage())
			continue
		}
		blocks = append(blocks, t.missingFile(f.Name))
	}
	if len(blocks) == 0 {
		return parent
	}
	return t.message(parent, m.Created, llm.Message{Role: llm.RoleUser, Content: blocks})
}

// mimeOf is the type of an attachment whose text was extracted. The source says a
// type or only an ending.
func mimeOf(kind string) string {
	if strings.Contains(kind, "/") {
		return prose.Plain(kind, maxTitle)
	}
	return "text/plain"
}

// claudeAnswer adds a block of an answer. id is for calls that have none.
func claudeAnswer(u *turn, raw json.RawMessage, id string) {
	var b claudeBlock
	if _, err := decode(raw, &b); err != nil {
		u.t.unreadable("block "+id, err)
		return
	}
	switch b.Type {
	case "text":
		if b.Text == "" {
			return
		}
		text := llm.Text{Text: b.Text}
		for _, c := range b.Citations {
			text.Citations = append(text.Citations, llm.Citation{URL: c.URL, Title: c.Title})
		}
		u.say(text)
	case "thinking":
		if b.Thinking != "" {
			u.say(llm.Thinking{Text: b.Thinking})
		}
	case "tool_use":
		if b.ID == "" {
			b.ID = id
		}
		u.call(llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: arguments(b.Input)})
	case "tool_result":
		if b.CallID == "" {
			b.CallID = u.open(b.Name)
		}
		u.result(llm.Message{
			ToolCallID: b.CallID, ToolName: b.Name, IsError: b.IsError, Content: anthropicInput(u.t, b.Content),
		})
	case "token_budget", "flag":
		// a mark of the program
	default:
		u.t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
		u.say(keep(b.Type, raw))
	}
}

// open is the id of the first call of that tool without a result, among those not
// yet written.
func (u *turn) open(name string) string {
	for _, b := range u.blocks {
		c, ok := b.(llm.ToolCall)
		if !ok || c.Name != name {
			continue
		}
		taken := false
		for i := range u.results {
			taken = taken || u.results[i].ToolCallID == c.ID
		}
		if !taken {
			return c.ID
		}
	}
	return ""
}
