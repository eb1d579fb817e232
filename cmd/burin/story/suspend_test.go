package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Ctrl+Z goes to the shell that burin was started from, fg comes back to the prompt as
// it was.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Welcome back.")}, func(o *setting) { o.shell = true })
	s.Type("half a prom")
	s.WaitText("› half a prom")
	s.Press("ctrl+z")
	s.WaitFor("the shell", func(t *vt.Terminal) bool { return strings.HasSuffix(t.Screen(), "\nSHELL$") })
	s.Look(func(term *vt.Terminal) {
		if kitty, _ := term.Keyboard(); term.Mode(1004) || term.Cursor().Hidden || kitty != 0 {
			t.Error("the shell has not got the terminal as it was")
		}
	})
	s.send("echo in the $((40+2))th shell")
	s.WaitText("in the 42th shell")
	s.send("fg")
	s.WaitText("› half a prom")
	s.send("pt")
	s.WaitText("Welcome back.")
	s.sees("half a prompt")
	s.WaitGone("Working")
	s.Press("ctrl+d")
	s.WaitFor("the shell", func(t *vt.Terminal) bool { return strings.HasSuffix(t.Screen(), "\nSHELL$") })
	s.send("exit 3")
	if code := s.WaitEnd(); code != 3 {
		t.Errorf("the shell ended with %d", code)
	}
}

// What the model says while burin is suspended is there afterwards.
func TestSuspendWhileWorking(t *testing.T) {
	t.Parallel()
	first := gated("An answer for later.")
	defer first.open()
	s := begin(t, []llmtest.Turn{first.Turn}, func(o *setting) { o.shell = true })
	s.send("hello")
	first.wait(t)
	s.Press("ctrl+z")
	s.WaitFor("the shell", func(t *vt.Terminal) bool { return strings.HasSuffix(t.Screen(), "\nSHELL$") })
	first.open()
	s.send("fg")
	s.WaitText("An answer for later.")
	s.WaitText("Ask anything")
}

// Ctrl+Z where burin is the first program of its terminal, as in a window of tmux: there
// is no shell to go to, and burin goes on.
func TestSuspendWithoutShell(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Still here.")})
	s.Type("half a prom")
	s.WaitText("› half a prom")
	frames := s.Stats().Frames
	s.Press("ctrl+z")
	s.WaitFor("the terminal taken again", func(t *vt.Terminal) bool {
		return t.Mode(2004) && t.Stats().Frames >= frames+2 && strings.Contains(t.Screen(), "› half a prom")
	})
	s.send("pt")
	s.WaitText("Still here.")
	s.sees("half a prompt")
}

// burin that is ended while it is suspended ends, and leaves the terminal to the shell.
func TestEndWhileSuspended(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, nil, func(o *setting) { o.shell = true })
	s.Press("ctrl+z")
	s.WaitFor("the shell", func(t *vt.Terminal) bool { return strings.HasSuffix(t.Screen(), "\nSHELL$") })
	s.send("kill %1; while kill -0 %1 2>/dev/null; do sleep 0.1; done; echo ended")
	s.WaitText("\nended")
	s.Look(func(term *vt.Terminal) { // the shell has pastes marked itself
		if kitty, _ := term.Keyboard(); term.Mode(1004) || term.Cursor().Hidden || kitty != 0 {
			t.Error("the shell has not got the terminal as it was")
		}
	})
}
