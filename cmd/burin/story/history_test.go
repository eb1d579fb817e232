package story_test

import (
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// Prompts of yesterday are found with a few of their letters, or with the up key.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Blue."), say("Four.")})
	s.send("why is the sky blue?")
	s.WaitText("Blue.")
	s.WaitGone("Working")
	s.send("two and two?")
	s.WaitText("Four.")
	s.WaitGone("Working")
	s.leave()
	s = s.again(nil)
	s.Press("up")
	s.WaitText("› two and two?")
	s.Press("up")
	s.WaitText("› why is the sky blue?")
	s.Press("down", "down")
	s.WaitText("Ask anything")
	s.Press("ctrl+r")
	s.WaitText("two and two?")
	s.Type("sky")
	s.WaitGone("two and two?")
	s.Press("enter")
	s.WaitText("› why is the sky blue?")
}
