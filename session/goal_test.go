package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// asked is how often the model was asked whether the goal is reached.
func asked(r *rig) (n int) {
	for _, m := range r.Messages() {
		if m.CustomType == session.CustomGoal {
			n++
		}
	}
	return n
}

func active(t *testing.T, r *rig, text string) {
	t.Helper()
	if err := r.SetGoal(session.Goal{Text: text, State: session.GoalActive}); err != nil {
		t.Fatal(err)
	}
}

// While there is a goal, a model that ends goes on until it does nothing more.
func TestGoal(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads)} },
		say("I think so."), calls(`c1 read {"path":"x"}`), say("One was left."), say("All tests pass."), say("You are welcome."))
	active(t, r, "all tests pass")
	out := r.prompt("go", agent.ReasonDone)
	if got := said(out.Messages); asked(r) != 2 || got[len(got)-1] != "assistant: All tests pass." || out.Turns != 4 {
		t.Errorf("asked %d times, %d turns: %q", asked(r), out.Turns, got)
	}
	if g := r.Goal(); g.State != session.GoalDone || g.Text != "all tests pass" {
		t.Errorf("the goal is %+v", g)
	}
	var states []string
	for _, e := range r.seen(session.GoalChanged) {
		states = append(states, e.Text)
	}
	if want := []string{"active", "active", "active", "done"}; !slices.Equal(states, want) {
		t.Errorf("the states told are %q", states)
	}
	requests := r.srv.Requests()
	if last := said(requests[2].Messages); !strings.Contains(strings.Join(last, "\n"), "<goal>\nall tests pass\n</goal>") {
		t.Errorf("it was asked: %q", last)
	}
	r.prompt("thanks", agent.ReasonDone) // nobody asks about a goal that is done
	if n := asked(r); n != 2 {
		t.Errorf("asked %d times", n)
	}
	r.clean()
}

// Who stops the model stops the goal. A session that is opened goes on with nothing.
func TestGoalPauses(t *testing.T) {
	stalled := llmtest.Turn{Parts: []llmtest.Part{{Text: "a b c d e f g h i j"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}
	r := start(t, formats()[0], nil, stalled, say("ok"), say("yes"), say("ok"))
	active(t, r, "peace")
	r.stopped("go")
	if g := r.Goal(); g.State != session.GoalPaused {
		t.Errorf("stopped, the goal is %s", g.State)
	}
	g := r.Goal()
	g.State = session.GoalActive
	if err := r.SetGoal(g); err != nil {
		t.Fatal(err)
	}
	r.prompt("go on", agent.ReasonDone)
	if g := r.Goal(); asked(r) != 1 || g.State != session.GoalDone {
		t.Errorf("asked %d times, the goal is %s", asked(r), g.State)
	}
	spent := r.Goal().Spent
	r.resume()
	if now := r.Goal(); now.State != session.GoalDone || now.Text != "peace" || now.Spent != spent || spent == 0 {
		t.Errorf("opened again, the goal is %+v", now)
	}
	active(t, r, "war")
	r.resume()
	if now := r.Goal(); now.State != session.GoalPaused || now.Text != "war" || now.Spent != 0 {
		t.Errorf("opened again, the other goal is %+v", now)
	}
	r.prompt("hello", agent.ReasonDone)
	if n := asked(r); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// What is spent on a goal is counted, over pauses and processes, and nothing goes out
// when there is nothing left.
func TestGoalBudget(t *testing.T) {
	dear := func() llmtest.Turn { // 1.5 dollars
		turn := calls(`c1 read {"path":"x"}`)
		turn.Events = llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 10, Output: 100_000})
		return turn
	}
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads)} },
		dear(), say("ok"), dear(), dear(), dear())
	r.prompt("before", agent.ReasonDone)
	if err := r.SetGoal(session.Goal{Text: "peace", State: session.GoalActive, Budget: llm.Dollars(2)}); err != nil {
		t.Fatal(err)
	}
	out := r.prompt("go", agent.ReasonRefused)
	if !errors.Is(out.Err, session.ErrBudget) || !strings.Contains(out.Err.Error(), "for the goal: $3.00 of $2.00 spent") || len(r.srv.Requests()) != 4 {
		t.Errorf("%d requests, %v", len(r.srv.Requests()), out.Err)
	}
	if g := r.Goal(); g.State != session.GoalPaused {
		t.Errorf("without money the goal is %s", g.State)
	}
	r.resume()
	g := r.Goal()
	if g.State = session.GoalActive; r.SetGoal(g) != nil || g.Spent < llm.Dollars(3) {
		t.Errorf("the goal is %+v", g)
	}
	if out := r.prompt("go on", agent.ReasonRefused); !errors.Is(out.Err, session.ErrBudget) || len(r.srv.Requests()) != 4 {
		t.Errorf("opened again: %d requests, %v", len(r.srv.Requests()), out.Err)
	}
}

// The goal passes a compaction word for word, and is gone with the next one when it was
// dropped.
func TestGoalIsKept(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Compaction = small() },
		brain(40, func(int) string { return "SUMMARY" }, say("ok"))...)
	active(t, r, "no test is red")
	r.prompt("first", agent.ReasonDone)
	r.prompt(long(900), agent.ReasonDone)
	if got := condensed(t, r); !strings.Contains(got, "no test is red") || !strings.Contains(got, "first") {
		t.Errorf("the summary has not the goal: %s", got)
	}
	if got := r.Pins(); len(got) != 0 {
		t.Errorf("the goal is pinned: %q", got)
	}
	if err := r.SetGoal(session.Goal{}); err != nil {
		t.Fatal(err)
	}
	r.resume()
	if g := r.Goal(); g.Text != "" {
		t.Errorf("dropped, the goal is %+v", g)
	}
	r.prompt(long(900), agent.ReasonDone)
	if got := condensed(t, r); strings.Contains(got, "no test is red") {
		t.Errorf("the summary has the goal that was dropped: %s", got)
	}
}

func TestGoalRefused(t *testing.T) {
	r := start(t, formats()[0], nil)
	for _, tt := range []struct {
		goal session.Goal
		want string
	}{
		{session.Goal{Text: "x"}, "active, paused or done"},
		{session.Goal{Text: "x", State: session.GoalActive, Budget: -1}, "must be positive"},
		{session.Goal{Text: strings.Repeat("goal ", 60_000), State: session.GoalActive}, "save the goal"},
	} {
		if err := r.SetGoal(tt.goal); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40v: %v, want %q", tt.goal, err, tt.want)
		}
	}
	if g := r.Goal(); g.Text != "" {
		t.Errorf("the goal is %+v", g)
	}
	free := formats()[0]
	free.model.Price = llm.Price{}
	r = start(t, free, nil)
	if err := r.SetGoal(session.Goal{Text: "x", State: session.GoalActive, Budget: 1}); err == nil || !strings.Contains(err.Error(), "price") {
		t.Errorf("a budget for a model without a price: %v", err)
	}
}

// The first answer must call the tool that is forced; the answers after it need not.
func TestForce(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads)} },
		calls(`c1 read {"path":"x"}`), say("ok"), say("ok"))
	if err := r.Tools().Force(t.Context(), "write"); err == nil || !strings.Contains(err.Error(), `no tool "write"; there are read`) {
		t.Errorf("a tool that is not there: %v", err)
	}
	if err := r.Tools().Force(t.Context(), "read"); err != nil {
		t.Fatal(err)
	}
	r.prompt("go", agent.ReasonDone)
	r.prompt("go on", agent.ReasonDone)
	var forced []string
	for _, request := range r.srv.Requests() {
		forced = append(forced, request.ToolChoice.Name)
	}
	if want := []string{"read", "", ""}; !slices.Equal(forced, want) {
		t.Errorf("forced were %q, want %q", forced, want)
	}
}

// A model that never comes to an end is not asked for ever.
func TestGoalEnds(t *testing.T) {
	var turns []llmtest.Turn
	for i := range 60 {
		turns = append(turns, calls(fmt.Sprintf(`c%d read {"path":"%d"}`, i, i)), say("one more"))
	}
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads)} }, turns...)
	active(t, r, "everything")
	r.prompt("go", agent.ReasonDone)
	if n, g := asked(r), r.Goal(); n != 50 || g.State != session.GoalPaused {
		t.Errorf("asked %d times, the goal is %s", n, g.State)
	}
	if warned := strings.Join(r.warned(), "\n"); !strings.Contains(warned, "asked 50 times whether the goal is reached") {
		t.Errorf("the person is told: %s", warned)
	}
}

// A large first prompt leaves room for a goal, and a goal for one that takes its place.
func TestGoalBesideALargePrompt(t *testing.T) {
	r := start(t, formats()[0], nil, say("ok"))
	r.prompt(strings.Repeat("a log of the past ", 20_000), agent.ReasonDone) // 360 KB
	active(t, r, "peace")
	for _, words := range []string{"one ", "two "} {
		active(t, r, strings.Repeat(words, 40_000)) // 160 KB
	}
	if err := r.Pin(strings.Repeat("rule ", 40_000)); err == nil {
		t.Error("a pin has room beside a goal that has most of it")
	}
}
