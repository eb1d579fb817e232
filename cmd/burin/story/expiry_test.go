package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A question that nobody answers in time is answered with what the model recommends, and
// the model is told so.
func TestQuestionTimesOut(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}],"recommended":1}]}`),
		say("Postgres it is."),
	}, func(o *setting) { o.config = "ask: {timeout: 2}\n" })
	s.send("begin")
	s.WaitText("the recommended option is taken")
	s.WaitText("Postgres it is.")
	s.WaitGone("is taken")
	if heard := s.heard(-1); !strings.Contains(heard, "Nobody answered in time; taken: Postgres") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// In plan mode a question waits for the person.
func TestQuestionWaitsInPlanMode(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}],"recommended":1}]}`),
		say("SQLite it is."),
	}, func(o *setting) { o.config = "ask: {timeout: 1}\napproval: plan\n" })
	s.send("begin")
	s.WaitText("Which database?")
	if strings.Contains(s.all(), "is taken") {
		t.Error("the question does not wait")
	}
	s.answer("1")
	s.WaitText("SQLite it is.")
}

// A grant that lasts shows until when, and the list of rules has it.
func TestGrantExpires(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("write", `{"path":"one.txt","content":"first\n"}`), say("Written.")}, func(o *setting) {
		o.config = "permissions: {grantDays: 30}\n"
		o.Width = 120
	})
	s.send("write it")
	s.WaitText("Yes")
	s.answer("a")
	s.WaitText("Allow edits to `one.txt` in this session") // no day
	s.Press("right")
	s.WaitText("Allow edits to `one.txt` in this project for 30 days")
	s.answer("?")
	s.WaitText("(permissions.grantDays)")
	s.answer("enter")
	s.WaitText("Written.")
	s.WaitGone("Working")
	s.send("/permissions")
	s.WaitText("in this project, until ")
}
