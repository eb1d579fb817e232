package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// What one may want to know of a session is a command away.
func TestReports(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	for _, r := range []struct {
		command string
		shows   []string
	}{
		{"/session", []string{"This session", "anthropic/claude-opus-4-5", "requests"}},
		{"/context", []string{"tools", "instructions of burin"}},
		{"/cost", []string{"By day", "claude-opus-4-5"}},
		{"/help", []string{"/resume", "resume another session"}},
		{"/permissions", []string{"Permissions"}},
		{"/rules", []string{"17 rules: 17 stream", "burin, built in"}},
		{"/tools", []string{"bash"}},
		{"/transcript", []string{"message 3 of 3", "Because of scattering."}},
	} {
		s.send(r.command)
		for _, text := range r.shows {
			s.WaitText(text)
		}
		s.Press("esc")
		s.WaitText("Ask anything")
	}
}

// /export writes the conversation as a page.
func TestExport(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/export talk.html")
	s.WaitText("Written:")
	s.WaitText("talk.html")
	page := s.read("talk.html")
	if !strings.Contains(page, "<html") || !strings.Contains(page, "Because of scattering.") {
		t.Errorf("the page is\n%.500s", page)
	}
}

// What was pinned is shown by /unpin and taken back by a choice, or by its words.
func TestUnpin(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("As you wish.")})
	for _, words := range []string{"use tabs", "never push to main", "never touch generated files"} {
		s.send("/pin " + words)
		s.WaitText("Pinned: " + words)
	}
	s.send("/unpin tabs")
	s.WaitText("No longer pinned: use tabs")
	s.send("/unpin never")
	s.WaitText("Enter unpins it")
	s.Press("down")
	s.WaitText("→ never touch generated files")
	s.Press("enter")
	s.WaitText("No longer pinned: never touch generated files")
	s.send("/unpin")
	s.WaitText("Enter unpins it")
	s.Press("enter")
	s.WaitText("No longer pinned: never push to main")
	s.send("/unpin")
	s.WaitText("Nothing is pinned.")
	s.Press("esc")
	s.WaitText("Ask anything")
}

// A rule that was granted is shown by /permissions and can be taken back; then the
// question comes again.
func TestRevoke(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"1"}`), say("The first."),
		call("write", `{"path":"one.txt","content":"2"}`), say("The second."),
	})
	s.send("write")
	s.WaitText("Yes")
	s.answer("a")
	s.WaitText("→ 2 Allow")
	s.answer("enter")
	s.WaitText("The first.")
	s.WaitGone("Working")
	s.send("/permissions")
	s.WaitText("one.txt")
	s.WaitText("Enter revokes a rule")
	s.Press("enter")
	s.WaitText("Revoke this rule?")
	s.answer("y")
	s.WaitText("rules: burin asks about everything but looking")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("write again")
	s.WaitText("Yes")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err != nil || s.read("one.txt") != "1" {
		t.Error("it was written without a question")
	}
	s.answer("n")
	s.WaitText("The second.")
}
