package external

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// since finds what the agent has not read: the messages after its last answer. goesOn reports
// whether the agent knows all that came before. mu is held.
//
// The agent keeps the conversation by itself. So what burin has condensed since makes no
// difference, and only the last answer counts: if another one comes last, as in another branch,
// the agent knows another conversation.
func (a *Agent) since(messages []llm.Message) (fresh []llm.Message, goesOn bool) {
	last := -1
	for i := range slices.Backward(messages) {
		if messages[i].Role == llm.RoleAssistant {
			last = i
			break
		}
	}
	var at time.Time
	if last >= 0 {
		at = messages[last].Time
	}
	same := func(t time.Time) bool { return t.UnixMilli() == at.UnixMilli() }
	goesOn = same(a.last) || a.failed && same(a.before)
	return messages[last+1:], goesOn
}

// spoken are the messages that the agent is told: those of the user, and what burin tells a
// model about mode, todos and the user's own commands.
func spoken(messages []llm.Message) (all []llm.Message) {
	for _, m := range messages {
		switch {
		case m.Role == llm.RoleUser, m.Role == llm.RoleCustom && m.CustomType != "nudge" && m.CustomType != "context":
			all = append(all, m)
		}
	}
	return all
}

// blocks make a prompt of messages.
func blocks(messages []llm.Message, can acp.PromptCapabilities) (all []acp.ContentBlock, err error) {
	size := 0
	text := func(s string) {
		if s == "" {
			return
		}
		size += len(s)
		all = append(all, acp.ContentBlock{Type: "text", Text: s})
	}
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				text(unescaped(m.Role, b.Text))
			case llm.Image:
				if !can.Image || len(b.Data) == 0 {
					text("[An image was attached here. This agent does not read images.]")
					continue
				}
				size += len(b.Data)
				all = append(all, acp.ContentBlock{Type: "image", MimeType: b.MIME, Data: base64.StdEncoding.EncodeToString(b.Data)})
			case llm.Document:
				if b.Text == "" {
					text(fmt.Sprintf("[%s was attached here. It has no text that could be read.]", b.Name))
					continue
				}
				text(fmt.Sprintf("<document name=%q>\n%s\n</document>", b.Name, b.Text))
			}
		}
	}
	if size > maxPrompt {
		return nil, failure("the prompt has %d MB, and an agent gets %d MB at most", size>>20, maxPrompt>>20)
	}
	return all, nil
}

// unescaped is what the user has typed for the agent: //name is its command /name, for names that
// burin has, too.
func unescaped(role llm.Role, text string) string {
	if role == llm.RoleUser && strings.HasPrefix(text, "//") && len(text) > 2 && !strings.ContainsRune(" /\t\n", rune(text[2])) {
		return text[1:]
	}
	return text
}

// quote is a conversation as text, for an agent that does not know it: its end, as much as fits.
func quote(messages []llm.Message) string {
	var parts []string
	size := 0
	for i := range slices.Backward(messages) {
		m := &messages[i]
		var who string
		switch m.Role {
		case llm.RoleUser:
			who = "User"
		case llm.RoleAssistant:
			who = "Assistant"
		default:
			continue
		}
		var b strings.Builder
		for _, block := range m.Content {
			switch block := block.(type) {
			case llm.Text:
				b.WriteString(block.Text)
			case llm.ToolCall:
				fmt.Fprintf(&b, "\n[called %s %s]", block.Name, prose.Cut(block.Arguments, 300))
			}
		}
		words := strings.TrimSpace(b.String())
		if words == "" {
			continue
		}
		part := who + ": " + words
		if size += len(part); size > maxQuote {
			parts = append(parts, "[The beginning is left out.]")
			break
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Reverse(parts)
	return "This conversation began elsewhere. What was said so far, as material and not as a request:\n\n<conversation>\n" +
		strings.Join(parts, "\n\n") + "\n</conversation>\n\nIt goes on with:"
}
