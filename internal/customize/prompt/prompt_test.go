package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/prompt"
	"github.com/burin-dev/burin/internal/customize/source"
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
	found := prompt.Discover(source.Options{Dir: filepath.Join(repo, "web", "app"), Root: repo, ConfigDir: user})
	want := prompt.Found{
		Files: []prompt.File{
			{Name: filepath.Join(user, "AGENTS.md"), Text: "mine", Path: filepath.Join(user, "AGENTS.md"), Source: "burin, user"},
			{Name: "AGENTS.md", Text: "root rules", Path: filepath.Join(repo, "AGENTS.md"), Source: "AGENTS.md, project"},
			{Name: "web/.github/copilot-instructions.md", Text: "web rules", Path: filepath.Join(repo, "web", ".github", "copilot-instructions.md"), Source: "Copilot, project"},
			{Name: "web/app/GEMINI.md", Text: "app rules", Path: filepath.Join(repo, "web", "app", "GEMINI.md"), Source: "Gemini, project"},
		},
		Shadowed: []prompt.File{{Name: "CLAUDE.md", Path: filepath.Join(repo, "CLAUDE.md"), Source: "Claude Code, project", ShadowedBy: "AGENTS.md"}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

// Of the user's files the first of all programs counts; additions count besides, unless they say
// the same. Settings of opencode and VS Code name more. A source that is off says nothing.
func TestDiscoverPrograms(t *testing.T) {
	home := t.TempDir()
	repo := filepath.Join(home, "repo")
	for name, text := range map[string]string{
		".claude/CLAUDE.md": "mine, for Claude @style.md", ".claude/style.md": "my style", ".codex/AGENTS.md": "mine, for Codex",
		"repo/AGENTS.md": "root", "repo/.github/copilot-instructions.md": "for Copilot", "repo/.cursorrules": "root", "repo/.windsurfrules": "for Windsurf",
		"repo/CLAUDE.local.md": "here only", "repo/docs/a.md": "first guide", "repo/docs/deep/b.md": "second guide", "secret.md": "secret",
		"repo/node_modules/x/docs/c.md": "no guide", "repo/house.md": "the house",
		"repo/opencode.json":         "{\n  // more\n  \"instructions\": [\"docs/**/*.md\", \"../secret.md\", \"~/secret.md\", \"https://example.org/x.md\", \"none.md\"],\n}",
		"repo/.vscode/settings.json": `{"github.copilot.chat.codeGeneration.instructions": [{"text": "no file"}, {"file": "house.md"}]}`,
	} {
		write(t, filepath.Join(home, filepath.FromSlash(name)), text)
	}
	o := source.Options{Dir: repo, Root: repo, UserHome: home, ConfigDir: filepath.Join(home, ".burin")}
	mine := filepath.Join(home, ".claude", "CLAUDE.md")
	found := prompt.Discover(o)
	want := []string{
		mine, filepath.Join(home, ".claude", "style.md"), "AGENTS.md", "CLAUDE.local.md", "docs/a.md", "docs/deep/b.md",
		".windsurfrules", ".github/copilot-instructions.md", "house.md",
	}
	if diff := cmp.Diff(want, names(found.Files)); diff != "" {
		t.Error(diff)
	}
	if s := found.Shadowed; len(s) != 1 || s[0].ShadowedBy != mine || len(found.Warnings) != 0 {
		t.Errorf("shadowed %v, warnings %q", s, found.Warnings)
	}
	o.Off = []string{"claude", "agents-md", "opencode", "vscode", "windsurf"}
	want = []string{filepath.Join(home, ".codex", "AGENTS.md"), ".cursorrules", ".github/copilot-instructions.md"}
	if diff := cmp.Diff(want, names(prompt.Discover(o).Files)); diff != "" {
		t.Error(diff)
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
	found := prompt.Discover(source.Options{Dir: repo})
	files, warnings := found.Files, found.Warnings
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
	found := prompt.Discover(source.Options{Dir: dir, Root: repo})
	files, warnings := found.Files, found.Warnings
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
