package session

import (
	"context"
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// Steer tells the model something while it works. What [Options.Expand] finds wrong
// with it is the error, or [agent.ErrQueueFull] where too much waits: then nothing is
// queued, and the words are still the caller's.
func (s *Session) Steer(m llm.Message) error { return s.queue(m, s.agent.Steer) }

// FollowUp queues a message for when the model is done. Errors are those of Steer.
func (s *Session) FollowUp(m llm.Message) error { return s.queue(m, s.agent.FollowUp) }

func (s *Session) queue(m llm.Message, put func(llm.Message) error) error {
	m, err := s.expand(s.life, s.timed(m))
	if err != nil {
		return err
	}
	if err := put(s.hideMessage(m)); err != nil {
		return err
	}
	s.tellQueue()
	return nil
}

// timed is a message of a person with the time at which it was said: by that those that
// wait, and a prompt, are put in order.
func (s *Session) timed(m llm.Message) llm.Message {
	if m.Time.IsZero() {
		m.Time = s.o.Now()
	}
	return m
}

// Queued gives what waits.
func (s *Session) Queued() (steering, followUps []llm.Message) { return s.agent.Queued() }

// Unqueue takes back what waits.
func (s *Session) Unqueue() (steering, followUps []llm.Message) {
	steering, followUps = s.agent.ClearQueues()
	if len(steering)+len(followUps) > 0 {
		s.tellQueue()
	}
	return steering, followUps
}

// tellQueue tells that the queues have changed. Whoever hears an event may steer in
// answer to it, so this one is not waited for.
func (s *Session) tellQueue() {
	_, end, err := s.beside(s.life)
	if err != nil {
		return
	}
	go func() {
		defer end()
		s.queued()
		s.hub.emit(Event{Event: agent.Event{Type: QueueChanged}})
	}()
}

// taken tells of the queues if the loop has taken something from them.
func (s *Session) taken() {
	if s.queued() {
		s.hub.emit(Event{Event: agent.Event{Type: QueueChanged}})
	}
}

// queued counts what waits, and reports whether that is less than it was.
func (s *Session) queued() (less bool) {
	steering, followUps := s.agent.Queued()
	n := len(steering) + len(followUps)
	s.mu.Lock()
	defer s.mu.Unlock()
	less = n < s.waiting
	s.waiting = n
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
			return m, s.hideError(err)
		}
		t.Text = text
		m.Content[i] = t
	}
	return m, nil
}
