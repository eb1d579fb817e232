package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// A session in a database is written, copied and taken on like any other.
func TestSessionInDatabase(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("A wombat.")}, func(o *setting) { o.args = []string{"--session", "talks.db#zoo"} })
	s.send("what digs?")
	s.WaitText("A wombat.")
	s.WaitGone("Working")
	s.send("/export zoo.md")
	s.WaitText("Written:")
	if text := s.read("zoo.md"); !strings.Contains(text, "what digs?") || !strings.Contains(text, "A wombat.") {
		t.Errorf("the export is:\n%s", text)
	}
	s.send("/dump")
	s.WaitText("copied the conversation")
	s.send("/session")
	s.WaitText("talks.db#zoo")
}

// A session that is kept nowhere has no file to write from, and says so.
func TestExportOfNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Fine.")}, func(o *setting) { o.args = []string{"--no-session"} })
	s.send("hello")
	s.WaitText("Fine.")
	s.WaitGone("Working")
	s.send("/export")
	s.WaitText("There is nothing to export")
	s.send("/copy")
	s.WaitText("copied the answer")
}

// A folder that is not there is no place to move to; burin stays.
func TestMoveNowhere(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Fine.")})
	s.send("hello")
	s.WaitText("Fine.")
	s.WaitGone("Working")
	s.send("/move ../nowhere")
	s.WaitText("There is no folder")
	to := filepath.Join(filepath.Dir(s.dir), "there")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	s.Type("/move ../there")
	s.WaitText("there/") // is proposed, and stands there already
	s.Press("enter")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
	moved, err := filepath.Glob(filepath.Join(s.home, "sessions", "*there*", "*.jsonl"))
	if err != nil || len(moved) != 1 {
		t.Errorf("moved: %v, %v", moved, err)
	}
}

// The list of tasks is written to TODO.md, and read from there.
func TestTodoFile(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.send("/todo append feed the wombat")
	s.WaitText("feed the wombat")
	s.send("/todo export")
	s.WaitText("Written:")
	if text := s.read("TODO.md"); !strings.Contains(text, "- [ ] feed the wombat") {
		t.Errorf("TODO.md is:\n%s", text)
	}
	write(t, filepath.Join(s.dir, "TODO.md"), "- [ ] clean the burrow\n")
	s.send("/todo import")
	s.WaitText("clean the burrow")
}
