package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// results are the results of calls in the last request.
func (s *story) results() (texts []string) {
	s.t.Helper()
	for _, m := range s.request(-1).Messages {
		if m.Role == llm.RoleToolResult {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// The owner is killed while calls are under way. Who goes on learns that they may have run,
// the person and the model, and nothing runs again.
func TestCallsOfADeadOwner(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	calls := llmtest.Turn{Parts: []llmtest.Part{
		{Call: "read", Args: `{"path":"README.md"}`},
		{Call: "bash", Args: `{"command":"echo ran >> runs; sleep 1000"}`},
		{Call: "read", Args: `{"path":"runs"}`},
	}}
	for name, goOn := range map[string]func(s, face *story){
		"an attached terminal": func(_, face *story) {
			face.WaitText("continues here")
			face.sees("calls of the model were under way, which may have run: bash")
			face.send("go on")
			face.WaitText("I looked.")
		},
		"a script later": func(s, _ *story) {
			out, err := s.run("-p", "--continue", "--model", "anthropic/claude-opus-4-5", "go on")
			if err != nil || !strings.Contains(out, "which may have run: bash") || !strings.Contains(out, "I looked.") {
				s.t.Errorf("%v: %s", err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := without(t, []llmtest.Turn{calls, say("I looked."), say("And again.")})
			id := s.background("--approval", "full", "run it")
			s.waitFor("the command runs", func() bool {
				_, err := os.Stat(filepath.Join(s.dir, "runs"))
				return err == nil
			})
			face := s.beside("attach", id)
			face.WaitText("echo ran")
			if name == "a script later" {
				face.leave()
			}
			if err := syscall.Kill(s.owner(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			s.ended()
			goOn(s, face)
			got := s.results()
			if len(got) != 3 || !strings.Contains(got[0], "# A project") ||
				!strings.Contains(got[1], "It may have run, in whole or in part, and was not run again.") || !strings.Contains(got[2], "It changes nothing: repeat it") {
				t.Errorf("the model read the results\n%s", strings.Join(got, "\n--\n"))
			}
			if runs := s.read("runs"); runs != "ran\n" {
				t.Errorf("it ran again: %q", runs)
			}
			if out, err := s.run("-p", "--session", s.sessions()[0], "--model", "anthropic/claude-opus-4-5", "and again"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if again := s.results(); len(again) != 3 {
				t.Errorf("later there are %d results", len(again))
			}
		})
	}
}
