package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
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

// Several questions are answered one by one, in own words where none fits, and shown
// before they are sent.
func TestModelAsksMore(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}]},`+
			`{"id":"os","question":"Which systems?","options":[{"label":"Linux"},{"label":"macOS"},{"label":"Windows"}],"multi":true}]}`),
		say("Noted."),
	})
	s.send("set it up")
	s.WaitText("Which database?")
	s.answer("tab")
	s.Type("DuckDB\n")
	s.WaitText("Which systems?")
	s.answer("space", "down", "space", "enter") // after a pause: Enter right behind words is their end
	s.WaitText("Your answers")
	s.Golden("answers", s.same())
	s.Press("enter")
	s.WaitText("Noted.")
	heard := s.heard(-1)
	for _, want := range []string{"DuckDB", "Linux", "macOS"} {
		if !strings.Contains(heard, want) {
			t.Errorf("the model did not read %q:\n%s", want, heard)
		}
	}
}

// Who does not want to answer says so with Esc; the model goes no further.
func TestModelAsksInVain(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}`),
	})
	s.send("set it up")
	s.WaitText("A question for you")
	s.answer("esc")
	s.WaitText("Ask anything")
	s.WaitGone("Working")
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// The model's question stands on the screen once.
func TestModelAsksOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"os","question":"Which systems?","options":[{"label":"Linux"},{"label":"macOS"}],"multi":true}]}`),
		say("Noted."),
	})
	s.send("set it up")
	s.WaitText("A question for you")
	if n := strings.Count(s.Text(), "Which systems?"); n != 1 {
		t.Errorf("it stands there %d times:\n%s", n, s.Text())
	}
	s.answer("1")
	s.answer("enter")
	s.WaitText("Noted.")
	s.WaitText("☑ Linux")
}
