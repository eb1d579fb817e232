package tui

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/tool/todo"
)

// Marks of tasks in Markdown.
const (
	markOpen, markWork, markDone, markGone = "[ ]", "[/]", "[x]", "[-]"
)

// todoText is the list as Markdown that parseTodos reads.
func todoText(phases []todo.Phase) string {
	var b strings.Builder
	for i, p := range phases {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "## %s\n\n", p.Name)
		for _, t := range p.Tasks {
			mark := markOpen
			switch t.Status {
			case todo.InProgress:
				mark = markWork
			case todo.Completed:
				mark = markDone
			case todo.Abandoned:
				mark = markGone
			}
			fmt.Fprintf(&b, "- %s %s\n", mark, t.Content)
		}
	}
	return b.String()
}

// parseTodos reads headings as phases and items as tasks. Tasks before any heading go
// into a phase "Todos".
func parseTodos(text string) []todo.Phase {
	var phases []todo.Phase
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			phases = append(phases, todo.Phase{Name: strings.TrimSpace(name)})
			continue
		}
		item := strings.TrimSpace(strings.TrimLeft(line, "-*+"))
		if item == line || item == "" {
			continue // no item of a list
		}
		status := todo.Pending
		if len(item) > 3 && item[0] == '[' && item[2] == ']' {
			switch item[1] {
			case 'x', 'X':
				status = todo.Completed
			case '/', '>':
				status = todo.InProgress
			case '-', '~':
				status = todo.Abandoned
			}
			item = strings.TrimSpace(item[3:])
		}
		if len(phases) == 0 {
			phases = append(phases, todo.Phase{Name: "Todos"})
		}
		last := &phases[len(phases)-1]
		last.Tasks = append(last.Tasks, todo.Task{Content: item, Status: status})
	}
	return slices.DeleteFunc(phases, func(p todo.Phase) bool { return len(p.Tasks) == 0 })
}

// appendTodo adds a task to the phase that is named before ":", or to the last one.
func appendTodo(phases []todo.Phase, text string) []todo.Phase {
	name, task, named := strings.Cut(text, ": ")
	if !named {
		name, task = "", text
	}
	i := len(phases) - 1
	if named {
		if i = slices.IndexFunc(phases, func(p todo.Phase) bool { return strings.EqualFold(p.Name, name) }); i < 0 {
			phases = append(phases, todo.Phase{Name: name})
			i = len(phases) - 1
		}
	}
	if i < 0 {
		phases, i = []todo.Phase{{Name: "Todos"}}, 0
	}
	phases[i].Tasks = append(phases[i].Tasks, todo.Task{Content: task, Status: todo.Pending})
	return phases
}

// markTodo changes the one task whose text holds the words.
func markTodo(phases []todo.Phase, verb, words string) ([]todo.Phase, error) {
	var found []*todo.Task
	for i := range phases {
		for k := range phases[i].Tasks {
			t := &phases[i].Tasks[k]
			if strings.EqualFold(t.Content, words) {
				found = []*todo.Task{t}
				break
			}
			if words != "" && strings.Contains(strings.ToLower(t.Content), strings.ToLower(words)) {
				found = append(found, t)
			}
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("no task matches %q", words)
	case len(found) > 1:
		return nil, fmt.Errorf("%q matches %d tasks: write more of it", words, len(found))
	}
	switch verb {
	case "start":
		found[0].Status = todo.InProgress
	case "done":
		found[0].Status = todo.Completed
	case "drop":
		found[0].Status = todo.Abandoned
	case "rm":
		gone := found[0].Content
		for i := range phases {
			phases[i].Tasks = slices.DeleteFunc(phases[i].Tasks, func(t todo.Task) bool { return t.Content == gone })
		}
	}
	return phases, nil
}

// todoCommand shows and changes the list of tasks. The model is told of changes.
func (ts *tasks) todoCommand(args string) {
	s := ts.session
	phases := s.Todos()
	verb, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	if rest == "" && (verb == "export" || verb == "import") {
		rest = "TODO.md"
	}
	var err error
	switch verb {
	case "":
		ts.showTodos(phases)
		return
	case "copy":
		ts.desktop.copy(todoText(phases), "the list")
		return
	case "export":
		if err = os.WriteFile(ts.absolute(rest), []byte(todoText(phases)), 0o600); err == nil {
			ts.notice(card.Info, "Written: "+ts.homePath(ts.absolute(rest)))
		}
	case "import":
		var b []byte
		if b, err = smallfile.Read(ts.absolute(rest), smallfile.Settings); err == nil {
			err = s.SetTodos(parseTodos(string(b)))
		}
	case "edit":
		ts.editTodos(phases)
		return
	case "append", "add":
		err = s.SetTodos(appendTodo(phases, rest))
	case "start", "done", "drop", "rm":
		var changed []todo.Phase
		if changed, err = markTodo(phases, verb, rest); err == nil {
			err = s.SetTodos(changed)
		}
	default:
		err = fmt.Errorf("/todo: unknown argument %q (want edit, copy, export, import, append, start, done, drop or rm)", verb)
	}
	if err != nil {
		ts.sayError(err)
	}
}

func (ts *tasks) showTodos(phases []todo.Phase) {
	if len(phases) == 0 {
		ts.notice(card.Info, "The todo list is empty.")
		return
	}
	ts.talk.say(told, func(v card.View) []string {
		v.Expanded = true
		return card.Todo(phases, v)
	})
}

// editTodos gives the list to the person's own editor.
func (ts *tasks) editTodos(phases []todo.Phase) {
	before := todoText(phases)
	after, err := ts.desktop.outside(before)
	if err == nil && after != before {
		err = ts.session.SetTodos(parseTodos(after))
	}
	if err != nil {
		ts.sayError(err)
	}
}
