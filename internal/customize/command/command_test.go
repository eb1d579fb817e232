package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// facts are what a test compares of a command.
func facts(list []Command, dir string) []string {
	var out []string
	for _, c := range list {
		rel := func(p string) string {
			r, err := filepath.Rel(dir, p)
			if err != nil {
				return p
			}
			return filepath.ToSlash(r)
		}
		s := fmt.Sprintf("%s | %s | %s | %s", c.Name, c.Source, c.Description, rel(c.Path))
		if c.ShadowedBy != "" {
			s += " < " + rel(c.ShadowedBy)
		}
		out = append(out, s)
	}
	return out
}

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"repo/.burin/commands/fix.md":             "Fix it.",
		"repo/sub/.burin/commands/fix.md":         "Fix it here.",
		"repo/.burin/prompts/notes.md":            "---\nname: release-notes\n---\nWrite notes.",
		"home/.burin/commands/fix.md":             "Fix it, mine.",
		"home/.burin/commands/mine.md":            "# Mine\nText.",
		"repo/.omp/commands/plan.md":              "Plan.",
		"home/.pi/agent/prompts/pi.md":            "From pi.",
		"repo/.claude/commands/git/commit.md":     "---\ndescription: Commit: all of it\nargument-hint: [message] [scope]\nallowed-tools: Bash(git add:*, git commit:*), Read\nmodel: opus\n---\nCommit.",
		"repo/.claude/commands/FIX.md":            "Claude's fix.",
		"home/.claude/commands/speckit.plan.md":   "---\nname: other\n---\nSpecify.", // no key of Claude Code's
		"home/.claude/commands/.hidden.md":        "No.",
		"home/.claude/commands/readme.txt":        "No.",
		"home/.codex/prompts/review.md":           "---\nname: look\n---\nReview.",
		"home/.codex/prompts/deep/nothing.md":     "Codex has no folders.",
		"repo/.gemini/commands/doc/api.toml":      "description = \"Write \\\"docs\\\"\"\nprompt = \"\"\"\nDocument {{args}}.\n\"\"\"\n",
		"home/.config/opencode/command/deploy.md": "Deploy.",
		"repo/.cursor/commands/tidy.md":           "Tidy.",
		"elsewhere/.burin/commands/out.md":        "Not of this repository.",
	})
	set, warnings := Discover(Options{
		Dir: filepath.Join(dir, "repo", "sub"), Root: filepath.Join(dir, "repo"),
		ConfigDir: filepath.Join(dir, "home", ".burin"), UserHome: filepath.Join(dir, "home"),
	})
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	want := []string{
		"deploy | opencode, user | Deploy. | home/.config/opencode/command/deploy.md",
		"doc:api | Gemini, project | Write \"docs\" | repo/.gemini/commands/doc/api.toml",
		"fix | burin, project | Fix it here. | repo/sub/.burin/commands/fix.md",
		"git:commit | Claude Code, project | Commit: all of it | repo/.claude/commands/git/commit.md",
		"look | Codex, user | Review. | home/.codex/prompts/review.md",
		"mine | burin, user | Mine | home/.burin/commands/mine.md",
		"pi | pi, user | From pi. | home/.pi/agent/prompts/pi.md",
		"plan | oh-my-pi, project | Plan. | repo/.omp/commands/plan.md",
		"release-notes | burin, project | Write notes. | repo/.burin/prompts/notes.md",
		"speckit.plan | Claude Code, user | Specify. | home/.claude/commands/speckit.plan.md",
		"tidy | Cursor, project | Tidy. | repo/.cursor/commands/tidy.md",
	}
	if diff := cmp.Diff(want, facts(set.List(), dir)); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	want = []string{
		"fix | burin, user | Fix it, mine. | home/.burin/commands/fix.md < repo/sub/.burin/commands/fix.md",
		"fix | burin, project | Fix it. | repo/.burin/commands/fix.md < repo/sub/.burin/commands/fix.md",
		"FIX | Claude Code, project | Claude's fix. | repo/.claude/commands/FIX.md < repo/sub/.burin/commands/fix.md",
	}
	if diff := cmp.Diff(want, facts(set.Shadowed(), dir)); diff != "" {
		t.Errorf("shadowed (-want +got):\n%s", diff)
	}
	c, ok := set.Lookup("Git:Commit")
	if !ok || c.Hint != "[message] [scope]" || c.Model != "opus" || !cmp.Equal(c.Allow, []string{"Bash(git add:*, git commit:*)", "Read"}) {
		t.Errorf("git:commit: %v %+v", ok, c)
	}
	if c, ok := set.Lookup("prompts:look"); !ok || c.Name != "look" {
		t.Errorf("prompts:look: %v %+v", ok, c)
	}
}

func TestOtherFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"c/commands/a.md": "A", "x/prompts/b.md": "B", "g/opencode/command/o.md": "O"})
	vars := map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(dir, "c"), "CODEX_HOME": filepath.Join(dir, "x"), "XDG_CONFIG_HOME": filepath.Join(dir, "g"), "GJC_CODING_AGENT_DIR": "relative"}
	set, warnings := Discover(Options{Getenv: func(k string) string { return vars[k] }})
	if got := names(set); got != "a b o" || len(warnings) > 0 {
		t.Errorf("found %q, warnings %q", got, warnings)
	}
}

func names(s *Set) string {
	var out []string
	for _, c := range s.List() {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

// What is refused is named in one line, and the rest is there.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"secret.md":                             "secret",
		"outside/x.md":                          "secret",
		"repo/.burin/commands/good.md":          "Good.",
		"repo/.burin/commands/large.md":         strings.Repeat("x", MaxFile+1),
		"repo/.burin/commands/binary.md":        "a\x00b",
		"repo/.burin/commands/two words.md":     "No name.",
		"repo/.burin/commands/evil.md":          "---\nname: ../../etc\n---\nx",
		"repo/.burin/commands/folder.md/in.md":  "A folder with such a name.",
		"repo/.burin/commands/a/b/c/d/deep.md":  "Deep.",
		"repo/.burin/commands/a/b/c/d/e/too.md": "Too deep.",
		"repo/.pi/prompts":                      "A file where a folder should be.",
	})
	link := func(to, from string) {
		if err := os.Symlink(to, filepath.Join(dir, "repo", filepath.FromSlash(from))); err != nil {
			t.Skip(err)
		}
	}
	link("../../../secret.md", ".burin/commands/leads-out.md")
	link(filepath.Join(dir, "secret.md"), ".burin/commands/absolute.md")
	link("good.md", ".burin/commands/alias.md")
	link("nothing.md", ".burin/commands/dangling.md")
	if err := os.MkdirAll(filepath.Join(dir, "repo", ".claude"), 0o777); err != nil {
		t.Fatal(err)
	}
	link("../../outside", ".claude/commands")

	set, warnings := Discover(Options{Dir: filepath.Join(dir, "repo")})
	if got, want := names(set), "a:b:c:d:deep alias folder.md:in good"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	for i, w := range warnings {
		if strings.Contains(w, "\n") || strings.Contains(w, "secret\"") {
			t.Errorf("warning %q", w)
		}
		warnings[i] = filepath.ToSlash(strings.ReplaceAll(w, filepath.Join(dir, "repo")+string(filepath.Separator), ""))
	}
	want := []string{
		".burin/commands/absolute.md: left out: it is a link that leads out of its folder; put the file itself there",
		".burin/commands/binary.md: left out: it is not a text file",
		".burin/commands/dangling.md: left out: it is a link to nothing",
		`.burin/commands/evil.md: left out: "../../etc" cannot be a command's name; use letters, digits and -_.:`,
		".burin/commands/large.md: left out: it is larger than 256 KB",
		".burin/commands/leads-out.md: left out: it is a link that leads out of its folder; put the file itself there",
		`.burin/commands/two words.md: left out: "two words" cannot be a command's name; use letters, digits and -_.:`,
		".claude/commands: left out: it is a link that leads out of its folder; put the file itself there",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestManyCommands(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range MaxCommands + 10 {
		files[fmt.Sprintf(".burin/commands/c%04d.md", i)] = "x"
	}
	write(t, dir, files)
	set, warnings := Discover(Options{Dir: dir})
	if len(set.List()) != MaxCommands || len(warnings) != 1 || !strings.Contains(warnings[0], "c1000.md: left out with all that follow") {
		t.Errorf("%d commands, warnings %q", len(set.List()), warnings)
	}
}

// A file is read when it is used, and judged then again.
func TestExpandReadsTheFileThen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{".claude/commands/fix.md": "---\ndescription: x\n---\n\nFix !`rm -rf /` in @secret.txt: $1\n", ".claude/commands/empty.md": "---\ndescription: x\n---\n"})
	set, _ := Discover(Options{Dir: dir})
	for _, tt := range []struct{ text, want, used string }{
		{"/fix 'the bug' now", "Fix !`rm -rf /` in @secret.txt: the bug", "fix"},
		{"/FIX", "Fix !`rm -rf /` in @secret.txt: ", "fix"},
		{"/fix\nline one", "Fix !`rm -rf /` in @secret.txt: line", "fix"},
		{"/fixit now", "/fixit now", ""},
		{"/usr/bin/env is a path", "/usr/bin/env is a path", ""},
		{" /fix", " /fix", ""},
		{"/", "/", ""},
		{"fix", "fix", ""},
		{"", "", ""},
	} {
		got, used, err := set.Expand(t.Context(), tt.text, nil)
		name := ""
		if used != nil {
			name = used.Name
		}
		if got != tt.want || name != tt.used || err != nil {
			t.Errorf("Expand(%q) = %q, %q, %v; want %q, %q", tt.text, got, name, err, tt.want, tt.used)
		}
	}
	write(t, dir, map[string]string{".claude/commands/fix.md": "Changed: $ARGUMENTS"})
	if got, _, err := set.Expand(t.Context(), "/fix a  b", nil); got != "Changed: a  b" || err != nil {
		t.Errorf("a changed file: %q, %v", got, err)
	}
	file := filepath.Join(dir, ".claude", "commands", "fix.md")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../etc/passwd", file); err != nil {
		t.Skip(err)
	}
	if got, used, err := set.Expand(t.Context(), "/fix a", nil); got != "/fix a" || used != nil || err == nil || strings.Count(err.Error(), file) != 1 {
		t.Errorf("a file that became a link: %q, %v, %v", got, used, err)
	}
	if _, _, err := set.Expand(t.Context(), "/empty", nil); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty command: %v", err)
	}
}

func BenchmarkDiscover(b *testing.B) {
	dir := b.TempDir()
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf(".claude/commands/c%03d.md", i)] = "---\ndescription: Does a thing\nargument-hint: <what>\n---\n" + strings.Repeat("Do the thing with $ARGUMENTS.\n", 100)
	}
	write(b, dir, files)
	b.ReportAllocs()
	for b.Loop() {
		if set, _ := Discover(Options{Dir: dir}); len(set.List()) != 100 {
			b.Fatal(len(set.List()))
		}
	}
}

// The commands that are part of burin can be called, and a file of the name wins.
func TestBundled(t *testing.T) {
	set := new(Set).WithBundled()
	files, err := filepath.Glob("bundled/*.md")
	if err != nil || len(files) == 0 || len(set.List()) != len(files) {
		t.Fatalf("%d commands, %q, %v", len(set.List()), files, err)
	}
	for _, c := range set.List() {
		text, _, err := set.Expand(t.Context(), "/"+c.Name+" the docs", nil)
		if err != nil || c.Description == "" || !strings.Contains(text, "the docs") {
			t.Errorf("/%s: %q, %v", c.Name, text, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{".burin/commands/init.md": "Mine."})
	own, _ := Discover(Options{Dir: dir})
	if text, _, err := own.WithBundled().Expand(t.Context(), "/init", nil); text != "Mine." || err != nil {
		t.Errorf("a file is %q, %v", text, err)
	}
}
