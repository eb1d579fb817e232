package story_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm/llmtest"
)

// burin is killed in the middle of an answer. The terminal can be used again, and
// --continue knows what was said.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		say("The first answer."),
		{Parts: []llmtest.Part{{Text: words(50)}}, Fault: llmtest.Fault{StallAfterEvents: 20}},
	})
	s.send("the first prompt")
	s.WaitText("The first answer.")
	s.WaitGone("Working")
	s.send("the second prompt")
	s.WaitText("word10")
	if err := s.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := s.WaitEnd(); code != -1 {
		t.Errorf("burin ended with %d", code)
	}
	s.Look(func(term *vt.Terminal) {
		kitty, other := term.Keyboard()
		if term.Mode(2004) || term.Mode(1004) || term.Alternate() || term.Cursor().Hidden || kitty != 0 || other != 0 {
			t.Errorf("paste %v, focus %v, alternate %v, hidden %v, keyboard %d %d: want nothing of it",
				term.Mode(2004), term.Mode(1004), term.Alternate(), term.Cursor().Hidden, kitty, other)
		}
	})
	s.sees("burin --continue")
	s = s.again([]llmtest.Turn{say("Here again.")}, "--continue")
	s.WaitText("The first answer.")
	s.WaitText("the second prompt")
	s.send("go on")
	s.WaitText("Here again.")
	if heard := s.heard(0); !strings.Contains(heard, "the second prompt") {
		t.Errorf("the model read:\n%s", heard)
	}
}
