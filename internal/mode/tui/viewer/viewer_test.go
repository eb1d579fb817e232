package viewer_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/viewer"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// face stands for the one that owns the viewer.
type face struct {
	*viewer.Viewer
	*paneltest.Face
	copied []string
	closed int
	w, h   int
}

func open(t testing.TB, log *transcript.Log, w, h int) *face {
	t.Helper()
	f := &face{Face: paneltest.Styled(t, paneltest.Dark(theme.NoStyle)), w: w, h: h}
	f.Now = time.Now // searches tell now and then
	f.Viewer = viewer.New(f.Env, viewer.Options{
		Log: log, Labels: map[string]string{"bash": "Run"},
		OnCopy:  func(text string) { f.copied = append(f.copied, text) },
		OnClose: func() { f.closed++ },
	})
	t.Cleanup(f.Close)
	return f
}

func (f *face) draw() []string {
	rows, _ := f.Draw(f.w, f.h)
	return rows
}

// press draws after each key, as the face does.
func (f *face) press(keys ...string) {
	for _, k := range keys {
		paneltest.Press(f, k)
		f.draw()
	}
}

// settle runs what is posted until the footer says what is wanted, and nothing is
// searched any more.
func (f *face) settle(t *testing.T, want string) string {
	t.Helper()
	return f.Until(t, fmt.Sprintf("%q in the footer", want), func() (string, bool) {
		rows := f.draw()
		last := rows[len(rows)-1]
		return last, strings.Contains(last, want) && !strings.Contains(last, "searched")
	})
}

// conversation has one of everything.
func conversation(t testing.TB) *transcript.Log {
	log := paneltest.Session(t)
	call := llm.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"go test ./..."}`}
	other := llm.ToolCall{ID: "c2", Name: "read", Arguments: `{"path":"main.go"}`}
	words, _ := json.Marshal("Pinned: **answer briefly**.")
	ids := paneltest.Append(t, log,
		transcript.Entry{Type: transcript.TypeModel, Model: "anthropic/claude"},
		paneltest.User("Please fix the test.\nIt fails since Monday."),
		paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{
			llm.Thinking{Text: "The test is about time.\nLook at the zone."},
			llm.Text{Text: "I run the tests first:\n\n```go\nfunc main() {}\n```\n"},
			call, other,
		}}),
		paneltest.Said(llm.ToolResultText(call, "--- FAIL: TestZone\nexit status 1", true)),
		transcript.Entry{Type: transcript.TypeCustom, CustomType: "state"},
		paneltest.Said(llm.ToolResultText(other, "package main", false)),
		paneltest.Assistant("The zone was **UTC**. 日本語 too."),
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "burin.pin", Content: words, Display: true},
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "hidden", Content: words},
		transcript.Entry{Type: transcript.TypeCompaction, Summary: "Fixed the zone.", TokensBefore: 120_000},
		paneltest.User("another way"),
	)
	if err := log.Move(ids[len(ids)-2]); err != nil {
		t.Fatal(err)
	}
	paneltest.Append(t, log,
		transcript.Entry{Type: transcript.TypeBranchSummary, Summary: "The other way was a dead end."},
		paneltest.User("Thanks!"),
		paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopError, Content: []llm.Block{llm.Text{Text: "You are"}}, Error: &llm.Error{Kind: llm.ErrOverload, Message: "overloaded"}}),
	)
	return log
}

// screen is what a terminal shows of the viewer.
func screen(t *testing.T, f *face) *vt.Terminal {
	t.Helper()
	return paneltest.Screen(t, f, f.w, f.h)
}

func TestLooks(t *testing.T) {
	log := conversation(t)
	for _, tt := range []struct {
		name    string
		w, h    int
		profile theme.Profile
		ascii   bool
		keys    []string
	}{
		{name: "end-80", w: 80, h: 40},
		{name: "ascii-20", w: 20, h: 24, ascii: true},
		{name: "colors-60", w: 60, h: 16, profile: theme.TrueColor, keys: []string{"g", "tab"}},
		{name: "mono-200", w: 200, h: 30, profile: theme.Mono, keys: []string{"e"}},
		{name: "expanded-60", w: 60, h: 40, keys: []string{"g", "tab", "enter"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, log, tt.w, tt.h)
			f.Styles = paneltest.Dark(tt.profile)
			if tt.ascii {
				f.Styles = f.Styles.WithSymbols(theme.SymbolsOf(theme.ASCII, nil))
			}
			f.draw()
			f.press(tt.keys...)
			paneltest.File(t, *update, tt.name, screen(t, f).Dump())
		})
	}
}

// body are the rows of the conversation on the screen, without bars.
func body(f *face) []string {
	rows := f.draw()
	rows = slices.Clone(rows[:len(rows)-1])
	for i, r := range rows {
		if r != "" {
			_, n := firstRune(r)
			rows[i] = strings.TrimRight(r[n+1:], " ")
		}
	}
	return rows
}

func firstRune(s string) (rune, int) {
	for i, r := range s {
		return r, i + len(string(r))
	}
	return 0, 0
}

// long is a log of entries of many heights, each row of which says where it stands.
func long(t testing.TB, n int) *transcript.Log {
	log := paneltest.Session(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var lines []string
		for k := range 1 + r.IntN(9)*r.IntN(5) {
			lines = append(lines, fmt.Sprintf("- entry %d line %d", i, k))
		}
		m := llm.AssistantText(strings.Join(lines, "\n"))
		if i%7 == 3 {
			paneltest.Append(t, log, transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "hidden", Content: []byte(`"x"`)})
		}
		paneltest.Append(t, log, paneltest.Said(m))
	}
	return log
}

// all are the rows of the whole conversation: what a screen high enough shows.
func all(t *testing.T, log *transcript.Log, w int) []string {
	f := open(t, log, w, 100_000)
	rows := body(f)
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func TestScrollingShowsEachRowOnce(t *testing.T) {
	log := long(t, 60)
	want := all(t, log, 50)
	for _, h := range []int{2, 3, 8, 25} {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			f := open(t, log, 50, h)
			f.draw()
			f.press("g")
			got := body(f)
			for range 10_000 {
				before := body(f)
				f.press("down")
				after := body(f)
				switch {
				case slices.Equal(before, after):
				case slices.Equal(before[1:], after[:len(after)-1]):
					got = append(got, after[len(after)-1])
				default:
					t.Fatalf("one row down is not one row:\n%q\n%q", before, after)
				}
				if len(got) >= len(want) {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			f.press("g")
			var pages []string
			for range len(want)/(h-1) - 1 { // the last one overlaps
				pages = append(pages, body(f)...)
				f.press("pagedown")
			}
			if diff := cmp.Diff(want[:len(pages)], pages); diff != "" {
				t.Error("pages:", diff)
			}
		})
	}
}

func TestScrollingBackIsIdentity(t *testing.T) {
	log := long(t, 80)
	total := len(all(t, log, 40))
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f := open(t, log, 40, 2+r.IntN(30))
		f.draw()
		f.press("g")
		at := r.IntN(total)
		for range at {
			f.press("down")
		}
		want := f.draw()
		n := r.IntN(total - at)
		for range n {
			f.press("down")
		}
		for range n {
			f.press("up")
		}
		if diff := cmp.Diff(want, f.draw()); diff != "" {
			t.Fatalf("from row %d, %d down and up, height %d: %s", at, n, f.h, diff)
		}
	}
}

func TestSearch(t *testing.T) {
	log := long(t, 3000)
	f := open(t, log, 60, 20)
	f.draw()
	f.press("/")
	f.press(strings.Split("ENTRY", "")...)
	f.press("space", "7", "7", "7", "space")
	f.settle(t, "1 found")
	f.press("enter")
	if got := strings.Join(body(f), "\n"); !strings.Contains(got, "entry 777 line 0") {
		t.Errorf("the hit is not shown:\n%s", got)
	}
	if line := f.settle(t, "1 found"); !strings.Contains(line, "n next") {
		t.Errorf("footer %q", line)
	}
	f.press("esc", "G", "/", "z", "z", "z")
	f.settle(t, "not found")
	f.press("esc")
	if line := f.settle(t, "100 %"); strings.Contains(line, "found") {
		t.Errorf("footer %q", line)
	}
	if f.closed != 0 {
		t.Error("Esc in the search left the viewer")
	}
}

func TestSearchGoesOn(t *testing.T) {
	f := open(t, conversation(t), 60, 12)
	f.Styles = paneltest.Dark(theme.Mono)
	f.draw()
	f.press("/", "z", "o", "n", "e")
	f.settle(t, "3 found")
	f.press("enter")
	var at []string
	for range 4 {
		at = append(at, strings.Join(strings.Fields(ansi.Strip(current(t, f))), " "))
		f.press("N")
	}
	if !strings.Contains(at[0], "Fixed the zone.") || !strings.Contains(at[1], "The zone was UTC") || !strings.Contains(at[2], "TestZone") {
		t.Errorf("hits %q", at)
	}
	if rows := strings.Join(f.draw(), "\n"); !strings.Contains(rows, "\x1b[0;7m") {
		t.Errorf("no place is marked: %q", rows)
	}
}

// current is the row with the mark.
func current(t *testing.T, f *face) string {
	t.Helper()
	for _, r := range f.draw() {
		if strings.HasPrefix(ansi.Strip(r), ">") {
			return r
		}
	}
	t.Fatal("no row is the current one")
	return ""
}

func TestKeys(t *testing.T) {
	f := open(t, conversation(t), 70, 14)
	f.draw()
	f.press("c", "u", "c", "u", "tab", "y", "U", "c")
	want := []string{"You are", "Thanks!", "func main() {}", "Thanks!"}
	if diff := cmp.Diff(want, f.copied); diff != "" {
		t.Error(diff)
	}
	f.press("u", "u")
	if line := f.settle(t, "first prompt"); !strings.HasPrefix(line, "This is") {
		t.Errorf("footer %q", line)
	}
	f.press("G")
	f.settle(t, "message 9 of 9 · 100 %")
	f.press("q", "q")
	if f.closed != 1 {
		t.Errorf("left %d times", f.closed)
	}
}

func TestRefresh(t *testing.T) {
	log := conversation(t)
	f := open(t, log, 70, 14)
	f.draw()
	f.press("/", "n", "e", "w")
	f.settle(t, "not found")
	f.press("enter")
	paneltest.Append(t, log, paneltest.User("something new"))
	f.Refresh()
	if got := current(t, f); !strings.Contains(got, "something new") {
		t.Errorf("the end is not followed: %q", got)
	}
	f.settle(t, "1 found")
	f.press("esc", "up", "up", "up")
	before := body(f)
	paneltest.Append(t, log, paneltest.Assistant("more"))
	f.Refresh()
	if diff := cmp.Diff(before, body(f)); diff != "" {
		t.Error("what one reads moved:", diff)
	}
	f.press("down")
	if diff := cmp.Diff(before[1:], body(f)[:len(before)-1]); diff != "" {
		t.Error("a row down is not a row:", diff)
	}
	f.press("G")
	if err := log.Move(log.Nodes()[1].ID); err != nil {
		t.Fatal(err)
	}
	f.Refresh()
	f.settle(t, "message 1 of 1")
}

// A result that arrives becomes part of the card of its call.
func TestRefreshOfCalls(t *testing.T) {
	log := paneltest.Session(t)
	call := llm.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"make"}`}
	paneltest.Append(t, log, paneltest.User("build"), paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{call}}))
	f := open(t, log, 60, 12)
	if rows := strings.Join(f.draw(), "\n"); !strings.Contains(rows, "interrupted") {
		t.Error(rows)
	}
	paneltest.Append(t, log, paneltest.Said(llm.ToolResultText(call, "built", false)), paneltest.Assistant("It works."))
	f.Refresh()
	want := []string{"▎ build", "", "● Run  make", "  built", "", "It works."}
	if diff := cmp.Diff(want, body(f)[:6]); diff != "" {
		t.Error(diff)
	}
	v := viewer.New(f.Env, viewer.Options{Log: log, Busy: func() bool { return true }})
	paneltest.Append(t, log, paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{call}}))
	v.Refresh()
	if rows, _ := v.Draw(60, 12); strings.Contains(strings.Join(rows, "\n"), "interrupted") {
		t.Errorf("a call that runs is said to be interrupted: %q", rows)
	}
}

// A command of the person's looks as it did when it ran.
func TestOwnCommands(t *testing.T) {
	log, failed := paneltest.Session(t), 2
	paneltest.Append(
		t, log, paneltest.User("look"),
		transcript.NewExecution(transcript.Execution{Command: "make", Output: "no rule\n", ExitCode: &failed}),
		transcript.NewExecution(transcript.Execution{Command: "sleep 100", Cancelled: true, Excluded: true}),
	)
	want := []string{"▎ look", "", "✗ You  make  exit 2", "  no rule", "", "✗ Your own command  sleep 100  stopped"}
	if diff := cmp.Diff(want, body(open(t, log, 60, 12))[:6]); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyAndTiny(t *testing.T) {
	f := open(t, paneltest.Session(t), 40, 10)
	f.press("down", "c", "n", "enter", "/", "a", "enter", "pageup")
	if rows := f.draw(); rows[0] != "No messages yet." {
		t.Errorf("%q", rows)
	}
	log := conversation(t)
	for w := 1; w < 12; w++ {
		for h := 1; h < 5; h++ {
			f := open(t, log, w, h)
			for _, k := range []string{"up", "e", "pageup", "g", "/", "z", "enter", "n", "end"} {
				f.press(k)
				screen(t, f)
			}
		}
	}
}

func TestResizeStaysNear(t *testing.T) {
	f := open(t, long(t, 300), 60, 20)
	f.draw()
	f.press("g")
	for range 30 {
		f.press("pagedown")
	}
	entry := func() string { return strings.Join(strings.Fields(f.draw()[19])[:3], " ") }
	before := entry()
	for _, w := range []int{30, 200, 20, 60} {
		f.w = w
		if got := entry(); !strings.HasPrefix(got, before) {
			t.Errorf("at width %d one is at %q, was at %q", w, got, before)
		}
	}
}

// big writes a session of n entries.
func big(b testing.TB, n int) *transcript.Log {
	b.Helper()
	var text bytes.Buffer
	text.WriteString(`{"type":"session","version":3,"id":"0123456789abcdef","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/home/ann"}` + "\n")
	parent := "null"
	for i := range n {
		id := fmt.Sprintf(`"%08x"`, i)
		m := fmt.Sprintf(`{"role":"user","content":"Prompt %d: please look at the file and tell me what is wrong with it."}`, i)
		switch i % 4 {
		case 1:
			m = fmt.Sprintf(`{"role":"assistant","stopReason":"toolUse","content":[{"type":"text","text":"I look at **it**."},{"type":"toolCall","id":"c%d","name":"bash","arguments":{"command":"cat file%d"}}]}`, i, i)
		case 2:
			m = fmt.Sprintf(`{"role":"toolResult","toolCallId":"c%d","toolName":"bash","content":[{"type":"text","text":"%s"}]}`, i-1, strings.Repeat(`a line of output\n`, 40))
		case 3:
			m = `{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"# What is wrong\n\nThere are *three* things:\n\n- one\n- two\n- three\n\n` + "```go\\nfunc main() {\\n\\tprintln(1)\\n}\\n```" + `\n"}]}`
		}
		fmt.Fprintf(&text, `{"type":"message","id":%s,"parentId":%s,"timestamp":"2025-01-01T00:00:00.000Z","message":%s}`+"\n", id, parent, m)
		parent = id
	}
	path := filepath.Join(b.TempDir(), "2025-01-01T00-00-00-000Z_0123456789abcdef.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	log, damage, err := transcript.ReadSession(path, transcript.Options{})
	if err != nil || damage.Serious() {
		b.Fatal(err, damage)
	}
	b.Cleanup(func() { log.Close() })
	return log
}

func BenchmarkOpen100k(b *testing.B) {
	log := big(b, 100_000)
	f := open(b, log, 100, 40)
	f.Styles = paneltest.Dark(theme.TrueColor)
	b.ReportAllocs()
	for b.Loop() {
		v := viewer.New(f.Env, viewer.Options{Log: log})
		v.Draw(100, 40)
	}
}

// BenchmarkPage reports the slowest one of a hundred pages, too.
func BenchmarkPage(b *testing.B) {
	f := open(b, big(b, 100_000), 100, 40)
	f.Styles = paneltest.Dark(theme.TrueColor)
	f.draw()
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		f.press("pageup")
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkRow(b *testing.B) {
	f := open(b, big(b, 100_000), 100, 40)
	f.Styles = paneltest.Dark(theme.TrueColor)
	f.draw()
	b.ReportAllocs()
	for b.Loop() {
		f.press("up")
	}
}

func BenchmarkSearch100k(b *testing.B) {
	f := open(b, big(b, 100_000), 100, 40)
	f.draw()
	for b.Loop() {
		f.press("/", "x", "y", "z")
		for !strings.Contains(f.draw()[39], "not found") {
			(<-f.Posted)()
		}
		f.press("esc")
	}
}

// BenchmarkPageHeavy is paging over answers as long as they are shown, all of code.
func BenchmarkPageHeavy(b *testing.B) {
	log := paneltest.Session(b)
	code := "```go\n" + strings.Repeat("func main() { fmt.Println(\"hello\", 42) } // says hello\n", 1500) + "```\n"
	for range 400 {
		paneltest.Append(b, log, paneltest.Assistant(code))
	}
	f := open(b, log, 100, 40)
	f.Styles = paneltest.Dark(theme.TrueColor)
	f.draw()
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		f.press("shift+tab")
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
