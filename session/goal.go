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

// CustomGoal is the custom type of a message that asks the model whether the goal is reached,
// and of the entries that store the goal.
const CustomGoal = "burin.goal"

// maxGoalChecks is how many times the model is asked per prompt; then the goal is paused.
const maxGoalChecks = 50

// Goal is what a session works toward, with as many requests as it takes. While it is active,
// a model that has stopped by itself is asked whether the goal is reached, and continues until
// it has nothing more to do for it. A compaction keeps the goal word for word.
type Goal struct {
	Text   string    `json:"text"` // in the user's words; "" means no goal
	State  GoalState `json:"state,omitempty"`
	Budget llm.USD   `json:"budget,omitempty"` // what may be spent while the goal is active; 0 is no limit
	Spent  llm.USD   `json:"spent,omitempty"`  // while the goal was active, including estimates of what providers did not report
}

// GoalState is the state of a goal.
type GoalState string

const (
	GoalActive GoalState = "active"
	GoalPaused GoalState = "paused" // nobody asks about it; compactions still keep it
	GoalDone   GoalState = "done"   // when asked about it, the model did nothing more: the goal is reached, or needs the user
)

// Goal returns the goal of this branch.
func (w *work) Goal(context.Context) (Goal, error) { return w.current(), nil }

// current returns the goal, with what it has cost so far.
func (w *work) current() Goal {
	total := w.total()
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.goal
	if g.State == GoalActive {
		g.Spent += max(0, total-w.goalSince)
	}
	return g
}

// SetGoal changes the text of the goal, its state or its budget. What was spent keeps adding
// up while the text stays the same. A goal without text removes it. A goal that was active
// when its session was closed is paused when the session is opened again.
func (w *work) SetGoal(_ context.Context, g Goal) error {
	g.Text = strings.TrimSpace(w.redactor.hide(g.Text))
	switch {
	case g.Text == "":
		g = Goal{}
	case g.State != GoalActive && g.State != GoalPaused && g.State != GoalDone:
		return fmt.Errorf("unknown goal state %q (want active, paused or done)", g.State)
	case g.Budget < 0:
		return errors.New("a budget must be positive")
	case g.Budget > 0 && !w.modelState.model().Price.Known():
		return unpriced(w.modelState.model())
	}
	w.keeping.Lock()
	defer w.keeping.Unlock()
	now := w.current()
	g.Spent = 0
	if g.Text == now.Text {
		g.Spent = now.Spent
	} else if k := w.keep(); g.Text != "" {
		k.Pinned = k.pins // without the previous goal
		if err := w.room(k, g.Text); err != nil {
			return fmt.Errorf("save the goal: %w", err)
		}
	}
	w.setGoal(g)
	return nil
}

// setGoal records a goal and tells faces. The caller holds keeping.
func (w *work) setGoal(g Goal) {
	total := w.total()
	w.mu.Lock()
	w.goal, w.goalSince = g, total
	w.mu.Unlock()
	data, err := json.Marshal(g)
	if err != nil {
		w.rec.warn("the goal was not saved: " + err.Error())
		return
	}
	w.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomGoal, Data: data})
	w.rec.emit(Event{Event: agent.Event{Type: GoalChanged}, Text: string(g.State), Data: &g})
}

// restoreGoal restores the goal of the branch. Opening a session must not spend money, so the
// goal is paused.
func (w *work) restoreGoal() {
	g := w.keep().goal
	if g.State == GoalActive {
		g.State = GoalPaused
	}
	w.mu.Lock()
	w.goal = g
	w.mu.Unlock()
}

// overGoal returns an error if the goal's budget is used up.
func (w *work) overGoal() error {
	g := w.current()
	if g.State != GoalActive || g.Budget == 0 || g.Spent < g.Budget {
		return nil
	}
	return fmt.Errorf("%w: %s of %s spent", ErrGoalBudget, g.Spent, g.Budget)
}

// budgeted reports whether the goal has a budget.
func (w *work) budgeted() bool {
	g := w.current()
	return g.State == GoalActive && g.Budget > 0
}

// pursue is the link that asks whether the goal is reached, until nothing is left to do for
// it.
func (w *work) pursue(_ context.Context, e Ending) (*Onward, error) {
	switch {
	case e.Times > 0 && !worked(e.Since):
		w.turnGoal(GoalActive, GoalDone)
		return nil, nil
	case e.Times == maxGoalChecks:
		if w.turnGoal(GoalActive, GoalPaused) {
			w.rec.warn(fmt.Sprintf("the model was asked %d times whether the goal is reached and kept working each time; the goal is paused", e.Times))
		}
		return nil, nil
	case !w.turnGoal(GoalActive, GoalActive): // the amount spent so far survives a crash
		return nil, nil
	}
	return say(fmt.Sprintf(goalWords, w.current().Text)), nil
}

// endGoal pauses the goal of a prompt that was stopped, or that has used up its budget.
func (w *work) endGoal(out agent.Outcome) {
	if out.Reason == agent.ReasonAborted || errors.Is(out.Err, ErrBudget) {
		w.turnGoal(GoalActive, GoalPaused)
	}
}

// turnGoal changes the state of the goal if it is still from.
func (w *work) turnGoal(from, to GoalState) bool {
	w.keeping.Lock()
	defer w.keeping.Unlock()
	g := w.current()
	if g.State != from {
		return false
	}
	g.State = to
	w.setGoal(g)
	return true
}

const goalWords = `You have come to an end. The goal is:
<goal>
%s
</goal>
Is all of it reached? Go by what there is now, not by what was said: look, run the checks. If something is left that you can do, do it now. If all of it is reached, or you cannot go on without a person, say so in a sentence or two, with what shows it, and call no tool.`

// worked reports whether the model called a tool.
func worked(messages []llm.Message) bool {
	for i := range messages {
		if messages[i].Role == llm.RoleToolResult {
			return true
		}
	}
	return false
}
