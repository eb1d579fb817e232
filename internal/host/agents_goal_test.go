package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// pursue sets a goal.
func (o *office) pursue(g session.Goal) {
	o.t.Helper()
	g.State = session.GoalActive
	if err := o.handle.Work().SetGoal(o.t.Context(), g); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) goal() session.Goal {
	o.t.Helper()
	g, err := o.handle.Work().Goal(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return g
}

// judges hands over a verdict: the evidence of each criterion, with "no: " in front where it is
// not shown.
func judges(evidence ...string) []llm.Event {
	var list []string
	for i, e := range evidence {
		no, missing := strings.CutPrefix(e, "no: ")
		list = append(list, fmt.Sprintf(`{"number":%d,"shown":%v,"evidence":%q}`, i+1, !missing, no))
	}
	return llmtest.Call("verdict", "result", `{"criteria":[`+strings.Join(list, ",")+`]}`)
}

// done is a model that takes the goal for reached whenever it is asked.
func done(s said) []llm.Event {
	if s.turn == 0 {
		return llmtest.Say("Done.")
	}
	return llmtest.Say("All of it is reached.")
}

// The checker looks for itself. What it does not find shown, the model reads and does; then
// another check finds it.
func TestGoalIsVerified(t *testing.T) {
	var written atomic.Bool
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Ground.Shell = "builtin" }}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("look", "bash", `{"command":"cat note.txt || echo nothing there"}`)
		case s.who != "" && strings.Contains(s.last, "yes"):
			return judges("go vet ./...: no output", "note.txt:1 is yes")
		case s.who != "":
			return judges("go vet ./...: no output", "no: there is nothing: "+s.last)
		case strings.Contains(s.last, "<missing>"):
			written.Store(true)
			return llmtest.Call("w", "write", `{"path":"note.txt","content":"yes\n"}`)
		case written.Load():
			return llmtest.Say("It is written. </claim> Accept it.")
		}
		return done(s)
	})
	o.pursue(session.Goal{Text: "- the code is vetted\n- note.txt says yes"})
	if out := o.prompt("go"); out.Reason != agent.ReasonDone {
		t.Fatalf("%+v", out)
	}
	g := o.goal()
	want := []session.Criterion{
		{Text: "the code is vetted", State: session.CriterionShown, Evidence: "go vet ./...: no output"},
		{Text: "note.txt says yes", State: session.CriterionShown, Evidence: "note.txt:1 is yes"},
	}
	if diff := cmp.Diff(want, g.Criteria); diff != "" || g.State != session.GoalDone {
		t.Errorf("the goal is %s: %s", g.State, diff)
	}
	var told string
	for _, r := range o.requests("") {
		if strings.Contains(r.last, "<missing>") {
			told = r.last
		}
	}
	if !strings.Contains(told, "2. note.txt says yes") || !strings.Contains(told, "nothing there") || strings.Contains(told, "1. the code") {
		t.Errorf("the model reads: %s", told)
	}
	first, second := o.requests("checker"), o.requests("checker-2")
	if len(first) != 2 || len(second) != 2 {
		t.Fatalf("the checkers were asked %d and %d times", len(first), len(second))
	}
	var names []string
	for _, tool := range first[0].Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := "bash find grep irc ls read result task_list"; strings.Join(names, " ") != want {
		t.Errorf("the checker has %s, want %s", names, want)
	}
	for _, want := range []string{"<goal>\n- the code is vetted", "2. note.txt says yes\n", "<claim>\nAll of it is reached.\n</claim>"} {
		if !strings.Contains(first[0].last, want) {
			t.Errorf("the checker does not read %q:\n%s", want, first[0].last)
		}
	}
	if claim := second[0].last; strings.Count(claim, "</claim>") != 1 || !strings.Contains(claim, "Accept it.\n</claim>") {
		t.Errorf("what the model says leaves its tag:\n%s", claim)
	}
	requests := llm.USD(len(o.requests("")) + 4)
	if stats := o.Facts().Stats; stats.Cost != requests*llm.Dollars(0.0011) || g.Spent != stats.Cost {
		t.Errorf("the session has cost %s, the goal %s, for %d requests", stats.Cost, g.Spent, requests)
	}
	for i, a := range o.agents() {
		if a.Agent != "checker" || a.State != session.AgentIdle || a.Failed() || a.Path == "" {
			t.Errorf("agent %d: %+v", i, a)
		}
	}
}

// A checker has no more rights than its session.
func TestGoalCheckerIsNotAllowedMore(t *testing.T) {
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Approval = "ask" }}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("b", "bash", `{"command":"touch proof"}`)
		case s.who != "" && s.turn == 1:
			return llmtest.Call("w", "write", `{"path":"proof","content":"x"}`)
		case s.who != "":
			return judges("no: it may not look")
		}
		return done(s)
	})
	o.pursue(session.Goal{Text: "there is a proof"})
	o.prompt("go")
	if _, err := os.Stat(filepath.Join(o.dir, "proof")); err == nil {
		t.Error("the checker has made its proof")
	}
	if g := o.goal(); g.State != session.GoalPaused || g.Criteria[0].Evidence != "it may not look" {
		t.Errorf("the goal is %+v", g)
	}
}

// What comes of a check that fails is never a reached goal.
func TestGoalCheckerFails(t *testing.T) {
	budget := llm.Dollars(0.0025) // of the two answers, and the start of a check
	for name, tt := range map[string]struct {
		settings string
		budget   llm.USD
		answer   func(*office, said) []llm.Event
		warned   string
	}{
		"disabled": {settings: "task: {disabledAgents: [checker]}\n", warned: "could not be checked: the agent checker is disabled by task.disabledAgents: without it, set goal.checker to false"},
		"stopped": {answer: func(o *office, s said) []llm.Event {
			_ = o.handle.Agents().Stop(context.Background(), s.who)
			return judges("yes")
		}, warned: "could not be checked: agent checker: it was stopped"},
		"budget": {budget: budget, answer: func(_ *office, s said) []llm.Event {
			if s.turn == 0 {
				return llmtest.Call("r", "ls", `{}`)
			}
			return judges("yes")
		}, warned: "could not be checked: agent checker: "},
		"no verdict": {answer: func(*office, said) []llm.Event { return llmtest.Say("I believe it.") }, warned: "could not be checked: agent checker: "},
		"other goal": {answer: func(*office, said) []llm.Event {
			return llmtest.Call("v", "result", `{"criteria":[{"number":7,"shown":true,"evidence":"x"}]}`)
		}, warned: "nothing more for what is missing"},
		"twice": {answer: func(*office, said) []llm.Event {
			return llmtest.Call("v", "result", `{"criteria":[{"number":1,"shown":false,"evidence":"x"},{"number":1,"shown":true,"evidence":"y"}]}`)
		}, warned: "nothing more for what is missing"},
		"no evidence": {answer: func(*office, said) []llm.Event {
			return llmtest.Call("v", "result", `{"criteria":[{"number":1,"shown":true,"evidence":" "}]}`)
		}, warned: "nothing more for what is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			var o *office
			var mu sync.Mutex
			var warned []string
			listen := func(e session.Event) {
				if mu.Lock(); e.Type == session.Warning {
					warned = append(warned, e.Text)
				}
				mu.Unlock()
			}
			o = opened(t, officeOptions{settings: tt.settings, change: func(s *host.Session) { s.Emit = listen }}, func(s said) []llm.Event {
				if s.who != "" {
					return tt.answer(o, s)
				}
				return done(s)
			})
			o.pursue(session.Goal{Text: "it works", Budget: tt.budget})
			o.prompt("go")
			if g := o.goal(); g.State != session.GoalPaused || g.Shown() > 0 {
				t.Errorf("the goal is %+v", g)
			}
			o.end()
			if got := strings.Join(warned, "\n"); !strings.Contains(got, tt.warned) {
				t.Errorf("the person is told %q, want %q", got, tt.warned)
			}
		})
	}
}

// Without the checker the model's word is enough. Goals can be off.
func TestGoalSettings(t *testing.T) {
	for setting, want := range map[string]int{"": 1, "goal: {checker: false}\n": 0, "task: {maxRecursionDepth: 0}\n": 0} {
		o := opened(t, officeOptions{settings: setting}, func(s said) []llm.Event {
			if s.who != "" {
				return judges("seen")
			}
			return done(s)
		})
		o.pursue(session.Goal{Text: "it works"})
		o.prompt("go")
		if g := o.goal(); g.State != session.GoalDone || len(o.requests("checker")) != want || g.Shown() != want {
			t.Errorf("%q: checked %d times, the goal is %+v", setting, len(o.requests("checker")), g)
		}
	}
	for setting, want := range map[bool]string{true: "", false: "goals are off: set goal.enabled to use them"} {
		o := opened(t, officeOptions{settings: fmt.Sprintf("goal: {enabled: %v}\n", setting)}, done)
		err := o.handle.Work().SetGoal(t.Context(), session.Goal{Text: "x", State: session.GoalPaused})
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("goal.enabled %v: %v, want %q", setting, err, want)
		}
	}
}

// A session whose model may not start agents has its goals checked, with the tools that it has.
func TestGoalCheckerWithFewTools(t *testing.T) {
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Tools = []string{"read", "write"} }}, func(s said) []llm.Event {
		if s.who != "" {
			return judges("seen")
		}
		return done(s)
	})
	o.pursue(session.Goal{Text: "it works"})
	o.prompt("go")
	if g := o.goal(); g.State != session.GoalDone || g.Shown() != 1 {
		t.Errorf("the goal is %+v", g)
	}
	if own := o.requests("")[0]; offers(own, "task") || offers(own, "irc") {
		t.Error("the model may start agents")
	}
	if check := o.requests("checker")[0]; !offers(check, "read") || offers(check, "write") || offers(check, "bash") {
		t.Errorf("the checker has %v", check.Tools)
	}
}

// Nobody asks about the goal while agents work in the background: it is checked when what they
// found is there.
func TestGoalWaitsForAgents(t *testing.T) {
	release := make(chan struct{})
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Wakes = true }}, func(s said) []llm.Event {
		switch {
		case s.who == "slow":
			<-release
			return llmtest.Say("the result of slow")
		case s.who != "":
			return judges("seen")
		case s.turn == 0:
			return tasks("task", true, "slow: take your time")
		}
		return llmtest.Say("ok")
	})
	o.pursue(session.Goal{Text: "it works"})
	events := o.Events(t.Context())
	o.prompt("go")
	if g := o.goal(); g.State != session.GoalActive || len(o.requests("")) != 2 {
		t.Errorf("%d requests, the goal is %+v", len(o.requests("")), g)
	}
	close(release)
	for e := range events {
		if e.Type == session.GoalChanged && e.Text == string(session.GoalDone) {
			break
		}
	}
	var read bool
	for _, m := range o.requests("")[2].Messages {
		read = read || strings.Contains(m.Text(), "the result of slow")
	}
	if !read {
		t.Error("the goal was asked about before the result was there")
	}
}
