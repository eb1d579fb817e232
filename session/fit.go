package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// measure is what the vendor counted: that many messages were tokens, the answer to
// them included.
type measure struct{ messages, tokens int }

// measured takes what the vendor counted for an answer.
func (s *Session) measured(m *llm.Message) {
	if m.Role != llm.RoleAssistant || m.Usage == nil || m.Error != nil {
		return
	}
	n := len(s.agent.Messages())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = measure{n, m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite + m.Usage.Output}
}

// tokens is how large a request of these messages is: as the vendor counted, and an
// estimate of what came since.
func (s *Session) tokens(messages []llm.Message) int {
	n, from := s.known.tokens, s.known.messages
	if from == 0 || from > len(messages) {
		from = 0
		n = textTokens(s.request.System)
		for _, t := range s.o.Tools {
			n += textTokens(t.Description) + textTokens(string(t.Parameters))
		}
	}
	for i := range messages[from:] {
		n += compact.Tokens(&messages[from+i])
	}
	return n
}

// beforeRequest makes the conversation fit and asks for the money.
func (s *Session) beforeRequest(ctx context.Context, r *llm.Request) error {
	if s.fit(ctx, r) {
		r.Messages = s.agent.Messages()
	}
	s.fingerprint(r)
	held, err := s.reserve(ctx, r, ForTurn)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	return nil
}

// fit shortens the conversation before a request if it has grown beyond the
// threshold. Between requests is the one place where that costs nothing that is
// under way, so a session that has become long while the model was working goes on
// by itself, and one that is done is not compacted for nothing. What fails here is
// no reason not to ask: the vendor has the last word on what fits.
func (s *Session) fit(ctx context.Context, r *llm.Request) (changed bool) {
	s.mu.Lock()
	window, size := s.request.Model.ContextWindow, s.tokens(r.Messages)
	s.mu.Unlock()
	threshold := s.o.Compaction.Threshold(window)
	if threshold == 0 || size <= threshold {
		return s.o.Compaction.SupersedeReads && size > tidyFrom &&
			s.prune("superseded", func(path []transcript.Entry) *transcript.Prune {
				return compact.Superseded(path, s.pruneOptions(false))
			})
	}
	if s.prune("old", func(path []transcript.Entry) *transcript.Prune { return compact.Old(path, s.pruneOptions(true)) }) {
		changed = true
		s.mu.Lock()
		size = s.tokens(s.agent.Messages())
		s.mu.Unlock()
	}
	if size <= threshold {
		return changed
	}
	if s.promote(ctx, "threshold") {
		return changed
	}
	if err := s.compact(ctx, "threshold", ""); err != nil {
		if !errors.Is(err, compact.ErrNothing) && ctx.Err() == nil {
			s.warn("the conversation could not be condensed: " + err.Error())
		}
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
	before := s.tokens(s.agent.Messages())
	s.mu.Unlock()
	id := s.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: data})
	s.reload()
	s.mu.Lock()
	after := s.tokens(s.agent.Messages())
	s.mu.Unlock()
	s.hub.emit(Event{Event: agent.Event{Type: Pruned}, EntryID: id, Compaction: &CompactionInfo{Reason: reason, Action: "prune", Before: before, After: after}})
	return true
}

// reload gives the loop the conversation as the transcript has it.
func (s *Session) reload() {
	c, err := s.log.Context(s.log.Leaf())
	if err != nil {
		s.warn(fmt.Sprintf("the conversation cannot be read again: %v", err))
		return
	}
	s.agent.Replace(c.Messages)
	s.mu.Lock()
	s.known = measure{}
	s.mu.Unlock()
}

// Compact puts a summary in place of what was said, but for the newest part.
func (s *Session) Compact(ctx context.Context, instructions string) error {
	s.Abort()
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.compact(ctx, "manual", instructions)
}

// compact appends a compaction and reloads the conversation.
func (s *Session) compact(ctx context.Context, reason, instructions string) error {
	s.mu.Lock()
	window, size := s.request.Model.ContextWindow, s.tokens(s.agent.Messages())
	s.mu.Unlock()
	path, err := s.log.Recent(s.log.Leaf())
	if err != nil {
		return err
	}
	cut, err := compact.Plan(path, compact.PlanOptions{Settings: s.o.Compaction, Window: window, Tokens: size})
	if err != nil {
		return err
	}
	info := CompactionInfo{Reason: reason, Action: string(s.o.Compaction.Strategy), Before: size}
	start := info
	s.hub.emit(Event{Event: agent.Event{Type: CompactionStart}, Compaction: &start})
	entry, err := cut.Summarize(ctx, s.asker(ForCompaction), compact.SummaryOptions{
		Settings: s.o.Compaction, Instructions: s.hide(instructions), Keep: s.keep(), Window: window, HistoryTool: HistoryTool,
	})
	if err != nil {
		info.Aborted, info.Error = ctx.Err() != nil, err.Error()
		s.hub.emit(Event{Event: agent.Event{Type: CompactionEnd}, Compaction: &info})
		return err
	}
	id := s.append(entry)
	info.Summary = entry.ShortSummary
	s.reload()
	s.mu.Lock()
	info.After = s.tokens(s.agent.Messages())
	s.mu.Unlock()
	s.hub.emit(Event{Event: agent.Event{Type: CompactionEnd}, EntryID: id, Compaction: &info})
	return nil
}

// HistoryTool is the name of the tool with which the model reads what is no longer
// in its context.
const HistoryTool = "history"

// customPin is the custom type of an entry that holds words to keep.
const customPin = "burin.pin"

// Pin keeps words for the model as they are, whatever is condensed around them.
func (s *Session) Pin(text string) error {
	text = strings.TrimSpace(s.hide(text))
	if text == "" {
		return errors.New("there is nothing to pin")
	}
	data, err := json.Marshal(text)
	if err != nil {
		return err
	}
	words, err := json.Marshal("Keep to this from now on:\n" + text)
	if err != nil {
		return err
	}
	s.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: customPin, Data: data})
	s.append(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: customPin, Content: words, Display: true, Attribution: "user"})
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if !busy {
		s.reload()
	}
	return nil
}

// maxGoal is how many bytes of the first prompt are kept as the goal.
const maxGoal = 4 << 10

// keep is what a compaction passes on word for word: the first prompt of the branch,
// everything that was pinned on it, and the open tasks.
func (s *Session) keep() compact.Keep {
	var k compact.Keep
	asked := false
	entries, err := s.log.Select(s.log.Leaf(), func(n transcript.Node) bool {
		first := !asked && n.Role == llm.RoleUser
		asked = asked || first
		return first || n.Type == transcript.TypeCustom
	})
	if err != nil {
		return k
	}
	for i := range entries {
		e := &entries[i]
		var text string
		switch {
		case e.CustomType == customPin && json.Unmarshal(e.Data, &text) == nil:
			if !slices.Contains(k.Pinned, text) {
				k.Pinned = append(k.Pinned, text)
			}
		case e.Message != nil:
			k.Goal = e.Message.Text()
			if len(k.Goal) > maxGoal {
				k.Goal = strings.ToValidUTF8(k.Goal[:maxGoal], "") + "…"
			}
		}
	}
	if s.o.Todos != nil {
		k.Todos = s.o.Todos()
	}
	return k
}

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
