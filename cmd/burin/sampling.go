package main

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// sampling are the flags that say how a model is asked.
type sampling struct {
	temperature, topP float64
	serviceTier       string
	webSearch         string
	given             func(name string) bool
}

func (s *sampling) register(f *pflag.FlagSet) {
	f.Float64Var(&s.temperature, "temperature", -1, "sampling temperature, 0 to 2; -1 means the provider's default")
	f.Float64Var(&s.topP, "top-p", -1, "nucleus sampling (top-p), 0 to 1; -1 means the provider's default")
	f.StringVar(&s.serviceTier, "service-tier", "", "service tier for OpenAI and Anthropic: auto, default, flex, scale, priority or none")
	f.StringVar(&s.webSearch, "web-search", "", "who searches the web: auto (burin) or model (the model where it can, without a question)")
	s.given = f.Changed
}

func (s *sampling) check() error {
	if math.IsNaN(s.temperature) || math.IsNaN(s.topP) {
		return usage("--temperature and --top-p want numbers")
	}
	if err := (catalog.Tuning{Temperature: &s.temperature}).Check(); err != nil {
		return usage("--%w", err)
	}
	if err := (catalog.Tuning{TopP: &s.topP}).Check(); err != nil {
		return usage("--top-p: want a number from 0 to 1, or -1 for the provider's default")
	}
	if err := (catalog.Tuning{ServiceTier: s.serviceTier}).Check(); err != nil {
		return usage("--service-tier: %q must be auto, default, flex, scale, priority, openai-only, claude-only or none", s.serviceTier)
	}
	if s.webSearch != "" && s.webSearch != "auto" && s.webSearch != "model" {
		return usage("--web-search: %q must be auto or model", s.webSearch)
	}
	return nil
}

// tuning is what the flags say; a flag that isn't given says nothing.
func (a *askFlags) tuning() catalog.Tuning {
	var t catalog.Tuning
	if a == nil || a.given == nil {
		return t
	}
	t.ServiceTier = a.serviceTier
	if a.given("temperature") {
		t.Temperature = &a.temperature
	}
	if a.given("top-p") {
		t.TopP = &a.topP
	}
	return t
}
