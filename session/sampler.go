package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Sampler has the model of a session answer requests of others, such as those of MCP servers, outside
// the conversation and within its limits of money. It is made before its session, so that tools can
// use it; the zero value is for the [Options] of one session.
type Sampler struct{ of atomic.Pointer[sampling] }

type sampling struct {
	money *money
	now   func() time.Time
}

// Sample sends a request with the session's model. Of r only the system prompt, the messages, the
// stop sequences and the number of tokens count. What the session hides from models is hidden.
func (s *Sampler) Sample(ctx context.Context, r llm.Request) (answer *llm.Message, err error) {
	x := s.of.Load()
	if x == nil {
		return nil, errNotOpen
	}
	own, client := x.money.modelState.now()
	sent := llm.Request{
		Model: own.Model, System: x.money.redactor.hide(r.System), MaxTokens: r.MaxTokens,
		Stop: r.Stop, Cache: llm.CacheHint{Retention: llm.CacheOff},
	}
	for i := range r.Messages {
		m := r.Messages[i]
		m.Content = append([]llm.Block(nil), m.Content...)
		for j, b := range m.Content {
			if t, ok := b.(llm.Text); ok {
				m.Content[j] = llm.Text{Text: x.money.redactor.hide(t.Text)}
			}
		}
		sent.Messages = append(sent.Messages, m)
	}
	err = x.money.policies.repeats().repeat(ctx, x.now, false, func() (err error) {
		answer, err = x.money.collect(ctx, ForSampling, client, &sent)
		return err
	})
	return answer, x.money.redactor.err(err)
}
