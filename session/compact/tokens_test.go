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

// Each sample is within 10 % of what the
// tokenizers count. The mean lies between them where they differ more.
func TestTokensOfKnownTexts(t *testing.T) {
	for _, s := range samples(t) {
		for _, tt := range []struct {
			tokenizer compact.Tokenizer
			name      string
			want      float64
		}{{compact.CL100k, "cl100k", float64(s.CL100k)}, {compact.O200k, "o200k", float64(s.O200k)}, {compact.Mean, "mean", float64(s.CL100k+s.O200k) / 2}} {
			got := tt.tokenizer.Text(s.Text)
			off := 100 * (float64(got)/tt.want - 1)
			t.Logf("%-13s %-6s %5d estimated, %5.0f counted: %+.1f %%", s.Name, tt.name, got, tt.want, off)
			if math.Abs(off) > 10 {
				t.Errorf("%s: %d is %.1f %% off %s, %.0f", s.Name, got, off, tt.name, tt.want)
			}
		}
	}
}

// A message costs what its model's tokenizer makes of it.
func TestTokensByTokenizer(t *testing.T) {
	for _, s := range samples(t) {
		if s.Name != "hindi" {
			continue
		}
		m := llm.UserText(s.Text)
		if old, now := compact.CL100k.Tokens(&m), compact.O200k.Tokens(&m); old < 2*now {
			t.Errorf("%d tokens of cl100k and %d of o200k, want more than twice as many", old, now)
		}
		if compact.Tokens(&m) != compact.Mean.Tokens(&m) {
			t.Error("Tokens is not that of the mean")
		}
	}
}

func TestTokenizerOf(t *testing.T) {
	for model, want := range map[string]compact.Tokenizer{
		"gpt-4": compact.CL100k, "gpt-4-turbo": compact.CL100k, "gpt-3.5-turbo": compact.CL100k, "openai/gpt-4o-mini": compact.O200k,
		"gpt-5.3-codex": compact.O200k, "o3": compact.O200k, "gpt-4.1": compact.O200k, "openai/gpt-oss-120b": compact.O200k,
		"claude-sonnet-4-5": compact.Mean, "gemini-3-pro": compact.Mean, "": compact.Mean,
	} {
		if got := compact.TokenizerOf(model); got != want {
			t.Errorf("%q has the tokenizer %d, want %d", model, got, want)
		}
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
