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
	s.WaitText("start a new session")
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
	s.WaitText("Unknown command /modwelq. Did you mean /model?")
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
	s.WaitText("Unknown provider nosuch: /login lists the providers")
	s.send("/tools nosuch")
	s.WaitText("/tools takes no arguments")
	s.WaitText("› /tools nosuch")
}

// Enter runs what was written, or the only command that begins so; a guess needs Tab.
func TestEnterRunsNoGuess(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Hello.")})
	s.send("hello")
	s.WaitText("Hello.")
	s.WaitGone("Working")
	for _, tt := range []struct{ typed, says string }{
		{"/qit", "Did you mean /quit?"},
		{"/nw", "Did you mean /new?"},
		{"/diff", "!git diff shows all changes"},
		{"/hooks", "burin trust, in a shell, lists the hooks"},
		{"/mo", "/mo is the beginning of"},
		{"/", "type the name of a command"},
	} {
		s.Type(tt.typed)
		s.WaitText("› " + tt.typed)
		s.Press("enter")
		s.WaitText(tt.says)
		s.WaitText("› " + tt.typed)
		s.Press("ctrl+u")
		s.WaitText("Ask anything")
	}
	s.sees("Hello.") // it is the same session
	s.Type("/qit")
	s.WaitText("leave")
	s.Press("tab")
	s.WaitText("› /quit")
	s.Press("ctrl+u")
	s.WaitText("Ask anything")
	s.Type("/hotk")
	s.WaitText("all keys")
	s.Press("enter")
	s.WaitText("stop what runs")
}

// /goal status and /goal clear are no goals.
func TestGoalStatusAndClear(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Done."), say("Nothing more to do."), judges("+the wombat is full")})
	s.send("/goal status")
	s.WaitText("No goal")
	s.send("/goal feed the wombat")
	s.WaitText("The goal is reached: 1 of 1 shown.")
	s.WaitGone("Working")
	s.send("/goal status")
	s.WaitText("The goal is done: feed the wombat")
	s.WaitText("shown: feed the wombat — the wombat is full")
	s.send("/goal clear")
	s.WaitText("Goal dropped.")
	if n := len(s.model.Requests()); n > 3 {
		t.Errorf("the model was asked %d times", n)
	}
}
