package tui

import (
	"fmt"
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
		list = append(list, panel.Agent{ID: agentPath(g.ID), Description: g.Description, Task: g.Task, Claim: a.facts.shared.of(g.ID), Queued: g.State == session.AgentQueued, Asks: a.asks.waits(g.ID)})
	}
	return append(rows, panel.Agents(list, a.facts.shared.progress(), a.keyFor(key.AgentHub), v)...)
}

// sharedTasks are the tasks that the session shares with its agents.
type sharedTasks []session.SharedTask

// progress says how many are done; "" if there are none.
func (l sharedTasks) progress() string {
	done := 0
	for i := range l {
		if l[i].State == session.SharedTaskDone {
			done++
		}
	}
	if len(l) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d tasks done", done, len(l))
}

// of is the task that an agent has claimed; "" if it has none.
func (l sharedTasks) of(id string) string {
	for i := range l {
		if l[i].State == session.SharedTaskClaimed && l[i].Owner == id {
			return l[i].ID + " " + l[i].Title
		}
	}
	return ""
}
