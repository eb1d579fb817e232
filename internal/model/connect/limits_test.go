package connect

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/quota"
)

// What is not configured otherwise is asked at the provider's own address.
func TestLimitsAddresses(t *testing.T) {
	want := map[string]string{
		"anthropic":      "https://api.anthropic.com/api/oauth/usage",
		"openai-codex":   "https://chatgpt.com/backend-api/wham/usage",
		"github-copilot": "https://api.github.com/copilot_internal/user",
		"zai":            "https://api.z.ai/api/monitor/usage/quota/limit",
		"zai-coding-cn":  "https://open.bigmodel.cn/api/monitor/usage/quota/limit",
		"kimi-coding":    "https://api.kimi.com/coding/v1/usages",
		"openrouter":     "https://openrouter.ai/api/v1/key",
		"deepseek":       "https://api.deepseek.com/user/balance",
	}
	env := map[string]string{}
	m, err := Open(Options{ConfigDir: t.TempDir(), DataDir: t.TempDir(), LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, s := range quota.Services() {
		if got, err := m.limitsAddress(&s); err != nil || got != want[s.Provider] {
			t.Errorf("%s: %s, %v; want %s", s.Provider, got, err, want[s.Provider])
		}
	}
	claude := &quota.Services()[0]
	env["ANTHROPIC_BASE_URL"] = "https://gate.example/anthropic"
	if got, err := m.limitsAddress(claude); got != "https://gate.example/api/oauth/usage" {
		t.Errorf("%s, %v", got, err)
	}
	env["CLAUDE_CODE_USE_FOUNDRY"] = "1"
	env["ANTHROPIC_FOUNDRY_RESOURCE"] = "x"
	if got, err := m.limitsAddress(claude); err == nil {
		t.Errorf("Foundry: %s", got)
	}
}
