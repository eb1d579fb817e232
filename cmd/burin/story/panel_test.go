package story_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The list of tasks stays in view above the prompt while the model works on it.
func TestTodoPanel(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("todo", `{"ops":[{"op":"init","list":[{"phase":"Build","items":["Write the parser","Write its tests"]}]}]}`),
		say("Planned."), say("There is more to do."),
	}, func(o *setting) { o.Width, o.Height = 80, 32 }) // nothing scrolls, whatever is drawn in between
	s.send("plan it")
	s.WaitText("There is more to do.") // burin reminds it once of what is open
	s.WaitGone("Working")
	s.Golden("todo", s.same())
	s.send("/todo done Write the parser")
	s.WaitText("1 of 2 done")
	s.send("/todo append Ship it")
	s.WaitText("☐ Ship it")
}

// A command in the background is shown while it runs, and can be stopped.
func TestBackgroundJob(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"echo started; exec sleep 1000","background":true}`), say("It runs."),
	}, func(o *setting) { o.config = "approval: full\n" })
	s.send("start it")
	s.WaitText("It runs.")
	s.WaitGone("Working")
	s.WaitText("│ 1 job ")
	s.sees("  1 echo started; exec sleep 1000")
	s.send("/jobs")
	s.WaitText("Background jobs")
	s.Press("enter")
	s.WaitText("Stop this job?")
	s.answer("y")
	s.WaitGone(" 1 job ")
}
