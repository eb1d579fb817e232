package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/session"
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
		return stateOf(edited)
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
func (t tasks) List() []session.TodoPhase { return phasesOf(t.seat.todos()) }

// Reminder implements [session.Tasks].
func (t tasks) Reminder() string { return t.seat.todos().Unfinished() }

// Set implements [session.Tasks]: the list is a person's.
func (t tasks) Set(phases []session.TodoPhase) ([]session.TodoPhase, error) {
	b := t.seat
	seen := map[string]bool{}
	for _, p := range phases {
		if strings.TrimSpace(p.Name) == "" {
			return nil, errors.New("a phase has no name")
		}
		for _, t := range p.Tasks {
			known := []plan.Status{plan.Pending, plan.InProgress, plan.Completed, plan.Abandoned}
			switch {
			case strings.TrimSpace(t.Content) == "":
				return nil, fmt.Errorf("a task of %q is empty", p.Name)
			case seen[t.Content]:
				return nil, fmt.Errorf("the task %q is there twice", t.Content)
			case !slices.Contains(known, plan.Status(t.Status)):
				return nil, fmt.Errorf("the task %q is %q: want pending, in_progress, completed or abandoned", t.Content, t.Status)
			}
			seen[t.Content] = true
		}
	}
	state := stateOf(phases)
	if err := state.Check(); err != nil {
		return nil, err
	}
	b.setTodos(state)
	return phasesOf(state), nil
}

func stateOf(phases []session.TodoPhase) plan.State {
	var s plan.State
	for _, p := range phases {
		one := plan.Phase{Name: p.Name}
		for _, t := range p.Tasks {
			one.Tasks = append(one.Tasks, plan.Task{Content: t.Content, Status: plan.Status(t.Status)})
		}
		s.Phases = append(s.Phases, one)
	}
	return s
}

func phasesOf(s plan.State) []session.TodoPhase {
	var phases []session.TodoPhase
	for _, p := range s.Phases {
		one := session.TodoPhase{Name: p.Name}
		for _, t := range p.Tasks {
			one.Tasks = append(one.Tasks, session.TodoTask{Content: t.Content, Status: string(t.Status)})
		}
		phases = append(phases, one)
	}
	return phases
}
