package anthropic_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
	"github.com/burin-dev/burin/llm/wire"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{
		Name:   "anthropic",
		Server: anthropic.Server{},
		Model: llm.Model{
			ID: "claude-sonnet-4-5", Provider: "anthropic", API: llm.APIAnthropic,
			ContextWindow: 200_000, MaxOutput: 64_000,
			Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
			Thinking: llm.ThinkingSupport{Mode: llm.ThinkingBudget},
		},
		Open: func(baseURL string, e wire.Endpoint) llm.Client {
			e.BaseURL = baseURL
			return anthropic.New(anthropic.Options{Endpoint: e})
		},
		// The suite's only document in a result is in a failed one, whose media
		// the vendor wants outside of it.
		NoToolDocuments: true,

		Alternation: true,
		CallIDs:     `^[a-zA-Z0-9_-]+$`,
	})
}
