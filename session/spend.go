package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
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
	Session      string
	Turn         string // unique within the session, over all processes that went on with it
	Purpose      string
	Model        *llm.Model
	PromptTokens int // estimated
	MaxTokens    int // of the answer
}

// Spending is a request that was let through. One of its methods is called, once.
type Spending interface {
	// Settle is told what came. The message is nil if the answer was cut before there
	// was one. What the vendor did not say of its cost may have been charged all the
	// same: of an answer that was stopped, or that broke off.
	Settle(m *llm.Message, took, first time.Duration)
	// Release says that nothing is charged: nothing was sent, or the vendor refused it.
	Release()
}

// reserve asks for the money of a request.
func (s *Session) reserve(ctx context.Context, r *llm.Request, purpose string) (Spending, error) {
	s.mu.Lock()
	spent, guessed, unknown, turn, over := s.spent, s.guessed, s.unknown, s.turn, s.overGoal()
	s.mu.Unlock()
	if over != nil {
		return nil, over
	}
	if limit := s.o.MaxCost; limit > 0 && spent+guessed >= limit {
		more := ""
		switch {
		case guessed > 0:
			more = fmt.Sprintf(", and some %s for answers that were stopped or broke off", guessed)
		case unknown:
			more = ", and requests of unknown cost"
		}
		return nil, fmt.Errorf("%w: %s of %s spent%s", ErrBudget, spent, limit, more)
	}
	if s.o.Meter == nil {
		return nothing{}, nil
	}
	return s.o.Meter.Reserve(ctx, Planned{
		Session: s.log.ID(), Turn: turnID(turn) + "-" + s.process, Purpose: purpose, Model: r.Model,
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
	nodes := s.log.Nodes()
	var cut []int // answers that broke off
	for i, n := range nodes {
		if n.Role != llm.RoleAssistant {
			continue
		}
		e, err := s.log.Entry(n.ID)
		if err != nil || e.Message == nil || uncharged(e.Message) {
			continue
		}
		if unsettled(e.Message) {
			s.unknown = true
			// The transcript does not say of a request whether it found a connection.
			if m := e.Message; brokenOff(m) && (m.Error.Kind != llm.ErrTransport || len(m.Content) > 0) {
				cut = append(cut, i)
			}
		}
		if u := e.Message.Usage; u != nil {
			s.usage = s.usage.Add(*u)
			if u.Cost != nil {
				s.spent += u.Cost.Total
			}
		}
	}
	if len(cut) > 0 {
		s.guessBefore(nodes, cut)
	}
}

// guessBefore estimates what answers cost that broke off. How large their prompts were
// follows from the answers before them, which say it.
func (s *Session) guessBefore(nodes []transcript.Node, cut []int) {
	system := textTokens(s.request.System)
	sizes := make([]int, len(nodes)) // tokens of the conversation up to each entry
	index := make(map[string]int, len(nodes))
	before := func(i int) int {
		if i < 0 || nodes[i].Parent < 0 {
			return system
		}
		return sizes[nodes[i].Parent]
	}
	for i, n := range nodes {
		index[n.ID] = i
		sizes[i] = before(i)
		e, err := s.log.Entry(n.ID)
		switch {
		case err != nil:
		case e.Type == transcript.TypeCompaction:
			kept := 0
			if first, ok := index[e.FirstKeptID]; ok {
				kept = max(0, sizes[i]-before(first))
			}
			sizes[i] = system + textTokens(e.Summary) + kept
		case e.Message != nil:
			m := e.Message
			if len(cut) > 0 && cut[0] == i {
				s.guessed += guess(s.request.Model, m, sizes[i])
				cut = cut[1:]
			}
			if m.Usage != nil && m.Usage.Prompt() > 0 {
				sizes[i] = m.Usage.Prompt()
			}
			sizes[i] += compact.Tokens(m)
		}
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
	return m.s.count(client.Stream(ctx, r), r, held)
}

// count keeps the account of the stream that answers a request.
func (s *Session) count(stream llm.Stream, r *llm.Request, held Spending) llm.Stream {
	if held == nil {
		held = nothing{}
	}
	return &counted{Stream: stream, session: s, model: r.Model, messages: r.Messages, held: held, began: s.o.Now()}
}

// counted is a stream that settles what it cost when it ends.
type counted struct {
	llm.Stream
	session  *Session
	model    *llm.Model
	messages []llm.Message // of the request
	held     Spending
	began    time.Time
	first    time.Duration
	settled  bool
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
			cost.Unknown = cost.Unknown || brokenOff(e.Message)
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
	if m != nil && uncharged(m) {
		c.held.Release()
	} else {
		c.held.Settle(m, c.session.o.Now().Sub(c.began), c.first)
	}
	c.session.account(m, c.model, c.messages)
}

// account adds up what an answer cost.
func (s *Session) account(m *llm.Message, model *llm.Model, asked []llm.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if m != nil && uncharged(m) {
		return
	}
	if unsettled(m) {
		s.unknown = true
		s.guessed += guess(model, m, s.tokens(asked))
	}
	if m == nil || m.Usage == nil {
		return
	}
	s.usage = s.usage.Add(*m.Usage)
	if m.Usage.Cost != nil {
		s.spent += m.Usage.Cost.Total
	}
}

// uncharged reports whether an answer is none for which a vendor charges: the request
// was refused before the model read it, or never sent. Of an answer that was stopped, or
// broke off before its first visible piece, nobody knows what the model did meanwhile.
func uncharged(m *llm.Message) bool {
	if m.Error == nil || m.Usage != nil || len(m.Content) > 0 {
		return false
	}
	switch m.Error.Kind {
	case llm.ErrAuth, llm.ErrRateLimit, llm.ErrUsageLimit, llm.ErrContextOverflow, llm.ErrInvalidRequest:
		return true
	case llm.ErrAborted, llm.ErrStalled:
		return false
	case llm.ErrTransport:
		var dial *net.OpError
		if errors.As(m.Error, &dial) && dial.Op == "dial" {
			return true // there was no connection to send anything over
		}
	}
	// An error in place of an answer, and not within one. A gateway that has waited too
	// long passed the request on.
	return m.Error.Status != 0 && m.Error.Status != http.StatusGatewayTimeout
}

// brokenOff reports whether an answer ended before its vendor ended it. What it had said
// of the cost by then is not all.
func brokenOff(m *llm.Message) bool {
	if m.Error == nil {
		return false
	}
	switch m.Error.Kind {
	case llm.ErrAborted, llm.ErrStalled, llm.ErrTransport:
		return true
	}
	return false
}

// unsettled reports whether nobody said what an answer cost, or not all of it. nil is an
// answer of which nothing came.
func unsettled(m *llm.Message) bool {
	return m == nil || m.Usage == nil || m.Usage.Cost == nil || m.Usage.Cost.Unknown || brokenOff(m)
}

// guess estimates what an answer cost beyond what is known of it: the prompt, and as much
// output as arrived. What a model thought unseen is not in it.
func guess(model *llm.Model, m *llm.Message, prompt int) llm.USD {
	var u llm.Usage
	var known llm.USD
	if m != nil {
		if m.Usage != nil {
			u = *m.Usage
		}
		if u.Cost != nil {
			known = u.Cost.Total
		}
		u.Output = max(u.Output, compact.Tokens(m))
	}
	if u.Prompt() == 0 {
		u.Input = prompt
	}
	return max(0, model.Price.Cost(u).Total-known)
}

// ask sends one request beside the conversation and gives the text of its answer.
func (s *Session) ask(ctx context.Context, purpose string, client llm.Client, r *llm.Request) (string, error) {
	held, err := s.reserve(ctx, r, purpose)
	if err != nil {
		return "", err
	}
	m, err := llm.Collect(s.count(client.Stream(ctx, r), r, held))
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
