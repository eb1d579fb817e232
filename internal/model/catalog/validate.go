package catalog

import (
	"strings"

	"github.com/burin-dev/burin/llm"
)

// validate checks what no single value can tell.
//
// Decided where the formats of other programs disagree: apiKeyEnv counts as a
// key; Bedrock and Vertex need none, because their credentials come from the
// cloud's own chain; oauth does not replace a key. A provider that is built in
// needs none of this, since its address, format and variables are known.
func (d *decoder) validate(c *config, builtIn table) {
	for _, p := range c.Providers {
		known := builtIn.hasProvider(p.id)
		if len(p.Models) > 0 && !known {
			d.validateCustom(p)
		}
		if len(p.Models) == 0 && !p.overrides() && p.APIKey == "" && p.APIKeyEnv == "" {
			d.problem(p.at, "provider %q says nothing: give models, or one of baseUrl, headers, compat, requestTransform, disableStrictTools, modelOverrides, discovery", p.id)
		}
		if len(p.Models) == 0 && !p.overrides() && (p.APIKey != "" || p.APIKeyEnv != "") && !known {
			d.problem(p.at, "provider %q has a key but neither models nor an address, and is not built in", p.id)
		}
		if p.Discovery != nil {
			if p.Discovery.Type == "" {
				d.problem(p.at, "discovery of provider %q has no type", p.id)
			}
			if p.API == "" {
				d.problem(p.at, "provider %q has discovery and needs api for what is found", p.id)
			}
		}
		if p.AuthHeader && p.Auth == AuthNone {
			d.problem(p.at, "provider %q has authHeader and auth: none, which contradict each other", p.id)
		}
		d.validateModels(p)
	}
}

// overrides says whether the provider changes something without listing models.
func (p *providerConfig) overrides() bool {
	return p.BaseURL != "" || len(p.Headers) > 0 || p.Compat != nil || p.RequestTransform != nil ||
		p.DisableStrictTools != nil || len(p.ModelOverrides) > 0 || p.Discovery != nil
}

// validateCustom checks a provider that only the file knows.
func (d *decoder) validateCustom(p *providerConfig) {
	cloud := true // all models use a cloud's own credentials
	codecURL := true
	for _, m := range p.Models {
		api := m.API
		if api == "" {
			api = p.API
		}
		if api == "" {
			d.problem(m.at, "model %q of provider %q has no api: set it here or for the provider", m.ID, p.id)
		}
		isCloud := api == apiName(llm.APIBedrock) || api == apiName(llm.APIVertex)
		cloud = cloud && isCloud
		codecURL = codecURL && (isCloud || api == apiName(llm.APIAzureResponses))
	}
	if p.BaseURL == "" && !codecURL {
		d.problem(p.at, "provider %q has models and needs baseUrl", p.id)
	}
	// A login of the user's own stands in for a key, and so does a stored key where auth: apiKey is written.
	if p.APIKey == "" && p.APIKeyEnv == "" && p.Auth == "" && !cloud {
		d.problem(p.at, "provider %q has models and needs apiKey or apiKeyEnv (or auth: apiKey with a stored key, auth: none, or auth: oauth)", p.id)
	}
}

func (d *decoder) validateModels(p *providerConfig) {
	seen := map[string]bool{}
	for _, m := range p.Models {
		if seen[m.ID] {
			d.problem(m.at, "model %q of provider %q is listed twice", m.ID, p.id)
		}
		if strings.TrimSpace(m.ID) != m.ID {
			d.problem(m.at, "the id %q of a model of provider %q begins or ends with a blank", m.ID, p.id)
		}
		seen[m.ID] = true
		if m.Thinking != nil {
			if _, err := m.Thinking.support(llm.ThinkingSupport{}); err != nil {
				d.problem(m.at, "thinking of model %q of provider %q: %v", m.ID, p.id, err)
			}
			if m.Reasoning != nil && !*m.Reasoning {
				d.problem(m.at, "model %q of provider %q has thinking and reasoning: false, which contradict each other", m.ID, p.id)
			}
		}
	}
}
