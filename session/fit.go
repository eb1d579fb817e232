package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/compact/snap"
	"github.com/burin-dev/burin/transcript"
)

// fitter makes the conversation fit the model, and gives the loop messages that were added
// outside of it.
type fitter struct {
	policies   *policies
	summariser compact.Asker // nil means only the model
	ground     Ground
	veil       veil
	rec        *record
	loop       *agent.Agent
	mind       *mind
	gauge      *gauge
	ask        compact.Asker // asks the model
	handoff    func(ctx context.Context, focus string) (string, error)
	work       *work
	modes      *modes
	damage     *damage
	cacheIdle  func() time.Duration
	now        func() time.Time

	mu    sync.Mutex
	stale bool            // the transcript has something that the loop doesn't have
	files map[string]bool // that calls were about
	again bool            // a call was about the same file as an earlier one
}

// noteCalls detects calls about a file that an earlier call was about: only then can a result
// be superseded, and checking is worth it.
func (f *fitter) noteCalls(m *llm.Message) {
	for _, c := range m.ToolCalls() {
		var args struct{ Path string }
		if json.Unmarshal([]byte(c.Arguments), &args) != nil || args.Path == "" {
			continue
		}
		name, _, _ := strings.Cut(args.Path, ":")
		f.mu.Lock()
		if f.files == nil || len(f.files) >= maxFiles {
			f.files = map[string]bool{}
		}
		f.again = f.again || f.files[name]
		f.files[name] = true
		f.mu.Unlock()
	}
}

// maxFiles is how many files are remembered for that. Beyond it all are forgotten, and
// superseded reads may stay longer than necessary.
const maxFiles = 10_000

// prepare gives the loop what was added since the last request, in a conversation that fits.
func (f *fitter) prepare(ctx context.Context) error {
	if !paused(f.loop.Messages()) { // nothing may come between the parts of an answer
		fresh := f.refresh()
		f.mind.look(ctx, f.now())
		if !fresh {
			f.fit(ctx)
		}
		if notice, ok := f.modes.notice(f.loop.Messages()); ok {
			f.rec.append(transcript.Entry{Type: transcript.TypeMessage, Message: &notice})
			f.loop.Replace(append(f.loop.Messages(), notice))
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// paused reports whether messages end with an answer that the provider paused; it continues
// with the next request.
func paused(messages []llm.Message) bool {
	n := len(messages)
	return n > 0 && messages[n-1].StopReason == llm.StopPause
}

// fit shortens the conversation before a request if it has grown beyond the threshold. Between
// requests that interrupts nothing: a session that becomes long while the model works
// continues by itself, and one that is done is not compacted for nothing. A failure here
// doesn't prevent the request, because the provider decides what fits.
func (f *fitter) fit(ctx context.Context) (changed bool) {
	window, size := f.mind.window(), f.gauge.context()
	threshold := f.policies.compaction().Threshold(window)
	if threshold == 0 || size <= threshold {
		f.mu.Lock()
		again := f.again
		f.again = false
		f.mu.Unlock()
		return again && f.policies.settings.SupersedeReads && size > tidyFrom &&
			f.prune("superseded", func(path []transcript.Entry) *transcript.Prune {
				return compact.Superseded(path, f.pruneOptions(false))
			})
	}
	if f.prune("old", func(path []transcript.Entry) *transcript.Prune { return compact.Old(path, f.pruneOptions(true)) }) {
		changed = true
		size = f.gauge.context()
	}
	if size > threshold && f.shake() {
		changed = true
		size = f.gauge.context()
		if size <= threshold*8/10 {
			return changed
		}
	}
	// A conversation that could not be compacted a moment ago is not tried again before each
	// request.
	if size <= threshold || f.gauge.hopeless(size, window) {
		return changed
	}
	if f.mind.promote(ctx, "threshold") {
		return changed
	}
	if err := f.compact(ctx, "threshold", ""); err != nil {
		// If it is too large, the provider decides, and the user sees the provider's error.
		if !errors.Is(err, compact.ErrNothing) && !errors.As(err, new(*tooLarge)) && ctx.Err() == nil {
			f.rec.warn("the conversation could not be condensed: " + err.Error())
		}
		f.gauge.couldNot(size)
		return changed
	}
	return true
}

// tidyFrom is the size, in tokens, below which nothing is shortened.
const tidyFrom = 4000

// prune records what a rule shortens, and gives the model the shorter form.
func (f *fitter) prune(reason string, rule func([]transcript.Entry) *transcript.Prune) bool {
	path, err := f.rec.log.Recent(f.rec.log.Leaf())
	if err != nil {
		return false
	}
	p := rule(path)
	if p == nil || len(p.Entries) == 0 {
		return false
	}
	data, err := json.Marshal(p)
	if err != nil {
		return false
	}
	before := f.gauge.context()
	id := f.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: data})
	f.reload()
	after := f.gauge.context()
	f.rec.emit(Event{Event: agent.Event{Type: Pruned}, EntryID: id, Data: &CompactionInfo{Reason: reason, Action: "prune", Before: before, After: after}})
	return true
}

// reload gives the loop the conversation from the transcript.
func (f *fitter) reload() {
	f.mu.Lock()
	f.stale = false // before reading: what is added meanwhile makes it stale again
	f.mu.Unlock()
	c, err := f.rec.log.Context(f.rec.log.Leaf())
	if err != nil {
		f.rec.warn(fmt.Sprintf("the conversation cannot be read again: %v", err))
		return
	}
	for _, text := range f.damage.harm(c) {
		f.rec.warn(text)
	}
	f.loop.Replace(c.Messages)
	f.gauge.reset()
	f.gauge.recall(f.rec.log)
}

// refresh reloads if the transcript has something that the loop doesn't have.
func (f *fitter) refresh() bool {
	f.mu.Lock()
	stale := f.stale
	f.mu.Unlock()
	if stale {
		f.reload()
	}
	return stale
}

// planned is what a compaction would remove, with the sizes in tokens.
type planned struct {
	cut          *compact.Cut
	window, size int
}

func (f *fitter) planned() (planned, error) {
	p := planned{window: f.mind.window(), size: f.gauge.context()}
	path, err := f.rec.log.Recent(f.rec.log.Leaf())
	if err == nil {
		p.cut, err = compact.Plan(path, compact.PlanOptions{Settings: f.policies.compaction(), Window: p.window, Tokens: p.size})
	}
	return p, err
}

// tooLarge reports that the rest of a conversation doesn't fit the model, whatever is
// summarized: the last message alone is too large.
type tooLarge struct {
	size, window int
	model        string
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("the last message and its attachments have about %s tokens, and %s takes %s: shorten it, put it in a file that the model reads in parts, or choose a larger model",
		prose.Tokens(e.size), e.model, prose.Tokens(e.window))
}

// worth returns an error if an automatic compaction would be paid for nothing, because it
// leaves too much or frees less than a twentieth.
func (f *fitter) worth(p planned) error {
	freed := p.cut.Frees()
	if rest := p.size - freed; p.window > 0 && rest > p.window {
		return &tooLarge{rest, p.window, f.mind.model().Ref()}
	}
	if freed < p.size/20 {
		return compact.ErrNothing
	}
	return nil
}

// compact appends a compaction and reloads the conversation.
func (f *fitter) compact(ctx context.Context, reason, instructions string) error {
	p, err := f.planned()
	if err == nil && reason != "manual" {
		err = f.worth(p)
	}
	if err != nil {
		return err
	}
	cut, window, size := p.cut, p.window, p.size
	info := CompactionInfo{Reason: reason, Action: string(f.policies.compaction().Strategy), Before: size}
	start := info
	f.rec.emit(Event{Event: agent.Event{Type: CompactionStart}, Data: &start})
	entry, err := f.condense(ctx, cut, window, reason, instructions)
	if err != nil {
		info.Aborted, info.Error = ctx.Err() != nil, err.Error()
		f.rec.emit(Event{Event: agent.Event{Type: CompactionEnd}, Data: &info})
		return err
	}
	id := f.rec.append(entry)
	info.Summary = entry.ShortSummary
	f.reload()
	info.After = f.gauge.context()
	f.rec.emit(Event{Event: agent.Event{Type: CompactionEnd}, EntryID: id, Data: &info})
	return nil
}

// condense makes the entry that replaces what a cut removes: images or a handoff document if
// the strategy says so and they are possible, otherwise a summary.
func (f *fitter) condense(ctx context.Context, cut *compact.Cut, window int, reason, instructions string) (transcript.Entry, error) {
	k := f.work.keep()
	if size := k.fitGoal(window); size > 0 {
		f.work.tellGoal(size)
	}
	o := compact.SummaryOptions{
		Settings: f.policies.compaction(), Instructions: f.veil.hide(instructions), Keep: k.Keep, Window: window, HistoryTool: HistoryTool,
	}
	if f.policies.settings.Strategy == compact.HandOver && reason != "overflow" { // what overflowed can't be sent again
		document, err := f.handoff(ctx, o.Instructions)
		if err == nil {
			return cut.Entry(compact.Body{Text: document}, o)
		}
		if ctx.Err() != nil || errors.Is(err, ErrBudget) {
			return transcript.Entry{}, err
		}
		f.rec.warn("no handoff document, writing a summary: " + err.Error())
	}
	if f.policies.settings.Strategy != compact.SnapCompact || instructions != "" {
		return cut.Summarize(ctx, f.asker(), o)
	}
	entry, err := snap.Compact(ctx, cut, f.mind.model(), snap.Options{Summary: o})
	if errors.Is(err, snap.ErrNoImages) || errors.Is(err, snap.ErrScript) {
		f.rec.warn("writing a text summary instead: " + err.Error())
		return cut.Summarize(ctx, f.asker(), o)
	}
	return entry, err
}

// asker returns what writes summaries: the configured server, or the current model if there is
// none or it fails.
func (f *fitter) asker() compact.Asker {
	own := f.ask
	if f.summariser == nil {
		return own
	}
	return func(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
		text, err := f.summariser(ctx, system, f.veil.hide(prompt), maxTokens)
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		f.rec.warn("the summary server failed, so the model writes this summary: " + err.Error())
		return own(ctx, system, prompt, maxTokens)
	}
}

// shake moves large pieces into an artifact, if that is the strategy, and reports whether it
// did.
func (f *fitter) shake() bool {
	if f.policies.settings.Strategy != compact.ShakeOut {
		return false
	}
	return f.prune("shake", func(path []transcript.Entry) *transcript.Prune {
		p, err := compact.Shake(path, f.pruneOptions(true), f.ground.Artifact)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			f.rec.warn("large outputs could not be moved out: " + err.Error())
		}
		return p
	})
}

// HistoryTool is the name of the tool with which the model reads what is no longer in its
// window.
const HistoryTool = "history"

func (f *fitter) pruneOptions(full bool) compact.PruneOptions {
	c := compact.Cache{Price: f.mind.model().Price, Prompt: f.gauge.vendor(), Full: full, Idle: f.cacheIdle()}
	return compact.PruneOptions{Cache: c}
}

// outdate notes that the transcript has something that the loop doesn't have.
func (f *fitter) outdate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = true
}

// adopt gives the loop the message of an entry that was just appended, and reports whether it
// could. Nothing else may be running.
func (f *fitter) adopt(id string) bool {
	e, err := f.rec.log.Entry(id)
	if err != nil || e.Message == nil {
		return false
	}
	f.loop.Replace(append(f.loop.Messages(), *e.Message))
	return true
}

// idle returns how long a conversation must be idle before it is compacted; 0 means never.
func (f *fitter) idle() time.Duration {
	c := f.policies.compaction()
	if !c.IdleEnabled || !c.Enabled || f.gauge.context() < c.IdleThresholdTokens {
		return 0
	}
	return c.IdleTimeout
}

// rested compacts an idle conversation.
func (f *fitter) rested(ctx context.Context) {
	if err := f.compact(ctx, "idle", ""); err != nil && !errors.Is(err, compact.ErrNothing) && ctx.Err() == nil {
		f.rec.warn("the conversation could not be condensed: " + err.Error())
	}
}
