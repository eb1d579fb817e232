package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// keptOnDisk reports whether a text stands in the history of prompts.
func (s *story) keptOnDisk(text string) bool {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.home, "history.db*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// The history of prompts keeps no secrets, and nothing of a session that is not kept, or
// kept encrypted.
func TestHistoryIsPrivate(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, tt := range []struct {
		name string
		args []string
		kept bool
	}{
		{"kept", nil, true},
		{"no session", []string{"--no-session"}, false},
		{"encrypted", []string{"--seal"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{say("I see.")}, func(o *setting) {
				o.args, o.Env = tt.args, []string{"BURIN_SESSION_PASSPHRASE=open sesame, says the story"}
			})
			s.send("the wombat has " + token)
			s.WaitText("I see.")
			s.WaitGone("Working")
			s.leave()
			if got := s.keptOnDisk("the wombat has"); got != tt.kept {
				t.Errorf("the prompt is kept: %v, want %v", got, tt.kept)
			}
			if s.keptOnDisk(token) {
				t.Error("the token is kept")
			}
		})
	}
}
