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
	Limit time.Duration // longest wait before one attempt; where a vendor asks for more, it is not repeated. 0 is 5 min
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
// error is not to be waited out. A usage limit is, if it is known to end in time.
func (r *Retry) delay(attempt int, err *llm.Error, now time.Time) (d time.Duration, ok bool) {
	passes := err.Retryable() || err.Kind == llm.ErrUsageLimit && !err.ResetAt.IsZero()
	if r.Off || !passes || attempt > r.Max {
		return 0, false
	}
	for d = r.Base; attempt > 1 && d < r.Limit; attempt-- {
		d *= 2
	}
	asked := err.RetryAfter
	if !err.ResetAt.IsZero() {
		asked = max(asked, err.ResetAt.Sub(now))
	}
	return max(min(d, r.Limit), asked), asked <= r.Limit
}

// repeat calls f again while its error is one that passes.
func (r *Retry) repeat(ctx context.Context, now func() time.Time, f func() error) error {
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

// run runs the loop for a prompt, and again for as long as something can be done about
// how it ended.
func (s *Session) run(ctx context.Context, messages ...llm.Message) agent.Outcome {
	return s.mended(ctx, s.agent.Run, messages)
}

// runOn is run for what the program adds to a prompt: what the prompt may use, and what
// it has used, stays.
func (s *Session) runOn(ctx context.Context, messages ...llm.Message) agent.Outcome {
	return s.mended(ctx, s.agent.Continue, messages)
}

func (s *Session) mended(ctx context.Context, run func(context.Context, ...llm.Message) agent.Outcome, messages []llm.Message) agent.Outcome {
	m := &mender{session: s, fallbacks: s.o.Fallbacks}
	s.mender = m
	out := run(ctx, messages...)
	s.release()
	for m.mend(ctx, &out) {
		next := s.agent.Continue(ctx)
		s.release()
		// The answer that failed is not what the run has added.
		out = join(withoutFailed(out), next)
	}
	m.end(out.Err)
	out.Err = s.hideError(out.Err)
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
	attempt   int // since the last good answer, of the current model
	fallbacks []string
	shrunk    bool // the context was made smaller since the last good answer
}

// answered hears of each answer. With one that is good, all begins anew. An answer
// that was cut ends the attempts, but does not prove that there is room.
func (m *mender) answered(answer *llm.Message) {
	if answer.Error != nil {
		return
	}
	if m.attempt > 0 {
		m.tell(RetryEnd, RetryInfo{Attempt: m.attempt, Success: true})
		m.attempt = 0
	}
	m.shrunk = m.shrunk && answer.StopReason == llm.StopLength
}

// end tells that the attempts are over without an answer, if there were any.
func (m *mender) end(err error) {
	if m.attempt == 0 {
		return
	}
	info := RetryInfo{Attempt: m.attempt}
	if err != nil {
		info.Error = m.session.hide(err.Error())
	}
	m.tell(RetryEnd, info)
	m.attempt = 0
}

func (m *mender) tell(typ agent.EventType, info RetryInfo) {
	m.session.hub.emit(Event{Event: agent.Event{Type: typ}, Retry: &info})
}

// mend reports whether the loop is to go on, after having done what is needed. The
// failed answer is then no longer in the conversation; the transcript keeps it.
func (m *mender) mend(ctx context.Context, out *agent.Outcome) bool {
	s := m.session
	if s.agent.Exhausted() {
		return false // nothing is waited or paid for that could not be used
	}
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
	if failed.Kind == llm.ErrContextOverflow {
		return m.overflow(ctx, "overflow", out)
	}
	d, ok := s.o.Retry.delay(m.attempt+1, failed, s.o.Now())
	if !ok {
		return m.fallback(ctx, failed)
	}
	m.attempt++
	m.tell(RetryStart, RetryInfo{
		Attempt: m.attempt, Max: s.o.Retry.Max, Delay: d, DelayMS: d.Milliseconds(), Error: s.hide(failed.Error()),
	})
	if err := wait(ctx, d); err != nil {
		stopped(out, err)
		return false
	}
	s.dropFailed()
	s.mu.Lock()
	s.retrying = true
	s.mu.Unlock()
	return true
}

// stopped makes an outcome one of a run that was stopped while it was mended.
func stopped(out *agent.Outcome, cause error) {
	out.Reason, out.Err = agent.ReasonAborted, &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: cause}
}

// fallback goes on with the next model of the chain.
func (m *mender) fallback(ctx context.Context, failed *llm.Error) bool {
	s := m.session
	switch failed.Kind {
	case llm.ErrInvalidRequest, llm.ErrContentFilter, llm.ErrAborted:
		return false // another model would do no better, or should not be asked
	}
	s.mu.Lock()
	current := s.request.Model.Ref()
	s.mu.Unlock()
	for len(m.fallbacks) > 0 && ctx.Err() == nil {
		selector := m.fallbacks[0]
		m.fallbacks = m.fallbacks[1:]
		model, client, err := s.open(ctx, selector)
		if err != nil {
			s.warn(fmt.Sprintf("the fallback model %s cannot be used: %v", selector, err))
			continue
		}
		if model.Ref() == current {
			continue
		}
		m.end(failed)
		s.useModel(FallbackApplied, model, client, "default", s.hide(failed.Error()), false)
		s.dropFailed()
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
	undo := s.dropFailed()
	err := s.compact(ctx, reason, "")
	if err == nil {
		return true
	}
	undo()
	switch {
	case ctx.Err() != nil:
		stopped(out, context.Cause(ctx))
	case out.Err != nil: // an answer that was cut is still an answer
		out.Err = fmt.Errorf("%w; to make the conversation smaller failed: %w", out.Err, err)
	}
	return false
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

// dropFailed takes the answer that failed out of what the model gets. In the
// transcript it becomes a branch of its own that ends with it; what was set
// meanwhile, as a title, is put on the branch that goes on. undo puts the answer back,
// as long as nothing came after it.
func (s *Session) dropFailed() (undo func()) {
	messages := s.agent.Messages()
	n := len(messages)
	if n == 0 || messages[n-1].Role != llm.RoleAssistant {
		return func() {}
	}
	s.agent.Replace(messages[:n-1])
	failed, parent, ok := s.branchOff(s.answer)
	if !ok {
		return func() { s.agent.Replace(messages) }
	}
	return func() {
		s.writing.Lock()
		defer s.writing.Unlock()
		if s.log.Leaf() == parent && s.log.Move(failed) == nil {
			s.agent.Replace(messages)
		}
	}
}

// branchOff makes an answer in the transcript the end of a branch of its own: what
// comes next, and what was set since, follows the entry before it.
func (s *Session) branchOff(answer string) (id, parent string, ok bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	failed, err := s.log.Entry(answer)
	if err != nil || failed.ParentID == nil {
		return "", "", false
	}
	since, err := s.log.Beyond(s.log.Leaf(), failed.ID)
	if err != nil || s.log.Move(*failed.ParentID) != nil {
		return "", "", false
	}
	for _, e := range since {
		_, _ = s.log.Append(e) // told of when the next entry is written
	}
	return failed.ID, *failed.ParentID, true
}

// promote goes on with the larger model that the catalogue names, if there is one.
func (s *Session) promote(ctx context.Context, reason string) bool {
	s.mu.Lock()
	current := s.request.Model
	s.mu.Unlock()
	target := current.PromotionTarget
	if s.o.NoPromote || target == "" {
		return false
	}
	if _, _, ok := llm.SplitRef(target); !ok {
		target = current.Provider + "/" + target
	}
	model, client, err := s.open(ctx, target)
	if err != nil || model.ContextWindow <= current.ContextWindow {
		return false // there is no key for it, or nothing is gained
	}
	s.useModel(Promoted, model, client, "default", reason, false)
	return true
}
