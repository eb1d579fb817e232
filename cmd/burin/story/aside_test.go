package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm/llmtest"
)

// /btw asks beside the conversation: the answer is read and forgotten.
func TestAside(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Blue."), say("A wavelength is a length."), say("Onwards.")})
	s.send("why is the sky blue?")
	s.WaitText("Blue.")
	s.WaitGone("Working")
	s.send("/btw what is a wavelength?")
	s.WaitText("A wavelength is a length.")
	if heard := s.heard(-1); !strings.Contains(heard, "why is the sky blue?") {
		t.Errorf("the model knows nothing of the conversation:\n%s", heard)
	}
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("go on")
	s.WaitText("Onwards.")
	if heard := s.heard(-1); strings.Contains(heard, "wavelength") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A command that has to wait for another one stands in the prompt again.
func TestOneTaskAtATime(t *testing.T) {
	t.Parallel()
	aside := gated("A wavelength is a length.")
	defer aside.open()
	s := begin(t, []llmtest.Turn{say("Blue."), aside.Turn})
	s.send("why is the sky blue?")
	s.WaitText("Blue.")
	s.WaitGone("Working")
	s.send("/btw what is a wavelength?")
	aside.wait(t)
	s.send("/export sky.html")
	s.WaitText("Wait: ")
	s.sees("/export sky.html")
	aside.open()
	s.WaitText("A wavelength is a length.")
	s.Press("esc")
	s.sees("/export sky.html")
	s.Press("enter")
	s.WaitText("Written")
}

// /copy puts the last answer into the clipboard, also through a remote connection.
func TestCopy(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Take this:\n\n```sh\nmake all\n```\n")}, func(o *setting) {
		o.Env = []string{"SSH_CONNECTION=1 2 3 4", "SSH_TTY=/dev/pts/0"}
	})
	s.send("how do I build it?")
	s.WaitText("make all")
	s.WaitGone("Working")
	s.send("/copy code")
	s.WaitFor("the clipboard", func(t *vt.Terminal) bool { return string(t.Clipboard()) == "make all\n" })
}

// Long output is folded; Ctrl+O shows all of it from then on.
func TestExpand(t *testing.T) {
	t.Parallel()
	first := gated("Done.")
	defer first.open()
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"seq 1000 1099"}`), first.Turn, call("bash", `{"command":"seq 2000 2099"}`), say("Done again.")})
	s.send("count")
	s.WaitText("1099")
	first.wait(t)
	if strings.Contains(s.all(), "1050") {
		t.Error("all of it is shown")
	}
	first.open()
	s.WaitText("Done.")
	s.WaitGone("Working")
	s.Press("ctrl+o")
	s.send("count again")
	s.WaitText("Done again.")
	s.sees("2000", "2050", "2099")
}
