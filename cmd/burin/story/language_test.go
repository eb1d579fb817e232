package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/platform/lsp/lsptest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The language servers of a session are a command away, with their logs, and are restarted there.
func TestLanguageServers(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, []llmtest.Turn{call("lsp", `{"action":"diagnostics","path":"a.txt"}`), say("One error.")}, func(o *setting) {
		o.home = filepath.Join(t.TempDir(), "home")
		write(t, filepath.Join(o.home, "lsp.json"), fmt.Sprintf(`{"scripted": {"command": %q, "args": [%q, "wordy"], "fileTypes": [".txt"], "rootMarkers": []}}`, self, lsptest.Marker))
		o.files = map[string]string{"a.txt": "an ERR\n"}
	})
	s.send("/lsp")
	s.WaitText("stopped")
	s.WaitText("Its log is empty.")
	s.Press("esc")
	s.WaitGone("Its log is empty.")
	s.send("look")
	s.WaitText("One error.")
	s.WaitGone("Working")
	s.send("/lsp")
	s.WaitText("Language servers")
	s.WaitText("running")
	s.WaitText("1 error")
	s.WaitText("ready to serve")
	s.Press("enter")
	s.WaitText("scripted ended: it starts with the next edit or request")
	s.send("/lsp")
	s.WaitText("stopped")
}
