package story_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
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
	s.WaitText("Nothing to export")
	s.send("/copy")
	s.WaitText("copied the answer")
}

// /move goes on in another folder, in the same terminal. One that is not there is no place
// to move to.
func TestMove(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Fine."), say("Here.")})
	s.send("hello")
	s.WaitText("Fine.")
	s.WaitGone("Working")
	s.send("/move ../nowhere")
	s.WaitText("No folder")
	to := filepath.Join(filepath.Dir(s.dir), "there")
	if err := os.MkdirAll(filepath.Join(to, ".burin", "commands"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, ".burin", "commands", "local.md"), []byte("Only there."), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Type("/move ../there")
	s.WaitText("there/") // is proposed, and stands there already
	s.Press("enter")
	if s.away {
		s.WaitText("Another burin has this session")
		return
	}
	s.WaitText("~/there")
	s.send(`!echo "<${PWD##*/}>"`) // the whole path may be longer than a row
	s.WaitText("<there>")
	s.send("/local") // a command of that folder
	s.WaitText("Here.")
	s.WaitGone("Working")
	if !strings.Contains(s.heard(-1), "Only there.") {
		t.Errorf("the command was not expanded: %s", s.heard(-1))
	}
	if turns := s.model.Requests()[1].Messages; len(turns) < 3 {
		t.Errorf("the moved session has only %d messages", len(turns))
	}
	s.send("/quit")
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

// A request is written down for a report of a fault: whole, without the key, and over
// nothing that is there.
func TestDumpRequest(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("A wombat."), say("Two.")}, func(o *setting) { o.files = map[string]string{"mine.json": "{}"} })
	s.send("/debug dump-next-request mine.json")
	s.WaitText("exists: choose")
	s.send("/debug dump-next-request out.json")
	s.WaitText("will be written to")
	s.send("what digs?")
	s.WaitText("The request is in")
	s.WaitText("A wombat.")
	s.WaitGone("Working")
	var request struct {
		Method, URL string
		Headers     map[string]string
		Body        struct{ Messages []any }
	}
	text := s.read("out.json")
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		t.Fatal(err)
	}
	if request.Method != "POST" || !strings.HasSuffix(request.URL, "/v1/messages") || len(request.Body.Messages) == 0 || request.Headers["Anthropic-Version"] == "" {
		t.Errorf("the request is %s", text)
	}
	if request.Headers["X-Api-Key"] != "[hidden]" || strings.Contains(text, "sk-") {
		t.Errorf("the key is in the request: %v", request.Headers)
	}
	if answer := s.read("out.json.res.log"); !strings.HasPrefix(answer, "HTTP/1.1 200 OK\n") || !strings.Contains(answer, "wombat") || !strings.Contains(answer, "message_stop") {
		t.Errorf("the answer is %s", answer)
	}
	if text := s.read("mine.json"); text != "{}" {
		t.Errorf("mine.json is %s", text)
	}
	s.send("and?") // is written nowhere
	s.WaitText("Two.")
	if strings.Contains(s.read("out.json"), "and?") {
		t.Error("the next request is written too")
	}
}
