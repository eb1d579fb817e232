package llm_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
)

func TestSameIDTwice(t *testing.T) {
	h := []llm.Message{
		llm.UserText("go"),
		{Role: llm.RoleAssistant, Content: []llm.Block{
			llm.ToolCall{ID: "call_0", Name: "read", Arguments: `{"path":"a"}`},
			llm.ToolCall{ID: "call_0", Name: "read", Arguments: `{"path":"b"}`},
		}},
		{Role: llm.RoleToolResult, ToolCallID: "call_0", ToolName: "read", Content: []llm.Block{llm.Text{Text: "content of a"}}},
		{Role: llm.RoleToolResult, ToolCallID: "call_0", ToolName: "read", Content: []llm.Block{llm.Text{Text: "content of b"}}},
	}
	out := llm.Legal(h, llm.Target{})
	calls := out[1].ToolCalls()
	for i, want := range []string{"content of a", "content of b"} {
		r := out[2+i]
		if r.ToolCallID != calls[i].ID || r.Text() != want {
			t.Errorf("result %d: id %q text %q, want id %q text %q", i, r.ToolCallID, r.Text(), calls[i].ID, want)
		}
	}
	if len(out) != 4 {
		t.Errorf("%d messages: %+v", len(out), out)
	}
}
