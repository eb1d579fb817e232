package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool/todo"
)

func buildOf(tasks ...todo.Task) []todo.Phase {
	return []todo.Phase{{Name: "Build", Tasks: tasks}}
}

// The list survives the way through a person's editor.
func TestTodoTextRoundTrip(t *testing.T) {
	want := append(buildOf(
		todo.Task{Content: "walls", Status: "completed"}, todo.Task{Content: "roof [red]", Status: "in_progress"},
		todo.Task{Content: "- door", Status: "pending"}, todo.Task{Content: "moat", Status: "abandoned"},
	), todo.Phase{Name: "Live in it", Tasks: []todo.Task{{Content: "sleep", Status: "pending"}}})
	if diff := cmp.Diff(want, parseTodos(todoText(want))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseTodos(t *testing.T) {
	got := parseTodos("words of no use\n* [ ] one\n- two\n# Second #1\n+ [X] three\n- [~] four\n- [>] five\n## Empty\n")
	want := []todo.Phase{
		{Name: "Todos", Tasks: []todo.Task{{Content: "one", Status: "pending"}, {Content: "two", Status: "pending"}}},
		{Name: "Second #1", Tasks: []todo.Task{{Content: "three", Status: "completed"}, {Content: "four", Status: "abandoned"}, {Content: "five", Status: "in_progress"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarkTodo(t *testing.T) {
	tasks := func() []todo.Phase {
		return buildOf(todo.Task{Content: "Paint", Status: "pending"}, todo.Task{Content: "Paint the roof", Status: "pending"})
	}
	for name, c := range map[string]struct {
		verb, words string
		want        []todo.Phase
	}{
		"exact before part": {"done", "paint", buildOf(todo.Task{Content: "Paint", Status: "completed"}, todo.Task{Content: "Paint the roof", Status: "pending"})},
		"part":              {"start", "roof", buildOf(todo.Task{Content: "Paint", Status: "pending"}, todo.Task{Content: "Paint the roof", Status: "in_progress"})},
		"removed":           {"rm", "Paint", buildOf(todo.Task{Content: "Paint the roof", Status: "pending"})},
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
	want := []todo.Phase{
		{Name: "Todos", Tasks: []todo.Task{{Content: "one", Status: "pending"}}},
		{Name: "Later", Tasks: []todo.Task{{Content: "two", Status: "pending"}, {Content: "three", Status: "pending"}}},
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

// A model that is asked again because tasks are open does not seem to go on by itself.
func TestRemindersAreShown(t *testing.T) {
	said := []llmtest.Turn{}
	for range 4 {
		said = append(said, llmtest.Turn{Parts: []llmtest.Part{{Text: "Done."}}})
	}
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Reminders = 3
		o.Tasks = handletest.Tasks{OnReminder: func() string { return "Open in the todo list: a; b." }}
	}, said...)
	d.facts.todos = []todo.Phase{{Tasks: []todo.Task{{Content: "a", Status: "pending"}, {Content: "b", Status: "in_progress"}, {Content: "c", Status: "completed"}}}}
	d.outbox.send("work", steerNow)
	d.until("the end", func() bool { return !d.work.on })
	got := d.shown()
	for _, want := range []string{"· reminded of 2 open tasks\n", "(reminder 2)", "(reminder 3)"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
}
