package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/todo"
)

// todos is the list of work as it is.
func (b *seat) todos() plan.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.todo
}

func (b *seat) setTodos(s plan.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.todo = s
}

// restoreTodos is the list as the model, or a person after it, last left it.
func (b *seat) restoreTodos() plan.State {
	edited, result := session.LastTodos(b.log, b.log.Leaf(), "todo")
	if len(result) == 0 {
		return plan.State{Phases: edited}
	}
	state, err := plan.Restore(result)
	if err != nil {
		return plan.State{}
	}
	return state
}

// tasks is the list of work of a session.
type tasks struct{ seat *seat }

// List implements [session.Tasks].
func (t tasks) List() []todo.Phase { return todo.Clone(t.seat.todos().Phases) }

// Reminder implements [session.Tasks].
func (t tasks) Reminder(since []llm.Message) string { return t.seat.todos().Reminder(since) }

// Set implements [session.Tasks]: the list is a person's.
func (t tasks) Set(phases []todo.Phase) ([]todo.Phase, error) {
	b := t.seat
	seen := map[string]bool{}
	for _, p := range phases {
		if strings.TrimSpace(p.Name) == "" {
			return nil, errors.New("a phase has no name")
		}
		for _, t := range p.Tasks {
			known := []todo.Status{todo.Pending, todo.InProgress, todo.Completed, todo.Abandoned}
			switch {
			case strings.TrimSpace(t.Content) == "":
				return nil, fmt.Errorf("a task of %q is empty", p.Name)
			case seen[t.Content]:
				return nil, fmt.Errorf("task %q is listed twice", t.Content)
			case !slices.Contains(known, t.Status):
				return nil, fmt.Errorf("the task %q is %q: want pending, in_progress, completed or abandoned", t.Content, t.Status)
			}
			seen[t.Content] = true
		}
	}
	state := plan.State{Phases: todo.Clone(phases)}
	if err := state.Check(); err != nil {
		return nil, err
	}
	b.setTodos(state)
	return phases, nil
}
