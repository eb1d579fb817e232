package story_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// judges is the verdict of a checker: the evidence of each criterion, with "+" in front where it
// is shown, else "-".
func judges(evidence ...string) llmtest.Turn {
	var list []string
	for i, e := range evidence {
		list = append(list, fmt.Sprintf(`{"number":%d,"shown":%v,"evidence":%q}`, i+1, e[0] == '+', e[1:]))
	}
	return call("result", `{"criteria":[`+strings.Join(list, ",")+`]}`)
}

// A goal has the model go on after it has ended, until it does nothing more and the checker
// finds it shown.
func TestGoal(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		say("I read it."), say("All of it is reached."), judges("-notes.txt was not read"), call("read", `{"path":"notes.txt"}`), say("The notes are good now."),
		judges("+notes.txt:1 is good"), say("It is."), say("Still."), judges("+notes.txt:1 is good still"),
	}, func(o *setting) {
		o.files = map[string]string{"notes.txt": "good\n"}
	})
	s.send("/goal the notes are good")
	s.WaitText("The goal is reached: 1 of 1 shown.")
	s.WaitGone("Working")
	s.sees("asked whether the goal is reached", "All of it is reached.", "The goal is not reached yet, 0 of 1 shown. Missing:", "the notes are good — notes.txt was not read", "Read  notes.txt", "The notes are good now.")
	for n, want := range map[int]string{2: "Check whether this goal is reached", 3: "checker: \"notes.txt was not read\"", 5: "The notes are good now.\n</claim>"} {
		if heard := s.heard(n); !strings.Contains(heard, want) {
			t.Errorf("request %d does not have %q:\n%s", n, want, heard)
		}
	}
	s.send("/goal")
	s.WaitText("shown: the notes are good — notes.txt:1 is good")
	s.send("/goal budget 2.50")
	s.WaitText("of $2.50 spent")
	s.send("/goal budget much")
	s.WaitText("A budget is an amount in dollars")
	s.send("/goal resume")
	s.WaitText("Still.")
	s.WaitText("The goal is reached: 1 of 1 shown.")
	s.WaitGone("Working")
	s.send("/goal show")
	s.WaitText("notes.txt:1 is good still")
	s.send("/goal drop")
	s.WaitText("Goal dropped.")
	s.send("/goal")
	s.WaitText("No goal:")
	s.send("/goal pause")
	s.WaitText("No goal yet")
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
	pacetest.Costly(t)
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
