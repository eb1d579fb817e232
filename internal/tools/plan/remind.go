package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// Reminder is [State.Unfinished] if the model stopped in the middle of its own work, and
// "" if not. The work is what was said since the prompt, or since the last reminder: the
// model worked on the list if it changed it meanwhile. Tasks that are still open from
// before have nothing to do with what was asked now. A model that ends with a question
// waits for the person.
func (s State) Reminder(work []llm.Message) string {
	last := len(work) - 1
	if last < 0 || work[last].Role != llm.RoleAssistant || asks(work[last].Text()) || !slices.ContainsFunc(work, changesList) {
		return ""
	}
	return s.Unfinished()
}

// changesList reports whether a message calls todo for more than a look at the list.
func changesList(m llm.Message) bool {
	return m.Role == llm.RoleAssistant && slices.ContainsFunc(m.ToolCalls(), func(c llm.ToolCall) bool {
		var args todoArgs
		return c.Name == "todo" && json.Unmarshal([]byte(c.Arguments), &args) == nil &&
			slices.ContainsFunc(args.Ops, func(o todoOp) bool { return o.Op != "view" })
	})
}

// asks reports whether the last paragraph of a text holds a question. Question marks
// inside of words, as in addresses, are none.
func asks(text string) bool {
	text = strings.TrimSpace(text)
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[i:]
	}
	for i, r := range text {
		switch r {
		case '?', '？', '؟':
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if next == utf8.RuneError || !unicode.IsLetter(next) && !unicode.IsDigit(next) {
				return true
			}
		}
	}
	return false
}
