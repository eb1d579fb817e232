package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
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

// What a file holds is not shown as if the person had written it: a row names the file,
// now, in the viewer and when the session is gone on with.
func TestMentionedFileIsARow(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("It is a plan.")}, func(o *setting) {
		o.files = map[string]string{"a b.txt": "THE-PLAN\nof ten lines\n"}
	})
	s.send(`read @"a b.txt" now`)
	s.WaitText("It is a plan.")
	shows := func(where string) {
		t.Helper()
		if all := s.all(); !strings.Contains(all, "[file a b.txt, 21 B]") || strings.Contains(all, "THE-PLAN") {
			t.Errorf("%s:\n%s", where, all)
		}
	}
	shows("the scrollback")
	s.send("/transcript")
	s.WaitText("message 3 of 3")
	shows("the viewer")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("/quit")
	s.WaitEnd()
	s = beginWith(t, s.model, func(o *setting) { o.home, o.dir, o.args = s.home, s.dir, []string{"--continue"} })
	s.WaitText("It is a plan.")
	shows("the session that is gone on with")
	if heard := s.heard(-1); !strings.Contains(heard, "THE-PLAN") {
		t.Errorf("the model read:\n%s", heard)
	}
}
