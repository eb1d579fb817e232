package burin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A confined command reads what is not secret in the home folder, and none of what is.
func TestConfinedCommandsReadNoSecretPlaces(t *testing.T) {
	if !sandbox.Available().Files {
		t.Skip("files cannot be confined here")
	}
	dir, home := project(t), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir()) // commands may write there: the home folder must be elsewhere
	secrets := []string{".env", ".pgpass", ".codex/auth.json", ".cargo/credentials.toml", ".bash_history", ".config/gh/hosts.yml"}
	for _, name := range append([]string{"notes", ".cargo/config.toml", ".m2/settings.xml"}, secrets...) {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("holds "+name+".\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := "cd " + home + " && cat notes .cargo/config.toml .m2/settings.xml " + strings.Join(secrets, " ")
	script := llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", Args: fmt.Sprintf(`{"command":%q}`, command)}}},
		{Parts: []llmtest.Part{{Text: "Seen."}}},
	}}
	s, srv := start(t, "anthropic", script, burin.Options{Dir: dir, Approval: "full", Sandbox: "workspace-write", UserHome: home, NoSecrets: true, StateDir: t.TempDir()})
	if out := s.Prompt(context.Background(), llm.UserText("look")); out.Reason != agent.ReasonDone {
		t.Fatalf("it ended with %s, %v", out.Reason, out.Err)
	}
	last := srv.Requests()[1].Messages
	got := last[len(last)-1].Text()
	for _, name := range secrets {
		if strings.Contains(got, "holds "+name+".") {
			t.Errorf("the command read %s", name)
		}
	}
	for _, name := range []string{"notes", ".cargo/config.toml", ".m2/settings.xml"} {
		if !strings.Contains(got, "holds "+name+".") {
			t.Errorf("the command could not read %s: %s", name, got)
		}
	}
}
