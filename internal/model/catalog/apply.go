package catalog

import (
	"slices"

	"github.com/burin-dev/burin/llm"
)

// fill lays a provider's own settings over a model. A base URL of the file
// replaces the built-in one; a model's header wins over its provider's.
func (p *providerConfig) fill(m *Model) {
	if p == nil {
		return
	}
	if p.BaseURL != "" {
		m.BaseURL, m.Needs = string(p.BaseURL), nil
		if (p.Discovery != nil || p.API == apiOllama) && (m.API == llm.APICompletions || m.API == llm.APIResponses) {
			m.BaseURL = openAIBase(m.BaseURL) // local servers are known by their bare address
		}
	}
	m.Headers = merged(headers(p.Headers), m.Headers)
	if p.Compat != nil {
		m.Compat = m.Compat.Merge(*p.Compat)
	}
	if p.DisableStrictTools != nil {
		m.DisableStrictTools = *p.DisableStrictTools
	}
	m.Transform = p.RequestTransform.apply(m.Transform)
	if p.APIKey != "" || p.APIKeyEnv != "" {
		m.APIKey, m.APIKeyEnv = p.APIKey, p.APIKeyEnv
	}
	m.AuthHeader = p.AuthHeader
	if p.Auth != "" {
		m.Auth = p.Auth
	}
	if p.Discovery != nil {
		m.Discovery = p.Discovery.Type
	}
}

// api is the wire format of the provider's models, or def where it names none.
func (p *providerConfig) api(def llm.API) llm.API {
	switch {
	case p == nil || p.API == "":
		return def
	case p.API == apiOllama:
		return llm.APICompletions
	}
	return llm.API(p.API)
}

// lay puts what the facts state over the model.
func (f *facts) lay(m *Model) {
	set(&m.Name, f.Name)
	set(&m.WireID, f.WireModelID)
	set(&m.PromotionTarget, f.ContextPromotionTarget)
	if f.ContextWindow != nil {
		m.ContextWindow = int(*f.ContextWindow)
	}
	if f.MaxTokens != nil {
		m.MaxOutput = int(*f.MaxTokens)
	}
	if f.Input != nil {
		m.Input = nil
		for _, kind := range f.Input {
			m.Input = append(m.Input, llm.Modality(kind))
		}
	}
	f.layThinking(m)
	f.Cost.lay(m)
	if f.WebSearch != nil {
		m.Tuning.Search = f.WebSearch
	}
	if f.Temperature != nil {
		m.Tuning.Temperature = (*float64)(f.Temperature)
	}
	if f.TopP != nil {
		m.Tuning.TopP = (*float64)(f.TopP)
	}
	m.Tuning.Others = Samplers{
		TopK: (*int)(f.TopK), MinP: (*float64)(f.MinP),
		PresencePenalty: (*float64)(f.PresencePenalty), RepetitionPenalty: (*float64)(f.RepetitionPenalty),
	}.over(m.Tuning.Others)
	if f.ServiceTier != nil {
		m.Tuning.ServiceTier = string(*f.ServiceTier)
	}
	m.Headers = merged(m.Headers, headers(f.Headers))
	if f.Compat != nil {
		m.Compat = m.Compat.Merge(*f.Compat)
	}
	m.Transform = f.RequestTransform.apply(m.Transform)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (f *facts) layThinking(m *Model) {
	if f.Reasoning != nil && !*f.Reasoning {
		m.Thinking = llm.ThinkingSupport{}
	}
	if f.Reasoning != nil && *f.Reasoning && m.Thinking.Mode == llm.ThinkingNone {
		m.Thinking = llm.ThinkingSupport{Mode: modeFor(m.API)}
	}
	if f.Thinking != nil {
		if m.Thinking.Mode == llm.ThinkingNone {
			m.Thinking.Mode = modeFor(m.API)
		}
		m.Thinking, _ = f.Thinking.support(m.Thinking) // checked when the file was read
	}
}

// modeFor is how models of a wire format are usually told how hard to think.
func modeFor(api llm.API) llm.ThinkingMode {
	if api == llm.APIAnthropic {
		return llm.ThinkingBudget
	}
	return llm.ThinkingEffort
}

// support lays the block over what is known.
func (t *thinkingConfig) support(base llm.ThinkingSupport) (llm.ThinkingSupport, error) {
	if t.Mode != "" {
		base.Mode = llm.ThinkingMode(t.Mode)
	}
	if t.MinLevel != "" || t.MaxLevel != "" {
		low, high := llm.Level(t.MinLevel), llm.Level(t.MaxLevel)
		if low == "" {
			low = llm.LevelMinimal
		}
		if high == "" {
			high = llm.LevelHigh
		}
		levels, err := levelRange(low, high)
		if err != nil {
			return base, err
		}
		base.Levels = levels
	}
	if t.Levels != nil {
		base.Levels = nil
		for _, known := range llm.Levels() {
			if slices.Contains(t.Levels, level(known)) {
				base.Levels = append(base.Levels, known)
			}
		}
	}
	base.Levels = slices.DeleteFunc(slices.Clone(base.Levels), func(l llm.Level) bool { return l == llm.LevelOff })
	if t.DefaultLevel != "" {
		base.Default = llm.Level(t.DefaultLevel)
	}
	if len(t.Budgets) > 0 {
		budgets := make(map[llm.Level]int, len(t.Budgets))
		for l, n := range t.Budgets {
			budgets[llm.Level(l)] = int(n)
		}
		base.Budgets = merged(base.Budgets, budgets)
	}
	return base, nil
}

// lay sets the price. Prices of zero all over are what other programs' files
// hold where nobody knew them: away from this machine they count as not stated,
// so that a budget is not led astray. "cost: free" says what zero cannot.
func (c *costConfig) lay(m *Model) {
	if c == nil {
		return
	}
	if c.free {
		m.Price = free()
		return
	}
	stated := []*rate{c.Input, c.Output, c.CacheRead, c.CacheWrite}
	zero := !slices.ContainsFunc(stated, func(r *rate) bool { return r != nil && *r != 0 })
	if zero && !isLoopback(m.BaseURL) {
		return
	}
	into := []*llm.Rate{&m.Price.Input, &m.Price.Output, &m.Price.CacheRead, &m.Price.CacheWrite}
	for i, r := range stated {
		if r == nil {
			continue
		}
		if *r == 0 && !zero && i >= 2 {
			*into[i] = llm.Rate{} // no cache price is zero where tokens cost something
			continue
		}
		*into[i] = llm.PerMillion(float64(*r))
	}
	m.Price.CacheWriteLong, m.Price.Steps, m.Price.Unreliable = llm.Rate{}, nil, false
	if zero {
		m.Price.CacheWriteLong = llm.PerMillion(0)
	}
}
