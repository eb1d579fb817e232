package openai_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

const compatYAML = `
supportsStore: false
supportsDeveloperRole: true
supportsUsageInStreaming: false
maxTokensField: max_tokens
supportsToolChoice: false
disableReasoningOnForcedToolChoice: true
extraBody: {route: fast, top_k: 3}
supportsReasoningEffort: true
reasoningEffortMap: {xhigh: max}
thinkingFormat: zai
reasoningContentField: reasoning_text
requiresReasoningContentForToolCalls: true
requiresAssistantContentForToolCalls: true
requiresToolResultName: true
requiresAssistantAfterToolResult: true
requiresThinkingAsText: true
requiresMistralToolIds: true
supportsStrictMode: true
toolStrictMode: all_strict
openRouterRouting: {only: [a], order: [b, c]}
vercelGatewayRouting: {only: [d], order: [e]}
`

// TestCompatKeys reads every key strictly in both languages, and checks that
// none is left unset, so that a field without a key in the text above fails.
func TestCompatKeys(t *testing.T) {
	var fromYAML, fromJSON openai.Compat
	if err := yaml.UnmarshalWithOptions([]byte(compatYAML), &fromYAML, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.YAMLToJSON([]byte(compatYAML))
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&fromJSON); err != nil {
		t.Fatal(err)
	}
	fromYAML.ExtraBody, fromJSON.ExtraBody = nil, nil // numbers differ in type
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Errorf("-yaml +json\n%s", diff)
	}
	v := reflect.ValueOf(fromYAML)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "ExtraBody" {
			t.Errorf("%s is not set", name)
		}
	}
	merged := openai.Compat{}.Merge(fromYAML)
	if diff := cmp.Diff(fromYAML, merged); diff != "" {
		t.Errorf("Merge loses keys: -want +got\n%s", diff)
	}
}

func TestCompatMerge(t *testing.T) {
	yes, no := true, false
	base := openai.Compat{
		SupportsStore: &yes, SupportsToolChoice: &yes, ThinkingFormat: openai.ThinkingZAI,
		ExtraBody:          map[string]any{"a": 1, "b": 1},
		ReasoningEffortMap: map[llm.Level]string{llm.LevelLow: "l", llm.LevelHigh: "h"},
		OpenRouterRouting:  &openai.Routing{Only: []string{"x"}, Order: []string{"y"}},
	}
	over := openai.Compat{
		SupportsStore: &no, MaxTokensField: openai.MaxTokens,
		ExtraBody:            map[string]any{"b": 2, "c": 2},
		ReasoningEffortMap:   map[llm.Level]string{llm.LevelHigh: "H"},
		OpenRouterRouting:    &openai.Routing{Order: []string{"z"}},
		VercelGatewayRouting: &openai.Routing{Only: []string{"v"}},
	}
	want := openai.Compat{
		SupportsStore: &no, SupportsToolChoice: &yes, ThinkingFormat: openai.ThinkingZAI, MaxTokensField: openai.MaxTokens,
		ExtraBody:            map[string]any{"a": 1, "b": 2, "c": 2},
		ReasoningEffortMap:   map[llm.Level]string{llm.LevelLow: "l", llm.LevelHigh: "H"},
		OpenRouterRouting:    &openai.Routing{Only: []string{"x"}, Order: []string{"z"}},
		VercelGatewayRouting: &openai.Routing{Only: []string{"v"}},
	}
	if diff := cmp.Diff(want, base.Merge(over)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if base.ExtraBody["b"] != 1 || base.OpenRouterRouting.Order[0] != "y" || !*base.SupportsStore {
		t.Error("Merge changed what it merged")
	}
}

func TestDetect(t *testing.T) {
	kinds := func(c openai.Compat) string {
		var on []string
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if b, ok := v.Field(i).Interface().(*bool); ok && *b {
				on = append(on, v.Type().Field(i).Name)
			}
		}
		return strings.Join(append(on, c.MaxTokensField, c.ThinkingFormat), " ")
	}
	const (
		usual  = "SupportsUsageInStreaming SupportsToolChoice SupportsReasoningEffort"
		noWord = "SupportsUsageInStreaming SupportsToolChoice"
	)
	tests := []struct {
		url, provider string
		model         *llm.Model
		want          string
	}{
		{"", "", nil, "SupportsStore SupportsDeveloperRole " + usual + " SupportsStrictMode max_completion_tokens openai"},
		{"https://eu.api.openai.com/v1", "openai", nil, "SupportsStore SupportsDeveloperRole " + usual + " SupportsStrictMode max_completion_tokens openai"},
		{urlAzure, "azure", nil, "SupportsDeveloperRole " + usual + " SupportsStrictMode max_completion_tokens openai"},
		{urlOther, "", nil, usual + " max_tokens openai"},
		{"https://api.openai.com.evil.example/v1", "openai", nil, usual + " max_tokens openai"},
		{"https://xx.ai/v1", "", nil, usual + " max_tokens openai"},
		{"::bad::", "", nil, usual + " max_tokens openai"},
		{urlOpenRouter, "", nil, usual + " max_tokens openrouter"},
		{urlOpenRouter, "", effort("x/y"), usual + " RequiresReasoningContentForToolCalls max_tokens openrouter"},
		{urlVercel, "", nil, usual + " max_tokens openrouter"},
		{urlGroq, "", nil, usual + " max_completion_tokens openai"},
		{"https://api.cerebras.ai/v1", "", nil, usual + " max_completion_tokens openai"},
		{urlXAI, "", nil, noWord + " max_completion_tokens openai"},
		{urlZAI, "", nil, noWord + " max_tokens zai"},
		{urlOther, "zai", nil, noWord + " max_tokens zai"},
		{urlMiniMax, "", nil, noWord + " max_tokens openai"},
		{urlQwen, "", nil, noWord + " max_tokens qwen"},
		{urlMistral, "", nil, noWord + " RequiresToolResultName RequiresThinkingAsText RequiresMistralToolIds max_tokens openai"},
		{urlDeepSeek, "", effort("deepseek-v4"), "SupportsUsageInStreaming SupportsToolChoice DisableReasoningOnForcedToolChoice SupportsReasoningEffort RequiresReasoningContentForToolCalls max_tokens zai"},
		{urlDeepSeek, "", always("deepseek-reasoner"), "SupportsUsageInStreaming DisableReasoningOnForcedToolChoice SupportsReasoningEffort RequiresReasoningContentForToolCalls max_tokens zai"},
		{urlMoonshot, "", effort("x"), noWord + " DisableReasoningOnForcedToolChoice RequiresReasoningContentForToolCalls RequiresAssistantContentForToolCalls max_tokens zai"},
		{urlOther, "", effort("moonshotai/Kimi-K2"), "SupportsUsageInStreaming SupportsToolChoice DisableReasoningOnForcedToolChoice SupportsReasoningEffort RequiresReasoningContentForToolCalls RequiresAssistantContentForToolCalls max_tokens openai"},
		{urlOther, "", effort("claude-x"), "SupportsUsageInStreaming SupportsToolChoice DisableReasoningOnForcedToolChoice SupportsReasoningEffort max_tokens openai"},
		{"http://localhost:11434/v1", "", effort("qwen3:8b"), usual + " max_tokens qwen-chat-template"},
		{"http://[::1]:1234/v1", "", effort("gpt-oss"), usual + " max_tokens openai"},
		{"https://gpu.example.com/v1", "vllm", effort("qwen3"), usual + " max_tokens qwen-chat-template"},
	}
	for _, tt := range tests {
		if got := kinds(openai.Detect(tt.url, tt.provider, tt.model)); !sameWords(got, tt.want) {
			t.Errorf("%s %s %v\n got %s\nwant %s", tt.url, tt.provider, tt.model, got, tt.want)
		}
	}
}

func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
