package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Esc twice opens the tree. A prompt that is chosen there can be changed and sent
// again; what followed it stays in a branch of its own.
func TestTree(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Blue, by scattering."), say("Four."), say("Red, by scattering.")})
	s.send("why is the sky blue?")
	s.WaitText("Blue, by scattering.")
	s.WaitGone("Working")
	s.send("two and two?")
	s.WaitText("Four.")
	s.WaitGone("Working")
	s.Press("esc", "esc")
	s.WaitText("Session tree")
	s.Press("up", "up", "up", "enter")
	s.WaitText("› why is the sky blue?")
	s.Press("backspace", "backspace", "backspace", "backspace", "backspace")
	s.Type("red?\n")
	s.WaitText("Red, by scattering.")
	heard := s.heard(-1)
	if !strings.Contains(heard, "why is the sky red?") || strings.Contains(heard, "blue") || strings.Contains(heard, "Four") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Who leaves a branch may take a summary of it along, which the model writes.
func TestBranchSummary(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Blue, by scattering."), say("Four."), say("THE-SUMMARY of sums."), say("Red.")},
		func(o *setting) { o.config = "branchSummary: {enabled: true}\n" })
	s.send("why is the sky blue?")
	s.WaitText("Blue, by scattering.")
	s.WaitGone("Working")
	s.send("two and two?")
	s.WaitText("Four.")
	s.WaitGone("Working")
	s.Press("esc", "esc")
	s.WaitText("Session tree")
	s.Press("up", "up", "enter") // the first answer
	s.WaitText("ummar")
	s.Golden("tree-summary", s.same())
	s.Press("down", "enter")
	s.WaitText("Summary of another branch")
	s.send("go on")
	s.WaitText("Red.")
	if heard := s.heard(-1); !strings.Contains(heard, "THE-SUMMARY") {
		t.Errorf("the model read:\n%s", heard)
	}
}
