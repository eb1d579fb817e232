package tui

import (
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
)

const (
	// least is what is left to the conversation, and to the status, by a pane that could
	// fill the screen.
	least = 3
)

// compose gives the live part: what is not finished, panels, and the prompt or what
// stands in its place.
func (a *app) compose(width, height int, now time.Time) ([]string, screen.Cursor) {
	rows := a.talk.rows(a.rows[:0])
	if len(rows) > 0 || a.talk.begun {
		rows = append(rows, "")
	}
	rows = a.panels(rows, width, now)
	var below []string
	var cursor screen.Cursor
	a.display.above = len(rows)
	if top := a.panes.top(); top != nil {
		below, cursor = top.Draw(width, max(height-least, 1))
		below = append(below, a.facts.statusRows(width, height, now)...)
	} else {
		below, cursor = a.prompt.rows(width, height, now)
	}
	cursor.Y += len(rows)
	rows = append(rows, below...)
	a.rows = rows
	return rows, cursor
}

// panels appends what stands between the conversation and the prompt.
func (a *app) panels(rows []string, width int, now time.Time) []string {
	v := panel.View{Width: width, Styles: a.env.Styles}
	rows = append(rows, panel.Todos(a.facts.shownTodos, v)...)
	rows = a.agentRows(rows, v)
	if len(a.facts.jobs) > 0 {
		jobs := make([]panel.Job, 0, len(a.facts.jobs))
		for _, j := range a.facts.jobs {
			ran := sinceWords(j.Started, now)
			if a.moving() {
				ran = panel.Elapsed(now.Sub(j.Started))
			}
			jobs = append(jobs, panel.Job{ID: j.ID, Command: j.Command, Time: ran, Output: j.LastLine})
		}
		rows = append(rows, panel.Jobs(jobs, v)...)
	}
	rows = a.outbox.panel(rows, v)
	return a.work.rows(rows, v, now, len(a.asks.list) > 0)
}
