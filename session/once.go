package session

import (
	"context"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Once is a request that belongs to no session, such as one that works on sessions that are over.
type Once struct {
	Client  llm.Client
	Request llm.Request
	Meter   Meter
	Planned Planned // Model and the sizes are those of Request where they aren't given
	Retry   Retry
}

// Ask sends the request under the limits of its meter, and repeats it after a failure that
// passes, as a session does with its own. Each attempt is counted.
func (o Once) Ask(ctx context.Context) (*llm.Message, error) {
	if o.Planned.Model == nil {
		o.Planned.Model = o.Request.Model
	}
	if o.Planned.MaxTokens == 0 {
		o.Planned.MaxTokens = o.Request.MaxTokens
	}
	if o.Planned.PromptTokens == 0 {
		o.Planned.PromptTokens = textTokens(o.Request.System)
		for i := range o.Request.Messages {
			o.Planned.PromptTokens += textTokens(o.Request.Messages[i].Text())
		}
	}
	o.Retry.fill()
	var answer *llm.Message
	err := o.Retry.repeat(ctx, time.Now, false, func() (err error) {
		answer, err = o.attempt(ctx)
		return err
	})
	return answer, err
}

func (o Once) attempt(ctx context.Context) (*llm.Message, error) {
	held, err := o.Meter.Reserve(ctx, o.Planned)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	m, err := llm.Collect(o.Client.Stream(ctx, &o.Request))
	if u := m.Usage; u != nil && u.Cost == nil {
		cost := o.Planned.Model.Price.Cost(*u)
		cost.Unknown = cost.Unknown || brokenOff(m)
		u.Cost = &cost
	}
	if uncharged(m) {
		held.Release()
	} else {
		held.Settle(m, time.Since(began), 0)
	}
	return m, err
}
