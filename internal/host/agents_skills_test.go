package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/llm"
)

// An agent reads the skills of its definition before its task, by either name of the key; what is
// missing is told once for all agents of a definition.
func TestAgentsKnowSkills(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		"burin/skills/migrate/SKILL.md": "---\nname: migrate\ndescription: d\n---\nNumber migrations. See ${CLAUDE_SKILL_DIR}/list.\n",
		"burin/skills/review/SKILL.md":  "---\nname: review\ndescription: d\n---\nRead the diff twice.\n",
		"burin/skills/mine/SKILL.md":    "---\nname: mine\ndescription: d\ndisable-model-invocation: true\n---\nOnly for people.\n",
		"burin/skills/huge/SKILL.md":    "---\nname: huge\ndescription: d\n---\n" + strings.Repeat("long line\n", 14_000),
		"burin/agents/tables.md":        "---\nname: tables\ndescription: d\nautoloadSkills: [migrate, migrant, mine, huge]\n---\nTables.\n",
		"burin/agents/critic.md":        "---\nname: critic\ndescription: d\nskills: review\n---\nCriticize.\n",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var warned []string
	o := opened(t, officeOptions{home: home, change: func(s *host.Session) {
		s.Warn = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			warned = append(warned, line)
		}
	}}, func(s said) []llm.Event {
		switch {
		case s.who == "" && s.turn == 0:
			return tasks("tables", false, "one: do one", "two: do two")
		case s.who == "" && s.turn == 1:
			return tasks("critic", false, "three: do three")
		}
		return nil
	})
	if out := o.prompt("go"); out.Err != nil {
		t.Fatal(out.Err)
	}
	for who, want := range map[string][]string{
		"one": {"<skill name=\"migrate\">", "Number migrations. See " + filepath.Join(home, "burin", "skills", "migrate") + "/list."}, "two": {"Number migrations."}, "three": {"Read the diff twice."},
	} {
		all := o.requests(who)
		if len(all) == 0 {
			t.Fatalf("%s has not begun", who)
		}
		for _, text := range want {
			if !strings.Contains(all[0].System, text) {
				t.Errorf("%s does not know %q", who, text)
			}
		}
		for _, text := range []string{"Only for people.", "long line"} {
			if strings.Contains(all[0].System, text) {
				t.Errorf("%s knows %q", who, text)
			}
		}
	}
	if strings.Contains(o.requests("three")[0].System, "Number migrations.") || strings.Contains(o.requests("")[0].System, "Number migrations.") {
		t.Error("others know the skills of an agent")
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"agent tables begins without skills that its file names: no skill migrant (did you mean migrate?); only a person may call mine (disable-model-invocation); huge: more than 128 KB of skills"}
	if diff := cmp.Diff(want, slices.DeleteFunc(warned, func(line string) bool { return !strings.Contains(line, "skill") })); diff != "" {
		t.Error(diff)
	}
}
