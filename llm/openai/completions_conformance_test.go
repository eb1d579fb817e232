package openai_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// detour sends requests for the vendor's host to a test server. The dialect is
// chosen by URL, so a client that is to speak the vendor's must be opened for it.
type detour struct {
	to   *url.URL
	next http.RoundTripper
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = d.to.Scheme, d.to.Host, d.to.Host
	return d.next.RoundTrip(r)
}

// viaHost makes e an endpoint for baseURL that ends up at the server at target.
func viaHost(e wire.Endpoint, baseURL, target string) wire.Endpoint {
	to, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	client := *e.Client
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = detour{to, client.Transport}
	e.Client, e.BaseURL = &client, baseURL
	return e
}

func TestCompletionsConformance(t *testing.T) {
	yes := true
	subject := conformance.Subject{
		Name:   "vendor",
		Server: openai.CompletionsServer{},
		Model: llm.Model{
			ID: "gpt-5.2", Provider: "openai", API: llm.APICompletions, ContextWindow: 400_000, MaxOutput: 128_000,
			Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
			Thinking: llm.ThinkingSupport{Mode: llm.ThinkingEffort, Levels: llm.Levels()[1:]},
		},
		Open: func(baseURL string, e wire.Endpoint) llm.Client {
			return openai.NewCompletions(openai.CompletionsOptions{
				Endpoint: viaHost(e, "https://api.openai.com/v1", baseURL),
				Compat:   openai.Compat{RequiresReasoningContentForToolCalls: &yes},
			})
		},
		NoPause:         true,
		NoToolImages:    true,
		NoToolDocuments: true,
		NoToolErrors:    true,
		CallIDs:         `^[A-Za-z0-9_-]{1,40}$`,
	}
	t.Run(subject.Name, func(t *testing.T) { conformance.Run(t, subject) })

	subject.Name = "imitation"
	subject.Model.Provider, subject.Model.ID = "mistral", "some-model"
	subject.Open = func(baseURL string, e wire.Endpoint) llm.Client {
		e.BaseURL = baseURL
		return openai.NewCompletions(openai.CompletionsOptions{
			Endpoint: e, Compat: openai.Compat{SupportsReasoningEffort: &yes},
		})
	}
	subject.NoDocuments = true
	subject.NoOwnThinking = true // it goes back as text
	subject.CallIDs = `^[A-Za-z0-9]{9}$`
	t.Run(subject.Name, func(t *testing.T) { conformance.Run(t, subject) })
}
