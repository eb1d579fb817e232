package story_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A command of the person's own speaks in the status line. It reads facts as commands of Claude
// Code do, runs again when they change, and in the sandbox.
func TestStatusLineCommand(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{{Events: append(llmtest.Say("The answer."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1000, Output: 77})...)}}, wide, func(o *setting) {
		o.config = "statusLine:\n  command: sh line.sh\n"
		o.files = map[string]string{"line.sh": `cat > facts.json
echo ran >> runs
touch "$HOME/outside" 2>/dev/null || printf '\033[31mhold\033[0m '
printf 'me %s' "$(wc -l < runs | tr -d ' ')"
printf '\nanother line\n'
`}
	})
	s.WaitText("hold me")
	s.send("hello")
	s.WaitText("The answer.")
	s.WaitGone("Working")
	s.becomes(func() string {
		var facts struct {
			Cwd    string `json:"cwd"`
			Model  struct{ ID string }
			Window struct {
				Output int `json:"total_output_tokens"`
			} `json:"context_window"`
		}
		text := s.read("facts.json")
		if err := json.Unmarshal([]byte(text), &facts); err != nil || facts.Cwd != s.dir || facts.Model.ID != "claude-opus-4-5" || facts.Window.Output != 77 {
			return "the command reads " + text
		}
		return ""
	})
	if s.WaitText("hold me"); strings.Contains(s.all(), "another line") {
		t.Error("more than one line is shown")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(s.home), "outside")); err == nil {
		t.Error("the command wrote outside of the sandbox")
	}

	// What is wrong is said once, and is over when it is repaired.
	s.has("config.yml", strings.Replace(s.config(), "sh line.sh", "echo no such thing >&2; exit 3", 1))
	s.WaitText("statusLine.command: exit code 3: no such thing")
	s.WaitGone("hold me")
	s.has("config.yml", strings.Replace(s.config(), "echo no such thing >&2; exit 3", "echo fine again", 1))
	s.WaitText("fine again")
}

// A project can't have a command run.
func TestStatusLineCommandOfAProject(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, wide, func(o *setting) {
		o.files = map[string]string{".burin/config.yml": "statusLine: {command: touch ran, preset: minimal}\n"}
	})
	s.WaitText("a project can't set it")
	s.send("/context")
	s.WaitText("Largest")
	if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
		t.Error("the project's command ran")
	}
}
