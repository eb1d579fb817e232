package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/source"
)

func TestPlaces(t *testing.T) {
	o := source.Options{Dir: "/repo/a/b", Root: "/repo", ConfigDir: "/home/me/.burin", UserHome: "/home/me", Getenv: func(name string) string {
		return map[string]string{"CODEX_HOME": "/codex", "PI_CODING_AGENT_DIR": "relative", "XDG_CONFIG_HOME": "/xdg"}[name]
	}}
	paths := func(kind source.Kind, ids ...string) (all []string) {
		for _, p := range source.Places(o, kind) {
			if len(ids) == 0 || slices.Contains(ids, p.Source.ID) {
				all = append(all, p.Owner()+" "+filepath.ToSlash(p.Path))
			}
		}
		return all
	}
	want := []string{
		"burin, project /repo/a/b/.burin/skills", "burin, project /repo/a/.burin/skills", "burin, project /repo/.burin/skills",
		"burin, user /home/me/.burin/skills",
		"pi, project /repo/a/b/.pi/skills", "pi, project /repo/a/.pi/skills", "pi, project /repo/.pi/skills",
		"pi, user /home/me/.pi/agent/skills", // a relative folder is no folder
		"Codex, project /repo/a/b/.codex/skills", "Codex, project /repo/a/.codex/skills", "Codex, project /repo/.codex/skills",
		"Codex, user /codex/skills",
	}
	if diff := cmp.Diff(want, paths(source.Skills, "burin", "pi", "codex")); diff != "" {
		t.Error(diff)
	}
	if got := paths(source.Commands, "opencode"); !slices.Contains(got, "opencode, user /xdg/opencode/command") {
		t.Errorf("opencode's commands are not below XDG_CONFIG_HOME: %q", got)
	}
	o.Off = []string{"codex", "pi"}
	if got := paths(source.Skills, "codex", "pi"); got != nil {
		t.Errorf("sources that are off still have %q", got)
	}
	o = source.Options{Dir: "/elsewhere", Root: "/repo"} // not below: the root means nothing
	if diff := cmp.Diff([]string{"burin, project /elsewhere/.burin/rules"}, paths(source.Rules, "burin")); diff != "" {
		t.Error(diff)
	}
	if ids := source.IDs(); ids[0] != "burin" || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("ids: %q", ids)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	repository, outside := filepath.Join(dir, "repo"), filepath.Join(dir, "outside")
	files := map[string]string{
		"repo/.burin/hooks.json": "\uFEFFhooks", "repo/large": strings.Repeat("x", source.MaxFile+1), "repo/binary": "a\x00b",
		"repo/cut": "aäö", "outside/secret": "secret",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": filepath.Join(outside, "secret"), "dir": outside} {
		if err := os.Symlink(to, filepath.Join(repository, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	at := func(name string) source.Place {
		return source.Place{Path: filepath.Join(repository, name), Repository: repository}
	}
	if text, err := at(".burin/hooks.json").ReadFile(); text != "hooks" || err != nil {
		t.Errorf("read %q: %v", text, err)
	}
	for name, want := range map[string]error{"large": source.ErrTooLarge, "binary": source.ErrNotText, ".burin": source.ErrNotText} {
		if _, err := at(name).ReadFile(); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"link", "dir/secret"} {
		if text, err := at(name).ReadFile(); err == nil || !strings.Contains(source.Reason(err), "leads out") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := (source.Place{Path: filepath.Join(repository, "dir/secret")}).ReadFile(); err != nil {
		t.Errorf("a link of the user's own is not followed: %v", err)
	}
	if _, err := at("none/of/it").ReadFile(); !source.Missing(err) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := at("cut").Open(); !source.Missing(err) {
		t.Errorf("a file where a folder may be: %v", err)
	}
	r, err := at("").Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := source.Read(r, "cut", 4); text != "aä" || err != nil {
		t.Errorf("half a character: %q, %v", text, err)
	}
	var w source.Warnings
	for range 100 {
		w.Add("x")
	}
	if n := len(w.Lines()); n != 50 {
		t.Errorf("%d warnings", n)
	}
}

// Whatever settings of opencode and VS Code say: a project names what is in it, and nothing else.
func FuzzNamed(f *testing.F) {
	for _, text := range []string{
		`{"instructions": ["docs/*.md", "../x.md", "~/y", "/etc/passwd", "a/../../b", "**/{a,b}*", "[", "https://x.example/"]}`,
		`{"chat.instructionsFilesLocations": {"docs": true, "..": true}, "chat.promptFilesLocations": {"/": true},}`,
		`{"github.copilot.chat.codeGeneration.instructions": [{"file": "x.md"}, 1]} // c`,
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	repo := filepath.Join(dir, "repo")
	if err := os.MkdirAll(filepath.Join(repo, ".vscode"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"opencode.json", ".vscode/settings.json"} {
			if err := os.WriteFile(filepath.Join(repo, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := source.Options{Dir: repo, Root: repo, UserHome: dir}
		for _, kind := range []source.Kind{source.Additions, source.Rules, source.Commands} {
			for _, p := range source.Places(o, kind) {
				if rel, err := filepath.Rel(repo, p.Path); p.Repository != "" && (err != nil || !filepath.IsLocal(rel)) {
					t.Errorf("%s is named by a project", p.Path)
				}
			}
		}
	})
}
