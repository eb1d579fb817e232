package openai

import (
	"net"
	"net/url"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// chatHost is a service whose dialect is known.
type chatHost string

const (
	chatHostOther      chatHost = "" // an imitation of unknown kind
	chatHostOpenAI     chatHost = "openai"
	chatHostAzure      chatHost = "azure"
	chatHostOpenRouter chatHost = "openrouter"
	chatHostVercel     chatHost = "vercel"
	chatHostGroq       chatHost = "groq"
	chatHostCerebras   chatHost = "cerebras"
	chatHostDeepSeek   chatHost = "deepseek"
	chatHostXAI        chatHost = "xai"
	chatHostZAI        chatHost = "zai"
	chatHostMistral    chatHost = "mistral"
	chatHostMoonshot   chatHost = "moonshot"
	chatHostQwen       chatHost = "qwen"
	chatHostMiniMax    chatHost = "minimax"
	chatHostTogether   chatHost = "together"
	chatHostFireworks  chatHost = "fireworks"
	chatHostLocal      chatHost = "local" // llama.cpp, vLLM, LM Studio, Ollama and the like
)

// chatDomains are the domains of the known services; subdomains count too.
var chatDomains = []struct {
	domain string
	host   chatHost
}{
	{"api.openai.com", chatHostOpenAI},
	{"openai.azure.com", chatHostAzure},
	{"services.ai.azure.com", chatHostAzure},
	{"cognitiveservices.azure.com", chatHostAzure},
	{"openrouter.ai", chatHostOpenRouter},
	{"ai-gateway.vercel.sh", chatHostVercel},
	{"api.groq.com", chatHostGroq},
	{"cerebras.ai", chatHostCerebras},
	{"deepseek.com", chatHostDeepSeek},
	{"x.ai", chatHostXAI},
	{"z.ai", chatHostZAI},
	{"bigmodel.cn", chatHostZAI},
	{"mistral.ai", chatHostMistral},
	{"moonshot.ai", chatHostMoonshot},
	{"moonshot.cn", chatHostMoonshot},
	{"kimi.com", chatHostMoonshot},
	{"aliyuncs.com", chatHostQwen},
	{"minimax.io", chatHostMiniMax},
	{"minimaxi.com", chatHostMiniMax},
	{"together.xyz", chatHostTogether},
	{"together.ai", chatHostTogether},
	{"fireworks.ai", chatHostFireworks},
}

// chatProviders are the ids of providers whose URL says nothing, such as a
// proxy in front of them.
var chatProviders = map[string]chatHost{
	"openrouter": chatHostOpenRouter, "vercel-ai-gateway": chatHostVercel, "groq": chatHostGroq,
	"cerebras": chatHostCerebras, "deepseek": chatHostDeepSeek, "xai": chatHostXAI, "zai": chatHostZAI,
	"mistral": chatHostMistral, "moonshot": chatHostMoonshot, "kimi": chatHostMoonshot, "kimi-coding": chatHostMoonshot,
	"qwen": chatHostQwen, "dashscope": chatHostQwen, "minimax": chatHostMiniMax, "together": chatHostTogether,
	"fireworks": chatHostFireworks, "ollama": chatHostLocal, "llama.cpp": chatHostLocal,
	"lm-studio": chatHostLocal, "lmstudio": chatHostLocal, "vllm": chatHostLocal,
}

// chatHostOf names the service at baseURL; "" is OpenAI's own. Gateways are
// known by their URL alone, because what they take is not what the provider
// behind them takes.
func chatHostOf(baseURL, provider string) chatHost {
	if baseURL == "" {
		return chatHostOpenAI
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return chatHostOther
	}
	name := strings.ToLower(u.Hostname())
	for _, d := range chatDomains {
		if name == d.domain || strings.HasSuffix(name, "."+d.domain) {
			return d.host
		}
	}
	if h, ok := chatProviders[strings.ToLower(provider)]; ok {
		return h
	}
	if ip := net.ParseIP(name); name == "localhost" || (ip != nil && ip.IsLoopback()) {
		return chatHostLocal
	}
	return chatHostOther
}

// chatFamily tells by its id whose model it is, wherever it is served.
func chatFamily(m *llm.Model) (claude, kimi, deepSeek bool) {
	id := strings.ToLower(m.Upstream())
	return strings.Contains(id, "claude"), strings.Contains(id, "kimi"), strings.Contains(id, "deepseek")
}

// Detect decides every key of a Compat that has a default, from the endpoint's
// URL, the provider's id and the model (which may be nil). An endpoint it does
// not know is taken for one that has only the oldest and most widely copied
// parts of the format.
func Detect(baseURL, provider string, m *llm.Model) Compat {
	if m == nil {
		m = &llm.Model{}
	}
	host := chatHostOf(baseURL, provider)
	is := func(hosts ...chatHost) *bool {
		found := false
		for _, h := range hosts {
			found = found || h == host
		}
		return &found
	}
	not := func(hosts ...chatHost) *bool {
		b := !*is(hosts...)
		return &b
	}
	both := func(a *bool, b bool) *bool {
		v := *a || b
		return &v
	}
	reasons := m.Thinking.Mode != llm.ThinkingNone
	claude, kimi, deepSeek := chatFamily(m)
	kimi = kimi || host == chatHostMoonshot
	deepSeek = deepSeek || host == chatHostDeepSeek

	c := Compat{
		SupportsStore:            is(chatHostOpenAI),
		SupportsDeveloperRole:    is(chatHostOpenAI, chatHostAzure),
		SupportsUsageInStreaming: not(),
		MaxTokensField:           MaxTokens,
		SupportsToolChoice:       not(),
		// Claude refuses a forced call while it thinks, Kimi and DeepSeek too.
		DisableReasoningOnForcedToolChoice: both(is(chatHostDeepSeek), kimi || claude),
		SupportsReasoningEffort:            not(chatHostXAI, chatHostZAI, chatHostMiniMax, chatHostMoonshot, chatHostQwen, chatHostMistral),
		ThinkingFormat:                     ThinkingOpenAI,

		RequiresReasoningContentForToolCalls: both(is(), reasons && (deepSeek || kimi || host == chatHostOpenRouter)),
		RequiresAssistantContentForToolCalls: both(is(), kimi),
		RequiresToolResultName:               is(chatHostMistral),
		// Mistral needed one until December 2024.
		RequiresAssistantAfterToolResult: is(),
		RequiresThinkingAsText:           is(chatHostMistral),
		RequiresMistralToolIds:           is(chatHostMistral),
		SupportsStrictMode:               is(chatHostOpenAI, chatHostAzure),
	}
	switch host {
	case chatHostOpenAI, chatHostAzure, chatHostGroq, chatHostCerebras, chatHostXAI:
		c.MaxTokensField = MaxCompletionTokens
	}
	switch host {
	case chatHostOpenRouter, chatHostVercel:
		c.ThinkingFormat = ThinkingOpenRouter
	case chatHostZAI, chatHostMoonshot, chatHostDeepSeek:
		c.ThinkingFormat = ThinkingZAI
	case chatHostQwen:
		c.ThinkingFormat = ThinkingQwen
	case chatHostLocal:
		if strings.Contains(strings.ToLower(m.Upstream()), "qwen3") {
			c.ThinkingFormat = ThinkingQwenTemplate
		}
	}
	if host == chatHostDeepSeek {
		// DeepSeek knows two efforts and maps the others to them itself, except these.
		c.ReasoningEffortMap = map[llm.Level]string{llm.LevelMinimal: "high", llm.LevelXHigh: "max"}
	}
	if m.Thinking.Always && (host == chatHostDeepSeek || host == chatHostMoonshot) {
		// Thinking cannot be turned off for a forced call: the choice has to go.
		*c.SupportsToolChoice = false
	}
	return c
}
