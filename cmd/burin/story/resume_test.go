package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// again starts burin once more for the person of an earlier story.
func (s *story) again(turns []llmtest.Turn, args ...string) *story {
	s.t.Helper()
	return begin(s.t, turns, func(o *setting) { o.home, o.dir, o.args = s.home, s.dir, args })
}

// leave ends burin as people do.
func (s *story) leave() {
	s.t.Helper()
	s.Press("ctrl+d")
	if code := s.WaitEnd(); code != 0 {
		s.t.Errorf("burin ended with %d", code)
	}
}

// What was said yesterday is there again with --continue, and the model knows it.
func TestContinue(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.leave()
	s = s.again([]llmtest.Turn{say("At dusk.")}, "--continue")
	s.WaitText("Because of scattering.")
	s.sees("why is the sky blue?")
	s.send("and when is it red?")
	s.WaitText("At dusk.")
	if heard := s.heard(0); !strings.Contains(heard, "why is the sky blue?") || !strings.Contains(heard, "Because of scattering.") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// /resume shows the sessions, finds by their words and opens one.
func TestResumeSelector(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering."), say("Nests."), say("As twilight.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/new")
	s.send("what do birds build?")
	s.WaitText("Nests.")
	s.WaitGone("Working")
	s.send("/resume")
	s.WaitText("Resume a session")
	s.WaitText("what do birds build?")
	s.WaitText("why is the sky blue?")
	s.Type("scattering")
	s.WaitText("1 of 2")
	s.WaitText("sky blue")
	s.Press("enter")
	s.WaitText("Ask anything")
	s.send("and red?")
	s.WaitText("As twilight.")
	if heard := s.heard(-1); !strings.Contains(heard, "scattering") || strings.Contains(heard, "Nests") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// /fork goes on in a copy: what is said there is not in the first session.
func TestFork(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering."), say("At dusk.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/fork")
	s.WaitFor("the copy", twiceSaid("Because of scattering."))
	s.send("and red?")
	s.WaitText("At dusk.")
	if heard := s.heard(-1); !strings.Contains(heard, "Because of scattering.") {
		t.Errorf("the model read:\n%s", heard)
	}
	if n := len(s.sessions()); n != 2 {
		t.Errorf("there are %d sessions", n)
	}
}

// /branch begins a session of its own before an earlier prompt, with its words in the
// editor.
func TestBranch(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering."), say("Four."), say("Six.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("two and two?")
	s.WaitText("Four.")
	s.WaitGone("Working")
	s.send("/branch")
	s.WaitText("Session tree")
	s.Press("enter")
	s.WaitText("› two and two?")
	s.WaitFor("the branch", twiceSaid("Because of scattering."))
	s.Press("ctrl+u")
	s.send("three and three?")
	s.WaitText("Six.")
	heard := s.heard(-1)
	if !strings.Contains(heard, "Because of scattering.") || strings.Contains(heard, "Four.") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// /new begins anew: the model knows nothing of what was said before.
func TestNew(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering."), say("Nests.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/new")
	s.WaitText("New session.")
	s.send("what do birds build?")
	s.WaitText("Nests.")
	if heard := s.heard(-1); strings.Contains(heard, "scattering") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A session gets a name, is deleted after a question, and lies in the trash.
func TestRenameAndDrop(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/rename About the sky")
	s.send("/resume")
	s.WaitText("Resume a session")
	s.WaitText("About the sky")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("/drop")
	s.WaitText("Delete this session?")
	s.answer("y")
	s.WaitText("Moved to the trash. To restore it")
	if left := s.sessions(); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
	s.send("/session") // there is a new one
	s.WaitText("not saved yet")
}

// /handoff has the model write what a new session has to know.
func TestHandoff(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Because of scattering."), say("THE-HANDOFF: the sky is done."), say("On with birds.")})
	s.send("why is the sky blue?")
	s.WaitText("Because of scattering.")
	s.WaitGone("Working")
	s.send("/handoff birds")
	s.WaitText("THE-HANDOFF: the sky is done.")
	s.send("now birds")
	s.WaitText("On with birds.")
	heard := s.heard(-1)
	if !strings.Contains(heard, "THE-HANDOFF") || strings.Contains(heard, "Because of scattering.") {
		t.Errorf("the model read:\n%s", heard)
	}
}
