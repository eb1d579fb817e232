package llm_test

import (
	"math"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
)

func TestCost(t *testing.T) {
	sonnet := llm.Price{
		Input: llm.PerMillion(3), Output: llm.PerMillion(15), CacheRead: llm.PerMillion(0.3), CacheWrite: llm.PerMillion(3.75),
		CacheWriteLong: llm.PerMillion(6), WebSearch: llm.PerMillion(10),
		Steps: []llm.PriceStep{{Above: 200_000, Input: llm.PerMillion(6), Output: llm.PerMillion(22.5), CacheRead: llm.PerMillion(0.6), CacheWrite: llm.PerMillion(7.5)}},
	}
	d := llm.Dollars
	tests := []struct {
		name  string
		price llm.Price
		usage llm.Usage
		want  llm.Cost
	}{
		{"plain", sonnet, llm.Usage{Input: 1200, Output: 350}, llm.Cost{Input: d(.0036), Output: d(.00525), Total: d(.00885)}},
		{"reasoning is not charged twice", sonnet, llm.Usage{Output: 350, Reasoning: 300}, llm.Cost{Output: d(.00525), Total: d(.00525)}},
		{
			"cache tiers and a search", sonnet,
			llm.Usage{CacheRead: 1_000_000, CacheWrite: 3000, CacheWriteLong: 1000, WebSearches: 2},
			llm.Cost{CacheRead: d(.6), CacheWrite: d(2000*7.5e-6 + 1000*12e-6), Tools: d(.02), Total: d(.6 + .015 + .012 + .02), Unreliable: true},
		},
		{"exactly at the step", sonnet, llm.Usage{Input: 200_000}, llm.Cost{Input: d(.6), Total: d(.6)}},
		{"above the step all tokens cost more", sonnet, llm.Usage{Input: 1, CacheRead: 200_000, Output: 10}, llm.Cost{Input: d(6e-6), CacheRead: d(.12), Output: d(.000225), Total: d(.120231)}},
		{"unknown is not free", llm.Price{}, llm.Usage{Input: 10}, llm.Cost{Unknown: true}},
		{"free is known", llm.Price{Input: llm.PerMillion(0), Output: llm.PerMillion(0)}, llm.Usage{Input: 10, Output: 5}, llm.Cost{}},
		{"a missing cache rate is replaced by the input's", llm.Price{Input: llm.PerMillion(2), Output: llm.PerMillion(4)}, llm.Usage{CacheRead: 1000, CacheWrite: 1000}, llm.Cost{CacheRead: d(.002), CacheWrite: d(.0025), Total: d(.0045), Unreliable: true}},
		{"search without a rate", llm.Price{Input: llm.PerMillion(2), Output: llm.PerMillion(4)}, llm.Usage{WebSearches: 1}, llm.Cost{Unknown: true}},
		{"inferred price", llm.Price{Input: llm.PerMillion(2), Output: llm.PerMillion(4), Unreliable: true}, llm.Usage{Input: 1}, llm.Cost{Input: d(2e-6), Total: d(2e-6), Unreliable: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.price.Cost(tt.usage)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageAdd(t *testing.T) {
	a := llm.Usage{Input: 1, Output: 2, CacheRead: 3, Cost: &llm.Cost{Total: 5, Unknown: true}}
	b := llm.Usage{Input: 10, CacheWrite: 4, Reasoning: 1, WebSearches: 1, Cost: &llm.Cost{Total: 7}}
	sum := a.Add(b).Add(llm.Usage{})
	want := llm.Usage{Input: 11, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 1, WebSearches: 1, Cost: &llm.Cost{Total: 12, Unknown: true}}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Error(diff)
	}
	if a.Cost.Total != 5 {
		t.Error("Add changed its receiver")
	}
}

func TestClamp(t *testing.T) {
	effort := llm.ThinkingSupport{Mode: llm.ThinkingEffort, Levels: []llm.Level{"low", "medium", "high"}, Default: "medium"}
	always := llm.ThinkingSupport{Mode: llm.ThinkingEffort, Levels: []llm.Level{"low", "high"}, Always: true}
	tests := []struct {
		s        llm.ThinkingSupport
		in, want llm.Level
	}{
		{effort, "", "medium"},
		{effort, "off", "off"},
		{effort, "minimal", "low"},
		{effort, "xhigh", "high"},
		{effort, "medium", "medium"},
		{always, "off", "low"},
		{always, "medium", "low"},
		{always, "", ""},
		{llm.ThinkingSupport{}, "high", "off"},
		{llm.ThinkingSupport{Mode: llm.ThinkingBudget}, "xhigh", "high"},
	}
	for _, tt := range tests {
		if got := tt.s.Clamp(tt.in); got != tt.want {
			t.Errorf("%+v.Clamp(%q) = %q, want %q", tt.s, tt.in, got, tt.want)
		}
	}
}

// A vendor that reports only the long part of a cache write is not owed money.
func TestNegativeCost(t *testing.T) {
	c := llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15), CacheWrite: llm.PerMillion(3.75)}.Cost(llm.Usage{CacheWriteLong: 100000})
	if c.CacheWrite < 0 || c.Total <= 0 {
		t.Errorf("%+v", c)
	}
}

func TestUSDString(t *testing.T) {
	for usd, want := range map[llm.USD]string{
		0: "$0.00", 1: "$0.000000001", 10_000: "$0.00001", 12_345: "$0.000012", 100_000: "$0.0001", 123_456: "$0.00012", 49_999: "$0.00005",
		1_000_000: "$0.0010", 12_345_678: "$0.0123", 999_949_999: "$0.9999", 1_000_000_000: "$1.00", 1_234_567_890: "$1.23",
		123_456_789_000_000: "$123456.79", -5e8: "-$0.5000", math.MinInt64: "-$9223372036.85",
	} {
		if got := usd.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(usd), got, want)
		}
	}
}
