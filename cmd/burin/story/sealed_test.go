package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// An encrypted session asks for its pass phrase on the screen, shows it to nobody, and
// says when it is the wrong one.
func TestSealedSession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	first := begin(t, []llmtest.Turn{say("Kept behind a lock.")}, func(o *setting) {
		o.args = []string{"--seal"}
		o.Env = []string{"BURIN_SESSION_PASSPHRASE=open sesame"}
	})
	first.send("keep this")
	first.WaitText("Kept behind a lock.")
	first.WaitGone("Working")
	first.Press("ctrl+d")
	first.WaitEnd()

	wrong := begin(t, nil, func(o *setting) {
		o.home, o.dir, o.quiet, o.args = first.home, first.dir, true, []string{"--continue"}
	})
	wrong.WaitText("ass phrase")
	wrong.Type("open barley\n")
	wrong.WaitText("does not open this session")
	if text := wrong.all(); strings.Contains(text, "barley") || strings.Contains(text, "behind a lock") {
		t.Errorf("something is shown that must not be:\n%s", text)
	}
	wrong.Press("ctrl+d")
	wrong.WaitEnd()

	right := begin(t, []llmtest.Turn{say("Still here.")}, func(o *setting) {
		o.home, o.dir, o.quiet, o.args = first.home, first.dir, true, []string{"--continue"}
	})
	right.WaitText("ass phrase")
	right.Type("open sesame\n")
	right.WaitText("Kept behind a lock.")
	right.send("are you there?")
	right.WaitText("Still here.")
	if text := right.all(); strings.Contains(text, "sesame") {
		t.Errorf("the pass phrase is shown:\n%s", text)
	}
}
