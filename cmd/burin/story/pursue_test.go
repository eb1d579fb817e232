package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// A goal has the model go on after it has ended, until it does nothing more.
func TestGoal(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I read it."), call("read", `{"path":"notes.txt"}`), say("The notes are good now."), say("Yes, all of it."), say("It is.")}, func(o *setting) {
		o.files = map[string]string{"notes.txt": "good\n"}
	})
	s.send("/goal pause")
	s.WaitText("No goal yet")
	s.send("/goal the notes are good")
	s.WaitText("has nothing more to do for the goal")
	s.WaitGone("Working")
	s.Golden("goal", s.same())
	if heard := s.heard(-1); strings.Count(heard, "Is all of it reached?") != 2 {
		t.Errorf("the model heard:\n%s", heard)
	}
	s.send("/goal budget 2.50")
	s.WaitText("of $2.50 spent")
	s.send("/goal budget much")
	s.WaitText("A budget is an amount in dollars")
	s.send("/goal resume")
	s.WaitText("It is.")
	s.WaitGone("Working")
	s.send("/goal drop")
	s.WaitText("Goal dropped.")
	s.send("/goal")
	s.WaitText("No goal:")
}

// A loop sends its prompt again until the rounds are over, or someone stops it.
func TestLoop(t *testing.T) {
	t.Parallel()
	stalled := llmtest.Turn{Parts: []llmtest.Part{{Text: "Round four begins. It goes on and on."}}, Fault: llmtest.Fault{StallAfterEvents: 6}}
	s := begin(t, []llmtest.Turn{say("One bug."), say("Two bugs."), say("Three bugs."), stalled})
	s.send("/loop 2 find a bug")
	s.WaitText("The loop is done after 2 rounds of 2.")
	s.sees("Round 1 of 2", "One bug.", "Round 2 of 2", "Two bugs.")
	s.send("/loop /compact")
	s.WaitText("repeats prompts, not commands")
	s.send("/loop find another")
	s.WaitText("Round four")
	s.sees("Round 1 of 10", "Three bugs.", "Round 2 of 10")
	s.Press("esc")
	s.WaitText("The loop has ended after 2 rounds of 10.")
	s.send("/loop stop")
	s.WaitText("No loop is running.")
}

// Between its rounds a loop begins a new session, if that is wanted: the model knows
// nothing of the round before.
func TestLoopResets(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("One bug."), say("Two bugs.")}, func(o *setting) { o.config = "loop: {mode: reset}\n" })
	s.send("/loop 2 find a bug")
	s.WaitText("The loop is done after 2 rounds of 2.")
	if heard := s.heard(-1); strings.Contains(heard, "One bug.") || !strings.Contains(heard, "find a bug") {
		t.Errorf("in the second round the model heard:\n%s", heard)
	}
}

// The first answer to a forced prompt must call the tool.
func TestForce(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("read", `{"path":"notes.txt"}`), say("It is good.")}, func(o *setting) {
		o.files = map[string]string{"notes.txt": "good\n"}
	})
	s.send("/force fly away")
	s.WaitText(`There is no tool "fly"`)
	s.Press("ctrl+c")
	s.send("/force read what do the notes say?")
	s.WaitText("It is good.")
	if choice := s.request(0).ToolChoice; choice.Name != "read" {
		t.Errorf("the tool choice is %+v", choice)
	}
}
