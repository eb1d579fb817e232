package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A user of pi does the same with burin. docs/howto/from-pi.md tells it.
func TestFirstHourFromPi(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	poem := gated("The poem.")
	defer poem.open()
	h := aHour(t, map[string]llmtest.Turn{
		"write a poem": poem.Turn,
		"a title":      say("A better title."),
		"and wasps":    say("Not so well."),
	}, map[string]string{
		".pi/agent/auth.json":          `{"anthropic":{"type":"api_key","key":"sk-ant-0123456789"}}`,
		".pi/agent/settings.json":      `{"defaultProvider":"anthropic","enabledModels":["anthropic/claude-opus-4-5","anthropic/claude-haiku-4-5"]}`,
		".pi/agent/models.json":        `{"providers":{"acme":{"baseUrl":"{model}","apiKey":"ACME_KEY","api":"anthropic-messages","models":[{"id":"acme-1","name":"Acme One","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":8192}]}}}`,
		".pi/agent/AGENTS.md":          "Be brief.\n",
		".pi/agent/prompts/explain.md": "---\ndescription: Explain a file\n---\nExplain $1 to a beginner.\n",
		".pi/agent/sessions/--p--/2026-01-02T10-00-00-000Z_11111111-1111-4111-8111-111111111111.jsonl": `{"type":"session","version":3,"id":"11111111-1111-4111-8111-111111111111","timestamp":"2026-01-02T10:00:00.000Z","cwd":"{home}/project"}
{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-01-02T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"how do bees dance?"}],"timestamp":1767348001000}}
{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-01-02T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"In figures of eight."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1767348002000}}
`,
	}, "ACME_KEY=k")

	// The first screen offers the keys of pi.
	s := h.burin()
	s.WaitText("→ Import     the keys of pi (anthropic)")
	s.WaitText("pi: 1 conversation")
	s.Press("enter")
	s.WaitText("· Ready. /model changes the model")
	s.WaitText("Ask anything")
	s.asks("/explain greet.go", "▎ Explain greet.go to a beginner.")
	s.wants(-1, true, "Explain greet.go to a beginner.")

	// Keys: thinking, follow-ups, outputs, models.
	s.Press("shift+tab")
	s.WaitText("thinking: low")
	s.send("write a poem")
	poem.wait(t)
	s.Type("a title")
	s.Press("alt+enter")
	s.WaitText("a new line; Ctrl+Enter or Alt+Q sends when the work is done")
	s.Press("alt+q")
	s.WaitText("then: a title")
	poem.open()
	s.WaitText("A better title.")
	s.WaitGone("Working")
	if level := s.request(-1).Thinking.Level; level != llm.LevelLow {
		t.Errorf("the model thinks %q", level)
	}
	s.Press("ctrl+o")
	s.WaitText("new outputs and thinking are shown whole")
	s.Press("ctrl+p")
	s.WaitText("only one model to switch between: list more in enabledModels")

	// Commands.
	s.looks("/tree", "Session tree")
	s.looks("/session", "This session")
	s.looks("/hotkeys", "suspend to the shell")
	s.looks("/login", "Enter log in")
	s.send("/name bees")
	s.WaitText("│ bees")
	s.send("/export talk.html")
	s.WaitText("· Written: ~/project/talk.html")
	if page := s.read("talk.html"); !strings.Contains(page, "A better title.") {
		t.Error("the page lacks the answer")
	}
	s.send("/share")
	s.WaitText("Share this session?")
	s.answer("n")
	s.WaitText("Ask anything")
	s.send("/fork")
	s.WaitText("Continuing with: bees")
	s.WaitText("│ low") // the copy thinks as its original
	s.hinted("/scoped-models", "enabledModels in /settings")
	s.send("/resume")
	s.WaitText("how do bees dance?")
	s.finds("how do bees", "+ how do bees dance?", "In figures of eight.")
	s.WaitText("│ claude-opus-4-5")
	s.WaitText("Ask anything")
	s.asks("and wasps?", "Not so well.")
	s.wants(-1, true, "how do bees dance?", "In figures of eight.")

	// What else pi has: servers of one's own, instructions, and settings.
	s.imports("pi  A file of models and servers.", "pi  1 setting that burin has too.")
	s.leave()

	// The command line.
	h.says(0, "Not so well.", "--continue", "-p", "and wasps?")
	s.wants(-1, true, "how do bees dance?")
	h.says(0, "Understood.", "-p", "@greet.go", "what is this?", "--model", "acme-1")
	s.wants(-1, true, "Package greet says hello.", "Be brief.")
	if id := s.request(-1).Model.ID; id != "acme-1" {
		t.Errorf("%s was asked", id)
	}
	h.says(0, `"type":"agent_settled"`, "--mode", "json", "-p", "hello")
	h.says(2, "--provider: write --model PROVIDER/MODEL", "--provider", "anthropic", "-p", "hello")
	h.says(2, "--list-models: write burin models", "--list-models")

	// Ctrl+P goes through pi's enabledModels.
	s = h.burin()
	for _, model := range []string{"claude-opus-4-5", "claude-haiku-4-5", "claude-opus-4-5"} {
		s.WaitText("│ " + model)
		s.Press("ctrl+p")
	}
	s.WaitText("│ claude-haiku-4-5")
	s.Press("ctrl+c")
	s.leave()
	s = h.burin("-r")
	s.WaitText("Resume a session")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.leave()
}
