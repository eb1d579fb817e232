package quota

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

// Seen keeps what the headers of answers said last of each provider's limits. It is safe for
// concurrent use.
type Seen struct {
	mu   sync.Mutex
	last map[string]Report
}

// Learn takes the headers of an answer. Answers without limits change nothing.
func (s *Seen) Learn(provider string, status int, h http.Header, now time.Time) {
	limits := FromHeaders(status, h, now)
	if len(limits) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]Report{}
	}
	s.last[provider] = Report{Provider: provider, Limits: limits, Seen: now}
}

// Reports are what was learned.
func (s *Seen) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Report
	for _, r := range s.last {
		all = append(all, r)
	}
	return all
}

// FromHeaders reads the limits that the headers of an answer tell: anthropic-ratelimit-*,
// x-ratelimit-*, x-codex-*, and of a refused request retry-after.
func FromHeaders(status int, h http.Header, now time.Time) []Limit {
	var out []Limit
	named := map[string]*Limit{}
	for key, values := range h {
		name := strings.ToLower(key)
		value := strings.TrimSpace(values[0])
		rest, anthropic := strings.CutPrefix(name, "anthropic-ratelimit-")
		var what, field string
		switch {
		case strings.HasPrefix(rest, "unified-") && anthropic: // unified-5h-utilization
			window, of, ok := strings.Cut(strings.TrimPrefix(rest, "unified-"), "-")
			if !ok || window != "5h" && window != "7d" {
				continue
			}
			what, field = map[string]string{"5h": "5 hours", "7d": "7 days"}[window], of
		case anthropic: // input-tokens-limit
			i := strings.LastIndexByte(rest, '-')
			if i < 0 {
				continue
			}
			what, field = strings.ReplaceAll(rest[:i], "-", " "), rest[i+1:]
		case strings.HasPrefix(name, "x-ratelimit-"): // limit-requests, or limit alone
			field, what, _ = strings.Cut(strings.TrimPrefix(name, "x-ratelimit-"), "-")
			what = strings.ReplaceAll(what, "-", " ")
			if what == "" {
				what = "requests"
			}
		case strings.HasPrefix(name, "x-codex-"): // primary-used-percent
			what, field, _ = strings.Cut(strings.TrimPrefix(name, "x-codex-"), "-")
			if what != "primary" && what != "secondary" {
				continue
			}
		default:
			continue
		}
		l := named[what]
		if l == nil {
			l = &Limit{Name: what}
		}
		if l.header(field, value, now) {
			named[what] = l
		}
	}
	for _, l := range named {
		if l.UsedPercent == nil && l.Max == nil { // a reset alone says nothing
			continue
		}
		if l.Max != nil {
			l.Used = minus(l.Max, l.Used) // what headers tell is the rest
		}
		out = append(out, l.settle())
	}
	sorting.Stable(out, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) })
	for i := range out {
		if out[i].Name == "primary" || out[i].Name == "secondary" {
			out[i].Name = "plan, " + out[i].Name + " window"
			if out[i].Unit != "" {
				out[i].Name, out[i].Unit = out[i].Unit, ""
			}
		}
	}
	if at := retryAfter(status, h, now); !at.IsZero() {
		full := 100.0
		out = append(out, Limit{Name: "refused", UsedPercent: &full, ResetsAt: at})
	}
	return out
}

// header takes one field of a limit; false: it says nothing.
func (l *Limit) header(field, value string, now time.Time) bool {
	n, err := strconv.ParseFloat(value, 64)
	ok := err == nil && n >= 0 && n < 1e15
	switch field {
	case "limit":
		if ok {
			l.Max = &n
		}
	case "remaining":
		if ok {
			l.Used = &n // the rest, until all headers are read
		}
	case "utilization":
		if p := 100 * n; ok {
			l.UsedPercent = &p
		}
	case "used-percent":
		if ok {
			l.UsedPercent = &n
		}
	case "window-minutes":
		if ok && n > 0 && n < 1e7 {
			l.Unit = span(time.Duration(n) * time.Minute) // its name, until all headers are read
		}
	case "reset", "reset-at", "reset-after-seconds":
		at := resetOf(field, value, now)
		if at.IsZero() {
			return false
		}
		l.ResetsAt = at
		return true
	default:
		return false
	}
	return ok
}

// resetOf reads when a limit resets: a time, a duration such as 6m0s, or seconds from now.
func resetOf(field, value string, now time.Time) time.Time {
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return now.Add(d)
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil && (field == "reset-after-seconds" || n < 1e9) {
		if n < 0 || n > 1e9 {
			return time.Time{}
		}
		return now.Add(time.Duration(n * float64(time.Second)))
	}
	return instant(value)
}

// retryAfter is when a refused request may be repeated.
func retryAfter(status int, h http.Header, now time.Time) time.Time {
	value := h.Get("Retry-After")
	if status != http.StatusTooManyRequests || value == "" {
		return time.Time{}
	}
	if at, err := http.ParseTime(value); err == nil {
		return at
	}
	return resetOf("reset-after-seconds", value, now)
}
