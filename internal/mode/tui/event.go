package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/todo"
)

// listener takes what the session says, beside what the conversation shows of it.
type listener struct {
	*base
	*current
	show      *appearance
	display   *display
	facts     *facts
	work      *work
	composer  *composer
	outbox    *outbox
	asks      *questions
	panes     *panes
	switcher  *switcher
	reader    *reader
	repeater  *repeater
	models    *models
	pursuit   *pursuit
	plan      *planMode
	subagents *subagents
	host      interface{ Crumb(path string) }
}

// onEvent takes an event of the session.
func (ls *listener) onEvent(e *sessionEvent) {
	if e.of != ls.session {
		ls.subagents.takes(e) // else it is of a session that was left
		return
	}
	ls.dirty = true
	if e.over {
		ls.switcher.onGone(e.of)
		return
	}
	if e.EntryID != "" {
		ls.switcher.lastShown = e.EntryID
	}
	if e.Type == session.EventsLost || e.Type == session.OwnerChanged {
		ls.talk.lose()
		ls.switcher.resync()
		return
	}
	if ls.talk.again(&e.Event) {
		return
	}
	ls.talk.event(&e.Event)
	ls.sessionSays(&e.Event)
	if ls.reader.viewer != nil && (e.Type == agent.MessageEnd || e.Type == agent.ToolEnd || e.Type == agent.AgentEnd) {
		ls.reader.viewer.Refresh()
	}
}

// sessionSays takes what an event says beside the conversation.
func (ls *listener) sessionSays(e *session.Event) {
	switch e.Type {
	case agent.MessageUpdate, agent.ToolUpdate:
		// The most frequent ones change nothing here.
	case agent.AgentStart:
		if !ls.work.on {
			ls.work.begin(ls.env.Now())
		}
	case session.AgentSettled:
		ls.onSettled(e.Data.(*session.SettledTurn))
	case session.QuestionAsked:
		ls.asks.asked(e.Data.(*session.Question))
	case session.ConsoleOpened:
		ls.asks.console(e.Data.(*session.Console))
	case session.ConsoleClosed:
		ls.asks.consoleClosed(e.Data.(*session.Console))
	case session.QuestionSettled:
		ls.asks.settledElsewhere(e.Data.(*session.Settled))
	case agent.MessageEnd:
		ls.onMessage(e.Message)
	case agent.ToolEnd:
		if e.Call.Name == "todo" {
			ls.facts.readTodos()
		}
	case session.TodosChanged:
		ls.facts.readTodos()
	case session.RetryStart:
		ls.talk.forgive()
		ls.work.retry, ls.work.retryAt = e.Data.(*session.RetryInfo), ls.env.Now().Add(e.Data.(*session.RetryInfo).Delay)
	case session.RetryEnd:
		ls.work.retry = nil
		if !e.Data.(*session.RetryInfo).Success {
			ls.talk.gaveUp()
		}
	case session.FallbackApplied, session.Promoted:
		ls.notice(card.Warning, fmt.Sprintf("Continuing with %s: %s", e.Data.(*session.Change).To, e.Data.(*session.Change).Why))
		ls.facts.read()
	case session.ModelChanged:
		ls.notice(card.Info, "Model: "+e.Data.(*session.Change).To)
		ls.facts.read()
	case session.ThinkingChanged, session.TitleChanged, session.ModeChanged, session.ToolsChanged:
		ls.facts.read()
	case session.CostCounted:
		ls.facts.read()
		freeRead(ls.session.Transcript())
	case session.RulesTriggered:
		d := e.Data.(*session.Triggered)
		words := "Rule for the model: "
		if d.Stopped {
			words = "Answer stopped by rule: "
		}
		ls.notice(card.Info, words+d.Names())
	case session.CompactionStart, session.CompactionEnd:
		ls.onCompaction(e)
	case session.TreeMoved:
		ls.switcher.onMoved()
	case session.AdvisorSpoke:
		if e.Text != "" {
			ls.notice(card.Info, "Advisor: "+e.Text)
		}
	case session.Rewound:
		d := e.Data.(*session.Rewind)
		ls.notice(card.Info, fmt.Sprintf("Rewound to the checkpoint: %s left behind (/tree). Files stay as they are.", prose.Count(d.Messages, "message")))
		ls.facts.read()
	case session.CacheReport:
		ls.facts.cache = e.Data.(*session.CacheInfo)
	case session.GoalChanged:
		g := e.Data.(*session.Goal)
		ls.pursuit.onGoal(*g)
		ls.facts.goalChanged(*g)
	case session.QueueChanged:
		ls.outbox.showQueue(e.Data.(*session.Queued))
	case session.JobsChanged:
		ls.facts.readJobs()
	case session.TasksChanged:
		ls.facts.readShared()
		ls.subagents.changed()
	case session.AgentChanged:
		a := e.Data.(*session.Agent)
		ls.facts.agentChanged(a)
		ls.talk.showAgents(a.CallID, ls.facts.agents.of(a.CallID))
		ls.subagents.changed()
	case session.Warning:
		if !ls.session.Owns() { // else Options.Warn told it already
			ls.notice(card.Warning, e.Text)
		}
	}
}

func (ls *listener) onMessage(m *llm.Message) {
	switch m.Role {
	case llm.RoleAssistant:
		ls.facts.read()
	case llm.RoleUser:
		ls.work.reminders = 0
		ls.outbox.readQueue()
	case llm.RoleCustom:
		switch m.CustomType {
		case session.CustomReminder:
			ls.onReminder()
		case session.CustomGoal:
			ls.notice(card.Info, goalCheck)
		case session.CustomGoalMissing:
			ls.notice(card.Info, notShown(criteriaOf(m)))
		case session.CustomPlanApproved:
			ls.notice(card.Info, planOrder)
		}
	}
}

// onReminder says why the model goes on that had come to an end.
func (ls *listener) onReminder() {
	ls.work.reminders++
	ls.notice(card.Info, reminderOf(ls.facts.todos, ls.work.reminders))
}

// reminderOf says of what the model is reminded, for the nth time since the prompt.
func reminderOf(todos []todo.Phase, n int) string {
	what := "open tasks"
	done, all := todo.Progress(todos)
	if open := all - done; open > 0 {
		what = prose.Count(open, "open task")
	}
	if n > 1 {
		return fmt.Sprintf("reminded of %s (reminder %d)", what, n)
	}
	return "reminded of " + what
}

func (ls *listener) onCompaction(e *session.Event) {
	c := e.Data.(*session.CompactionInfo)
	if e.Type == session.CompactionStart {
		ls.work.condensing = true
		return
	}
	ls.work.condensing = false
	ls.facts.read()
	switch {
	case c.Aborted:
		ls.notice(card.Warning, "The conversation was not condensed: stopped.")
	case c.Error != "":
		ls.notice(card.Failure, "The conversation was not condensed: "+prose.Line(c.Error))
	default:
		before, after, summary := c.Before, c.After, c.Summary
		ls.talk.say(told, func(v card.View) []string { return card.Compaction(before, after, summary, v) })
	}
}

// onSettled is called when nothing more happens for messages.
func (ls *listener) onSettled(d *session.SettledTurn) {
	s := ls.session
	over := ls.outbox.forget(d.IDs...)
	for _, l := range over { // the session has them, though its receipt may still be on the way
		ls.outbox.arrived(l)
	}
	if s.Facts().Working { // with the next one
		if d.Reason != agent.ReasonAborted {
			return
		}
	}
	ls.talk.confirm()
	took := ls.env.Now().Sub(ls.work.began)
	ls.work.rest()
	ls.outbox.readQueue()
	ls.facts.read()
	ls.switcher.remember(s)
	if path, ok := s.Path(); ok {
		ls.host.Crumb(path)
	}
	ls.facts.repo.Refresh()
	ctx, cancel := s.brief()
	defer cancel()
	out, err := s.Conversation().Wait(ctx, d.IDs[0]) // it is there
	if err != nil {
		out = agent.Outcome{Reason: d.Reason, Err: err}
	}
	ls.onOutcome(s, out, over, took)
	ls.offerWait(s, d.ResumeAt)
}

// offerWait offers to wait as long as the provider asks for, and to try again then.
func (ls *listener) offerWait(s *opened, until time.Time) {
	left := until.Sub(ls.env.Now())
	if until.IsZero() || left <= 0 || ls.work.on {
		return
	}
	at := until.Format("15:04:05")
	if left > 20*time.Hour {
		at = until.Format("Mon 15:04")
	}
	ls.panes.confirm("Wait until "+at+" and try again?", "The provider asks for a wait of "+elapsed(left)+". You can keep typing meanwhile.", func() {
		if s != ls.session || ls.work.on {
			return
		}
		ls.work.task("waiting until "+at, func(ctx context.Context) (func(), error) {
			timer := time.NewTimer(left)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-timer.C:
				return func() {
					if s == ls.session && !ls.work.on { // nobody else has gone on meanwhile
						ls.work.resend()
					}
				}, nil
			}
		})
	})
}

// onOutcome says how a prompt has ended.
func (ls *listener) onOutcome(s *opened, out agent.Outcome, over []*letter, took time.Duration) {
	switch {
	case errors.Is(out.Err, session.ErrUnsent):
		ls.composer.giveLetters(over...)
	case out.Reason == agent.ReasonAborted && out.Turns == 0: // no answer says so
		ls.notice(card.Warning, "Stopped.")
	case errors.Is(out.Err, session.ErrClosed):
		ls.composer.giveLetters(over...)
		ls.notice(card.Warning, prose.Line(out.Err.Error()))
	case out.Reason == agent.ReasonError && out.Turns == 0 && out.Err != nil:
		ls.composer.giveLetters(over...)
		ls.sayError(out.Err)
	default:
		ls.sayEnd(&out)
	}
	if took >= ls.show.notifyAfter {
		ls.display.attention(ls.show.notify, "The work is done: "+elapsed(took)+".")
	}
	if out.Reason == agent.ReasonDone {
		ls.plan.hint()
	}
	ls.repeater.next(s, out.Reason)
}

// sayEnd says why the model does not go on where its last answer does not say it, and
// what to do.
func (ls *listener) sayEnd(out *agent.Outcome) {
	switch {
	case out.Reason == agent.ReasonMaxTurns:
		ls.notice(card.Warning, "Stopped after "+prose.Count(out.Turns, "request")+" (--max-turns); the work may not be done. /retry continues.")
	case out.Err == nil:
	case out.Reason == agent.ReasonError: // the answer told the error
		ls.models.sayKey(out.Err)
		if e := new(llm.Error); errors.As(out.Err, &e) && e.Retryable() && e.RetryAfter == 0 {
			ls.notice(card.Info, "/retry tries again.")
		}
	case out.Reason == agent.ReasonLoop:
		ls.notice(card.Failure, "Stopped: "+prose.Line(out.Err.Error())+". Tell burin what to do instead.")
	case errors.Is(out.Err, session.ErrGoalBudget):
		ls.notice(card.Failure, "Stopped: "+prose.Line(out.Err.Error())+"; /goal budget changes the limit.")
	case errors.Is(out.Err, session.ErrBudget):
		ls.notice(card.Failure, "Stopped: "+prose.Line(out.Err.Error())+"; start burin with a higher --max-cost to continue.")
	case out.Reason == agent.ReasonRefused:
		ls.sayError(out.Err)
	}
}
