// Package todo holds the list of work that the model and people share: plain data, that
// every face reads and any wire carries.
//
// Who keeps the list, and how the model changes it, is not its matter.
package todo

import "slices"

// Status is how far a task is.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Abandoned  Status = "abandoned"
)

// Open reports whether there is still something to do. A status that is not known, as of a
// newer program, is open.
func (s Status) Open() bool { return s != Completed && s != Abandoned }

// Task is one piece of work, named by its text.
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

// Progress is how many of the tasks are not open, and how many there are.
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

// Clone is a deep copy of a list. In JSON it and the tasks of its phases are lists, empty
// ones too.
func Clone(phases []Phase) []Phase {
	out := make([]Phase, len(phases))
	for i, p := range phases {
		out[i] = Phase{Name: p.Name, Tasks: append([]Task{}, p.Tasks...)}
	}
	return out
}
