package openai

import (
	"maps"

	"github.com/burin-dev/burin/llm"
)

// Compat says in what an endpoint departs from OpenAI's Chat Completions. The
// keys are those of the compat block of models.yml. What is unset is decided by
// [Detect].
type Compat struct {
	// SupportsStore sends store: false, so that nothing is kept at the provider.
	SupportsStore *bool `yaml:"supportsStore,omitempty" json:"supportsStore,omitempty"`
	// SupportsDeveloperRole gives reasoning models their instructions in the role
	// developer instead of system.
	SupportsDeveloperRole *bool `yaml:"supportsDeveloperRole,omitempty" json:"supportsDeveloperRole,omitempty"`
	// SupportsUsageInStreaming asks for usage with stream_options.include_usage.
	SupportsUsageInStreaming *bool `yaml:"supportsUsageInStreaming,omitempty" json:"supportsUsageInStreaming,omitempty"`
	// MaxTokensField is max_completion_tokens or max_tokens.
	MaxTokensField string `yaml:"maxTokensField,omitempty" json:"maxTokensField,omitempty"`
	// SupportsToolChoice sends tool_choice. Without it a choice that is not
	// "auto" is left out, and a choice of no tools leaves out the tools.
	SupportsToolChoice *bool `yaml:"supportsToolChoice,omitempty" json:"supportsToolChoice,omitempty"`
	// DisableReasoningOnForcedToolChoice turns reasoning off in requests that
	// force a call.
	DisableReasoningOnForcedToolChoice *bool `yaml:"disableReasoningOnForcedToolChoice,omitempty" json:"disableReasoningOnForcedToolChoice,omitempty"`
	// ExtraBody holds more fields of the body. Keys that carry the conversation
	// are ignored.
	ExtraBody map[string]any `yaml:"extraBody,omitempty" json:"extraBody,omitempty"`

	// SupportsReasoningEffort sends reasoning_effort.
	SupportsReasoningEffort *bool `yaml:"supportsReasoningEffort,omitempty" json:"supportsReasoningEffort,omitempty"`
	// ReasoningEffortMap has the endpoint's words for levels; others go by
	// the model's own words.
	ReasoningEffortMap map[llm.Level]string `yaml:"reasoningEffortMap,omitempty" json:"reasoningEffortMap,omitempty"`
	// ThinkingFormat is one of the Thinking… constants.
	ThinkingFormat string `yaml:"thinkingFormat,omitempty" json:"thinkingFormat,omitempty"`
	// ReasoningContentField is the field of a message that holds reasoning:
	// reasoning_content, reasoning or reasoning_text. Answers are understood
	// whichever they use; this one is preferred, and used in requests.
	ReasoningContentField string `yaml:"reasoningContentField,omitempty" json:"reasoningContentField,omitempty"`
	// RequiresReasoningContentForToolCalls returns the model's own reasoning with
	// its messages; a message with calls that has none gets a short stand-in,
	// because empty text counts as missing.
	RequiresReasoningContentForToolCalls *bool `yaml:"requiresReasoningContentForToolCalls,omitempty" json:"requiresReasoningContentForToolCalls,omitempty"`
	// RequiresAssistantContentForToolCalls gives messages with calls a text.
	RequiresAssistantContentForToolCalls *bool `yaml:"requiresAssistantContentForToolCalls,omitempty" json:"requiresAssistantContentForToolCalls,omitempty"`

	// RequiresToolResultName adds the tool's name to its results.
	RequiresToolResultName *bool `yaml:"requiresToolResultName,omitempty" json:"requiresToolResultName,omitempty"`
	// RequiresAssistantAfterToolResult puts an assistant message between a tool
	// result and a user message.
	RequiresAssistantAfterToolResult *bool `yaml:"requiresAssistantAfterToolResult,omitempty" json:"requiresAssistantAfterToolResult,omitempty"`
	// RequiresThinkingAsText returns reasoning as text within <thinking> tags.
	RequiresThinkingAsText *bool `yaml:"requiresThinkingAsText,omitempty" json:"requiresThinkingAsText,omitempty"`
	// RequiresMistralToolIds makes call ids exactly nine letters and digits.
	RequiresMistralToolIds *bool `yaml:"requiresMistralToolIds,omitempty" json:"requiresMistralToolIds,omitempty"`
	// SupportsStrictMode sends strict with each tool.
	SupportsStrictMode *bool `yaml:"supportsStrictMode,omitempty" json:"supportsStrictMode,omitempty"`
	// ToolStrictMode is all_strict, none, or empty: strict for the tools that ask
	// for it. All or none: if one tool cannot be strict, none is.
	ToolStrictMode string `yaml:"toolStrictMode,omitempty" json:"toolStrictMode,omitempty"`

	// OpenRouterRouting is used on openrouter.ai only.
	OpenRouterRouting *Routing `yaml:"openRouterRouting,omitempty" json:"openRouterRouting,omitempty"`
	// VercelGatewayRouting is used on ai-gateway.vercel.sh only.
	VercelGatewayRouting *Routing `yaml:"vercelGatewayRouting,omitempty" json:"vercelGatewayRouting,omitempty"`
}

// Routing chooses among the providers behind a gateway, by their slugs.
type Routing struct {
	Only  []string `yaml:"only,omitempty" json:"only,omitempty"`   // no others
	Order []string `yaml:"order,omitempty" json:"order,omitempty"` // these first
}

// Values of Compat.ThinkingFormat.
const (
	ThinkingOpenAI       = "openai"             // reasoning_effort
	ThinkingOpenRouter   = "openrouter"         // reasoning: {effort | max_tokens, exclude}
	ThinkingZAI          = "zai"                // thinking: {type}; with reasoning_effort beside it where supported (DeepSeek)
	ThinkingQwen         = "qwen"               // enable_thinking, thinking_budget
	ThinkingQwenTemplate = "qwen-chat-template" // chat_template_kwargs: {enable_thinking}
)

// Values of Compat.MaxTokensField and Compat.ToolStrictMode.
const (
	MaxCompletionTokens = "max_completion_tokens"
	MaxTokens           = "max_tokens"
	StrictAll           = "all_strict"
	StrictNone          = "none"
)

// Fields that hold reasoning.
const (
	chatReasoningContent = "reasoning_content"
	chatReasoningPlain   = "reasoning"
	chatReasoningText    = "reasoning_text"
)

// Merge is c with what over sets. ExtraBody and ReasoningEffortMap are merged
// key by key, the routings list by list. Neither c nor over changes.
func (c Compat) Merge(over Compat) Compat {
	for _, f := range []struct{ to, from **bool }{
		{&c.SupportsStore, &over.SupportsStore},
		{&c.SupportsDeveloperRole, &over.SupportsDeveloperRole},
		{&c.SupportsUsageInStreaming, &over.SupportsUsageInStreaming},
		{&c.SupportsToolChoice, &over.SupportsToolChoice},
		{&c.DisableReasoningOnForcedToolChoice, &over.DisableReasoningOnForcedToolChoice},
		{&c.SupportsReasoningEffort, &over.SupportsReasoningEffort},
		{&c.RequiresReasoningContentForToolCalls, &over.RequiresReasoningContentForToolCalls},
		{&c.RequiresAssistantContentForToolCalls, &over.RequiresAssistantContentForToolCalls},
		{&c.RequiresToolResultName, &over.RequiresToolResultName},
		{&c.RequiresAssistantAfterToolResult, &over.RequiresAssistantAfterToolResult},
		{&c.RequiresThinkingAsText, &over.RequiresThinkingAsText},
		{&c.RequiresMistralToolIds, &over.RequiresMistralToolIds},
		{&c.SupportsStrictMode, &over.SupportsStrictMode},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
	for _, f := range []struct{ to, from *string }{
		{&c.MaxTokensField, &over.MaxTokensField},
		{&c.ThinkingFormat, &over.ThinkingFormat},
		{&c.ReasoningContentField, &over.ReasoningContentField},
		{&c.ToolStrictMode, &over.ToolStrictMode},
	} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	c.ExtraBody = chatMergeMap(c.ExtraBody, over.ExtraBody)
	c.ReasoningEffortMap = chatMergeMap(c.ReasoningEffortMap, over.ReasoningEffortMap)
	c.OpenRouterRouting = c.OpenRouterRouting.merge(over.OpenRouterRouting)
	c.VercelGatewayRouting = c.VercelGatewayRouting.merge(over.VercelGatewayRouting)
	return c
}

func chatMergeMap[K comparable, V any](base, over map[K]V) map[K]V {
	if len(base) == 0 || len(over) == 0 {
		if len(over) > 0 {
			return over
		}
		return base
	}
	out := maps.Clone(base)
	maps.Copy(out, over)
	return out
}

func (r *Routing) merge(over *Routing) *Routing {
	if r == nil || over == nil {
		if over != nil {
			return over
		}
		return r
	}
	out := *r
	if len(over.Only) > 0 {
		out.Only = over.Only
	}
	if len(over.Order) > 0 {
		out.Order = over.Order
	}
	return &out
}

// chatOn reads a tri-state that has been decided.
func chatOn(b *bool) bool { return b != nil && *b }
