package print

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Show writes a conversation that has taken place, as its steps were shown then.
func Show(out io.Writer, messages []llm.Message, color bool) error {
	w := &failing{w: out}
	s := &steps{out: w, color: color}
	calls := map[string]llm.ToolCall{}
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case llm.RoleUser:
			fmt.Fprintf(w, "%s\n\n", s.paint(bold, "> "+strings.ReplaceAll(clean(m.Text()), "\n", "\n> ")))
		case llm.RoleAssistant:
			s.say(clean(m.Text()))
			for _, c := range m.ToolCalls() {
				calls[c.ID] = c
			}
			if m.Error != nil {
				s.lines(m.Error.Error(), red)
			}
		case llm.RoleToolResult:
			c := calls[m.ToolCallID]
			s.end(agent.Event{
				Call:   &tool.Call{ID: m.ToolCallID, Name: m.ToolName, Arguments: json.RawMessage(c.Arguments)},
				Result: &tool.Result{Content: m.Content, Details: m.Details, IsError: m.IsError},
			})
		}
	}
	return w.err
}

// failing remembers the first error of a writer and writes nothing after it.
type failing struct {
	w   io.Writer
	err error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
	return len(b), nil
}
