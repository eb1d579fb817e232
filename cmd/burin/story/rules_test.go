package story_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Instruction files that change while a session is open are told with the next prompt, once;
// the system prompt stays as it was.
func TestInstructionsChange(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("First."), say("Second."), say("Third."), say("Fourth.")}, func(o *setting) {
		o.files = map[string]string{"AGENTS.md": "Use tabs.\n"}
	})
	s.asks("one", "First.")
	if err := os.WriteFile(filepath.Join(s.dir, "AGENTS.md"), []byte("Use spaces.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.asks("two", "Second.")
	s.asks("three", "Third.")
	if err := os.Remove(filepath.Join(s.dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	s.asks("four", "Fourth.")
	s.wants(0, true, "Use tabs.")
	s.wants(0, false, "Instruction files have changed")
	s.wants(1, true, "Instruction files have changed since this session began", "Use spaces.")
	if s.request(0).System != s.request(3).System {
		t.Error("the system prompt has changed")
	}
	if n := len(s.request(2).Messages) - len(s.request(1).Messages); n != 2 {
		t.Errorf("%d messages came with the third prompt: it was told again", n)
	}
	s.wants(3, true, "These instruction files are gone; what they said no longer holds: AGENTS.md")
}

// Rules that change while a session is open hold from the next prompt on: those that always apply
// are told, stream rules watch, and addresses lead to what is there now.
func TestRulesChange(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	turns := []llmtest.Turn{
		say("First."), say("Second."), say("I use forbidden things."), say("I use others."), call("read", `{"path":"rule://deploy"}`), say("Fifth."), say("Sixth."),
	}
	s := begin(t, turns, func(o *setting) {
		o.files = map[string]string{".burin/rules/tone.md": "Be formal.\n", ".burin/rules/old.md": "Be quick.\n"}
	})
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.dir, ".burin", "rules", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.asks("one", "First.")
	put("tone.md", "Be friendly, always.\n")
	if err := os.Remove(filepath.Join(s.dir, ".burin", "rules", "old.md")); err != nil {
		t.Fatal(err)
	}
	s.asks("two", "Second.")
	put("no-forbidden.md", "---\ncondition: forbidden\n---\nUse what is allowed.\n")
	put("deploy.md", "---\ndescription: How we deploy\n---\nOn Tuesdays.\n")
	s.asks("three", "I use others.")
	s.asks("four", "Fifth.")
	s.asks("five", "Sixth.")
	s.wants(0, true, "Be formal.", "Be quick.")
	s.wants(1, true, "Rules have changed since this session began", "Be friendly, always.", "These rules are gone and no longer hold: old")
	s.wants(2, true, "- deploy: How we deploy")
	s.wants(3, true, "Use what is allowed.")
	s.wants(5, true, "On Tuesdays.")
	if s.request(0).System != s.request(6).System {
		t.Error("the system prompt has changed")
	}
	if n := len(s.request(6).Messages) - len(s.request(5).Messages); n != 2 {
		t.Errorf("%d messages came with the last prompt: something was told again", n)
	}
}

// The terminal says which rule has stopped an answer, and shows the next answer.
func TestStreamRuleInTerminal(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I use forbidden things."), say("I use others.")}, func(o *setting) {
		o.files = map[string]string{".burin/rules/no-forbidden.md": "---\ncondition: forbidden\n---\nUse what is allowed.\n"}
	})
	s.asks("go", "I use others.")
	s.WaitText("Answer stopped by rule: no-forbidden")
	s.wants(1, true, "Use what is allowed.")
	s.wants(1, false, "I use forbidden")
	s.looks("/rules", "no-forbidden (stream)")
}
