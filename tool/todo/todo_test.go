package todo_test

import (
	"encoding/json"
	"testing"

	"github.com/burin-dev/burin/tool/todo"
)

// What a newer program wrote is work that is left, not work that is done.
func TestUnknownStatusIsOpen(t *testing.T) {
	list := []todo.Phase{
		{Name: "A", Tasks: []todo.Task{{Content: "a", Status: todo.Completed}, {Content: "b", Status: todo.Abandoned}}},
		{Name: "B", Tasks: []todo.Task{{Content: "c", Status: todo.InProgress}, {Content: "d", Status: "blocked"}}},
	}
	if done, all := todo.Progress(list); done != 2 || all != 4 {
		t.Errorf("%d of %d are done, want 2 of 4", done, all)
	}
	if list[0].Active() || !list[1].Active() {
		t.Errorf("active: %v, %v", list[0].Active(), list[1].Active())
	}
}

func TestCloneSharesNothing(t *testing.T) {
	list := []todo.Phase{{Name: "A", Tasks: []todo.Task{{Content: "a", Status: todo.Pending}}}, {Name: "B"}}
	c := todo.Clone(list)
	c[0].Tasks[0].Status = todo.Completed
	if list[0].Tasks[0].Status != todo.Pending {
		t.Error("a change to the copy changed the list")
	}
	for want, phases := range map[string][]todo.Phase{
		`[]`:                        nil,
		`[{"name":"B","tasks":[]}]`: list[1:],
	} {
		if got, err := json.Marshal(todo.Clone(phases)); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
