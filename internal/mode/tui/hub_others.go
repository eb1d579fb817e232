package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// Ids of rows in the hub that are no agents of the session begin so; no agent's id has a space.
const (
	commandRow = "command "
	sessionRow = "session " // the session's id follows, then, for what it does, a space and its name
)

// others are the sessions that other processes of the user have open, as they were last seen.
type others struct {
	seen    []owner.Running
	err     error
	looking bool
}

// look asks what other sessions do, beside the loop.
func (ag *subagents) look(h *hub) {
	if ag.running == nil || h.others.looking {
		return
	}
	h.others.looking = true
	go func() {
		ctx, cancel := context.WithTimeout(ag.ctx, agentTime)
		defer cancel()
		seen, err := ag.running(ctx)
		ag.inbox.post(func() {
			h.others.seen, h.others.err, h.others.looking = seen, err, false
			if ag.hub == h {
				h.refresh()
			}
		})
	}()
}

// others are those that are not shown here.
func (ag *subagents) others() []owner.Running {
	if ag.hub == nil {
		return nil
	}
	here := ""
	if ag.session != nil {
		here = ag.session.Facts().ID
	}
	return slices.DeleteFunc(slices.Clone(ag.hub.others.seen), func(r owner.Running) bool { return r.ID == here })
}

// commands are the rows of the session's commands in the background.
func (ag *subagents) commands(now time.Time) (items []list.Item) {
	for _, j := range ag.facts.jobs {
		items = append(items, list.Item{
			ID: commandRow + j.ID, Label: j.ID, Mark: ag.env.Styles.Symbols().Running, Group: "Commands in the background",
			Detail: "running " + panel.Elapsed(now.Sub(j.Started)) + ag.dot() + j.Command,
		})
	}
	return items
}

// items are the rows of other sessions, each with what works in it below.
func (o *others) items(ag *subagents, now time.Time) (items []list.Item) {
	const group = "Other sessions"
	sign := ag.env.Styles.Symbols()
	if o.err != nil {
		return []list.Item{{ID: sessionRow, Label: "They can't be listed", Group: group, Detail: o.err.Error()}}
	}
	for _, r := range ag.others() {
		mark, dim := sign.Running, false
		detail := string(r.State) + " " + panel.Elapsed(now.Sub(r.Since))
		switch r.State {
		case owner.AtRest:
			mark, dim = sign.Done, true
		case owner.Waiting:
			detail = "asks: " + r.Question
		}
		if r.Background {
			detail += ag.dot() + "in the background"
		}
		if r.Dir != ag.dir {
			detail += ag.dot() + ag.homePath(r.Dir)
		}
		items = append(items, list.Item{ID: sessionRow + r.ID, Label: cmp.Or(r.Title, r.ID), Mark: mark, Dim: dim, Group: group, Detail: detail})
		row := func(name, does string, began time.Time) {
			if !began.IsZero() {
				does = panel.Elapsed(now.Sub(began)) + ag.dot() + does
			}
			items = append(items, list.Item{ID: sessionRow + r.ID + " " + name, Label: "  " + name, Mark: sign.Running, Group: group, Detail: does})
		}
		for i := range r.Agents {
			a := &r.Agents[i]
			row(agentPath(a.ID), cmp.Or(a.Description, a.Task), a.Started)
		}
		for _, j := range r.Jobs {
			row(j.ID, j.Command, j.Started)
		}
	}
	return items
}

// other finds the session of a row.
func (ag *subagents) other(id string) (r owner.Running, ok bool) {
	which, ok := strings.CutPrefix(id, sessionRow)
	if !ok {
		return r, false
	}
	which, _, _ = strings.Cut(which, " ")
	all := ag.others()
	i := slices.IndexFunc(all, func(r owner.Running) bool { return r.ID == which })
	if i < 0 {
		return r, false
	}
	return all[i], true
}

// join shows the session of a row in place of this one. A session of another folder is named with
// what joins it, since this process works here.
func (ag *subagents) join(id string) {
	if strings.HasPrefix(id, commandRow) {
		ag.flash("/jobs shows what it prints, and stops it")
		return
	}
	r, ok := ag.other(id)
	switch {
	case !ok:
	case r.Path == "":
		ag.flash("that session is kept in no file, so that it can't be joined")
	case r.Dir != ag.dir:
		ag.flash("it works in " + ag.homePath(r.Dir) + ": burin attach " + prose.Inline(r.ID) + " joins it")
	default:
		ag.closeHub()
		ag.switcher.open(Wish{Resume: r.Path})
	}
}

// describe tells about a row that is no agent of the session.
func (ag *subagents) describe(id string, add func(string, theme.Token)) {
	if which, ok := strings.CutPrefix(id, commandRow); ok {
		i := slices.IndexFunc(ag.facts.jobs, func(j session.Job) bool { return j.ID == which })
		if i >= 0 {
			add(ag.facts.jobs[i].Command, theme.Text)
			add(ag.facts.jobs[i].LastLine, theme.Muted)
		}
		return
	}
	r, ok := ag.other(id)
	if !ok {
		return
	}
	add(r.ID, theme.Text)
	cost := r.Cost.String()
	if !r.Known {
		cost = "at least " + cost
	}
	if r.Faces > 0 {
		cost += ag.dot() + fmt.Sprint(r.Faces, " joined")
	}
	add(cost, theme.Muted)
	add(ag.homePath(r.Dir), theme.Muted)
	if r.Question != "" {
		add("Asks: "+r.Question, theme.Warning)
	}
	for i := range r.Agents {
		a := &r.Agents[i]
		add(agentPath(a.ID)+": "+cmp.Or(a.Tool, a.Said, a.Task), theme.Text)
	}
	for _, j := range r.Jobs {
		add(j.ID+": "+cmp.Or(j.LastLine, j.Command), theme.Text)
	}
}
