package host_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool/todo"
)

// What an agent has done that the todo list names is done there, also for a later owner of the
// session; what an agent failed at is open.
func TestAgentsFinishTodos(t *testing.T) {
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		switch {
		case s.who == "reader":
			return llmtest.Say("read")
		case s.who == "writer":
			return llmtest.Say("")
		case s.turn == 0:
			return llmtest.Call("c0", "todo", `{"ops":[{"op":"init","list":[{"phase":"Work","items":["Read the tests","Write the docs","Ship it"]}]}]}`)
		case s.turn == 1:
			return llmtest.Call("c1", "task", `{"agent":"task","tasks":[{"id":"reader","description":"read the tests","assignment":"a"},{"id":"writer","description":"Write the docs","assignment":"b"}]}`)
		}
		return llmtest.Say("end")
	})
	if out := o.prompt("go"); out.Err != nil {
		t.Fatal(out.Err)
	}
	got, err := o.handle.Work().Todos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []todo.Phase{{Name: "Work", Tasks: []todo.Task{{Content: "Read the tests", Status: todo.Completed}, {Content: "Write the docs", Status: todo.Pending}, {Content: "Ship it", Status: todo.Pending}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all := o.requests("")
	var heard string
	for _, m := range all[len(all)-1].Messages {
		heard += m.Text() + "\n"
	}
	if !strings.Contains(heard, `Agent reader has finished what the todo list calls "Read the tests".`) || strings.Contains(heard, "Agent writer has finished") {
		t.Errorf("the model read:\n%s", heard)
	}
	path := o.handle.Facts().Path
	o.end()
	again := opened(t, officeOptions{home: strings.TrimSuffix(o.dir, "/project"), change: func(s *host.Session) { s.Resume = path }}, func(said) []llm.Event { return llmtest.Say("x") })
	if got, err = again.handle.Work().Todos(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("resumed:\n" + diff)
	}
}
