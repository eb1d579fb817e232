package quota

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Service is where a provider tells of the plan and the limits of a key.
type Service struct {
	Provider string
	// Models is the origin of the provider's own models; those below Domain are its own, too.
	// Origin is where it tells of limits. A person who gives the provider another address for
	// its models has that one asked instead, and no other: a key goes nowhere else.
	Models, Domain, Origin string
	Path                   string
	LoginOnly              bool // there are no limits of this kind for API keys
	authorize              func(h http.Header, key string)
	read                   func(b []byte, now time.Time) (Report, error)
}

// Services lists the providers that tell.
func Services() []Service {
	return []Service{
		{
			Provider: "anthropic", Models: "https://api.anthropic.com", Origin: "https://api.anthropic.com", Path: "/api/oauth/usage",
			LoginOnly: true, read: readAnthropic, authorize: func(h http.Header, key string) {
				bearer(h, key)
				h.Set("Anthropic-Beta", "oauth-2025-04-20")
			},
		},
		{
			Provider: "openai-codex", Models: "https://chatgpt.com", Origin: "https://chatgpt.com", Path: "/backend-api/wham/usage",
			read: readCodex, authorize: func(h http.Header, key string) {
				bearer(h, key)
				if id := codexAccount(key); id != "" {
					h.Set("ChatGPT-Account-Id", id)
				}
			},
		},
		{
			Provider: "github-copilot", Models: "https://api.individual.githubcopilot.com", Domain: ".githubcopilot.com",
			Origin: "https://api.github.com", Path: "/copilot_internal/user", read: readCopilot, authorize: bearer,
		},
		zai("zai", "https://api.z.ai"), zai("zai-coding-cn", "https://open.bigmodel.cn"),
		{Provider: "kimi-coding", Models: "https://api.kimi.com", Origin: "https://api.kimi.com", Path: "/coding/v1/usages", read: readKimi, authorize: bearer},
		{Provider: "openrouter", Models: "https://openrouter.ai", Origin: "https://openrouter.ai", Path: "/api/v1/key", read: readOpenRouter, authorize: bearer},
		{Provider: "deepseek", Models: "https://api.deepseek.com", Origin: "https://api.deepseek.com", Path: "/user/balance", read: readDeepSeek, authorize: bearer},
	}
}

// zai wants its key without a scheme.
func zai(provider, origin string) Service {
	return Service{
		Provider: provider, Models: origin, Origin: origin, Path: "/api/monitor/usage/quota/limit", read: readZAI,
		authorize: func(h http.Header, key string) { h.Set("Authorization", key) },
	}
}

func bearer(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

// Authorize puts a key into the headers of a request.
func (s *Service) Authorize(h http.Header, key string) { s.authorize(h, key) }

var errFormat = errors.New("the answer has a format that burin does not know")

// Read reads an answer.
func (s *Service) Read(b []byte, now time.Time) (Report, error) {
	r, err := s.read(b, now)
	if err != nil {
		if _, ok := errors.AsType[*refusal](err); ok {
			return Report{}, err
		}
		return Report{}, errFormat
	}
	r.Provider = s.Provider
	for i, l := range r.Limits {
		r.Limits[i] = l.settle()
	}
	return r, nil
}

// refusal is what a provider says in an answer that tells no limits.
type refusal struct{ words string }

func (e *refusal) Error() string { return e.words }

// readAnthropic reads the windows of a subscription. Newer answers list them, too.
func readAnthropic(b []byte, _ time.Time) (r Report, err error) {
	type window struct {
		Utilization figure `json:"utilization"`
		ResetsAt    moment `json:"resets_at"`
	}
	var a struct {
		FiveHour       *window `json:"five_hour"`
		SevenDay       *window `json:"seven_day"`
		SevenDayOpus   *window `json:"seven_day_opus"`
		SevenDaySonnet *window `json:"seven_day_sonnet"`
		ExtraUsage     *struct {
			Enabled bool   `json:"is_enabled"`
			Limit   figure `json:"monthly_limit"`
			Used    figure `json:"used_credits"`
			Percent figure `json:"utilization"`
		} `json:"extra_usage"`
		Limits []struct {
			Kind     string `json:"kind"`
			Percent  figure `json:"percent"`
			ResetsAt moment `json:"resets_at"`
			Scope    *struct {
				Model *struct {
					Name string `json:"display_name"`
				} `json:"model"`
			} `json:"scope"`
		} `json:"limits"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	for _, w := range []struct {
		name string
		*window
	}{{"5 hours", a.FiveHour}, {"7 days", a.SevenDay}, {"7 days, Opus", a.SevenDayOpus}, {"7 days, Sonnet", a.SevenDaySonnet}} {
		if w.window != nil && w.Utilization.value != nil {
			r.Limits = append(r.Limits, Limit{Name: w.name, UsedPercent: w.Utilization.value, ResetsAt: w.ResetsAt.Time})
		}
	}
	for _, l := range a.Limits {
		name := map[string]string{"session": "5 hours", "weekly_all": "7 days", "weekly_scoped": "7 days"}[l.Kind]
		known := l.Kind != "weekly_scoped" && len(r.Limits) > 0 // the windows above
		if name == "" || known && (a.FiveHour != nil || a.SevenDay != nil) {
			continue
		}
		if l.Scope != nil && l.Scope.Model != nil {
			name += ", " + l.Scope.Model.Name
		}
		r.Limits = append(r.Limits, Limit{Name: name, UsedPercent: l.Percent.value, ResetsAt: l.ResetsAt.Time})
	}
	if x := a.ExtraUsage; x != nil && x.Enabled {
		r.Limits = append(r.Limits, Limit{Name: "extra usage", UsedPercent: x.Percent.value})
	}
	return r, nil
}

// codexAccount is the account that an access token of ChatGPT names.
func codexAccount(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Auth struct {
			Account string `json:"chatgpt_account_id"`
		} `json:"https://api.openai.com/auth"`
	}
	if err != nil || json.Unmarshal(b, &claims) != nil {
		return ""
	}
	return claims.Auth.Account
}

func readCodex(b []byte, now time.Time) (r Report, err error) {
	type window struct {
		Percent figure `json:"used_percent"`
		Seconds int64  `json:"limit_window_seconds"`
		After   int64  `json:"reset_after_seconds"`
		At      moment `json:"reset_at"`
	}
	type limit struct {
		Primary   *window `json:"primary_window"`
		Secondary *window `json:"secondary_window"`
	}
	var a struct {
		Plan       string `json:"plan_type"`
		Limit      *limit `json:"rate_limit"`
		Additional []struct {
			Name  string `json:"limit_name"`
			Limit *limit `json:"rate_limit"`
		} `json:"additional_rate_limits"`
		Credits *struct {
			Has       bool   `json:"has_credits"`
			Unlimited bool   `json:"unlimited"`
			Balance   figure `json:"balance"`
		} `json:"credits"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	r.Plan = a.Plan
	add := func(l *limit, suffix string) {
		if l == nil {
			return
		}
		for _, w := range []*window{l.Primary, l.Secondary} {
			if w == nil {
				continue
			}
			at := w.At.Time
			if at.IsZero() && w.After > 0 {
				at = now.Add(time.Duration(w.After) * time.Second)
			}
			r.Limits = append(r.Limits, Limit{Name: span(time.Duration(w.Seconds)*time.Second) + suffix, UsedPercent: w.Percent.value, ResetsAt: at})
		}
	}
	add(a.Limit, "")
	for _, x := range a.Additional {
		add(x.Limit, ", "+x.Name)
	}
	if c := a.Credits; c != nil && c.Has && !c.Unlimited && c.Balance.value != nil {
		r.Limits = append(r.Limits, Limit{Name: "credits left", Max: c.Balance.value})
	}
	return r, nil
}

func readCopilot(b []byte, _ time.Time) (r Report, err error) {
	type quota struct {
		Max       figure `json:"entitlement"`
		Remaining figure `json:"remaining"`
		Percent   figure `json:"percent_remaining"`
		Unlimited bool   `json:"unlimited"`
	}
	var a struct {
		Plan   string `json:"copilot_plan"`
		Reset  moment `json:"quota_reset_date"`
		Quotas struct {
			Premium *quota `json:"premium_interactions"`
			Chat    *quota `json:"chat"`
		} `json:"quota_snapshots"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	r.Plan = a.Plan
	for _, q := range []struct {
		name string
		*quota
	}{{"premium requests", a.Quotas.Premium}, {"chat", a.Quotas.Chat}} {
		if q.quota == nil || q.Unlimited {
			continue
		}
		l := Limit{Name: q.name, Max: q.Max.value, ResetsAt: a.Reset.Time}
		l.Used = minus(q.Max.value, q.Remaining.value)
		if hundred := 100.0; q.Percent.value != nil {
			l.UsedPercent = minus(&hundred, q.Percent.value)
		}
		r.Limits = append(r.Limits, l)
	}
	return r, nil
}

func minus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	d := *a - *b
	return &d
}

func readZAI(b []byte, _ time.Time) (r Report, err error) {
	var a struct {
		Success *bool  `json:"success"`
		Message string `json:"msg"`
		Data    struct {
			Level  string `json:"level"`
			Limits []struct {
				Type    string `json:"type"`
				Unit    int    `json:"unit"`
				Number  int    `json:"number"`
				Max     figure `json:"usage"`
				Used    figure `json:"currentValue"`
				Percent figure `json:"percentage"`
				Reset   moment `json:"nextResetTime"`
			} `json:"limits"`
		} `json:"data"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	if a.Success != nil && !*a.Success {
		return r, &refusal{a.Message}
	}
	r.Plan = a.Data.Level
	for _, l := range a.Data.Limits {
		name := l.Type
		switch n := time.Duration(l.Number); {
		case l.Type == "TIME_LIMIT":
			name = "tools, a month"
		case l.Unit == 3:
			name = span(n * time.Hour)
		case l.Unit == 6:
			name = span(n * 7 * 24 * time.Hour)
		}
		r.Limits = append(r.Limits, Limit{Name: name, UsedPercent: l.Percent.value, Used: l.Used.value, Max: l.Max.value, ResetsAt: l.Reset.Time})
	}
	return r, nil
}

func readKimi(b []byte, _ time.Time) (r Report, err error) {
	type detail struct {
		Max       figure `json:"limit"`
		Used      figure `json:"used"`
		Remaining figure `json:"remaining"`
		Reset     moment `json:"resetTime"`
		ResetAt   moment `json:"reset_at"`
	}
	var a struct {
		User struct {
			Membership struct {
				Level string `json:"level"`
			} `json:"membership"`
		} `json:"user"`
		Usage  *detail `json:"usage"`
		Limits []struct {
			Window struct {
				Duration int    `json:"duration"`
				Unit     string `json:"timeUnit"`
			} `json:"window"`
			Detail detail `json:"detail"`
		} `json:"limits"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	r.Plan = strings.ToLower(strings.TrimPrefix(a.User.Membership.Level, "LEVEL_"))
	add := func(name string, d detail) {
		l := Limit{Name: name, Used: d.Used.value, Max: d.Max.value, ResetsAt: d.Reset.Time}
		if l.Used == nil {
			l.Used = minus(d.Max.value, d.Remaining.value)
		}
		if l.ResetsAt.IsZero() {
			l.ResetsAt = d.ResetAt.Time
		}
		r.Limits = append(r.Limits, l)
	}
	units := map[string]time.Duration{"TIME_UNIT_MINUTE": time.Minute, "TIME_UNIT_HOUR": time.Hour, "TIME_UNIT_DAY": 24 * time.Hour}
	for _, l := range a.Limits {
		add(span(time.Duration(l.Window.Duration)*units[l.Window.Unit]), l.Detail)
	}
	if a.Usage != nil {
		add("7 days", *a.Usage)
	}
	return r, nil
}

func readOpenRouter(b []byte, _ time.Time) (r Report, err error) {
	var a struct {
		Data struct {
			Limit     figure `json:"limit"`
			Remaining figure `json:"limit_remaining"`
			Usage     figure `json:"usage"`
			Reset     string `json:"limit_reset"`
			Free      bool   `json:"is_free_tier"`
		} `json:"data"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	if a.Data.Free {
		r.Plan = "free"
	}
	l := Limit{Name: "credit", Used: a.Data.Usage.value, Max: a.Data.Limit.value, Unit: "USD"}
	if a.Data.Limit.value != nil {
		if left := minus(a.Data.Limit.value, a.Data.Remaining.value); left != nil {
			l.Used = left // of this period; usage is of all time
		}
		if a.Data.Reset != "" {
			l.Name += ", " + a.Data.Reset
		}
	}
	r.Limits = []Limit{l}
	return r, nil
}

func readDeepSeek(b []byte, _ time.Time) (r Report, err error) {
	var a struct {
		Infos []struct {
			Currency string `json:"currency"`
			Total    figure `json:"total_balance"`
		} `json:"balance_infos"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return r, err
	}
	for _, i := range a.Infos {
		r.Limits = append(r.Limits, Limit{Name: "balance", Max: i.Total.value, Unit: i.Currency})
	}
	return r, nil
}
