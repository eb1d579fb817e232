package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// defaultModels are the models a provider is used with when nobody has chosen
// one. Their order is the order of providers: first the vendors of models, then
// subscriptions, clouds, and gateways that sell others' models.
var defaultModels = []struct{ provider, id string }{
	{"anthropic", "claude-sonnet-5-5"},
	{"openai", "gpt-5.5"},
	{"google", "gemini-3.1-pro-preview"},
	{"deepseek", "deepseek-v4-pro"},
	{"xai", "grok-4.3"},
	{"mistral", "devstral-medium-latest"},
	{"moonshotai", "kimi-k2.6"},
	{"moonshotai-cn", "kimi-k2.6"},
	{"minimax", "MiniMax-M2.7"},
	{"minimax-cn", "MiniMax-M2.7"},
	{"xiaomi", "mimo-v2.6-pro"},
	{"zai", "glm-5.3"},
	{"openai-codex", "gpt-6.1-sol"},
	{"meta", "muse-spark-1.3"},
	{"ant-ling", "Ring-2.6-1T"},
	{"zai-coding-cn", "glm-5.3"},
	{"qwen-token-plan", "qwen3.8-max"},
	{"qwen-token-plan-cn", "qwen3.8-max"},
	{"qwen-token-plan-individual", "qwen3.8-max"},
	{"qwen-token-plan-individual-cn", "qwen3.8-max"},
	{"kimi-coding", "kimi-for-coding"},
	{"github-copilot", "claude-sonnet-4.6"},
	{"xiaomi-token-plan-ams", "mimo-v2.6-pro"},
	{"xiaomi-token-plan-cn", "mimo-v2.6-pro"},
	{"xiaomi-token-plan-sgp", "mimo-v2.6-pro"},
	{"azure-openai-responses", "gpt-5.5"},
	{"amazon-bedrock", "global.anthropic.claude-sonnet-4-6"},
	{"google-vertex", "gemini-3.1-pro-preview"},
	{"openrouter", "anthropic/claude-sonnet-4.6"},
	{"vercel-ai-gateway", "anthropic/claude-sonnet-4.6"},
	{"opencode", "claude-sonnet-4-6"},
	{"opencode-go", "kimi-k3.1-pro"},
	{"cloudflare-ai-gateway", "claude-sonnet-4-6"},
	{"cloudflare-workers-ai", "@cf/moonshotai/kimi-k2.6"},
	{"groq", "openai/gpt-oss-120b"},
	{"cerebras", "gpt-oss-120b"},
	{"fireworks", "accounts/fireworks/models/kimi-k3p1-pro"},
	{"together", "moonshotai/Kimi-K3.1-Pro"},
	{"nvidia", "nvidia/nemotron-3-ultra-550b-a55b"},
	{"baseten", "moonshotai/Kimi-K3.1-Pro"},
	{"huggingface", "moonshotai/Kimi-K2.6"},
}

// Wish is what is known when the first model of a session is chosen.
type Wish struct {
	Selector string   // --model
	Models   []string // --models; nil = enabledModels
	// Resuming says that the session had a model already, so that the first
	// model of a list does not matter.
	Resuming bool
}

// ErrNoModel says that no provider can be used.
var ErrNoModel = errors.New("no model can be used: there is no key, login or local server for any provider")

// Initial chooses the first model: the one asked for; the first usable one of
// the list of models, unless resuming; the role default; the default model of
// the first provider that can be used; the first model that can be used.
func (r *Resolver) Initial(w Wish) (Choice, error) {
	if w.Selector != "" {
		return r.Resolve(w.Selector)
	}
	if !w.Resuming {
		if c, ok, err := r.firstOf(w.Models); ok || err != nil {
			return c, err
		}
	}
	return r.Role(RoleDefault)
}

// firstOf is the first usable model of the list, if there is a list. A list of
// which nothing can be used is an error: going on with another model would send
// the conversation where the user did not want it.
func (r *Resolver) firstOf(patterns []string) (c Choice, ok bool, err error) {
	if patterns == nil {
		patterns = r.enabled
	}
	if len(patterns) == 0 {
		return Choice{}, false, nil
	}
	choices, unmatched := r.Match(patterns)
	for _, c := range choices {
		if r.registry.Available(c.Model) {
			return c, true, nil
		}
	}
	if len(choices) == 0 {
		return Choice{}, false, fmt.Errorf("no model fits %s of the models to choose from", strings.Join(unmatched, ", "))
	}
	return Choice{}, false, fmt.Errorf("none of the models to choose from can be used: there is no key for %s", choices[0].Model.Provider)
}

// fallback chooses when nobody has said anything. Providers that were not set
// up in any way come last: a local server that happens to run is not a wish.
func (r *Resolver) fallback() (Choice, error) {
	ids := map[string]string{}
	for _, d := range defaultModels {
		ids[d.provider] = d.id
	}
	for _, p := range r.registry.Providers() {
		if id := ids[p]; id != "" {
			if m, ok := r.registry.Lookup(p, id); ok && r.registry.Available(m) {
				return Choice{Model: m, Note: "the default model of " + p}, nil
			}
		}
	}
	for _, m := range r.registry.All() {
		if r.registry.Available(m) {
			return Choice{Model: m, Note: "the first model that can be used"}, nil
		}
	}
	return Choice{}, ErrNoModel
}
