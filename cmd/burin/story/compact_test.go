package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// /compact has the model write a summary; a line shows where it stands, and the model
// goes on from it.
func TestCompact(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		say(strings.Repeat("A long answer about the sky. ", 2000)), say("A short answer."),
		say("THE-SUMMARY of the first."), say("THE-SUMMARY of the second."), say("Onwards."),
	}, func(o *setting) { o.config = "compaction: {keepRecentTokens: 100}\n" })
	s.send("why is the sky blue?")
	s.WaitText("A long answer about the sky.")
	s.WaitGone("Working")
	s.send("shorter?")
	s.WaitText("A short answer.")
	s.WaitGone("Working")
	s.send("/compact")
	s.WaitText("condensed:")
	s.send("go on")
	s.WaitText("Onwards.")
	heard := s.heard(-1)
	if !strings.Contains(heard, "THE-SUMMARY") || strings.Contains(heard, "A long answer") {
		t.Errorf("the model read:\n%.2000s", heard)
	}
}
