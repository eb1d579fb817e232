package memorize

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/memory"
)

func TestFiles(t *testing.T) {
	base := map[string]map[string]string{"project": {"skills/old/SKILL.md": "x\n"}, "user": {}}
	for answer, want := range map[string]map[string]map[string]string{
		"UNCHANGED": {"project": {}, "user": {}},
		"Here you are:\n<file path=\"project/MEMORY.md\">\n- a\n\n- b\x1b\n</file>\nand <file path=\"user/summary.md\">c</file>": {"project": {"MEMORY.md": "- a\n\n- b␛\n"}, "user": {"summary.md": "c\n"}},
		"<delete path=\"project/skills/old/SKILL.md\"/><delete path=\"project/skills/none/SKILL.md\"/>":                          {"project": {"skills/old/SKILL.md": ""}, "user": {}},
		"<file path=\"project/MEMORY.md\"><delete path=\"project/skills/old/SKILL.md\"/></file>":                                 {"project": {"MEMORY.md": "<delete path=\"project/skills/old/SKILL.md\"/>\n"}, "user": {}},
		"": nil, "Sure.": nil, "<file path=\"project/MEMORY.md\">\nno end": nil, "<file path=\"project/MEMORY.md\"></file>": nil,
		"<file path=\"project/../x.md\">a</file>": nil, "<file path=\"etc/passwd\">a</file>": nil, "<file path=\"project/raw/a.md\">a</file>": nil,
		"<file path=\"project/notes.md\">a</file>": nil,
	} {
		got, err := files(answer, base)
		if (err == nil) != (want != nil) || err != nil && !errors.Is(err, errUnusable) {
			t.Errorf("%q: %v", answer, err)
		} else if !cmp.Equal(got, want) {
			t.Errorf("%q: %s", answer, cmp.Diff(want, got))
		}
	}
}

// Whatever a model answers, only files of the memory come of it.
func FuzzFiles(f *testing.F) {
	f.Add("<file path=\"project/MEMORY.md\">\n- a\n</file>")
	f.Add("<file path=\"user/skills/a/SKILL.md\"><file path=\"project/..\">\n</file></file><delete path=\"project/skills/../x\"/>")
	f.Fuzz(func(t *testing.T, answer string) {
		next, err := files(answer, map[string]map[string]string{"project": {"skills/a/SKILL.md": "x"}})
		if err != nil {
			return
		}
		for part, all := range next {
			for name, text := range all {
				if err := memory.Check(name, text); err != nil || part != "project" && part != "user" {
					t.Errorf("%s/%s: %v", part, name, err)
				}
			}
		}
	})
}
