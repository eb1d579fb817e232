package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Whoever goes to another session while messages wait for the model gets them back.
func TestQueueComesBackFromASessionThatIsLeft(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	second := gated("Never heard.")
	defer second.open()
	s := begin(t, []llmtest.Turn{say("Nests."), second.Turn, say("Twigs.")})
	s.send("what do birds build?")
	s.WaitText("Nests.")
	s.WaitGone("Working")
	s.send("/new")
	s.WaitText("New session.")
	s.send("why is the sky blue?")
	second.wait(t)
	s.send("answer in French")
	s.WaitText("next: answer in French")
	s.send("/resume")
	s.WaitText("Resume a session")
	s.Type("birds")
	s.WaitText("1 of")
	s.Press("enter")
	s.WaitText("› answer in French")
	s.WaitGone("Working")
}

// A session that is left in the middle of what it does does not hold up the next one.
func TestNewSessionInTheMiddle(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, what := range []string{"/handoff", "/btw why?"} {
		t.Run(strings.Fields(what)[0][1:], func(t *testing.T) {
			t.Parallel()
			held := gated("A summary.")
			defer held.open()
			s := begin(t, []llmtest.Turn{say(words(400)), held.Turn, say("Here I am."), say("And still.")})
			s.send("a prompt that is long enough to be worth a summary: " + strings.Repeat("words ", 200))
			s.WaitText("word399 end.")
			s.WaitGone("Working")
			s.send(what)
			held.wait(t)
			s.send("/new")
			s.WaitText("New session.")
			held.open()
			s.send("hello")
			s.WaitText("Here I am.")
			s.WaitGone("esc stops")
			s.send("again")
			s.WaitText("And still.")
			if got := len(s.sessions()); got > 3 {
				t.Errorf("%d sessions", got)
			}
		})
	}
}

// A prompt that is sent while a session goes to the trash is for the next one.
func TestDropAndGoOn(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("The first answer."), say("The second answer."), say("The third answer.")})
	s.send("the first prompt")
	s.WaitText("The first answer.")
	s.WaitGone("Working")
	s.send("/drop")
	s.WaitText("Delete this session?")
	s.answer("y")
	s.WaitGone("Delete this session?") // what follows a letter at once is words
	s.send("the second prompt")
	s.WaitText("The second answer.")
	s.WaitGone("esc stops")
	s.send("the third prompt")
	s.WaitText("The third answer.")
	if heard := s.heard(-1); strings.Contains(heard, "the first prompt") || !strings.Contains(heard, "the second prompt") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A command that cannot run now is in the prompt again; one that a key calls types nothing.
func TestCommandThatHasToWait(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	first := gated("Done.")
	defer first.open()
	s := begin(t, []llmtest.Turn{first.Turn})
	s.send("work")
	first.wait(t)
	s.send("/handoff what comes next")
	s.WaitText("› /handoff what comes next")
	s.Press("ctrl+u")
	s.WaitText("Ask anything")
	first.open()
	s.WaitText("Done.")
}

// A model that nobody knows is said so, what was typed comes back, and /model leads to a
// session that works.
func TestOpeningFails(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) {
		o.quiet, o.args = true, []string{"--model", "nonsense/none"}
	})
	s.WaitText("no provider")
	s.send("good morning")
	s.WaitText("› good morning")
	s.Press("alt+o", "shift+tab", "ctrl+p", "ctrl+t", "alt+shift+p", "alt+up") // none of it needs a session to be survived
	s.WaitText("No session yet")
	s.WaitText("› good morning")
	s.Press("ctrl+u")
	s.send("/model")
	s.WaitText("Models [usable")
	s.Type("claude-opus-4-5")
	s.WaitText("→ claude-opus-4-5")
	s.Press("enter")
	s.WaitText("ask │")
	s.send("good morning")
	s.WaitText("Good morning.")
}

// A folder for sessions that cannot be written is said, the work goes on, and what was
// said is kept as soon as that can be done.
func TestSessionsCannotBeKept(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning."), say("Now it is.")}, func(o *setting) {
		o.quiet, o.home = true, filepath.Join(t.TempDir(), "home")
		write(t, filepath.Join(o.home, "sessions"), "not a folder")
	})
	s.WaitText("›")
	s.send("good morning")
	s.WaitText("the session cannot be saved right now")
	s.WaitText("Good morning.")
	s.WaitGone("Working")
	if err := os.Remove(filepath.Join(s.home, "sessions")); err != nil {
		t.Fatal(err)
	}
	s.send("is it kept now?")
	s.WaitText("Now it is.")
	s.becomes(func() string {
		for _, f := range s.sessions() {
			if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "good morning") && strings.Contains(string(text), "Now it is.") {
				return ""
			}
		}
		return "no session holds what was said"
	})
}
