package burin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A placeholder whose value only another process knew gets into no file. When the value has
// been seen again, it does.
func TestLostSecret(t *testing.T) {
	const token = "ghp_0Hh3Xz9kQv7RmT2sLw8YbN4cJf6KpD1aVeUi"
	dir, state := project(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("token "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(r *llm.Request) string {
		var all strings.Builder
		for _, m := range r.Messages {
			all.WriteString(m.Text() + "\n")
		}
		return all.String()
	}
	write := func(id string) llmtest.Turn {
		return llmtest.Turn{Reply: func(r *llm.Request) []llm.Event {
			p := regexp.MustCompile(`SECRET\.[A-Z_]+\.[a-z0-9]{10}`).FindString(text(r))
			return llmtest.Call(id, "write", fmt.Sprintf(`{"path":"%s.txt","content":"%s"}`, id, p))
		}}
	}
	o := burin.Options{Dir: dir, StateDir: state, Approval: "full"}
	s, _ := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "Noted."}}}}}, o)
	if out := s.Prompt(t.Context(), llm.UserText("remember "+token)); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	o.Resume, _ = s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	told := func(want string) func(*llm.Request) error {
		return func(r *llm.Request) error {
			if all := text(r); !strings.Contains(all, want) || strings.Contains(all, token) {
				return fmt.Errorf("the request says %s", all)
			}
			return nil
		}
	}
	s, srv := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{
		write("lost"),
		{Check: told("does not know any more"), Parts: []llmtest.Part{{Call: "read", Args: `{"path":"notes.txt"}`}}},
		write("found"),
		{Parts: []llmtest.Part{{Text: "Done."}}},
	}}, o)
	if out := s.Prompt(t.Context(), llm.UserText("write it down")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	if err := srv.Err(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lost.txt")); err == nil {
		t.Error("a placeholder was written")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "found.txt")); err != nil || string(got) != token {
		t.Errorf("found.txt holds %q, %v", got, err)
	}
}
