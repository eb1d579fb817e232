package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
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
	{"xiaomi", "mimo-v2.5-pro"},
	{"zai", "glm-5.1"},
	{"openai-codex", "gpt-5.5"},
	{"kimi-coding", "kimi-for-coding"},
	{"github-copilot", "claude-sonnet-4.6"},
	{"xiaomi-token-plan-ams", "mimo-v2.5-pro"},
	{"xiaomi-token-plan-cn", "mimo-v2.5-pro"},
	{"xiaomi-token-plan-sgp", "mimo-v2.5-pro"},
	{"azure-openai-responses", "gpt-5.5"},
	{"amazon-bedrock", "global.anthropic.claude-sonnet-4-6"},
	{"google-vertex", "gemini-3.1-pro-preview"},
	{"openrouter", "anthropic/claude-sonnet-4.6"},
	{"vercel-ai-gateway", "anthropic/claude-sonnet-4.6"},
	{"opencode", "claude-sonnet-4-6"},
	{"opencode-go", "kimi-k2.6"},
	{"cloudflare-ai-gateway", "claude-sonnet-4-6"},
	{"cloudflare-workers-ai", "@cf/moonshotai/kimi-k2.6"},
	{"groq", "openai/gpt-oss-120b"},
	{"cerebras", "zai-glm-4.7"},
	{"fireworks", "accounts/fireworks/models/kimi-k2p6"},
	{"together", "moonshotai/Kimi-K2.6"},
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
func (r *Registry) Initial(w Wish) (Choice, error) {
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

// Scoped lists the models of enabledModels that hold in the working directory,
// and the entries that fit nothing. Both are empty where the list is.
func (r *Registry) Scoped() (choices []Choice, unmatched []string) {
	return r.Match(r.opt.Enabled.For(r.opt.Dir, r.opt.UserHome))
}

// firstOf is the first usable model of the list, if there is a list. A list of
// which nothing can be used is an error: going on with another model would send
// the conversation where the user did not want it.
func (r *Registry) firstOf(patterns []string) (c Choice, ok bool, err error) {
	if patterns == nil {
		patterns = r.opt.Enabled.For(r.opt.Dir, r.opt.UserHome)
	}
	if len(patterns) == 0 {
		return Choice{}, false, nil
	}
	choices, unmatched := r.Match(patterns)
	for _, c := range choices {
		if r.Available(c.Model) {
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
func (r *Registry) fallback() (Choice, error) {
	ids := map[string]string{}
	for _, d := range defaultModels {
		ids[d.provider] = d.id
	}
	for _, p := range r.Providers() {
		if id := ids[p]; id != "" {
			if m, ok := r.Lookup(p, id); ok && r.Available(m) {
				return Choice{Model: m, Note: "the default model of " + p}, nil
			}
		}
	}
	for _, m := range r.All() {
		if r.Available(m) {
			return Choice{Model: m, Note: "the first model that can be used"}, nil
		}
	}
	return Choice{}, ErrNoModel
}

// Promotion is the model to go on with when the context of m overflows: the one
// m names, else the smallest larger one of the same server, wire format and
// family. Targets that cannot be used are passed over. Of those that m does not
// name so are older ones, those that would lose a kind of input m reads, and those
// that cost more than m: whoever chose a cheap model has not asked for another
// bill. m need not be in the registry. ok is false where there is none.
func (r *Registry) Promotion(m *Model) (target *Model, ok bool) {
	if ref := m.PromotionTarget; ref != "" {
		if t, ok := r.Lookup(m.Provider, ref); ok && t.Ref() != m.Ref() && r.Available(t) {
			return t, true
		}
		if provider, id, ok := llm.SplitRef(ref); ok {
			if t, ok := r.Lookup(provider, id); ok && t.Ref() != m.Ref() && r.Available(t) {
				return t, true
			}
		}
	}
	own := nameOf(m.ID)
	for _, c := range r.All() {
		if c.Provider != m.Provider || c.BaseURL != m.BaseURL || c.API != m.API || c.ContextWindow <= m.ContextWindow || m.ContextWindow == 0 || !r.Available(c) {
			continue
		}
		name := nameOf(c.ID)
		if !name.sameFamily(own) || own.newer(name) || dearer(c, m) ||
			slices.ContainsFunc(m.Input, func(k llm.Modality) bool { return !c.Accepts(k) }) {
			continue
		}
		if target == nil || cmp.Or(
			cmp.Compare(c.ContextWindow, target.ContextWindow),
			cmp.Compare(c.Price.Output.Dollars(), target.Price.Output.Dollars()),
			strings.Compare(c.ID, target.ID),
		) < 0 {
			target = c
		}
	}
	return target, target != nil
}

// dearer says whether a request that outgrows m costs more with c, or whether only
// m's price is known.
func dearer(c, m *Model) bool {
	if !m.Price.Known() {
		return false // what costs more than nobody knows what
	}
	u := llm.Usage{Input: m.ContextWindow + 1, Output: 1000}
	return !c.Price.Known() || c.Price.Cost(u).Total > m.Price.Cost(u).Total
}
