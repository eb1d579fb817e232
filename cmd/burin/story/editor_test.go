package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// Ctrl+G opens the prompt in the person's own editor, which has the terminal meanwhile.
func TestExternalEditor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "editor")
	write(t, script, "#!/bin/sh\nprintf 'the editor is open\\n'\nread answer\nprintf ' and %s' \"$answer\" >>\"$1\"\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	s := begin(t, []llmtest.Turn{say("Both.")}, func(o *setting) { o.Env = []string{"EDITOR=" + script} })
	s.Type("this")
	s.WaitText("› this")
	s.Press("ctrl+g")
	s.WaitText("the editor is open")
	s.send("that")
	s.WaitText("› this")
	s.WaitText("and that")
	s.Press("enter")
	s.WaitText("Both.")
	if heard := s.heard(-1); !strings.Contains(heard, "this") || !strings.Contains(heard, "and that") {
		t.Errorf("the model read:\n%s", heard)
	}
}
