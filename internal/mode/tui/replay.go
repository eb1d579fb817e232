package tui

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// maxReplayed is how many messages of a session that is gone on with are shown again.
// The rest is in the transcript's viewer.
const maxReplayed = 30

// seen is an entry that is shown again.
type seen struct {
	transcript.Entry
	again bool // an answer that was tried again: the conversation goes on without it
}

// beginning is a session as it was when its events began to be read.
type beginning struct {
	feed    events
	past    []seen
	working bool // calls without a result may still end, and an event says so
}

// beginningOf begins to read the events of a session, then what is there: nothing falls between.
func beginningOf(s session.Handle) beginning {
	feed := s.Events(session.Cursor{})
	working := s.Facts().Working
	return beginning{feed: feed, past: recent(s.Transcript()), working: working}
}

// recent reads the end of the branch that a session goes on with, and the answers beside
// it that were tried again: a person saw them, too.
func recent(l session.Transcript) []seen {
	nodes, leaf := l.Nodes(), l.Leaf()
	at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == leaf })
	var out []seen
	take := func(i int, again bool) {
		e, err := l.Entry(nodes[i].ID)
		if err == nil && len(out) < maxReplayed && (!again || failed(e.Message)) && shownAgain(e) {
			out = append(out, seen{*e, again})
		}
	}
	for next := at; at >= 0 && len(out) < maxReplayed; next, at = at, nodes[at].Parent {
		for i := next - 1; i > at; i-- {
			if nodes[i].Parent == at && nodes[i].Role == llm.RoleAssistant {
				take(i, true)
			}
		}
		if replayed(nodes[at]) {
			take(at, false)
		}
	}
	slices.Reverse(out)
	return out
}

// failed reports whether an answer failed or was stopped.
func failed(m *llm.Message) bool {
	return m != nil && (m.Error != nil || m.StopReason == llm.StopAborted)
}

// replayed reports whether entries of that kind are shown when a session is gone on with.
func replayed(n transcript.Node) bool {
	switch n.Type {
	case transcript.TypeMessage, transcript.TypeCompaction, transcript.TypeBranchSummary, transcript.TypeCustomMessage:
		return true
	}
	return false
}

// shownAgain reports whether an entry of such a kind is; of what the program says to the
// model, people see little.
func shownAgain(e *transcript.Entry) bool {
	switch {
	case isReminder(e), isGoalCheck(e), isGoalMissing(e), isPlanOrder(e), isRemark(e), e.Execution != nil:
		return true
	case e.Type == transcript.TypeCustomMessage:
		return e.Display
	case e.Message != nil && e.Message.Role == llm.RoleCustom:
		return e.Message.Display || isAgentResult(e.Message) || e.Message.CustomType == host.CustomReview
	}
	return true
}

func isReminder(e *transcript.Entry) bool {
	return e.Message != nil && e.Message.CustomType == session.CustomReminder
}

func isGoalCheck(e *transcript.Entry) bool {
	return e.Message != nil && e.Message.CustomType == session.CustomGoal
}

func isGoalMissing(e *transcript.Entry) bool {
	return e.Message != nil && e.Message.CustomType == session.CustomGoalMissing
}

func isPlanOrder(e *transcript.Entry) bool {
	return e.Message != nil && e.Message.CustomType == session.CustomPlanApproved
}

func isRemark(e *transcript.Entry) bool {
	return e.Message != nil && e.Message.CustomType == session.CustomAdvisor
}

// remindersUpTo counts the reminders since the last prompt, up to an entry.
func remindersUpTo(l session.Transcript, id string) (n int) {
	transcript.LastOf(l, id,
		func(n transcript.Node) bool {
			return n.Type == transcript.TypeMessage && (n.Role == llm.RoleUser || n.Role == "") // that of others is not known
		},
		func(e *transcript.Entry) bool {
			if isReminder(e) {
				n++
			}
			return e.Message.Role == llm.RoleUser
		})
	return n
}

// todosAt is the list of tasks as it was at an entry.
func todosAt(l session.Transcript, id string) []todo.Phase {
	phases, result := session.LastTodos(l, id, "todo")
	if len(result) == 0 {
		return phases
	}
	var list struct {
		Phases []todo.Phase `json:"phases"`
	}
	_ = json.Unmarshal(result, &list) // what cannot be read has no tasks
	return list.Phases
}

// replay shows the end of what was said before, as it was shown then.
func (sw *switcher) replay(l session.Transcript, b beginning) {
	if left := l.Len() - len(b.past); left > 0 && len(b.past) == maxReplayed {
		sw.notice(card.Info, fmt.Sprintf("%s before this; %s shows all", prose.Count(left, "entry"), sw.keyFor(key.OpenTranscript)))
	}
	sw.talk.replay(l, b)
}

// replay shows entries as they were shown when they came. Calls that may still end stay open; their
// events end them.
func (t *talk) replay(l session.Transcript, b beginning) {
	t.entries, t.ended = map[string]bool{}, map[string]bool{}
	for i := range b.past {
		e := &b.past[i]
		if e.Message != nil && (e.Message.Role == llm.RoleAssistant || e.Message.Role == llm.RoleUser) {
			t.abandon() // an answer follows the results of the one before; a call without one never ended
			clear(t.ended)
		}
		replayEntry(t, l, e)
		t.entries[e.ID] = true
		if e.Message != nil && e.Message.Role == llm.RoleToolResult {
			t.ended[e.Message.ToolCallID] = true
		}
	}
	if !b.working {
		t.abandon()
	}
}

// replayEntry shows an entry as it was shown when it came.
func replayEntry(t *talk, l session.Transcript, e *seen) {
	switch {
	case e.Type == transcript.TypeCompaction:
		before, summary := e.TokensBefore, e.Summary
		t.say(told, func(v card.View) []string { return card.Compaction(before, 0, summary, v) })
	case e.Type == transcript.TypeBranchSummary:
		t.notice(card.Info, "Summary of another branch.")
	case isReminder(&e.Entry):
		t.notice(card.Info, reminderOf(todosAt(l, e.ID), remindersUpTo(l, e.ID)))
	case isGoalCheck(&e.Entry):
		t.notice(card.Info, goalCheck)
	case isGoalMissing(&e.Entry):
		t.notice(card.Info, notShown(criteriaOf(e.Message)))
	case isRemark(&e.Entry):
		var d session.Advised
		_ = json.Unmarshal(e.Message.Details, &d) // what cannot be read says nothing
		t.notice(card.Info, "Advisor: "+d.Remark)
	case isPlanOrder(&e.Entry):
		t.notice(card.Info, planOrder)
	case e.Type == transcript.TypeCustomMessage:
		words, err := e.Words()
		if err != nil {
			return // the viewer says what is wrong with it
		}
		m := llm.Message{Content: words}
		t.notice(card.Info, m.Text())
	case e.Execution != nil:
		t.add(&call{card: card.Execution(e.Execution), ended: true})
	case e.Message != nil:
		t.messageEnd(e.Message)
		if err := e.Message.Error; e.again && err != nil && err.Retryable() {
			t.forgive()
		}
		t.confirm()
	}
}
