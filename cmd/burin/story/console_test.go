package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A program that needs a person gets the terminal: they see it, type into it, go back to
// burin while it runs, and the model reads what it said.
func TestProgramWithTerminal(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"printf 'Name? '; read name; echo hello, $name; stty size; stty -echo; printf 'Secret? '; read secret; stty echo; echo; echo ${#secret} letters; test -t 1 && echo terminal","tty":true}`),
		say("It is done."),
	}, func(o *setting) { o.config = "approval: full\n" })
	s.send("log in for me")
	s.WaitText("A program needs you")
	s.answer("y")
	s.WaitText("Ctrl+] goes back to burin")
	s.WaitText("Name?")
	s.Type("Ada")
	s.WaitText("Name? Ada")
	s.Press("ctrl+]")
	s.WaitText("A program needs you")
	s.sees("log in for me")
	s.answer("y")
	s.WaitText("Ctrl+] goes back to burin")
	s.WaitText("Name? Ada") // what it wrote is there again
	s.Press("enter")
	s.WaitText("hello, Ada")
	s.WaitText("Secret?")
	s.Type("hunter2")
	s.Press("enter")
	s.WaitText("It is done.")
	s.sees("log in for me") // burin's screen is as it was
	heard := s.heard(-1)
	for _, want := range []string{"hello, Ada", "7 letters", "terminal"} {
		if !strings.Contains(heard, want) {
			t.Errorf("the model did not read %q:\n%s", want, heard)
		}
	}
	if strings.Contains(heard, "hunter2") {
		t.Errorf("the model read what was typed without an echo:\n%s", heard)
	}
}

// A program that nobody wants is stopped, and the model is told.
func TestProgramWithTerminalIsStopped(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"read forever","tty":true}`),
		say("As you like."),
	}, func(o *setting) { o.config = "approval: full\n" })
	s.send("open it")
	s.WaitText("A program needs you")
	s.answer("n")
	s.WaitText("As you like.")
	if heard := s.heard(-1); !strings.Contains(heard, "Cancelled") {
		t.Errorf("the model read:\n%s", heard)
	}
}
