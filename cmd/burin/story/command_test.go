package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// "/" proposes commands, and the first letters choose among them.
func TestSlash(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.Type("/")
	s.WaitText("begin a new session")
	s.Type("hotk")
	s.WaitText("all keys")
	s.Press("enter")
	s.WaitText("stop what runs")
	s.Press("esc")
	s.WaitText("Ask anything")
}

// A command that nobody knows is said to be one first, and sent if the person insists.
func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("A shrug.")})
	s.send("/modwelq")
	s.WaitText("There is no command /modwelq. Did you mean /model?")
	s.WaitText("› /modwelq")
	if n := len(s.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	s.Press("enter")
	s.WaitText("A shrug.")
	if heard := s.heard(-1); !strings.Contains(heard, "/modwelq") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Words that a command can do nothing with are said to be so, and are not lost.
func TestWordsAfterACommand(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.send("/login nosuch")
	s.WaitText("There is no provider nosuch: /login shows those there are")
	s.send("/tools nosuch")
	s.WaitText("/tools takes nothing after its name")
	s.WaitText("› /tools nosuch")
}
