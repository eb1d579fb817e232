package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// Retry says how often a request that failed for a passing reason is repeated, and
// how long that may take.
type Retry struct {
	Off   bool
	Max   int           // attempts after the first; 0 is 3, and Off is none
	Base  time.Duration // before the first attempt, doubled for each other; 0 is 2 s
	Limit time.Duration // longest wait before one attempt; a vendor that asks for more is not waited for. 0 is 5 min
}

func (r *Retry) fill() {
	if r.Max == 0 {
		r.Max = 3
	}
	if r.Base == 0 {
		r.Base = 2 * time.Second
	}
	if r.Limit == 0 {
		r.Limit = 5 * time.Minute
	}
}

// delay is how long to wait before an attempt, counted from 1; ok is false if the
// error is not to be waited out.
func (r *Retry) delay(attempt int, err *llm.Error, now time.Time) (d time.Duration, ok bool) {
	if r.Off || err == nil || !err.Retryable() || attempt > r.Max {
		return 0, false
	}
	d = r.Base << (attempt - 1)
	d = max(d, err.RetryAfter)
	if !err.ResetAt.IsZero() {
		d = max(d, err.ResetAt.Sub(now))
	}
	return d, d <= r.Limit
}

// repeat calls f again while its error is one that passes. told, if not nil, hears
// of each wait.
func (r *Retry) repeat(ctx context.Context, now func() time.Time, f func() error, told func(attempt int, d time.Duration, err *llm.Error)) error {
	for attempt := 1; ; attempt++ {
		err := f()
		var failed *llm.Error
		if err == nil || !errors.As(err, &failed) {
			return err
		}
		d, ok := r.delay(attempt, failed, now())
		if !ok {
			return err
		}
		if told != nil {
			told(attempt, d, failed)
		}
		if err := wait(ctx, d); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run runs the loop, and again for as long as something can be done about how it
// ended.
func (s *Session) run(ctx context.Context, messages ...llm.Message) agent.Outcome {
	out := s.agent.Run(ctx, messages...)
	m := mender{session: s, fallbacks: s.o.Fallbacks}
	for m.mend(ctx, &out) {
		next := s.agent.Continue(ctx)
		// The answer that failed is not what the run has added.
		out = join(withoutFailed(out), next)
	}
	m.end(out)
	return out
}

func withoutFailed(out agent.Outcome) agent.Outcome {
	if n := len(out.Messages); n > 0 && out.Messages[n-1].Role == llm.RoleAssistant {
		out.Messages = out.Messages[:n-1]
	}
	return out
}

// mender decides what is done about a run that failed. One lives as long as a
// prompt.
type mender struct {
	session   *Session
	attempt   int // of the current model
	fallbacks []string
	shrunk    bool // the context was made smaller since the last good answer
}

// mend reports whether the loop is to go on, after having done what is needed. The
// failed answer is then no longer in the conversation; the transcript keeps it.
func (m *mender) mend(ctx context.Context, out *agent.Outcome) bool {
	s := m.session
	if out.Reason == agent.ReasonLength {
		return m.incomplete(ctx, out)
	}
	if out.Reason != agent.ReasonError {
		return false
	}
	var failed *llm.Error
	if !errors.As(out.Err, &failed) {
		return false
	}
	if answered(out.Messages) {
		m.attempt, m.shrunk = 0, false // it had worked until then
	}
	if failed.Kind == llm.ErrContextOverflow {
		return m.overflow(ctx, "overflow", out)
	}
	m.attempt++
	d, ok := s.o.Retry.delay(m.attempt, failed, s.o.Now())
	if !ok {
		return m.fallback(ctx, failed)
	}
	s.hub.emit(Event{Event: agent.Event{Type: RetryStart}, Retry: &RetryInfo{
		Attempt: m.attempt, Max: s.o.Retry.Max, Delay: d, DelayMS: d.Milliseconds(), Error: failed.Error(),
	}})
	if err := wait(ctx, d); err != nil {
		out.Reason, out.Err = agent.ReasonAborted, &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: err}
		return false
	}
	s.dropFailed()
	return true
}

// answered reports whether a run got an answer before the one that failed.
func answered(messages []llm.Message) bool {
	for _, m := range messages {
		if m.Role == llm.RoleAssistant && m.Error == nil {
			return true
		}
	}
	return false
}

// end tells that the attempts are over.
func (m *mender) end(out agent.Outcome) {
	if m.attempt == 0 {
		return
	}
	info := &RetryInfo{Attempt: m.attempt, Success: out.Reason != agent.ReasonError && out.Reason != agent.ReasonAborted}
	if info.Success {
		// The attempt that worked is counted.
	} else if out.Err != nil {
		info.Attempt, info.Error = m.attempt-1, out.Err.Error()
	}
	m.session.hub.emit(Event{Event: agent.Event{Type: RetryEnd}, Retry: info})
}

// fallback goes on with the next model of the chain.
func (m *mender) fallback(ctx context.Context, failed *llm.Error) bool {
	s := m.session
	switch failed.Kind {
	case llm.ErrInvalidRequest, llm.ErrContentFilter, llm.ErrAborted:
		return false // another model would do no better, or should not be asked
	}
	if s.o.Open == nil {
		return false
	}
	for len(m.fallbacks) > 0 {
		selector := m.fallbacks[0]
		m.fallbacks = m.fallbacks[1:]
		model, client, err := s.o.Open(ctx, selector)
		if err != nil {
			s.warn(fmt.Sprintf("the fallback model %s cannot be used: %v", selector, err))
			continue
		}
		if model.Ref() == s.Stats().Model {
			continue
		}
		s.useModel(FallbackApplied, model, client, "default", failed.Error(), false)
		s.dropFailed()
		m.attempt = 0
		return true
	}
	return false
}

// overflow goes on with a larger model, or with less.
func (m *mender) overflow(ctx context.Context, reason string, out *agent.Outcome) bool {
	s := m.session
	if s.promote(ctx, reason) {
		s.dropFailed()
		return true
	}
	if m.shrunk || s.o.Compaction.Strategy == "off" || !s.o.Compaction.Enabled {
		return false
	}
	m.shrunk = true
	s.dropFailed()
	if err := s.compact(ctx, reason, ""); err != nil {
		out.Err = fmt.Errorf("%w; to make the conversation smaller failed: %w", out.Err, err)
		return false
	}
	return true
}

// incomplete looks at an answer that was cut. Only where the window was full it is
// the conversation's fault; where the answer's own limit was reached, the person is
// told.
func (m *mender) incomplete(ctx context.Context, out *agent.Outcome) bool {
	n := len(out.Messages)
	if n == 0 || out.Messages[n-1].Usage == nil {
		return false
	}
	s := m.session
	s.mu.Lock()
	window := s.request.Model.ContextWindow
	s.mu.Unlock()
	u := out.Messages[n-1].Usage
	if total := u.Input + u.CacheRead + u.CacheWrite + u.Output; window == 0 || total < window*95/100 {
		return false
	}
	return m.overflow(ctx, "incomplete", out)
}

// dropFailed takes the answer that failed out of what the model gets.
func (s *Session) dropFailed() {
	messages := s.agent.Messages()
	if n := len(messages); n > 0 && messages[n-1].Role == llm.RoleAssistant {
		s.agent.Replace(messages[:n-1])
	}
}

// promote goes on with the larger model that the catalogue names, if there is one.
func (s *Session) promote(ctx context.Context, reason string) bool {
	s.mu.Lock()
	current := s.request.Model
	s.mu.Unlock()
	target := current.PromotionTarget
	if s.o.NoPromote || s.o.Open == nil || target == "" {
		return false
	}
	if _, _, ok := llm.SplitRef(target); !ok {
		target = current.Provider + "/" + target
	}
	model, client, err := s.o.Open(ctx, target)
	if err != nil || model.ContextWindow <= current.ContextWindow {
		return false // there is no key for it, or nothing is gained
	}
	s.useModel(Promoted, model, client, "default", reason, false)
	return true
}
