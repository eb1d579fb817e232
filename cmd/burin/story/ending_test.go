package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Who quits is told what stops with the session, and so is who is attached to it.
func TestQuitNamesWhatStops(t *testing.T) {
	t.Parallel()
	first := begin(t, []llmtest.Turn{
		call("bash", `{"command":"sleep 1000","background":true}`), say("It sleeps."), call("bash", `{"command":"touch begun; sleep 2000"}`), say("Never said."),
	}, func(o *setting) { o.config = "approval: full\n" })
	first.send("sleep for long")
	first.WaitText("It sleeps.")
	first.WaitGone("Working")
	second := first.beside("attach")
	second.WaitText("It sleeps.")
	first.send("longer than that")
	first.begun()
	first.Press("ctrl+d")
	first.Press("ctrl+d")
	first.WaitEnd()
	for _, s := range []*story{first, second} {
		s.becomes(func() string {
			if all := strings.Join(strings.Fields(s.all()), " "); !strings.Contains(all, "stopped with the session: touch begun; sleep 2000, sleep 1000 (job ") {
				return "what stops is not named"
			}
			return ""
		})
	}
	second.WaitText("continues here")
}

// Where nothing runs nothing is named.
func TestQuitNamesNothing(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"sleep 0","background":true}`), call("job_poll", `{"job":"1","wait":60}`), say("It is over.")}, func(o *setting) { o.config = "approval: full\n" })
	s.send("do it")
	s.WaitText("It is over.")
	s.WaitGone("Working")
	s.leave()
	if strings.Contains(s.all(), "stopped with") {
		t.Errorf("the screen:\n%s", s.all())
	}
}
