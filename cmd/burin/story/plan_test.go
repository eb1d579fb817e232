package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
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
	s.WaitText("/plan go carries it out")
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

const handsOver = `{"title":"fix-the parser","plan":"# Steps\n\n1. Read **parser.go**.\n2. Write one.txt."}`

// The plan that the model hands over is reviewed where the prompt was: a comment goes to the
// model, an approval begins the work in the mode that was chosen.
func TestPlanReview(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("exit_plan", handsOver), call("exit_plan", handsOver), call("write", `{"path":"one.txt","content":"x"}`), say("Done.")})
	s.send("/plan fix it")
	s.WaitText("Plan: fix-the parser")
	s.sees("Read parser.go.", "Approve and execute in ask mode", "Approve and execute in auto-edit mode", "Approve and compact the context first", "Keep planning", "Say what to change")
	s.Golden("plan-review", s.same())
	s.answer("tab")
	s.Type("without two.txt\n")
	s.becomes(func() string { // what was answered stands above the new question
		if !strings.Contains(s.heard(-1), "not approve the plan yet. without two.txt") {
			return "the model did not hear what to change"
		}
		return ""
	})
	s.WaitText("not approve the plan yet. without two.txt")
	s.WaitText("Say what to change")
	s.answer("2")
	s.WaitText("Done.")
	s.WaitGone("Working")
	s.sees("The plan is approved", "auto-edit │")
	if heard := s.heard(2); !strings.Contains(heard, "The user approved this plan") || !strings.Contains(heard, "Write one.txt.") {
		t.Errorf("the model heard:\n%s", heard)
	}
	if got := s.read("one.txt"); got != "x" {
		t.Errorf("one.txt is %q", got)
	}
	s.send("/plan show")
	s.WaitText("done")
	s.sees("Read parser.go.")
}

// A plan is edited in the person's own editor, and what they wrote is carried out. Who answers
// nothing can review it later.
func TestPlanEdit(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("exit_plan", handsOver), say("Done.")}, func(o *setting) {
		o.config = "approval: plan\n"
		o.Env = append(o.Env, "EDITOR=sed -i s/one.txt/three.txt/")
	})
	s.send("fix it")
	s.WaitText("Plan: fix-the parser")
	s.answer("esc")
	s.WaitText("/plan review shows the plan")
	s.send("/plan")
	s.WaitText("Plan: fix-the parser")
	s.answer("ctrl+g")
	s.WaitText("three.txt")
	s.answer("1")
	s.WaitText("Done.")
	if heard := s.heard(-1); !strings.Contains(heard, "2. Write three.txt.") {
		t.Errorf("the model heard:\n%s", heard)
	}
	s.WaitText(" ask │")
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
