package private

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
)

// Provider is one that the browser asks directly. It is sealed with the project.
type Provider struct {
	ID     string      `json:"id"`
	API    llm.API     `json:"api"`              // anthropic-messages, openai-completions, openai-responses, google-generative-ai, webllm
	URL    string      `json:"url,omitempty"`    // "" is the one that the API is named after
	Key    string      `json:"key,omitempty"`    // which never reaches the server
	Models []llm.Model `json:"models,omitempty"` // what is known of them; any other id can be used, too
}

// homes are where the APIs are at home.
func home(api llm.API) (string, bool) {
	switch api {
	case llm.APIAnthropic:
		return "https://api.anthropic.com", true
	case llm.APICompletions, llm.APIResponses:
		return "https://api.openai.com/v1", true
	case llm.APIGoogle:
		return "https://generativelanguage.googleapis.com/v1beta", true
	case APIWebLLM:
		return weightsHome, true
	}
	return "", false
}

// origins are what the browser must be allowed to reach for a provider.
func (p *Provider) origins() ([]string, error) {
	at, known := home(p.API)
	if !known {
		return nil, problem(http.StatusBadRequest, "", "providers: %s: a browser can't use the API %q", p.ID, p.API)
	}
	if p.URL != "" {
		at = p.URL
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || p.ID == "" || strings.Contains(p.ID, "/") {
		return nil, problem(http.StatusBadRequest, "", "providers: %q needs an id without / and an address", p.ID)
	}
	all := []string{u.Scheme + "://" + strings.ToLower(u.Host)}
	if p.API == APIWebLLM {
		if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, problem(http.StatusBadRequest, "", "providers: %s: the address of the weights is no more than https://HOST/PATH", p.ID)
		}
		all = append(all, inBrowser)
	}
	return all, nil
}

func (p *Provider) client() llm.Client {
	e := wire.Endpoint{
		BaseURL: p.URL, Client: http.DefaultClient, Key: func(context.Context) (string, error) { return p.Key, nil },
		Transform: wire.Transform{StripHeaders: []string{"User-Agent"}}, // which is the browser's
	}
	switch p.API {
	case APIWebLLM:
		// A model is loaded before its answer begins, which takes as long as it takes.
		e.BaseURL, e.FirstEvent, e.Idle, e.NoContent = inBrowser, -1, -1, -1
		e.Transform.ExtraBody = map[string]any{"weights": cmp.Or(p.URL, weightsHome)}
		return textOnly{openai.NewCompletions(openai.CompletionsOptions{Endpoint: e})}
	case llm.APICompletions:
		return openai.NewCompletions(openai.CompletionsOptions{Endpoint: e})
	case llm.APIResponses:
		return openai.NewResponses(openai.ResponsesOptions{Endpoint: e})
	case llm.APIGoogle:
		return google.New(google.Options{Endpoint: e})
	}
	// Without this header, Anthropic refuses what comes from a page.
	e.Headers = map[string]string{"anthropic-dangerous-direct-browser-access": "true"}
	return anthropic.New(anthropic.Options{Endpoint: e})
}

// providers finds the models of a project.
type providers []Provider

// Open finds a model: selectors are PROVIDER/ID.
func (all providers) Open(_ context.Context, selector string) (o session.Opened, err error) {
	name, id, _ := strings.Cut(selector, "/")
	i := slices.IndexFunc(all, func(p Provider) bool { return p.ID == name })
	if i < 0 || id == "" {
		return o, problem(http.StatusUnprocessableEntity, "", "model: %q is not PROVIDER/MODEL with a provider of this project", selector)
	}
	p := all[i]
	m := llm.Model{ID: id}
	if known := slices.IndexFunc(p.Models, func(m llm.Model) bool { return m.ID == id }); known >= 0 {
		m = p.Models[known]
	}
	m.Provider, m.API = p.ID, p.API
	if p.API == APIWebLLM {
		m.API, m.Price = llm.APICompletions, free()
	}
	if len(m.Input) == 0 {
		m.Input = reads(p.API)
	}
	if m.MaxOutput == 0 && p.API == llm.APIAnthropic {
		m.MaxOutput = 8192 // which it must be told
	}
	return session.Opened{Model: &m, Client: p.client()}, nil
}

// reads is what a model reads that nothing is known of. One that refuses a picture gets a note in its place.
func reads(api llm.API) []llm.Modality {
	switch api {
	case APIWebLLM:
		return []llm.Modality{llm.ModalityText}
	case llm.APICompletions: // mostly of servers that don't take PDFs
		return []llm.Modality{llm.ModalityText, llm.ModalityImage}
	case llm.APIGoogle:
		return []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument, llm.ModalityAudio}
	}
	return []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument}
}

// first is the model where none was chosen.
func (all providers) first() string {
	for _, p := range all {
		if len(p.Models) > 0 {
			return fmt.Sprintf("%s/%s", p.ID, p.Models[0].ID)
		}
	}
	return ""
}
