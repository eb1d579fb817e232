package llm

// Usage counts what an answer consumed, in tokens. Cached input is never part
// of Input, whatever the vendor's own convention.
type Usage struct {
	Input      int `json:"input"`      // fresh input
	Output     int `json:"output"`     // all output, reasoning included
	CacheRead  int `json:"cacheRead"`  // input read from the vendor's cache
	CacheWrite int `json:"cacheWrite"` // input written to it, all tiers together
	// CacheWriteLong is the part of CacheWrite that is kept for an hour or more
	// and billed at the higher rate.
	CacheWriteLong int `json:"cacheWriteLong,omitempty"`
	Reasoning      int `json:"reasoning,omitempty"` // the part of Output that was reasoning
	// ServerTools counts uses of tools that ran at the vendor.
	WebSearches int   `json:"webSearches,omitempty"`
	WebFetches  int   `json:"webFetches,omitempty"`
	TotalTokens int   `json:"totalTokens"` // Context() as written by other programs of the family
	Cost        *Cost `json:"cost,omitempty"`
}

// Context is the number of tokens the request and its answer occupy together.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Prompt is the number of input tokens, cached or not.
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

// StopReason says why an answer ended. The set is closed; every vendor's own
// words are mapped into it.
type StopReason string

const (
	StopEnd     StopReason = "stop"      // the model had finished, or met a stop sequence
	StopLength  StopReason = "length"    // the token limit or the context window cut it
	StopToolUse StopReason = "toolUse"   // it calls tools and waits for their results
	StopPause   StopReason = "pauseTurn" // the vendor paused a long turn; send the history back to go on
	StopError   StopReason = "error"     // see Message.Error
	StopAborted StopReason = "aborted"   // the caller cancelled
)
