package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// CustomTodoEdit is the custom type of the entry of a change to the todos that the model did
// not make: the user's, or because a sub-agent is done. Its data are the phases. It is also that
// of the message that tells the model.
const CustomTodoEdit = "user_todo_edit"

// todoEdit is the data of an entry of type CustomTodoEdit.
type todoEdit struct {
	Phases []todo.Phase `json:"phases"`
}

// Todos returns the current todos.
func (w *work) Todos(context.Context) ([]todo.Phase, error) { return w.phases(), nil }

func (w *work) phases() []todo.Phase {
	if w.list == nil {
		return nil
	}
	return w.list.List()
}

// SetTodos replaces the todos for the user, at any time. The model reads them with the next
// request. If it fails, nothing has changed.
func (w *work) SetTodos(_ context.Context, phases []todo.Phase) error {
	return w.setTodos(phases, "The user changed the todo list. It is now:", "Go by it; nothing of the old one holds.", "user")
}

// FinishTodos completes the open todos of s that match what a sub-agent has done.
func FinishTodos(s *Session, agentID, description string) error {
	w := s.work
	phases, finished := todo.Finish(w.phases(), description)
	if len(finished) == 0 {
		return nil
	}
	return w.setTodos(phases, fmt.Sprintf("Agent %s has finished what the todo list calls %q. The list is now:", agentID, finished[0].Content), "", "agent")
}

// setTodos replaces the todos, and tells the model the new list, with words before and after.
func (w *work) setTodos(phases []todo.Phase, before, after, by string) error {
	if w.list == nil {
		return errors.New("this session has no todo list")
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
	words, err := json.Marshal(strings.TrimSpace(w.redactor.hide(before) + "\n\n" + todoText(shown) + "\n" + after))
	if err != nil {
		return err
	}
	w.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomTodoEdit, Data: data})
	w.rec.append(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: CustomTodoEdit, Content: words, Attribution: by})
	w.outdated()
	w.rec.emit(Event{Event: agent.Event{Type: TodosChanged}})
	return nil
}

func (w *work) hide(phases []todo.Phase) []todo.Phase {
	out := make([]todo.Phase, 0, len(phases))
	for _, p := range phases {
		q := todo.Phase{Name: w.redactor.hide(p.Name), Tasks: make([]todo.Task, 0, len(p.Tasks))}
		for _, t := range p.Tasks {
			q.Tasks = append(q.Tasks, todo.Task{Content: w.redactor.hide(t.Content), Status: t.Status})
		}
		out = append(out, q)
	}
	return out
}

// todoText returns the list as the model reads it.
func todoText(phases []todo.Phase) string {
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

// LastTodos finds the last change to the todos on the branch to leaf. If the user made it,
// LastTodos returns the list; if the tool with that name did, the details of its result. It
// returns neither if there was no change.
func LastTodos(log transcript.Reader, leaf, toolName string) (phases []todo.Phase, result json.RawMessage) {
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
