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

// CustomGoal is the kind of a message that asks the model whether the goal is reached,
// and of the entries that hold the goal.
const CustomGoal = "burin.goal"

// maxGoalChecks is how often the model is asked for one prompt; then the goal is paused.
const maxGoalChecks = 50

// Goal is what a session is to bring about, over as many requests as it takes. While it
// is active, a model that has come to an end by itself is asked whether the goal is
// reached, and goes on until it has nothing more to do for it. A compaction keeps the goal
// word for word.
type Goal struct {
	Text   string    `json:"text"` // in the person's words; "" is no goal
	State  GoalState `json:"state,omitempty"`
	Budget llm.USD   `json:"budget,omitempty"` // what may be spent while it is active; 0 is no limit
	Spent  llm.USD   `json:"spent,omitempty"`  // while it was active; estimates of what vendors did not say included
}

// GoalState is how far a goal is.
type GoalState string

const (
	GoalActive GoalState = "active"
	GoalPaused GoalState = "paused" // nobody asks about it; it is kept word for word
	GoalDone   GoalState = "done"   // asked about it, the model did nothing more: it is reached, or needs a person
)

// Goal is the goal of this branch.
func (s *Session) Goal() Goal {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.goal
	g.Spent = s.goalSpent()
	return g
}

// goalSpent is what was spent on the goal. The caller holds mu.
func (s *Session) goalSpent() llm.USD {
	if s.goal.State != GoalActive {
		return s.goal.Spent
	}
	return s.goal.Spent + s.spent + s.guessed - s.goalSince
}

// SetGoal changes the goal: its words, whether it is active, its budget. What was spent is
// counted on for as long as the words are the same. A goal without words is none. A goal
// that was active when its session was closed is paused when that is opened again.
func (s *Session) SetGoal(g Goal) error {
	g.Text = strings.TrimSpace(s.hide(g.Text))
	switch {
	case g.Text == "":
		g = Goal{}
	case g.State != GoalActive && g.State != GoalPaused && g.State != GoalDone:
		return fmt.Errorf("a goal is active, paused or done, not %q", g.State)
	case g.Budget < 0:
		return errors.New("a budget is more than nothing")
	case g.Budget > 0 && !s.Model().Price.Known():
		return unpriced(s.Model())
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	now := s.Goal()
	g.Spent = 0
	if g.Text == now.Text {
		g.Spent = now.Spent
	} else if k := s.keep(); g.Text != "" {
		k.Pinned = k.pins // without the goal that there was
		if err := s.room(k, g.Text); err != nil {
			return fmt.Errorf("the goal cannot be kept: %w", err)
		}
	}
	s.setGoal(g)
	return nil
}

// setGoal writes a goal down and tells faces. The caller holds keeping.
func (s *Session) setGoal(g Goal) {
	s.mu.Lock()
	s.goal, s.goalSince = g, s.spent+s.guessed
	s.mu.Unlock()
	data, err := json.Marshal(g)
	if err != nil {
		s.warn("the goal is not kept: " + err.Error())
		return
	}
	s.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomGoal, Data: data})
	s.hub.emit(Event{Event: agent.Event{Type: GoalChanged}, Text: string(g.State)})
}

// restoreGoal takes up the goal of the branch. Nothing goes on by itself with it, and
// spends money, because a session was opened.
func (s *Session) restoreGoal() {
	g := s.keep().goal
	if g.State == GoalActive {
		g.State = GoalPaused
	}
	s.mu.Lock()
	s.goal = g
	s.mu.Unlock()
}

// overGoal is an error if the goal has no money left. The caller holds mu.
func (s *Session) overGoal() error {
	if s.goal.State != GoalActive || s.goal.Budget == 0 || s.goalSpent() < s.goal.Budget {
		return nil
	}
	return fmt.Errorf("%w: %s of %s spent", ErrGoalBudget, s.goalSpent(), s.goal.Budget)
}

// pursue lets a model that ended by itself go on until nothing is left to do for the goal.
func (s *Session) pursue(ctx context.Context, out agent.Outcome) agent.Outcome {
	for n := 0; ; n++ {
		switch {
		case out.Reason == agent.ReasonAborted, errors.Is(out.Err, ErrBudget):
			s.turnGoal(GoalActive, GoalPaused)
			return out
		case out.Reason != agent.ReasonDone, s.agent.Exhausted(), handedOver(out.Messages):
			return out // it is asked with the next prompt
		case n == maxGoalChecks:
			if s.turnGoal(GoalActive, GoalPaused) {
				s.warn(fmt.Sprintf("the model was asked %d times whether the goal is reached, and went on each time; the goal is paused", n))
			}
			return out
		case !s.turnGoal(GoalActive, GoalActive): // what was spent so far outlives a crash
			return out
		}
		next := s.remind(ctx, s.runOn(ctx, llm.Message{
			Role: llm.RoleCustom, CustomType: CustomGoal, Time: s.o.Now(), Content: []llm.Block{llm.Text{Text: fmt.Sprintf(goalWords, s.Goal().Text)}},
		}))
		out = join(out, next)
		if next.Reason == agent.ReasonDone && !worked(next.Messages) {
			s.turnGoal(GoalActive, GoalDone)
			return out
		}
	}
}

// turnGoal changes the state of the goal, if that is still from.
func (s *Session) turnGoal(from, to GoalState) bool {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	g := s.Goal()
	if g.State != from {
		return false
	}
	g.State = to
	s.setGoal(g)
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
