package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
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

// A model that is asked again because tasks are open does not seem to go on by itself.
func TestRemindersAreShown(t *testing.T) {
	said := []llmtest.Turn{}
	for range 4 {
		said = append(said, llmtest.Turn{Parts: []llmtest.Part{{Text: "Done."}}})
	}
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Tasks = handletest.Tasks{OnReminder: func() string { return "Open in the todo list: a; b." }}
	}, said...)
	d.facts.todos = []card.Phase{{Tasks: []card.TodoTask{{Content: "a", Status: "pending"}, {Content: "b", Status: "in_progress"}, {Content: "c", Status: "completed"}}}}
	d.outbox.send("work", steerNow)
	d.until("the end", func() bool { return !d.work.on })
	got := d.shown()
	for _, want := range []string{"· reminded of 2 open tasks (1 of 3)", "(2 of 3)", "(3 of 3)"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
}
