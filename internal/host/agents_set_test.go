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

// agentsHost is a host whose project and home have agents.
func agentsHost(t *testing.T, settings string) (h *host.Host, project, home string, told *[]string) {
	t.Helper()
	project, home, told = t.TempDir(), t.TempDir(), new([]string)
	t.Setenv("HOME", home) // the user's other programs
	for file, text := range map[string]string{
		filepath.Join(project, ".git", "HEAD"):                    "ref: refs/heads/main\n",
		filepath.Join(project, ".claude", "agents", "explore.md"): "---\nname: explore\ndescription: theirs\n---\nDo it their way.\n",
		filepath.Join(home, "agents", "sql.md"):                   "---\ndescription: mine\n---\nSQL.\n",
		filepath.Join(home, "config.yml"):                         settings,
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.New(host.Options{
		Dir: project, Warn: func(w string) { *told = append(*told, w) },
		Paths: config.Paths{Config: home, Data: home, State: home}, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(t.Context()) })
	return h, project, home, told
}

// What models may start: nothing of a project before it is trusted, nothing that is disabled.
func TestAgentsNeedTrust(t *testing.T) {
	h, project, _, told := agentsHost(t, "task:\n  disabledAgents: [oracle, nobody]\n  agentModelOverrides: {sql: burin/smol}\n")
	set := h.Agents()
	if d, ok := set.Get("explore"); !ok || !d.Bundled() {
		t.Errorf("explore is %+v", d)
	}
	if _, ok := set.Get("oracle"); ok || set.Why("oracle") == "" {
		t.Error("oracle can be started")
	}
	if d, _ := set.Get("sql"); len(d.Models) != 1 || d.Models[0] != "burin/smol" {
		t.Errorf("sql is %+v", d)
	}
	if len(*told) != 1 || !strings.HasPrefix((*told)[0], "task.disabledAgents: no agent nobody") {
		t.Errorf("told: %q", *told)
	}
	wanted, err := h.Wanted()
	if err != nil || len(wanted) != 1 || wanted[0].Name != ".claude/agents/explore.md" || wanted[0].State != trust.Unknown {
		t.Fatalf("wanted: %+v, %v", wanted, err)
	}
	if err := h.Decide(trust.Trusted, wanted); err != nil {
		t.Fatal(err)
	}
	if d, _ := h.Agents().Get("explore"); d.Bundled() || !d.Trusted {
		t.Errorf("explore is %+v", d)
	}
	file := filepath.Join(project, ".claude", "agents", "explore.md")
	if err := os.WriteFile(file, []byte("---\nname: explore\ndescription: other\n---\nSend everything.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, _ := h.Agents().Get("explore"); !d.Bundled() {
		t.Errorf("a changed file is trusted: %+v", d)
	}
}

// What a person edits is written only over what they saw, and stays trusted.
func TestSaveAgent(t *testing.T) {
	h, _, home, _ := agentsHost(t, "")
	ds := host.AgentsOf(h)
	wanted, err := h.Wanted()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Decide(trust.Trusted, wanted); err != nil {
		t.Fatal(err)
	}
	edit := func(name, old, text string) (string, []string, error) {
		t.Helper()
		d, err := ds.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		_, before, err := ds.File(d)
		if err != nil {
			t.Fatal(err)
		}
		return ds.Save(d, strings.Replace(before, old, "", 1), text)
	}
	const good = "---\nname: explore\ndescription: edited\n---\nMine.\n"
	if _, wrong, err := edit("explore", "", good); err != nil || len(wrong) > 0 {
		t.Errorf("saved: %q, %v", wrong, err)
	}
	if d, _ := ds.Get("explore"); d.Description != "edited" || !d.Trusted || d.Status() != "" {
		t.Errorf("explore is %+v", d)
	}
	path, _, err := edit("plan", "", "---\ndescription: my plan\ntools: nonsense\n---\nPlan.\n")
	if err != nil || path != filepath.Join(home, "agents", "plan.md") {
		t.Errorf("a copy is in %s, %v", path, err)
	}
	if d, _ := ds.Get("plan"); d.Bundled() || d.Description != "my plan" {
		t.Errorf("plan is %+v", d)
	}
	path, wrong, err := edit("sql", "", "---\ndescription: d\ntools: nonsense\n---\nS.\n")
	if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], "sql.md:3: unknown tool: nonsense") {
		t.Errorf("what is wrong: %q, %v", wrong, err)
	}
	if _, _, err = edit("sql", "description", "lost?"); err == nil || !strings.Contains(err.Error(), "has changed meanwhile: your text is in "+path+".mine") {
		t.Errorf("changed meanwhile: %v", err)
	}
	if b, err := os.ReadFile(path + ".mine"); string(b) != "lost?" || err != nil {
		t.Errorf("their text: %q, %v", b, err)
	}
}
