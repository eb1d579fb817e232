package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Enter while the model works tells it something at the next opportunity.
func TestSteer(t *testing.T) {
	t.Parallel()
	first := gated("Looking.")
	defer first.open()
	s := begin(t, []llmtest.Turn{first.Turn, say("In French then.")})
	s.send("write a poem")
	s.WaitText("Working")
	first.wait(t)
	s.send("in French, please")
	s.WaitText("in French, please")
	s.WaitText("Ask anything") // the prompt is free again
	first.open()
	s.WaitText("In French then.")
	heard := s.heard(-1)
	if !strings.Contains(heard, "[user] in French, please") {
		t.Errorf("the model did not read it:\n%s", heard)
	}
	if n := strings.Count(s.all(), "in French, please"); n != 1 {
		t.Errorf("what was said stands there %d times:\n%s", n, s.all())
	}
}

// Ctrl+Enter sends when the work is done, and so does Alt+Q, which every terminal knows;
// Alt+Up takes what waits back to be changed.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	first := gated("The poem.")
	defer first.open()
	s := begin(t, []llmtest.Turn{first.Turn, say("A better title.")})
	s.send("write a poem")
	s.WaitText("Working")
	first.wait(t)
	s.Type("then a titel")
	s.Press("ctrl+enter")
	s.WaitText("Ask anything")
	s.WaitText("then a titel")
	s.Press("alt+up")
	s.WaitText("› then a titel")
	s.Press("backspace", "backspace")
	s.Type("le")
	s.Send([]byte("\x1bq")) // Alt+Q without any protocol of the keyboard
	s.WaitText("Ask anything")
	first.open()
	s.WaitText("A better title.")
	if heard := s.heard(-1); !strings.Contains(heard, "The poem.") || !strings.HasSuffix(strings.TrimSpace(heard), "[user] then a title") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// What waits stands above the prompt, what is read next before what is read at the end.
func TestQueueShown(t *testing.T) {
	t.Parallel()
	first := gated("Done.")
	defer first.open()
	s := begin(t, []llmtest.Turn{first.Turn})
	s.send("write a poem")
	first.wait(t)
	s.WaitText("▎ write a poem")
	s.Type("and then a title")
	s.Press("ctrl+enter")
	s.WaitText("and then a title")
	s.WaitText("Ask anything")
	s.send("in French, please")
	s.WaitText("in French, please")
	s.WaitText("Ask anything")
	s.Press("esc")
	s.WaitFor("both in the prompt", func(t *vt.Terminal) bool {
		return strings.Contains(t.Screen(), "› in French, please\n\n  and then a title") && !strings.Contains(t.Screen(), "Working")
	})
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
