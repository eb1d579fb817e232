package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// missing reports a file that should not be there.
func (s *story) missing(name string) {
	s.t.Helper()
	if _, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
		s.t.Errorf("%s was written", name)
	}
}

// Who types on when a question appears does not answer it, and neither does a paste. What
// was typed is in the prompt afterwards.
func TestApprovalNotByAccident(t *testing.T) {
	t.Parallel()
	// On a machine that pauses this test or burin a key may come late enough to count.
	// Where keys always count, it fails each time.
	for attempt := 1; !typesOn(t); attempt++ {
		if attempt == 5 {
			t.Fatal("who typed on has answered")
		}
	}
}

// typesOn types while a question appears, and gives false where that answered it.
func typesOn(t *testing.T) bool {
	t.Helper()
	s := begin(t, []llmtest.Turn{call("write", `{"path":"one.txt","content":"first\n"}`), say("Fine.")})
	s.send("write a file")
	for range 20 { // a person who types all the time
		s.Type("y")
		<-time.After(30 * time.Millisecond)
	}
	s.WaitFor("the question", func(t *vt.Terminal) bool {
		return strings.Contains(t.Screen(), "Yes, this once") || strings.Contains(t.Screen(), "Fine.")
	})
	s.Type("yyy\n1")
	s.Paste("y")
	s.Paste("y\n")
	s.Send([]byte("\x1b[200~y\r\x1b[201~"))
	<-time.After(350 * time.Millisecond) // as in answer
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		return false
	}
	if screen := s.Text(); strings.Contains(screen, "Fine.") || strings.Contains(screen, "No:") {
		return false
	}
	s.Press("y")
	s.WaitText("Fine.")
	if got := s.read("one.txt"); got != "first\n" {
		t.Errorf("one.txt is %q", got)
	}
	s.WaitText(strings.Repeat("y", 23) + "1yy")
	return true
}

// What a command would do is shown as it is: nothing of it moves the cursor, hides a
// part, or looks like a question of burin's.
func TestApprovalShowsTheCommand(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"echo safe\u001b[2K\u001b[1A\r\u202e ; touch evil.txt #\u0008\u0008\u200b\u001b]0;pwned\u0007"}`),
		say("As you like."),
	})
	s.send("run it")
	s.WaitText("Run this command?")
	s.WaitText("touch evil.txt")
	screen := s.Text()
	for _, want := range []string{"echo safe␛[2K␛[1A", "⟨U+202E⟩", "␈␈⟨U+200B⟩␛]0;pwned␇"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not shown:\n%s", want, screen)
		}
	}
	s.look(func(title string, _ bool) {
		if strings.Contains(title, "pwned") {
			t.Errorf("the title is %q", title)
		}
	})
	s.answer("n")
	s.WaitText("As you like.")
	s.missing("evil.txt")
}

// A command that is longer than the screen says that there is more, and all of it can be
// read; a terminal of one cell answers nothing by itself.
func TestApprovalLong(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, `echo line %d\n`, i)
	}
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"`+lines.String()+`touch evil.txt"}`),
		say("As you like."),
	})
	s.send("run it")
	s.WaitText("more lines (PageDown)")
	s.WaitText("Yes, this once")
	s.Resize(1, 1)
	<-time.After(400 * time.Millisecond)
	s.Press("tab", "x", "esc", "down", "up") // nothing that says yes
	s.Resize(80, 24)
	s.WaitText("Yes, this once")
	s.WaitFor("the end of the command", func(term *vt.Terminal) bool {
		if strings.Contains(term.Screen(), "touch evil.txt") {
			return true
		}
		go s.Send([]byte("\x1b[6~")) // the screen must not be held meanwhile
		return false
	})
	s.answer("n")
	s.WaitText("As you like.")
	s.missing("evil.txt")
}

// Two calls at once are two questions, one behind the other. Esc answers both with no.
func TestApprovalsTogether(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{{Parts: []llmtest.Part{
		{Call: "bash", Args: `{"command":"touch one.txt"}`}, {Call: "bash", Args: `{"command":"touch two.txt"}`},
	}}})
	s.send("do both")
	s.WaitText("Yes, this once")
	<-time.After(350 * time.Millisecond)
	s.Press("esc")
	s.WaitText("Ask anything")
	s.WaitGone("Working")
	s.missing("one.txt")
	s.missing("two.txt")
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// burin that is told to end while a question waits ends at once, and nothing runs.
func TestApprovalAtTheEnd(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{call("write", `{"path":"one.txt","content":"first\n"}`)})
			s.send("write a file")
			s.WaitText("Yes, this once")
			began := time.Now()
			if err := s.Signal(signal); err != nil {
				t.Fatal(err)
			}
			s.WaitEnd()
			s.took("ending", began, time.Second)
			s.restored()
			s.missing("one.txt")
			if signal != syscall.SIGKILL && strings.Contains(s.all(), "unexpectedly") {
				t.Errorf("it did not end in order:\n%s", s.all())
			}
		})
	}
}
