package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// In plan mode the model only looks: a write is refused, without a question.
func TestPlanMode(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("write", `{"path":"one.txt","content":"x"}`), say("Only a plan then.")})
	s.Press("alt+shift+p")
	s.WaitText("plan mode")
	s.Golden("plan", s.same())
	s.send("write it")
	s.WaitText("Only a plan then.")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written")
	}
	if heard := s.heard(-1); !strings.Contains(heard, "plan") {
		t.Errorf("the model was not told why:\n%s", heard)
	}
	s.WaitGone("Working")
	s.Press("alt+shift+p")
	s.WaitText(" ask │")
}

// A plan is carried out in the mode that plan mode came after.
func TestPlanGo(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("First one.txt, then two.txt."), call("write", `{"path":"one.txt","content":"x"}`), say("Done.")}, func(o *setting) {
		o.config = "approval: auto-edit\n"
	})
	s.send("/plan go")
	s.WaitText("Not in plan mode")
	s.send("/plan what would you write?")
	s.WaitText("/plan go carries out the plan")
	s.send("/plan go")
	s.WaitText("Done.")
	s.WaitGone("Working")
	if got := s.read("one.txt"); got != "x" {
		t.Errorf("one.txt is %q", got)
	}
	if heard := s.heard(-1); !strings.Contains(heard, "Carry out the plan.") {
		t.Errorf("the model heard:\n%s", heard)
	}
	s.sees("auto-edit │")
}

// /undo takes back what a turn has written.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("read", `{"path":"notes.txt"}`), call("write", `{"path":"notes.txt","content":"worse\n"}`), say("Written.")}, func(o *setting) {
		o.config = "approval: auto-edit\n"
		o.files = map[string]string{"notes.txt": "good\n"}
	})
	s.send("improve the notes")
	s.WaitText("Written.")
	s.WaitGone("Working")
	if got := s.read("notes.txt"); got != "worse\n" {
		t.Fatalf("notes.txt is %q", got)
	}
	s.send("/undo")
	s.WaitText("restore notes.txt")
	s.Press("enter")
	s.WaitText("Restored: 1 path.")
	if got := s.read("notes.txt"); got != "good\n" {
		t.Errorf("notes.txt is %q", got)
	}
}
