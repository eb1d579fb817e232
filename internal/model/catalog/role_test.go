package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

func TestRoles(t *testing.T) {
	o := catalog.Options{
		Roles: map[string]string{
			"default": "anthropic/claude-opus-4-6:high",
			"slow":    "pi/default:xhigh",
			"plan":    "slow",
			"commit":  "burin/plan:low",
			"smol":    "anthropic/claude-haiku-4-5",
			"oracle":  "openai/gpt-5.2:medium",
		},
		RoleFlags: map[string]string{"vision": "google/gemini-2.5-pro"},
		Getenv:    env("PI_SMOL_MODEL", "openai/gpt-5-nano", "BURIN_PLAN_MODEL", ""),
	}
	r := open(t, o)
	tests := []struct{ role, want, level string }{
		{"default", "anthropic/claude-opus-4-6", "high"},
		{"slow", "anthropic/claude-opus-4-6", "xhigh"},    // its own suffix wins
		{"plan", "anthropic/claude-opus-4-6", "xhigh"},    // inherited
		{"commit", "anthropic/claude-opus-4-6", "low"},    // the outermost suffix wins
		{"smol", "openai/gpt-5-nano", ""},                 // the environment wins over the settings
		{"vision", "google/gemini-2.5-pro", ""},           // a flag
		{"designer", "anthropic/claude-opus-4-6", "high"}, // not set: as default
		{"oracle", "openai/gpt-5.2", "medium"},            // the user's own
	}
	for _, tt := range tests {
		c, err := r.Resolver.Role(tt.role)
		if err != nil {
			t.Errorf("%s: %v", tt.role, err)
			continue
		}
		if c.Model.Ref() != tt.want || string(c.Level) != tt.level {
			t.Errorf("%s: %s %q, want %s %q", tt.role, c.Model.Ref(), c.Level, tt.want, tt.level)
		}
	}
	c, err := r.Resolver.Resolve("pi/commit:medium")
	if err != nil || c.Model.Ref() != "anthropic/claude-opus-4-6" || c.Level != llm.LevelMedium {
		t.Errorf("alias with level: %+v %v", c, err)
	}
}

func TestRoleErrors(t *testing.T) {
	r := open(t, catalog.Options{Roles: map[string]string{
		"slow": "pi/plan", "plan": "pi/task:high", "task": "slow", "smol": "smol", "commit": "anthropic/claude-nothing",
	}})
	for role, want := range map[string]string{
		"slow":   "the model roles form a circle: slow → plan → task → slow",
		"smol":   "the model roles form a circle: smol → smol",
		"commit": `role commit (modelRoles): no model "anthropic/claude-nothing"`,
		"defalt": `no role "defalt" (did you mean "default"?)`,
	} {
		_, err := r.Resolver.Role(role)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", role, err, want)
		}
	}
}

func TestInitial(t *testing.T) {
	tests := []struct {
		name string
		o    catalog.Options
		wish catalog.Wish
		want string
	}{
		{"asked for", catalog.Options{Roles: map[string]string{"default": "openai/o3"}}, catalog.Wish{Selector: "openai/gpt-5"}, "openai/gpt-5"},
		{
			"first usable of the list",
			catalog.Options{Available: only("openai"), Roles: map[string]string{"default": "openai/o3"}},
			catalog.Wish{Models: []string{"anthropic/*", "openai/gpt-5-mini", "openai/gpt-5"}},
			"openai/gpt-5-mini",
		},
		{
			"list of the settings",
			catalog.Options{Enabled: catalog.ScopedList{{Values: []string{"google/gemini-2.5-pro"}}}, Roles: map[string]string{"default": "openai/o3"}},
			catalog.Wish{},
			"google/gemini-2.5-pro",
		},
		{
			"resuming passes the list",
			catalog.Options{Enabled: catalog.ScopedList{{Values: []string{"google/gemini-2.5-pro"}}}, Roles: map[string]string{"default": "openai/o3"}},
			catalog.Wish{Resuming: true},
			"openai/o3",
		},
		{"environment", catalog.Options{Getenv: env("BURIN_MODEL", "xai/grok-4.3"), Roles: map[string]string{"default": "openai/o3"}}, catalog.Wish{}, "xai/grok-4.3"},
		{"default of the provider there is", catalog.Options{Available: only("openrouter", "groq")}, catalog.Wish{}, "openrouter/anthropic/claude-sonnet-4.6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := open(t, tt.o).Resolver.Initial(tt.wish)
			if err != nil || c.Model.Ref() != tt.want {
				t.Errorf("got %v %v, want %s", c.Model, err, tt.want)
			}
		})
	}
	if _, err := open(t, catalog.Options{Available: only()}).Resolver.Initial(catalog.Wish{}); !errors.Is(err, catalog.ErrNoModel) {
		t.Errorf("without credentials: %v", err)
	}
}

// Every provider that is built in has a default model, and it is in the table.
func TestDefaultModels(t *testing.T) {
	vars := env("CLOUDFLARE_ACCOUNT_ID", "a", "CLOUDFLARE_GATEWAY_ID", "b")
	for _, p := range open(t, catalog.Options{}).Registry.Providers() {
		if p == "github-copilot" {
			continue // cannot be used without headers of the user's own: see below
		}
		c, err := open(t, catalog.Options{Available: only(p), Getenv: vars}).Resolver.Initial(catalog.Wish{})
		if err != nil || c.Model.Provider != p || !strings.HasPrefix(c.Note, "the default model of") {
			t.Errorf("%s: %+v %v", p, c, err)
		}
	}
}

// Copilot wants headers that name another program: a token alone is not enough.
func TestCopilotNeedsHeaders(t *testing.T) {
	o := catalog.Options{Available: only("github-copilot")}
	if c, err := open(t, o).Resolver.Initial(catalog.Wish{}); !errors.Is(err, catalog.ErrNoModel) {
		t.Errorf("without headers: %v %v", c.Model, err)
	}
	o.Home = home(t, "models.yml", "providers:\n  github-copilot: {headers: {Editor-Version: mine/1}}\n")
	if c, err := open(t, o).Resolver.Initial(catalog.Wish{}); err != nil || c.Model.Provider != "github-copilot" {
		t.Errorf("with headers: %v %v", c.Model, err)
	}
}

// A list of which nothing can be used never falls back to another model.
func TestInitialStaysInTheList(t *testing.T) {
	r := open(t, catalog.Options{Available: only("anthropic")})
	for pattern, want := range map[string]string{"nonsense*": "no model fits nonsense*", "openai/gpt-5.2": "there is no key for openai"} {
		c, err := r.Resolver.Initial(catalog.Wish{Models: []string{pattern}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, want %q", pattern, c.Model, err, want)
		}
	}
}

// A login of the user's own stands in for a key, and Bedrock takes a region for
// an address.
func TestConfigWithoutKeyOrAddress(t *testing.T) {
	text := "providers:\n  x:\n    baseUrl: https://x.example\n    auth: oauth\n    api: openai-completions\n    models: [{id: m}]\n" +
		"  y:\n    baseUrl: bedrock:us-gov-west-1\n    api: bedrock-converse-stream\n    models: [{id: m}]\n"
	r := open(t, catalog.Options{Home: home(t, "models.yml", text)})
	for _, p := range []string{"x", "y"} {
		if _, ok := r.Registry.Lookup(p, "m"); !ok {
			t.Errorf("no model of %s", p)
		}
	}
}

func TestScopedList(t *testing.T) {
	var l catalog.ScopedList
	text := `
- everywhere
- path: ~/job
  models: [m1, m2]
- pathPrefixes: [/srv/a, /srv/b]
  values: v
- paths: ["~"]
  providers: [p, everywhere]
`
	if err := yaml.Unmarshal([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string][]string{
		"/home/ann/job":      {"everywhere", "m1", "m2", "p"},
		"/home/ann/job/deep": {"everywhere", "m1", "m2", "p"},
		"/home/ann/jobshop":  {"everywhere", "p"},
		"/home/annabel":      {"everywhere"},
		"/srv/b/c":           {"everywhere", "v"},
		"/srv":               {"everywhere"},
		"":                   {"everywhere"},
	} {
		if d := cmp.Diff(want, l.For(dir, "/home/ann")); d != "" {
			t.Errorf("%s: %s", dir, d)
		}
	}
	for _, bad := range []string{"- path: x", "- values: [x]", "- {path: x, valeus: [y]}", "- {path: [1], values: [y]}", "- [x]"} {
		if err := yaml.Unmarshal([]byte(bad), &l); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestPromotion(t *testing.T) {
	r := open(t, catalog.Options{Available: only("anthropic", "openai")})
	for ref, want := range map[string]string{
		"openai/gpt-5.3-codex-spark": "openai/gpt-5.3-codex", // it names that
		"anthropic/claude-opus-5":    "",                     // nothing is larger than 1M
		"anthropic/claude-haiku-4-5": "anthropic/claude-haiku-5-5",
		"anthropic/claude-fable-5":   "",
		"openai/gpt-5-pro":           "",
		"openai/gpt-4.1-nano":        "", // a little larger, and 400 times as dear
		"openai/gpt-5.5":             "", // the larger one is older
	} {
		if m, ok := catalog.Promotion(r.Registry, lookup(t, r, ref)); ok != (want != "") || ok && m.Ref() != want {
			t.Errorf("%s: %v, want %q", ref, m, want)
		}
	}
	sonnet := *lookup(t, r, "anthropic/claude-sonnet-4-5")
	if m, ok := catalog.Promotion(r.Registry, &sonnet); !ok || !strings.Contains(m.ID, "sonnet") || m.ContextWindow <= sonnet.ContextWindow {
		t.Errorf("from %s to %v", sonnet.Ref(), m)
	}
	sonnet.BaseURL = "http://127.0.0.1:1"
	if m, ok := catalog.Promotion(r.Registry, &sonnet); ok {
		t.Errorf("from a server of its own to %s", m.Ref())
	}
	none := open(t, catalog.Options{Available: only("xai")})
	for _, ref := range []string{"openai/gpt-5.3-codex-spark", "anthropic/claude-sonnet-4-5"} {
		if m, ok := catalog.Promotion(none.Registry, lookup(t, none, ref)); ok {
			t.Errorf("without credentials, %s", m.Ref())
		}
	}
}

// What costs more than the model that somebody chose is not taken unasked, nor what
// reads less.
func TestPromotionCost(t *testing.T) {
	const file = `providers:
  shop:
    baseUrl: http://127.0.0.1:9/v1
    api: openai-completions
    auth: none
    models:
      - {id: nut-1, contextWindow: 8000, input: [text, image], cost: {input: 1, output: 5}}
      - {id: nut-2, contextWindow: 32000, input: [text, image], cost: {input: 1, output: 6}}
      - {id: nut-3, contextWindow: 64000, input: [text, image]}
      - {id: nut-4, contextWindow: 128000, cost: {input: 1, output: 4}}
      - {id: nut-5, contextWindow: 256000, input: [text, image], cost: {input: 1, output: 5}}
      - {id: leaf-1, contextWindow: 8000}
      - {id: leaf-2, contextWindow: 16000, cost: {input: 1, output: 5}}
`
	r := open(t, catalog.Options{Home: home(t, "models.yml", file), Available: only("shop")})
	for ref, want := range map[string]string{"shop/nut-1": "shop/nut-5", "shop/leaf-1": "shop/leaf-2"} {
		if m, ok := catalog.Promotion(r.Registry, lookup(t, r, ref)); !ok || m.Ref() != want {
			t.Errorf("%s: %v, want %s", ref, m, want)
		}
	}
}
