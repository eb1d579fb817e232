package catalog_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

var comparePrices = cmp.AllowUnexported(llm.Rate{})

func lookup(t *testing.T, r *catalog.Catalog, ref string) *catalog.Model {
	t.Helper()
	provider, id, _ := llm.SplitRef(ref)
	m, ok := r.Registry.Lookup(provider, id)
	if !ok {
		t.Fatalf("no model %s", ref)
	}
	return m
}

// The committed table must be what the generator writes: a dated head, sorted
// lines, one model each.
func TestTableForm(t *testing.T) {
	text, err := os.ReadFile("models.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' || line[0] == '@' {
			continue
		}
		provider, rest, _ := strings.Cut(line, "\t")
		id, _, _ := strings.Cut(rest, "\t")
		refs = append(refs, provider+"\t"+id)
	}
	if !slices.IsSorted(refs) {
		t.Error("the models are not sorted")
	}
	if n := len(slices.Compact(slices.Clone(refs))); n != len(refs) {
		t.Errorf("%d models are there twice", len(refs)-n)
	}
	r := open(t, catalog.Options{})
	if _, err := time.Parse(time.DateOnly, r.Registry.Date()); err != nil {
		t.Errorf("date of the table: %v", err)
	}
	if !strings.Contains(r.Registry.Source(), "@earendil-works/pi-ai") {
		t.Errorf("source of the table: %q", r.Registry.Source())
	}
	if all := r.Registry.All(); len(all) != len(refs) {
		t.Errorf("%d models of %d lines", len(all), len(refs))
	}
}

// Looking up one model must give what reading all of them gives.
func TestLookupAgreesWithAll(t *testing.T) {
	full, cold := open(t, catalog.Options{}), open(t, catalog.Options{})
	for i, m := range full.Registry.All() {
		if i%7 != 0 {
			continue
		}
		got, ok := cold.Registry.Lookup(m.Provider, m.ID)
		if !ok {
			t.Fatalf("no %s", m.Ref())
		}
		if d := cmp.Diff(m, got, comparePrices); d != "" {
			t.Fatalf("%s: %s", m.Ref(), d)
		}
	}
}

func TestFactsAreSound(t *testing.T) {
	date := regexp.MustCompile(`^(|20\d\d-[01]\d-[0-3]\d)$`)
	for _, m := range open(t, catalog.Options{}).Registry.All() {
		if m.ContextWindow <= 0 || m.MaxOutput <= 0 || m.Name == "" || !m.Accepts(llm.ModalityText) || !date.MatchString(m.Released) {
			t.Errorf("%s: %+v", m.Ref(), m.Model)
		}
		if m.Price.Known() && m.Price.Input.Dollars() == 0 && !strings.HasSuffix(m.ID, "free") {
			t.Errorf("%s is said to be free", m.Ref())
		}
		if m.Thinking.Mode != llm.ThinkingNone && m.Thinking.Clamp(llm.LevelHigh) == "" {
			t.Errorf("%s thinks on no level", m.Ref())
		}
	}
}

func TestFacts(t *testing.T) {
	r := open(t, catalog.Options{})
	million := llm.Usage{Input: 1e6, Output: 1e6}
	t.Run("one-hour cache writes of Claude cost twice the input", func(t *testing.T) {
		c := lookup(t, r, "anthropic/claude-sonnet-4-5").Price.Cost(llm.Usage{CacheWrite: 2000, CacheWriteLong: 1000})
		if want := llm.Dollars(0.006 + 0.00375); c.Total != want || c.Unreliable {
			t.Errorf("got %v (unreliable %v), want %v", c.Total.Float(), c.Unreliable, want.Float())
		}
	})
	t.Run("long prompts of Gemini Pro", func(t *testing.T) {
		c := lookup(t, r, "google/gemini-3.1-pro-preview").Price.Cost(llm.Usage{Input: 300_000, Output: 1000})
		if want := llm.Dollars(0.3*4 + 0.001*18); c.Total != want {
			t.Errorf("got %v, want %v", c.Total.Float(), want.Float())
		}
	})
	t.Run("Sonnet 4.6 costs the same at any length", func(t *testing.T) {
		if p := lookup(t, r, "anthropic/claude-sonnet-4-6").Price; len(p.Steps) != 0 {
			t.Errorf("steps %v", p.Steps)
		}
	})
	t.Run("zero in the source is unknown", func(t *testing.T) {
		for _, ref := range []string{"zai/glm-5.3-highspeed", "openrouter/openrouter/auto", "nvidia/moonshotai/kimi-k2.6", "google/gemma-4-31b-it"} {
			if c := lookup(t, r, ref).Price.Cost(million); !c.Unknown || c.Total != 0 {
				t.Errorf("%s: %+v", ref, c)
			}
		}
	})
	t.Run("free is free", func(t *testing.T) {
		if c := lookup(t, r, "openrouter/google/gemma-4-31b-it:free").Price.Cost(million); c.Unknown || c.Total != 0 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a plan's price stands in", func(t *testing.T) {
		if c := lookup(t, r, "openai-codex/gpt-6.1-terra").Price.Cost(million); !c.Unreliable || c.Total != llm.Dollars(9.5) {
			t.Errorf("%+v", c)
		}
	})
	t.Run("documents", func(t *testing.T) {
		for ref, want := range map[string]bool{
			"anthropic/claude-opus-4-6": true, "openai/gpt-5": true, "google/gemini-2.5-flash": true,
			"amazon-bedrock/us.anthropic.claude-opus-4-6-v1": true, "openai/o3-mini": false, "openrouter/openai/gpt-5": false,
		} {
			if got := lookup(t, r, ref).Accepts(llm.ModalityDocument); got != want {
				t.Errorf("%s: %v", ref, got)
			}
		}
	})
	t.Run("thinking", func(t *testing.T) {
		for ref, want := range map[string]llm.ThinkingSupport{
			"anthropic/claude-opus-4-6": {
				Mode: llm.ThinkingAdaptive, Levels: []llm.Level{"low", "medium", "high", "xhigh"}, Words: map[llm.Level]string{"xhigh": "max"},
			},
			"anthropic/claude-haiku-4-5": {Mode: llm.ThinkingBudget},
			"openai/gpt-5.2": {
				Mode: llm.ThinkingEffort, Levels: []llm.Level{"low", "medium", "high", "xhigh"}, Words: map[llm.Level]string{"off": "none"},
			},
			"google/gemini-3.1-pro-preview": {Mode: llm.ThinkingEffort, Always: true, Levels: []llm.Level{"low", "medium", "high"}},
			"google/gemini-2.5-pro":         {Mode: llm.ThinkingBudget, Always: true},
			"openai/gpt-4.1":                {},
		} {
			if d := cmp.Diff(want, lookup(t, r, ref).Thinking); d != "" {
				t.Errorf("%s: %s", ref, d)
			}
		}
	})
	t.Run("spark", func(t *testing.T) {
		m, ok := catalog.Promotion(r.Registry, lookup(t, r, "openai/gpt-5.3-codex-spark"))
		if !ok || m.Ref() != "openai/gpt-5.3-codex" {
			t.Errorf("got %v", m)
		}
	})
	t.Run("dialect", func(t *testing.T) {
		if c := lookup(t, r, "moonshotai/kimi-k2.6").Compat; c.MaxTokensField != "max_tokens" || c.SupportsStore == nil || *c.SupportsStore {
			t.Errorf("%+v", c)
		}
		if m := lookup(t, r, "mistral/devstral-medium-latest"); m.API != llm.APICompletions || m.BaseURL != "https://api.mistral.ai/v1" {
			t.Errorf("mistral is %s at %s", m.API, m.BaseURL)
		}
	})
	t.Run("variables of the base URL", func(t *testing.T) {
		m := lookup(t, r, "cloudflare-workers-ai/@cf/openai/gpt-oss-20b")
		if d := cmp.Diff([]string{"CLOUDFLARE_ACCOUNT_ID"}, m.Needs); d != "" || r.Registry.Available(m) {
			t.Errorf("needs %v, available %v", m.Needs, r.Registry.Available(m))
		}
		set := open(t, catalog.Options{Getenv: env("CLOUDFLARE_ACCOUNT_ID", "abc")})
		if m := lookup(t, set, m.Ref()); m.BaseURL != "https://api.cloudflare.com/client/v4/accounts/abc/ai/v1" || !set.Registry.Available(m) {
			t.Errorf("base URL %s", m.BaseURL)
		}
	})
}

// env is an environment of these names and values.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// only says that these providers have credentials.
func only(providers ...string) func(string) bool {
	return func(p string) bool { return slices.Contains(providers, p) }
}
