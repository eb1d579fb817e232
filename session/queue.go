package session

import (
	"context"
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// timed is a message of a person with the time at which it was said: by that those that
// wait, and a prompt, are put in order.
func (s *Session) timed(m llm.Message) llm.Message {
	if m.Time.IsZero() {
		m.Time = s.o.Now()
	}
	return m
}

// tellQueue tells that the queues have changed. Whoever hears an event may steer in
// answer to it, so this one is not waited for.
func (p *post) tellQueue() {
	_, end, err := p.beside(p.life)
	if err != nil {
		return
	}
	go func() {
		defer end()
		p.queued()
		p.sayQueue()
	}()
}

// taken tells of the queues if the loop has taken something from them.
func (p *post) taken() {
	if p.queued() {
		p.sayQueue()
	}
}

func (p *post) sayQueue() {
	waits, _ := p.queueState()
	p.rec.emit(Event{Event: agent.Event{Type: QueueChanged}, Data: &waits})
}

// queued counts what waits, and reports whether that is less than it was.
func (p *post) queued() (less bool) {
	steering, followUps := p.loop.Queued()
	n := len(steering) + len(followUps)
	p.mu.Lock()
	defer p.mu.Unlock()
	less = n < p.told
	p.told = n
	return less
}

// expand puts what templates and file commands stand for in their place, in the texts
// of a person's message.
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
			return m, s.veil.err(err)
		}
		t.Text = text
		m.Content[i] = t
	}
	return m, nil
}
