package chats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
)

// purse holds the chats of a person to their limits: it is asked before every request to a model.
type purse struct {
	c            *Chats
	person, chat string
	project      string
	held         *held
}

// Reserve implements [session.Meter].
func (p *purse) Reserve(ctx context.Context, planned session.Planned) (session.Spending, error) {
	is, err := p.c.o.Limits(ctx, p.person)
	if err != nil {
		return nil, err
	}
	if is.Budget != nil && !planned.Model.Price.Known() {
		return nil, limitError{fmt.Errorf("%s has no known price, so your budget can't be kept: choose another model, or have an admin set its price in models.yml", planned.Model.Ref()), session.ErrDenied}
	}
	if err := sessionError(p.c.o.Quotas.Afford(ctx, p.person, is.Budget)); err != nil {
		return nil, err
	}
	if planned.Purpose == session.ForTurn && p.held.accepted.Load() <= p.held.settled.Load() { // no message begins this turn
		if err := p.c.acceptWithin(ctx, p.chat, p.held, is.Turns); err != nil {
			return nil, err
		}
	}
	return &booked{p, planned}, nil
}

// booked is a request that was allowed.
type booked struct {
	*purse
	planned session.Planned
}

// bookTime is how long a booking may take.
const bookTime = 10 * time.Second

// Settle implements [session.Spending].
func (b *booked) Settle(m *llm.Message, _, _ time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	r := quota.Request{Person: b.person, Project: b.project, Model: b.planned.Model.Ref(), Cost: costOf(m, b.planned)}
	if m != nil && m.Usage != nil {
		r.Input, r.Output = m.Usage.Input+m.Usage.CacheRead+m.Usage.CacheWrite, m.Usage.Output
	}
	if err := b.c.o.Quotas.Spend(ctx, r); err != nil {
		b.c.o.Warn("chat " + b.chat + ": " + err.Error())
	}
}

// Release implements [session.Spending].
func (*booked) Release() {}

// costOf is what an answer has cost. Where the provider hasn't said all of it, it is at least the
// prompt and what has arrived.
func costOf(m *llm.Message, planned session.Planned) llm.USD {
	var known llm.USD
	output := 0
	if m != nil {
		if u := m.Usage; u != nil && u.Cost != nil {
			if known = u.Cost.Total; !u.Cost.Unknown {
				return known
			}
		}
		output = compact.Tokens(m)
	}
	return max(known, planned.Model.Price.Cost(llm.Usage{Input: planned.PromptTokens, Output: output}).Total)
}

// accept counts a turn that a message of a person begins, unless their limits don't allow it.
func (c *Chats) accept(ctx context.Context, person, id string, h *held) error {
	is, err := c.o.Limits(ctx, person)
	if err == nil {
		err = sessionError(c.o.Quotas.Afford(ctx, person, is.Budget))
	}
	if err != nil {
		return err
	}
	return c.acceptWithin(ctx, id, h, is.Turns)
}

// sessionError is an error of a limit, or of a chat that is another server's now, as one of sessions, which stays what it is on the way to a client
// of another server.
func sessionError(err error) error {
	_, turns := errors.AsType[project.TurnsError](err)
	switch {
	case errors.Is(err, project.ErrNotHeld):
		return limitError{err, session.ErrOwnerGone}
	case errors.Is(err, quota.ErrBudget):
		return limitError{err, session.ErrBudget}
	case turns:
		return limitError{err, session.ErrTurns}
	}
	return err
}

// limitError has the text of the first error only.
type limitError [2]error

func (e limitError) Error() string   { return e[0].Error() }
func (e limitError) Unwrap() []error { return e[:] }
