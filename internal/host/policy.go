package host

import (
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
)

func retryOf(c *config.Config) session.Retry {
	r := session.Retry{Off: c.Retry.Enabled != nil && !*c.Retry.Enabled}
	if n := c.Retry.MaxRetries; n != nil {
		r.Max, r.Off = *n, r.Off || *n == 0
	}
	if n := c.Retry.BaseDelayMS; n != nil {
		r.Base = time.Duration(*n) * time.Millisecond
	}
	if n := c.Retry.MaxDelayMS; n != nil {
		r.Limit = time.Duration(*n) * time.Millisecond
	}
	r.Stay = c.Text("retry.fallbackRevertPolicy") == "never"
	return r
}

func compactionOf(c *config.Config) compact.Settings {
	s, own := compact.Defaults(), c.Compaction
	set(&s.Enabled, own.Enabled)
	if own.Strategy != "" {
		s.Strategy = compact.Strategy(own.Strategy)
	}
	set(&s.ReserveTokens, own.ReserveTokens)
	set(&s.KeepRecentTokens, own.KeepRecentTokens)
	set(&s.ThresholdPercent, own.ThresholdPercent)
	set(&s.ThresholdTokens, own.ThresholdTokens)
	set(&s.SupersedeReads, own.SupersedeReads)
	s.RemoteEndpoint = own.RemoteEndpoint
	s.IdleEnabled = own.IdleEnabled
	set(&s.IdleThresholdTokens, own.IdleThresholdTokens)
	if own.IdleTimeoutSeconds != nil {
		s.IdleTimeout = time.Duration(*own.IdleTimeoutSeconds) * time.Second
	}
	s.BranchEnabled = c.BranchSummary.Enabled
	set(&s.BranchReserveTokens, c.BranchSummary.ReserveTokens)
	return s
}

func othersOf(c *config.Config) catalog.Samplers {
	return catalog.Samplers{TopK: c.TopK, MinP: c.MinP, PresencePenalty: c.PresencePenalty, RepetitionPenalty: c.RepetitionPenalty}
}

// tuningOf is how models are asked.
func tuningOf(c *config.Config) catalog.Tuning {
	t := catalog.Tuning{Temperature: c.Temperature, TopP: c.TopP, Others: othersOf(c), ServiceTier: c.ServiceTier, Budgets: map[llm.Level]int{}}
	b := &c.ThinkingBudgets
	for level, n := range map[llm.Level]*int{
		llm.LevelMinimal: b.Minimal, llm.LevelLow: b.Low, llm.LevelMedium: b.Medium, llm.LevelHigh: b.High, llm.LevelXHigh: b.XHigh,
	} {
		if n != nil {
			t.Budgets[level] = *n
		}
	}
	return t
}

// remindersOf is how often a model is reminded of open todos.
func remindersOf(c *config.Config) int {
	n := c.Int("todo.remindersMax")
	if !c.Bool("todo.reminders") || n == 0 {
		return -1
	}
	return n
}

// switchedOff are the names of the tools that the settings switch off.
func switchedOff(c *config.Config) (names []string) {
	for _, s := range []struct {
		key   string
		tools []string
	}{
		{"bash.enabled", []string{"bash", "job_list", "job_poll", "job_write", "job_kill"}},
		{"find.enabled", []string{"find"}},
		{"search.enabled", []string{"grep"}},
		{"fetch.enabled", []string{"fetch"}},
		{"web_search.enabled", []string{"web_search"}},
		{"todo.enabled", []string{"todo"}},
	} {
		if !c.Bool(s.key) {
			names = append(names, s.tools...)
		}
	}
	return names
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
