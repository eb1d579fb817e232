package status

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

func facts() *Facts {
	start := time.Date(2026, 3, 4, 13, 0, 0, 0, time.UTC)
	return &Facts{
		Stats: session.Stats{
			Model: "anthropic/claude-sonnet-4-5", Thinking: llm.LevelHigh, Title: "Fix the parser", Requests: 12,
			Usage: llm.Usage{Input: 12_000, Output: 3400, CacheRead: 88_000, CacheWrite: 9000},
			Cost:  llm.Dollars(0.4231), Known: true, Context: 68_000, Window: 200_000,
		},
		Mode: "auto-edit", SessionID: "01hqk2v8x9", Hostname: "forge", Dir: "/home/ada/src/github.com/ada/engine/cmd", Home: "/home/ada",
		Git: git.Status{Branch: "main", Ahead: 1, Behind: 2, Staged: 3, Modified: 4, Untracked: 5, Conflicts: 1, Known: true},
		PR:  12, Subagents: 2, Jobs: 1, Rate: 71.6, Started: start, Now: start.Add(65 * time.Minute), Limits: []Limit{{"5h", 34}, {"week", 92}}, Command: "3 builds",
	}
}

func line(t testing.TB, set Settings) *Line {
	t.Helper()
	l, problems := New(set)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return l
}

func TestGolden(t *testing.T) {
	var scenes []paneltest.Scene
	add := func(name string, set Settings, f *Facts) {
		l := line(t, set)
		scenes = append(scenes, paneltest.Scene{Name: name, Rows: func(s *theme.Styles, width int) []string {
			return []string{l.Render(f, s, width)}
		}})
	}
	for _, name := range Presets() {
		add(name, Settings{Preset: name}, facts())
	}
	for _, name := range Separators() {
		add("separator "+name, Settings{Preset: "compact", Separator: name, Transparent: true}, facts())
	}
	add("custom segments", Settings{Preset: "custom", Left: []string{"pi", "time"}, Right: Segments()}, facts())
	full := facts()
	full.Mode, full.Context, full.Known, full.Git, full.Title = "full", 190_000, false, git.Status{Commit: "1a2b3c4"}, "\x1b]0;evil\x07\u202e"
	add("nearly full", Settings{}, full)
	paneltest.Golden(t, "status", *update, scenes...)
}

func TestUnknownNames(t *testing.T) {
	l, problems := New(Settings{Preset: "fancy", Separator: "dots", Left: []string{"model", "clock", "model"}})
	var got []string
	for _, p := range problems {
		got = append(got, strings.Split(p.Error(), " (")[0])
	}
	want := []string{`statusLine: unknown preset "fancy"`, `statusLine: unknown separator "dots"`, `statusLine: unknown segment "clock"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := strings.Count(ansi.Strip(l.Render(&Facts{Stats: session.Stats{Model: "x/gpt"}}, themetest.Styles(), 80)), "gpt"); n != 1 {
		t.Errorf("the model is there %d times", n)
	}
}

// All segments that the configuration may name.
func TestSegmentNames(t *testing.T) {
	names := "pi model mode path git pr subagents token_in token_out token_total token_rate cost context_pct context_total time_spent time " +
		"session hostname cache_read cache_write cache_hit session_name usage burin jobs thinking command"
	for _, name := range strings.Fields(names) {
		l := line(t, Settings{Preset: "custom", Left: []string{name}, Right: []string{}})
		if got := ansi.Strip(l.Render(facts(), themetest.Styles(), 200)); strings.TrimSpace(got) == "" {
			t.Errorf("%s says nothing", name)
		}
		if got := l.Render(&Facts{}, themetest.Styles(), 200); name != "pi" && name != "burin" && got != "" {
			t.Errorf("%s says %q, and nothing is known", name, got)
		}
	}
}

func TestCost(t *testing.T) {
	l := line(t, Settings{Preset: "custom", Left: []string{"cost"}, Right: []string{}})
	for _, tt := range []struct {
		cost     float64
		known    bool
		requests int
		want     string
	}{
		{0, true, 0, "$0.00"},
		{0, false, 0, ""},
		{0, false, 1, "cost unknown"},
		{0.12, false, 3, "≥ $0.12"},
		{0.12, true, 3, "$0.12"},
		{0.0042, true, 3, "$0.0042"},
		{0.00001, true, 3, "<$0.0001"},
		{123.456, true, 3, "$123.46"},
	} {
		f := &Facts{Stats: session.Stats{Cost: llm.Dollars(tt.cost), Known: tt.known, Requests: tt.requests}}
		if got := strings.TrimSpace(ansi.Strip(l.Render(f, themetest.Styles(), 80))); got != tt.want {
			t.Errorf("%v known %v: %q, want %q", tt.cost, tt.known, got, tt.want)
		}
	}
}

func TestContextColours(t *testing.T) {
	l := line(t, Settings{Preset: "custom", Left: []string{"context_pct"}, Right: []string{}, Transparent: true})
	for percent, want := range map[int]string{0: "statusLineContext", 69: "statusLineContext", 70: "warning", 89: "warning", 90: "error", 120: "error"} {
		f := &Facts{Stats: session.Stats{Context: percent * 1000, Window: 100_000}}
		got := themetest.Dump(l.Render(f, themetest.Styles(), 80))
		if !strings.Contains(got, fmt.Sprintf("‹%s›%d%% context", want, percent)) {
			t.Errorf("%d%%: %s", percent, got)
		}
	}
}

// What goes first where it gets narrow is what the package says.
func TestDropOrder(t *testing.T) {
	all := line(t, Settings{Preset: "custom", Left: Segments(), Right: []string{}})
	f := facts()
	f.Dir, f.Goal = "/x", session.Goal{Text: "x", State: session.GoalPaused}
	shown := func(width int) map[string]bool {
		got := ansi.Strip(all.Render(f, themetest.Styles(), width))
		there := map[string]bool{}
		for _, s := range segments {
			p := pen{}
			if s.draw(&p, f); strings.Contains(got, " "+p.line.Text()+" ") || s.name == "git" && strings.Contains(got, " main* ") {
				there[s.name] = true
			}
		}
		return there
	}
	last := len(segments)
	for width := 400; width > 20; width-- {
		there := shown(width)
		for i, s := range segments[len(segments)-len(there):] {
			if !there[s.name] {
				t.Fatalf("width %d: %s is not there, the %d. of those that should be: %v", width, s.name, i+1, there)
			}
		}
		if len(there) > last {
			t.Fatalf("width %d has more than width %d", width, width+1)
		}
		last = len(there)
	}
}

func TestShortPath(t *testing.T) {
	for _, tt := range []struct {
		dir   string
		cells int
		want  string
	}{
		{"/home/ada", 20, "~"},
		{"/home/ada/x", 20, "~/x"},
		{"/home/adam/x", 20, "/home/adam/x"},
		{"/", 20, "/"},
		{"/home/ada/src/github.com/engine/cmd", 25, "~/src/…/engine/cmd"},
		{"/home/ada/src/github.com/engine/cmd", 17, "~/src/…/cmd"},
		{"/home/ada/src/github.com/engine/cmd", 10, "…/cmd"},
		{"/home/ada/src/github.com/engine/command", 8, "command"},
		{"/home/ada/src/github.com/engine/command", 5, "comm…"},
		{"/srv/日本語/日本語/日本語/z", 18, "/srv/…/日本語/z"},
		{"/srv/a\x1bb", 20, "/srv/a␛b"},
	} {
		if got := shortPath(tt.dir, "/home/ada", tt.cells, "…"); got != tt.want {
			t.Errorf("%s in %d: %q, want %q", tt.dir, tt.cells, got, tt.want)
		}
	}
}

// Whatever is known and wanted, the line fits.
func TestFits(t *testing.T) {
	all := Segments()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := func() string { return paneltest.Nasty[r.IntN(len(paneltest.Nasty))] }
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		cut := r.IntN(len(all))
		l := line(t, Settings{Left: all[:cut], Right: all[cut:], Separator: Separators()[r.IntN(7)], Transparent: r.IntN(2) == 0})
		f := facts()
		f.Model, f.Title, f.Dir, f.Git.Branch, f.Hostname, f.Mode, f.Thinking = s(), s(), "/"+s()+"/"+s()+"/"+s(), s(), s(), s(), llm.LevelLow
		f.Limits = []Limit{{s(), 1000}}
		width := r.IntN(200) + 1
		row := l.Render(f, themetest.Styles(), width)
		paneltest.Harmless(t, []string{row}, width)
		if w := ansi.StringWidth(row); width > 1 && w >= width {
			t.Fatalf("the last column of %d is taken: %q", width, ansi.Strip(row))
		}
	}
}

func TestBorder(t *testing.T) {
	for _, tt := range []struct {
		p    Prompt
		want theme.Token
	}{
		{Prompt{}, theme.Border},
		{Prompt{Level: llm.LevelOff}, theme.ThinkingOff},
		{Prompt{Level: llm.LevelXHigh}, theme.ThinkingXhigh},
		{Prompt{Level: llm.LevelHigh, Plan: true}, theme.BorderAccent},
		{Prompt{Level: llm.LevelHigh, Plan: true, Bash: true}, theme.BashMode},
		{Prompt{Python: true}, theme.PythonMode},
	} {
		if got := Border(tt.p); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.p, got, tt.want)
		}
	}
	seen := map[theme.Token]llm.Level{}
	for _, l := range llm.Levels() {
		token := Border(Prompt{Level: l})
		if other, ok := seen[token]; ok {
			t.Errorf("%s and %s look alike", l, other)
		}
		seen[token] = l
	}
}

func BenchmarkRender(b *testing.B) {
	f := facts()
	s := themetest.Styles()
	for _, bb := range []struct {
		preset string
		width  int
	}{{"default", 120}, {"full", 240}, {"full", 80}} {
		l := line(b, Settings{Preset: bb.preset})
		b.Run(fmt.Sprintf("%s-%d", bb.preset, bb.width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Render(f, s, bb.width)
			}
		})
	}
}

// A goal that is under way says how much of it is shown, and what it has spent of its budget.
func TestGoal(t *testing.T) {
	two := []session.Criterion{{Text: "a", State: session.CriterionShown}, {Text: "b", State: session.CriterionMissing}}
	for want, g := range map[string]session.Goal{
		"goal 1/2":                {Text: "x", State: session.GoalActive, Criteria: two},
		"goal 1/2 $0.75 of $2.00": {Text: "x", State: session.GoalActive, Criteria: two, Budget: llm.Dollars(2), Spent: llm.Dollars(0.5)},
		"goal paused":             {Text: "x", State: session.GoalPaused, Criteria: two, Budget: llm.Dollars(2)},
		"":                        {Text: "x", State: session.GoalDone, Criteria: two},
	} {
		var p pen
		drawGoal(&p, &Facts{Stats: session.Stats{Cost: llm.Dollars(1.25)}, Goal: g, GoalFrom: llm.Dollars(1)})
		if got := p.line.Text(); got != want {
			t.Errorf("%+v: %q, want %q", g, got, want)
		}
	}
}
