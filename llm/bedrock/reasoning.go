package bedrock

import (
	"github.com/burin-dev/burin/llm"
)

// Limits of Claude's thinking budget, in tokens.
const (
	minBudget    = 1024
	answerMargin = 8192 // room for the answer where the model's limit is unknown
)

// Beta features of Claude, sent as anthropic_beta.
const betaInterleaved = "interleaved-thinking-2025-05-14"

// thinkingFields are the fields of additionalModelRequestFields that make a
// model reason, in the order they are sent.
type thinkingFields struct {
	Thinking        *claudeThinking `json:"thinking,omitempty"`
	OutputConfig    *effort         `json:"output_config,omitempty"`
	AnthropicBeta   []string        `json:"anthropic_beta,omitempty"`
	ReasoningConfig any             `json:"reasoningConfig,omitempty"`  // of Nova: *novaReasoning
	ReasoningEffort string          `json:"reasoning_effort,omitempty"` // of gpt-oss, Qwen, Kimi, DeepSeek V3
	ReasoningLevel  string          `json:"reasoning_config,omitempty"` // of GLM, MiniMax, Nemotron
	Reasoning       *effort         `json:"reasoning,omitempty"`        // of OpenAI's GPT
}

type claudeThinking struct {
	Type         string `json:"type"` // enabled or adaptive
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"` // omitted or summarized
}

type effort struct {
	Effort string `json:"effort"`
}

type novaReasoning struct {
	Type               string `json:"type"`
	MaxReasoningEffort string `json:"maxReasoningEffort"`
}

// reason fills in how the model shall think and takes away the sampling
// parameters it then refuses.
//
// A level that is off sends nothing: all models that can be quiet are so by
// themselves, but for OpenAI's GPT, which takes "none".
func (e *encoder) reason() thinkingFields {
	var f thinkingFields
	level := e.model.Thinking.Clamp(e.req.Thinking.Level)
	word := e.req.Thinking.Effort
	if word == "" && level != llm.LevelOff && level != llm.LevelDefault {
		word = e.model.Thinking.Word(level)
	}
	on := e.model.Thinking.Mode != llm.ThinkingNone && level != llm.LevelOff &&
		(level != llm.LevelDefault || word != "" || e.req.Thinking.Budget > 0)
	switch {
	case e.traits.family == claude:
		e.claudeThinking(&f, on, level, word)
		return f
	case e.traits.family == openai && level == llm.LevelOff && e.model.Thinking.Mode != llm.ThinkingNone:
		f.Reasoning = &effort{"none"}
		return f
	case !on:
		return f
	}
	word = e.effortWord(level, word)
	switch e.traits.family {
	case nova2:
		f.ReasoningConfig = &novaReasoning{"enabled", word}
		if word == "high" { // refuses any limit or sampling parameter then
			e.inference.MaxTokens, e.inference.Temperature, e.inference.TopP = 0, nil, nil
		}
	case openai:
		f.Reasoning = &effort{word}
	case effortWord:
		f.ReasoningEffort = word
	case effortLevel:
		f.ReasoningLevel = word
	}
	return f
}

// effortWord is the provider's word. Providers other than Anthropic and OpenAI know
// low, medium and high only.
func (e *encoder) effortWord(level llm.Level, word string) string {
	if e.req.Thinking.Effort != "" {
		return word
	}
	if _, said := e.model.Thinking.Words[level]; said {
		return word
	}
	switch level {
	case llm.LevelMinimal, llm.LevelLow:
		return "low"
	case llm.LevelXHigh:
		if e.traits.family == openai {
			return "xhigh"
		}
		return "high"
	case llm.LevelHigh:
		return "high"
	}
	return "medium" // as a budget alone says nothing else
}

// claudeThinking sets Claude's thinking. Until 4.5 it takes a budget, which
// must leave room below maxTokens; from 4.6 the model decides for itself,
// guided by an effort.
func (e *encoder) claudeThinking(f *thinkingFields, on bool, level llm.Level, word string) {
	in := &e.inference
	if e.traits.version >= 407 {
		in.Temperature, in.TopP = nil, nil // refused since 4.7, thinking or not
	}
	if in.Temperature != nil && in.TopP != nil {
		in.TopP = nil // Claude 4 takes one of them
	}
	// A forced call excludes thinking. The call is what the caller cannot do
	// without; where thinking cannot be turned off, choose leaves the choice open.
	if !on || e.req.ToolChoice.Forced() && !e.model.Thinking.Always {
		return
	}
	if e.model.Thinking.Mode == llm.ThinkingAdaptive {
		f.Thinking = &claudeThinking{Type: "adaptive"}
		if e.req.Thinking.Hidden {
			f.Thinking.Display = "omitted"
		} else if e.traits.version >= 407 || e.traits.version == 0 {
			f.Thinking.Display = "summarized" // these hide it unless asked
		}
		if word != "" {
			f.OutputConfig = &effort{adaptiveEffort(word)}
		}
	} else {
		budget := e.budget(level)
		if budget == 0 {
			return
		}
		f.Thinking = &claudeThinking{Type: "enabled", BudgetTokens: budget}
		if len(e.req.Tools) > 0 && e.traits.version >= 400 {
			f.AnthropicBeta = []string{betaInterleaved}
		}
	}
	in.Temperature = nil
	if in.TopP != nil && *in.TopP < 0.95 {
		in.TopP = nil
	}
}

// adaptiveEffort maps the one level that Claude has no word for.
func adaptiveEffort(word string) string {
	if word == string(llm.LevelMinimal) {
		return "low"
	}
	return word
}

// budget is the number of thinking tokens that fits below maxTokens; 0 if too
// few would be left to think at all, or if the running turn began without
// thinking, which Claude before 4.6 then refuses to see switched on.
func (e *encoder) budget(level llm.Level) int {
	n := e.req.Thinking.Budget
	if n == 0 {
		n = e.model.Thinking.Budget(level)
	}
	if n == 0 || e.turnWithoutThinking() {
		return 0
	}
	n = max(n, minBudget)
	if e.inference.MaxTokens == 0 {
		e.inference.MaxTokens = n + answerMargin
	}
	n = min(n, e.inference.MaxTokens-minBudget)
	if n < minBudget {
		return 0
	}
	return n
}

// turnWithoutThinking reports whether the last answer calls tools and holds no
// thinking before them.
func (e *encoder) turnWithoutThinking() bool {
	for i := len(e.history) - 1; i >= 0; i-- {
		m := &e.history[i]
		if m.Role == llm.RoleUser {
			return false
		}
		if m.Role != llm.RoleAssistant {
			continue
		}
		_, thinks := m.Content[0].(llm.Thinking)
		return !thinks && len(m.ToolCalls()) > 0
	}
	return false
}
