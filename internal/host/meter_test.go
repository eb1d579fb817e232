package host

import (
	"errors"
	"path/filepath"
	"testing"

	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// priced is a model of which a prompt of 200,000 tokens and its longest answer cost 0.75
// dollars.
var priced = &llm.Model{ID: "m", Provider: "p", MaxOutput: 10_000, Price: llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15)}}

// Requests that end before anything was seen of an answer count as what they may have
// cost: otherwise one could follow the other without end.
func TestLimitsHoldForStoppedRequests(t *testing.T) {
	for name, limits := range map[string]ledger.Limits{
		"turn":    {Turn: llm.Dollars(1)},
		"session": {Session: llm.Dollars(1)},
		"project": {Project: llm.Dollars(1)},
		"month":   {Month: llm.Dollars(1)},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "home"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			m := &meter{ledger: l, project: "/p", limits: limits}
			planned := session.Planned{Session: "s", Turn: "1", Purpose: session.ForTurn, Model: priced, PromptTokens: 200_000}
			sent := 0
			for ; sent < 5; sent++ {
				held, err := m.Reserve(t.Context(), planned)
				if limit := (*ledger.LimitError)(nil); errors.As(err, &limit) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				held.Settle(&llm.Message{StopReason: llm.StopAborted, Error: &llm.Error{Kind: llm.ErrAborted, Message: "cancelled"}}, 0, 0)
			}
			if sent != 2 {
				t.Errorf("%d requests of up to 0.75 dollars under a limit of 1", sent)
			}
		})
	}
}
