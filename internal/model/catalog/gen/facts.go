package main

import (
	"regexp"
	"strings"
)

// What the package lacks or has wrong, with where each fact was read. Models
// are named by their bare official id (see bare).

// servedAPI maps wire formats of the package to the one burin speaks to the
// same host, with the base URL that goes with it.
//
// Mistral: its own format differs from its Chat Completions endpoint in nothing
// burin needs; docs.mistral.ai/api.
var servedAPI = map[string]struct {
	api, baseURL string
	compat       map[string]any
}{
	"mistral-conversations": {
		api: "openai-completions", baseURL: "https://api.mistral.ai/v1",
		// The endpoint refuses request fields it does not know.
		compat: map[string]any{
			"supportsStore": false, "supportsDeveloperRole": false, "supportsReasoningEffort": false,
			"maxTokensField": "max_tokens",
		},
	},
}

// served are the wire formats of the package that burin speaks.
var served = map[string]bool{
	"anthropic-messages": true, "openai-completions": true, "openai-responses": true, "azure-openai-responses": true,
	"openai-codex-responses": true, "google-generative-ai": true, "google-vertex": true, "bedrock-converse-stream": true,
	"mistral-conversations": true,
}

// providerNames are the providers that burin knows by another name.
var providerNames = map[string]string{"azure": "azure-openai-responses"}

// codecURL are providers whose codec knows the address better than a constant
// could, because region, project or resource decide it.
var codecURL = map[string]bool{"amazon-bedrock": true, "google-vertex": true, "azure-openai-responses": true}

// subscription are providers that bill a plan, not tokens. A price of the
// package is then what the same tokens cost elsewhere.
var subscription = map[string]bool{
	"github-copilot": true, "kimi-coding": true, "openai-codex": true, "opencode-go": true, "zai-coding-cn": true,
	"qwen-token-plan": true, "qwen-token-plan-cn": true, "qwen-token-plan-individual": true, "qwen-token-plan-individual-cn": true,
	"xiaomi-token-plan-ams": true, "xiaomi-token-plan-cn": true, "xiaomi-token-plan-sgp": true, "zai": true,
}

// strictTools are the hosts of anthropic-messages that are known to take the
// strict field of tools: Anthropic itself and a gateway that passes requests on
// unchanged. Others refuse the whole request when they meet it.
var strictTools = map[string]bool{"anthropic": true, "cloudflare-ai-gateway": true}

// stepFacts are the prices of long prompts at the vendor itself, for models of which the
// package states none.
//
// Claude: platform.claude.com/docs, pricing, long context (Sonnet 4 and 4.5 in
// the 1M beta; 4.6 and later cost the same at any length). Gemini:
// ai.google.dev/gemini-api/docs/pricing. GPT: developers.openai.com, model page.
var stepFacts = []struct {
	id   *regexp.Regexp
	step string
}{
	{regexp.MustCompile(`^claude-sonnet-4(-0|-5)?(-\d{8})?$`), ">200000:6/22.5/0.6/7.5"},
	{regexp.MustCompile(`^gemini-1\.5-pro`), ">128000:2.5/10/0.625/?"},
	{regexp.MustCompile(`^gemini-2\.5-pro`), ">200000:2.5/15/0.25/?"},
	{regexp.MustCompile(`^gemini-3(\.1)?-pro`), ">200000:4/18/0.4/?"},
	{regexp.MustCompile(`^gpt-5\.4$`), ">272000:5/22.5/0.5/?"},
	{regexp.MustCompile(`^gpt-5\.4-pro$`), ">272000:60/270/?/?"},
}

// stepProviders charge the vendor's own steps.
var stepProviders = map[string]bool{
	"anthropic": true, "openai": true, "azure-openai-responses": true, "google": true, "google-vertex": true,
}

// priceFacts correct prices that the package has rounded or mixed up:
// openai.com/api/pricing (cached input); Claude 3 Sonnet never had a cache.
var priceFacts = map[string]func(*cost){
	"openai/gpt-4.1-nano":                func(c *cost) { c.CacheRead = 0.025 },
	"openai/gpt-4o-mini":                 func(c *cost) { c.CacheRead = 0.075 },
	"openai/gpt-5.1":                     func(c *cost) { c.CacheRead = 0.125 },
	"openai/o4-mini":                     func(c *cost) { c.CacheRead = 0.275 },
	"anthropic/claude-3-sonnet-20240229": func(c *cost) { c.CacheRead, c.CacheWrite = 0, 0 },
}

// webSearch is the price of a thousand searches at the vendor itself:
// platform.claude.com/docs (web search tool), openai.com/api/pricing.
func webSearch(provider, id string, reasoning bool) string {
	switch {
	case provider == "anthropic" && webSearchClaude.MatchString(id),
		provider == "openai" && reasoning && webSearchGPT.MatchString(id):
		return "web:10"
	}
	return ""
}

var (
	webSearchClaude = regexp.MustCompile(`^claude-(3-[57]|(fable|haiku|opus|sonnet)-\d)`)
	webSearchGPT    = regexp.MustCompile(`^(gpt-[5-9]|o3|o4)`)
)

// documents says whether the model reads PDF files by value:
// platform.claude.com/docs (PDF support), ai.google.dev (document processing),
// developers.openai.com (file inputs: models that see images), Bedrock's
// Converse reference (document blocks of Claude).
func documents(provider, id string) bool {
	switch provider {
	case "anthropic":
		return !claude3.MatchString(id)
	case "amazon-bedrock":
		return claude.MatchString(id) && !claude3.MatchString(id)
	case "google", "google-vertex":
		return geminiID.MatchString(id)
	case "openai", "azure-openai-responses":
		return gptDocs.MatchString(id)
	}
	return false
}

// hears says whether the model takes recordings: ai.google.dev (audio understanding), developers.openai.com
// (audio inputs: chat completions of the models named so); OpenRouter passes them on to these.
func hears(provider, id string) bool {
	switch provider {
	case "google", "google-vertex":
		return geminiID.MatchString(id) && !strings.Contains(id, "computer-use")
	case "openrouter":
		return strings.HasPrefix(id, "google/gemini-") && !drawsImages.MatchString(id) || strings.HasPrefix(id, "openai/gpt-audio")
	}
	return false
}

var (
	claude   = regexp.MustCompile(`^claude-`)
	claude3  = regexp.MustCompile(`^claude-3-(haiku|opus|sonnet)`)
	geminiID = regexp.MustCompile(`^gemini-`)

	drawsImages = regexp.MustCompile(`image|banana`)
	gptDocs     = regexp.MustCompile(`^(gpt-4o|gpt-4\.1|gpt-[5-9]|o1$|o1-pro|o3$|o3-pro|o4-mini$)`)
)

// adaptive are the Claude models that decide themselves how long to think, beside those
// that the package says so of: platform.claude.com/docs, adaptive thinking.
var adaptive = regexp.MustCompile(`^claude-(opus-4-[67]|sonnet-4-6)`)

// levelFacts narrow the levels a model takes: developers.openai.com, model
// pages (reasoning.effort); ai.google.dev, thinking (2.5 Pro cannot be stopped).
var levelFacts = []struct {
	id     *regexp.Regexp
	levels []string // nil = as the package says
	always bool
}{
	{regexp.MustCompile(`^o[134](-|$)`), []string{"low", "medium", "high"}, true},
	{regexp.MustCompile(`^gpt-5-pro`), []string{"high"}, true},
	{regexp.MustCompile(`^gpt-5\.[2-5]-pro`), []string{"medium", "high", "xhigh"}, true},
	{regexp.MustCompile(`^gpt-5\.1-codex-max`), []string{"low", "medium", "high", "xhigh"}, true},
	{regexp.MustCompile(`^gpt-5-codex`), []string{"low", "medium", "high"}, true},
	{regexp.MustCompile(`^gemini-2\.5-pro`), nil, true},
}

// noMinimal are models without the minimal level: developers.openai.com.
var noMinimal = regexp.MustCompile(`^gpt-5\.[1-9]|^gpt-5-codex|^gpt-[6-9]`)

// thinkByBudget are the Gemini models that take a number of tokens instead of a
// level: ai.google.dev, thinking.
var thinkByBudget = regexp.MustCompile(`^gemini-(1|2|flash-latest|flash-lite-latest)`)

// released are the dates of models whose id holds none: the vendors'
// announcements and changelogs.
var released = map[string]string{
	"claude-fable-5-1":       "2026-09-01",
	"claude-opus-5":          "2026-07-24",
	"claude-sonnet-5":        "2026-06-30",
	"claude-sonnet-5-5":      "2026-09-28",
	"claude-opus-4-6":        "2026-02-05",
	"claude-opus-4-7":        "2026-04-16",
	"claude-sonnet-4-6":      "2026-02-17",
	"claude-opus-4-0":        "2025-05-14",
	"claude-sonnet-4-0":      "2025-05-14",
	"gemini-2.0-flash":       "2025-02-05",
	"gemini-2.5-flash":       "2025-06-17",
	"gemini-2.5-flash-lite":  "2025-07-22",
	"gemini-2.5-pro":         "2025-06-17",
	"gemini-3-flash-preview": "2025-12-17",
	"gemini-3-pro-preview":   "2025-11-18",
	"gemini-3.1-pro-preview": "2026-02-19",
	"gpt-4.1":                "2025-04-14",
	"gpt-4.1-mini":           "2025-04-14",
	"gpt-4.1-nano":           "2025-04-14",
	"gpt-4o":                 "2024-05-13",
	"gpt-4o-mini":            "2024-07-18",
	"gpt-5":                  "2025-08-07",
	"gpt-5-mini":             "2025-08-07",
	"gpt-5-nano":             "2025-08-07",
	"gpt-5.1":                "2025-11-13",
	"gpt-5.2":                "2025-12-11",
	"gpt-5.4":                "2026-03-05",
	"o1":                     "2024-12-17",
	"o3":                     "2025-04-16",
	"o3-mini":                "2025-01-31",
	"o4-mini":                "2025-04-16",
}
