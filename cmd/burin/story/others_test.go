package story_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// /resume lists conversations of other programs behind burin's own, imports the one that is
// chosen, and lists it once from then on.
func TestResumeOtherProgram(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Nests."), say("As twilight.")})
	record := func(dir, id, asks, says string) {
		write(t, filepath.Join(filepath.Dir(s.home), ".claude", "projects", "x", id+".jsonl"), fmt.Sprintf(
			`{"parentUuid":null,"cwd":%q,"sessionId":%q,"type":"user","message":{"role":"user","content":%q},"uuid":"u1","timestamp":"2026-01-02T10:00:01.000Z"}
{"parentUuid":"u1","cwd":%[1]q,"sessionId":%[2]q,"type":"assistant","message":{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%[4]q}],"stop_reason":"end_turn"},"uuid":"a1","timestamp":"2026-01-02T10:00:02.000Z"}
`, dir, id, asks, says))
	}
	record(s.dir, "aa11", "why is the sky blue?", "Because of scattering.")
	record("/elsewhere", "bb22", "paint the fence", "It is green.")
	s.send("what do birds build?")
	s.WaitText("Nests.")
	s.WaitGone("Working")
	s.send("/resume")
	s.WaitText("Resume a session")
	s.WaitText("Claude Code, ")
	screen := s.Text()
	if own, other := strings.Index(screen, "what do birds build?"), strings.Index(screen, "why is the sky blue?"); own < 0 || other < own {
		t.Errorf("burin's own sessions are not listed first:\n%s", screen)
	}
	if strings.Contains(screen, "paint the fence") {
		t.Errorf("conversations of other folders are listed:\n%s", screen)
	}
	s.Press("tab")
	s.WaitText("paint the fence")
	s.Press("tab")
	s.WaitGone("paint the fence")
	s.Type("sky blue")
	s.WaitText("1 of 2")
	s.Press("ctrl+d")
	s.WaitText("belongs to Claude Code")
	s.Press("enter")
	s.WaitText("Because of scattering.")
	s.WaitText("Ask anything")
	s.send("and red?")
	s.WaitText("As twilight.")
	if heard := s.heard(-1); !strings.Contains(heard, "why is the sky blue?") || !strings.Contains(heard, "scattering") || strings.Contains(heard, "Nests") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.WaitGone("Working")
	s.send("/resume")
	s.WaitText("Resume a session")
	s.Press("tab")
	s.WaitText("paint the fence") // the others are listed
	s.Type("sky blue")
	s.WaitText("1 of 3")
}
