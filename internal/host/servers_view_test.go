package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/host"
)

// What a person switches is written into burin's own files only. A project's file stays trusted, as
// nothing else in it has changed.
func TestServersAreSwitched(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	own := filepath.Join(dir, ".burin", "mcp.json")
	files := map[string]string{
		filepath.Join(home, "mcp.json"): `{"mcpServers": {"web": {"url": "https://kim:pass@mcp.example.com/mcp?key=1", "headers": {"X-Key": "hidden"}, "includeTools": ["a"]}}}`,
		own:                             `{"mcpServers": {"ours": {"command": "ours", "env": {"KEY": "hidden"}}, "other": {"command": "other\u001b[31m"}}}`,
		filepath.Join(dir, ".mcp.json"): `{"mcpServers": {"theirs": {"command": "theirs"}}}`,
		filepath.Join(dir, ".git/HEAD"): "ref: refs/heads/main\n",
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.New(host.Options{
		Dir: dir, Warn: func(string) {}, Paths: config.Paths{Config: home, Data: home, State: home}, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context()) //nolint:errcheck // nothing was opened
	d := host.ServersOf(h)
	state := func(name string) string {
		t.Helper()
		all, _, err := d.Find()
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if all[i].Name == name {
				return all[i].Summary()
			}
		}
		return ""
	}
	if got := state("ours"); got != "not trusted" {
		t.Errorf("before trust: %s", got)
	}
	for id, want := range map[string]string{"ours": "burin trust", "nobody": "no MCP server"} {
		if _, err := d.Do(t.Context(), host.SwitchOff, id, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	wanted, err := h.Wanted()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wanted {
		if err := trust.Open(filepath.Join(home, "trust.json")).Decide(w.Project, trust.Trusted, []trust.Item{w.Item}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Do(t.Context(), host.SwitchOff, "theirs", ""); err == nil || !strings.Contains(err.Error(), "is not burin's own: change theirs there") {
		t.Errorf("a file of another program: %v", err)
	}
	said, err := d.Do(t.Context(), host.SwitchOff, "ours", "")
	if err != nil || said != "ours is off in later sessions; this one has no connection to it" || state("ours") != "off" || state("other") != "on" {
		t.Errorf("%q %v: ours is %s, other is %s", said, err, state("ours"), state("other"))
	}
	if _, err := d.Do(t.Context(), host.SwitchOff, "ours", "draw"); err != nil || state("ours") != "off" {
		t.Errorf("a tool: %v, and the server is %s", err, state("ours"))
	}
	if _, err := d.Do(t.Context(), host.SwitchOn, "ours", ""); err != nil || state("ours") != "on" {
		t.Errorf("on again: %v, it is %s", err, state("ours"))
	}
	if text, err := os.ReadFile(own); err != nil || !strings.Contains(string(text), `"draw"`) || strings.Contains(string(text), "disabled") {
		t.Errorf("%s %v", text, err)
	}
	if err := os.WriteFile(own, []byte(`{"mcpServers": {"ours": {"command": "worse"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := state("ours"); got != "not trusted" {
		t.Errorf("a file that runs something else is %s", got)
	}
	if _, err := d.Do(t.Context(), host.Reconnect, "web", ""); err == nil || !strings.Contains(err.Error(), "no session of this process uses web") {
		t.Errorf("reconnect: %v", err)
	}
	for _, name := range []string{"", "web", "other"} {
		text, err := d.Command(t.Context(), name)
		if err != nil && name != "other" || strings.Contains(text, "hidden") || strings.Contains(text, "pass") || strings.Contains(text, "key=1") || strings.Contains(text, "\x1b") {
			t.Errorf("/mcp %s: %v\n%s", name, err, text)
		}
	}
	if text, _ := d.Command(t.Context(), "web"); !strings.Contains(text, "    State    on\n") || !strings.Contains(text, "Server   https://mcp.example.com/mcp\n") {
		t.Errorf("/mcp web: %s", text)
	}
}
