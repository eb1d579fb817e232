package compact_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// sample is a text whose tokens were counted by the tokenizers themselves.
type sample struct {
	Name   string `json:"name"`
	CL100k int    `json:"cl100k"`
	O200k  int    `json:"o200k"`
	Text   string `json:"text"`
}

func samples(t testing.TB) []sample {
	t.Helper()
	data, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// The mean of the two tokenizers is what is estimated; where they differ by more than
// a quarter themselves, the estimate has to lie between them.
func TestTokensOfKnownTexts(t *testing.T) {
	const overhead = 4
	sum, n := 0.0, 0
	for _, s := range samples(t) {
		m := llm.UserText(s.Text)
		got := compact.Tokens(&m) - overhead
		mean := float64(s.CL100k+s.O200k) / 2
		off := float64(got)/mean - 1
		t.Logf("%-13s %4d estimated, %4d cl100k, %4d o200k: %+.1f %%", s.Name, got, s.CL100k, s.O200k, 100*off)
		sum += math.Abs(off)
		n++
		low, high := min(s.CL100k, s.O200k), max(s.CL100k, s.O200k)
		switch {
		case high*4 > low*5:
			if float64(got) < float64(low)*0.9 || float64(got) > float64(high)*1.1 {
				t.Errorf("%s: %d is not between %d and %d", s.Name, got, low, high)
			}
		case math.Abs(off) > 0.2:
			t.Errorf("%s: %d is %.0f %% off %.0f", s.Name, got, 100*off, mean)
		}
	}
	if mean := sum / float64(n); mean > 0.10 {
		t.Errorf("the mean error is %.1f %%, want at most 10 %%", 100*mean)
	}
}

func TestTokensOfBlocks(t *testing.T) {
	text := strings.Repeat("some words ", 100)
	plain := llm.UserText(text)
	base := compact.Tokens(&plain)
	for name, tc := range map[string]struct {
		block     llm.Block
		low, high int // beside the text
	}{
		"image":     {llm.Image{MIME: "image/png", Data: make([]byte, 1<<20)}, 1200, 1200},
		"thinking":  {llm.Thinking{Text: text}, base - 10, base + 10},
		"redacted":  {llm.Thinking{Redacted: true, Signature: strings.Repeat("x", 5000)}, 900, 1100},
		"call":      {llm.ToolCall{Name: "bash", Arguments: `{"command":"go test ./..."}`}, 8, 25},
		"extracted": {llm.Document{Data: make([]byte, 1<<20), Text: text}, base - 10, base + 10},
		"document":  {llm.Document{Data: make([]byte, 100<<10)}, 2000, 5000},
		"opaque":    {llm.Opaque{Raw: json.RawMessage(`{"type":"web_search","query":"go"}`)}, 8, 25},
	} {
		t.Run(name, func(t *testing.T) {
			m := plain
			m.Content = append(m.Content[:1:1], tc.block)
			if got := compact.Tokens(&m) - base; got < tc.low || got > tc.high {
				t.Errorf("it counts %d tokens, want %d to %d", got, tc.low, tc.high)
			}
		})
	}
}

func TestTokensAllocatesNothing(t *testing.T) {
	m := llm.UserText(strings.Repeat("func main() {}\n", 1000))
	m.Content = append(m.Content, llm.ToolCall{Name: "read", Arguments: `{"path":"a"}`}, llm.Opaque{Raw: json.RawMessage("{}")})
	if n := testing.AllocsPerRun(10, func() { compact.Tokens(&m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTokensOfPath(t *testing.T) {
	big := strings.Repeat("one two three four five ", 400)
	b := branch{}
	b.user("old " + big)
	b.answer("fine", call("c1", "bash", `{}`))
	b.result("c1", "bash", big)
	b.answer("done")
	all := compact.TokensOf(b.path)
	b.prune(transcript.Short{EntryID: b.id(2), Text: "[gone]"})
	pruned := compact.TokensOf(b.path)
	if gone := all - pruned; gone < 1500 || gone > 2500 {
		t.Errorf("the prune took out %d tokens, want about 2,000", gone)
	}
	b.compaction("short summary", b.id(3))
	if got := compact.TokensOf(b.path); got > 40 {
		t.Errorf("after a compaction %d tokens are left, want a few", got)
	}
}

func BenchmarkTokens(b *testing.B) {
	var text strings.Builder
	for text.Len() < 1<<20 {
		for _, s := range samples(b) {
			text.WriteString(s.Text)
		}
	}
	m := llm.UserText(text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		compact.Tokens(&m)
	}
}
