package tui

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/mode/tui/viewer"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// faceName is what sessions call this face.
const faceName = "terminal"

// agentTime is how long opening an agent's session may take.
const agentTime = 30 * time.Second

// subagents are the commands about the agents of the session: the list of all, and the view of one.
type subagents struct {
	*base
	*current
	facts   *facts
	panes   *panes
	asks    *questions
	desktop *desktop
	show    *appearance
	compose *composer
	// switcher and running are for other sessions; running is nil where none can be seen.
	switcher *switcher
	running  func(context.Context) ([]owner.Running, error)
	hub      *hub              // while it is shown
	view     *agentView        // the same
	drafts   map[string]string // what was typed to agents and not sent, by their ids
}

// hub is the list of all that works: the session's sub-agents, its commands in the background,
// and the other sessions of this machine.
type hub struct {
	list   *list.List
	of     *subagents
	due    time.Time // when times that are shown change
	others others
}

// hubTick is how often times are drawn, and other sessions looked at.
const hubTick = 5 * time.Second

// Draw and Handle are [pane.Pane]'s, Hover is [pane.Hovered]'s, Fullscreen [pane.Full]'s.
func (h *hub) Draw(width, height int) ([]string, screen.Cursor) { return h.list.Draw(width, height) }
func (h *hub) Handle(ev key.Event)                              { h.list.Handle(ev) }
func (h *hub) Hover(at key.Hover) bool                          { return h.list.Hover(at) }
func (h *hub) Fullscreen()                                      {}

// Due is [pane.Timed]'s.
func (h *hub) Due() time.Time { return h.due }

// Tick is [pane.Timed]'s.
func (h *hub) Tick() {
	h.refresh()
	h.of.look(h)
}

// refresh shows the agents as they are now.
func (h *hub) refresh() {
	now := h.of.env.Now()
	title := "Agents"
	if tasks := h.of.facts.shared.progress(); tasks != "" {
		title += h.of.dot() + tasks
	}
	h.list.SetTitle(title)
	items := h.of.items(now)
	items = append(items, h.of.commands(now)...)
	h.list.SetItems(append(items, h.others.items(h.of, now)...))
	h.due = now.Add(hubTick)
}

// openHub shows what works.
func (ag *subagents) openHub(string) {
	if ag.hub != nil {
		return
	}
	h := &hub{of: ag}
	h.list = list.New(ag.env, list.Options{
		Title: "Agents", NoSearch: true,
		Empty:   "No agents have been started in this session, and no other session is open. The model starts agents with the tool task.",
		Hint:    "Enter opens it" + ag.dot() + "x stops it" + ag.dot() + "r wakes a parked one",
		Preview: ag.preview, OnChoose: ag.open, OnKey: ag.onKey, OnCancel: ag.closeHub,
	})
	ag.hub = h
	h.refresh()
	ag.panes.push(h)
	ag.look(h)
}

func (ag *subagents) closeHub() {
	ag.panes.remove(ag.hub)
	ag.hub = nil
}

// reset takes away what shows agents of a session that is left.
func (ag *subagents) reset() {
	if ag.view != nil {
		ag.view.leave()
	}
	if ag.hub != nil {
		ag.closeHub()
	}
	for id, text := range ag.drafts {
		ag.compose.giveBack(text)
		delete(ag.drafts, id)
	}
}

// changed shows a sub-agent as it is now.
func (ag *subagents) changed() {
	if ag.hub != nil {
		ag.hub.refresh()
	}
}

// onKey does what keys do to the selected agent.
func (ag *subagents) onKey(p key.Press, id string) bool {
	if action, _ := ag.env.Keys.Lookup(key.App, p.Key); action == key.AgentHub {
		ag.closeHub()
		return true
	}
	switch p.Key {
	case "j":
		ag.hub.Handle(key.Press{Key: "down"})
	case "k":
		ag.hub.Handle(key.Press{Key: "up"})
	case "x":
		ag.stop(id)
	case "r":
		ag.wake(id)
	case "q":
		ag.closeHub()
	default:
		return false
	}
	return true
}

// stop ends an agent for good, if the person is sure.
func (ag *subagents) stop(id string) {
	a, ok := ag.facts.agents.get(id)
	switch {
	case !ok:
		return
	case a.State == session.AgentStopped:
		return // it says so
	}
	s := ag.session
	words := "It can't be asked or woken again; its transcript stays. Agents that it has started stop, too."
	ag.panes.confirm("Stop agent "+agentPath(id)+"?", words, func() {
		if !ag.still(s) {
			return
		}
		ag.beside(s, func(ctx context.Context) error { return s.Agents().Stop(ctx, id) })
	})
}

// wake opens the session of a parked agent, so that others can talk to it.
func (ag *subagents) wake(id string) {
	if a, ok := ag.facts.agents.get(id); !ok || a.State != session.AgentParked {
		return
	}
	s := ag.session
	ag.beside(s, func(ctx context.Context) error {
		h, err := s.Agents().Open(ctx, id, faceName, false)
		if err == nil {
			err = h.Close()
		}
		return err
	})
}

// beside does something with agents beside the loop.
func (ag *subagents) beside(s *opened, do func(ctx context.Context) error) {
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, agentTime)
		defer cancel()
		err := do(ctx)
		ag.inbox.post(func() {
			ag.sayError(err)
			if s == ag.session {
				ag.facts.readAgents()
				ag.changed()
			}
		})
	}()
}

// open shows what an agent has done and does.
func (ag *subagents) open(id string) {
	a, ok := ag.facts.agents.get(id)
	if !ok {
		ag.join(id)
		return
	}
	if a.State == session.AgentStopped {
		ag.read(a)
		return
	}
	s := ag.session
	v := newAgentView(ag, id)
	ag.view = v
	ag.panes.push(v)
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, agentTime)
		defer cancel()
		h, err := s.Agents().Open(ctx, id, faceName, true)
		if err != nil {
			ag.inbox.post(func() { v.failed(err) })
			return
		}
		b := beginningOf(h)
		ag.inbox.post(func() { v.begin(h, b) })
	}()
}

// read shows the transcript of an agent that takes no more messages.
func (ag *subagents) read(a session.Agent) {
	if a.Path == "" {
		return
	}
	go func() {
		l, _, err := place.Read(ag.ctx, a.Path, nil, transcript.Options{})
		ag.inbox.post(func() {
			if err != nil {
				ag.sayError(fmt.Errorf("agent %s: %w", a.ID, err))
				return
			}
			var v *viewer.Viewer
			v = viewer.New(ag.env, viewer.Options{
				Log: l, Labels: ag.talk.labels, OnCopy: func(text string) { ag.desktop.copy(text, "it") },
				OnClose: func() { v.Close(); ag.panes.remove(v); _ = l.Close() }, // it was only read
			})
			ag.panes.push(v)
		})
	}()
}

// items are the rows of the hub.
func (ag *subagents) items(now time.Time) []list.Item {
	sign := ag.env.Styles.Symbols()
	items := make([]list.Item, 0, len(ag.facts.agents.all))
	for i := range ag.facts.agents.all {
		a := &ag.facts.agents.all[i]
		mark := sign.Done
		switch {
		case a.Active():
			mark = sign.Running
		case a.Failed(), a.State == session.AgentStopped:
			mark = sign.Failed
		}
		detail := ag.state(a, now)
		if about := cmp.Or(a.Description, a.Task); about != "" {
			detail += ag.dot() + about
		}
		if claim := ag.facts.shared.of(a.ID); claim != "" {
			detail += ag.dot() + claim
		}
		if a.Active() && a.Tool != "" {
			detail += ag.dot() + a.Tool
		}
		items = append(items, list.Item{ID: a.ID, Label: agentPath(a.ID), Mark: mark, Detail: detail, Dim: !a.Active()})
	}
	return items
}

// state says in a few words what an agent does, and since when or until when.
func (ag *subagents) state(a *session.Agent, now time.Time) string {
	switch {
	case ag.asks.waits(a.ID):
		return "asks you"
	case a.State == session.AgentQueued:
		return "queued"
	case a.State == session.AgentRunning && !a.Ended.IsZero(): // it was woken, and has begun long ago
		return "running"
	case a.State == session.AgentRunning:
		return "running " + panel.Elapsed(now.Sub(a.Started))
	}
	words := string(a.State)
	if a.Failed() && a.State != session.AgentStopped {
		words = "failed"
	}
	if !a.Ended.IsZero() {
		words += " " + a.Ended.Local().Format("15:04")
	}
	return words
}

// figures say what an agent has used.
func (ag *subagents) figures(a *session.Agent) string {
	words := prose.Count(a.Requests, "request") + ", " + prose.Count(a.Calls, "call")
	if a.Tokens > 0 {
		words += ag.dot() + prose.Tokens(a.Tokens) + " tokens"
	}
	switch {
	case a.Known && a.Cost > 0:
		words += ag.dot() + a.Cost.String()
	case a.Cost > 0:
		words += ag.dot() + "at least " + a.Cost.String()
	}
	if a.Window > 0 && a.Context > 0 {
		words += ag.dot() + fmt.Sprintf("%d%% of its context", a.Context*100/a.Window)
	}
	return words
}

// preview tells about the selected agent.
func (ag *subagents) preview(id string, width, height int) (rows []string) {
	add := func(text string, fg theme.Token) {
		for _, l := range styled.Wrap(nil, styled.Of(prose.Inline(text), fg), width, nil, nil) {
			if len(rows) < height {
				rows = append(rows, ag.line(l))
			}
		}
	}
	a, ok := ag.facts.agents.get(id)
	if !ok {
		ag.describe(id, add)
		return rows
	}
	add(a.Agent+ag.dot()+a.Model, theme.Text)
	add(ag.figures(&a), theme.Muted)
	if a.Error != "" {
		add(a.Error, theme.Error)
	}
	if claim := ag.facts.shared.of(id); claim != "" {
		add("Has claimed: "+claim, theme.Text)
	}
	if a.Tool != "" {
		add(a.Tool, theme.Accent)
	}
	if a.Said != "" {
		add("Last: "+a.Said, theme.Text)
	}
	add("Task: "+a.Task, theme.Muted)
	return rows
}
