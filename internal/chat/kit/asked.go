package kit

import (
	"context"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// asked sets what a project says about how its answers are made.
type asked struct {
	temperature *float64
	prefill     string
}

// change implements a [session.RequestInterceptor]. Only an answer to a person is begun for the model,
// not what it does after a call.
func (a asked) change(_ context.Context, purpose string, r *llm.Request) error {
	if purpose != session.ForTurn && purpose != session.ForRetry {
		return nil
	}
	if a.temperature != nil {
		r.Temperature = a.temperature
	}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == llm.RoleUser {
		r.Prefill = a.prefill
	}
	return nil
}
