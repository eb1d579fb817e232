package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// @ and a few letters name a file; the model reads it with the prompt.
func TestMention(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("It is a plan.")}, func(o *setting) {
		o.files = map[string]string{"docs/roadmap.md": "THE-PLAN\n", "docs/other.md": "not this"}
	})
	s.Type("read @roadm")
	s.WaitText("docs/roadmap.md")
	s.Press("tab")
	s.WaitText("› read @docs/roadmap.md")
	s.Press("enter")
	s.WaitText("It is a plan.")
	if heard := s.heard(-1); !strings.Contains(heard, "THE-PLAN") || strings.Contains(heard, "not this") {
		t.Errorf("the model read:\n%s", heard)
	}
}
