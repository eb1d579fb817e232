package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/prompt"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(files []prompt.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

func TestDiscover(t *testing.T) {
	repo, user := t.TempDir(), t.TempDir()
	write(t, filepath.Join(user, "AGENTS.md"), "mine")
	write(t, filepath.Join(repo, "AGENTS.md"), "root rules")
	write(t, filepath.Join(repo, "CLAUDE.md"), "for another program") // one a folder
	write(t, filepath.Join(repo, "web", ".github", "copilot-instructions.md"), "web rules")
	write(t, filepath.Join(repo, "web", "app", "CLAUDE.md"), "app rules\x00") // binary: not text
	write(t, filepath.Join(repo, "web", "app", "GEMINI.md"), "app rules")
	write(t, filepath.Join(repo, "api", "AGENTS.md"), "not on the way")
	write(t, filepath.Join(filepath.Dir(repo), "AGENTS.md"), "above the repository")
	files, warnings := prompt.Discover(filepath.Join(repo, "web", "app"), repo, []string{user, filepath.Join(user, "none")})
	want := []prompt.File{
		{Name: filepath.Join(user, "AGENTS.md"), Text: "mine"},
		{Name: "AGENTS.md", Text: "root rules"},
		{Name: "web/.github/copilot-instructions.md", Text: "web rules"},
		{Name: "web/app/GEMINI.md", Text: "app rules"},
	}
	if diff := cmp.Diff(want, files); diff != "" || len(warnings) > 0 {
		t.Error(diff, warnings)
	}
}

// A repository is not the user: its links must not bring secrets into a prompt.
func TestDiscoverDoesNotLeave(t *testing.T) {
	repo, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, "id_rsa"), "secret key")
	write(t, filepath.Join(repo, "rules.md"), "rules")
	if err := os.Symlink(filepath.Join(home, "id_rsa"), filepath.Join(repo, "AGENTS.md")); err != nil {
		t.Skip("this system has no links for us:", err)
	}
	if err := os.Symlink("rules.md", filepath.Join(repo, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	files, warnings := prompt.Discover(repo, "", nil)
	for _, f := range files {
		if strings.Contains(f.Text, "secret") {
			t.Errorf("%s holds a file from outside", f.Name)
		}
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "AGENTS.md: ") {
		t.Errorf("warnings %q", warnings)
	}
	if diff := cmp.Diff([]string{"CLAUDE.md"}, names(files)); diff != "" {
		t.Error(diff)
	}
}

func TestDiscoverLimits(t *testing.T) {
	repo := t.TempDir()
	dir := repo
	for _, part := range []string{"", "a", "b", "c", "d"} {
		dir = filepath.Join(dir, part)
		write(t, filepath.Join(dir, "AGENTS.md"), strings.Repeat(part+"xy", prompt.MaxFile))
	}
	files, warnings := prompt.Discover(dir, repo, nil)
	total := 0
	for _, f := range files {
		total += len(f.Text)
		if !strings.HasSuffix(f.Text, "[cut]") {
			t.Errorf("%s is cut without a mark", f.Name)
		}
	}
	if len(files) != 3 || len(warnings) != 5 || !strings.Contains(warnings[4], "left out") || total > prompt.MaxAll+5*len("\n[cut]") {
		t.Errorf("%d bytes, warnings %q", total, warnings)
	}
}

func TestSystem(t *testing.T) {
	f := prompt.Facts{Dir: "/repo", Platform: "linux/amd64", Shell: "bash", Mode: "plan", Overview: "go.mod\ncmd/", Sandbox: "confined.", Extra: []string{"/data"}}
	o := prompt.Options{Files: []prompt.File{{Name: `A"G.md`, Text: "  Use tabs.\n"}}, Append: "Speak Latin."}
	got := prompt.System(f, o)
	for _, want := range []string{
		"Folder: /repo\n", "commands run in bash\n", "Also: /data\n", "Permission: plan. You can look", "Commands: confined.\n",
		"```\ngo.mod\ncmd/\n```", "<instructions from=\"A\\\"G.md\">\nUse tabs.\n</instructions>", "Speak Latin.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, time.Now().Format("2006")) {
		t.Error("the prompt names the year: it would change what a vendor has cached")
	}
	own := prompt.System(f, prompt.Options{System: "Be a poet."})
	if !strings.HasPrefix(own, "Be a poet.\n\n# Workspace") || strings.Contains(own, "coding agent") {
		t.Errorf("an own system prompt gives:\n%s", own)
	}
}

func TestNote(t *testing.T) {
	at := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	if got, want := prompt.Note(prompt.Moment{Now: at, Git: "On main, clean\n"}), "<context>\nDate: Sunday, 22 November 2026\nOn main, clean\n</context>"; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
}
