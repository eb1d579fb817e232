package llm_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
)

func TestNegativeCost(t *testing.T) {
	c := llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15), CacheWrite: llm.PerMillion(3.75)}.Cost(llm.Usage{CacheWriteLong: 100000})
	if c.CacheWrite < 0 || c.Total <= 0 {
		t.Errorf("%+v", c)
	}
}
