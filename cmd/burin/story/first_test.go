package story_test

import (
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// Who starts burin for the first time is led to a session that works, once.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) { o.first, o.quiet = true, true })
	s.WaitText("The variable ANTHROPIC_API_KEY is set")
	for _, step := range []string{"Keys and logins", "Which model shall answer?", "Which row looks right", "Themes", "What may burin do without asking?"} {
		s.Press("tab")
		s.WaitText(step)
	}
	s.Press("down", "enter")
	s.WaitText("Enter begins")
	s.Press("enter")
	s.WaitText("Ask anything")
	s.WaitText("auto-edit")
	s.send("hello")
	s.WaitText("Good morning.")
	s.WaitGone("Working")
	s.configured("setupVersion: 1")
	s.configured("approval: auto-edit")
	s.leave()
	s = begin(t, nil, func(o *setting) { o.first, o.home, o.dir = true, s.home, s.dir })
	s.WaitText("Ask anything")
}

// Without a key the wizard says what is missing, and every place that needs a session
// says so too.
func TestFirstRunWithoutKey(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, func(o *setting) {
		o.first, o.quiet, o.noKey = true, true, true
	})
	s.WaitText("Keys and logins")
	s.Press("ctrl+c")
	s.WaitText("Missing: a model that burin may ask")
	s.Press("enter")
	s.WaitText("Ask anything")
	s.send("hello")
	s.WaitText("burin keys add anthropic")
}
