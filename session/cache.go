package session

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// cacheState describes a request, to say why the next one missed the provider's cache.
// Providers cache the beginning of requests.
type cacheState struct {
	at       time.Time // of the request
	model    string
	system   uint64
	tools    uint64
	messages []uint64
	replaced int  // how many times the conversation had been replaced
	prompt   int  // tokens that the provider counted; 0 means unknown
	kept     bool // the provider has reported on its cache before
	changed  string
}

// cacheWatch says why a request missed the provider's cache.
type cacheWatch struct {
	seed   maphash.Seed
	now    func() time.Time
	loop   *agent.Agent
	rec    *record
	change bool // interceptors may change what the last request had

	mu    sync.Mutex
	cache cacheState // of the last request that was answered
	asked cacheState // of the last request
}

// idle returns the time since the last answered request; 0 if there was none.
func (w *cacheWatch) idle() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cache.at.IsZero() {
		return 0
	}
	return w.now().Sub(w.cache.at)
}

// fingerprint records what a request consists of, and finds the first difference from the last
// answered one.
func (w *cacheWatch) fingerprint(r *llm.Request, t touched) {
	now := cacheState{at: w.now(), model: r.Model.Ref(), system: maphash.String(w.seed, r.System)}
	now.tools = toolsHash(w.seed, r.Tools)
	_, now.replaced = w.loop.Grown()
	w.mu.Lock()
	known := w.asked.messages
	if w.asked.replaced != now.replaced || len(known) > len(r.Messages) || w.change {
		known = nil
	}
	w.mu.Unlock()
	// The part that the last request had is unchanged. The list only grows.
	now.messages = slices.Grow(known, len(r.Messages)-len(known))
	for i := len(known); i < len(r.Messages); i++ {
		now.messages = append(now.messages, messageHash(w.seed, &r.Messages[i]))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now.changed = w.cache.firstChange(&now, r.Messages, t)
	w.asked = now
}

func toolsHash(seed maphash.Seed, tools []llm.Tool) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range tools {
		h.WriteString(tools[i].Name)
		h.WriteString(tools[i].Description)
		h.Write(tools[i].Schema)
	}
	return h.Sum64()
}

func messageHash(seed maphash.Seed, m *llm.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(string(m.Role))
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			h.WriteString(b.Text)
		case llm.Thinking:
			h.WriteString(b.Text)
			h.WriteString(b.Signature)
		case llm.ToolCall:
			h.WriteString(b.Name)
			h.WriteString(b.Arguments)
		case llm.Image:
			h.Write(b.Data)
		case llm.Document:
			h.Write(b.Data)
			h.WriteString(b.Text)
		case llm.Opaque:
			h.Write(b.Raw)
		}
	}
	return h.Sum64()
}

// firstChange says which part of the previous request changed.
func (c *cacheState) firstChange(now *cacheState, messages []llm.Message, t touched) string {
	switch {
	case c.at.IsZero():
		return ""
	case c.model != now.model:
		return "model"
	case c.tools != now.tools:
		return "tools" + changedBy(t.tools)
	case c.system != now.system:
		return "system prompt" + changedBy(t.system)
	}
	for i, h := range c.messages {
		if i >= len(now.messages) {
			return fmt.Sprintf("the history was shortened from message %d on", i+1)
		}
		if h != now.messages[i] {
			return fmt.Sprintf("message %d (%s)", i+1, messages[i].Role) + changedBy(t.messages)
		}
	}
	if idle := now.at.Sub(c.at); idle >= 5*time.Minute {
		return fmt.Sprintf("the cache had %s to end", idle.Round(time.Second))
	}
	return ""
}

// report emits how much of a request was cached.
func (w *cacheWatch) report(m *llm.Message) {
	if m.Error != nil {
		return
	}
	u := m.Usage
	w.mu.Lock()
	before, kept := w.cache.prompt, w.cache.kept
	w.cache = w.asked
	w.cache.kept = kept || u != nil && u.CacheRead+u.CacheWrite > 0
	if u == nil {
		w.mu.Unlock()
		return
	}
	w.cache.prompt = u.Prompt()
	info := CacheInfo{Read: u.CacheRead, Write: u.CacheWrite, Fresh: u.Input}
	// If a provider has no cache, or doesn't report on it, nothing was missed.
	if kept && u.CacheRead < before*8/10 {
		if info.Missed = w.cache.changed; info.Missed == "" {
			info.Missed = "nothing changed: the provider dropped it"
		}
	}
	w.mu.Unlock()
	w.rec.emit(Event{Event: agent.Event{Type: CacheReport}, Data: &info})
}
