package credential

import (
	"maps"
	"slices"
)

// Variable is an environment variable that may hold a provider's credential.
type Variable struct {
	Name   string
	Bearer bool   // an access token, sent as bearer, not an API key
	When   string // looked at only if this flag variable is on; empty = always
}

func keys(names ...string) []Variable {
	vs := make([]Variable, len(names))
	for i, n := range names {
		vs[i] = Variable{Name: n}
	}
	return vs
}

// variables are the variables of each provider in the order they are tried.
//
// Decisions: google also takes GOOGLE_API_KEY, as the vendor's own libraries do,
// but after GEMINI_API_KEY. Generic GitHub tokens are not taken for
// github-copilot: they belong to other tools. Ids that two catalogues spell
// differently (moonshot and moonshotai, kimi-code and kimi-coding, opencode and
// opencode-zen) are listed under both.
var variables = map[string][]Variable{
	"aimlapi":             keys("AIMLAPI_API_KEY"),
	"alibaba-coding-plan": keys("ALIBABA_CODING_PLAN_API_KEY"),
	"amazon-bedrock":      {{Name: "AWS_BEARER_TOKEN_BEDROCK", Bearer: true}}, // without it the codec uses the AWS chain
	"ant-ling":            keys("ANT_LING_API_KEY"),
	"anthropic": {
		{Name: "ANTHROPIC_FOUNDRY_API_KEY", Bearer: true, When: "CLAUDE_CODE_USE_FOUNDRY"},
		{Name: "ANTHROPIC_OAUTH_TOKEN", Bearer: true},
		{Name: "ANTHROPIC_API_KEY"},
	},
	"azure-openai-responses":        keys("AZURE_OPENAI_API_KEY"),
	"baseten":                       keys("BASETEN_API_KEY"),
	"cerebras":                      keys("CEREBRAS_API_KEY"),
	"cloudflare-ai-gateway":         keys("CLOUDFLARE_AI_GATEWAY_API_KEY", "CLOUDFLARE_API_KEY"),
	"cloudflare-workers-ai":         keys("CLOUDFLARE_API_KEY"),
	"cursor":                        {{Name: "CURSOR_ACCESS_TOKEN", Bearer: true}, {Name: "CURSOR_API_KEY"}},
	"deepseek":                      keys("DEEPSEEK_API_KEY"),
	"firepass":                      keys("FIREPASS_API_KEY"),
	"fireworks":                     keys("FIREWORKS_API_KEY"),
	"github-copilot":                {{Name: "COPILOT_GITHUB_TOKEN", Bearer: true}},
	"gitlab-duo":                    {{Name: "GITLAB_TOKEN", Bearer: true}},
	"google":                        keys("GEMINI_API_KEY", "GOOGLE_API_KEY"),
	"google-vertex":                 keys("GOOGLE_CLOUD_API_KEY"), // without it the codec uses Google's default credentials
	"groq":                          keys("GROQ_API_KEY"),
	"huggingface":                   keys("HUGGINGFACE_HUB_TOKEN", "HF_TOKEN"),
	"kilo":                          keys("KILO_API_KEY"),
	"kimi-code":                     keys("KIMI_API_KEY"),
	"kimi-coding":                   keys("KIMI_API_KEY"),
	"litellm":                       keys("LITELLM_API_KEY"),
	"llama.cpp":                     keys("LLAMA_CPP_API_KEY"),
	"lm-studio":                     keys("LM_STUDIO_API_KEY"),
	"meta":                          keys("META_API_KEY"),
	"minimax":                       keys("MINIMAX_API_KEY"),
	"minimax-cn":                    keys("MINIMAX_CN_API_KEY"),
	"minimax-code":                  keys("MINIMAX_CODE_API_KEY"),
	"minimax-code-cn":               keys("MINIMAX_CODE_CN_API_KEY"),
	"mistral":                       keys("MISTRAL_API_KEY"),
	"moonshot":                      keys("MOONSHOT_API_KEY"),
	"moonshotai":                    keys("MOONSHOT_API_KEY"),
	"moonshotai-cn":                 keys("MOONSHOT_API_KEY"),
	"nanogpt":                       keys("NANO_GPT_API_KEY"),
	"nvidia":                        keys("NVIDIA_API_KEY"),
	"ollama":                        keys("OLLAMA_API_KEY"),
	"ollama-cloud":                  keys("OLLAMA_CLOUD_API_KEY"),
	"openai":                        keys("OPENAI_API_KEY"),
	"openai-codex":                  {{Name: "OPENAI_CODEX_OAUTH_TOKEN", Bearer: true}},
	"opencode":                      keys("OPENCODE_API_KEY"),
	"opencode-go":                   keys("OPENCODE_API_KEY"),
	"opencode-zen":                  keys("OPENCODE_API_KEY"),
	"openrouter":                    keys("OPENROUTER_API_KEY"),
	"qianfan":                       keys("QIANFAN_API_KEY"),
	"qwen-portal":                   {{Name: "QWEN_OAUTH_TOKEN", Bearer: true}, {Name: "QWEN_PORTAL_API_KEY"}},
	"qwen-token-plan":               keys("QWEN_TOKEN_PLAN_API_KEY"),
	"qwen-token-plan-cn":            keys("QWEN_TOKEN_PLAN_CN_API_KEY"),
	"qwen-token-plan-individual":    keys("QWEN_TOKEN_PLAN_API_KEY"),
	"qwen-token-plan-individual-cn": keys("QWEN_TOKEN_PLAN_CN_API_KEY"),
	"synthetic":                     keys("SYNTHETIC_API_KEY"),
	"together":                      keys("TOGETHER_API_KEY"),
	"venice":                        keys("VENICE_API_KEY"),
	"vercel-ai-gateway":             keys("AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"),
	"vllm":                          keys("VLLM_API_KEY"),
	"wafer-pass":                    keys("WAFER_PASS_API_KEY"),
	"wafer-serverless":              keys("WAFER_SERVERLESS_API_KEY"),
	"xai":                           keys("XAI_API_KEY"),
	"xai-oauth":                     {{Name: "XAI_OAUTH_TOKEN", Bearer: true}, {Name: "XAI_API_KEY"}},
	"xiaomi":                        keys("XIAOMI_API_KEY"),
	"xiaomi-token-plan-ams":         keys("XIAOMI_TOKEN_PLAN_AMS_API_KEY"),
	"xiaomi-token-plan-cn":          keys("XIAOMI_TOKEN_PLAN_CN_API_KEY"),
	"xiaomi-token-plan-sgp":         keys("XIAOMI_TOKEN_PLAN_SGP_API_KEY"),
	"zai":                           keys("ZAI_API_KEY"),
	"zai-coding-cn":                 keys("ZAI_CODING_CN_API_KEY"),
	"zenmux":                        keys("ZENMUX_API_KEY"),
	"zhipu-coding-plan":             keys("ZHIPU_API_KEY"),
}

// Variables are the variables of a provider in the order they are tried; none
// for a provider that is not known.
func Variables(provider string) []Variable { return slices.Clone(variables[provider]) }

// Providers are the providers that have variables, sorted.
func Providers() []string { return slices.Sorted(maps.Keys(variables)) }

// providersOf are the providers a variable is meant for: those that try it
// earliest. A variable that is only another provider's second choice is not
// meant for it.
func providersOf(name string) []string {
	best := -1
	var found []string
	for provider, vs := range variables {
		i := slices.IndexFunc(vs, func(v Variable) bool { return v.Name == name && !v.Bearer })
		if i < 0 {
			continue
		}
		i = len(choosable(vs[:i]))
		if best < 0 || i < best {
			best, found = i, nil
		}
		if i == best {
			found = append(found, provider)
		}
	}
	slices.Sort(found)
	return found
}

// choosable leaves out variables that count only under a condition.
func choosable(vs []Variable) []Variable {
	return slices.DeleteFunc(slices.Clone(vs), func(v Variable) bool { return v.When != "" })
}
