package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// What is sent before the session is open waits for it.
func TestTypeAhead(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, quiet)
	s.WaitText("›")
	s.send("good morning")
	s.WaitText("Good morning.")
	if heard := s.heard(0); !strings.Contains(heard, "good morning") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A prompt of the command line is sent at once.
func TestPromptOfCommandLine(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) { o.args = []string{"good", "morning"} })
	s.WaitText("Good morning.")
	s.sees("good morning")
}
