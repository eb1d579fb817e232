package session

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// cacheState is what a request was made of, to say why a vendor's cache did
// not know the next one. Vendors cache what requests begin with.
type cacheState struct {
	at       time.Time // of the request
	model    string
	system   uint64
	tools    uint64
	messages []uint64
	replaced int  // how often the conversation had been replaced
	prompt   int  // tokens that the vendor counted for it; 0: nothing is known
	kept     bool // the vendor has told of its cache before
	changed  string
}

// fingerprint takes in what a request is made of, and finds the first difference to
// the last one that was answered.
func (s *Session) fingerprint(r *llm.Request) {
	now := cacheState{at: s.o.Now(), model: r.Model.Ref(), system: maphash.String(s.seed, r.System)}
	var h maphash.Hash
	h.SetSeed(s.seed)
	for i := range r.Tools {
		h.WriteString(r.Tools[i].Name)
		h.WriteString(r.Tools[i].Description)
		h.Write(r.Tools[i].Schema)
	}
	now.tools = h.Sum64()
	_, now.replaced = s.agent.Grown()
	s.mu.Lock()
	known := s.asked.messages
	if s.asked.replaced != now.replaced || len(known) > len(r.Messages) {
		known = nil
	}
	s.mu.Unlock()
	// What the last request had is the same. Its list is not changed, only longer.
	now.messages = slices.Grow(known, len(r.Messages)-len(known))
	for i := len(known); i < len(r.Messages); i++ {
		now.messages = append(now.messages, s.messageHash(&r.Messages[i]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now.changed = s.cache.firstChange(&now, r.Messages)
	s.asked = now
}

func (s *Session) messageHash(m *llm.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
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

// firstChange says what of the request before is not as it was.
func (c *cacheState) firstChange(now *cacheState, messages []llm.Message) string {
	switch {
	case c.at.IsZero():
		return ""
	case c.model != now.model:
		return "model"
	case c.tools != now.tools:
		return "tools"
	case c.system != now.system:
		return "system prompt"
	}
	for i, h := range c.messages {
		if i >= len(now.messages) {
			return fmt.Sprintf("the history became shorter, from message %d on", i+1)
		}
		if h != now.messages[i] {
			return fmt.Sprintf("message %d (%s)", i+1, messages[i].Role)
		}
	}
	if idle := now.at.Sub(c.at); idle >= 5*time.Minute {
		return fmt.Sprintf("the cache had %s to end", idle.Round(time.Second))
	}
	return ""
}

// reportCache tells how much of a request was cached.
func (s *Session) reportCache(m *llm.Message) {
	if m.Error != nil {
		return
	}
	u := m.Usage
	s.mu.Lock()
	before, kept := s.cache.prompt, s.cache.kept
	s.cache = s.asked
	s.cache.kept = kept || u != nil && u.CacheRead+u.CacheWrite > 0
	if u == nil {
		s.mu.Unlock()
		return
	}
	s.cache.prompt = u.Prompt()
	info := CacheInfo{Read: u.CacheRead, Write: u.CacheWrite, Fresh: u.Input}
	// Of a vendor that has no cache, or does not tell of it, nothing is missed.
	if kept && u.CacheRead < before*8/10 {
		if info.Missed = s.cache.changed; info.Missed == "" {
			info.Missed = "nothing changed: the vendor did not keep it"
		}
	}
	s.mu.Unlock()
	s.hub.emit(Event{Event: agent.Event{Type: CacheReport}, Cache: &info})
}
