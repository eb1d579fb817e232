package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/compact/snap"
	"github.com/burin-dev/burin/transcript"
)

// measure is what the vendor counted: that many messages were tokens, the answer to
// them included.
type measure struct{ messages, tokens int }

// noteCalls looks for calls about a file that an earlier call was about: only then
// can something be superseded, and it is worth a look at what.
func (s *Session) noteCalls(m *llm.Message) {
	for _, c := range m.ToolCalls() {
		var args struct{ Path string }
		if json.Unmarshal([]byte(c.Arguments), &args) != nil || args.Path == "" {
			continue
		}
		name, _, _ := strings.Cut(args.Path, ":")
		s.mu.Lock()
		if s.files == nil || len(s.files) >= maxFiles {
			s.files = map[string]bool{}
		}
		s.again = s.again || s.files[name]
		s.files[name] = true
		s.mu.Unlock()
	}
}

// maxFiles is how many files are remembered for that; beyond it all are forgotten, and
// what is read twice may stay longer than it need.
const maxFiles = 10_000

// measured takes what the vendor counted for an answer.
func (s *Session) measured(m *llm.Message) {
	if m.Role != llm.RoleAssistant || m.Error != nil || m.Usage == nil || m.Usage.Prompt() == 0 {
		return
	}
	n := len(s.agent.Messages())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = measure{n, m.Usage.Context()}
}

// tokens is how large a request of these messages is: as the vendor counted, and an
// estimate of what came since.
func (s *Session) tokens(messages []llm.Message) int {
	n, from := s.anchor(len(messages))
	for i := range messages[from:] {
		n += compact.Tokens(&messages[from+i])
	}
	return n
}

// beforeRequest makes the conversation fit and asks for the money.
func (s *Session) beforeRequest(ctx context.Context, r *llm.Request) error {
	if !paused(r.Messages) { // nothing comes between the parts of an answer
		s.bringUp(ctx, r)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Model and client are taken together: either may have been changed meanwhile.
	s.mu.Lock()
	r.Model, r.Thinking.Level = s.request.Model, s.request.Thinking.Level
	client, purpose := s.client, ForTurn
	if s.retrying {
		purpose = ForRetry
	}
	if s.forced != "" {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: s.forced}
	}
	s.mu.Unlock()
	s.fingerprint(r)
	held, err := s.reserve(ctx, r, purpose)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.held, s.sender, s.retrying = held, client, false
	s.mu.Unlock()
	return nil
}

// bringUp gives a request what was said beside the loop since the last one, in a
// conversation that fits.
func (s *Session) bringUp(ctx context.Context, r *llm.Request) {
	if s.refresh() || s.fit(ctx) {
		r.Messages = s.agent.Messages()
	}
	if notice, ok := s.modeNotice(r.Messages); ok {
		s.append(transcript.Entry{Type: transcript.TypeMessage, Message: &notice})
		s.agent.Replace(append(s.agent.Messages(), notice))
		r.Messages = s.agent.Messages()
	}
}

// paused reports whether messages end with an answer that the vendor paused, and that
// goes on with the next request.
func paused(messages []llm.Message) bool {
	n := len(messages)
	return n > 0 && messages[n-1].StopReason == llm.StopPause
}

// fit shortens the conversation before a request if it has grown beyond the
// threshold. Between requests is the one place where that costs nothing that is
// under way, so a session that has become long while the model was working goes on
// by itself, and one that is done is not compacted for nothing. What fails here is
// no reason not to ask: the vendor has the last word on what fits.
func (s *Session) fit(ctx context.Context) (changed bool) {
	s.mu.Lock()
	window, size := s.request.Model.ContextWindow, s.contextTokens()
	s.mu.Unlock()
	threshold := s.o.Compaction.Threshold(window)
	if threshold == 0 || size <= threshold {
		s.mu.Lock()
		again := s.again
		s.again = false
		s.mu.Unlock()
		return again && s.o.Compaction.SupersedeReads && size > tidyFrom &&
			s.prune("superseded", func(path []transcript.Entry) *transcript.Prune {
				return compact.Superseded(path, s.pruneOptions(false))
			})
	}
	if s.prune("old", func(path []transcript.Entry) *transcript.Prune { return compact.Old(path, s.pruneOptions(true)) }) {
		changed = true
		s.mu.Lock()
		size = s.contextTokens()
		s.mu.Unlock()
	}
	if size > threshold && s.shake() {
		changed = true
		s.mu.Lock()
		size = s.contextTokens()
		s.mu.Unlock()
		if size <= threshold*8/10 {
			return changed
		}
	}
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	// What could not be condensed a moment ago is not tried again before each request.
	if size <= threshold || stuck > 0 && size < stuck+window/10 {
		return changed
	}
	if s.promote(ctx, "threshold") {
		return changed
	}
	if err := s.compact(ctx, "threshold", ""); err != nil {
		if !errors.Is(err, compact.ErrNothing) && ctx.Err() == nil {
			s.warn("the conversation could not be condensed: " + err.Error())
		}
		s.mu.Lock()
		s.stuck = size
		s.mu.Unlock()
		return changed
	}
	return true
}

// tidyFrom is the size, in tokens, below which nothing is shortened.
const tidyFrom = 4000

// prune appends what a rule shortens, and gives the model the shorter form.
func (s *Session) prune(reason string, rule func([]transcript.Entry) *transcript.Prune) bool {
	path, err := s.log.Recent(s.log.Leaf())
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
	s.mu.Lock()
	before := s.contextTokens()
	s.mu.Unlock()
	id := s.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: data})
	s.reload()
	s.mu.Lock()
	after := s.contextTokens()
	s.mu.Unlock()
	s.hub.emit(Event{Event: agent.Event{Type: Pruned}, EntryID: id, Compaction: &CompactionInfo{Reason: reason, Action: "prune", Before: before, After: after}})
	return true
}

// reload gives the loop the conversation as the transcript has it.
func (s *Session) reload() {
	s.mu.Lock()
	s.stale = false // before it is read: what comes meanwhile makes it stale again
	s.mu.Unlock()
	c, err := s.log.Context(s.log.Leaf())
	if err != nil {
		s.warn(fmt.Sprintf("the conversation cannot be read again: %v", err))
		return
	}
	for _, text := range s.harm(c) {
		s.warn(text)
	}
	s.agent.Replace(c.Messages)
	s.mu.Lock()
	s.known, s.stuck = measure{}, 0
	s.mu.Unlock()
}

// refresh reloads if the transcript has what the loop has not.
func (s *Session) refresh() bool {
	s.mu.Lock()
	stale := s.stale
	s.mu.Unlock()
	if stale {
		s.reload()
	}
	return stale
}

// Compact puts a summary in place of what was said, but for the newest part. What is
// under way is stopped first, unless there is nothing to summarise.
func (s *Session) Compact(ctx context.Context, instructions string) error {
	if _, err := s.planned(); err != nil {
		return err
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	ctx, end, err := s.wake(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.compact(ctx, "manual", instructions)
}

// rest sees to it that a conversation at which nothing happens is condensed after a
// while, if that is wanted. It costs one timer, and only where it would be done.
// The caller holds mu.
func (s *Session) rest() {
	c := s.o.Compaction
	if !c.IdleEnabled || !c.Enabled || s.closed || s.contextTokens() < c.IdleThresholdTokens {
		return
	}
	s.resting = time.AfterFunc(c.IdleTimeout, func() {
		ctx, end, err := s.occupy(s.life, true)
		if err != nil {
			return // something happens after all, or the session has ended
		}
		defer end()
		if err := s.compact(ctx, "idle", ""); err != nil && !errors.Is(err, compact.ErrNothing) && ctx.Err() == nil {
			s.warn("the conversation could not be condensed: " + err.Error())
		}
	})
}

// wake is begin for what a person wants: a compaction that only goes on because nothing
// else did makes way for it.
func (s *Session) wake(ctx context.Context) (context.Context, func(), error) {
	for {
		inner, end, err := s.begin(ctx)
		if !errors.Is(err, ErrBusy) {
			return inner, end, err
		}
		s.mu.Lock()
		idle := s.idle
		if idle != nil && !s.condensing {
			s.mu.Unlock()
			return nil, nil, err
		}
		if idle != nil {
			s.cancel(errStopped)
		}
		s.mu.Unlock()
		if idle == nil {
			continue // it has ended meanwhile
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return nil, nil, ErrNotBegun
		}
	}
}

// planned is what a compaction would take off, and the sizes, in tokens, that say so.
type planned struct {
	cut          *compact.Cut
	window, size int
}

func (s *Session) planned() (planned, error) {
	s.mu.Lock()
	p := planned{window: s.request.Model.ContextWindow, size: s.contextTokens()}
	s.mu.Unlock()
	path, err := s.log.Recent(s.log.Leaf())
	if err == nil {
		p.cut, err = compact.Plan(path, compact.PlanOptions{Settings: s.o.Compaction, Window: p.window, Tokens: p.size})
	}
	return p, err
}

// compact appends a compaction and reloads the conversation.
func (s *Session) compact(ctx context.Context, reason, instructions string) error {
	p, err := s.planned()
	if err != nil {
		return err
	}
	cut, window, size := p.cut, p.window, p.size
	info := CompactionInfo{Reason: reason, Action: string(s.o.Compaction.Strategy), Before: size}
	start := info
	s.hub.emit(Event{Event: agent.Event{Type: CompactionStart}, Compaction: &start})
	entry, err := s.condense(ctx, cut, window, instructions)
	if err != nil {
		info.Aborted, info.Error = ctx.Err() != nil, err.Error()
		s.hub.emit(Event{Event: agent.Event{Type: CompactionEnd}, Compaction: &info})
		return err
	}
	id := s.append(entry)
	info.Summary = entry.ShortSummary
	s.reload()
	s.mu.Lock()
	info.After = s.contextTokens()
	s.mu.Unlock()
	s.hub.emit(Event{Event: agent.Event{Type: CompactionEnd}, EntryID: id, Compaction: &info})
	return nil
}

// condense makes the entry that takes the place of what a cut takes off: as pictures
// where that is wanted and can be, else as a summary.
func (s *Session) condense(ctx context.Context, cut *compact.Cut, window int, instructions string) (transcript.Entry, error) {
	k := s.keep()
	if size := k.fitGoal(window); size > 0 {
		s.tellGoal(size)
	}
	o := compact.SummaryOptions{
		Settings: s.o.Compaction, Instructions: s.hide(instructions), Keep: k.Keep, Window: window, HistoryTool: HistoryTool,
	}
	if s.o.Compaction.Strategy != compact.SnapCompact || instructions != "" {
		return cut.Summarize(ctx, s.summariser(), o)
	}
	s.mu.Lock()
	model := s.request.Model
	s.mu.Unlock()
	entry, err := snap.Compact(ctx, cut, model, snap.Options{Summary: o})
	if errors.Is(err, snap.ErrNoImages) || errors.Is(err, snap.ErrScript) {
		s.warn("the history is summarised in words: " + err.Error())
		return cut.Summarize(ctx, s.summariser(), o)
	}
	return entry, err
}

// summariser asks for summaries: the server that is set for them, and the model in
// use where there is none, or it fails.
func (s *Session) summariser() compact.Asker {
	own := s.asker(ForCompaction)
	if s.o.Summariser == nil {
		return own
	}
	return func(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
		text, err := s.o.Summariser(ctx, system, s.hide(prompt), maxTokens)
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		s.warn("the server for summaries failed, the model writes this one: " + err.Error())
		return own(ctx, system, prompt, maxTokens)
	}
}

// shake puts bulky pieces into an artifact, if that is the strategy, and reports
// whether it did.
func (s *Session) shake() bool {
	if s.o.Compaction.Strategy != compact.ShakeOut || s.o.Artifact == nil {
		return false
	}
	return s.prune("shake", func(path []transcript.Entry) *transcript.Prune {
		p, err := compact.Shake(path, s.pruneOptions(true), s.o.Artifact)
		if err != nil {
			s.warn("bulky outputs could not be put aside: " + err.Error())
		}
		return p
	})
}

// HistoryTool is the name of the tool with which the model reads what is no longer
// in its context.
const HistoryTool = "history"

func (s *Session) pruneOptions(full bool) compact.PruneOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := compact.Cache{Price: s.request.Model.Price, Prompt: s.known.tokens, Full: full}
	if !s.cache.at.IsZero() {
		c.Idle = s.o.Now().Sub(s.cache.at)
	}
	return compact.PruneOptions{Cache: c}
}

// textTokens estimates a text.
func textTokens(text string) int {
	m := llm.UserText(text)
	return compact.Tokens(&m)
}
