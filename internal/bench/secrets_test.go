package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/tool"
)

// Rules and the sandbox have one list of secret places: what commands cannot read is
// also a question for tools, and a place of the list is missing from neither.
func TestRulesAndSandboxShareSecretPlaces(t *testing.T) {
	home := t.TempDir()
	xdg := t.TempDir()
	for _, name := range []string{
		".env", ".pgpass", ".my.cnf", ".vault-token", ".cargo/credentials.toml", ".terraform.d/credentials.tfrc.json", ".gem/credentials", ".local/share/keyrings/k",
		".claude/.credentials.json", ".codex/auth.json", ".config/gh/hosts.yml", ".config/hub", ".config/op/config", ".bash_history", ".ssh/id_rsa", ".aws/credentials", "old.pem",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kube := filepath.Join(xdg, "kube")
	if err := os.WriteFile(kube, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := &Bench{Options: Options{UserHome: home, Environ: []string{"KUBECONFIG=" + kube}}}
	b.findSecrets()
	hidden := b.secrets()
	list := private.Find(home, b.variable)
	if found := list.Hidden(); len(found) < 17 || !slices.Contains(found, kube) {
		t.Fatalf("the list finds only %v", found)
	}
	for _, name := range list.Hidden() {
		if !slices.Contains(hidden, name) {
			t.Errorf("commands can read %s", name)
		}
	}
	// The workspace is the home folder: there nothing but the list makes it a question.
	t.Setenv("KUBECONFIG", kube)
	for _, project := range []string{home, t.TempDir()} {
		p, err := permission.Open(permission.Options{Project: project, Home: home, Extra: []string{home, xdg}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range hidden {
			for kind, r := range map[string]permission.Request{
				"read": {Tool: "read", Access: []tool.Access{{Kind: tool.AccessRead, Target: name}}},
				"cat":  {Tool: "bash", Access: []tool.Access{{Kind: tool.AccessExecute, Target: "cat " + name}}},
			} {
				if d := p.Decide(r); d.Verdict != permission.Question {
					t.Errorf("%s %s in %s: %s (%s)", kind, name, project, d.Verdict, d.Reason)
				}
			}
		}
	}
}
