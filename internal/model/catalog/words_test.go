package catalog_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

func TestTokenWords(t *testing.T) {
	for n, want := range map[int]string{
		0: "?", 1: "1", 8192: "8.2k", 200_000: "200k", 1_048_576: "1M",
	} {
		if got := catalog.TokenWords(n); got != want {
			t.Errorf("%d tokens are %s, want %s", n, got, want)
		}
	}
}

func TestRateWords(t *testing.T) {
	for _, tt := range []struct {
		rate       llm.Rate
		unreliable bool
		want       string
	}{
		{llm.Rate{}, false, "?"},
		{llm.Rate{}, true, "?"},
		{llm.PerMillion(0), false, "free"},
		{llm.PerMillion(3), false, "$3"},
		{llm.PerMillion(0.3), false, "$0.30"},
		{llm.PerMillion(1.25), true, "~$1.25"},
		{llm.PerMillion(0.075), false, "$0.075"},
		{llm.PerMillion(112.519), false, "$112.52"},
	} {
		if got := catalog.RateWords(tt.rate, tt.unreliable); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.rate, got, tt.want)
		}
	}
}
