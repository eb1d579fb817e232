package story_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A user of Claude Code types what they always type. docs/howto/from-claude-code.md tells it.
func TestFirstHourFromClaudeCode(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	h := aHour(t, map[string]llmtest.Turn{
		"Write AGENTS.md": say("AGENTS.md is written."),
		"fix the greet":   call("edit", `{"path":"greet.go","edits":[{"old":"Helo","new":"Hello"}]}`),
		"picture":         say("I see it."),
		"and red":         say("As twilight."),
	}, map[string]string{
		".claude/CLAUDE.md":       "Answer in short sentences.\n",
		".claude/settings.json":   `{"model":"opus"}`,
		".claude/commands/rev.md": "---\ndescription: Review my change\n---\nReview $ARGUMENTS with care.\n",
		"project/CLAUDE.md":       "Indent with tabs.\n",
		"project/shot.png":        pixel,
		".claude/projects/x/aa11.jsonl": `{"parentUuid":null,"cwd":"{home}/project","sessionId":"aa11","type":"user","message":{"role":"user","content":"why is the sky blue?"},"uuid":"u1","timestamp":"2026-01-02T10:00:01.000Z"}
{"parentUuid":"u1","cwd":"{home}/project","sessionId":"aa11","type":"assistant","message":{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Because of scattering."}],"stop_reason":"end_turn"},"uuid":"a1","timestamp":"2026-01-02T10:00:02.000Z"}
`,
	}, "ANTHROPIC_API_KEY=sk-ant-0123456789")

	// burin starts with the key that is there, and offers the rest in a line.
	s := h.burin()
	s.WaitText("· Asking anthropic/claude-")
	s.WaitText("New here? /setup")
	s.asks("/init", "AGENTS.md is written.")
	s.wants(-1, true, "Write AGENTS.md", "Indent with tabs.", "Answer in short sentences.") // CLAUDE.md is read as it is, that of the project and one's own

	// What is typed without thinking: a file, a command of one's own, memory.
	s.Type("what is @gre")
	s.WaitText("→ greet.go")
	s.Press("tab")
	s.asks("", "Understood.")
	s.wants(-1, true, "Package greet says hello.")
	s.send("!echo from my shell")
	s.WaitText("● You  echo from my shell")
	s.asks("/rev the parser", "▎ Review the parser with care.")
	s.wants(-1, true, "from my shell", "Review the parser with care.")
	s.hinted("# always use tabs", "AGENTS.md holds what the model should remember")
	s.send("/memory")
	s.WaitText("Memory is off for ~/project.")
	s.Press("esc")
	s.send("/mcp")
	s.WaitText("No MCP servers.")
	s.Press("esc")

	// Shift+Tab is not the modes: it says where these are.
	s.Press("shift+tab")
	s.WaitText("/mode chooses what runs without a question")
	s.send("/mode auto-edit")
	s.WaitText("auto-edit │")
	s.asks("fix the greeting", "It is done.")
	s.fixed()
	s.undoes("/rewind")
	s.Press("esc", "esc")
	s.WaitText("Session tree")
	s.Press("esc")
	s.WaitGone("Session tree")
	s.Press("ctrl+r")
	s.WaitText("Earlier prompts")
	s.Type("parser")
	s.WaitText("→ /rev the parser")
	s.Press("enter")
	s.WaitText("› /rev the parser")
	s.Press("ctrl+c")
	s.Paste(filepath.Join(s.dir, "shot.png"))
	s.WaitText("@shot.png")
	s.asks(" is a picture", "I see it.")
	if !hasImage(s.request(-1)) {
		t.Error("the picture did not go along")
	}

	// Commands.
	s.looks("/cost", "What was spent")
	s.looks("/config", "Dark theme")
	s.looks("/permissions", "Permissions")
	s.send("/compact")
	s.WaitText("· Nothing to compact yet.")
	s.send("/model opus")
	s.WaitText("│ claude-opus-")
	s.send("/clear")
	s.WaitText("· New session.")
	s.asks("hello", "Understood.")
	s.wants(-1, true, "Answer in short sentences.") // what was imported
	s.sees("auto-edit │")                           // what was chosen holds on
	if id := s.request(-1).Model.ID; !strings.HasPrefix(id, "claude-opus-") {
		t.Errorf("the new session asks %s", id)
	}
	s.send("/resume")
	s.WaitText("Claude Code, now")
	s.finds("sky blue", "+ why is the sky blue?", "Because of scattering.")
	s.WaitText("Ask anything")
	s.asks("and red?", "As twilight.")
	s.wants(-1, true, "why is the sky blue?", "Because of scattering.")
	s.Press("ctrl+c")
	s.WaitText("Ctrl+C again quits")
	s.Press("ctrl+c")
	s.WaitText("burin --continue resumes this session.")
	s.WaitEnd()

	// The command line.
	h.says(0, "As twilight.", "-p", "and red?", "-c")
	s.wants(-1, true, "why is the sky blue?")
	h.says(2, "--dangerously-skip-permissions: write --approval full", "--dangerously-skip-permissions", "-p", "hi")
	h.says(2, "--permission-mode: write --approval plan, ask, auto-edit or full", "--permission-mode", "plan")
	h.says(2, "--output-format: write --mode json", "-p", "hi", "--output-format", "json")
	s = h.burin("--resume")
	s.WaitText("Resume a session")
	s.finds("sky blue", "why is the sky blue?", "As twilight.")
	s.leave()

	// Shift+Tab can be the modes.
	write(t, filepath.Join(h.home.home, "keybindings.json"), `{"app.mode.cycle": ["shift+tab"]}`)
	s = h.burin("-c")
	s.WaitText("ask │")
	for _, mode := range []string{"auto-edit │", "plan mode", "ask │"} {
		s.Press("shift+tab")
		s.WaitText(mode)
	}
	s.leave()
}
