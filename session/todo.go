package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// CustomTodoEdit is the custom type of the entry of a person's change to the list of
// work, whose data are the phases, and of the message that tells the model.
const CustomTodoEdit = "user_todo_edit"

// TodoPhase is a group of tasks of the list of work.
type TodoPhase struct {
	Name  string     `json:"name"`
	Tasks []TodoTask `json:"tasks"`
}

// TodoTask is one piece of work.
type TodoTask struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed or abandoned
}

// open reports whether there is still something to do.
func (t *TodoTask) open() bool { return t.Status == "pending" || t.Status == "in_progress" }

// todoEdit is what an entry of type CustomTodoEdit holds.
type todoEdit struct {
	Phases []TodoPhase `json:"phases"`
}

// Todos is the list of work as it is now.
func (w *work) Todos(context.Context) ([]TodoPhase, error) { return w.phases(), nil }

func (w *work) phases() []TodoPhase {
	if w.list == nil {
		return nil
	}
	return w.list.List()
}

// SetTodos replaces the list of work, as the person wants it, at any time. The model
// reads of it with the next request. An error changes nothing.
func (w *work) SetTodos(_ context.Context, phases []TodoPhase) error {
	if w.list == nil {
		return errors.New("this session has no list of work")
	}
	settled, err := w.list.Set(phases)
	if err != nil {
		return err
	}
	shown := w.hide(settled)
	data, err := json.Marshal(todoEdit{shown})
	if err != nil {
		return err
	}
	words, err := json.Marshal("The user changed the todo list. It is now:\n\n" + todoText(shown) + "\nGo by it; nothing of the old one holds.")
	if err != nil {
		return err
	}
	w.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomTodoEdit, Data: data})
	w.rec.append(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: CustomTodoEdit, Content: words, Attribution: "user"})
	w.outdated()
	w.rec.emit(Event{Event: agent.Event{Type: TodosChanged}})
	return nil
}

func (w *work) hide(phases []TodoPhase) []TodoPhase {
	out := make([]TodoPhase, 0, len(phases))
	for _, p := range phases {
		q := TodoPhase{Name: w.veil.hide(p.Name), Tasks: make([]TodoTask, 0, len(p.Tasks))}
		for _, t := range p.Tasks {
			q.Tasks = append(q.Tasks, TodoTask{w.veil.hide(t.Content), t.Status})
		}
		out = append(out, q)
	}
	return out
}

// todoText is a list as the model reads it.
func todoText(phases []TodoPhase) string {
	var b strings.Builder
	for _, p := range phases {
		fmt.Fprintf(&b, "%s\n", p.Name)
		for _, t := range p.Tasks {
			fmt.Fprintf(&b, "  [%s] %s\n", t.Status, t.Content)
		}
	}
	if b.Len() == 0 {
		return "(empty)\n"
	}
	return b.String()
}

// LastTodos looks for who changed the list of work last on the branch to leaf: a
// person, whose list it gives, or the model's tool of that name, of which it gives the
// details of the result. Neither is that nobody did.
func LastTodos(log transcript.Reader, leaf, toolName string) (phases []TodoPhase, result json.RawMessage) {
	e := transcript.LastOf(log, leaf,
		func(n transcript.Node) bool {
			switch {
			case n.Role == llm.RoleToolResult:
				return n.Name == toolName || n.Name == ""
			case n.Type == transcript.TypeCustom:
				return n.Name == CustomTodoEdit || n.Name == ""
			}
			return false
		},
		func(e *transcript.Entry) bool {
			return e.CustomType == CustomTodoEdit || e.Message != nil && e.Message.ToolName == toolName && len(e.Message.Details) > 0
		})
	var edit todoEdit
	switch {
	case e == nil:
		return nil, nil
	case e.Message != nil:
		return nil, e.Message.Details
	case json.Unmarshal(e.Data, &edit) != nil:
		return nil, nil
	}
	return edit.Phases, nil
}
