// Package plan holds the tools a model plans with: todo, a list of work that the
// user sees; ask, which puts questions to the user; exit_plan, which hands over the plan that
// plan mode leads to; and checkpoint and rewind, with which an exploration leaves only a report.
package plan

import "github.com/burin-dev/burin/tool"

// Options of the tools.
type Options struct {
	Asker Asker // who puts questions to a person; nil: ask is not offered
	// Reviewer is who has a person review plans; nil: exit_plan is not offered.
	Reviewer Reviewer
	// Rewinder is where the model sets checkpoints; nil: checkpoint and rewind are not offered.
	Rewinder Rewinder
	Todo     State // the list to begin with, of a session that goes on
	// Changed is told of each new state of the list; nil tells nobody.
	Changed func(State)
	// Current is asked for the list before each call of the model's, where someone
	// else changes it too; nil: nobody does.
	Current func() State
}

// New makes the tools.
func New(o Options) []*tool.Tool {
	tools := []*tool.Tool{newTodo(o.Todo, o.Current, o.Changed)}
	if o.Asker != nil {
		tools = append(tools, newAsk(o.Asker))
	}
	if o.Reviewer != nil {
		tools = append(tools, newExit(o.Reviewer))
	}
	if o.Rewinder != nil {
		tools = append(tools, newCheckpoint(o.Rewinder), newRewind(o.Rewinder))
	}
	return tools
}
