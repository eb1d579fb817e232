package catalog_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

// A model without a price of its own is priced as the vendor's model of its id:
// reliably when the id is the vendor's, unreliably when it differs by a date or
// the like, and not at all when only the beginning looks familiar.
func TestPriceByReference(t *testing.T) {
	tests := []struct {
		id         string
		in, out    float64 // 0 = unknown
		unreliable bool
	}{
		{"claude-opus-4-6", 5, 25, false},
		{"claude-opus-4-6-20260205", 5, 25, true},
		{"claude-opus-4-1", 15, 75, false},
		{"claude-opus-4-1-20250805", 15, 75, false},
		{"claude-opus-4-1-20251231", 15, 75, true},
		{"claude-opus-4-20250514", 15, 75, false},
		{"claude-opus-4-20250601", 15, 75, true},
		{"claude-opus-4-5@20251101", 5, 25, false},
		{"claude-3-opus-latest", 15, 75, true},
		{"claude-3-opus-20240229", 15, 75, false},
		{"claude-opus-4-9", 0, 0, false},
		{"claude-opus-9", 0, 0, false},
		{"anthropic/claude-opus-4.6", 5, 25, false},
		{"us.anthropic.claude-haiku-4-5-20251001-v1:0", 1, 5, false},
		{"gpt-4o", 2.5, 10, false},
		{"gpt-4o-2024-05-13", 5, 15, false},
		{"gpt-4o-2024-08-06", 2.5, 10, false},
		{"gpt-4o-2024-12-17", 2.5, 10, true},
		{"gpt-4o-mini-2024-07-18", 0.15, 0.6, true},
		{"gpt-4.1-2025-04-14", 2, 8, true},
		{"gpt-5-mini-2025-08-07", 0.25, 2, true},
		{"gpt-5-nano-2025-08-07", 0.05, 0.4, true},
		{"gpt-5-2025-08-07", 1.25, 10, true},
		{"gpt-5.2-pro-2025-12-11", 21, 168, true},
		{"gpt-5.9", 0, 0, false},
		{"gpt-5-micro", 0, 0, false},
		{"gemini-2.5-pro-preview-05-06", 1.25, 10, true},
		{"gemini-3.1-pro-preview", 2, 12, false},
		{"llama3:8b", 0, 0, false},
	}
	r := open(t, catalog.Options{})
	for _, tt := range tests {
		m, err := r.Registry.Unlisted("elsewhere", tt.id, llm.APIResponses, "https://proxy.example/v1")
		if err != nil {
			t.Fatal(err)
		}
		c := m.Price.Cost(llm.Usage{Input: 1e5, Output: 1e6})
		if tt.in == 0 {
			if !c.Unknown || c.Total != 0 {
				t.Errorf("%s: %+v, want unknown", tt.id, c)
			}
			continue
		}
		if c.Input != llm.Dollars(tt.in/10) || c.Output != llm.Dollars(tt.out) || c.Unreliable != tt.unreliable || c.Unknown {
			t.Errorf("%s: %+v, want %v/%v unreliable %v", tt.id, c, tt.in, tt.out, tt.unreliable)
		}
	}
}

func TestUnlisted(t *testing.T) {
	r := open(t, catalog.Options{Available: only()})
	m, err := r.Registry.Unlisted("local", "any/thing:7b", "", "http://127.0.0.1:9/v1")
	if err != nil || m.API != llm.APICompletions || m.BaseURL != "http://127.0.0.1:9/v1" || !r.Registry.Available(m) {
		t.Errorf("%+v %v", m, err)
	}
	m, err = r.Registry.Unlisted("anthropic", "claude-sonnet-9", "", "")
	if err != nil || m.API != llm.APIAnthropic || m.BaseURL != "https://api.anthropic.com" || m.ContextWindow != 0 || r.Registry.Available(m) {
		t.Errorf("%+v %v", m, err)
	}
	m, err = r.Registry.Unlisted("openai", "gpt-5", "", "https://proxy.example/v1")
	if err != nil || m.BaseURL != "https://proxy.example/v1" || m.ContextWindow != 400000 {
		t.Errorf("%+v %v", m, err)
	}
	_, err = r.Registry.Unlisted("anthropc", "x", "", "")
	if want := `no provider "anthropc"; did you mean anthropic?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := r.Registry.Unlisted("x", "", "", ""); err == nil {
		t.Error("no id")
	}
}
