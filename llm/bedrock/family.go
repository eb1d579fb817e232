package bedrock

import (
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// family groups models that are told to reason in the same way.
type family uint8

const (
	other       family = iota
	claude             // thinking, or adaptive thinking and output_config.effort
	nova               // does not reason
	nova2              // reasoningConfig
	openai             // reasoning.effort
	effortWord         // reasoning_effort
	effortLevel        // reasoning_config
	fixed              // reasons always, nothing can be said about it
)

// traits are what must be known of a model beyond the catalogue.
type traits struct {
	family  family
	version int // of Claude: 305 is 3.5, 400 is 4, 406 is 4.6; 0 = unknown

	cache      bool // takes cache points in system and messages
	cacheTools bool // and among the tools
	cacheLong  bool // and with a life of an hour

	toolImages   bool // reads images inside tool results
	namedTool    bool // can be made to call a certain tool
	strict       bool // enforces schemas
	ownReasoning llm.ThinkingPolicy
}

// traitsOf reads the family of m from its ids and name.
func traitsOf(m *llm.Model) traits {
	name := strings.ToLower(m.Upstream() + " " + m.ID + " " + m.Name)
	name = strings.NewReplacer(" ", "-", ".", "-", "_", "-", "/", "-").Replace(name)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("claude"):
		v := claudeVersion(name)
		// 3.5 Sonnet began to cache with its second version; 3.5 Haiku always did.
		caches := v == 0 || v >= 307 || v == 305 && has("3-5-haiku", "haiku-3-5", "20241022-v2", "3-5-sonnet-v2")
		return traits{
			family: claude, version: v, cache: caches, cacheTools: caches, cacheLong: v >= 405,
			toolImages: true, namedTool: true, strict: v >= 405,
		}
	case has("nova"):
		t := traits{family: nova, cache: true, toolImages: true, namedTool: true, ownReasoning: llm.DropThinking}
		if has("nova-2") {
			t.family = nova2
		}
		return t
	case has("gpt-oss"):
		return traits{family: effortWord, strict: true}
	case has("openai", "gpt-"):
		return traits{family: openai, strict: true}
	case has("deepseek"):
		// DeepSeek refuses a history that holds its own reasoning.
		if has("r1") {
			return traits{family: fixed, ownReasoning: llm.DropThinking}
		}
		return traits{family: effortWord, strict: true, ownReasoning: llm.DropThinking}
	case has("kimi", "moonshot", "qwen"):
		return traits{family: effortWord, strict: true}
	case has("glm", "zai-", "minimax", "nemotron", "nvidia"):
		// What the console's own example code sends for these.
		return traits{family: effortLevel, strict: true}
	}
	return traits{family: other, ownReasoning: llm.DropThinking}
}

// claudeVersion reads the version of ids such as claude-3-5-sonnet-20241022-v2:0,
// claude-sonnet-4-20250514-v1:0 and claude-opus-4-6-v1: the first numbers of one
// or two digits after "claude". 0 if there are none, as for previews.
func claudeVersion(name string) int {
	_, rest, _ := strings.Cut(name, "claude")
	major := 0
	for _, part := range strings.Split(rest, "-") {
		n, err := strconv.Atoi(part)
		small := err == nil && len(part) <= 2
		switch {
		case small && major == 0:
			major = n * 100
		case small:
			return major + n
		case major != 0:
			return major
		case part == "instant", part == "v2", strings.HasPrefix(part, "v2:"):
			return 200 // claude-v2:1, claude-instant-v1
		}
	}
	return major
}
