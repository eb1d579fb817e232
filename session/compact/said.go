package compact

import (
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Said gives what the user and the model said in entries, quoted, with at most budget estimated
// tokens; the oldest parts give way. It holds nothing that tools, files or programs said: of
// calls only commands, and of attachments, skills and file commands nothing, of which it has what
// the user typed. So a page or a repository has no
// way into it but what the model itself repeats. "" means that one of both said nothing.
func Said(entries []transcript.Entry, budget int) string {
	spoke := map[llm.Role]bool{}
	all := saidIn(entries)
	for i := range all {
		spoke[all[i].Message.Role] = true
	}
	if len(spoke) < 2 {
		return ""
	}
	return conversation(all, nil, budget)
}

// Opening is what the user said first, by the same rules; "" if they said nothing.
func Opening(entries []transcript.Entry) string {
	for _, e := range saidIn(entries) {
		if e.Message.Role == llm.RoleUser {
			return e.Message.Text()
		}
	}
	return ""
}

// saidIn are the messages of entries with what the user and the model said in them.
func saidIn(entries []transcript.Entry) (all []transcript.Entry) {
	typed := typedAt(entries)
	for i := range entries {
		e := &entries[i]
		if e.Type != transcript.TypeMessage || e.Message == nil || e.Execution != nil {
			continue
		}
		if r := e.Message.Role; r != llm.RoleUser && r != llm.RoleAssistant {
			continue
		}
		m := *e.Message
		if texts := typed[m.Time.UnixMilli()]; m.Role == llm.RoleUser && len(texts) > 0 {
			m.Content = nil
			for _, t := range texts {
				m.Content = append(m.Content, llm.Text{Text: t})
			}
		}
		if m.Content = words(m.Content); len(m.Content) > 0 {
			all = append(all, transcript.Entry{Type: e.Type, ID: e.ID, Message: &m})
		}
	}
	return all
}

// typedAt are the texts of messages that were expanded, as the user typed them, by the times
// of the messages.
func typedAt(entries []transcript.Entry) map[int64][]string {
	at := map[int64][]string{}
	for i := range entries {
		if e := &entries[i]; e.Type == transcript.TypeCustom && e.CustomType == transcript.CustomQueue {
			var q struct {
				Message struct {
					Timestamp int64 `json:"timestamp"`
				} `json:"message"`
				Typed []string `json:"typed"`
			}
			if json.Unmarshal(e.Data, &q) == nil && len(q.Typed) > 0 {
				at[q.Message.Timestamp] = q.Typed
			}
		}
	}
	return at
}

// words are the texts and commands of a message.
func words(blocks []llm.Block) (kept []llm.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			text, _, _ := strings.Cut(b.Text, "\n<skill name=") // what a person called a skill with
			if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "<file path=") {
				kept = append(kept, llm.Text{Text: text})
			}
		case llm.ToolCall:
			if b.Name == "bash" {
				kept = append(kept, b)
			}
		}
	}
	return kept
}
