package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		name     string
		have     []string // providers with credentials
		selector string
		want     string
		level    llm.Level
		noted    bool
	}{
		{"exact", nil, "openai/gpt-5.2", "openai/gpt-5.2", "", false},
		{"exact never takes another provider", []string{"openai"}, "azure-openai-responses/gpt-5.2", "azure-openai-responses/gpt-5.2", "", false},
		{"level", nil, "openai/gpt-5.2:xhigh", "openai/gpt-5.2", "xhigh", false},
		{"id with slash and colon", nil, "openrouter/google/gemma-4-31b-it:free", "openrouter/google/gemma-4-31b-it:free", "", false},
		{"id with slash and colon, and level", nil, "openrouter/google/gemma-4-31b-it:free:low", "openrouter/google/gemma-4-31b-it:free", "low", false},
		{"id with version colon", nil, "amazon-bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0:off", "amazon-bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", "off", false},
		{"bare id with version colon", nil, "us.anthropic.claude-haiku-4-5-20251001-v1:0", "amazon-bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", "", false},
		{"routing suffix", nil, "openrouter/deepseek/deepseek-v4-pro:nitro", "openrouter/deepseek/deepseek-v4-pro:nitro", "", false},
		{"upper case", nil, "OpenAI/GPT-5.2", "openai/gpt-5.2", "", false},
		{"dots for dashes", nil, "anthropic/claude-opus-4.6", "anthropic/claude-opus-4-6", "", false},
		{"canonical prefers the vendor", nil, "claude-opus-4-6", "anthropic/claude-opus-4-6", "", true},
		{"canonical prefers what can be used", []string{"openrouter"}, "claude-opus-4-6:high", "openrouter/anthropic/claude-opus-4.6", "high", true},
		{"canonical with dots", []string{"openrouter"}, "claude-opus-4.6", "openrouter/anthropic/claude-opus-4.6", "", true},
		{"canonical that nobody can use", []string{"mistral"}, "claude-opus-4-6", "anthropic/claude-opus-4-6", "", true},
		{"bare id", []string{"groq"}, "llama-3.3-70b-versatile", "groq/llama-3.3-70b-versatile", "", false},
		{"bare id with a slash", []string{"groq"}, "openai/gpt-oss-120b", "groq/openai/gpt-oss-120b", "", true},
		{"newest of a family", []string{"anthropic"}, "haiku", "anthropic/claude-haiku-5-5", "", true},
		{"undated before dated", []string{"anthropic"}, "opus-4-1", "anthropic/claude-opus-4-1", "", true},
		{"two words", []string{"anthropic"}, "sonnet 4.5:low", "anthropic/claude-sonnet-4-5", "low", true},
		{"within a provider", nil, "openrouter/haiku", "openrouter/anthropic/claude-haiku-5.5", "", true},
		{"base family first", []string{"openai"}, "codex", "openai/gpt-5.3-codex", "", true},
		{"a month is no version", []string{"moonshotai"}, "kimi-k2", "moonshotai/kimi-k2.6", "", true},
		{"retired thinking twin", nil, "anthropic/claude-opus-4-6-thinking", "anthropic/claude-opus-4-6", "", true},
		{"live thinking twin", nil, "openrouter/moonshotai/kimi-k2-thinking", "openrouter/moonshotai/kimi-k2-thinking", "", false},
		{"retired level twin", nil, "google/gemini-3.5-flash-low", "google/gemini-3.5-flash", "low", true},
		{"level survives the alias", nil, "google/gemini-3.5-flash-low:high", "google/gemini-3.5-flash", "high", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := catalog.Options{}
			if tt.have != nil {
				o.Available = only(tt.have...)
			}
			c, err := open(t, o).Resolver.Resolve(tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			if c.Model.Ref() != tt.want || c.Level != tt.level {
				t.Errorf("got %s %q, want %s %q", c.Model.Ref(), c.Level, tt.want, tt.level)
			}
			if (c.Note != "") != tt.noted {
				t.Errorf("note %q", c.Note)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct{ name, selector, want string }{
		{"empty", " ", "no model named: want provider/id"},
		{"slip in the provider", "antropic/claude-opus-4-6", `no model "antropic/claude-opus-4-6"; did you mean anthropic/claude-opus-4-6?`},
		{"slip in the id", "anthropic/claude-opsu-4-6", "did you mean anthropic/claude-opus-4-6"},
		{"slip in the level", "anthropic/claude-opus-4-6:hihg", `anthropic/claude-opus-4-6 exists, but unknown thinking level "hihg" (want off, minimal, low, medium, high or xhigh)`},
		{"only punctuation", "::/", "no model"},
		{"nothing like it", "qqqqqqqqqqqq", `no model "qqqqqqqqqqqq" (burin models lists what there is`},
	}
	r := open(t, catalog.Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := r.Resolver.Resolve(tt.selector)
			if err == nil {
				t.Fatalf("got %s", c.Model.Ref())
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want %q in one line", err, tt.want)
			}
		})
	}
}

func TestResolveAmbiguous(t *testing.T) {
	r := open(t, catalog.Options{Available: only("anthropic")})
	_, err := r.Resolver.Resolve("claude")
	var a *catalog.AmbiguousError
	if !errors.As(err, &a) {
		t.Fatalf("got %v", err)
	}
	if len(a.Candidates) < 10 || slices.ContainsFunc(a.Candidates, func(s string) bool { return !strings.HasPrefix(s, "anthropic/") }) {
		t.Errorf("candidates %v", a.Candidates)
	}
	if !strings.Contains(err.Error(), "and ") || strings.Count(err.Error(), ", ") > 9 {
		t.Errorf("message %q", err)
	}
}

func TestProviderOrder(t *testing.T) {
	r := open(t, catalog.Options{ProviderOrder: []string{"opencode", "openrouter"}})
	for selector, want := range map[string]string{
		"claude-opus-4-6":           "opencode/claude-opus-4-6",
		"anthropic/claude-opus-4-6": "anthropic/claude-opus-4-6",
		"claude-haiku-4-5":          "opencode/claude-haiku-4-5",
		"google/gemini-2.5-pro":     "google/gemini-2.5-pro",
		"gemini-2.5-pro":            "openrouter/google/gemini-2.5-pro",
		"voxtral-small-latest":      "mistral/voxtral-small-latest",
	} {
		c, err := r.Resolver.Resolve(selector)
		if err != nil || c.Model.Ref() != want {
			t.Errorf("%s: %v %v, want %s", selector, c.Model, err, want)
		}
	}
}

func TestDisabledProvider(t *testing.T) {
	r := open(t, catalog.Options{
		Dir: "/home/ann/job/x", UserHome: "/home/ann",
		Disabled: catalog.ScopedList{{Values: []string{"anthropic"}, Paths: []string{"~/job"}}},
	})
	if _, err := r.Resolver.Resolve("anthropic/claude-opus-4-6"); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("got %v", err)
	}
	c, err := r.Resolver.Resolve("claude-opus-4-6")
	if err != nil || c.Model.Provider == "anthropic" {
		t.Errorf("got %v %v", c.Model, err)
	}
	if r.Registry.Available(lookup(t, r, "anthropic/claude-opus-4-6")) {
		t.Error("a model of a disabled provider is available")
	}
}

func TestMatch(t *testing.T) {
	r := open(t, catalog.Options{})
	refs := func(patterns ...string) (out []string) {
		choices, _ := r.Resolver.Match(patterns)
		for _, c := range choices {
			s := c.Model.Ref()
			if c.Level != "" {
				s += ":" + string(c.Level)
			}
			out = append(out, s)
		}
		return out
	}
	t.Run("canonical stands for all variants", func(t *testing.T) {
		got := refs("claude-opus-4-5")
		if len(got) < 4 || got[0] != "anthropic/claude-opus-4-5" || !slices.Contains(got, "openrouter/anthropic/claude-opus-4.5") {
			t.Errorf("got %v", got)
		}
	})
	t.Run("exact, level, no repetition, order", func(t *testing.T) {
		got := refs("openai/o3:low", "anthropic/claude-haiku-4-5", "openai/o3")
		if d := cmp.Diff([]string{"openai/o3:low", "anthropic/claude-haiku-4-5"}, got); d != "" {
			t.Error(d)
		}
	})
	t.Run("globs", func(t *testing.T) {
		if d := cmp.Diff([]string{"deepseek/deepseek-flash:high", "deepseek/deepseek-v4-pro:high"}, refs("deepseek/*:high")); d != "" {
			t.Error(d)
		}
		for _, got := range refs("*SONNET-4?6") {
			if !strings.Contains(got, "sonnet-4-6") && !strings.Contains(got, "sonnet-4.6") {
				t.Errorf("got %s", got)
			}
		}
		if got := refs("openrouter/*:free"); len(got) < 10 || slices.ContainsFunc(got, func(s string) bool { return !strings.HasSuffix(s, ":free") }) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("what fits nothing is said", func(t *testing.T) {
		_, unmatched := r.Resolver.Match([]string{"nothing-*", "openai/o3", "qqqq"})
		if d := cmp.Diff([]string{"nothing-*", "qqqq"}, unmatched); d != "" {
			t.Error(d)
		}
	})
}

func TestCanonical(t *testing.T) {
	r := open(t, catalog.Options{})
	for ref, want := range map[string]string{
		"openrouter/anthropic/claude-sonnet-4.6":         "claude-sonnet-4-6",
		"amazon-bedrock/us.anthropic.claude-opus-4-6-v1": "claude-opus-4-6",
		"vercel-ai-gateway/openai/gpt-5.2":               "gpt-5.2",
		"openrouter/google/gemma-4-31b-it:free":          "google/gemma-4-31b-it:free", // other limits, other price
		"groq/llama-3.3-70b-versatile":                   "llama-3.3-70b-versatile",
	} {
		if got := r.Registry.Canonical(lookup(t, r, ref)); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}
