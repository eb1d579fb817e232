package plan

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

//go:embed todo.md
var todoDescription string

// State is the list. A face or a session that goes on takes it from the details
// of the latest result of todo.
type State struct {
	Phases []todo.Phase `json:"phases"`
}

// todoDetails are for faces.
type todoDetails struct {
	State
	Completed []string `json:"completedTasks,omitempty"` // by this call
}

type todoArgs struct {
	Ops []todoOp `json:"ops"`
}

type todoOp struct {
	Op    string     `json:"op"`
	List  []todoList `json:"list,omitempty" jsonschema:"of init"`
	Task  string     `json:"task,omitempty" jsonschema:"exact text"`
	Phase string     `json:"phase,omitempty" jsonschema:"exact name"`
	Items []string   `json:"items,omitempty" jsonschema:"of append"`
}

type todoList struct {
	Phase string   `json:"phase"`
	Items []string `json:"items"`
}

// Restore gives the list that a result of todo left behind, from its details.
func Restore(details json.RawMessage) (State, error) {
	var d todoDetails
	err := json.Unmarshal(details, &d)
	return d.State, err
}

// Limits of a list, so that it stays one that people read. Beyond them an
// operation fails.
const (
	maxPhases = 50
	maxTasks  = 500
)

func newTodo(start State, current func() State, changed func(State)) *tool.Tool {
	l := &list{state: start.clone(), current: current, changed: changed}
	return tool.New(tool.Definition[todoArgs]{
		Name: "todo", Label: "Todo", Description: todoDescription,
		Adjust: func(s *tool.Schema) {
			one := 1
			tool.Property(s, "ops").MinItems = &one
			tool.Property(s, "ops", "op").Enum = []any{"init", "start", "done", "drop", "rm", "append", "view"}
		},
		Access:   func(todoArgs) []tool.Access { return nil },
		Together: func(todoArgs) bool { return false }, // calls change one list, in order
		Run: func(_ context.Context, _ tool.Call, a todoArgs) (*tool.Result, error) {
			return l.run(a.Ops), nil
		},
	})
}

// list is the list of one session.
type list struct {
	current func() State
	changed func(State)

	mu    sync.Mutex
	state State
}

// run applies operations. One that fails is reported and leaves the others be:
// most of a model's update is worth more than none of it.
func (l *list) run(ops []todoOp) *tool.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.state = l.current().clone()
	}
	before := completed(l.state)
	var failed []string
	changed := false
	for i, op := range ops {
		if err := l.apply(op); err != nil {
			failed = append(failed, fmt.Sprintf("op %d (%s): %v", i+1, op.Op, err))
		}
		changed = changed || op.Op != "view"
	}
	if changed {
		l.state.settle()
		if l.changed != nil {
			l.changed(l.state.clone())
		}
	}
	d := todoDetails{State: l.state.clone()}
	for _, c := range completed(l.state) {
		if !slices.Contains(before, c) {
			d.Completed = append(d.Completed, c)
		}
	}
	text := l.state.String()
	if len(failed) > 0 {
		text = "Failed: " + strings.Join(failed, "; ") + "\n\n" + text
	}
	r := tool.Text(text)
	r.IsError = len(failed) > 0
	return r.WithDetails(d)
}

func (l *list) apply(op todoOp) error {
	switch op.Op {
	case "init":
		return l.state.init(op.List)
	case "start":
		return l.state.start(op.Task)
	case "done":
		return l.state.mark(op, todo.Completed)
	case "drop":
		return l.state.mark(op, todo.Abandoned)
	case "rm":
		return l.state.remove(op)
	case "append":
		return l.state.append(op.Phase, op.Items)
	case "view":
		return nil
	}
	return fmt.Errorf("unknown operation %q", op.Op)
}

// Check reports a list that holds more than it may.
func (s State) Check() error {
	n := 0
	for _, p := range s.Phases {
		n += len(p.Tasks)
	}
	switch {
	case n > maxTasks:
		return fmt.Errorf("a list holds %d tasks at most", maxTasks)
	case len(s.Phases) > maxPhases:
		return fmt.Errorf("a list holds %d phases at most", maxPhases)
	}
	return nil
}

func (s *State) init(lists []todoList) error {
	if len(lists) == 0 {
		return errors.New("list is missing")
	}
	fresh := State{}
	for _, l := range lists {
		if slices.ContainsFunc(fresh.Phases, func(p todo.Phase) bool { return p.Name == l.Phase }) {
			return fmt.Errorf("phase %q is listed twice", l.Phase)
		}
		if err := fresh.append(l.Phase, l.Items); err != nil {
			return err
		}
	}
	*s = fresh
	return nil
}

func (s *State) append(phase string, items []string) error {
	if strings.TrimSpace(phase) == "" {
		return errors.New("the name of the phase is missing")
	}
	if len(items) == 0 {
		return errors.New("items are missing")
	}
	n := 0
	for _, p := range s.Phases {
		n += len(p.Tasks)
	}
	if n+len(items) > maxTasks {
		return fmt.Errorf("a list holds %d tasks at most", maxTasks)
	}
	// All or none: half a list would be a wrong one.
	for i, item := range items {
		if strings.TrimSpace(item) == "" {
			return errors.New("an item is empty")
		}
		if s.task(item) != nil || slices.Contains(items[:i], item) {
			return fmt.Errorf("task %q already exists", item)
		}
	}
	i := slices.IndexFunc(s.Phases, func(p todo.Phase) bool { return p.Name == phase })
	if i < 0 {
		if len(s.Phases) == maxPhases {
			return fmt.Errorf("a list holds %d phases at most", maxPhases)
		}
		s.Phases = append(s.Phases, todo.Phase{Name: phase})
		i = len(s.Phases) - 1
	}
	for _, item := range items {
		s.Phases[i].Tasks = append(s.Phases[i].Tasks, todo.Task{Content: item, Status: todo.Pending})
	}
	return nil
}

func (s *State) task(content string) *todo.Task {
	for i := range s.Phases {
		for j := range s.Phases[i].Tasks {
			if t := &s.Phases[i].Tasks[j]; t.Content == content {
				return t
			}
		}
	}
	return nil
}

// find is task with an error that helps.
func (s *State) find(content string) (*todo.Task, error) {
	if content == "" {
		return nil, errors.New("the text of the task is missing")
	}
	if t := s.task(content); t != nil {
		return t, nil
	}
	if len(s.Phases) == 0 {
		return nil, fmt.Errorf("no task %q: the list is empty, start with init", content)
	}
	return nil, fmt.Errorf("no task %q: name it by its exact text", content)
}

func (s *State) phase(name string) (*todo.Phase, error) {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i], nil
		}
	}
	return nil, fmt.Errorf("no phase %q", name)
}

// start puts a task in progress, also one that was done or dropped, and the one
// that was in progress back.
func (s *State) start(content string) error {
	t, err := s.find(content)
	if err != nil {
		return err
	}
	for i := range s.Phases {
		for j := range s.Phases[i].Tasks {
			if other := &s.Phases[i].Tasks[j]; other.Status == todo.InProgress {
				other.Status = todo.Pending
			}
		}
	}
	t.Status = todo.InProgress
	return nil
}

// mark sets a task, the open tasks of a phase, or all open ones.
func (s *State) mark(op todoOp, to todo.Status) error {
	if op.Task != "" {
		t, err := s.find(op.Task)
		if err != nil {
			return err
		}
		t.Status = to
		return nil
	}
	phases := s.Phases
	if op.Phase != "" {
		p, err := s.phase(op.Phase)
		if err != nil {
			return err
		}
		phases = []todo.Phase{*p}
	}
	for _, p := range phases {
		for j := range p.Tasks {
			if p.Tasks[j].Status.Open() {
				p.Tasks[j].Status = to
			}
		}
	}
	return nil
}

func (s *State) remove(op todoOp) error {
	switch {
	case op.Task != "":
		if _, err := s.find(op.Task); err != nil {
			return err
		}
		for i := range s.Phases {
			s.Phases[i].Tasks = slices.DeleteFunc(s.Phases[i].Tasks, func(t todo.Task) bool { return t.Content == op.Task })
		}
	case op.Phase != "":
		p, err := s.phase(op.Phase)
		if err != nil {
			return err
		}
		p.Tasks = nil
	default:
		for i := range s.Phases {
			s.Phases[i].Tasks = nil
		}
	}
	return nil
}

// settle leaves one task in progress: the first that is, else the first pending one.
func (s *State) settle() {
	var first *todo.Task
	running := false
	for i := range s.Phases {
		for j := range s.Phases[i].Tasks {
			switch t := &s.Phases[i].Tasks[j]; {
			case t.Status == todo.InProgress && running:
				t.Status = todo.Pending
			case t.Status == todo.InProgress:
				running = true
			case t.Status == todo.Pending && first == nil:
				first = t
			}
		}
	}
	if !running && first != nil {
		first.Status = todo.InProgress
	}
}

func (s State) clone() State { return State{todo.Clone(s.Phases)} }

// String is the list as the model sees it.
func (s State) String() string {
	total, open := 0, 0
	var b strings.Builder
	for _, p := range s.Phases {
		if len(p.Tasks) == 0 {
			continue
		}
		done := 0
		for _, t := range p.Tasks {
			total++
			if t.Status.Open() {
				open++
			} else {
				done++
			}
		}
		fmt.Fprintf(&b, "%s (%d of %d)\n", p.Name, done, len(p.Tasks))
		for _, t := range p.Tasks {
			fmt.Fprintf(&b, "  %s %s\n", mark(t.Status), t.Content)
		}
	}
	switch {
	case total == 0:
		return "The list is empty."
	case open == 0:
		b.WriteString("Nothing left to do.")
	default:
		fmt.Fprintf(&b, "%d left.", open)
	}
	return b.String()
}

// Unfinished reminds a model that stops of the tasks that are open, in one line; it
// is empty if none is. A session gives it to the model as a further message when a
// run has ended by itself, not by an error, a limit or the user, and lets it go on.
// Of many tasks the first five are named.
func (s State) Unfinished() string {
	const most = 5
	var open []string
	n := 0
	for _, p := range s.Phases {
		for _, t := range p.Tasks {
			if !t.Status.Open() {
				continue
			}
			if n++; n <= most {
				open = append(open, prose.Line(t.Content))
			}
		}
	}
	if n == 0 {
		return ""
	}
	if n > most {
		open = append(open, fmt.Sprintf("and %d more", n-most))
	}
	return fmt.Sprintf("Open in the todo list: %s. Go on with them, mark what is done or no longer wanted, or say what you wait for.", strings.Join(open, "; "))
}

func mark(s todo.Status) string {
	switch s {
	case todo.InProgress:
		return "→"
	case todo.Completed:
		return "✓"
	case todo.Abandoned:
		return "✗"
	}
	return "○"
}

func completed(s State) (all []string) {
	for _, p := range s.Phases {
		for _, t := range p.Tasks {
			if t.Status == todo.Completed {
				all = append(all, t.Content)
			}
		}
	}
	return all
}
