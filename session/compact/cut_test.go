package compact_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

func TestThreshold(t *testing.T) {
	for name, tc := range map[string]struct {
		set    func(*compact.Settings)
		window int
		want   int
	}{
		"large window":      {nil, 200_000, 170_000},
		"reserve is larger": {nil, 100_000, 100_000 - 16384},
		"small window":      {nil, 8192, 4096},
		"unknown window":    {nil, 0, 0},
		"percent":           {func(s *compact.Settings) { s.ThresholdPercent = 60 }, 200_000, 120_000},
		"percent too large": {func(s *compact.Settings) { s.ThresholdPercent = 150 }, 200_000, 198_000},
		"tokens win":        {func(s *compact.Settings) { s.ThresholdTokens, s.ThresholdPercent = 50_000, 60 }, 200_000, 50_000},
		"tokens too many":   {func(s *compact.Settings) { s.ThresholdTokens = 1 << 30 }, 200_000, 199_999},
		"off":               {func(s *compact.Settings) { s.Strategy = compact.Off }, 200_000, 0},
		"disabled":          {func(s *compact.Settings) { s.Enabled = false }, 200_000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := compact.Defaults()
			if tc.set != nil {
				tc.set(&s)
			}
			if got := s.Threshold(tc.window); got != tc.want {
				t.Errorf("Threshold(%d) = %d, want %d", tc.window, got, tc.want)
			}
		})
	}
}

// Each case gives the entries before the cut, whole turns and split one, by number.
func TestPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		build                 func(b *branch)
		keep                  int
		history, prefix, kept string
	}{
		"at the beginning of a turn": {func(b *branch) {
			b.user(words(100))
			b.answer(words(100))
			b.user(words(100))
			b.answer(words(100))
		}, 200, "0 1", "", "2 3"},
		"never at a result": {func(b *branch) {
			b.user(words(100))
			b.answer("look", call("a", "bash", "{}"))
			b.result("a", "bash", words(150))
			b.answer("done")
			b.user("more")
		}, 100, "", "0 1 2", "3 4"},
		"but rather a little more than hardly anything": {func(b *branch) {
			b.user(words(100))
			b.answer("look", call("a", "bash", "{}"))
			b.result("a", "bash", words(100))
			b.user("more")
		}, 100, "", "0", "1 2 3"},
		"half is enough not to take more": {func(b *branch) {
			b.user(words(100))
			b.answer("look", call("a", "bash", "{}"))
			b.result("a", "bash", words(60))
			b.user(words(60))
		}, 100, "0 1 2", "", "3"},
		"before a turn with calls": {func(b *branch) {
			b.user("one")
			b.answer("two")
			b.user(words(40))
			b.answer("look", call("a", "ls", "{}"))
			b.result("a", "ls", words(20))
			b.answer(words(20))
		}, 90, "0 1", "", "2 3 4 5"},
		"rather less than a very large message": {func(b *branch) {
			b.user("first")
			b.answer("ok")
			b.user(words(5000))
			b.answer(words(50))
		}, 100, "0 1", "2", "3"},
		"an output that is larger than all that may stay": {func(b *branch) {
			b.user("first")
			b.answer("look", call("a", "bash", "{}"), call("b", "bash", "{}"))
			b.result("a", "bash", words(5000))
			b.result("b", "bash", "x")
		}, 100, "", "0", "1 2 3"},
		"a word in between results does not part them": {func(b *branch) {
			b.user("first")
			b.answer("look", call("a", "bash", "{}"), call("b", "bash", "{}"))
			b.result("a", "bash", "x")
			b.user(words(90))
			b.result("b", "bash", words(90))
		}, 100, "", "0", "1 2 3 4"},
		"split turn with history": {func(b *branch) {
			b.user("one")
			b.answer("two")
			b.user("three")
			b.answer("four", call("a", "ls", "{}"))
			b.result("a", "ls", words(100))
			b.answer(words(100))
		}, 90, "0 1", "2 3 4", "5"},
		"metadata goes with what follows": {func(b *branch) {
			b.user(words(100))
			b.answer(words(10))
			b.meta(transcript.TypeModel)
			b.meta(transcript.TypeLabel)
			b.user(words(100))
		}, 100, "0 1", "", "2 3 4"},
		"but not across a compaction": {func(b *branch) {
			b.user("gone")
			b.user(words(100))
			b.meta(transcript.TypeModel)
			b.compaction("s", "e0001")
			b.meta(transcript.TypeLabel)
			b.user(words(100))
		}, 100, "1 2 3", "", "4 5"},
		"what the last compaction kept is summarised": {func(b *branch) {
			b.user("gone")
			b.answer("gone")
			b.user(words(10))
			b.answer(words(10))
			b.compaction("s", "e0002")
			b.user(words(100))
			b.answer(words(100))
		}, 150, "2 3 4", "", "5 6"},
		"a custom message begins a turn": {func(b *branch) {
			b.user(words(10))
			b.answer(words(10))
			b.custom(words(60))
			b.answer(words(60))
		}, 110, "0 1", "", "2 3"},
		"a turn from before the window is history": {func(b *branch) {
			b.user("gone")
			b.answer("kept " + words(10))
			b.compaction("s", "e0001")
			b.answer(words(100))
		}, 100, "1 2", "", "3"},
		"words that were never for the model do not count": {func(b *branch) {
			b.user(words(50))
			b.answer(words(60))
			b.message(llm.Message{Role: llm.RoleCustom, CustomType: "excluded", Content: []llm.Block{llm.Text{Text: words(500)}}})
			b.user(words(60))
		}, 100, "", "0", "1 2 3"},
	} {
		t.Run(name, func(t *testing.T) {
			var b branch
			tc.build(&b)
			c := plan(t, b.path, tc.keep)
			for part, want := range map[*[]transcript.Entry]string{&c.History: tc.history, &c.Prefix: tc.prefix, &c.Kept: tc.kept} {
				if got := numbers(*part); got != want {
					t.Errorf("a part is %q, want %q (history %q, prefix %q, kept %q)",
						got, want, numbers(c.History), numbers(c.Prefix), numbers(c.Kept))
				}
			}
		})
	}
}

func numbers(entries []transcript.Entry) string {
	s := strings.ReplaceAll(ids(entries), "e000", "")
	return strings.ReplaceAll(s, "e00", "")
}

func TestPlanNothing(t *testing.T) {
	for name, build := range map[string]func(b *branch){
		"empty":              func(*branch) {},
		"only metadata":      func(b *branch) { b.meta(transcript.TypeModel) },
		"all of it recent":   func(b *branch) { b.user("hello"); b.answer("hi") },
		"one large message":  func(b *branch) { b.user(words(500)) },
		"just compacted":     func(b *branch) { b.user(words(500)); b.user(words(500)); b.compaction("s", "e0001") },
		"and then only meta": func(b *branch) { b.user(words(500)); b.compaction("s", "e0000"); b.meta(transcript.TypeModel) },
	} {
		t.Run(name, func(t *testing.T) {
			var b branch
			build(&b)
			if c, err := compact.Plan(b.path, options(100)); !errors.Is(err, compact.ErrNothing) {
				t.Errorf("Plan = %v, %v, want ErrNothing", c, err)
			}
		})
	}
}

// A vendor that counts twice what is estimated leaves half as much.
func TestPlanMeasures(t *testing.T) {
	var b branch
	b.user("begin")
	prompt := 5000 // system prompt and tools, which are not to count
	for range 20 {
		b.user(words(500))
		m := llm.AssistantText(words(500))
		prompt += 2 * 500
		m.Provider, m.Model, m.Usage = "p", "m", &llm.Usage{Input: prompt}
		prompt += 2 * 500
		b.message(m)
	}
	o := options(4000)
	c, err := compact.Plan(b.path, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Ratio < 1.8 || c.Ratio > 2.2 {
		t.Errorf("the ratio is %.2f, want about 2", c.Ratio)
	}
	o.Ratio = 1
	wide, err := compact.Plan(b.path, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Kept), len(wide.Kept)/2; got < want-1 || got > want+1 {
		t.Errorf("%d entries are kept, want about half of %d", got, len(wide.Kept))
	}
	e, _ := summarize(t, c, compact.SummaryOptions{}, "summary")
	if e.TokensBefore != prompt-2*500 {
		t.Errorf("TokensBefore = %d, want what the vendor counted, %d", e.TokensBefore, prompt-2*500)
	}
}

// A window of 8,192 tokens cannot keep 20,000.
func TestPlanKeepsLessOfASmallWindow(t *testing.T) {
	var b branch
	for range 20 {
		b.user(words(250))
		b.answer(words(250))
	}
	o := options(20_000)
	o.Window = 8192
	c, err := compact.Plan(b.path, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := compact.TokensOf(c.Kept); n > 3100 {
		t.Errorf("%d tokens are kept, want about a quarter of the window", n)
	}
}

// A path of any shape: the parts are the whole, nothing separates a call from its
// results, and a summary never covers less than the one before.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := randomBranch(t, 60)
		keep := rapid.IntRange(1, 3000).Draw(t, "keep")
		c, err := compact.Plan(b.path, options(keep))
		if errors.Is(err, compact.ErrNothing) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.TrimSpace(ids(c.History) + " " + ids(c.Prefix))
		whole := strings.Fields(parts + " " + ids(c.Kept))
		tail := b.path[len(b.path)-len(whole):]
		if got, want := strings.Join(whole, " "), ids(tail); got != want {
			t.Fatalf("the parts are %q, want the end of the path, %q", got, want)
		}
		if parts == "" {
			t.Fatal("nothing is summarised, without an error")
		}
		cut := len(b.path) - len(c.Kept)
		for i, e := range c.Kept {
			if e.Message == nil || e.Message.Role != llm.RoleToolResult {
				continue
			}
			if at := b.callOf(cut + i); at < cut {
				t.Fatalf("the call %s of result %s is cut off", b.id(at), e.ID)
			}
		}
	})
}

// callOf is the index of the call that the result at i answers.
func (b *branch) callOf(i int) int {
	for j := i - 1; j >= 0; j-- {
		if m := b.path[j].Message; m != nil && m.Role == llm.RoleAssistant {
			for _, c := range m.ToolCalls() {
				if c.ID == b.path[i].Message.ToolCallID {
					return j
				}
			}
		}
	}
	return -1
}

// randomBranch is a legal conversation with notes and metadata in between.
func randomBranch(t *rapid.T, most int) *branch {
	b := &branch{}
	b.user("begin")
	for range rapid.IntRange(1, most).Draw(t, "steps") {
		n := rapid.IntRange(0, 800).Draw(t, "size")
		switch rapid.IntRange(0, 8).Draw(t, "what") {
		case 0:
			b.user(words(n))
		case 1:
			b.custom(words(n))
		case 2:
			b.meta(transcript.TypeModel)
		case 3:
			b.add(transcript.Entry{Type: transcript.TypeBranchSummary, Summary: words(n)})
		case 4:
			if rapid.Bool().Draw(t, "compacted") {
				b.compaction(words(20), b.id(rapid.IntRange(0, len(b.path)-1).Draw(t, "kept")))
			}
		default:
			b.turn(t, n)
		}
	}
	return b
}

// turn is an answer with calls, and their results with other things in between.
func (b *branch) turn(t *rapid.T, n int) {
	var calls []llm.ToolCall
	for k := range rapid.IntRange(0, 3).Draw(t, "calls") {
		calls = append(calls, call(fmt.Sprintf("c%d.%d", len(b.path), k), "bash", `{"command":"ls"}`))
	}
	b.answer(words(n/4), calls...)
	for _, c := range calls {
		switch rapid.IntRange(0, 6).Draw(t, "between") {
		case 0:
			b.user("wait")
		case 1:
			b.meta(transcript.TypeLabel)
		}
		b.result(c.ID, c.Name, words(n))
	}
}

func BenchmarkPlan(b *testing.B) {
	var long branch
	for len(long.path) < 100_000 {
		long.user("do something")
		long.use("bash", `{"command":"go test ./..."}`, strings.Repeat("ok  example.org/a\n", 10))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compact.Plan(long.path, options(20_000)); err != nil {
			b.Fatal(err)
		}
	}
}
