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

// Retry says how often and how long a request that fails for a temporary reason is retried.
type Retry struct {
	Off   bool
	Max   int           // retries; 0 is 3, Off is none
	Base  time.Duration // wait before the first retry, doubled for each further one, less up to a quarter at random; 0 is 2 s
	Limit time.Duration // longest wait before a retry; if a provider asks for more, there is none. 0 is 5 min
	// Stay keeps a model that took over from one that failed; otherwise the first one is used
	// again when its provider's wait is over, or after five minutes.
	Stay bool
}

const (
	// cooldown is how long a failed model is not used if its provider doesn't say how long.
	cooldown = 5 * time.Minute
	// patient is the longest wait that a provider may ask for while another model could
	// answer.
	patient = 10 * time.Second
)

// ErrLater means that a provider asks for a longer wait than burin waits by itself.
var ErrLater = errors.New("the provider asks for a longer wait")

// later has the wait that a provider asks for. It is an [ErrLater].
type later struct {
	error
	at    time.Time
	limit time.Duration
}

func (l *later) Error() string {
	return fmt.Sprintf("%v; the provider asks to wait until %s, and burin waits %s at most (retry.maxDelayMs)", l.error, l.at.Format("2006-01-02 15:04:05"), l.limit)
}
func (l *later) Unwrap() []error { return []error{ErrLater, l.error} }

// resumeAt returns when to ask a provider again that asks for a longer wait than burin waits
// by itself; zero for other errors.
func resumeAt(err error) time.Time {
	var l *later
	if errors.As(err, &l) {
		return l.at
	}
	return time.Time{}
}

// vendorWait returns the wait that a provider asks for; 0 if it doesn't say.
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

// passes reports whether waiting can help with an error. It can help with a usage limit if its
// end is known.
func (r *Retry) passes(err *llm.Error) bool {
	return !r.Off && (err.Retryable() || err.Kind == llm.ErrUsageLimit && !err.ResetAt.IsZero())
}

// delay returns the wait before a retry, counted from 1; ok is false if waiting can't help.
// The last quarter of the own wait is random, and a random tenth is added to what a provider
// asks for: programs that failed together should not come back together.
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

// hurried reports whether another model, if there is one, should answer instead of waiting for
// a retry: a provider that is overloaded or limits requests is asked once more, if that is
// soon.
func (r *Retry) hurried(attempt int, err *llm.Error, now time.Time) bool {
	switch err.Kind {
	case llm.ErrOverload, llm.ErrRateLimit, llm.ErrUsageLimit:
		return attempt > 1 || vendorWait(err, now) > patient
	}
	return false
}

// repeat calls f again while its error is temporary. It gives up sooner if there is another
// model to use.
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

// fallbacks has selectors of models that take over, by provider/id or role.
type fallbacks map[string][]string

// of returns the chain of a model that acts in a role.
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

// errGiveUp means that the user wants no more retries.
var errGiveUp = errors.New("no more attempts wanted")

// patience waits for a retry, unless the user would rather have the error.
type patience struct {
	mu     sync.Mutex
	giveUp context.CancelCauseFunc // of the current wait; nil if there is none
}

// wait waits. From when told is called on it can be ended.
func (p *patience) wait(ctx context.Context, d time.Duration, told func()) error {
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
	told()
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

// attempts runs the loop, and runs it again as long as something can be done about a failure.
type attempts struct {
	loop       *agent.Agent
	modelState *modelState
	money      *money
	compactor  *compactor
	rec        *record
	policies   *policies
	fallbacks  fallbacks
	now        func() time.Time

	patience patience
	mender   *mender // of the run; only the loop's goroutine uses it
}

// run runs the loop: Run for a prompt, Continue for what the program adds to one.
func (a *attempts) run(ctx context.Context, run func(context.Context, ...llm.Message) agent.Outcome, messages ...llm.Message) agent.Outcome {
	m := &mender{attempts: a}
	a.mender = m
	a.modelState.follow(a.now(), "it can be asked again")
	out := run(ctx, messages...)
	a.money.release()
	for m.mend(ctx, &out) {
		next := a.loop.Continue(ctx, m.take()...)
		a.money.release()
		// The run hasn't added the failed answer.
		out = join(withoutFailed(out), next)
	}
	m.end(out.Err)
	out.Err = a.rec.redactor.err(out.Err)
	return out
}

func withoutFailed(out agent.Outcome) agent.Outcome {
	if n := len(out.Messages); n > 0 && out.Messages[n-1].Role == llm.RoleAssistant {
		out.Messages = out.Messages[:n-1]
	}
	return out
}

// mender decides what to do about a failed run. There is one per prompt.
type mender struct {
	*attempts
	attempt int           // since the last good answer, of the current model
	failing string        // provider/id of the model whose fallbacks are used
	left    []string      // the remaining fallbacks
	shrunk  bool          // the conversation was shortened since the last good answer
	stops   int           // answers that watchers have stopped since the last good one
	guessed bool          // attachments were set aside for an error that did not name them
	notes   []llm.Message // for the next attempt
}

// answered is called for each answer. A good one resets everything. An answer that was cut
// ends the attempts, but does not prove that there is room.
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

// end emits that retrying ended without an answer, if there were retries.
func (m *mender) end(err error) {
	if m.attempt+m.stops == 0 {
		return
	}
	info := RetryInfo{Attempt: m.attempt + m.stops}
	if err != nil {
		info.Error = m.rec.redactor.hide(err.Error())
	}
	m.tell(RetryEnd, info)
	m.attempt, m.stops = 0, 0
}

// take returns what the next attempt starts with.
func (m *mender) take() []llm.Message {
	notes := m.notes
	m.notes = nil
	return notes
}

// again continues after an answer that a watcher stopped.
func (m *mender) again(why *stoppedAnswer) bool {
	m.stops++
	if !why.keep {
		m.dropFailed()
	}
	m.rec.triggered(why.rules, true)
	m.tell(RetryStart, RetryInfo{Attempt: why.times, Max: why.most, Error: why.Error()})
	m.notes = why.message(m.now())
	m.money.again()
	return true
}

func (m *mender) tell(typ agent.EventType, info RetryInfo) {
	m.rec.emit(Event{Event: agent.Event{Type: typ}, Data: &info})
}

// mend reports whether the loop should continue, after doing what is needed. The failed answer
// is then no longer in the conversation; the transcript keeps it.
func (m *mender) mend(ctx context.Context, out *agent.Outcome) bool {
	if m.loop.Exhausted() {
		return false // it would wait and pay for something that can't be used
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
	told := func() {
		m.tell(RetryStart, RetryInfo{
			Attempt: m.attempt, Max: retry.Max, Delay: d, DelayMS: d.Milliseconds(), Error: m.rec.redactor.hide(failed.Error()),
		})
	}
	switch err := m.patience.wait(ctx, d, told); {
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

// stopped turns an outcome into one of a run that was stopped during a repair.
func stopped(out *agent.Outcome, cause error) {
	out.Reason, out.Err = agent.ReasonAborted, &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: cause}
}

// fallback continues with the next model of the chain.
func (m *mender) fallback(ctx context.Context, failed *llm.Error) bool {
	switch failed.Kind {
	case llm.ErrInvalidRequest, llm.ErrContentFilter, llm.ErrAnswerLimit, llm.ErrAborted:
		return false // another model would do no better, or should not be asked
	}
	ref, role := m.modelState.acting()
	if m.failing != ref {
		m.failing, m.left = ref, m.attempts.fallbacks.of(role, ref)
	}
	current := m.modelState.model().Ref()
	for len(m.left) > 0 && ctx.Err() == nil {
		selector := m.left[0]
		m.left = m.left[1:]
		o, err := m.modelState.open(ctx, selector)
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
		m.modelState.replace(FallbackApplied, o, until, m.rec.redactor.hide(failed.Error()))
		m.dropFailed()
		return true
	}
	return false
}

// overflow continues with a larger model, or with a shorter conversation.
func (m *mender) overflow(ctx context.Context, reason string, out *agent.Outcome) bool {
	if m.modelState.promote(ctx, reason) {
		m.dropFailed()
		return true
	}
	if m.shrunk || !m.policies.compaction().Enabled {
		return false
	}
	m.shrunk = true
	undo := m.dropFailed()
	err := m.compactor.compact(ctx, reason, "")
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

// incomplete handles an answer that was cut. Only if the window was full the conversation is
// to blame; if the answer reached its own limit, the user is told.
func (m *mender) incomplete(ctx context.Context, out *agent.Outcome) bool {
	n := len(out.Messages)
	if n == 0 || out.Messages[n-1].Usage == nil {
		return false
	}
	window := m.modelState.window()
	u := out.Messages[n-1].Usage
	if total := u.Input + u.CacheRead + u.CacheWrite + u.Output; window == 0 || total < window*95/100 {
		return false
	}
	return m.overflow(ctx, "incomplete", out)
}

// dropFailed removes the failed answer from what the model gets. In the transcript it becomes
// the end of its own branch; what was set meanwhile, such as a title, moves to the branch that
// continues. undo puts the answer back, as long as nothing came after it.
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
