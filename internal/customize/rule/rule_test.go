package rule

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/source"
)

// found lists rules: name, use and what is off about them.
func found(s *Set) (list []string) {
	for _, r := range s.List() {
		line := r.Name + " " + string(r.Use)
		if r.Off != "" {
			line += " off"
		}
		list = append(list, line)
	}
	return list
}

// Each program's rules are found where its documentation puts them, and mean what they mean
// there.
func TestDiscoverFormats(t *testing.T) {
	home, repo := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		"repo/.burin/rules/plain.md":                            "Text.",
		"repo/.burin/rules/web/forms.mdc":                       "---\r\ndescription: Forms\r\n---\r\nText.",
		"repo/.burin/rules/nothing.md":                          "---\nowner: me\n---\nText.",
		"repo/.burin/rules/off.md":                              "---\nenabled: false\n---\nText.",
		"repo/.omp/RULES.md":                                    "Sticky.",
		"home/.omp/agent/rules/mine.md":                         "---\nalwaysApply: true\n---\nText.",
		"repo/.pi/rules/stream.md":                              "---\nttsr_trigger: \"foo\\\\(, bar\"\n---\nText.",
		"repo/.claude/rules/go.md":                              "---\npaths: \"**/*.go\"\n---\nText.",
		"repo/.claude/rules/all.md":                             "---\ndescription: All\n---\nText.",
		"repo/.agent/rules/agent.md":                            "---\ndescription: Agent\n---\nText.",
		"repo/.cursor/rules/globs.mdc":                          "---\ndescription:\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\nText.",
		"repo/.cursor/rules/manual.mdc":                         "---\ndescription:\nglobs:\nalwaysApply: false\n---\nText.",
		"repo/.cursor/rules/plain.mdc":                          "Hidden by burin's of this name.",
		"repo/.windsurf/rules/decision.md":                      "---\ntrigger: model_decision\ndescription: Decide\n---\nText.",
		"repo/.windsurf/rules/glob.md":                          "---\ntrigger: glob\nglobs: src/**\n---\nText.",
		"repo/.windsurf/rules/wmanual.md":                       "---\ntrigger: manual\n---\nText.",
		"home/.codeium/windsurf/memories/global_rules.md":       "Global.",
		"repo/.clinerules/01-base.md":                           "Text.",
		"repo/.clinerules/paths.md":                             "---\npaths:\n  - \"src/**\"\n---\nText.",
		"repo/.clinerules/workflows/release.md":                 "A workflow.",
		"home/Documents/Cline/Rules/global.md":                  "Text.",
		"repo/.github/instructions/go/go.instructions.md":       "---\napplyTo: \"**/*.go\"\n---\nText.",
		"repo/.github/instructions/copilot-all.instructions.md": "---\napplyTo: \"**\"\n---\nText.",
		"repo/.github/instructions/described.instructions.md":   "---\ndescription: Described\n---\nText.",
		"repo/.github/instructions/README.md":                   "No rule.",
		"home/.copilot/copilot-instructions.md":                 "Mine.",
	} {
		root, rest, _ := strings.Cut(path, "/")
		write(t, text, map[string]string{"home": home, "repo": repo}[root], filepath.FromSlash(rest))
	}
	s, warnings := Discover(Options{Options: source.Options{Dir: filepath.Join(repo), Root: repo, UserHome: home}, NoBuiltin: true})
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	got := slices.DeleteFunc(found(s), func(l string) bool { return strings.HasPrefix(l, "rs-") || strings.HasPrefix(l, "ts-") })
	want := []string{
		"nothing manual", "plain always", "web/forms described", "RULES always", "mine always", "stream stream",
		"all always", "go files", "agent described", "globs files", "manual manual", "plain manual off",
		"decision described", "glob files", "wmanual manual", "global_rules always", "01-base always", "paths files", "global always",
		"copilot-all always", "described described", "go/go files", "copilot-instructions always",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range s.List() {
		switch r.Name {
		case "stream":
			if diff := cmp.Diff([]string{`foo\(, bar`}, r.Conditions()); diff != "" {
				t.Error(diff)
			}
		case "globs":
			if diff := cmp.Diff([]string{"*.ts", "*.tsx"}, r.Globs); diff != "" {
				t.Error(diff)
			}
		}
	}
	if text, err := s.Read(context.Background(), "rule://web/forms"); text != "Text." || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
}

// A file that is a .clinerules is a rule, too.
func TestDiscoverFile(t *testing.T) {
	s, _ := set(t, map[string]string{".clinerules": "Cline."})
	if diff := cmp.Diff([]string{"clinerules always"}, found(s)[:1]); diff != "" {
		t.Error(diff)
	}
}

// A repository is not the user: its links must not bring other files into a prompt.
func TestDiscoverDoesNotLeave(t *testing.T) {
	repo, outside := t.TempDir(), t.TempDir()
	write(t, "secret", outside, "secret.md")
	write(t, "fine", repo, ".burin", "rules", "fine.md")
	if err := os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(repo, ".burin", "rules", "link.md")); err != nil {
		t.Skip("no links here:", err)
	}
	if err := os.Symlink(outside, filepath.Join(repo, ".cursor")); err != nil {
		t.Fatal(err)
	}
	write(t, "secret", outside, "rules", "other.mdc")
	s, warnings := Discover(Options{Options: source.Options{Dir: repo, Root: repo, Off: []string{}}})
	for _, r := range s.List() {
		if strings.Contains(r.Text, "secret") {
			t.Errorf("%s holds a file from outside", r.Path)
		}
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "link.md: left out: it is a link that leads out") {
		t.Errorf("warnings %q", warnings)
	}
}

// What is too much is cut or left out, and said.
func TestDiscoverLimits(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) { write(t, text, dir, ".burin", "rules", name) }
	at("long.md", strings.Repeat("x", MaxText+10))
	at("huge.md", strings.Repeat("x", source.MaxFile+1))
	at("binary.md", "a\x00b")
	at("empty.md", "---\ndescription: Empty\n---\n")
	at("pattern.md", "---\ncondition: "+strings.Repeat("a", maxCondition)+"\n---\nText.")
	_, warnings := Discover(Options{Options: source.Options{Dir: dir, Root: dir}})
	text := strings.ReplaceAll(strings.Join(warnings, "\n"), filepath.Join(dir, ".burin", "rules")+string(filepath.Separator), "")
	want := "binary.md: left out: it is not a text file\nempty.md: left out: it has no text\nhuge.md: left out: it is larger than 256 KB\n" +
		"long.md: only the first 32 KB are used\npattern.md:2: a pattern may have 900 bytes; this one is left out"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	for i := range MaxRules {
		at(fmt.Sprintf("r%03d.md", i), strings.Repeat("always ", 50))
	}
	s, more := Discover(Options{Options: source.Options{Dir: dir, Root: dir}})
	if last := more[len(more)-1]; !strings.Contains(last, "500 files of rules were found before") {
		t.Errorf("the last warning is %q", last)
	}
	sections, left := s.Sections()
	size := 0
	for _, s := range sections {
		size += len(s.Text)
	}
	if size > maxAlways+1000 || len(left) == 0 || !strings.Contains(left[0], "left out of the system prompt") {
		t.Errorf("%d bytes in the system prompt, %q", size, left)
	}
	again, _ := s.Sections()
	if diff := cmp.Diff(sections, again); diff != "" {
		t.Error("the system prompt changes:", diff)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		glob, file string
		want       bool
	}{
		{"*.ts", "/r/a/b.ts", true},
		{"*.ts", "/r/a/b.tsx", false},
		{"**", "/r/a/b.ts", true},
		{"**/*.ts", "/r/b.ts", true},
		{"src/**/*.{ts,tsx}", "/r/src/a/b.tsx", true},
		{"src/*.ts", "/r/src/a/b.ts", false},
		{"/src", "/r/src/a/b.ts", true},
		{"docs", "/r/docs/a.md", true},
		{"docs/", "/r/x/docs/a.md", false},
		{"*.ts", "/elsewhere/b.ts", false},
		{"[ab].go", "/r/b.go", true},
	} {
		if got := matches([]string{c.glob}, filepath.FromSlash(c.file), filepath.FromSlash("/r")); got != c.want {
			t.Errorf("%s and %s: %v", c.glob, c.file, got)
		}
	}
}

// FuzzRule: whatever a file says, it is read without a panic, and its patterns may be tried.
func FuzzRule(f *testing.F) {
	f.Add("---\ncondition: [a, 'b']\nscope: tool:edit(*.ts)\nglobs: *.go\ninterruptMode: never\n---\ntext", "a b", uint8(0))
	f.Add("---\r\ntrigger: glob\nglobs:\n- \"{a,\"\n---\nx", "x", uint8(8))
	f.Fuzz(func(t *testing.T, file, text string, which uint8) {
		sources := source.All()
		id := sources[int(which)%len(sources)].ID
		r := Rule{Name: "r"}
		parse(&r, id, file, func(line int, format string, args ...any) {
			if line < 2 || strings.Contains(fmt.Sprintf(format, args...), "%!") {
				t.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
			}
		})
		if r.Use == "" {
			t.Errorf("a rule without a use: %+v", r)
		}
		s := newSet([]Rule{r}, Options{})
		s.Sections()
		s.For(filepath.FromSlash("/w/a.ts"), filepath.FromSlash("/w"))
		if m := NewMonitor(s, StreamOptions{Workspace: filepath.FromSlash("/w")}); m != nil && len(text) < 200 {
			hit(m, saying(text, 3))
			hit(m, calling("edit", map[string]string{"path": text, "patch": text}, 3))
		}
	})
}
