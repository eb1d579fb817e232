package tui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// copyCommand copies a part of the conversation.
func (ar *archives) copyCommand(what string) {
	messages := lastMessages(ar.session.Log())
	switch what {
	case "", "answer", "last":
		ar.copyPart(lastText(messages, llm.RoleAssistant), "the answer")
	case "code":
		ar.copyPart(lastCode(lastText(messages, llm.RoleAssistant)), "the code")
	case "prompt":
		ar.copyPart(lastText(messages, llm.RoleUser), "the prompt")
	case "command", "cmd":
		ar.copyPart(lastCommand(messages), "the command")
	case "all":
		ar.dump("")
	default:
		ar.notice(card.Warning, "/copy: unknown argument "+prose.Line(what)+" (want code, prompt, command, all, or nothing for the last answer)")
	}
}

func (ar *archives) copyPart(text, what string) {
	if text == "" {
		ar.flash("none to copy yet")
		return
	}
	ar.desktop.copy(text, what)
}

// lastMessages are the last messages of the branch, as many as copying looks at.
func lastMessages(t session.Transcript) (messages []llm.Message) {
	const enough = 200
	nodes, leaf := t.Nodes(), t.Leaf()
	at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == leaf })
	for ; at >= 0 && len(messages) < enough; at = nodes[at].Parent {
		if nodes[at].Type != transcript.TypeMessage {
			continue
		}
		if e, err := t.Entry(nodes[at].ID); err == nil && e.Message != nil {
			messages = append(messages, *e.Message)
		}
	}
	slices.Reverse(messages)
	return messages
}

// lastText is the last message of a role that has words.
func lastText(messages []llm.Message, role llm.Role) string {
	for i := range slices.Backward(messages) {
		if text := messages[i].Text(); messages[i].Role == role && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// lastCommand is the last command that the model ran.
func lastCommand(messages []llm.Message) string {
	for i := range slices.Backward(messages) {
		for _, b := range slices.Backward(messages[i].Content) {
			c, ok := b.(llm.ToolCall)
			if !ok || c.Name != "bash" {
				continue
			}
			var args struct{ Command string }
			object, _, err := c.Object()
			if err != nil || json.Unmarshal(object, &args) != nil {
				continue // it was cut, and did not run
			}
			if args.Command != "" {
				return args.Command
			}
		}
	}
	return ""
}

// lastCode is the last fenced piece of code in a text.
func lastCode(text string) string {
	code, open, piece := "", "", strings.Builder{}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " ")
		fence := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		switch {
		case open == "" && fence >= 3:
			open = trimmed[:fence]
			piece.Reset()
		case open != "" && strings.TrimSpace(trimmed) == open:
			code, open = piece.String(), ""
		case open != "":
			piece.WriteString(line)
		}
	}
	return code
}
