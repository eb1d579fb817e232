package session

import (
	"context"
	"fmt"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
)

// Purposes of requests, as the account names them.
const (
	ForTurn       = "turn"
	ForRetry      = "retry"
	ForCompaction = "compaction"
	ForBranch     = "branch_summary"
	ForTitle      = "title"
	ForHandoff    = "handoff"
	ForAside      = "aside"
)

// Meter holds limits that more than one session shares, and the account. It is
// asked about every request, whatever it is for.
type Meter interface {
	// Reserve is asked before a request is sent. An error keeps it from being sent.
	Reserve(ctx context.Context, p Planned) (Spending, error)
}

// Planned is a request that is about to be sent.
type Planned struct {
	Session, Turn string
	Purpose       string
	Model         *llm.Model
	PromptTokens  int // estimated
	MaxTokens     int // of the answer
}

// Spending is a request that was let through. One of its methods is called, once.
type Spending interface {
	// Settle is told what came. The message is nil if the answer was cut before the
	// vendor said anything of its cost.
	Settle(m *llm.Message, took, first time.Duration)
	// Release says that nothing was sent.
	Release()
}

// reserve asks for the money of a request.
func (s *Session) reserve(ctx context.Context, r *llm.Request, purpose string) (Spending, error) {
	s.mu.Lock()
	spent, unknown, turn := s.spent, s.unknown, s.turn
	s.mu.Unlock()
	if limit := s.o.MaxCost; limit > 0 && spent >= limit {
		more := ""
		if unknown {
			more = ", and requests of unknown cost"
		}
		return nil, fmt.Errorf("%w: $%.4f of $%.4f spent%s", ErrBudget, spent.Float(), limit.Float(), more)
	}
	if s.o.Meter == nil {
		return nothing{}, nil
	}
	return s.o.Meter.Reserve(ctx, Planned{
		Session: s.log.ID(), Turn: fmt.Sprint(turn), Purpose: purpose, Model: r.Model,
		PromptTokens: s.promptTokens(r), MaxTokens: r.MaxTokens,
	})
}

// release ends what was prepared for a request: the money of one that was not sent
// after all is given back.
func (s *Session) release() {
	s.mu.Lock()
	held := s.held
	s.held, s.retrying = nil, false
	s.mu.Unlock()
	if held != nil {
		held.Release()
	}
}

func unpriced(m *llm.Model) error {
	return fmt.Errorf("the price of %s is not known, so a cost limit cannot be kept: set its price in models.yml", m.Ref())
}

// spentBefore takes up what the transcript says was spent before this process, on
// all branches. What titles and summaries cost it does not say.
func (s *Session) spentBefore() {
	for _, n := range s.log.Nodes() {
		if n.Role != llm.RoleAssistant {
			continue
		}
		e, err := s.log.Entry(n.ID)
		if err != nil || e.Message == nil || e.Message.Usage == nil {
			continue
		}
		s.usage = s.usage.Add(*e.Message.Usage)
		c := e.Message.Usage.Cost
		if c != nil {
			s.spent += c.Total
		}
		s.unknown = s.unknown || c == nil || c.Unknown
	}
}

// promptTokens estimates a request.
func (s *Session) promptTokens(r *llm.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens(r.Messages)
}

type nothing struct{}

func (nothing) Settle(*llm.Message, time.Duration, time.Duration) {}
func (nothing) Release()                                          {}

// metered is the client of the loop: the model in use, with every answer counted.
type metered struct{ s *Session }

func (m metered) Stream(ctx context.Context, r *llm.Request) llm.Stream {
	m.s.mu.Lock()
	held, client := m.s.held, m.s.sender
	m.s.held = nil
	m.s.mu.Unlock()
	return m.s.count(client.Stream(ctx, r), r.Model, held)
}

// count keeps the account of a stream.
func (s *Session) count(stream llm.Stream, model *llm.Model, held Spending) llm.Stream {
	if held == nil {
		held = nothing{}
	}
	return &counted{Stream: stream, session: s, model: model, held: held, began: s.o.Now()}
}

// counted is a stream that settles what it cost when it ends.
type counted struct {
	llm.Stream
	session *Session
	model   *llm.Model
	held    Spending
	began   time.Time
	first   time.Duration
	settled bool
}

func (c *counted) Next() (llm.Event, bool) {
	e, ok := c.Stream.Next()
	switch {
	case !ok:
		c.settle(nil)
	case e.Type.Terminal():
		*e.Message = c.session.hideMessage(*e.Message)
		if u := e.Message.Usage; u != nil && u.Cost == nil {
			cost := c.model.Price.Cost(*u)
			u.Cost = &cost
		}
		c.settle(e.Message)
	case c.first == 0 && e.Type.Delta():
		c.first = c.session.o.Now().Sub(c.began)
	}
	if ok && !e.Type.Terminal() && e.Block != nil {
		e.Block = c.session.hideBlock(e.Block)
	}
	return e, ok
}

func (c *counted) Close() error {
	c.settle(nil)
	return c.Stream.Close()
}

func (c *counted) settle(m *llm.Message) {
	if c.settled {
		return
	}
	c.settled = true
	c.held.Settle(m, c.session.o.Now().Sub(c.began), c.first)
	c.session.account(m)
}

// account adds up what an answer cost.
func (s *Session) account(m *llm.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if m == nil || m.Usage == nil {
		// A request that failed before it was read costs nothing anywhere; of one
		// that was cut nobody says.
		s.unknown = s.unknown || m == nil || m.Error == nil || len(m.Content) > 0
		return
	}
	s.usage = s.usage.Add(*m.Usage)
	if m.Usage.Cost == nil {
		s.unknown = true
		return
	}
	s.unknown = s.unknown || m.Usage.Cost.Unknown
	s.spent += m.Usage.Cost.Total
}

// ask sends one request beside the conversation and gives the text of its answer.
func (s *Session) ask(ctx context.Context, purpose string, client llm.Client, r *llm.Request) (string, error) {
	held, err := s.reserve(ctx, r, purpose)
	if err != nil {
		return "", err
	}
	m, err := llm.Collect(s.count(client.Stream(ctx, r), r.Model, held))
	if err != nil {
		return "", err
	}
	return m.Text(), nil
}

// asker sends requests of package compact to the model in use.
func (s *Session) asker(purpose string) compact.Asker {
	return func(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
		s.mu.Lock()
		client, r := s.client, llm.Request{Model: s.request.Model, Thinking: s.request.Thinking, Cache: llm.CacheHint{Retention: llm.CacheOff}}
		s.mu.Unlock()
		r.System, r.MaxTokens = system, maxTokens
		r.Messages = []llm.Message{llm.UserText(s.hide(prompt))}
		var text string
		err := s.o.Retry.repeat(ctx, s.o.Now, func() (err error) {
			text, err = s.ask(ctx, purpose, client, &r)
			return err
		})
		return text, err
	}
}
