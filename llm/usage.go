package llm

// Usage counts what an answer used, in tokens. Input never includes cached input, whatever the
// provider's own convention.
type Usage struct {
	Input      int `json:"input"`      // uncached input
	Output     int `json:"output"`     // all output, including reasoning
	CacheRead  int `json:"cacheRead"`  // input read from the provider's cache
	CacheWrite int `json:"cacheWrite"` // input written to it, in all tiers
	// CacheWriteLong is the part of CacheWrite that is kept for an hour or more and charged at
	// the higher rate.
	CacheWriteLong int `json:"cacheWriteLong,omitempty"`
	Reasoning      int `json:"reasoning,omitempty"` // the part of Output that is reasoning
	// WebSearches counts searches that ran at the provider.
	WebSearches int   `json:"webSearches,omitempty"`
	WebFetches  int   `json:"webFetches,omitempty"`
	TotalTokens int   `json:"totalTokens"` // Context(), as other programs of the pi family write it
	Cost        *Cost `json:"cost,omitempty"`
}

// Context returns the number of tokens of the request and its answer together.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Prompt returns the number of input tokens, cached or not.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add sums the counts and costs of two usages.
func (u Usage) Add(v Usage) Usage {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.CacheWriteLong += v.CacheWriteLong
	u.Reasoning += v.Reasoning
	u.WebSearches += v.WebSearches
	u.WebFetches += v.WebFetches
	u.TotalTokens += v.TotalTokens
	if u.Cost != nil || v.Cost != nil {
		c := u.Cost.add(v.Cost)
		u.Cost = &c
	}
	return u
}

// StopReason says why an answer ended. The set is closed; the providers' own words are mapped
// to it.
type StopReason string

const (
	StopEnd     StopReason = "stop"      // the model was done, or met a stop sequence
	StopLength  StopReason = "length"    // cut by the token limit or the context window
	StopToolUse StopReason = "toolUse"   // the model calls tools and waits for their results
	StopPause   StopReason = "pauseTurn" // the provider paused a long turn; send the history back to continue
	StopError   StopReason = "error"     // see Message.Error
	StopAborted StopReason = "aborted"   // the caller canceled
)
