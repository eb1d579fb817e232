package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

// tuned is a client that asks as the user has set it, where a request does not say.
func tuned(c llm.Client, t catalog.Tuning) llm.Client {
	if t.Temperature == nil && t.TopP == nil && t.Others == (catalog.Samplers{}) && t.ServiceTier == "" {
		return c
	}
	return &tuning{c, t}
}

type tuning struct {
	inner llm.Client
	catalog.Tuning
}

// Stream implements [llm.Client].
func (t *tuning) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	r := *req
	if r.Temperature == nil {
		r.Temperature = t.Temperature
	}
	if r.TopP == nil {
		r.TopP = t.TopP
	}
	r.TopK, r.MinP = cmp.Or(r.TopK, t.Others.TopK), cmp.Or(r.MinP, t.Others.MinP)
	r.PresencePenalty = cmp.Or(r.PresencePenalty, t.Others.PresencePenalty)
	r.RepetitionPenalty = cmp.Or(r.RepetitionPenalty, t.Others.RepetitionPenalty)
	if _, set := r.Extra["service_tier"]; !set && t.ServiceTier != "" {
		extra := maps.Clone(r.Extra)
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		extra["service_tier"], _ = json.Marshal(t.ServiceTier) // a word of a list
		r.Extra = extra
	}
	return t.inner.Stream(ctx, &r)
}
