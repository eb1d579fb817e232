package session

import (
	"context"
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// timed returns a user message with the time at which it was sent; queued messages and prompts
// are ordered by it.
func (s *Session) timed(m llm.Message) llm.Message {
	if m.Time.IsZero() {
		m.Time = s.o.Now()
	}
	return m
}

// tellQueue emits that the queues have changed. It doesn't wait, because whoever gets an event
// may steer in response.
func (b *inbox) tellQueue() {
	_, end, err := b.beside(b.life)
	if err != nil {
		return
	}
	go func() {
		defer end()
		b.queued()
		b.sayQueue()
	}()
}

// taken emits a change if the loop has taken messages from the queues.
func (b *inbox) taken() {
	if b.queued() {
		b.sayQueue()
	}
}

func (b *inbox) sayQueue() {
	waits, _ := b.queueState()
	b.rec.emit(Event{Event: agent.Event{Type: QueueChanged}, Data: &waits})
}

// queued counts queued messages, and reports whether there are fewer than before.
func (b *inbox) queued() (less bool) {
	steering, followUps := b.loop.Queued()
	n := len(steering) + len(followUps)
	b.mu.Lock()
	defer b.mu.Unlock()
	less = n < b.told
	b.told = n
	return less
}

// expand replaces templates and file commands in the texts of a user message.
func (s *Session) expand(ctx context.Context, m llm.Message) (llm.Message, error) {
	if s.o.Expand == nil || m.Role != llm.RoleUser {
		return m, nil
	}
	m.Content = slices.Clone(m.Content)
	for i, b := range m.Content {
		t, ok := b.(llm.Text)
		if !ok {
			continue
		}
		text, err := s.o.Expand(ctx, t.Text)
		if err != nil {
			return m, s.redactor.err(err)
		}
		t.Text = text
		m.Content[i] = t
	}
	return m, nil
}
