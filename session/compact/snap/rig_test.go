package snap_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// conversation is n turns in which files are read and talked about. It is the same
// each time.
func conversation(n int) []transcript.Entry {
	var b branch
	names := strings.Fields("handler buffer cursor limit parser session window queue reply network value index")
	pick := func(i int) string { return names[i%len(names)] }
	for i := range n {
		file := fmt.Sprintf("%s/%s_%d.go", pick(i), pick(i*7+3), i)
		b.user(fmt.Sprintf("Please look at %s and tell me whether the %s is bounded. It failed at port %d, with the code %#x!", file, pick(i*5), 1000+i*37%60000, i*7919))
		b.answer("The person wants to know about a limit. I should read the file.", "I'll read it now.",
			llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read", Arguments: fmt.Sprintf(`{"path":%q,"lines":[%d,%d]}`, file, i, i+80)})
		var out strings.Builder
		for l := range 40 {
			fmt.Fprintf(&out, "%4d\tif %s.%s > max%d { // é as in \u201ccafé\u201d\n\t\treturn fmt.Errorf(\"%s %%d\", %s[%d])\n\t}\n",
				l, pick(i+l), pick(l*3), l*i%977, pick(l), pick(i*l), l^i)
		}
		b.result(fmt.Sprint("c", i), out.String())
		b.answer("", fmt.Sprintf("It is not: %s grows with each %s. I would bound it at %d. Shall I?", pick(i+1), pick(i+2), 64<<(i%9)))
	}
	return b.path
}

// branch builds a path entry by entry.
type branch struct{ path []transcript.Entry }

func (b *branch) add(e transcript.Entry) {
	e.ID = fmt.Sprintf("e%05d", len(b.path))
	if n := len(b.path); n > 0 {
		e.ParentID = &b.path[n-1].ID
	}
	e.Timestamp = "2026-01-01T00:00:00Z"
	b.path = append(b.path, e)
}

func (b *branch) message(m llm.Message) {
	b.add(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
}

func (b *branch) user(text string) { b.message(llm.UserText(text)) }

func (b *branch) answer(thinking, text string, calls ...llm.ToolCall) {
	m := llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopEnd}
	if thinking != "" {
		m.Content = append(m.Content, llm.Thinking{Text: thinking})
	}
	if text != "" {
		m.Content = append(m.Content, llm.Text{Text: text})
	}
	for _, c := range calls {
		m.Content, m.StopReason = append(m.Content, c), llm.StopToolUse
	}
	b.message(m)
}

func (b *branch) result(id, text string) {
	b.message(llm.ToolResultText(llm.ToolCall{ID: id, Name: "read"}, text, false))
}

func (b *branch) prune(p transcript.Prune) {
	data, _ := json.Marshal(p)
	b.add(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: data})
}
