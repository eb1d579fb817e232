package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// Retry says how often a request that failed for a passing reason is repeated, and
// how long that may take.
type Retry struct {
	Off   bool
	Max   int           // attempts after the first; 0 is 3, and Off is none
	Base  time.Duration // before the first attempt, doubled for each other, less a random quarter; 0 is 2 s
	Limit time.Duration // longest wait before one attempt; where a vendor asks for more, it is not repeated. 0 is 5 min
	// Stay keeps a model that took over from one that failed; else the first one is asked
	// again when its vendor's wait is over, or after five minutes.
	Stay bool
}

const (
	// cooldown is how long a model that failed is not asked again where its vendor doesn't
	// say how long.
	cooldown = 5 * time.Minute
	// patient is how long a vendor may ask to wait while another model could answer.
	patient = 10 * time.Second
)

// ErrLater means that a provider asks for a longer wait than burin waits by itself.
var ErrLater = errors.New("the provider asks for a longer wait")

// later names the wait that a provider asks for. It is an [ErrLater].
type later struct {
	error
	at    time.Time
	limit time.Duration
}

func (l *later) Error() string {
	return fmt.Sprintf("%v; the provider asks to wait until %s, and burin waits %s at most (retry.maxDelayMs)", l.error, l.at.Format("2006-01-02 15:04:05"), l.limit)
}
func (l *later) Unwrap() []error { return []error{ErrLater, l.error} }

// resumeAt is when a provider can be asked again that asks for a longer wait than burin
// waits by itself; zero of other errors.
func resumeAt(err error) time.Time {
	var l *later
	if errors.As(err, &l) {
		return l.at
	}
	return time.Time{}
}

// vendorWait is how long a vendor asks to wait; 0: it does not say.
func vendorWait(err *llm.Error, now time.Time) time.Duration {
	d := err.RetryAfter
	if !err.ResetAt.IsZero() {
		d = max(d, err.ResetAt.Sub(now))
	}
	return d
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

// passes reports whether an error is one that is waited out at all. A usage limit is, if it
// is known when it ends.
func (r *Retry) passes(err *llm.Error) bool {
	return !r.Off && (err.Retryable() || err.Kind == llm.ErrUsageLimit && !err.ResetAt.IsZero())
}

// delay is how long to wait before an attempt, counted from 1; ok is false if the
// error is not to be waited out. The own wait is random in its last quarter, and what a
// vendor asks for is followed by a random tenth: programs that failed together should not
// come back together.
func (r *Retry) delay(attempt int, err *llm.Error, now time.Time) (d time.Duration, ok bool) {
	if !r.passes(err) || attempt > r.Max {
		return 0, false
	}
	for d = r.Base; attempt > 1 && d < r.Limit; attempt-- {
		d *= 2
	}
	d = min(d, r.Limit)
	d -= time.Duration(rand.Float64() * float64(d/4))
	want := vendorWait(err, now)
	if want >= d {
		d = want + time.Duration(rand.Float64()*float64(min(want/10, r.Base)))
	}
	return d, want <= r.Limit
}

// hurried reports whether another model, if there is one, rather answers than that an
// attempt is waited for: a vendor that is overloaded or limits requests is asked once more,
// if that is soon.
func (r *Retry) hurried(attempt int, err *llm.Error, now time.Time) bool {
	switch err.Kind {
	case llm.ErrOverload, llm.ErrRateLimit, llm.ErrUsageLimit:
		return attempt > 1 || vendorWait(err, now) > patient
	}
	return false
}

// repeat calls f again while its error is one that passes. It gives up sooner if there is
// another model to ask.
func (r *Retry) repeat(ctx context.Context, now func() time.Time, another bool, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		var failed *llm.Error
		if err == nil || !errors.As(err, &failed) {
			return err
		}
		d, ok := r.delay(attempt, failed, now())
		if !ok || another && r.hurried(attempt, failed, now()) {
			return err
		}
		if err := wait(ctx, d); err != nil {
			return err
		}
	}
}

// fallbacks are selectors of models to go on with, by provider/id or role.
type fallbacks map[string][]string

// of is the chain of a model that acts in a role.
func (f fallbacks) of(role, ref string) []string {
	for _, key := range []string{ref, role, roleDefault} {
		if chain, ok := f[key]; ok && (key != roleDefault || role != roleSmol) {
			return chain
		}
	}
	return nil
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

// errGiveUp means that a person wants no more attempts.
var errGiveUp = errors.New("no more attempts wanted")

// patience waits until a request that failed is repeated, unless a person would rather
// have the error.
type patience struct {
	mu     sync.Mutex
	giveUp context.CancelCauseFunc // of the wait that is under way; nil: none is
}

func (p *patience) wait(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.mu.Lock()
	p.giveUp = cancel
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.giveUp = nil
		p.mu.Unlock()
	}()
	return wait(ctx, d)
}

// end ends a wait.
func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.giveUp != nil {
		p.giveUp(errGiveUp)
	}
}

// attempts run the loop, and again for as long as something can be done about how it
// ended.
type attempts struct {
	loop      *agent.Agent
	mind      *mind
	money     *money
	fitter    *fitter
	rec       *record
	policies  *policies
	fallbacks fallbacks
	now       func() time.Time

	patience patience
	mender   *mender // of the run; the goroutine of the loop alone uses it
}

// run runs the loop: its Run for a prompt, its Continue for what the program adds to one.
func (a *attempts) run(ctx context.Context, run func(context.Context, ...llm.Message) agent.Outcome, messages ...llm.Message) agent.Outcome {
	m := &mender{attempts: a}
	a.mender = m
	a.mind.follow(a.now(), "it can be asked again")
	out := run(ctx, messages...)
	a.money.release()
	for m.mend(ctx, &out) {
		next := a.loop.Continue(ctx, m.take()...)
		a.money.release()
		// The answer that failed is not what the run has added.
		out = join(withoutFailed(out), next)
	}
	m.end(out.Err)
	out.Err = a.rec.veil.err(out.Err)
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
	*attempts
	attempt int           // since the last good answer, of the current model
	failing string        // provider/id of the model whose fallbacks are tried
	left    []string      // of its fallbacks
	shrunk  bool          // the context was made smaller since the last good answer
	stops   int           // answers that watchers have stopped since the last good one
	guessed bool          // attachments were set aside for an error that did not name them
	notes   []llm.Message // for the next attempt
}

// answered hears of each answer. With one that is good, all begins anew. An answer
// that was cut ends the attempts, but does not prove that there is room.
func (m *mender) answered(answer *llm.Message) {
	if answer.Error != nil {
		return
	}
	if n := m.attempt + m.stops; n > 0 {
		m.tell(RetryEnd, RetryInfo{Attempt: n, Success: true})
		m.attempt, m.stops = 0, 0
	}
	m.shrunk = m.shrunk && answer.StopReason == llm.StopLength
}

// end tells that the attempts are over without an answer, if there were any.
func (m *mender) end(err error) {
	if m.attempt+m.stops == 0 {
		return
	}
	info := RetryInfo{Attempt: m.attempt + m.stops}
	if err != nil {
		info.Error = m.rec.veil.hide(err.Error())
	}
	m.tell(RetryEnd, info)
	m.attempt, m.stops = 0, 0
}

// take gives what the next attempt begins with.
func (m *mender) take() []llm.Message {
	notes := m.notes
	m.notes = nil
	return notes
}

// again goes on after an answer that a watcher stopped.
func (m *mender) again(why *stoppedAnswer) bool {
	m.stops++
	m.tell(RetryStart, RetryInfo{Attempt: why.times, Max: why.most, Error: why.Error()})
	m.dropFailed()
	m.notes = why.message(m.now())
	m.money.again()
	return true
}

func (m *mender) tell(typ agent.EventType, info RetryInfo) {
	m.rec.emit(Event{Event: agent.Event{Type: typ}, Data: &info})
}

// mend reports whether the loop is to go on, after having done what is needed. The
// failed answer is then no longer in the conversation; the transcript keeps it.
func (m *mender) mend(ctx context.Context, out *agent.Outcome) bool {
	if m.loop.Exhausted() {
		return false // nothing is waited or paid for that could not be used
	}
	if out.Reason == agent.ReasonLength {
		return m.incomplete(ctx, out)
	}
	if out.Reason != agent.ReasonError {
		return false
	}
	if why := (*stoppedAnswer)(nil); errors.As(out.Err, &why) {
		return m.again(why)
	}
	var failed *llm.Error
	if !errors.As(out.Err, &failed) {
		return false
	}
	if failed.Kind == llm.ErrInvalidRequest || failed.Status == http.StatusRequestEntityTooLarge {
		if m.refused(failed) {
			return true
		}
	}
	if failed.Kind == llm.ErrContextOverflow {
		return m.overflow(ctx, "overflow", out)
	}
	now := m.now()
	retry := m.policies.repeats()
	d, ok := retry.delay(m.attempt+1, failed, now)
	if !ok || retry.hurried(m.attempt+1, failed, now) {
		if m.fallback(ctx, failed) {
			return true
		}
	}
	if !ok {
		if want := vendorWait(failed, now); retry.passes(failed) && want > retry.Limit {
			out.Err = &later{out.Err, now.Add(want), retry.Limit}
		}
		return false
	}
	m.attempt++
	m.tell(RetryStart, RetryInfo{
		Attempt: m.attempt, Max: retry.Max, Delay: d, DelayMS: d.Milliseconds(), Error: m.rec.veil.hide(failed.Error()),
	})
	switch err := m.patience.wait(ctx, d); {
	case errors.Is(err, errGiveUp):
		return false
	case err != nil:
		stopped(out, err)
		return false
	}
	m.dropFailed()
	m.money.again()
	return true
}

// stopped makes an outcome one of a run that was stopped while it was mended.
func stopped(out *agent.Outcome, cause error) {
	out.Reason, out.Err = agent.ReasonAborted, &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: cause}
}

// fallback goes on with the next model of the chain.
func (m *mender) fallback(ctx context.Context, failed *llm.Error) bool {
	switch failed.Kind {
	case llm.ErrInvalidRequest, llm.ErrContentFilter, llm.ErrAnswerLimit, llm.ErrAborted:
		return false // another model would do no better, or should not be asked
	}
	ref, role := m.mind.acting()
	if m.failing != ref {
		m.failing, m.left = ref, m.attempts.fallbacks.of(role, ref)
	}
	current := m.mind.model().Ref()
	for len(m.left) > 0 && ctx.Err() == nil {
		selector := m.left[0]
		m.left = m.left[1:]
		o, err := m.mind.open(ctx, selector)
		if err != nil {
			m.rec.warn(fmt.Sprintf("the fallback model %s cannot be used: %v", selector, err))
			continue
		}
		if next := o.Model.Ref(); next == current || next == ref {
			continue
		}
		m.end(failed)
		var until time.Time
		if !m.policies.retry.Stay {
			until = m.now().Add(cmp.Or(vendorWait(failed, m.now()), cooldown))
		}
		m.mind.replace(FallbackApplied, o, until, m.rec.veil.hide(failed.Error()))
		m.dropFailed()
		return true
	}
	return false
}

// overflow goes on with a larger model, or with less.
func (m *mender) overflow(ctx context.Context, reason string, out *agent.Outcome) bool {
	if m.mind.promote(ctx, reason) {
		m.dropFailed()
		return true
	}
	if m.shrunk || !m.policies.compaction().Enabled {
		return false
	}
	m.shrunk = true
	undo := m.dropFailed()
	err := m.fitter.compact(ctx, reason, "")
	if err == nil {
		return true
	}
	undo()
	switch {
	case ctx.Err() != nil:
		stopped(out, context.Cause(ctx))
	case errors.As(err, new(*tooLarge)) && out.Err != nil:
		out.Err = fmt.Errorf("%w: %w", out.Err, err)
	case out.Err != nil: // an answer that was cut is still an answer
		out.Err = fmt.Errorf("%w; making the conversation smaller failed: %w", out.Err, err)
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
	window := m.mind.window()
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
func (a *attempts) dropFailed() (undo func()) {
	messages := a.loop.Messages()
	n := len(messages)
	if n == 0 || messages[n-1].Role != llm.RoleAssistant {
		return func() {}
	}
	a.loop.Replace(messages[:n-1])
	failed, parent, ok := a.rec.branchOff(a.rec.answer)
	if !ok {
		return func() { a.loop.Replace(messages) }
	}
	return func() {
		if a.rec.back(failed, parent) {
			a.loop.Replace(messages)
		}
	}
}
