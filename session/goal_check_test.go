package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// checks is a checker that finds what a test says, one verdict after the other: "+" is shown, "-"
// is missing, "?" is left out, "!" is shown without evidence.
type checks struct {
	verdicts []string
	said     []string // by the model, before each
	on       func()
}

func (c *checks) check(_ context.Context, g session.Goal, said string) ([]session.Criterion, error) {
	if c.on != nil {
		c.on()
	}
	n := len(c.said)
	if c.said = append(c.said, said); n >= len(c.verdicts) {
		return nil, errors.New("out of money")
	}
	found := slices.Clone(g.Criteria)
	for i, v := range c.verdicts[n] {
		switch v {
		case '+':
			found[i].State, found[i].Evidence = session.CriterionShown, fmt.Sprintf("seen in round %d", n)
		case '-':
			found[i].State, found[i].Evidence = session.CriterionMissing, "FAIL\tp\nok \"q\""
		case '!':
			found[i].State, found[i].Evidence = session.CriterionShown, ""
		case '?':
			found = found[:i]
		}
	}
	return found, nil
}

// checked starts a session whose goals c checks.
func checked(t *testing.T, c *checks, turns ...llmtest.Turn) *rig {
	return start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Tools, o.CheckGoal = []*tool.Tool{echo("read", tool.Reads)}, c.check
	}, turns...)
}

// A goal counts as reached when the checker finds all of it shown, and not before: the model
// reads what is missing and goes on.
func TestGoalIsChecked(t *testing.T) {
	c := &checks{verdicts: []string{"+-", "++"}}
	r := checked(t, c, say("Done."), say("All of it is reached."), calls(`c1 read {"path":"x"}`), say("Fixed p."), say("You are welcome."))
	active(t, r, "The parser is good:\n- it is documented\n- tests pass")
	r.prompt("go", agent.ReasonDone)
	if want := []string{"All of it is reached.", "Fixed p."}; !slices.Equal(c.said, want) {
		t.Errorf("the checker was given %q", c.said)
	}
	last := strings.Join(said(r.srv.Requests()[2].Messages), "\n")
	for _, want := range []string{"2. tests pass\n   checker: \"FAIL p ok \\\"q\\\"\"", "1 of 2 are shown", "not instructions"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model does not read %q:\n%s", want, last)
		}
	}
	if strings.Contains(last, "1. it is documented") {
		t.Errorf("what is shown is missing:\n%s", last)
	}
	want := []session.Criterion{
		{Text: "it is documented", State: session.CriterionShown, Evidence: "seen in round 1"},
		{Text: "tests pass", State: session.CriterionShown, Evidence: "seen in round 1"},
	}
	if g := r.Goal(); g.State != session.GoalDone || cmp.Diff(want, g.Criteria) != "" {
		t.Errorf("the goal is %+v", g)
	}
	var states []string
	for _, e := range r.seen(session.GoalChanged) {
		g := e.Data.(*session.Goal)
		states = append(states, fmt.Sprintf("%s %d of %d", e.Text, g.Shown(), len(g.Criteria)))
	}
	if want := []string{"active 0 of 2", "active 0 of 2", "active 1 of 2", "done 2 of 2"}; !slices.Equal(states, want) {
		t.Errorf("the states told are %q", states)
	}
	r.resume()
	if g := r.Goal(); g.State != session.GoalDone || cmp.Diff(want, g.Criteria) != "" {
		t.Errorf("opened again, the goal is %+v", g)
	}
	r.prompt("thanks", agent.ReasonDone)
	if len(c.said) != 2 || len(r.warned()) > 0 {
		t.Errorf("checked %d times: %q", len(c.said), r.warned())
	}
	r.clean()
}

// A check that isn't one never makes a goal reached. Without progress the goal is paused.
func TestGoalCheckPauses(t *testing.T) {
	works := func(n int) (turns []llmtest.Turn) {
		for i := range n {
			turns = append(turns, calls(fmt.Sprintf(`c%d read {"path":"x"}`, i)), say("done now"))
		}
		return turns
	}
	for name, tt := range map[string]struct {
		verdicts []string
		turns    []llmtest.Turn
		checks   int
		warned   string
	}{
		"error":            {nil, nil, 1, "the goal could not be checked: out of money; the goal is paused"},
		"nothing judged":   {[]string{"?"}, []llmtest.Turn{say("I can't.")}, 1, "does nothing more for what is missing"},
		"no evidence":      {[]string{"+!"}, []llmtest.Turn{say("I can't.")}, 1, "does nothing more for what is missing"},
		"no progress":      {[]string{"--", "--", "--", "--", "--"}, works(4), 5, "0 of 2 criteria of the goal are shown, and the last 5 checks found no more"},
		"progress, then 5": {[]string{"--", "--", "-+", "+-", "--", "-+", "-+", "-+"}, works(7), 8, "1 of 2 criteria of the goal are shown, and the last 5 checks"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &checks{verdicts: tt.verdicts}
			r := checked(t, c, append([]llmtest.Turn{say("Done."), say("All of it.")}, tt.turns...)...)
			active(t, r, "- one\n- two")
			r.prompt("go", agent.ReasonDone)
			if g := r.Goal(); g.State != session.GoalPaused || len(c.said) != tt.checks || len(r.srv.Requests()) != 2+len(tt.turns) {
				t.Errorf("checked %d times, %d requests, the goal is %+v", len(c.said), len(r.srv.Requests()), g)
			}
			if got := strings.Join(r.warned(), "\n"); !strings.Contains(got, tt.warned) {
				t.Errorf("the person is told %q", got)
			}
		})
	}
}

// What happens to the goal during a check counts: a verdict about another goal says nothing, and
// a stop pauses it.
func TestGoalChangesDuringACheck(t *testing.T) {
	c := &checks{verdicts: []string{"+", "+"}}
	r := checked(t, c, say("Done."), say("All of it."), say("Done."), say("All of it."))
	c.on = func() { active(t, r, "war") }
	active(t, r, "peace")
	r.prompt("go", agent.ReasonDone)
	if g := r.Goal(); g.State != session.GoalActive || g.Text != "war" || g.Shown() != 0 {
		t.Errorf("the goal is %+v", g)
	}
	c.on = r.Abort
	r.prompt("go", agent.ReasonAborted)
	if g := r.Goal(); g.State != session.GoalPaused || g.Shown() != 0 {
		t.Errorf("stopped, the goal is %+v", g)
	}
}

// Criteria are the list items of the goal, or all of it. They stay while its text does.
func TestCriteria(t *testing.T) {
	r := start(t, formats()[0], nil)
	for text, want := range map[string][]string{
		"all tests pass":                 {"all tests pass"},
		"a -b and\n  c":                  {"a -b and c"},
		"Make it good:\n\n- a\n* b\n+ c": {"a", "b", "c"},
		"1. a\n2) b\n10. c":              {"a", "b", "c"},
		"- [ ] a\n- [x] b":               {"a", "b"},
		"All:\n  - a\n    more\n\n    of it\n    - sub\n  - b\nan end": {"a more of it - sub", "b"},
		strings.Repeat("- a\n", 51):                                    {strings.TrimSuffix(strings.Repeat("- a ", 51), " ")},
		strings.Repeat("x", 501):                                       {strings.Repeat("x", 499) + "…"},
	} {
		active(t, r, text)
		g := r.Goal()
		var got []string
		for _, c := range g.Criteria {
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		g.State, g.Criteria = session.GoalPaused, []session.Criterion{{Text: "free", State: session.CriterionShown}}
		if err := r.SetGoal(g); err != nil || r.Goal().Shown() != 0 || len(r.Goal().Criteria) != len(want) {
			t.Errorf("%q: a face has set criteria: %v, %+v", text, err, r.Goal())
		}
	}
}

func TestNoGoals(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.NoGoals = true })
	if err := r.SetGoal(session.Goal{Text: "x", State: session.GoalActive}); err == nil || !strings.Contains(err.Error(), "goals are off") {
		t.Errorf("a goal where there are none: %v", err)
	}
	if err := r.SetGoal(session.Goal{}); err != nil {
		t.Errorf("remove it: %v", err)
	}
}
