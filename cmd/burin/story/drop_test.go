package story_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A session that is kept in a database goes to the trash of that, too.
func TestDropInDatabase(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering.")}, func(o *setting) { o.args = []string{"--session", "talks.db"} })
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/drop")
	s.WaitText("Delete this session?")
	s.answer("y")
	s.WaitText("Moved to the trash of the database. To restore it")
	s.leave()
}
