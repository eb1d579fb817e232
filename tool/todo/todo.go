// Package todo holds the list of todos that the model and the user share, as plain data that
// every face reads and any transport carries.
//
// It neither stores the list nor lets the model change it.
package todo

import "slices"

// Status is the state of a task.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Abandoned  Status = "abandoned"
)

// Open reports whether there is still something to do. An unknown status, such as one of a
// newer program, is open.
func (s Status) Open() bool { return s != Completed && s != Abandoned }

// Task is one piece of work. Its text is its name.
type Task struct {
	Content string `json:"content"`
	Status  Status `json:"status"`
}

// Phase is a group of tasks.
type Phase struct {
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
}

// Active reports whether a task of the phase is in progress.
func (p *Phase) Active() bool {
	return slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Status == InProgress })
}

// Progress returns how many tasks are not open, and how many there are.
func Progress(phases []Phase) (done, all int) {
	for _, p := range phases {
		all += len(p.Tasks)
		for _, t := range p.Tasks {
			if !t.Status.Open() {
				done++
			}
		}
	}
	return done, all
}

// Clone returns a deep copy of a list. It and the tasks of its phases are never nil, so that
// their JSON is a list.
func Clone(phases []Phase) []Phase {
	out := make([]Phase, len(phases))
	for i, p := range phases {
		out[i] = Phase{Name: p.Name, Tasks: append([]Task{}, p.Tasks...)}
	}
	return out
}
