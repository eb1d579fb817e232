package tree_test

import (
	"bytes"
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
	"github.com/burin-dev/burin/internal/mode/tui/tree"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// face stands for the one that owns the tree, and writes down what it is told.
type face struct {
	*tree.Tree
	*paneltest.Face
	told  []string
	names map[string]string // of entries, by id
	w, h  int
}

func open(t testing.TB, log *transcript.Log, o tree.Options) *face {
	t.Helper()
	f := &face{Face: paneltest.Styled(t, paneltest.Dark(theme.NoStyle)), w: 70, h: 40, names: map[string]string{}}
	f.Now = time.Now // searches tell now and then
	for i, n := range log.Nodes() {
		f.names[n.ID] = fmt.Sprint("#", i)
	}
	o.Log = log
	o.OnSelect = func(id string, nav session.Navigation) {
		f.told = append(f.told, fmt.Sprint("select ", f.names[id], " ", nav))
	}
	o.OnLabel = func(id, label string) { f.told = append(f.told, fmt.Sprintf("label %s %q", f.names[id], label)) }
	o.OnCancel = func() { f.told = append(f.told, "cancel") }
	f.Tree = tree.New(f.Env, o)
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

// settle runs what is posted until nothing is searched any more.
func (f *face) settle(t *testing.T) (rows []string) {
	t.Helper()
	f.Until(t, "the end of the search", func() (string, bool) {
		rows = f.draw()
		return strings.Join(rows, "\n"), !strings.Contains(rows[1], "searched")
	})
	return rows
}

// selected is the selected row.
func selected(t *testing.T, f *face) string {
	t.Helper()
	for _, r := range f.draw() {
		if strings.HasPrefix(ansi.Strip(r), "> ") {
			return strings.TrimSpace(strings.TrimLeft(ansi.Strip(r)[2:], "│├└─•|`-* "))
		}
	}
	return ""
}

func move(t testing.TB, log *transcript.Log, id string) {
	t.Helper()
	if err := log.Move(id); err != nil {
		t.Fatal(err)
	}
}

// branches is a session that went three ways, the second of which is in use, and that
// was begun again once.
func branches(t testing.TB) *transcript.Log {
	log := paneltest.Session(t)
	call := llm.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"go test ./..."}`}
	a := paneltest.Append(t, log,
		transcript.Entry{Type: transcript.TypeModel, Model: "anthropic/claude"},
		paneltest.User("Fix the\n test."),
		paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{call}}),
		paneltest.Said(llm.ToolResultText(call, "FAIL", true)),
		paneltest.Assistant("It is the zone."),
		paneltest.User("Use UTC."),
		paneltest.Assistant("Done with UTC."),
	)
	move(t, log, a[4])
	b := paneltest.Append(t, log, paneltest.User("Use local time."),
		paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopAborted, Content: []llm.Block{llm.ToolCall{ID: "c2", Name: "edit", Arguments: `{"path":"zone.go"}`}}}))
	move(t, log, a[4])
	paneltest.Append(t, log, paneltest.User("Third way."))
	move(t, log, "")
	paneltest.Append(t, log, paneltest.User("Begin again."))
	move(t, log, b[1])
	paneltest.Append(t, log, transcript.Entry{Type: transcript.TypeLabel, TargetID: a[4], Label: "the cause"})
	return log
}

// screen is what a terminal shows of the tree.
func screen(t *testing.T, f *face) *vt.Terminal {
	t.Helper()
	return paneltest.Screen(t, f, f.w, f.h)
}

func TestLooks(t *testing.T) {
	log := branches(t)
	for _, tt := range []struct {
		name    string
		w, h    int
		profile theme.Profile
		ascii   bool
		keys    []string
	}{
		{name: "default-70", w: 70, h: 24},
		{name: "ascii-24", w: 24, h: 24, ascii: true},
		{name: "colors-50", w: 50, h: 16, profile: theme.TrueColor},
		{name: "mono-200-all", w: 200, h: 40, profile: theme.Mono, keys: []string{"alt+a"}},
		{name: "users-40", w: 40, h: 24, keys: []string{"alt+u"}},
		{name: "label-40", w: 40, h: 24, keys: []string{"shift+l", "here"}},
		{name: "choice-50", w: 50, h: 24, keys: []string{"home", "enter"}},
		{name: "instructions-50", w: 50, h: 24, keys: []string{"home", "enter", "up", "enter", "the zone"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, log, tree.Options{AskSummary: true})
			f.w, f.h, f.Styles = tt.w, tt.h, paneltest.Dark(tt.profile)
			if tt.ascii {
				f.Styles = f.Styles.WithSymbols(theme.SymbolsOf(theme.ASCII, nil))
			}
			f.draw()
			f.press(tt.keys...)
			paneltest.File(t, *update, tt.name, screen(t, f).Dump())
		})
	}
}

func TestFilters(t *testing.T) {
	f := open(t, branches(t), tree.Options{Filter: "labeled-only"})
	for _, tt := range []struct {
		key  string
		want string // one letter for each role
	}{
		{"", "assistant"},
		{"alt+d", "you tool assistant you assistant you assistant you you"},
		{"alt+t", "you assistant you assistant you assistant you you"},
		{"alt+u", "you you you you you"},
		{"alt+l", "assistant"},
		{"ctrl+shift+o", "you you you you you"},
		{"ctrl+o", "assistant"},
		{"alt+a", "model you assistant tool assistant you assistant label you assistant you you"},
		{"ctrl+o", "you tool assistant you assistant you assistant you you"},
	} {
		if tt.key != "" {
			f.press(tt.key)
		}
		var roles []string
		for _, r := range f.draw()[2:] {
			if role, _, ok := strings.Cut(strings.TrimLeft(r, "> │├└─•"), ":"); ok {
				roles = append(roles, role[strings.LastIndex(role, " ")+1:])
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(roles, " ")); diff != "" {
			t.Errorf("after %q: %s", tt.key, diff)
		}
	}
}

func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ask   bool
		keys  []string
		want  []string
		shown string
	}{
		{name: "the point where one is", keys: []string{"enter"}, shown: "You are already at this point."},
		{name: "a prompt", keys: []string{"up", "enter"}, want: []string{"select #7 {false }"}},
		{name: "around the end", keys: []string{"home", "up", "enter"}, want: []string{"select #10 {false }"}},
		{name: "no summary", ask: true, keys: []string{"home", "enter", "enter"}, want: []string{"select #1 {false }"}},
		{name: "summary", ask: true, keys: []string{"home", "enter", "down", "enter"}, want: []string{"select #1 {true }"}},
		{name: "back to the tree", ask: true, keys: []string{"home", "enter", "esc", "end", "enter", "enter"}, want: []string{"select #10 {false }"}},
		{name: "instructions", ask: true, keys: []string{"home", "enter", "up", "enter", " why ", "enter"}, want: []string{"select #1 {true why}"}},
		{name: "back to the choice", ask: true, keys: []string{"home", "enter", "up", "enter", "x", "esc", "up", "enter"}, want: []string{"select #1 {true }"}},
		{name: "esc", keys: []string{"esc"}, want: []string{"cancel"}},
		{name: "esc ends the search first", keys: []string{"zone", "esc", "esc"}, want: []string{"cancel"}},
		{name: "ctrl+c", keys: []string{"zone", "ctrl+c"}, want: []string{"cancel"}},
		{name: "label", keys: []string{"up", "shift+l", "my point", "enter"}, want: []string{`label #7 "my point"`}, shown: "[my point] you: Use local time."},
		{name: "no label any more", keys: []string{"up", "up", "shift+l", "ctrl+u", "enter"}, want: []string{`label #4 ""`}, shown: "• assistant: It is the zone."},
		{name: "label after all not", keys: []string{"shift+l", "x", "esc", "up", "enter"}, want: []string{"select #7 {false }"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, branches(t), tree.Options{AskSummary: tt.ask})
			f.draw()
			f.press(tt.keys...)
			if diff := cmp.Diff(tt.want, f.told); diff != "" {
				t.Error(diff)
			}
			if rows := strings.Join(f.draw(), "\n"); !strings.Contains(rows, tt.shown) {
				t.Errorf("%q is not shown:\n%s", tt.shown, rows)
			}
		})
	}
}

// An answer of nothing but calls is left out, unless the session is there, it has a
// name, or it was stopped.
func TestCallsAlone(t *testing.T) {
	calls := func(id string, why llm.StopReason) transcript.Entry {
		return paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: why, Content: []llm.Block{llm.ToolCall{ID: id, Name: id, Arguments: "{}"}}})
	}
	log := paneltest.Session(t)
	ids := paneltest.Append(t, log, paneltest.User("go"), calls("plain", llm.StopToolUse), calls("named", llm.StopToolUse), calls("stopped", llm.StopAborted), calls("last", llm.StopToolUse))
	paneltest.Append(t, log, transcript.Entry{Type: transcript.TypeLabel, TargetID: ids[2], Label: "name"})
	move(t, log, ids[4])
	var got []string
	for _, r := range open(t, log, tree.Options{}).draw()[2:] {
		if _, call, ok := strings.Cut(r, "["); ok && strings.Contains(r, "assistant") {
			got = append(got, call[strings.LastIndex(call, "[")+1:len(call)-1])
		}
	}
	if diff := cmp.Diff([]string{"named", "stopped", "last"}, got); diff != "" {
		t.Error(diff)
	}
}

// A summary is not offered where nothing is left behind.
func TestNothingLeftBehind(t *testing.T) {
	log := paneltest.Session(t)
	ids := paneltest.Append(t, log, paneltest.User("one"), paneltest.Assistant("two"), paneltest.User("three"), paneltest.Assistant("four"))
	move(t, log, ids[1])
	f := open(t, log, tree.Options{AskSummary: true})
	f.draw()
	f.press("end", "enter")
	if diff := cmp.Diff([]string{"select #3 {false }"}, f.told); diff != "" {
		t.Error(diff)
	}
}

func TestSearch(t *testing.T) {
	log := branches(t)
	for _, tt := range []struct {
		query string
		want  int
	}{
		{"utc", 2},
		{"USE you", 2},
		{"go TEST", 1}, // the call, whose answer is left out otherwise
		{"cause zone", 1},
		{"nothing like it", 0},
		{"  ", 10},
	} {
		f := open(t, log, tree.Options{})
		f.draw()
		f.press(tt.query)
		rows := f.settle(t)
		n := 0
		for _, r := range rows[2 : len(rows)-1] {
			if strings.Contains(r, ": ") {
				n++
			}
		}
		if n != tt.want {
			t.Errorf("%q: %d rows, want %d:\n%s", tt.query, n, tt.want, strings.Join(rows, "\n"))
		}
	}
	f := open(t, log, tree.Options{})
	f.press("utc")
	f.settle(t)
	f.press("backspace", "backspace", "backspace")
	if got := selected(t, f); got == "" || len(f.draw()) < 12 {
		t.Errorf("after the search: %q", f.draw())
	}
}

// The window holds its promise at any size, and each key changes the selection as it
// should, whatever the shape of the tree is.
func TestRandomTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		log := paneltest.Session(t)
		ids := []string{""}
		for i := range 2 + r.IntN(60) {
			if r.IntN(3) == 0 {
				move(t, log, ids[r.IntN(len(ids))])
			}
			e := paneltest.User(fmt.Sprint("entry ", i))
			if r.IntN(2) == 0 {
				e = paneltest.Assistant(fmt.Sprint("entry ", i))
			}
			ids = append(ids, paneltest.Append(t, log, e)...)
		}
		move(t, log, ids[len(ids)-1])
		f := open(t, log, tree.Options{})
		f.w, f.h = 60, 10+r.IntN(30)
		seen := map[string]bool{}
		f.press("home")
		for range len(ids) - 1 {
			if len(f.draw()) != min(max(5, f.h/2), len(ids)-1)+3 {
				t.Fatalf("%d rows at height %d with %d entries", len(f.draw()), f.h, len(ids)-1)
			}
			seen[selected(t, f)] = true
			f.press("down")
		}
		if len(seen) != len(ids)-1 {
			t.Errorf("%d of %d entries can be selected", len(seen), len(ids)-1)
		}
		first := f.draw()
		f.press("up", "down")
		if diff := cmp.Diff(first, f.draw()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTinyAndEmpty(t *testing.T) {
	log := branches(t)
	for w := 1; w < 14; w++ {
		for h := 1; h < 8; h++ {
			f := open(t, log, tree.Options{AskSummary: true})
			f.w, f.h = w, h
			for _, k := range []string{"home", "end", "alt+a", "shift+l", "日本", "esc", "left", "right", "home", "enter", "up", "enter"} {
				f.press(k)
				screen(t, f)
			}
		}
	}
	f := open(t, paneltest.Session(t), tree.Options{AskSummary: true})
	f.press("up", "down", "left", "home", "end", "enter", "shift+l", "alt+a", "x", "esc")
	if got := strings.Join(f.draw(), "\n"); !strings.Contains(got, "Nothing to show yet.") {
		t.Error(got)
	}
}

// Text of others cannot move the cursor or colour the screen.
func TestHostileText(t *testing.T) {
	log := paneltest.Session(t)
	ids := paneltest.Append(t, log, paneltest.User("a\x1b[2Jb\u202ec\rd"), paneltest.Assistant("x"))
	paneltest.Append(t, log, transcript.Entry{Type: transcript.TypeLabel, TargetID: ids[0], Label: "la\x1b]0;title\x07bel"})
	f := open(t, log, tree.Options{})
	for _, r := range f.draw() {
		if strings.ContainsAny(r, "\x1b\r\n\a\u202e") {
			t.Errorf("%q", r)
		}
	}
}

func TestRefresh(t *testing.T) {
	log := branches(t)
	f := open(t, log, tree.Options{Selected: log.Nodes()[7].ID})
	before := selected(t, f)
	if before != "you: Use local time." {
		t.Errorf("selected is %q", before)
	}
	paneltest.Append(t, log, paneltest.User("a new one"))
	f.Refresh()
	if got := selected(t, f); got != before {
		t.Errorf("selected is %q, was %q", got, before)
	}
	if rows := strings.Join(f.draw(), "\n"); !strings.Contains(rows, "a new one") {
		t.Error(rows)
	}
}

// big writes a session of n entries with a branch at every thousandth.
func big(b testing.TB, n int) *transcript.Log {
	b.Helper()
	var out bytes.Buffer
	out.WriteString(`{"type":"session","version":3,"id":"0123456789abcdef","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/home/ann"}` + "\n")
	parent := "null"
	for i := range n {
		m := fmt.Sprintf(`{"role":"user","content":"Prompt %d: please look at the file and tell me what is wrong."}`, i)
		switch i % 10 {
		case 1, 3, 5, 7:
			m = fmt.Sprintf(`{"role":"assistant","stopReason":"toolUse","content":[{"type":"toolCall","id":"c%d","name":"bash","arguments":{"command":"cat file%d"}}]}`, i, i)
		case 2, 4, 6, 8:
			m = fmt.Sprintf(`{"role":"toolResult","toolCallId":"c%d","toolName":"bash","content":[{"type":"text","text":"%s"}]}`, i-1, strings.Repeat(`output\n`, 40))
		case 9:
			m = `{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"There are three things."}]}`
		}
		if i%1000 == 999 {
			parent = fmt.Sprintf(`"%08x"`, i-500)
		}
		fmt.Fprintf(&out, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2025-01-01T00:00:00.000Z","message":%s}`+"\n", i, parent, m)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	path := filepath.Join(b.TempDir(), "2025-01-01T00-00-00-000Z_0123456789abcdef.jsonl")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
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
	f := open(b, log, tree.Options{})
	b.ReportAllocs()
	for b.Loop() {
		tree.New(f.Env, tree.Options{Log: log}).Draw(100, 40)
	}
}

func BenchmarkMove(b *testing.B) {
	for _, filter := range []tree.Filter{tree.Default, tree.NoTools} {
		b.Run(string(filter), func(b *testing.B) {
			f := open(b, big(b, 100_000), tree.Options{Filter: filter})
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				f.press("up")
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	f := open(b, big(b, 100_000), tree.Options{})
	b.ReportAllocs()
	for b.Loop() {
		f.press("ctrl+o")
	}
}

// BenchmarkTypeQuery is what a key of a search costs while it waits for nothing.
func BenchmarkTypeQuery(b *testing.B) {
	f := open(b, big(b, 100_000), tree.Options{})
	b.ReportAllocs()
	for b.Loop() {
		f.press("q", "backspace")
	}
}
