package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/session"
)

func buildOf(tasks ...session.TodoTask) []session.TodoPhase {
	return []session.TodoPhase{{Name: "Build", Tasks: tasks}}
}

// The list survives the way through a person's editor.
func TestTodoTextRoundTrip(t *testing.T) {
	want := append(buildOf(
		session.TodoTask{Content: "walls", Status: "completed"}, session.TodoTask{Content: "roof [red]", Status: "in_progress"},
		session.TodoTask{Content: "- door", Status: "pending"}, session.TodoTask{Content: "moat", Status: "abandoned"},
	), session.TodoPhase{Name: "Live in it", Tasks: []session.TodoTask{{Content: "sleep", Status: "pending"}}})
	if diff := cmp.Diff(want, parseTodos(todoText(want))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseTodos(t *testing.T) {
	got := parseTodos("words of no use\n* [ ] one\n- two\n# Second #1\n+ [X] three\n- [~] four\n- [>] five\n## Empty\n")
	want := []session.TodoPhase{
		{Name: "Todos", Tasks: []session.TodoTask{{Content: "one", Status: "pending"}, {Content: "two", Status: "pending"}}},
		{Name: "Second #1", Tasks: []session.TodoTask{{Content: "three", Status: "completed"}, {Content: "four", Status: "abandoned"}, {Content: "five", Status: "in_progress"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarkTodo(t *testing.T) {
	tasks := func() []session.TodoPhase {
		return buildOf(session.TodoTask{Content: "Paint", Status: "pending"}, session.TodoTask{Content: "Paint the roof", Status: "pending"})
	}
	for name, c := range map[string]struct {
		verb, words string
		want        []session.TodoPhase
	}{
		"exact before part": {"done", "paint", buildOf(session.TodoTask{Content: "Paint", Status: "completed"}, session.TodoTask{Content: "Paint the roof", Status: "pending"})},
		"part":              {"start", "roof", buildOf(session.TodoTask{Content: "Paint", Status: "pending"}, session.TodoTask{Content: "Paint the roof", Status: "in_progress"})},
		"removed":           {"rm", "Paint", buildOf(session.TodoTask{Content: "Paint the roof", Status: "pending"})},
		"two fit":           {"drop", "pain", nil},
		"none fits":         {"drop", "cellar", nil},
		"no words":          {"drop", "", nil},
	} {
		got, err := markTodo(tasks(), c.verb, c.words)
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: error %v", name, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAppendTodo(t *testing.T) {
	got := appendTodo(appendTodo(appendTodo(nil, "one"), "Later: two"), "later: three")
	want := []session.TodoPhase{
		{Name: "Todos", Tasks: []session.TodoTask{{Content: "one", Status: "pending"}}},
		{Name: "Later", Tasks: []session.TodoTask{{Content: "two", Status: "pending"}, {Content: "three", Status: "pending"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLastCode(t *testing.T) {
	for text, want := range map[string]string{
		"no code":                              "",
		"```go\na\n```\nand\n```\nb\nc\n```\n": "b\nc\n",
		"````md\n```\ninner\n```\n````\n":      "```\ninner\n```\n",
		"```\nwhole\n```\n then ```\nunclosed": "whole\n",
	} {
		if got := lastCode(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
