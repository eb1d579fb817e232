package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/catalog"
)

var fixture = fstest.MapFS{
	"openai.json": {Data: []byte(`{"openai-responses": {
		"chat:gpt-5.1": {"type": "chat", "id": "gpt-5.1", "name": "GPT {5.1}: \"x\", y", "api": "openai-responses", "provider": "openai",
			"baseUrl": "https://api.openai.com/v1", "reasoning": true, "thinkingLevelMap": {"off": "none", "xhigh": null},
			"input": ["text", "image"], "cost": {"input": 1.25, "output": 10, "cacheRead": 0.13, "cacheWrite": 0,
			"tiers": [{"inputTokensAbove": 1000, "input": 2, "output": 20, "cacheRead": 0, "cacheWrite": 0}]},
			"contextWindow": 400000, "maxTokens": 128000},
		"chat:gpt-5.1-spark": {"type": "chat", "id": "gpt-5.1-spark", "name": "Spark", "api": "openai-responses", "provider": "openai",
			"baseUrl": "https://other.example/v1", "input": ["text"], "cost": {"input": -1000000, "output": -1000000},
			"contextWindow": 1000, "maxTokens": 100},
		"image:draw": {"type": "image", "id": "draw", "name": "Draw", "api": "openai-responses", "provider": "openai", "baseUrl": "https://api.openai.com/v1"}
	}, "openai-decisions": {
		"chat:d": {"type": "chat", "id": "d", "name": "D", "api": "openai-decisions", "provider": "openai", "baseUrl": "https://api.openai.com/v1"}
	}}`)},
	"anthropic.json": {Data: []byte(`{"anthropic-messages": {
		"chat:claude-opus-4-7": {"type": "chat", "id": "claude-opus-4-7", "name": "Claude Opus 4.7", "api": "anthropic-messages", "provider": "anthropic",
			"baseUrl": "https://api.anthropic.com", "reasoning": true, "thinkingLevelMap": {"xhigh": "xhigh"}, "input": ["text", "image"],
			"cost": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25}, "contextWindow": 1000000, "maxTokens": 128000}
	}}`)},
	"z.json": {Data: []byte(`{"mistral-conversations": {
		"chat:m:free": {"type": "chat", "id": "m:free", "name": "M", "api": "mistral-conversations", "provider": "z", "baseUrl": "https://api.mistral.ai",
			"compat": {"thinkingFormat": "deepseek", "zaiToolStream": true, "sendSessionAffinityHeaders": true},
			"reasoning": true, "thinkingLevelMap": {"minimal": null, "low": null, "medium": null, "high": null, "xhigh": null, "max": "max"},
			"input": ["text"], "cost": {"input": 0, "output": 0}, "contextWindow": 10, "maxTokens": 5}
	}}`)},
	".manifest.json": {Data: []byte(`{}`)},
}

func TestCatalogue(t *testing.T) {
	models, err := readSource(fixture)
	if err != nil {
		t.Fatal(err)
	}
	text, err := catalogue(models, "somewhere 1.0", "2999-07-12")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line[0] != '#' && !strings.HasPrefix(line, "anthropic") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	want := []string{
		"@anthropic\tanthropic-messages\thttps://api.anthropic.com\t\t",
		"@openai\topenai-responses\thttps://api.openai.com/v1\t\t",
		"openai\tgpt-5.1\tGPT {5.1}: \"x\", y\t400000\t128000\ttext,image,document\teffort:low,medium,high,off=none\t1.25/10/0.125/? >1000:2/20/?/? web:10\t2025-11-13\topenai-responses\t",
		"openai\tgpt-5.1-spark\tSpark\t1000\t100\ttext\t\t\t\topenai-responses\tpromote=openai/gpt-5.1 base=https://other.example/v1",
		"@z\topenai-completions\thttps://api.mistral.ai/v1\t{\"extraBody\":{\"tool_stream\":true},\"maxTokensField\":\"max_tokens\",\"supportsDeveloperRole\":false,\"supportsReasoningEffort\":false,\"supportsStore\":false,\"thinkingFormat\":\"zai\"}\t",
		"z\tm:free\tM\t10\t5\ttext\teffort:xhigh=max\t0/0/0/0\t\topenai-completions\t",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	// What the generator writes, the catalogue takes whole.
	file := filepath.Join(t.TempDir(), "models.tsv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := catalog.Refresh(t.Context(), nil, t.TempDir(), file); err != nil {
		t.Error(err)
	}
}

func TestReadSourceErrors(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "no models": "{}", "cut": `{"a": {"chat:b": {"id": "b`,
		"misnamed":        `{"a": {"chat:b": {"id": "c", "provider": "x", "api": "a"}}}`,
		"another's":       `{"a": {"chat:b": {"id": "b", "provider": "y", "api": "a"}}}`,
		"a tab in a name": `{"a": {"chat:b": {"id": "b", "name": "\t", "provider": "x", "api": "a"}}}`,
	} {
		if _, err := readSource(fstest.MapFS{"x.json": {Data: []byte(data)}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
