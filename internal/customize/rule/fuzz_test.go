package rule

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/llm"
)

// Whatever a rule says, for whichever program: each warning names its file, and what is left of it
// can be used.
func FuzzDiscover(f *testing.F) {
	for _, text := range []string{
		"Text.", "---\nglobs: \"**/*.{ts\"\nalwaysApply: maybe\n---\nText.", "---\ncondition: [\"(a\", 'b', \"*.rs\"]\nscope: tool:edit(*.go), x\n---\nText.",
		"---\ntrigger: model_decision\n---\n", "---\napplyTo: '**'\ninterruptMode: never\n---\nText", "---\npaths:\n  - a\n  - [b\n---\n\x00", "---\ncondition: (?=a)(?<!b)c\n---\nx",
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	places := []string{".burin/rules/a.md", ".claude/rules/b.md", ".cursor/rules/c.mdc", ".windsurf/rules/d.md", ".clinerules/e.md", ".github/instructions/f.instructions.md"}
	for _, name := range places {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(filepath.FromSlash(name))), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	o := Options{Options: source.Options{Dir: dir, Root: dir}, NoBuiltin: true}
	named := regexp.MustCompile(`(:\d+)?: `)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range places {
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, warnings := Discover(o)
		for _, w := range warnings {
			if !strings.HasPrefix(w, dir) || !named.MatchString(w) {
				t.Errorf("%q names no file", w)
			}
		}
		set.Sections()
		set.For(filepath.Join(dir, "a.go"), dir)
		InFolder(o, dir)
		if m := NewMonitor(set, StreamOptions{Workspace: dir}); m != nil {
			answer := m.Answer()
			answer.See(&llm.Event{Type: llm.EventTextDelta, Delta: text})
			answer.See(&llm.Event{Type: llm.EventTextEnd})
		}
	})
}
