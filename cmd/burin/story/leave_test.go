package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// stubborn is a command that does not end when it is asked to.
const stubborn = `{"command":"trap '' TERM INT HUP; touch begun; while :; do sleep 0.1; done"}`

// busy is a session with an answer, in which a stubborn command runs.
func busy(t *testing.T, more ...llmtest.Turn) *story {
	t.Helper()
	turns := append([]llmtest.Turn{say("The first answer."), call("bash", stubborn)}, more...)
	s := begin(t, turns, func(o *setting) { o.config = "approval: full\n" })
	s.send("the first prompt")
	s.WaitText("The first answer.")
	s.WaitGone("Working")
	s.send("run it")
	s.begun()
	return s
}

// begun waits until the stubborn command runs.
func (s *story) begun() {
	s.t.Helper()
	file := filepath.Join(s.dir, "begun")
	for range 400 {
		if os.Remove(file) == nil {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	s.t.Fatalf("the command did not begin:\n%s", s.all())
}

// closing waits until burin says that it closes the session, and sees that it hears keys
// meanwhile. The session behind it is not shown yet then.
func (s *story) closing(notYet string) {
	s.t.Helper()
	s.WaitText("Closing the session")
	s.Type("words")
	s.WaitFor("the words, before the session is closed", func(t *vt.Terminal) bool {
		screen := t.Screen()
		return strings.Contains(screen, "› words") && strings.Contains(screen, "Closing the session")
	})
	if notYet != "" && strings.Contains(s.all(), notYet) {
		s.t.Errorf("%q stands there before the session is closed:\n%s", notYet, s.all())
	}
	s.Press("ctrl+u")
	s.WaitText("Ask anything")
}

// Whoever leaves a session while a command in it does not end can go on typing; what is
// sent is for the next one.
func TestLeaveWhileACommandDoesNotEnd(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := busy(t, say("Here I am."))
	s.send("/new")
	s.closing("New session.")
	s.send("hello")
	s.WaitText("next: hello")
	s.WaitText("Here I am.")
	s.WaitGone("Closing the session")
	if heard := s.heard(-1); strings.Contains(heard, "the first prompt") || !strings.Contains(heard, "hello") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Commands that open sessions are done one after the other, with what was sent between
// them; Esc takes back what waits.
func TestLeaveTwice(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	// The second may be left before its prompt has reached the model.
	answer := llmtest.Turn{Reply: func(q *llm.Request) []llm.Event {
		if strings.Contains(q.Messages[len(q.Messages)-1].Text(), "third") {
			return llmtest.Say("To the third.")
		}
		return llmtest.Say("To the second.")
	}}
	s := busy(t, answer, answer)
	s.send("/new")
	s.WaitText("Closing the session")
	s.send("never sent")
	s.WaitText("next: never sent")
	s.Press("esc")
	s.WaitText("› never sent")
	s.Press("ctrl+u")
	s.WaitText("Ask anything")
	s.send("to the second")
	s.send("/new")
	s.WaitText("/new")
	s.send("to the third")
	s.WaitText("To the third.")
	if n := strings.Count(s.all(), "New session."); n != 2 {
		t.Errorf("%d sessions were begun:\n%s", n, s.all())
	}
	// What was asked for the second may reach the model after that, and be for nobody.
	for i := range s.model.Requests() {
		if heard := s.heard(i); strings.Contains(heard, "to the third") && strings.Contains(heard, "to the second") || strings.Contains(heard, "never sent") {
			t.Errorf("the model read:\n%s", heard)
		}
	}
}

// A session that is opened once more is closed before: its file has one owner.
func TestResumeTheSessionThatIsOpen(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := busy(t, say("Still me."))
	s.send("/resume")
	s.WaitText("the first prompt")
	s.Type("first")
	s.WaitText("now, open")
	s.Press("enter")
	s.closing("Continuing with")
	s.WaitFor("the session again", func(term *vt.Terminal) bool {
		return strings.Contains(strings.Join(term.All(), "\n"), "Continuing with")
	})
	s.send("who are you?")
	s.WaitText("Still me.")
	if heard := s.heard(-1); !strings.Contains(heard, "the first prompt") {
		t.Errorf("the model read:\n%s", heard)
	}
	if n := len(s.sessions()); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// Quitting waits for what does not end, with a screen that lives; whoever insists does
// not wait. What was typed is there again next time.
func TestQuitWhileACommandDoesNotEnd(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := busy(t)
	s.send("/quit")
	s.closing("")
	s.Type("words that were not sent")
	s.WaitText("› words that were not sent")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
	s.restored()
	s = s.again(nil)
	s.WaitText("› words that were not sent")
}

// Ctrl+C twice, while burin closes the session, ends it at once.
func TestQuitAtOnce(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := busy(t)
	s.Press("ctrl+c", "ctrl+c")
	s.WaitText("Closing the session")
	s.Press("ctrl+c")
	s.WaitText("again quits without waiting")
	s.Press("ctrl+c", "ctrl+c")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
	s.sees("burin quit before")
	s.restored()
}
