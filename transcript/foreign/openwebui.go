package foreign

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
)

// webuiChat is a chat of an Open WebUI export. A chat that was exported alone may
// lack the envelope.
type webuiChat struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Created stamp     `json:"created_at"`
	Chat    webuiBody `json:"chat"`
	webuiBody

	mistake error
}

func (c *webuiChat) mistyped(err error) { c.mistake = err }

type webuiBody struct {
	Name    string `json:"name"`
	System  words  `json:"system"`
	Time    stamp  `json:"timestamp"`
	History struct {
		Current  string                  `json:"currentId"`
		Messages map[string]webuiMessage `json:"messages"`
	} `json:"history"`
	Messages []webuiMessage `json:"messages"` // the active branch; all there is in old exports
	Params   struct {
		System words `json:"system"`
	} `json:"params"`
}

type webuiMessage struct {
	ID       string            `json:"id"`
	Parent   string            `json:"parentId"`
	Children []string          `json:"childrenIds"`
	Role     string            `json:"role"`
	Content  words             `json:"content"`
	Time     stamp             `json:"timestamp"`
	Model    string            `json:"model"`
	Output   []json.RawMessage `json:"output"` // newer: the answer as items of the Responses API
	Usage    webuiUsage        `json:"usage"`
	Info     webuiUsage        `json:"info"`
	Files    []struct {
		Type string `json:"type"`
		URL  string `json:"url"`
		Name string `json:"name"`
		File struct {
			Data struct {
				Content string `json:"content"`
			} `json:"data"`
			Meta struct {
				MIME string `json:"content_type"`
			} `json:"meta"`
		} `json:"file"`
	} `json:"files"`
	Sources []json.RawMessage `json:"sources"`
	Error   *struct {
		Content words `json:"content"`
	} `json:"error"`
}

// webuiUsage has the names of OpenAI, of Anthropic and of Ollama.
type webuiUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	PromptEval int `json:"prompt_eval_count"`
	Eval       int `json:"eval_count"`
}

func (u *webuiUsage) usage() *llm.Usage {
	out := llm.Usage{Input: max(u.Prompt, u.Input, u.PromptEval), Output: max(u.Completion, u.Output, u.Eval)}
	if out.Input <= 0 && out.Output <= 0 {
		return nil
	}
	out.TotalTokens = out.Context()
	return &out
}

func (c *webuiChat) session(source string) *Session {
	body := &c.Chat
	if len(body.History.Messages) == 0 && len(body.Messages) == 0 {
		body = &c.webuiBody
	}
	t := newTree(OpenWebUI, source, c.ID)
	created := c.Created
	if !created.known() {
		created = body.Time
	}
	t.head(c.Title, "", created)
	if c.mistake != nil {
		t.unreadable("a field", c.mistake)
	}
	t.system(string(firstWords(body.Params.System, body.System)), created)
	messages := body.list()
	at := make(map[string]int, len(messages))
	for i := range messages {
		at[messages[i].ID] = i
	}
	linear := len(body.History.Messages) == 0
	parent := func(i int) int {
		if p, ok := at[messages[i].Parent]; ok && messages[i].Parent != "" {
			return p
		}
		if linear {
			return i - 1
		}
		return root
	}
	order, cut := parentsFirst(len(messages), parent)
	t.lose(cut, "circles in the tree", "a message was its own ancestor; they were cut")
	ends := make([]int, len(messages))
	last := root
	for _, i := range order {
		from := root
		if p := parent(i); p != root {
			from = ends[p]
		}
		ends[i] = messages[i].add(t, from)
		last = ends[i]
	}
	if i, ok := at[body.History.Current]; ok {
		last = ends[i]
	}
	return t.finish(last)
}

func firstWords(a, b words) words {
	if a != "" {
		return a
	}
	return b
}

// list returns the messages in the order of their times, and of their ids where those
// are the same.
func (b *webuiBody) list() []webuiMessage {
	if len(b.History.Messages) == 0 {
		return b.Messages
	}
	list := make([]webuiMessage, 0, len(b.History.Messages))
	for id, m := range b.History.Messages {
		m.ID = id
		list = append(list, m)
	}
	sorting.Stable(list, func(a, b webuiMessage) int {
		if d := a.Time.at.Compare(b.Time.at); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

func (m *webuiMessage) add(t *tree, at int) int {
	switch m.Role {
	case "user":
		blocks := append(textBlock(string(m.Content)), m.files(t)...)
		if len(blocks) == 0 {
			return at
		}
		return t.message(at, m.Time, llm.Message{Role: llm.RoleUser, Content: blocks})
	case "system":
		return t.message(at, m.Time, llm.Message{Role: llm.RoleSystem, Content: textBlock(string(m.Content))})
	case "assistant":
		return m.answer(t, at)
	}
	t.lose(1, "messages of an unknown role", prose.Plain(m.Role, maxTitle))
	return at
}

func (m *webuiMessage) files(t *tree) []llm.Block {
	var out []llm.Block
	for _, f := range m.Files {
		switch {
		case strings.HasPrefix(f.URL, "data:"):
			out = append(out, t.dataURL(f.URL, f.Name))
		case f.Type == "image":
			out = append(out, t.missingImage())
		case f.File.Data.Content != "":
			out = append(out, llm.Document{Name: prose.Plain(f.Name, maxTitle), MIME: prose.Plain(f.File.Meta.MIME, maxTitle), Text: f.File.Data.Content})
		default:
			out = append(out, t.missingFile(f.Name))
		}
	}
	return out
}

func (m *webuiMessage) answer(t *tree, at int) int {
	u := newTurn(t, at, m.Time, llm.Message{Model: m.Model})
	t.lose(len(m.Sources), "sources of answers", "which words they belong to is not said")
	if len(m.Output) > 0 {
		for i, raw := range m.Output {
			if err := webuiItem(u, raw); err != nil {
				t.unreadable(fmt.Sprintf("item %d of message %s", i+1, m.ID), err)
			}
		}
	} else {
		webuiText(u, string(m.Content), m.ID)
	}
	for _, b := range m.files(t) {
		u.say(b)
	}
	var failed *llm.Error
	if m.Error != nil {
		failed = &llm.Error{Message: prose.Plain(string(m.Error.Content), maxTitle)}
	}
	usage := m.Usage.usage()
	if usage == nil {
		usage = m.Info.usage()
	}
	return u.end(usage, "", failed)
}

// webuiItem adds an item of an answer.
func webuiItem(u *turn, raw json.RawMessage) error {
	var it struct {
		Type    string          `json:"type"`
		ID      string          `json:"id"`
		CallID  string          `json:"call_id"`
		Name    string          `json:"name"`
		Args    json.RawMessage `json:"arguments"`
		Content words           `json:"content"`
		Summary words           `json:"summary"`
		Output  words           `json:"output"`
		Status  string          `json:"status"`
	}
	if _, err := decode(raw, &it); err != nil {
		return err
	}
	switch it.Type {
	case "reasoning":
		if text := firstWords(it.Content, it.Summary); text != "" {
			u.say(llm.Thinking{Text: string(text)})
		}
	case "message":
		if it.Content != "" {
			u.say(llm.Text{Text: string(it.Content)})
		}
	case "function_call":
		u.call(llm.ToolCall{ID: it.CallID, Name: it.Name, Arguments: arguments(it.Args)})
	case "function_call_output":
		u.result(llm.Message{ToolCallID: it.CallID, Content: textBlock(string(it.Output)), IsError: it.Status == "incomplete"})
	default:
		u.t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
		u.say(keep(it.Type, raw))
	}
	return nil
}

// Reasoning and calls stand in the text of older answers as elements of HTML.
var (
	webuiDetails = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)<details type="(reasoning|tool_calls|code_interpreter)"([^>]*)>(.*?)</details>`)
	})
	webuiSummary   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<summary>.*?</summary>`) })
	webuiAttribute = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w+)="([^"]*)"`) })
)

// webuiText adds the text of an answer, taken apart.
func webuiText(u *turn, text, id string) {
	at := 0
	for n, loc := range webuiDetails().FindAllStringSubmatchIndex(text, -1) {
		webuiPlain(u, text[at:loc[0]])
		at = loc[1]
		body := strings.TrimSpace(webuiSummary().ReplaceAllString(text[loc[6]:loc[7]], ""))
		attributes := map[string]string{}
		for _, a := range webuiAttribute().FindAllStringSubmatch(text[loc[4]:loc[5]], -1) {
			attributes[a[1]] = html.UnescapeString(a[2])
		}
		switch text[loc[2]:loc[3]] {
		case "reasoning":
			if body = unquoted(html.UnescapeString(body)); body != "" {
				u.say(llm.Thinking{Text: body})
			}
		case "tool_calls":
			webuiCall(u, attributes, body, fmt.Sprintf("%s-%d", id, n))
		default:
			webuiPlain(u, body)
		}
	}
	webuiPlain(u, text[at:])
}

func webuiPlain(u *turn, text string) {
	if strings.TrimSpace(text) != "" {
		u.say(llm.Text{Text: strings.TrimSpace(text)})
	}
}

// webuiCall adds a call with its result. Both are JSON text within JSON text.
func webuiCall(u *turn, attributes map[string]string, body, id string) {
	if attributes["id"] != "" {
		id = attributes["id"]
	}
	name := attributes["name"]
	if name == "" {
		u.t.lose(1, "tool calls without a name", "only their results are in the export")
		webuiPlain(u, html.UnescapeString(body))
		return
	}
	result := attributes["result"]
	if result == "" {
		result = html.UnescapeString(body)
	}
	if len(u.results) > 0 {
		u.flush()
	}
	u.answered(
		llm.ToolCall{ID: id, Name: name, Arguments: arguments(json.RawMessage(attributes["arguments"]))},
		llm.Message{ToolCallID: id, ToolName: name, Content: textBlock(arguments(json.RawMessage(result)))},
	)
}

// unquoted removes the "> " that reasoning is quoted with.
func unquoted(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(l, ">"), " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
