package story_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// What a grant would have changed of earlier calls is what is shown with it: not what was
// allowed anyway, and not the call that is asked about.
func TestGrantShowsWhatItChanges(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"echo one; sleep 0"}`),
		call("bash", `{"command":"mkdir earlier"}`),
		call("bash", `{"command":"mkdir now"}`),
		say("As you like."),
	})
	s.send("go")
	s.WaitText("$ mkdir earlier")
	s.answer("n")
	s.WaitText("$ mkdir now")
	s.answer("2")
	s.answer("?")
	s.WaitText("Rule   bash(mkdir now)")
	s.answer("3")
	s.WaitText("1 earlier call, such as")
	s.WaitText("bash mkdir earlier")
	s.answer("2")
	s.WaitText("Rule   bash(mkdir now)")
	if screen := s.Text(); strings.Contains(screen, "earlier call") {
		t.Errorf("a rule for one command claims others:\n%s", screen)
	}
	s.answer("n")
	s.WaitText("As you like.")
}

// What would be written can be read to its end before the answer, and stands on the screen
// once: the call above the question is one line.
func TestWriteIsSeenBeforeYes(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	for i := range 200 {
		fmt.Fprintf(&content, `row %d.\n`, i)
	}
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"long.txt","content":"`+content.String()+`a line that is wide `+strings.Repeat("and wider ", 20)+`to its end"}`),
		say("As you like."),
	})
	s.send("write it")
	s.WaitText("Change this file?")
	s.WaitText("row 0.")
	s.WaitText("more lines (PageDown)")
	s.answer()
	for row := 0; row < 200; row++ { // each of them comes into view
		text := fmt.Sprintf("row %d.", row)
		for page := 0; !strings.Contains(s.Text(), text); page++ {
			if page == 3 {
				t.Fatalf("%q is not shown:\n%s", text, s.Text())
			}
			before := s.Text()
			s.Press("pagedown")
			s.WaitFor("the next page", func(t *vt.Terminal) bool { return t.Screen() != before })
		}
	}
	s.Press("pagedown", "pagedown")
	s.WaitText("to its end")
	s.WaitText("lines above (PageUp)")
	if strings.Contains(s.Text(), "Ctrl+O") {
		t.Errorf("the call shows it, too:\n%s", s.Text())
	}
	s.answer("n")
	s.WaitText("As you like.")
}

// The whole of an edit can be read, also where its lines are wide.
func TestEditIsSeenBeforeYes(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("read", `{"path":"notes.txt"}`),
		call("edit", `{"path":"notes.txt","edits":[{"old":"one","new":"`+strings.Repeat("a wide line ", 11)+`to its end"}]}`),
		say("As you like."),
	}, func(o *setting) { o.files = map[string]string{"notes.txt": "one\n"} })
	s.send("edit it")
	s.WaitText("Change this file?")
	s.WaitText("- one")
	s.WaitText("to its end")
	s.answer("n")
	s.WaitText("As you like.")
}

// The conversation can be read while a question waits, which comes back as it was.
func TestReadBeforeAnswering(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"mkdir now"}`), say("As you like.")})
	s.send("the first prompt")
	s.WaitText("Run this command?")
	s.answer("alt+o")
	s.WaitFor("the conversation", func(t *vt.Terminal) bool {
		return t.Alternate() && strings.Contains(t.Screen(), "the first prompt")
	})
	s.Press("q")
	s.WaitText("Run this command?")
	s.answer("y")
	s.WaitText("As you like.")
}
