package session

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// ErrAnswered means that there is nothing to send again.
var ErrAnswered = errors.New("nothing to retry: the last message has its answer")

// Resend continues from an answer that failed or was stopped, including one of an earlier
// process: the answer stays on a branch of its own, and what came before it is answered again.
// Calls that have run don't run again. Resend also continues a prompt that ended before there
// was an answer. If the answer is good, the outcome has ErrAnswered.
func (s *Session) Resend(ctx context.Context) agent.Outcome {
	ctx, end, err := s.stage.wake(ctx)
	switch {
	case errors.Is(err, ErrNotBegun):
		return agent.Outcome{Reason: agent.ReasonAborted, Err: err}
	case err != nil:
		return agent.Outcome{Reason: agent.ReasonError, Err: err}
	}
	defer end()
	return s.answerAgain(ctx)
}

// answerAgain is Resend while nothing else is running.
func (s *Session) answerAgain(ctx context.Context) agent.Outcome {
	s.compactor.refresh()
	asked, failed, ok := unanswered(s.agent.Messages())
	if !ok {
		return agent.Outcome{Reason: agent.ReasonError, Err: ErrAnswered}
	}
	if failed {
		e := s.log.Last(s.log.Leaf(),
			func(n transcript.Node) bool { return n.Role == llm.RoleAssistant },
			func(*transcript.Entry) bool { return true })
		if e == nil {
			return agent.Outcome{Reason: agent.ReasonError, Err: ErrAnswered}
		}
		s.rec.branchOff(e.ID)
		s.compactor.reload()
	}
	s.openTurn(asked)
	return s.finish(ctx, s.attempts.run(ctx, s.agent.Run))
}

// unanswered finds what can be answered again: the last user text, and whether a failed answer
// to it is at the end.
func unanswered(messages []llm.Message) (asked string, failed, ok bool) {
	n := len(messages)
	for n > 0 && messages[n-1].Role == llm.RoleCustom && early(messages[n-1].CustomType) {
		n-- // what the user did since is not a question
	}
	if n == 0 {
		return "", false, false
	}
	last := &messages[n-1]
	failed = last.Role == llm.RoleAssistant
	if failed && last.Error == nil && last.StopReason != llm.StopAborted {
		return "", true, false
	}
	for i := n - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == llm.RoleUser {
			return m.Text(), failed, true
		}
	}
	return "", failed, false
}

// resubmit is Resend in the background.
func (s *Session) resubmit() (Receipt, error) {
	s.inbox.accepting.Lock()
	defer s.inbox.accepting.Unlock()
	ctx, end, err := s.stage.wake(s.stage.life)
	if err != nil {
		return Receipt{}, err
	}
	id := rand.Text()[:16]
	s.inbox.open(id)
	s.inbox.mu.Lock()
	s.inbox.held, s.inbox.now = false, id
	s.inbox.mu.Unlock()
	s.stage.tasks.Go(func() { s.settleRun(s.answerAgain(ctx), end) })
	return Receipt{ID: id, Started: true}, nil
}
