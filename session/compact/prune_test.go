package compact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

func TestPays(t *testing.T) {
	claude := llm.Price{
		Input: llm.PerMillion(3), CacheRead: llm.PerMillion(0.3), CacheWrite: llm.PerMillion(3.75),
		Steps: []llm.PriceStep{{Above: 200_000, Input: llm.PerMillion(6), CacheRead: llm.PerMillion(3), CacheWrite: llm.PerMillion(7.5)}},
	}
	for name, tc := range map[string]struct {
		saved, after int
		c            compact.Cache
		want         bool
	}{
		"nothing saved":                       {0, 0, compact.Cache{Full: true}, false},
		"at the end of the prompt":            {1000, 0, compact.Cache{}, true},
		"small saving far back":               {1000, 50_000, compact.Cache{}, false},
		"break even is no gain":               {11_500, 5000, compact.Cache{Requests: 5}, false}, // 5·11,500·0.1 = 5,000·1.15
		"just above it":                       {11_501, 5000, compact.Cache{Requests: 5}, true},
		"the default is five requests":        {11_501, 5000, compact.Cache{}, true},
		"many requests to come":               {1000, 50_000, compact.Cache{Requests: 1000}, true},
		"the cache is cold":                   {1000, 50_000, compact.Cache{Idle: 5 * time.Minute}, true},
		"an hour's cache is not":              {1000, 50_000, compact.Cache{Idle: 30 * time.Minute, Life: time.Hour}, false},
		"the window needs it":                 {1000, 50_000, compact.Cache{Full: true}, true},
		"known prices: 5·0.3·S > 3.45·A":      {2301, 1000, compact.Cache{Price: claude}, true},
		"and not below":                       {2300, 1000, compact.Cache{Price: claude}, false},
		"prices of a long prompt":             {301, 1000, compact.Cache{Price: claude, Prompt: 250_000}, true},
		"a vendor who does not charge writes": {1801, 1000, compact.Cache{Price: llm.Price{Input: llm.PerMillion(2), CacheRead: llm.PerMillion(0.2), CacheWrite: llm.PerMillion(0)}}, true},
		"still charges input":                 {1800, 1000, compact.Cache{Price: llm.Price{Input: llm.PerMillion(2), CacheRead: llm.PerMillion(0.2), CacheWrite: llm.PerMillion(0)}}, false},
		"a local model has work, no price":    {1000, 50_000, compact.Cache{Price: llm.Price{Input: llm.PerMillion(0), Output: llm.PerMillion(0)}}, false},
		"reading is no cheaper than writing":  {1, 1 << 40, compact.Cache{Price: llm.Price{Input: llm.PerMillion(2), CacheRead: llm.PerMillion(2), CacheWrite: llm.PerMillion(2)}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := compact.Pays(tc.saved, tc.after, tc.c); got != tc.want {
				t.Errorf("Pays(%d, %d) = %v", tc.saved, tc.after, got)
			}
		})
	}
}

var cold = compact.PruneOptions{Cache: compact.Cache{Idle: time.Hour}}

// entries are the ids that a prune shortens, as numbers.
func pruned(p *transcript.Prune) string {
	if p == nil {
		return ""
	}
	var all []string
	for _, s := range p.Entries {
		all = append(all, strings.TrimLeft(strings.TrimPrefix(s.EntryID, "e"), "0"))
	}
	return strings.Join(all, " ")
}

func TestSuperseded(t *testing.T) {
	read := func(b *branch, path string) { b.use("read", fmt.Sprintf(`{"path":%q}`, path), words(200)) }
	for name, tc := range map[string]struct {
		build func(b *branch)
		want  string
	}{
		"read again":              {func(b *branch) { read(b, "a.go"); read(b, "./a.go") }, "1"},
		"three times":             {func(b *branch) { read(b, "a.go"); read(b, "a.go"); read(b, "a.go") }, "1 3"},
		"another file":            {func(b *branch) { read(b, "a.go"); read(b, "b.go") }, ""},
		"same range":              {func(b *branch) { read(b, "a.go:1-20"); read(b, "a.go:1-20") }, "1"},
		"another range":           {func(b *branch) { read(b, "a.go:1-20"); read(b, "a.go:30-40") }, ""},
		"a range, then the whole": {func(b *branch) { read(b, "a.go:1-20"); read(b, "a.go") }, "1"},
		"the whole, then a range": {func(b *branch) { read(b, "a.go"); read(b, "a.go:1-20") }, ""},
		"written as a whole":      {func(b *branch) { read(b, "a.go:5"); b.use("write", `{"path":"a.go","content":"x"}`, "ok") }, "1"},
		"edited":                  {func(b *branch) { read(b, "a.go"); b.use("edit", `{"path":"a.go"}`, "ok") }, ""},
		"a row was written":       {func(b *branch) { read(b, "x.db:users"); b.use("write", `{"path":"x.db:users","content":"x"}`, "ok") }, ""},
		"an address":              {func(b *branch) { read(b, "artifact://3"); read(b, "artifact://3") }, ""},
		"the newer read failed":   {func(b *branch) { read(b, "a.go"); read(b, "a.go"); b.path[3].Message.IsError = true }, ""},
		"the write failed": {func(b *branch) {
			read(b, "a.go")
			b.use("write", `{"path":"a.go"}`, "no")
			b.path[3].Message.IsError = true
		}, ""},
		"the newer read was cut":        {func(b *branch) { read(b, "a.go:3000-3100"); read(b, "a.go"); cutShort(b, 3) }, ""},
		"cut, but the same":             {func(b *branch) { read(b, "a.go"); read(b, "a.go"); cutShort(b, 3) }, "1"},
		"not twice":                     {func(b *branch) { read(b, "a.go"); read(b, "a.go"); b.prune(transcript.Short{EntryID: "e0001"}) }, ""},
		"a plan":                        {func(b *branch) { read(b, "PLAN.md"); read(b, "PLAN.md") }, ""},
		"before what is compacted away": {func(b *branch) { read(b, "a.go"); b.compaction("s", ""); read(b, "a.go") }, ""},
		"too small to be worth a note": {func(b *branch) {
			b.use("read", `{"path":"a"}`, "x")
			b.use("read", `{"path":"a"}`, "x")
		}, ""},
		"ids that come again": {func(b *branch) {
			for _, p := range []string{"a.go", "b.go", "a.go"} {
				b.answer("", call("call_0", "read", `{"path":"`+p+`"}`))
				b.result("call_0", "read", words(200))
			}
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			var b branch
			tc.build(&b)
			o := cold
			o.Plans = []string{"PLAN.md"}
			if got := pruned(compact.Superseded(b.path, o)); got != tc.want {
				t.Errorf("entries %q are shortened, want %q", got, tc.want)
			}
		})
	}
}

func cutShort(b *branch, i int) { b.path[i].Message.Details = json.RawMessage(`{"truncated":true}`) }

// With a warm cache, what is near the end is shortened and what would void too much of
// the cache is not.
func TestSupersededCountsTheCost(t *testing.T) {
	var b branch
	b.use("read", `{"path":"far.go"}`, words(1000))
	b.use("bash", `{}`, words(40_000))
	b.use("read", `{"path":"far.go"}`, words(1000))
	b.use("read", `{"path":"near.go"}`, words(1000))
	b.use("read", `{"path":"near.go"}`, words(100))
	if got := pruned(compact.Superseded(b.path, compact.PruneOptions{})); got != "7" {
		t.Errorf("warm: entries %q are shortened, want 7", got)
	}
	if got := pruned(compact.Superseded(b.path, compact.PruneOptions{Cache: compact.Cache{Requests: 500}})); got != "1 7" {
		t.Errorf("with many requests to come: entries %q are shortened, want 1 7", got)
	}
	if got := pruned(compact.Superseded(b.path, cold)); got != "1 7" {
		t.Errorf("cold: entries %q are shortened, want 1 7", got)
	}
}

func TestOld(t *testing.T) {
	var b branch
	b.user("begin")
	b.use("bash", `{}`, words(15_000))                      // 2
	b.use("skill", `{}`, words(15_000))                     // 4
	b.use("read", `{"path":"skill://review"}`, words(9000)) // 6
	b.use("read", `{"path":"PLAN.md"}`, words(9000))        // 8
	b.use("read", `{"path":"a.go"}`, words(9000))           // 10
	b.use("bash", `{}`, words(27_000))                      // 12
	b.use("bash", `{}`, words(14_000))                      // 14
	o := cold
	o.Plans = []string{"PLAN.md"}
	p := compact.Old(b.path, o)
	if got := pruned(p); got != "2 10" {
		t.Fatalf("entries %q are shortened, want 2 10", got)
	}
	if p.Reason != compact.ReasonOld || !strings.Contains(p.Entries[0].Text, "history gives it: id e0002") {
		t.Errorf("the prune is %+v", p)
	}
	before := compact.TokensOf(b.path)
	b.record(p)
	if saved := before - compact.TokensOf(b.path); saved < 23_000 {
		t.Errorf("it saves %d tokens, want 24,000", saved)
	}
	if p := compact.Old(b.path, o); p != nil {
		t.Errorf("what is short is shortened again: %v", pruned(p))
	}
}

func TestOldWantsEnough(t *testing.T) {
	var b branch
	b.use("bash", `{}`, words(15_000))
	b.use("bash", `{}`, words(41_000))
	if p := compact.Old(b.path, cold); p != nil {
		t.Errorf("15,000 tokens are shortened: %v", pruned(p))
	}
	o := cold
	o.MinSavings = -1
	if got := pruned(compact.Old(b.path, o)); got != "1" {
		t.Errorf("without a minimum, entries %q are shortened, want 1", got)
	}
	o = compact.PruneOptions{MinSavings: -1}
	if p := compact.Old(b.path, o); p != nil {
		t.Errorf("it does not pay, and is done: %v", pruned(p))
	}
}

func TestShake(t *testing.T) {
	fence := "```go\n" + words(500) + "\n```"
	var b branch
	b.user("look at this:\n" + fence + "\nand this\n<log>\n" + words(450) + "\n</log>\nplease") // 0
	b.use("bash", `{}`, words(4000))                                                            // 2
	b.use("skill", `{}`, words(3000))                                                           // 4
	b.use("bash", `{}`, "short")                                                                // 6
	b.answer("small:\n```\nx\n```\nand open:\n```\n" + words(500))                              // 7
	b.use("bash", `{}`, words(16_000))                                                          // 9
	var kind, kept string
	put := func(k, text string) (string, error) {
		kind, kept = k, text
		return "artifact://7", nil
	}
	p, err := compact.Shake(b.path, compact.PruneOptions{}, put)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Entries) != 2 || p.Entries[0].EntryID != "e0000" || p.Entries[1].EntryID != "e0002" {
		t.Fatalf("the prune is %+v", p)
	}
	text := p.Entries[0].Text
	if !strings.HasPrefix(text, "look at this:\n[~") || !strings.HasSuffix(text, "tokens were moved to artifact://7, region 2]\nplease") ||
		!strings.Contains(text, "region 1]\nand this\n[~") || p.Entries[0].Block == nil {
		t.Errorf("what is left of the message is %q", text)
	}
	if !strings.Contains(p.Entries[1].Text, "artifact://7, region 3") {
		t.Errorf("what is left of the result is %q", p.Entries[1].Text)
	}
	if kind != "shake" || !strings.Contains(kept, "### region 1 (fenced block, ~") || !strings.Contains(kept, "### region 2 (<log> block, ~") ||
		!strings.Contains(kept, "### region 3 (bash, ~") || !strings.Contains(kept, fence) {
		t.Errorf("the artifact of kind %s begins %.200q", kind, kept)
	}
	full := errors.New("the disk is full")
	if _, err := compact.Shake(b.path, compact.PruneOptions{}, func(string, string) (string, error) { return "", full }); !errors.Is(err, full) {
		t.Errorf("error = %v, want that of put", err)
	}
	p, err = compact.Shake(b.path, compact.PruneOptions{Protect: -1, MinSavings: -1}, put)
	if err != nil || pruned(p) != " 2 9" {
		t.Errorf("by hand, entries %q are shaken (%v), want 0, 2 and 9", pruned(p), err)
	}
}

func TestShakeNotWorthIt(t *testing.T) {
	var b branch
	b.use("bash", `{}`, words(2000))
	b.use("bash", `{}`, words(17_000))
	p, err := compact.Shake(b.path, compact.PruneOptions{}, func(string, string) (string, error) {
		t.Error("an artifact was written")
		return "", nil
	})
	if p != nil || err != nil {
		t.Errorf("Shake = %v, %v", p, err)
	}
}

// What is left and what was moved make up the whole.
func FuzzShake(f *testing.F) {
	f.Add("a\n```go\nx\n```\nb")
	f.Add("<a>\n<b>\n</a>\n</b>\n~~~\n```\n~~~~")
	f.Add("\r\n<x y=1>\r\n</x>\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "x", strings.Repeat("word ", 600)), "[~", "")
		var b branch
		b.user(text)
		var kept string
		p, err := compact.Shake(b.path, compact.PruneOptions{Protect: -1, MinSavings: -1}, func(_, s string) (string, error) {
			kept = s
			return "REF", nil
		})
		if err != nil || p == nil {
			return
		}
		rest := p.Entries[0].Text
		for _, part := range regexp.MustCompile(`\[~\d+ tokens were moved to REF, region \d+\]`).Split(rest, -1) {
			i := strings.Index(text, part)
			if i < 0 {
				t.Fatalf("%q is left, and was not there", part)
			}
			if gone := text[:i]; gone != "" && !strings.Contains(kept, gone) {
				t.Fatalf("%.100q is neither left nor kept", gone)
			}
			text = text[i+len(part):]
		}
		if text != "" && !strings.Contains(kept, text) {
			t.Fatalf("the end, %.100q, is neither left nor kept", text)
		}
	})
}
