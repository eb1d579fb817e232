package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// An editor is told of skills as commands, and gives one to the model.
func TestEditorSkills(t *testing.T) {
	t.Parallel()
	r := openEditor(t, map[string]string{
		".agents/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Formats code.\n---\nTabs, always.\n",
	}, []llmtest.Turn{say("Tidied.")})
	r.hello(object{})
	id := r.begin()
	r.until("the skills", func() bool {
		return slices.ContainsFunc(r.frames, func(f string) bool {
			return strings.Contains(f, "available_commands_update") && strings.Contains(f, `"name":"skill:tidy","description":"Formats code."`)
		})
	})
	r.say(id, "/skill:tidy main.go")
	if heard := r.last(); !strings.Contains(heard, "Use the skill tidy: main.go") || !strings.Contains(heard, "Tabs, always.") {
		t.Errorf("the model read %s", heard)
	}
}
