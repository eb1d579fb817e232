package foreign

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// lcConversation is a conversation that LibreChat exported: a tree of messages
// within each other, or a list with the ids of parents.
type lcConversation struct {
	ID       string      `json:"conversationId"`
	Title    string      `json:"title"`
	Tree     []lcMessage `json:"messagesTree"`
	Messages []lcMessage `json:"messages"`
	Options  struct {
		Prefix words `json:"promptPrefix"`
		System words `json:"system"`
	} `json:"options"`
}

type lcMessage struct {
	ID       string            `json:"messageId"`
	Parent   string            `json:"parentMessageId"`
	Text     string            `json:"text"`
	User     bool              `json:"isCreatedByUser"`
	Sender   string            `json:"sender"`
	Model    string            `json:"model"`
	Endpoint string            `json:"endpoint"`
	Created  stamp             `json:"createdAt"`
	Failed   bool              `json:"error"`
	Cut      bool              `json:"unfinished"`
	Content  []json.RawMessage `json:"content"`
	Files    []struct {
		Name string `json:"filename"`
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"files"`
	Children []lcMessage `json:"children"`
}

// lcPart has the fields of all kinds of content.
type lcPart struct {
	Type  string `json:"type"`
	Text  words  `json:"text"`
	Think words  `json:"think"`
	Error words  `json:"error"`
	Call  struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Args     json.RawMessage `json:"args"`
		Output   words           `json:"output"`
		Function struct {
			Name   string          `json:"name"`
			Args   json.RawMessage `json:"arguments"`
			Output words           `json:"output"`
		} `json:"function"`
	} `json:"tool_call"`
	ImageURL json.RawMessage `json:"image_url"`
}

func libreChat(path string) (*Session, error) {
	text, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	var c lcConversation
	mistyped, err := decode(text, &c)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", prose.Plain(path, maxPath), err)
	}
	t := newTree(LibreChat, path, c.ID)
	if mistyped {
		t.lose(1, "fields of an unexpected kind", "they were left empty")
	}
	messages, parents := c.flat()
	order, cut := parentsFirst(len(messages), func(i int) int { return parents[i] })
	t.lose(cut, "circles in the tree", "a message was its own ancestor; they were cut")
	created := stamp{}
	if len(messages) > 0 {
		created = messages[0].Created
	}
	t.head(c.Title, "", created)
	t.system(string(firstWords(c.Options.Prefix, c.Options.System)), created)
	ends := make([]int, len(messages))
	last := root
	for _, i := range order {
		from := root
		if p := parents[i]; p != root {
			from = ends[p]
		}
		ends[i] = messages[i].add(t, from)
		last = ends[i]
	}
	// Which branch was shown is not said. The last message of a tree is that of
	// the newest branch at each fork, which LibreChat shows first.
	return t.finish(last), nil
}

// flat lists the messages with the index of their parents.
func (c *lcConversation) flat() (messages []*lcMessage, parents []int) {
	type item struct {
		m      *lcMessage
		parent int
	}
	var stack []item
	push := func(list []lcMessage, parent int) {
		for i := len(list) - 1; i >= 0; i-- {
			stack = append(stack, item{&list[i], parent})
		}
	}
	push(c.Tree, root)
	for len(stack) > 0 {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		messages, parents = append(messages, next.m), append(parents, next.parent)
		push(next.m.Children, len(messages)-1)
	}
	at := map[string]int{}
	first := len(messages)
	for i := range c.Messages {
		at[c.Messages[i].ID] = first + i
		messages, parents = append(messages, &c.Messages[i]), append(parents, root)
	}
	for i := range c.Messages {
		if p, ok := at[c.Messages[i].Parent]; ok && c.Messages[i].Parent != "" {
			parents[first+i] = p
		}
	}
	return messages, parents
}

func (m *lcMessage) add(t *tree, at int) int {
	if m.User {
		var blocks []llm.Block
		for i, raw := range m.Content {
			blocks = append(blocks, lcInput(t, raw, fmt.Sprintf("content %d of message %s", i+1, m.ID))...)
		}
		if len(blocks) == 0 {
			blocks = textBlock(m.Text)
		}
		for _, f := range m.Files {
			switch {
			case strings.HasPrefix(f.Type, "image/"):
				blocks = append(blocks, t.missingImage())
			case f.Text != "":
				blocks = append(blocks, llm.Document{Name: prose.Plain(f.Name, maxTitle), MIME: prose.Plain(f.Type, maxTitle), Text: f.Text})
			default:
				blocks = append(blocks, t.missingFile(f.Name))
			}
		}
		if len(blocks) == 0 {
			return at
		}
		return t.message(at, m.Created, llm.Message{Role: llm.RoleUser, Content: blocks})
	}
	return m.answer(t, at)
}

func (m *lcMessage) answer(t *tree, at int) int {
	// The conversation's own model is that of its last prompt only.
	u := newTurn(t, at, m.Created, llm.Message{Provider: lcProvider(m.Endpoint), Model: m.Model})
	var failed *llm.Error
	for i, raw := range m.Content {
		var p lcPart
		if _, err := decode(raw, &p); err != nil {
			t.unreadable(fmt.Sprintf("content %d of message %s", i+1, m.ID), err)
			continue
		}
		if p.Type == "error" {
			failed = &llm.Error{Message: prose.Plain(string(firstWords(p.Error, p.Text)), maxTitle)}
			continue
		}
		lcAnswer(u, &p, raw, fmt.Sprintf("%s-%d", m.ID, i))
	}
	switch {
	case len(m.Content) > 0:
	case m.Failed:
		failed = &llm.Error{Message: prose.Plain(m.Text, maxTitle)}
	case m.Text != "":
		u.say(llm.Text{Text: m.Text})
	}
	if m.Cut && failed == nil {
		failed = &llm.Error{Kind: llm.ErrAborted, Message: "the answer was not finished"}
	}
	return u.end(nil, "", failed)
}

// lcInput reads a part of what the user said.
func lcInput(t *tree, raw json.RawMessage, where string) []llm.Block {
	var p lcPart
	if _, err := decode(raw, &p); err != nil {
		t.unreadable(where, err)
		return nil
	}
	switch p.Type {
	case "text":
		return textBlock(string(p.Text))
	case "image_url":
		return []llm.Block{t.dataURL(imageURL(p.ImageURL), "image.png")}
	case "image_file":
		return []llm.Block{t.missingImage()}
	}
	t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
	return []llm.Block{keep(p.Type, raw)}
}

// lcAnswer adds a part of an answer. id is for calls that have none.
func lcAnswer(u *turn, p *lcPart, raw json.RawMessage, id string) {
	switch p.Type {
	case "text":
		if p.Text != "" {
			u.say(llm.Text{Text: string(p.Text)})
		}
	case "think":
		if p.Think != "" {
			u.say(llm.Thinking{Text: string(p.Think)})
		}
	case "tool_call":
		call := llm.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Arguments: arguments(p.Call.Args)}
		output := p.Call.Output
		if call.Name == "" {
			f := &p.Call.Function
			call.Name, call.Arguments, output = f.Name, arguments(f.Args), f.Output
		}
		if call.ID == "" {
			call.ID = id
		}
		if output == "" {
			u.unanswered(call)
			return
		}
		u.answered(call, llm.Message{ToolCallID: call.ID, ToolName: call.Name, Content: textBlock(string(output))})
	case "image_file", "image_url":
		if p.Type == "image_url" && len(p.ImageURL) > 0 {
			u.say(u.t.dataURL(imageURL(p.ImageURL), "image.png"))
			return
		}
		u.say(u.t.missingImage())
	case "agent_update":
		// a mark of the program
	default:
		u.t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
		u.say(keep(p.Type, raw))
	}
}

// lcProvider is our id of an endpoint; one that users named stays as it is.
func lcProvider(endpoint string) string {
	switch endpoint {
	case "openAI":
		return "openai"
	case "azureOpenAI":
		return "azure-openai-responses"
	case "bedrock":
		return "amazon-bedrock"
	case "agents", "assistants", "gptPlugins":
		return "" // it does not say whose model answered
	}
	return prose.Plain(endpoint, maxTitle)
}
