package story_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A word that is no command begins the conversation, and so does a command behind "--".
func TestOneWord(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"hello"}, {"--", "undo"}} {
		s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) { o.args, o.quiet = args, true })
		s.WaitText("Good morning.")
		s.WaitGone("Working")
		s.leave()
	}
}

// Lists and pages can be read in every width; an empty list says what to do.
func TestNarrowPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, size := range []struct{ width, height int }{{100, 30}, {40, 24}, {20, 16}} {
		s := begin(t, nil, func(o *setting) {
			o.Options, o.quiet = robot.Options{Timeout: waitTime, Width: size.width, Height: size.height}, true
		})
		s.WaitText("Ask anything")
		for _, page := range []struct{ command, begins, shows string }{
			{"/help", "Commands", "/resume"},
			{"/changelog", "What changed", "Unreleased"},
			{"/resume", "Resume a", "No sessions"},
		} {
			s.send(page.command)
			s.WaitText(page.begins)
			s.WaitText(page.shows)
			t.Logf("%s at %d columns:\n%s", page.command, size.width, s.Text())
			s.Press("esc")
			s.WaitText("Ask anything")
		}
		s.leave()
	}
}
