package panel

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/tool/todo"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	waiting = Waiting{
		Steering: []string{"no, use the other file\nand mind the tests", "stop at 10"},
		FollowUp: []string{"then write the changelog", "and open a pull request against the main branch of the repository", "x", "y"},
		Key:      "Alt+Up",
	}
	jobs = []Job{
		{ID: "j1", Command: "npm run dev\n# comment", Time: "4m 05s", Output: "starting\n\x1b[32mlistening on :8080\x1b[0m\n"},
		{ID: "j2", Command: "go test ./... -run 'TestEverythingThatTakesLong' -count 100 | tee out.log", Time: "since 15:04"},
	}
	phases = []todo.Phase{
		{Name: "Read", Tasks: []todo.Task{{Content: "Read it", Status: "completed"}}},
		{Name: "Plan", Tasks: []todo.Task{{Content: "Think", Status: "pending"}}},
		{Name: "Build", Tasks: []todo.Task{
			{Content: "Parser", Status: "completed"},
			{Content: "Write the encoder for all three protocols, with tests", Status: "in_progress"},
			{Content: "Three", Status: "pending"},
			{Content: "Four", Status: "pending"},
			{Content: "Five", Status: "pending"},
			{Content: "Six", Status: "pending"},
			{Content: "Seven", Status: "pending"},
			{Content: "Eight", Status: "abandoned"},
		}},
	}
	window = Context{
		Parts: []Part{
			{"System prompt", 3200, ""},
			{"Tools", 14_100, "24 tools"},
			{"Instructions of the project", 2100, "AGENTS.md, CLAUDE.md"},
			{"Messages", 61_000, "82 messages"},
		},
		Window: 200_000, Reserve: 32_000,
		Largest: []Part{{"read internal/huge.go", 9000, "turn 3"}, {"bash go test ./...", 21_000, "turn 7"}},
		Note:    "Estimated; the model counts by itself.",
	}
)

func TestGolden(t *testing.T) {
	scene := func(name string, rows func(v View) []string) paneltest.Scene {
		return paneltest.Scene{Name: name, Rows: func(s *theme.Styles, width int) []string { return rows(View{width, s}) }}
	}
	paneltest.Golden(
		t, "blocks", *update,
		scene("queue", func(v View) []string { return Queue(waiting, v) }),
		scene("jobs", func(v View) []string { return Jobs(jobs, v) }),
		scene("agents", func(v View) []string {
			list := []Agent{{ID: "finder", Description: "find the entry"}, {ID: "finder > deep", Task: "Look into every package\nand say", Asks: true}, {ID: "docs", Description: "check the docs", Queued: true}}
			rows := append(Agents(list, "", "Alt+A", v), Agents(slices.Repeat(list, 3), "", "", v)...)
			list[0].Claim, list[1].Claim = "3 Write the parser", "12 Look at everything that calls it, wherever that is"
			return append(rows, Agents(list, "3 of 12 tasks done", "Alt+A", v)...)
		}),
		scene("todos", func(v View) []string { return Todos(phases, v) }),
		scene("retry", func(v View) []string {
			return Retry(Retrying{In: 7200 * time.Millisecond, Attempt: 2, Max: 3, Reason: "overloaded", Key: "Esc"}, v)
		}),
		scene("working", func(v View) []string {
			return Working(Work{Frame: 3, Elapsed: 83 * time.Second, Tokens: 4321, Key: "Esc"}, v)
		}),
	)
	paneltest.Golden(t, "context", *update, paneltest.Scene{Name: "context", Rows: func(s *theme.Styles, width int) []string {
		f := paneltest.New(t)
		f.Styles = s
		rows, _ := NewContext(f.Env, window, nil).Draw(width, 40)
		return rows
	}})
}

func TestNothingToSay(t *testing.T) {
	v := View{80, themetest.Styles()}
	done := []todo.Phase{{Name: "All", Tasks: []todo.Task{{Content: "x", Status: "completed"}, {Content: "y", Status: "abandoned"}}}}
	for name, rows := range map[string][]string{
		"queue": Queue(Waiting{Key: "Alt+Up"}, v), "jobs": Jobs(nil, v), "todos": Todos(done, v),
	} {
		if len(rows) > 0 {
			t.Errorf("%s: %q", name, rows)
		}
	}
}

// However much there is, a block stays low, and says how much it leaves out.
func TestBounds(t *testing.T) {
	v := View{80, themetest.Styles()}
	var many struct {
		words []string
		jobs  []Job
		tasks []todo.Task
	}
	for i := range 1000 {
		many.words = append(many.words, fmt.Sprint("m", i))
		many.jobs = append(many.jobs, Job{ID: fmt.Sprint("j", i), Command: "x"})
		many.tasks = append(many.tasks, todo.Task{Content: "t", Status: "pending"})
	}
	for _, tt := range []struct {
		name, last string
		rows       []string
	}{
		{"queue", "… 1995 more messages", Queue(Waiting{Steering: many.words, FollowUp: many.words}, v)},
		{"jobs", "… 996 more jobs", Jobs(many.jobs, v)},
		{"todos", "+995 more", Todos([]todo.Phase{{Tasks: many.tasks}}, v)},
	} {
		if got := strings.TrimSpace(ansi.Strip(tt.rows[len(tt.rows)-1])); got != tt.last || len(tt.rows) > 8 {
			t.Errorf("%s: %d rows, the last %q, want %q", tt.name, len(tt.rows), got, tt.last)
		}
	}
}

func TestRetryCountsDown(t *testing.T) {
	v := View{80, themetest.Styles()}
	for in, want := range map[time.Duration]string{
		0: "retrying now", time.Millisecond: "retrying in 1s", time.Second: "retrying in 1s", 1001 * time.Millisecond: "retrying in 2s",
		90 * time.Second: "retrying in 1m 30s",
	} {
		if got := ansi.Strip(Retry(Retrying{In: in}, v)[0]); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	// What stops it is never cut.
	row := ansi.Strip(Retry(Retrying{In: time.Second, Attempt: 1, Max: 3, Reason: strings.Repeat("long ", 99), Key: "Esc"}, v)[0])
	if !strings.HasSuffix(row, "… · esc stops") {
		t.Errorf("%q", row)
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{-1: "0s", 59 * time.Second: "59s", 125 * time.Second: "2m 05s", 3*time.Hour + 12*time.Minute: "3h 12m"} {
		if got := Elapsed(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestRandomText(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := func() string {
			return paneltest.Nasty[r.IntN(len(paneltest.Nasty))] + paneltest.Nasty[r.IntN(len(paneltest.Nasty))]
		}
		v := View{r.IntN(60) + 1, themetest.Styles()}
		part := []Part{{s(), r.IntN(1e6), s()}, {s(), -1, s()}}
		c := Context{Parts: part, Window: r.IntN(2) * 200_000, Reserve: r.IntN(400_000), Largest: part, Note: s()}
		f := paneltest.New(t)
		report, _ := NewContext(f.Env, c, nil).Draw(v.Width, 30)
		for _, rows := range [][]string{
			Queue(Waiting{Steering: []string{s()}, FollowUp: []string{s()}, Key: "Alt+Up"}, v),
			Jobs([]Job{{ID: s(), Command: s(), Time: "3s", Output: s()}}, v),
			Todos([]todo.Phase{{Name: s(), Tasks: []todo.Task{{Content: s(), Status: todo.Status(s())}}}, {Name: s(), Tasks: []todo.Task{{Content: s()}}}}, v),
			Retry(Retrying{Reason: s(), Key: "Esc", Max: 3}, v), Working(Work{Words: s(), Key: "Esc"}, v), report,
		} {
			paneltest.Harmless(t, rows, v.Width)
		}
	}
}

func TestReportScrolls(t *testing.T) {
	var lines []styled.Line
	for i := range 100 {
		lines = append(lines, styled.Of(fmt.Sprintf("line %d", i+1), theme.Text))
	}
	f := paneltest.New(t)
	closed := 0
	draw := func(int, *theme.Styles) []styled.Line { return lines }
	r := NewReport(f.Env, ReportOptions{Title: "Help", Draw: draw, OnClose: func() { closed++ }})
	shown := func() (first, footer string) {
		rows, _ := r.Draw(40, 12)
		if len(rows) != 12 {
			t.Fatalf("%d rows", len(rows))
		}
		return ansi.Strip(rows[1]), ansi.Strip(rows[11])
	}
	for _, tt := range []struct {
		keys          []string
		first, footer string
	}{
		{nil, "line 1", "1–10 of 100 · Esc closes"},
		{[]string{"up", "pageup"}, "line 1", "1–10 of 100 · Esc closes"},
		{[]string{"down", "j"}, "line 3", "3–12 of 100 · Esc closes"},
		{[]string{"pagedown"}, "line 12", "12–21 of 100 · Esc closes"},
		{[]string{"end", "down"}, "line 91", "91–100 of 100 · Esc closes"},
		{[]string{"home"}, "line 1", "1–10 of 100 · Esc closes"},
	} {
		paneltest.Press(r, tt.keys...)
		first, footer := shown()
		if first != tt.first || footer != tt.footer {
			t.Errorf("%v: %q, %q; want %q, %q", tt.keys, first, footer, tt.first, tt.footer)
		}
	}
	for height := 1; height < 5; height++ {
		if rows, _ := r.Draw(40, height); len(rows) != height {
			t.Errorf("height %d: %d rows", height, len(rows))
		}
	}
	paneltest.Press(r, "esc", "q", "enter")
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// A report is laid out when the width or the theme changes, and not for each frame.
func TestReportLayout(t *testing.T) {
	f := paneltest.New(t)
	drawn := 0
	r := NewReport(f.Env, ReportOptions{Draw: func(width int, _ *theme.Styles) []styled.Line {
		drawn++
		return make([]styled.Line, maxReport+5)
	}})
	for range 3 {
		r.Draw(40, 10)
	}
	r.Draw(60, 10)
	f.Styles = theme.NewStyles(themetest.Theme(), theme.Mono)
	r.Draw(60, 10)
	if drawn != 3 {
		t.Errorf("laid out %d times", drawn)
	}
	paneltest.Press(r, "end")
	if rows, _ := r.Draw(60, 10); !slices.ContainsFunc(rows, func(s string) bool { return strings.Contains(s, "5 more lines") }) {
		t.Errorf("the end does not say what is missing: %q", rows)
	}
}

// Each source has a cell in the grid, and the window is never overdrawn.
func TestGrid(t *testing.T) {
	for _, c := range []Context{window, {Parts: []Part{{"a", 300_000, ""}, {"b", 1, ""}}, Window: 200_000, Reserve: 10}, {Parts: []Part{{"a", 1, ""}}, Window: 1_000_000, Reserve: 2_000_000}} {
		var all strings.Builder
		for _, l := range c.grid(gridWide, themetest.Styles()) {
			all.WriteString(strings.TrimSpace(l.Text()))
		}
		if n := len([]rune(all.String())); n != gridWide*gridRows {
			t.Errorf("%d cells", n)
		}
		if c.Used() < c.Window && c.Reserve < c.Window {
			for i := range c.Parts {
				if !strings.Contains(all.String(), letter(i)) {
					t.Errorf("part %d is not there: %s", i, all.String())
				}
			}
		}
	}
}

// In a narrow terminal the table has its figures whole, and the names as far as they go.
func TestContextIsNarrow(t *testing.T) {
	for width, want := range map[int][]string{
		40: {"  A System prompt              3.2k   1%", "  C Instructions of the pro…   2.1k   1%"},
		24: {"  A System …   3.2k   1%", "  B Tools     14.1k   7%", "  D Messages    61k  30%", "  x reserve…    32k  16%"},
		20: {"  A System p…   3.2k", "  B Tools      14.1k", "  · free       87.6k"},
	} {
		var rows []string
		for _, l := range window.Draw(width, themetest.Styles()) {
			rows = append(rows, l.Text())
		}
		for _, row := range want {
			if !slices.Contains(rows, row) {
				t.Errorf("%d: there is no %q:\n%s", width, row, strings.Join(rows, "\n"))
			}
		}
	}
}

// Who has the screen read out gets figures, and no pictures made of signs.
func TestContextIsReadOut(t *testing.T) {
	for _, l := range window.Draw(100, themetest.Styles().WithSymbols(theme.SymbolsOf(theme.Spoken, nil))) {
		if text := l.Text(); strings.Contains(text, "##") || strings.Contains(text, "AA") {
			t.Errorf("%q is read out", text)
		}
	}
}

func BenchmarkBlocks(b *testing.B) {
	v := View{100, themetest.Styles()}
	b.ReportAllocs()
	for b.Loop() {
		Queue(waiting, v)
		Jobs(jobs, v)
		Todos(phases, v)
		Working(Work{Frame: 1, Elapsed: time.Second, Tokens: 100, Key: "Esc"}, v)
	}
}

func BenchmarkWorking(b *testing.B) {
	v := View{100, themetest.Styles()}
	b.ReportAllocs()
	for b.Loop() {
		Working(Work{Frame: 1, Elapsed: time.Second, Tokens: 100, Key: "Esc"}, v)
	}
}
