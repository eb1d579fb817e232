package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// guest has another burin answer, as an agent of the Agent Client Protocol.
func guest(t *testing.T, more ...string) func(*setting) {
	return func(o *setting) {
		o.bare, o.quiet = true, true
		o.args = append(append([]string{"acp-run", "--agent-env", "ANTHROPIC_API_KEY"}, more...), program(t), "acp", "--model", "anthropic/claude-opus-4-5")
	}
}

// Another agent works in burin's terminal: what it asks is burin's question, what it wrote is
// undone, and its commands are reached as they are typed.
func TestAgent(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		say("It is written."),
		call("bash", `{"command":"echo f$((40+2))"}`),
		say("That was it."),
	}, guest(t))
	s.WaitText("Ask anything")
	s.send("write it")
	s.WaitText("Yes")
	s.sees("one.txt")
	s.answer("y")
	s.WaitText("It is written.")
	s.WaitGone("Working") // the agent's turn ends a moment after its last words
	if got := s.read("one.txt"); got != "first\n" {
		t.Errorf("one.txt is %q", got)
	}
	s.send("/undo")
	s.WaitText("one.txt")
	s.answer("enter")
	s.becomes(func() string {
		if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
			return "one.txt is still there"
		}
		return ""
	})
	s.send("run it")
	s.WaitText("f42")
	s.WaitText("That was it.")
}

// Esc stops an agent at once, and the next prompt goes to it.
func TestAgentAbort(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		{Parts: []llmtest.Part{{Text: words(50)}}, Fault: llmtest.Fault{StallAfterEvents: 20}},
		say("Here I am again."),
	}, guest(t))
	s.WaitText("Ask anything")
	s.send("count")
	s.WaitText("word10")
	began := time.Now()
	s.Press("esc")
	s.WaitFor("the prompt", func(t *vt.Terminal) bool { return !strings.Contains(t.Screen(), "Working") })
	s.took("to stop", began, 100*time.Millisecond)
	s.sees("word10", "Stopped.")
	s.send("and now?")
	s.WaitText("Here I am again.")
	if heard := s.heard(-1); !strings.Contains(heard, ">count") || !strings.Contains(heard, "and now?") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A session with an agent is resumed, and another branch of it is another session for the
// agent. What burin does not know as a command is the agent's.
func TestAgentBranch(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	turns := []llmtest.Turn{say("Blue, by scattering."), say("Four."), say("Red, by scattering."), say("At dusk.")}
	s := begin(t, turns, guest(t))
	s.WaitText("Ask anything")
	s.send("why is the sky blue?")
	s.WaitText("Blue, by scattering.")
	s.WaitGone("Working")
	s.send("two and two?")
	s.WaitText("Four.")
	s.WaitGone("Working")
	if heard := s.heard(-1); !strings.Contains(heard, "Blue, by scattering.") {
		t.Errorf("the model behind the agent read:\n%s", heard)
	}
	s.Press("esc", "esc")
	s.WaitText("Session tree")
	s.Press("up", "up", "up", "enter")
	s.WaitText("› why is the sky blue?")
	s.Press("backspace", "backspace", "backspace", "backspace", "backspace")
	s.Type("red?\n")
	s.WaitText("Red, by scattering.")
	s.WaitGone("Working")
	if heard := s.heard(-1); !strings.Contains(heard, "why is the sky red?") || strings.Contains(heard, "blue") || strings.Contains(heard, "Four") {
		t.Errorf("the model behind the agent read:\n%s", heard)
	}
	s.leave()
	s = begin(t, turns[3:], func(o *setting) { o.home, o.dir = s.home, s.dir }, guest(t, "--continue"))
	s.WaitText("Red, by scattering.")
	s.send("/when is that")
	s.WaitText("At dusk.")
	s.sees("why is the sky red?")
	if heard := s.heard(-1); !strings.Contains(heard, "sky red?") || !strings.Contains(heard, "/when is that") || strings.Contains(heard, "began elsewhere") {
		t.Errorf("the model behind the agent read:\n%s", heard)
	}
}
