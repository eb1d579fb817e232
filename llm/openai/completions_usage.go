package openai

import "github.com/burin-dev/burin/llm"

// chatCount takes over the counts of a chunk. Each count stands for the answer
// so far, so later ones replace earlier ones.
func chatCount(b *llm.Builder, u *chatUsage) {
	if u == nil {
		return
	}
	read, write, long, reasoning := max(u.CacheHit, u.Cached, u.CacheRead), u.CacheCreation, 0, u.Reasoning
	if p := u.PromptDetails; p != nil {
		read = max(read, p.Cached)
		write = max(write, p.CacheWrite, p.CacheCreation)
		long = p.CacheWriteLong
	}
	if o := u.OutputDetails; o != nil {
		reasoning = max(reasoning, o.Reasoning)
	}
	output := u.CompletionTokens
	if reasoning > 0 && u.TotalTokens == u.PromptTokens+output+reasoning {
		output += reasoning // xAI counts it separately from the completion
	}
	out := b.Usage()
	out.Input = u.PromptTokens
	if read+write <= u.PromptTokens { // else a proxy counts them separately from the prompt
		out.Input -= read + write
	}
	out.Output = output
	out.CacheRead, out.CacheWrite, out.CacheWriteLong = read, write, long
	out.Reasoning = reasoning
	if s := u.ServerTools; s != nil {
		out.WebSearches, out.WebFetches = s.WebSearches, s.WebFetches
	}
}

// chatUsageOf is the other direction.
func chatUsageOf(u *llm.Usage) *chatUsage {
	if u == nil {
		return nil
	}
	out := &chatUsage{
		PromptTokens:     u.Prompt(),
		CompletionTokens: u.Output,
		TotalTokens:      u.Context(),
		PromptDetails:    &chatPromptDetails{Cached: u.CacheRead, CacheWrite: u.CacheWrite, CacheWriteLong: u.CacheWriteLong},
		OutputDetails:    &chatOutputDetails{Reasoning: u.Reasoning},
	}
	if u.WebSearches > 0 || u.WebFetches > 0 {
		out.ServerTools = &chatServerToolUses{WebSearches: u.WebSearches, WebFetches: u.WebFetches}
	}
	return out
}
