package quota_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/quota"
)

func service(t *testing.T, provider string) quota.Service {
	t.Helper()
	for _, s := range quota.Services() {
		if s.Provider == provider {
			return s
		}
	}
	t.Fatalf("no service %s", provider)
	return quota.Service{}
}

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local) }

// later is a time of noon's day or a later one, as it stands in an answer.
func later(d time.Duration) string { return noon().Add(d).Format(time.RFC3339Nano) }

// Each format gives the windows, what is used of them and when they reset.
func TestFormats(t *testing.T) {
	tests := []struct{ name, provider, answer, want string }{
		{"windows of a subscription", "anthropic", `{"five_hour":{"utilization":37.4,"resets_at":"` + later(3*time.Hour) + `"},"seven_day":{"utilization":81.0,"resets_at":"` + later(48*time.Hour) + `"},"seven_day_oauth_apps":null,"seven_day_opus":{"utilization":0.0,"resets_at":null},"seven_day_sonnet":null,"extra_usage":{"is_enabled":true,"monthly_limit":2000,"used_credits":100,"utilization":5}}`, `
anthropic
  5 hours        37% used  resets 15:00
  7 days         81% used  nearly used up  resets Fri 6 Mar 12:00
  7 days, Opus    0% used
  extra usage     5% used
`},
		{"a list of limits", "anthropic", `{"limits":[{"kind":"session","percent":100,"resets_at":"` + later(time.Hour) + `"},{"kind":"weekly_scoped","percent":7,"scope":{"model":{"display_name":"Fable"}}},{"kind":"new"}]}`, `
anthropic
  5 hours        100% used  used up  resets 13:00
  7 days, Fable    7% used
`},
		{"ChatGPT", "openai-codex", `{"plan_type":"plus","rate_limit":{"allowed":true,"primary_window":{"used_percent":12,"limit_window_seconds":18000,"reset_after_seconds":600},"secondary_window":{"used_percent":64,"limit_window_seconds":604800,"reset_at":"` + later(26*time.Hour) + `"}},"additional_rate_limits":[{"limit_name":"Spark","rate_limit":{"primary_window":{"used_percent":1,"limit_window_seconds":18000}}}],"credits":{"has_credits":true,"unlimited":false,"balance":"12.5"}}`, `
openai-codex (plus)
  5 hours          12% used  resets 12:10
  7 days           64% used  resets Thu 5 Mar 14:00
  5 hours, Spark    1% used
  credits left    12.50
`},
		{"Copilot", "github-copilot", `{"copilot_plan":"individual","quota_reset_date":"2026-04-01","quota_snapshots":{"chat":{"entitlement":0,"percent_remaining":100.0,"unlimited":true,"remaining":0},"premium_interactions":{"entitlement":300,"remaining":30,"percent_remaining":10.0,"unlimited":false}}}`, `
github-copilot (individual)
  premium requests   90% used  270 of 300  nearly used up  resets ` + time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Local().Format("Mon 2 Jan 15:04") + `
`},
		{"Z.ai", "zai", `{"code":200,"msg":"Operation successful","success":true,"data":{"level":"pro","limits":[{"type":"TIME_LIMIT","unit":5,"number":1,"usage":100,"currentValue":4,"remaining":96,"percentage":4},{"type":"TOKENS_LIMIT","unit":3,"number":5,"percentage":25,"nextResetTime":` + millis(noon().Add(90*time.Minute)) + `},{"type":"TOKENS_LIMIT","unit":6,"number":1,"percentage":3}]}}`, `
zai (pro)
  tools, a month    4% used  4 of 100
  5 hours          25% used  resets 13:30
  7 days            3% used
`},
		{"Kimi", "kimi-coding", `{"user":{"membership":{"level":"LEVEL_INTERMEDIATE"}},"usage":{"limit":"2048","used":"512","remaining":"1536","resetTime":"` + later(24*time.Hour) + `"},"limits":[{"window":{"duration":300,"timeUnit":"TIME_UNIT_MINUTE"},"detail":{"limit":"200","remaining":"150","resetTime":"` + later(time.Hour) + `"}}]}`, `
kimi-coding (intermediate)
  5 hours   25% used  50 of 200  resets 13:00
  7 days    25% used  512 of 2048  resets Thu 5 Mar 12:00
`},
		{"OpenRouter", "openrouter", `{"data":{"label":"sk-or-v1-abc...123","limit":10,"usage":55,"limit_remaining":7.5,"limit_reset":"monthly","is_free_tier":false}}`, `
openrouter
  credit, monthly   25% used  2.50 of 10 USD
`},
		{"OpenRouter without a limit", "openrouter", `{"data":{"limit":null,"usage":2.25,"is_free_tier":true}}`, `
openrouter (free)
  credit  2.25 USD
`},
		{"DeepSeek", "deepseek", `{"is_available":true,"balance_infos":[{"currency":"USD","total_balance":"110.00"}]}`, `
deepseek
  balance  110 USD
`},
		{"nothing that is known", "anthropic", `{}`, "\nanthropic: no limits\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := service(t, tt.provider)
			r, err := s.Read([]byte(tt.answer), noon())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), quota.Text([]quota.Report{r}, noon())); diff != "" {
				t.Error(diff)
			}
		})
	}
	z := service(t, "zai")
	if _, err := z.Read([]byte(`{"success":false,"msg":"no coding plan"}`), noon()); err == nil || err.Error() != "no coding plan" {
		t.Errorf("refused: %v", err)
	}
	for _, s := range quota.Services() {
		if _, err := s.Read([]byte("<html>"), noon()); err == nil || !strings.Contains(err.Error(), "format") {
			t.Errorf("%s: %v", s.Provider, err)
		}
	}
}

func millis(t time.Time) string { return number(t.UnixMilli()) }

// The account of a ChatGPT login is in its token.
func TestCodexAccount(t *testing.T) {
	s, h := service(t, "openai-codex"), http.Header{}
	s.Authorize(h, "e30.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTEifX0.x")
	if h.Get("ChatGPT-Account-Id") != "acc-1" {
		t.Errorf("%v", h)
	}
}

func TestHeaders(t *testing.T) {
	tests := []struct {
		name   string
		status int
		h      map[string]string
		want   string
	}{
		{"anthropic", 200, map[string]string{
			"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "10", "anthropic-ratelimit-requests-reset": later(time.Minute),
			"anthropic-ratelimit-input-tokens-limit": "40000", "anthropic-ratelimit-input-tokens-remaining": "39000",
		}, "  input tokens    2% used  1000 of 40000\n  requests       80% used  40 of 50  nearly used up  resets 12:01\n"},
		{"a login of anthropic", 200, map[string]string{
			"anthropic-ratelimit-unified-5h-utilization": "0.25", "anthropic-ratelimit-unified-5h-reset": number(noon().Add(time.Hour).Unix()),
			"anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-7d-utilization": "1.02",
		}, "  5 hours   25% used  resets 13:00\n  7 days   102% used  used up\n"},
		{"openai", 200, map[string]string{
			"x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": "499", "x-ratelimit-reset-requests": "120ms",
			"x-ratelimit-limit-tokens": "30000", "x-ratelimit-remaining-tokens": "15000", "x-ratelimit-reset-tokens": "6m0s",
		}, "  requests    0% used  1 of 500  resets 12:00\n  tokens     50% used  15000 of 30000  resets 12:06\n"},
		{"openrouter", 429, map[string]string{
			"x-ratelimit-limit": "50", "x-ratelimit-remaining": "0", "x-ratelimit-reset": millis(noon().Add(time.Hour)), "retry-after": "120",
		}, "  requests  100% used  50 of 50  used up  resets 13:00\n  refused   100% used  used up  resets 12:02\n"},
		{"codex", 200, map[string]string{
			"x-codex-primary-used-percent": "12", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-after-seconds": "60",
			"x-codex-secondary-used-percent": "3", "x-codex-plan-type": "plus",
		}, "  5 hours                  12% used  resets 12:01\n  plan, secondary window    3% used\n"},
		{"nonsense", 200, map[string]string{"x-ratelimit-limit-tokens": "many", "anthropic-ratelimit-": "1", "x-ratelimit-reset-requests": "-1", "retry-after": "5"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tt.h {
				h.Set(k, v)
			}
			var seen quota.Seen
			seen.Learn("p", tt.status, h, noon())
			seen.Learn("p", 200, http.Header{}, noon().Add(time.Hour)) // changes nothing
			want := ""
			if tt.want != "" {
				want = "p, as of the answer at 12:00\n" + tt.want
			}
			if diff := cmp.Diff(want, quota.Text(seen.Reports(), noon())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"five_hour":{"utilization":37.4,"resets_at":"2026-01-01"},"limits":[{"window":{"duration":9999999,"timeUnit":"TIME_UNIT_DAY"},"detail":{"limit":"1e400"}}]}`)
	f.Fuzz(func(t *testing.T, answer string) {
		for _, s := range quota.Services() {
			if r, err := s.Read([]byte(answer), noon()); err == nil {
				if text := quota.Text([]quota.Report{r}, noon()); strings.ContainsAny(text, "\x1b\r\x07") {
					t.Errorf("%q", text)
				}
			}
		}
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
