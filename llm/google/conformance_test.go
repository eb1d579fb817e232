package google_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
	"github.com/burin-dev/burin/llm/wire"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, subject())
}

// TestConformanceVertex runs the suite with what differs most from it: the
// addresses and fields of Vertex and a model of the generation before.
func TestConformanceVertex(t *testing.T) {
	s := subject()
	s.Name = "google-vertex"
	s.Model.API, s.Model.Provider = llm.APIVertex, "google-vertex"
	s.Model.ID = "gemini-2.5-flash"
	s.Model.Thinking = llm.ThinkingSupport{Mode: llm.ThinkingBudget}
	s.NoToolImages, s.NoToolDocuments = true, true
	s.Open = func(base string, e wire.Endpoint) llm.Client {
		e.BaseURL, e.Key = base, nil
		return google.New(google.Options{
			Endpoint: e, Vertex: true, Project: "p", Location: "global",
			Authorize: func(_ context.Context, r *http.Request, _ []byte) error {
				r.Header.Set("Authorization", "Bearer test-token")
				return nil
			},
		})
	}
	conformance.Run(t, s)
}

func subject() conformance.Subject {
	return conformance.Subject{
		Name:   "google",
		Server: google.Server{},
		Model: llm.Model{
			ID: "gemini-3-pro-preview", Provider: "google", API: llm.APIGoogle,
			ContextWindow: 1 << 20, MaxOutput: 65536,
			Input: []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
			Thinking: llm.ThinkingSupport{
				Mode: llm.ThinkingEffort, Always: true,
				Levels: []llm.Level{llm.LevelLow, llm.LevelMedium, llm.LevelHigh},
			},
		},
		Open: func(base string, e wire.Endpoint) llm.Client {
			e.BaseURL = base
			return google.New(google.Options{Endpoint: e})
		},
		WholeCalls: true, NoPause: true, NoCacheWrite: true, NoCacheTiers: true, NoResetTime: true, NoSequential: true,
	}
}
