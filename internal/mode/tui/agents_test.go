package tui

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/session"
)

func ids(l []session.Agent) (ids []string) {
	for _, a := range l {
		ids = append(ids, a.ID)
	}
	return ids
}

// Agents of a call stand together in the order of its tasks, whoever begins or is done first.
func TestAgentsStayInTheirPlaces(t *testing.T) {
	var l agentList
	put := func(id, call string, index int, state session.AgentState) {
		l.put(&session.Agent{ID: id, CallID: call, Index: index, State: state})
	}
	put("a1", "a", 1, session.AgentRunning)
	put("b0", "b", 0, session.AgentQueued)
	put("a2", "a", 2, session.AgentRunning)
	put("a0", "a", 0, session.AgentRunning)
	put("b1", "b", 1, session.AgentQueued)
	want := []string{"a0", "a1", "a2", "b0", "b1"}
	if diff := cmp.Diff(want, ids(l.all)); diff != "" {
		t.Error(diff)
	}
	put("a1", "a", 1, session.AgentIdle)
	put("b1", "b", 1, session.AgentRunning)
	if diff := cmp.Diff(want, ids(l.all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a0", "a2", "b0", "b1"}, ids(l.active)); diff != "" {
		t.Error(diff)
	}
	var again agentList
	again.set(l.all)
	if diff := cmp.Diff(ids(l.all), ids(again.all)); diff != "" {
		t.Error(diff)
	}
}

// The panel of agents costs no timer: nothing is drawn again while nothing happens.
func TestAgentsAreIdleWhileNothingHappens(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	now := time.Now().Add(time.Hour) // what the start has to say is over
	a.env.Now = func() time.Time { return now }
	a.facts.agentChanged(&session.Agent{ID: "one", State: session.AgentRunning, Description: "look", Started: now})
	a.frame()
	if next := a.frame(); next != 0 {
		t.Errorf("it is drawn again after %v", next)
	}
}

// Words that a person types to an agent while a question appears in front of it stay with it.
func TestTypedToAnAgentBehindAQuestion(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	v := newAgentView(a.groups.subagents, "one")
	a.groups.subagents.view = v
	a.composer.typedOn(key.Press{Key: "x", Text: "x"})
	if v.editor.Text() != "x" || !a.composer.editor.Empty() {
		t.Errorf("the agent has %q, the prompt %q", v.editor.Text(), a.composer.editor.Text())
	}
	// Who goes back finds them again, and in the prompt when the session is left.
	v.leave()
	if again := newAgentView(a.groups.subagents, "one"); again.editor.Text() != "x" {
		t.Errorf("opened again, the agent has %q", again.editor.Text())
	} else {
		a.groups.subagents.view = again
	}
	a.groups.subagents.reset()
	if a.composer.editor.Text() != "x" {
		t.Errorf("the prompt has %q", a.composer.editor.Text())
	}
}
