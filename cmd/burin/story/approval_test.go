package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// What changes a file is asked about first; yes is for this one call.
func TestAllowOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		call("write", `{"path":"two.txt","content":"second\n"}`),
		say("Both are written."),
	})
	s.send("write two files")
	s.WaitText("Write  one.txt")
	s.WaitText("Yes")
	s.Golden("approval", s.same())
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written before anybody said yes")
	}
	s.answer("y")
	s.WaitText("two.txt")
	s.WaitText("Yes")
	if got := s.read("one.txt"); got != "first\n" {
		t.Errorf("one.txt is %q", got)
	}
	s.answer("y")
	s.WaitText("Both are written.")
	if got := s.read("two.txt"); got != "second\n" {
		t.Errorf("two.txt is %q", got)
	}
}

// What is always allowed in this session is not asked about a second time.
func TestAllowForSession(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		call("write", `{"path":"one.txt","content":"second\n"}`),
		say("Written twice."),
	})
	s.send("write it twice")
	s.WaitText("Yes")
	s.answer("a")
	s.WaitText("→ 2 Always")
	s.answer("enter")
	s.WaitText("Written twice.")
	if got := s.read("one.txt"); got != "second\n" {
		t.Errorf("one.txt is %q", got)
	}
}

// A no says why, and the model reads it.
func TestDenyWithNote(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		say("I leave it alone."),
	})
	s.send("write a file")
	s.WaitText("Yes")
	s.answer("tab")
	s.WaitText("what to do instead")
	s.Type("use the other folder\n")
	s.WaitText("I leave it alone.")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written")
	}
	if heard := s.heard(-1); !strings.Contains(heard, "use the other folder") {
		t.Errorf("the model does not know why:\n%s", heard)
	}
}

// Esc in a question runs nothing and stops the work.
func TestStopInQuestion(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("write", `{"path":"one.txt","content":"first\n"}`)})
	s.send("write a file")
	s.WaitText("Yes")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.WaitGone("Working")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written")
	}
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
