package tui

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/session"
)

// agentList are the sub-agents of the session that is shown. Those of one call stand together,
// in the order of its tasks, and none moves while they get on.
type agentList struct {
	all    []session.Agent
	active []session.Agent // that work or will
}

// set takes all of them.
func (l *agentList) set(all []session.Agent) {
	*l = agentList{}
	for i := range all {
		l.place(&all[i])
	}
	l.count()
}

// put takes an agent as it is now.
func (l *agentList) put(a *session.Agent) {
	l.place(a)
	l.count()
}

func (l *agentList) place(a *session.Agent) {
	if i := slices.IndexFunc(l.all, func(o session.Agent) bool { return o.ID == a.ID }); i >= 0 {
		l.all[i] = *a
		return
	}
	at := len(l.all)
	for i := range l.all {
		if o := &l.all[i]; o.CallID == a.CallID && o.Parent == a.Parent {
			if o.Index > a.Index {
				at = i
				break
			}
			at = i + 1
		}
	}
	l.all = slices.Insert(l.all, at, *a)
}

func (l *agentList) count() {
	l.active = slices.DeleteFunc(slices.Clone(l.all), func(a session.Agent) bool { return !a.Active() })
}

// get finds an agent.
func (l *agentList) get(id string) (session.Agent, bool) {
	i := slices.IndexFunc(l.all, func(a session.Agent) bool { return a.ID == id })
	if i < 0 {
		return session.Agent{}, false
	}
	return l.all[i], true
}

// of are the agents of a call of the session itself.
func (l *agentList) of(callID string) (agents []session.Agent) {
	for _, a := range l.all {
		if a.CallID == callID && a.Parent == "" {
			agents = append(agents, a)
		}
	}
	return agents
}

// at are what the agents work on, in the words of people.
func (l *agentList) at() (words []string) {
	for _, a := range l.active {
		for _, w := range []string{a.Description, a.ID} {
			if w != "" {
				words = append(words, w)
			}
		}
	}
	return words
}

// agentPath shows an agent's id with those of the agents that it works for.
func agentPath(id string) string { return strings.ReplaceAll(id, ".", " > ") }

// agentRows are the agents that work, for the panel above the prompt.
func (a *app) agentRows(rows []string, v panel.View) []string {
	active := a.facts.agents.active
	if len(active) == 0 {
		return rows
	}
	list := make([]panel.Agent, 0, len(active))
	for i := range active {
		g := &active[i]
		list = append(list, panel.Agent{ID: agentPath(g.ID), Description: g.Description, Task: g.Task, Queued: g.State == session.AgentQueued, Asks: a.asks.waits(g.ID)})
	}
	return append(rows, panel.Agents(list, a.keyFor(key.AgentHub), v)...)
}
