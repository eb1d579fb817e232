package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// errUnanswered is the error of a message of an earlier owner that has no answer, and gets none.
var errUnanswered = errors.New("burin ended before the answer was complete: resend continues from there")

// waitEarlier is Wait for a message that an earlier owner of the session had accepted. What became of it is in
// the transcript; if it isn't answered, the turn that runs may be going on with it.
func waitEarlier(ctx context.Context, s *Session, id string) (agent.Outcome, error) {
	at, ok := s.inbox.sent(id)
	if !ok {
		return agent.Outcome{}, missing("submitted message", id)
	}
	for {
		running := s.inbox.turn(s.inbox.running())
		out, ended := answerOf(s.log, at)
		if ended || running == nil {
			return out, nil
		}
		select {
		case <-running.done:
			if why := s.hub.silent(); why != nil {
				return agent.Outcome{}, overtaken(why)
			}
		case <-ctx.Done():
			return agent.Outcome{}, context.Cause(ctx)
		}
	}
}

// sent is the time of a message that was submitted to an earlier owner.
func (b *inbox) sent(id string) (at time.Time, ok bool) {
	nodes := b.rec.log.Nodes()
	for i := len(nodes) - 1; i >= 0; i-- {
		if nodes[i].Type != transcript.TypeCustom || nodes[i].Name != CustomQueue {
			continue
		}
		var e queueEntry
		entry, err := b.rec.log.Entry(nodes[i].ID)
		if err == nil && json.Unmarshal(entry.Data, &e) == nil && e.ID == id && e.Message != nil {
			return e.Message.Time, true
		}
	}
	return at, false
}

// answerOf is how the turn of the message of a time ended, as the transcript has it. ended is false if it
// has no end.
func answerOf(log *transcript.Log, at time.Time) (out agent.Outcome, ended bool) {
	out = agent.Outcome{Reason: agent.ReasonAborted, Err: errUnanswered}
	var failed *llm.Message
	read := false
	for _, n := range log.Nodes() {
		if n.Type != transcript.TypeMessage && n.Type != transcript.TypeCustomMessage {
			continue
		}
		e, err := log.Entry(n.ID)
		if err != nil || e.Message == nil {
			continue
		}
		m := e.Message
		switch {
		case !read:
			read = m.Role != llm.RoleAssistant && m.Role != llm.RoleToolResult && m.Time.Equal(at)
			continue
		case m.Role == llm.RoleUser && failed != nil: // somebody has gone on without an answer
			return out, true
		case m.Role != llm.RoleAssistant && m.Role != llm.RoleToolResult:
			continue
		}
		out.Messages = append(out.Messages, *m)
		if m.Role != llm.RoleAssistant {
			continue
		}
		out.Turns++
		if m.Usage != nil {
			out.Usage = out.Usage.Add(*m.Usage)
		}
		switch {
		case m.StopReason == llm.StopAborted:
			failed, out.Reason, out.Err = m, agent.ReasonAborted, errUnanswered
		case m.Error != nil:
			failed, out.Reason, out.Err = m, agent.ReasonError, m.Error
		case len(m.ToolCalls()) > 0, m.StopReason == llm.StopPause:
			failed = nil
		case m.StopReason == llm.StopLength:
			out.Reason, out.Err = agent.ReasonLength, nil
			return out, true
		default:
			out.Reason, out.Err = agent.ReasonDone, nil
			return out, true
		}
	}
	return out, false
}
