package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Esc ends an answer that hangs, at once. What was queued is in the prompt again.
func TestAbort(t *testing.T) {
	s := begin(t, []llmtest.Turn{
		{Parts: []llmtest.Part{{Text: words(50)}}, Fault: llmtest.Fault{StallAfterEvents: 20}},
		say("Here I am again."),
	})
	s.send("count")
	s.WaitText("word10")
	s.send("faster")
	s.WaitText("Ask anything")
	s.WaitText("faster")
	began := time.Now()
	s.Press("esc")
	s.WaitFor("the prompt with what was queued", func(t *vt.Terminal) bool {
		screen := t.Screen()
		return strings.Contains(screen, "› faster") && !strings.Contains(screen, "Working")
	})
	s.took("to stop", began, 100*time.Millisecond)
	s.sees("word10", "Stopped.")
	s.Press("enter")
	s.WaitText("Here I am again.")
	if heard := s.heard(-1); !strings.Contains(heard, ">count") || !strings.Contains(heard, "[user] faster") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Esc ends a command of the model's, and with it what the command started.
func TestAbortCommand(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"echo b$((40+2))gun; sleep 1000 & wait"}`), say("I see.")}, func(o *setting) {
		o.config = "approval: full\n"
	})
	s.send("wait")
	s.WaitText("b42gun")
	s.Press("esc")
	s.WaitGone("Working")
	s.send("go on")
	s.WaitText("I see.")
	if heard := s.heard(-1); !strings.Contains(heard, "b$((40+2))gun") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Ctrl+C stops what runs before it would end burin.
func TestCtrlCStops(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{{Parts: []llmtest.Part{{Text: words(50)}}, Fault: llmtest.Fault{StallAfterEvents: 20}}, say("Here.")})
	s.send("count")
	s.WaitText("word10")
	s.Press("ctrl+c")
	s.WaitText("Stopped.")
	s.WaitGone("Working")
	s.send("still there?")
	s.WaitText("Here.")
}
