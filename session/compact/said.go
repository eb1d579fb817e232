package compact

import (
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Said gives what the user and the model said in entries, quoted, with at most budget estimated
// tokens; the oldest parts give way. It holds nothing that tools, files or programs said: of
// calls only commands, and of attachments and skills nothing. So a page or a repository has no
// way into it but what the model itself repeats. "" means that one of both said nothing.
func Said(entries []transcript.Entry, budget int) string {
	var said []transcript.Entry
	spoke := map[llm.Role]bool{}
	for i := range entries {
		e := &entries[i]
		if e.Type != transcript.TypeMessage || e.Message == nil || e.Execution != nil {
			continue
		}
		if r := e.Message.Role; r != llm.RoleUser && r != llm.RoleAssistant {
			continue
		}
		m := *e.Message
		m.Content = words(m.Content)
		if len(m.Content) == 0 {
			continue
		}
		spoke[m.Role] = true
		said = append(said, transcript.Entry{Type: e.Type, ID: e.ID, Message: &m})
	}
	if len(spoke) < 2 {
		return ""
	}
	return conversation(said, nil, budget)
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
