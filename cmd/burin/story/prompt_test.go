package story_test

import (
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// A person asks, and the model answers.
func TestPrompt(t *testing.T) {
	s := begin(t, []llmtest.Turn{say("Because of **Rayleigh** scattering.")})
	s.Type("why is the sky blue?\n")
	s.WaitText("Because of Rayleigh scattering.")
	s.WaitGone("Working")
	s.Golden("prompt", s.same())
	s.Press("ctrl+d")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
}
