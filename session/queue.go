package session

import (
	"context"
	"errors"
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
	b.saying.Lock()
	defer b.saying.Unlock()
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

// customBrief is the type of the note that goes with a user message.
const customBrief = "hooks"

// accept makes of a user message what the model reads: it expands it, and puts the note that
// goes with it in front. turn is what is different for it; nil is nothing.
func (s *Session) accept(ctx context.Context, m llm.Message) (llm.Message, *Turn, error) {
	if m.Role != llm.RoleUser {
		return m, nil, nil
	}
	note := ""
	if s.o.Brief != nil {
		var err error
		if note, err = s.o.Brief(ctx, m.Text()); err != nil {
			return m, nil, s.redactor.err(err)
		}
	}
	var turn *Turn
	written, texts := m.Text(), textsOf(&m)
	m, err := expand(ctx, s.o.Expand, m)
	if err == nil && s.o.Turn != nil { // by now the user has said whether they trust it
		turn, err = s.o.Turn(ctx, written)
	}
	if err != nil {
		err = s.redactor.err(err)
	} else {
		var with []llm.Block
		if turn != nil {
			with = enclose(ctx, s, turn.Files)
		}
		m.Content = slices.Concat(m.Content, with, mentioned(ctx, s, texts))
	}
	if err == nil && note != "" {
		s.rec.note(s.redactor.message(llm.Message{
			Role: llm.RoleCustom, CustomType: customBrief, Content: []llm.Block{llm.Text{Text: note}}, Time: s.o.Now(),
		}))
		s.outdated()
	}
	return m, turn, err
}

// textsOf are the texts of a message that say something.
func textsOf(m *llm.Message) (texts []string) {
	for _, b := range m.Content {
		if t, ok := b.(llm.Text); ok && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return texts
}

// mentioned gives what texts name, as the model can take it.
func mentioned(ctx context.Context, s *Session, texts []string) []llm.Block {
	if s.o.Mentioned == nil {
		return nil
	}
	blocks, problems := s.o.Mentioned(ctx, texts)
	for _, p := range problems {
		s.rec.warn(s.redactor.err(errors.New(p)).Error())
	}
	if len(blocks) == 0 {
		return nil
	}
	m, err := attach(ctx, s, llm.Message{Role: llm.RoleUser, Content: blocks})
	if err != nil {
		s.rec.warn("what the prompt names is not attached: " + err.Error())
		return nil
	}
	return m.Content
}

// expand replaces templates and file commands in the texts of a user message.
func expand(ctx context.Context, with func(context.Context, string) (string, error), m llm.Message) (llm.Message, error) {
	if with == nil {
		return m, nil
	}
	m.Content = slices.Clone(m.Content)
	for i, b := range m.Content {
		t, ok := b.(llm.Text)
		if !ok {
			continue
		}
		text, err := with(ctx, t.Text)
		if err != nil {
			return m, err
		}
		t.Text = text
		m.Content[i] = t
	}
	return m, nil
}
