package bedrock_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
	"github.com/burin-dev/burin/llm/wire"
)

// env is an environment of which nothing but the given variables is set.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// sonnet thinks within a budget, opus as it sees fit.
var (
	sonnet = llm.Model{
		ID: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Provider: "amazon-bedrock", API: llm.APIBedrock,
		ContextWindow: 200_000, MaxOutput: 64_000,
		Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
		Thinking: llm.ThinkingSupport{Mode: llm.ThinkingBudget, Levels: llm.Levels()[1:]},
	}
	opus = llm.Model{
		ID: "us.anthropic.claude-opus-4-6-v1", Provider: "amazon-bedrock", API: llm.APIBedrock,
		ContextWindow: 200_000, MaxOutput: 128_000,
		Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
		Thinking: llm.ThinkingSupport{Mode: llm.ThinkingAdaptive, Words: map[llm.Level]string{llm.LevelXHigh: "max"}},
	}
)

func TestConformance(t *testing.T) {
	for _, m := range []llm.Model{sonnet, opus} {
		t.Run(m.ID, func(t *testing.T) { conformance.Run(t, subject(m)) })
	}
}

func subject(m llm.Model) conformance.Subject {
	return conformance.Subject{
		Name:   "bedrock",
		Server: bedrock.Server{},
		Model:  m,
		Open: func(base string, o wire.Endpoint) llm.Client {
			o.BaseURL = base
			return bedrock.New(bedrock.Options{Endpoint: o, Getenv: env("AWS_BEDROCK_SKIP_AUTH", "1", "AWS_REGION", "us-east-1")})
		},
		NoReasoningUsage: true,
		NoResetTime:      true,
		NoPause:          true,
		NoToolDocuments:  true,
		NoToolNone:       true,
		NoSequential:     true,
		Alternation:      true,
		CallIDs:          `^[a-zA-Z0-9_-]{1,64}$`,
	}
}
