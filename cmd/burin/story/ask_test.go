package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// The model asks, the person chooses, and the model reads what.
func TestModelAsks(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}],"recommended":0}]}`),
		say("Postgres it is."),
	})
	s.send("set up a database")
	s.WaitText("Which database?")
	s.WaitText("(recommended)")
	s.Golden("ask", s.same())
	s.answer("down", "enter")
	s.WaitText("Postgres it is.")
	if heard := s.heard(-1); !strings.Contains(heard, "Postgres") {
		t.Errorf("the model did not read the answer:\n%s", heard)
	}
}
