//go:build linux

package attack

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Runs side by side under a ceiling that is smaller than what two requests may cost at
// most: they wait for each other, or say what the ceiling would have to be.
func TestMoneyParallel(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"month", "project"} {
		for _, ceiling := range []string{"0.1", "1.2"} {
			b := newBox(t)
			b.put(t, "ws/a.txt", "alpha\n")
			b.put(t, "home/.burin/config.yml", b.content("home/.burin/config.yml")+"limits: {"+which+": "+ceiling+"}\n")
			var turns []llmtest.Turn
			for range 40 {
				turns = append(turns, llmtest.Turn{
					Parts: []llmtest.Part{{Text: "done"}}, Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 20}), Pace: 100e6,
				})
			}
			srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			ends := make([]ended, 3)
			var wg sync.WaitGroup
			for i := range ends {
				wg.Go(func() {
					ends[i] = b.start(t, limits{}, nil, "-p", "hi", "--no-tools", "--model", "anthropic/claude-sonnet-4-5", "--api-key", "k", "--base-url", srv.URL)
				})
			}
			wg.Wait()
			seen := ""
			// Besides the ceiling itself, the message names an amount that would do.
			amounts := regexp.MustCompile(`\$[0-9.]*[0-9]( (spent|held|under way))?`)
			for _, e := range ends {
				if e.code == 0 {
					continue
				}
				enough := false
				for _, a := range amounts.FindAllString(e.err, -1) {
					var dollars, limit float64
					if strings.HasSuffix(a, "spent") || strings.HasSuffix(a, "held") || strings.HasSuffix(a, "under way") {
						continue
					}
					_, _ = fmt.Sscanf(a, "$%g", &dollars)
					_, _ = fmt.Sscanf(ceiling, "%g", &limit)
					enough = enough || dollars > limit
				}
				if !enough {
					seen = fmt.Sprintf("exit code %d: %s", e.code, e.err)
				}
			}
			hole(t, which+" "+ceiling, "three runs at once under limits."+which+" of $"+ceiling, seen)
		}
	}
}

// A ceiling holds, however many runs there are at once.
func TestMoneyCeiling(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "home/.burin/config.yml", b.content("home/.burin/config.yml")+"limits: {month: 1.5}\n")
	var turns []llmtest.Turn
	for range 60 { // each costs 0.6 dollars
		turns = append(turns, llmtest.Turn{Parts: []llmtest.Part{{Text: "done"}}, Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100_000, Output: 20_000})})
	}
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b.start(t, limits{}, nil, "-p", "hi", "--no-tools", "--model", "anthropic/claude-sonnet-4-5", "--api-key", "k", "--base-url", srv.URL)
		})
	}
	wg.Wait()
	seen := ""
	if n := len(srv.Raw()); n > 3 {
		seen = fmt.Sprintf("%d requests of $0.60 under a ceiling of $1.50", n)
	}
	hole(t, "eight at once", "eight runs at once under a ceiling for two", seen)
}
