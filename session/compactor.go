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

// compactor makes the conversation fit the model, and passes the loop messages that were added
// outside of it.
type compactor struct {
	policies     *policies
	summariser   compact.Asker // nil means only the model
	ground       Ground
	redactor     redactor
	rec          *record
	loop         *agent.Agent
	modelState   *modelState
	tokenCounter *tokenCounter
	ask          compact.Asker // asks the model
	handoff      func(ctx context.Context, focus string) (string, error)
	work         *work
	modes        *modes
	wishes       *turnWishes
	damage       *damage
	marks        *marks
	cacheIdle    func() time.Duration
	links        []CompactionInterceptor
	now          func() time.Time

	mu    sync.Mutex
	stale bool            // the transcript has something that the loop doesn't have
	files map[string]bool // that calls were about
	again bool            // a call was about the same file as an earlier one
}

// noteCalls detects calls about a file that an earlier call was about: only then can a result
// be superseded, and checking is worth it.
func (k *compactor) noteCalls(m *llm.Message) {
	for _, c := range m.ToolCalls() {
		var args struct{ Path string }
		if json.Unmarshal([]byte(c.Arguments), &args) != nil || args.Path == "" {
			continue
		}
		name, _, _ := strings.Cut(args.Path, ":")
		k.mu.Lock()
		if k.files == nil || len(k.files) >= maxFiles {
			k.files = map[string]bool{}
		}
		k.again = k.again || k.files[name]
		k.files[name] = true
		k.mu.Unlock()
	}
}

// maxFiles is how many files are remembered for that. Beyond it all are forgotten, and
// superseded reads may stay longer than necessary.
const maxFiles = 10_000

// prepare gives the loop what was added since the last request, in a conversation that fits.
func (k *compactor) prepare(ctx context.Context) error {
	if !paused(k.loop.Messages()) { // nothing may come between the parts of an answer
		fresh := k.refresh()
		k.wishes.prepare(ctx)
		k.modelState.look(ctx, k.now())
		if !fresh {
			k.fit(ctx)
		}
		if notice, ok := k.modes.notice(k.loop.Messages()); ok {
			k.rec.append(transcript.Entry{Type: transcript.TypeMessage, Message: &notice})
			k.loop.Replace(append(k.loop.Messages(), notice))
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
func (k *compactor) fit(ctx context.Context) (changed bool) {
	window, size := k.modelState.window(), k.tokenCounter.context()
	threshold := k.policies.compaction().Threshold(window)
	if threshold == 0 || size <= threshold {
		k.mu.Lock()
		again := k.again
		k.again = false
		k.mu.Unlock()
		return again && k.policies.settings.SupersedeReads && size > tidyFrom &&
			k.prune("superseded", func(path []transcript.Entry) *transcript.Prune {
				return compact.Superseded(path, k.pruneOptions(false))
			})
	}
	if k.prune("old", func(path []transcript.Entry) *transcript.Prune { return compact.Old(path, k.pruneOptions(true)) }) {
		changed = true
		size = k.tokenCounter.context()
	}
	if size > threshold && k.shake() {
		changed = true
		size = k.tokenCounter.context()
		if size <= threshold*8/10 {
			return changed
		}
	}
	// A conversation that could not be compacted a moment ago is not tried again before each
	// request.
	if size <= threshold || k.tokenCounter.hopeless(size, window) {
		return changed
	}
	if k.modelState.promote(ctx, "threshold") {
		return changed
	}
	if err := k.compact(ctx, "threshold", ""); err != nil {
		// If it is too large, the provider decides, and the user sees the provider's error.
		if !errors.Is(err, compact.ErrNothing) && !errors.As(err, new(*tooLarge)) && ctx.Err() == nil {
			k.rec.warn("the conversation could not be condensed: " + err.Error())
		}
		k.tokenCounter.couldNot(size)
		return changed
	}
	return true
}

// tidyFrom is the size, in tokens, below which nothing is shortened.
const tidyFrom = 4000

// prune records what a rule shortens, and gives the model the shorter form.
func (k *compactor) prune(reason string, rule func([]transcript.Entry) *transcript.Prune) bool {
	path, err := k.rec.log.Recent(k.rec.log.Leaf())
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
	before := k.tokenCounter.context()
	id := k.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: data})
	k.reload()
	after := k.tokenCounter.context()
	k.rec.emit(Event{Event: agent.Event{Type: Pruned}, EntryID: id, Data: &CompactionInfo{Reason: reason, Action: "prune", Before: before, After: after}})
	return true
}

// reload gives the loop the conversation from the transcript.
func (k *compactor) reload() {
	k.mu.Lock()
	k.stale = false // before reading: what is added meanwhile makes it stale again
	k.mu.Unlock()
	c, err := k.rec.log.Context(k.rec.log.Leaf())
	if err != nil {
		k.rec.warn(fmt.Sprintf("the conversation cannot be read again: %v", err))
		return
	}
	for _, text := range k.damage.harm(c) {
		k.rec.warn(text)
	}
	k.loop.Replace(c.Messages)
	k.tokenCounter.reset()
	k.tokenCounter.recall(k.rec.log)
}

// refresh reloads if the transcript has something that the loop doesn't have, or if the model
// rewinds to its checkpoint.
func (k *compactor) refresh() bool {
	k.mu.Lock()
	stale := k.stale
	k.mu.Unlock()
	stale = k.marks.apply() || stale
	if stale {
		k.reload()
	}
	return stale
}

// planned is what a compaction would remove, with the sizes in tokens.
type planned struct {
	cut          *compact.Cut
	window, size int
}

func (k *compactor) planned() (planned, error) {
	p := planned{window: k.modelState.window(), size: k.tokenCounter.context()}
	path, err := k.rec.log.Recent(k.rec.log.Leaf())
	if err == nil {
		p.cut, err = compact.Plan(path, compact.PlanOptions{Settings: k.policies.compaction(), Window: p.window, Tokens: p.size})
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
func (k *compactor) worth(p planned) error {
	freed := p.cut.Frees()
	if rest := p.size - freed; p.window > 0 && rest > p.window {
		return &tooLarge{rest, p.window, k.modelState.model().Ref()}
	}
	if freed < p.size/20 {
		return compact.ErrNothing
	}
	return nil
}

// compact appends a compaction and reloads the conversation.
func (k *compactor) compact(ctx context.Context, reason, instructions string) error {
	p, err := k.planned()
	if err == nil && reason != "manual" {
		err = k.worth(p)
	}
	if err != nil {
		return err
	}
	for _, l := range k.links {
		if err := guarded("compaction", l.Name, func() error { return l.Before(ctx, reason) }); err != nil {
			return err
		}
	}
	cut, window, size := p.cut, p.window, p.size
	info := CompactionInfo{Reason: reason, Action: string(k.policies.compaction().Strategy), Before: size}
	start := info
	k.rec.emit(Event{Event: agent.Event{Type: CompactionStart}, Data: &start})
	entry, err := k.condense(ctx, cut, window, reason, instructions)
	if err != nil {
		info.Aborted, info.Error = ctx.Err() != nil, err.Error()
		k.rec.emit(Event{Event: agent.Event{Type: CompactionEnd}, Data: &info})
		return err
	}
	id := k.rec.append(entry)
	info.Summary = entry.ShortSummary
	k.reload()
	info.After = k.tokenCounter.context()
	k.rec.emit(Event{Event: agent.Event{Type: CompactionEnd}, EntryID: id, Data: &info})
	return nil
}

// condense makes the entry that replaces what a cut removes: images or a handoff document if
// the strategy says so and they are possible, otherwise a summary.
func (k *compactor) condense(ctx context.Context, cut *compact.Cut, window int, reason, instructions string) (transcript.Entry, error) {
	kept := k.work.keep()
	if size := kept.fitGoal(window); size > 0 {
		k.work.tellGoal(size)
	}
	o := compact.SummaryOptions{
		Settings: k.policies.compaction(), Instructions: k.redactor.hide(instructions), Keep: kept.Keep, Window: window, HistoryTool: HistoryTool,
	}
	if k.policies.settings.Strategy == compact.HandOver && reason != "overflow" { // what overflowed can't be sent again
		document, err := k.handoff(ctx, o.Instructions)
		if err == nil {
			return cut.Entry(compact.Body{Text: document}, o)
		}
		if ctx.Err() != nil || errors.Is(err, ErrBudget) {
			return transcript.Entry{}, err
		}
		k.rec.warn("no handoff document, writing a summary: " + err.Error())
	}
	if k.policies.settings.Strategy != compact.SnapCompact || instructions != "" {
		return cut.Summarize(ctx, k.asker(), o)
	}
	entry, err := snap.Compact(ctx, cut, k.modelState.model(), snap.Options{Summary: o})
	if errors.Is(err, snap.ErrNoImages) || errors.Is(err, snap.ErrScript) {
		k.rec.warn("writing a text summary instead: " + err.Error())
		return cut.Summarize(ctx, k.asker(), o)
	}
	return entry, err
}

// asker returns what writes summaries: the configured server, or the current model if there is
// none or it fails.
func (k *compactor) asker() compact.Asker {
	own := k.ask
	if k.summariser == nil {
		return own
	}
	return func(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
		text, err := k.summariser(ctx, system, k.redactor.hide(prompt), maxTokens)
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		k.rec.warn("the summary server failed, so the model writes this summary: " + err.Error())
		return own(ctx, system, prompt, maxTokens)
	}
}

// shake moves large pieces into an artifact, if that is the strategy, and reports whether it
// did.
func (k *compactor) shake() bool {
	if k.policies.settings.Strategy != compact.ShakeOut {
		return false
	}
	return k.prune("shake", func(path []transcript.Entry) *transcript.Prune {
		p, err := compact.Shake(path, k.pruneOptions(true), k.ground.Artifact)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			k.rec.warn("large outputs could not be moved out: " + err.Error())
		}
		return p
	})
}

// HistoryTool is the name of the tool with which the model reads what is no longer in its
// window.
const HistoryTool = "history"

func (k *compactor) pruneOptions(full bool) compact.PruneOptions {
	c := compact.Cache{Price: k.modelState.model().Price, Prompt: k.tokenCounter.vendor(), Full: full, Idle: k.cacheIdle()}
	return compact.PruneOptions{Cache: c}
}

// outdate notes that the transcript has something that the loop doesn't have.
func (k *compactor) outdate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = true
}

// adopt gives the loop the message of an entry that was just appended, and reports whether it
// could. Nothing else may be running.
func (k *compactor) adopt(id string) bool {
	e, err := k.rec.log.Entry(id)
	if err != nil || e.Message == nil {
		return false
	}
	k.loop.Replace(append(k.loop.Messages(), *e.Message))
	return true
}

// idle returns how long a conversation must be idle before it is compacted; 0 means never.
func (k *compactor) idle() time.Duration {
	c := k.policies.compaction()
	if !c.IdleEnabled || !c.Enabled || k.tokenCounter.context() < c.IdleThresholdTokens {
		return 0
	}
	return c.IdleTimeout
}

// rested compacts an idle conversation.
func (k *compactor) rested(ctx context.Context) {
	if err := k.compact(ctx, "idle", ""); err != nil && !errors.Is(err, compact.ErrNothing) && ctx.Err() == nil {
		k.rec.warn("the conversation could not be condensed: " + err.Error())
	}
}
