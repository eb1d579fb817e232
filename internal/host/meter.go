package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// meter holds the limits of config.yml for a session, and writes the account.
type meter struct {
	ledger  *ledger.Ledger
	project string
	resumed bool
	limits  ledger.Limits

	mu   sync.Mutex
	told map[ledger.Which]string // the turn in which it was said that a limit is nearly reached
}

var _ session.Meter = (*meter)(nil)

// Reserve implements [session.Meter].
func (m *meter) Reserve(ctx context.Context, p session.Planned) (session.Spending, error) {
	waiting := func(why *ledger.LimitError) {
		if p.Tell != nil {
			p.Tell(fmt.Sprintf("waiting for room under the %s's cost limit of %s: %s spent, %s held by requests under way; %s above %s in config.yml ends the wait",
				why.Which, why.Limit, why.Spent, why.Held, why.Key(), why.Spent+why.Held))
		}
	}
	r, err := m.ledger.ReserveOrWait(ctx,
		ledger.Scope{Session: p.Session, Project: m.project, Turn: p.Turn, Resumed: m.resumed}, m.limits,
		ledger.Plan{Model: p.Model, PromptTokens: p.PromptTokens, MaxOutput: p.MaxTokens}, waiting)
	if err != nil {
		return nil, err
	}
	m.warnNearly(r.Nearly(), p)
	return &spending{r, p}, nil
}

// warnNearly says once, of a prompt's limit once for each prompt, that most of a limit is
// spent.
func (m *meter) warnNearly(near []ledger.Nearly, p session.Planned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range near {
		turn, said := m.told[n.Which]
		if p.Tell == nil || said && (n.Which != ledger.LimitTurn || turn == p.Turn) {
			continue
		}
		if m.told == nil {
			m.told = map[ledger.Which]string{}
		}
		m.told[n.Which] = p.Turn
		p.Tell(fmt.Sprintf("%d %% of the %s's cost limit is spent: %s of %s (limits.%s in config.yml)", n.Spent*100/n.Limit, n.Which, n.Spent, n.Limit, n.Which))
	}
}

type spending struct {
	*ledger.Reservation
	planned session.Planned
}

// Settle implements [session.Spending].
func (s *spending) Settle(m *llm.Message, took, first time.Duration) {
	r := ledger.Record{
		Provider: s.planned.Model.Provider, Model: s.planned.Model.ID, Purpose: s.planned.Purpose,
		Duration: took, FirstToken: first,
	}
	if m != nil {
		if m.Usage != nil {
			r.Usage = *m.Usage
		}
		r.StopReason = m.StopReason
	}
	_ = s.Reservation.Settle(r) // what cannot be written is said when the ledger is closed
}

func limitsOf(c *config.Config) ledger.Limits {
	return ledger.Limits{
		Turn: llm.Dollars(c.Limits.Turn), Session: llm.Dollars(c.Limits.Session),
		Project: llm.Dollars(c.Limits.Project), Month: llm.Dollars(c.Limits.Month),
		AllowUnknown: c.Limits.AllowUnknown,
	}
}
