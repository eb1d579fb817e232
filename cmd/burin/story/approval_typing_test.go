package story_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// dangerous asks to run what would remove a folder of the project.
func dangerous(t *testing.T) *story {
	t.Helper()
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"echo two; rm -rf build"}`), say("As you like.")}, func(o *setting) {
		o.files = map[string]string{"build/kept": "kept\n"}
	})
	s.send("tidy up")
	s.WaitText("Run this command?")
	return s
}

// Who writes a message while a question stands answers nothing by it: it is the note of a
// no, which the model reads when it is sent.
func TestMessageInAQuestion(t *testing.T) {
	t.Parallel()
	s := dangerous(t)
	s.answer()
	s.Type("yes but why do you want that")
	s.WaitText("No: yes but why do you want that")
	s.Press("enter")
	s.WaitText("As you like.")
	if got := s.read("build/kept"); got != "kept\n" {
		t.Errorf("the file has %q", got)
	}
	if heard := s.heard(-1); !strings.Contains(heard, "yes but why do you want that") {
		t.Errorf("the model has not read it:\n%s", heard)
	}
}

// The same at the speed of a person's fingers, key by key.
func TestSlowMessageInAQuestion(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := dangerous(t)
	s.answer()
	for _, letter := range "never do that" {
		s.Type(string(letter))
		<-time.After(60 * time.Millisecond)
	}
	s.WaitFor("the words", func(t *vt.Terminal) bool {
		// On a machine that pauses the first letter may stand alone: a no without words.
		return strings.Contains(t.Screen(), "No: never do that") || strings.Contains(t.Screen(), "As you like.")
	})
	if got := s.read("build/kept"); got != "kept\n" {
		t.Errorf("the file has %q", got)
	}
}

// A message with the letters of a grant in it grants nothing, and Enter at its end sends
// it as a note.
func TestMessageGrantsNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		call("write", `{"path":"one.txt","content":"second\n"}`),
		say("I leave it alone."),
	})
	s.send("write a file")
	s.WaitText("Yes, this once")
	s.answer()
	s.Type("all that stalls\n")
	s.becomes(func() string { // and is asked about again
		if n := len(s.model.Requests()); n != 2 {
			return fmt.Sprintf("the model was asked %d times", n)
		}
		return ""
	})
	s.WaitText("Yes, this once")
	s.missing("one.txt")
	if heard := s.heard(-1); !strings.Contains(heard, "all that stalls") {
		t.Errorf("the model has not read it:\n%s", heard)
	}
	s.answer("n")
	s.WaitText("I leave it alone.")
	s.missing("one.txt")
}

// Words in a note that is left are in the prompt when the question is gone.
func TestNoteThatIsLeft(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := dangerous(t)
	s.answer()
	s.Type("why that")
	s.WaitText("No: why that")
	s.Press("esc")
	s.WaitText("No, and say what to do instead: why that")
	s.Press("esc")
	s.WaitGone("Run this command?")
	s.WaitText("why that")
	s.WaitGone("Working")
	if got := s.read("build/kept"); got != "kept\n" {
		t.Errorf("the file has %q", got)
	}
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// One letter is enough, where nothing follows it.
func TestOneLetterAnswers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := dangerous(t)
	s.answer("y")
	s.WaitText("As you like.")
	s.missing("build/kept")
}
