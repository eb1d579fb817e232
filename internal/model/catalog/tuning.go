package catalog

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Tuning is how a model is asked, beyond the conversation and how hard to think. The
// zero value leaves everything to the provider.
type Tuning struct {
	Temperature, TopP *float64          // below 0 is the provider's default
	ServiceTier       string            // one of ServiceTiers; of a model in the registry, the provider's own word
	Budgets           map[llm.Level]int // thinking tokens of levels
	Search            *bool             // the model has a web search of its own; nil = as is known
	Others            Samplers
	// Unsent are settings of Others that the provider of a model in the registry doesn't take.
	Unsent []string
}

// ServiceTiers are the values of serviceTier.
func ServiceTiers() []string {
	return []string{"none", "auto", "default", "flex", "scale", "priority", "openai-only", "claude-only"}
}

// Check says what is wrong with the values.
func (t Tuning) Check() error {
	if err := temperature(at(t.Temperature)).check(); err != nil {
		return fmt.Errorf("temperature: %w", err)
	}
	if err := share(at(t.TopP)).check(); err != nil {
		return fmt.Errorf("topP: %w", err)
	}
	if t.ServiceTier != "" {
		if err := tier(t.ServiceTier).check(); err != nil {
			return fmt.Errorf("serviceTier: %w", err)
		}
	}
	return nil
}

func at(v *float64) float64 {
	if v == nil {
		return -1
	}
	return *v
}

// over is t with what it leaves open taken from base.
func (t Tuning) over(base Tuning) Tuning {
	if t.Temperature == nil {
		t.Temperature = base.Temperature
	}
	if t.TopP == nil {
		t.TopP = base.TopP
	}
	t.Others = t.Others.over(base.Others)
	if t.ServiceTier == "" {
		t.ServiceTier = base.ServiceTier
	}
	if t.Search == nil {
		t.Search = base.Search
	}
	if len(base.Budgets) > 0 {
		budgets := maps.Clone(base.Budgets)
		maps.Copy(budgets, t.Budgets)
		t.Budgets = budgets
	}
	return t
}

// tune puts flags over what models.yml says of the model, and that over the settings.
func (s *sources) tune(m *Model) {
	// A provider that is not known to have tiers gets one only where models.yml says so.
	stated := m.Tuning.ServiceTier != ""
	t := s.flags.over(m.Tuning).over(s.settings)
	if m.WebSearch = searches(m); t.Search != nil {
		m.WebSearch = *t.Search
	}
	if len(t.Budgets) > 0 {
		t.Budgets = maps.Clone(t.Budgets)
		maps.Copy(t.Budgets, m.Thinking.Budgets)
		m.Thinking.Budgets = t.Budgets
	}
	for _, v := range []**float64{&t.Temperature, &t.TopP} {
		if *v != nil && **v < 0 {
			*v = nil
		}
	}
	t.Unsent = t.Others.suit(m, s.table.hasProvider)
	t.ServiceTier = tierOf(m, t.ServiceTier, stated)
	if slices.Contains([]string{"flex", "scale", "priority"}, t.ServiceTier) {
		m.Price.Unreliable = true // the table holds the prices of the usual tier
	}
	m.Tuning = t
}

// tierOf is the provider's word for a tier; empty: none is asked for.
func tierOf(m *Model, wanted string, stated bool) string {
	switch openai := slices.Contains(tiered, m.Provider); {
	case m.API == llm.APIAnthropic && m.Provider == "anthropic":
		return map[string]string{"auto": "auto", "priority": "auto", "claude-only": "auto", "default": "standard_only"}[wanted]
	case wanted == "openai-only" && openai:
		return "priority"
	case wanted == "none", wanted == "openai-only", wanted == "claude-only":
		return ""
	case openai, stated && (m.API == llm.APICompletions || m.API.Family() == llm.APIResponses):
		return wanted
	}
	return ""
}

// tiered are the providers that take the tiers of OpenAI.
var tiered = []string{"openai", "openai-codex", "azure-openai-responses"}

// searches says whether the model is known to have a web search of its own that goes
// together with burin's tools: platform.claude.com/docs (web search tool),
// developers.openai.com (web search), ai.google.dev (Gemini 3 takes functions beside it).
func searches(m *Model) bool {
	id := strings.ToLower(m.Upstream())
	switch {
	case m.Provider == "anthropic" && m.API == llm.APIAnthropic:
		return searchClaude.MatchString(id)
	case slices.Contains(tiered, m.Provider) && m.API.Family() == llm.APIResponses:
		return searchGPT.MatchString(id)
	case m.Provider == "google" && m.API == llm.APIGoogle:
		return searchGemini.MatchString(id)
	}
	return false
}

var (
	searchClaude = regexp.MustCompile(`^claude-(3-[57]-|(haiku|opus|sonnet|fable)-\d)`)
	searchGPT    = regexp.MustCompile(`^(gpt-([5-9]|4\.1|4o)|o[34])`)
	searchGemini = regexp.MustCompile(`^gemini-([3-9]|\d\d)`)
)

type (
	temperature float64
	share       float64
	count       int
	penalty     float64
	tier        string
)

func (t temperature) check() error {
	if t != -1 && (t < 0 || t > 2) {
		return errors.New("want a number from 0 to 2, or -1 for the provider's default")
	}
	return nil
}

func (s share) check() error {
	if s != -1 && (s < 0 || s > 1) {
		return errors.New("want a number from 0 to 1, or -1 for the provider's default")
	}
	return nil
}

func (c count) check() error {
	if c < -1 {
		return errors.New("want a number from 0 on, or -1 for the provider's default")
	}
	return nil
}

func (p penalty) check() error { return temperature(p).check() }

func (t tier) check() error {
	if known := ServiceTiers(); !slices.Contains(known, string(t)) {
		return fmt.Errorf("unknown tier %q (want %s)", string(t), strings.Join(known, ", "))
	}
	return nil
}
