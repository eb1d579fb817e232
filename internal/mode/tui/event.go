package tui

import (
	"fmt"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// onEvent takes an event of the session.
func (a *app) onEvent(e *sessionEvent) {
	if e.of != a.session {
		return // of a session that was left
	}
	a.dirty = true
	if e.lost {
		a.talk.lose()
		return
	}
	a.talk.event(&e.Event)
	a.sessionSays(&e.Event)
	if a.viewer != nil && (e.Type == agent.MessageEnd || e.Type == agent.ToolEnd || e.Type == agent.AgentEnd) {
		a.viewer.Refresh()
	}
	a.seen = e.Seq
	for len(a.later) > 0 && a.later[0].seq <= a.seen+1 {
		f := a.later[0].f
		a.later = a.later[1:]
		f()
	}
}

// after runs f behind the events before seq.
func (a *app) after(seq uint64, f func()) {
	if a.seen+1 >= seq {
		f()
		return
	}
	a.later = append(a.later, behind{seq, f})
}

// behind is something to be done when the events before seq were shown.
type behind struct {
	seq uint64
	f   func()
}

// sessionSays takes what an event says beside the conversation.
func (a *app) sessionSays(e *session.Event) {
	switch e.Type {
	case agent.MessageUpdate, agent.ToolUpdate:
		// The most frequent ones change nothing here.
	case agent.MessageEnd:
		a.onMessage(e.Message)
	case agent.ToolEnd:
		if e.Call.Name == "todo" {
			a.readTodos()
		}
	case session.TodosChanged:
		a.readTodos()
	case session.RetryStart:
		a.talk.forgive()
		a.work.retry, a.work.retryAt = e.Retry, a.env.Now().Add(e.Retry.Delay)
	case session.RetryEnd:
		a.work.retry = nil
		if !e.Retry.Success {
			a.talk.gaveUp()
		}
	case session.FallbackApplied, session.Promoted:
		a.notice(card.Warning, fmt.Sprintf("Going on with %s: %s", e.Change.To, e.Change.Why))
		a.readFacts()
	case session.ModelChanged:
		a.notice(card.Info, "Model: "+e.Change.To)
		a.readFacts()
	case session.ThinkingChanged, session.TitleChanged, session.ModeChanged, session.ToolsChanged:
		a.readFacts()
	case session.CompactionStart, session.CompactionEnd:
		a.onCompaction(e)
	case session.TreeMoved:
		a.onMoved()
	case session.CacheReport:
		a.facts.cache = e.Cache
	case session.GoalChanged:
		a.onGoal(session.GoalState(e.Text))
	case session.QueueChanged:
		a.readQueue()
	case session.JobsChanged:
		a.readJobs()
	case session.Warning:
		// Options.Warn told it already.
	}
}

func (a *app) onMessage(m *llm.Message) {
	switch m.Role {
	case llm.RoleAssistant:
		a.readFacts()
	case llm.RoleUser:
		a.work.reminders = 0
		a.readQueue()
	case llm.RoleCustom:
		switch m.CustomType {
		case session.CustomReminder:
			a.onReminder()
		case session.CustomGoal:
			a.notice(card.Info, goalCheck)
		}
	}
}

// onReminder says why the model goes on that had come to an end.
func (a *app) onReminder() {
	a.work.reminders++
	a.notice(card.Info, reminderOf(a.facts.todos, a.work.reminders))
}

// reminderOf says of what the model is reminded, for the nth time since the prompt.
func reminderOf(todos []card.Phase, n int) string {
	what := "what is not done"
	open := 0
	for _, p := range todos {
		for _, t := range p.Tasks {
			if t.Status != "completed" && t.Status != "abandoned" {
				open++
			}
		}
	}
	if open > 0 {
		what = counted(open, "open task", "open tasks")
	}
	return fmt.Sprintf("reminded of %s (%d of %d)", what, n, session.MaxReminders)
}

func (a *app) onCompaction(e *session.Event) {
	c := e.Compaction
	if e.Type == session.CompactionStart {
		a.work.condensing = true
		return
	}
	a.work.condensing = false
	a.readFacts()
	switch {
	case c.Aborted:
		a.notice(card.Warning, "The conversation was not condensed: stopped.")
	case c.Error != "":
		a.notice(card.Failure, "The conversation was not condensed: "+oneLine(c.Error))
	default:
		before, after, summary := c.Before, c.After, c.Summary
		a.talk.say(told, func(v card.View) []string { return card.Compaction(before, after, summary, v) })
	}
}

// onMoved shows where in the tree the conversation goes on.
func (a *app) onMoved() {
	s := a.session
	a.talk.abandon()
	a.notice(card.Info, "Another point of the conversation. It goes on from here:")
	past := recent(s.Log())
	past = past[max(0, len(past)-3):]
	for i := range past {
		a.replayEntry(s.Log(), &past[i])
	}
	a.talk.abandon()
	a.readFacts()
	a.readTodos()
}
