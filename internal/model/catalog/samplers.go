package catalog

import (
	"maps"
	"slices"

	"github.com/burin-dev/burin/llm"
)

// Samplers are ways to choose words that only some providers know. nil and below 0 is the
// provider's default.
type Samplers struct {
	TopK                                     *int
	MinP, PresencePenalty, RepetitionPenalty *float64
}

// over is s with what it leaves open taken from base.
func (s Samplers) over(base Samplers) Samplers {
	if s.TopK == nil {
		s.TopK = base.TopK
	}
	if s.MinP == nil {
		s.MinP = base.MinP
	}
	if s.PresencePenalty == nil {
		s.PresencePenalty = base.PresencePenalty
	}
	if s.RepetitionPenalty == nil {
		s.RepetitionPenalty = base.RepetitionPenalty
	}
	return s
}

// suit leaves out what the provider of m doesn't take, which many answer with an error, and gives
// the names of that. listed says whether the provider is of the table.
func (s *Samplers) suit(m *Model, listed func(provider string) bool) (unsent []string) {
	if *s == (Samplers{}) {
		return nil // as mostly: then the table isn't searched for each model
	}
	for _, v := range []**float64{&s.MinP, &s.PresencePenalty, &s.RepetitionPenalty} {
		if *v != nil && **v < 0 {
			*v = nil
		}
	}
	if s.TopK != nil && *s.TopK < 0 {
		s.TopK = nil
	}
	takes := taken(m, listed(m.Provider))
	if s.TopK != nil && !slices.Contains(takes, "topK") {
		s.TopK, unsent = nil, append(unsent, "topK")
	}
	for _, o := range []struct {
		name string
		v    **float64
	}{{"minP", &s.MinP}, {"presencePenalty", &s.PresencePenalty}, {"repetitionPenalty", &s.RepetitionPenalty}} {
		if *o.v != nil && !slices.Contains(takes, o.name) {
			*o.v, unsent = nil, append(unsent, o.name)
		}
	}
	if s.RepetitionPenalty != nil && (m.Discovery == DiscoverLlamaCPP || m.Discovery == DiscoverLMStudio) {
		const theirs = "repeat_penalty"
		body := maps.Clone(m.Transform.ExtraBody)
		if body == nil {
			body = map[string]any{}
		}
		if _, set := body[theirs]; !set {
			body[theirs] = *s.RepetitionPenalty
		}
		m.Transform.ExtraBody, s.RepetitionPenalty = body, nil
	}
	return unsent
}

// taken are the samplers that a provider takes: platform.claude.com/docs (messages),
// ai.google.dev (GenerationConfig), platform.openai.com, api-docs.deepseek.com and docs.mistral.ai (chat
// completions), openrouter.ai/docs (parameters), docs.together.ai, docs.fireworks.ai. A server of
// models.yml or on this machine is one of vLLM, llama.cpp and the like, which know all and ignore
// what they don't.
func taken(m *Model, listed bool) []string {
	all := []string{"topK", "minP", "presencePenalty", "repetitionPenalty"}
	switch m.API.Family() {
	case llm.APIAnthropic:
		return all[:1]
	case llm.APIGoogle:
		return []string{"topK", "presencePenalty"}
	case llm.APICompletions:
		switch {
		case !listed, slices.Contains([]string{"openrouter", "together", "fireworks"}, m.Provider):
			return all
		case slices.Contains([]string{"openai", "deepseek", "mistral"}, m.Provider):
			return []string{"presencePenalty"}
		}
	}
	return nil
}
