package chatfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

func readBurin(value []byte) (c Chat, err error) {
	if err := json.Unmarshal(value, &c); err != nil {
		return c, err
	}
	if c.Version != version {
		return c, fmt.Errorf("version %d of the form isn't known, only %d", c.Version, version)
	}
	c.Omitted = 0 // what was left out before
	return c, nil
}

// moment is a time as other programs write it: a text, or seconds, milliseconds, microseconds or nanoseconds since 1970.
type moment struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler]. What isn't a time is none.
func (m *moment) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		m.Time = sane(t)
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= 0 {
		return nil
	}
	for n > 1e11 { // after the year 5000
		n /= 1000
	}
	whole, part := math.Modf(n)
	m.Time = sane(time.Unix(int64(whole), int64(part*1e9)).UTC().Round(time.Millisecond))
	return nil
}

// sane is a time that a chat can have.
func sane(t time.Time) time.Time {
	if t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

// part is a step of a tree of another program; not all of them are messages.
type part struct {
	id, parent string
	said       *Message // nil: it has no counterpart
}

// take sets the messages of a tree, and the one at whose end it is. What follows a part that is left out follows what that
// follows.
func (c *Chat) take(parts []part, current string) {
	at := make(map[string]int, len(parts))
	for i, p := range parts {
		at[p.id] = i
	}
	up := map[string]string{} // from parts that are left out to the next message upwards
	kept := func(id string) string {
		var way []string
		for range parts {
			i, there := at[id]
			if !there {
				id = ""
				break
			}
			if parts[i].said != nil {
				break
			}
			way = append(way, id)
			if known, ok := up[id]; ok {
				id = known
				break
			}
			id = parts[i].parent
		}
		for _, step := range way {
			up[step] = id
		}
		return id
	}
	c.Messages = nil
	for _, p := range parts {
		if p.said != nil {
			m := *p.said
			m.ID, m.Parent = p.id, kept(p.parent)
			c.Messages = append(c.Messages, m)
		}
	}
	c.Current = kept(current)
}

type gptNode struct {
	Parent  string `json:"parent"`
	Message *struct {
		Author struct {
			Role string `json:"role"`
		} `json:"author"`
		Time    moment `json:"create_time"`
		Content struct {
			Type  string            `json:"content_type"`
			Parts []json.RawMessage `json:"parts"`
			Text  string            `json:"text"`
		} `json:"content"`
		Recipient string `json:"recipient"`
		Metadata  struct {
			Model       string `json:"model_slug"`
			Hidden      bool   `json:"is_visually_hidden_from_conversation"`
			Attachments []struct {
				ID   string `json:"id"`
				Name string `json:"name"`
			} `json:"attachments"`
		} `json:"metadata"`
	} `json:"message"`
}

func readChatGPT(value []byte) (c Chat, err error) {
	var from struct {
		ID       string                     `json:"id"`
		Other    string                     `json:"conversation_id"`
		Title    string                     `json:"title"`
		Created  moment                     `json:"create_time"`
		Modified moment                     `json:"update_time"`
		Current  string                     `json:"current_node"`
		Archived bool                       `json:"is_archived"`
		Starred  bool                       `json:"is_starred"`
		Mapping  map[string]json.RawMessage `json:"mapping"`
	}
	if err := json.Unmarshal(value, &from); err != nil {
		return c, err
	}
	c = Chat{ID: cmp.Or(from.Other, from.ID), Title: from.Title, Created: from.Created.Time, Modified: from.Modified.Time, Archived: from.Archived, Pinned: from.Starred}
	ids := make([]string, 0, len(from.Mapping))
	for id := range from.Mapping {
		ids = append(ids, id)
	}
	slices.Sort(ids) // of the same time, in the same order each time
	parts := make([]part, 0, len(ids))
	for _, id := range ids {
		var n gptNode
		if err := json.Unmarshal(from.Mapping[id], &n); err != nil {
			return c, fmt.Errorf("message %.60s: %w", id, err)
		}
		said, omitted := n.said()
		c.Omitted += omitted
		parts = append(parts, part{id, n.Parent, said})
	}
	c.take(parts, from.Current)
	return c, nil
}

// said is what a node says; nil is nothing that has a counterpart, and omitted is 1 if it is something.
func (n *gptNode) said() (said *Message, omitted int) {
	m := n.Message
	if m == nil {
		return nil, 0
	}
	text, files := "", []string{}
	pictures := 0
	for _, p := range m.Content.Parts {
		var s string
		var of struct {
			Type string `json:"content_type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(p, &s) == nil {
			text = joined(text, s)
		} else if json.Unmarshal(p, &of) == nil {
			if of.Text != "" { // of what was spoken
				text = joined(text, of.Text)
			} else if strings.Contains(of.Type, "image") {
				pictures++
			}
		}
	}
	for _, a := range m.Metadata.Attachments {
		files = append(files, a.Name)
	}
	for range pictures - len(files) {
		files = append(files, "picture")
	}
	text = withoutMarks(text)
	hidden := m.Metadata.Hidden || m.Recipient != "" && m.Recipient != "all" || m.Content.Type != "text" && m.Content.Type != "multimodal_text"
	if hidden || m.Author.Role != "user" && m.Author.Role != "assistant" || text == "" && len(files) == 0 {
		if text == "" && m.Content.Text == "" { // an empty system prompt begins each
			return nil, 0
		}
		return nil, 1
	}
	said = &Message{Role: m.Author.Role, Text: text, Time: m.Time.Time, Files: files}
	if said.Role == "assistant" {
		said.Model = m.Metadata.Model
	}
	return said, 0
}

// withoutMarks is a text without the marks of sources, which name nothing outside of that program.
func withoutMarks(text string) string {
	const begin, end = "\uE200", "\uE201"
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		b.WriteString(before)
		if !found {
			return strings.TrimSpace(b.String())
		}
		if _, rest, found = strings.Cut(rest, end); !found {
			return strings.TrimSpace(b.String())
		}
		text = rest
	}
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

func readClaude(value []byte) (c Chat, err error) {
	type file struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	}
	var from struct {
		ID       string `json:"uuid"`
		Title    string `json:"name"`
		Model    string `json:"model"`
		Created  moment `json:"created_at"`
		Modified moment `json:"updated_at"`
		Current  string `json:"current_leaf_message_uuid"`
		Messages []struct {
			ID      string  `json:"uuid"`
			Parent  *string `json:"parent_message_uuid"`
			Sender  string  `json:"sender"`
			Text    string  `json:"text"`
			Content []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
			Time        moment `json:"created_at"`
			Attachments []file `json:"attachments"`
			Files       []file `json:"files"`
		} `json:"chat_messages"`
	}
	if err := json.Unmarshal(value, &from); err != nil {
		return c, err
	}
	c = Chat{ID: from.ID, Title: from.Title, Created: from.Created.Time, Modified: from.Modified.Time}
	parts := make([]part, 0, len(from.Messages))
	before := ""
	for i, m := range from.Messages {
		id := cmp.Or(m.ID, strconv.Itoa(i))
		said := &Message{Role: m.Sender, Time: m.Time.Time}
		for _, p := range m.Content {
			if p.Type == "text" {
				said.Text = joined(said.Text, p.Text)
			} else {
				c.Omitted++
			}
		}
		if len(m.Content) == 0 {
			said.Text = m.Text
		}
		for _, f := range append(m.Attachments, m.Files...) {
			if f.Text == "" {
				said.Files = append(said.Files, f.Name)
				continue
			}
			fence := "```"
			for strings.Contains(f.Text, fence) {
				fence += "`"
			}
			said.Text = joined(said.Text, attached([]string{f.Name})+"\n\n"+fence+"\n"+f.Text+"\n"+fence)
		}
		switch m.Sender {
		case "human", "user":
			said.Role = "user"
		case "assistant":
			said.Model = from.Model
		default:
			said = nil
			c.Omitted++
		}
		if said != nil && said.Text == "" && len(said.Files) == 0 {
			said = nil
		}
		parent := before
		if m.Parent != nil {
			parent = *m.Parent
		}
		parts = append(parts, part{id, parent, said})
		before = id
	}
	c.take(parts, cmp.Or(from.Current, before))
	return c, nil
}

func readOpenWebUI(value []byte) (c Chat, err error) {
	type message struct {
		ID      string          `json:"id"`
		Parent  string          `json:"parentId"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Model   string          `json:"model"`
		Time    moment          `json:"timestamp"`
		Files   []struct {
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"files"`
	}
	type chat struct {
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		Tags    []string `json:"tags"`
		Created moment   `json:"timestamp"`
		History struct {
			Current  string                     `json:"currentId"`
			Messages map[string]json.RawMessage `json:"messages"`
		} `json:"history"`
		Messages []message `json:"messages"`
	}
	var from struct {
		ID       string `json:"id"`
		Title    string `json:"title"`
		Created  moment `json:"created_at"`
		Modified moment `json:"updated_at"`
		Archived bool   `json:"archived"`
		Pinned   bool   `json:"pinned"`
		Chat     *chat  `json:"chat"`
		Meta     struct {
			Tags []string `json:"tags"`
		} `json:"meta"`
	}
	if err := json.Unmarshal(value, &from); err != nil {
		return c, err
	}
	inner := from.Chat
	if inner == nil { // the chat without its row
		inner = &chat{}
		if err := json.Unmarshal(value, inner); err != nil {
			return c, err
		}
	}
	c = Chat{
		ID: cmp.Or(from.ID, inner.ID), Title: cmp.Or(from.Title, inner.Title), Modified: from.Modified.Time, Created: from.Created.Time,
		Archived: from.Archived, Pinned: from.Pinned, Tags: from.Meta.Tags,
	}
	if c.Created.IsZero() {
		c.Created = inner.Created.Time
	}
	if len(c.Tags) == 0 {
		c.Tags = inner.Tags
	}
	all, current := inner.Messages, inner.History.Current
	if len(inner.History.Messages) > 0 {
		all = nil
		ids := make([]string, 0, len(inner.History.Messages))
		for id := range inner.History.Messages {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			m := message{}
			if err := json.Unmarshal(inner.History.Messages[id], &m); err != nil {
				return c, fmt.Errorf("message %.60s: %w", id, err)
			}
			m.ID = id
			all = append(all, m)
		}
	}
	parts := make([]part, 0, len(all))
	before := ""
	for i, m := range all {
		id := cmp.Or(m.ID, strconv.Itoa(i))
		text, omitted, err := textOf(m.Content)
		if err != nil {
			return c, fmt.Errorf("message %.60s: %w", id, err)
		}
		details := 0
		text, details = withoutDetails(text)
		c.Omitted += omitted + details
		said := &Message{Role: m.Role, Text: text, Time: m.Time.Time}
		for _, f := range m.Files {
			said.Files = append(said.Files, cmp.Or(f.Name, f.Type))
		}
		if m.Role == "assistant" {
			said.Model = m.Model
		}
		if said.Text == "" && len(said.Files) == 0 {
			said = nil
		} else if m.Role != "user" && m.Role != "assistant" {
			said = nil
			c.Omitted++
		}
		parent := m.Parent
		if len(inner.History.Messages) == 0 && parent == "" {
			parent = before
		}
		parts = append(parts, part{id, parent, said})
		before = id
	}
	c.take(parts, cmp.Or(current, before))
	return c, nil
}

// withoutDetails is a text of Open WebUI without the thoughts and calls in it, and how many they were.
func withoutDetails(text string) (string, int) {
	const begin, end = `<details type="`, "</details>"
	n := 0
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		b.WriteString(before)
		if !found {
			return strings.TrimSpace(b.String()), n
		}
		kind, _, _ := strings.Cut(rest, `"`)
		_, after, whole := strings.Cut(rest, end)
		if !whole || kind != "reasoning" && kind != "tool_calls" && kind != "code_interpreter" {
			b.WriteString(begin)
			text = rest
			continue
		}
		n++
		text = strings.TrimLeft(after, "\r\n")
	}
}

// textOf reads a content that is a text, or a list of parts, and counts the parts that are none.
func textOf(content json.RawMessage) (text string, omitted int, err error) {
	if len(content) == 0 || string(content) == "null" {
		return "", 0, nil
	}
	if json.Unmarshal(content, &text) == nil {
		return strings.TrimSpace(text), 0, nil
	}
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", 0, errors.New("its content is neither text nor a list of parts")
	}
	for _, p := range parts {
		var s string
		var of struct {
			Value string `json:"value"`
		}
		switch {
		case p.Type != "text":
			omitted++
			continue
		case json.Unmarshal(p.Text, &s) == nil:
		case json.Unmarshal(p.Text, &of) == nil:
			s = of.Value
		}
		text = joined(text, strings.TrimSpace(s))
	}
	return text, omitted, nil
}

type libreMessage struct {
	ID      string          `json:"messageId"`
	Parent  string          `json:"parentMessageId"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
	Sender  string          `json:"sender"`
	User    *bool           `json:"isCreatedByUser"`
	Model   string          `json:"model"`
	Time    moment          `json:"createdAt"`
	Files   []struct {
		Name string `json:"filename"`
		Type string `json:"type"`
	} `json:"files"`
	Children []libreMessage `json:"children"`
}

func readLibreChat(value []byte) (c Chat, err error) {
	var from struct {
		ID       string `json:"conversationId"`
		Title    string `json:"title"`
		Created  moment `json:"createdAt"`
		Modified moment `json:"updatedAt"`
		Options  struct {
			Model string `json:"model"`
		} `json:"options"`
		Tags     []string       `json:"tags"`
		Messages []libreMessage `json:"messages"`
	}
	if err := json.Unmarshal(value, &from); err != nil {
		return c, err
	}
	c = Chat{ID: from.ID, Title: from.Title, Created: from.Created.Time, Modified: from.Modified.Time, Tags: from.Tags}
	var parts []part
	var newest time.Time
	current := ""
	all := from.Messages
	for i := 0; i < len(all); i++ { // an export may have answers in what they answer
		m := all[i]
		for _, answer := range m.Children {
			answer.Parent = cmp.Or(answer.Parent, m.ID)
			all = append(all, answer)
		}
		text, omitted, err := textOf(m.Content)
		if err != nil {
			return c, fmt.Errorf("message %.60s: %w", m.ID, err)
		}
		c.Omitted += omitted
		said := &Message{Role: "assistant", Text: cmp.Or(text, strings.TrimSpace(m.Text)), Time: m.Time.Time}
		if m.User != nil && *m.User || m.User == nil && strings.EqualFold(m.Sender, "user") {
			said.Role = "user"
		} else {
			said.Model = cmp.Or(m.Model, from.Options.Model)
		}
		for _, f := range m.Files {
			said.Files = append(said.Files, cmp.Or(f.Name, f.Type))
		}
		if said.Text == "" && len(said.Files) == 0 {
			said = nil
		}
		parts = append(parts, part{m.ID, m.Parent, said})
		if said != nil && !m.Time.Before(newest) {
			newest, current = m.Time.Time, m.ID
		}
		if len(parts) > MaxMessages {
			return c, fmt.Errorf("it has more than %d messages", MaxMessages)
		}
	}
	c.take(parts, current)
	return c, nil
}

// attached is the line that names files.
func attached(names []string) string { return "Attached: " + strings.Join(names, ", ") }

// Said is the text of a message, with the names of the files that came with it.
func (m *Message) Said() string {
	names := make([]string, 0, len(m.Files))
	for _, name := range m.Files {
		if name = strings.Join(strings.Fields(name), " "); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return m.Text
	}
	return joined(m.Text, attached(names))
}
