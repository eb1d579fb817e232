package session

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// SetTitle names the session.
func (s *Session) SetTitle(title string) {
	title = strings.Join(strings.Fields(s.hide(title)), " ")
	if title == "" || title == s.log.Title() {
		return
	}
	s.append(transcript.Entry{Type: transcript.TypeInfo, Name: title})
	s.hub.emit(Event{Event: agent.Event{Type: TitleChanged}, Text: title})
}

// SetThinking says how hard the model thinks from the next request on.
func (s *Session) SetThinking(level llm.Level) {
	s.mu.Lock()
	s.request.Thinking.Level = level
	s.mu.Unlock()
	s.agent.Update(func(o *agent.Options) { o.Request.Thinking.Level = level })
	s.append(transcript.Entry{Type: transcript.TypeThinking, ThinkingLevel: string(level)})
	s.hub.emit(Event{Event: agent.Event{Type: ThinkingChanged}, Text: string(level)})
}

// SetModel goes on with another model from the next request on.
func (s *Session) SetModel(ctx context.Context, selector string) error {
	model, client, err := s.open(ctx, selector)
	if err != nil {
		return err
	}
	s.useModel(ModelChanged, model, client, "", "chosen", true)
	return nil
}

// open finds a model that may be used.
func (s *Session) open(ctx context.Context, selector string) (*llm.Model, llm.Client, error) {
	if s.o.Open == nil {
		return nil, nil, errors.New("this session has one model only")
	}
	model, client, err := s.o.Open(ctx, selector)
	if g := s.Goal(); err == nil && (s.o.MaxCost > 0 || g.State == GoalActive && g.Budget > 0) && !model.Price.Known() {
		err = unpriced(model)
	}
	return model, client, err
}

// useModel changes the model. A change for the person's sake is kept in the
// transcript; one that gets around a failure holds for this process only.
func (s *Session) useModel(typ agent.EventType, model *llm.Model, client llm.Client, role, why string, keep bool) {
	s.mu.Lock()
	from := s.request.Model.Ref()
	s.request.Model, s.client = model, client
	s.known, s.stuck = measure{}, 0
	s.bare = s.bare && !keep
	s.mu.Unlock()
	s.agent.Update(func(o *agent.Options) { o.Request.Model = model })
	if keep {
		s.append(transcript.Entry{Type: transcript.TypeModel, Model: model.Ref()})
	}
	s.hub.emit(Event{Event: agent.Event{Type: typ}, Change: &Change{From: from, To: model.Ref(), Role: role, Why: why}})
}
