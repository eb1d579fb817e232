package plan_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool/todo"
)

func TestReminder(t *testing.T) {
	state := plan.State{Phases: []todo.Phase{{Name: "Work", Tasks: []todo.Task{{Content: "a", Status: todo.InProgress}, {Content: "b", Status: todo.Pending}}}}}
	says := func(text string, calls ...llm.ToolCall) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: text}}}
		for _, c := range calls {
			m.Content = append(m.Content, c)
		}
		return m
	}
	result := llm.Message{Role: llm.RoleToolResult, ToolName: "todo"}
	begins := says("", llm.ToolCall{Name: "todo", Arguments: `{"ops":[{"op":"init"}]}`})
	looks := says("", llm.ToolCall{Name: "todo", Arguments: `{"ops":[{"op":"view"}]}`})
	reads := says("", llm.ToolCall{Name: "read", Arguments: `{"path":"x"}`})
	for _, tt := range []struct {
		name string
		work []llm.Message
		want bool
	}{
		{"stopped in the middle", []llm.Message{begins, result, says("I begin.")}, true},
		{"a plain question", []llm.Message{says("It is 4.")}, false},
		{"a question that needed a look", []llm.Message{reads, result, says("It is 4.")}, false},
		{"a question about the list", []llm.Message{looks, result, says("Two are open.")}, false},
		{"asks", []llm.Message{begins, result, says("Here is the plan.\n\nShall I begin? It takes an hour.")}, false},
		{"asks in bold", []llm.Message{begins, result, says("**Shall I begin?**")}, false},
		{"asks in Japanese", []llm.Message{begins, result, says("始めますか？")}, false},
		{"has asked before", []llm.Message{begins, result, says("What is wrong? The path.\n\nI fix it now.")}, true},
		{"an address", []llm.Message{begins, result, says("See http://host/?page=2 for it.")}, true},
		{"stopped by a hand", []llm.Message{begins, result}, false},
		{"nothing", nil, false},
	} {
		if got := state.Reminder(tt.work); (got != "") != tt.want {
			t.Errorf("%s: reminded: %q", tt.name, got)
		}
	}
	if got := (plan.State{}).Reminder([]llm.Message{begins, result, says("Done.")}); got != "" {
		t.Errorf("with nothing open: %q", got)
	}
}
