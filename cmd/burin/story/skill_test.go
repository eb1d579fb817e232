package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// A skill is completed like a command, given to the model with the words behind it, and
// listed with what is wrong. What the model is told first stays the same from turn to turn.
func TestSkills(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Formatted."), call("read", `{"path":"skill://tidy/style.md"}`), say("Tabs it is."), say("No.")}, func(o *setting) {
		o.files = map[string]string{
			".claude/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Formats code as this team likes it.\n---\nFollow style.md.\n",
			".claude/skills/tidy/style.md": "Tabs, not spaces.\n",
			".claude/skills/Odd/SKILL.md":  "---\nname: Odd\ndescription: Works all the same.\nuser-invocable: false\n---\nOdd.\n",
		}
	})
	s.Type("/tidy")
	s.WaitText("Formats code as this team likes it. (Claude")
	s.Press("tab")
	s.WaitText("› /skill:tidy")
	s.Type("main.go\n")
	s.WaitText("Formatted.")
	s.WaitGone("Working")
	if heard := s.heard(-1); !strings.Contains(heard, "Use the skill tidy: main.go") || !strings.Contains(heard, "Follow style.md.") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.send("which style?")
	s.WaitText("Tabs it is.")
	s.WaitGone("Working")
	if heard := s.heard(-1); !strings.Contains(heard, "Tabs, not spaces.") {
		t.Errorf("the model read:\n%s", heard)
	}
	all := s.model.Requests()
	for i, r := range all {
		if r.System != all[0].System || !strings.Contains(r.System, "\n- tidy: Formats code as this team likes it.\n") {
			t.Errorf("request %d begins with\n%s", i, r.System)
		}
	}

	s.send("/skill:tidi now")
	s.WaitText("no skill tidi (did you mean tidy?)")
	if n := len(s.model.Requests()); n != len(all) {
		t.Errorf("the model was asked %d times, want %d", n, len(all))
	}
	s.Press("ctrl+u")
	s.send("/skills")
	s.WaitText("tidy  Claude Code, project")
	s.WaitText("deep-interview  burin, bundled")
	s.WaitText("Odd  Claude Code, project, only for the model")
}
