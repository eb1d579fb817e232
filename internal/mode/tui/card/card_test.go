package card

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/todo"
)

var update = flag.Bool("update", false, "write the golden files anew")

func text(s string) []llm.Block { return []llm.Block{llm.Text{Text: s}} }

func picture(t testing.TB) llm.Image {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	return llm.Image{MIME: "image/png", Data: b.Bytes()}
}

const goDiff = `--- a/internal/server/handler.go
+++ b/internal/server/handler.go
@@ -10,6 +10,7 @@ func (s *Server) handle() {
 	req := next()
-	timeout := 30 * time.Second
-	log.Printf("handling %s", req.Path)
+	timeout := s.options.Timeout * time.Second
+	log.Printf("handling %s for %s", req.Path, req.User)
+	metrics.Count("requests")
 	if req == nil {
 		return
 	}
@@ -98,3 +99,3 @@
 	// 日本語のコメント
-	return errors.New("failed")
+	return fmt.Errorf("handle %s: %w", req.Path, err)
 }
`

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the output, which is as long as such lines are\n", i+1)
	}
	return b.String()
}

var agentsStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const threeTasks = `{"agent":"explore","context":"It is Go.","tasks":[{"id":"finder","description":"find the entry","assignment":"Where does it start?\nSay the file and the line."},{"id":"tests","assignment":"Read the tests of everything, one package after the other, and say which ones can never fail, with the reason for each of them"},{"id":"docs","description":"check the docs","assignment":"a\nb\nc\nd\ne\nf"}]}`

// crowd is a call with more agents than a collapsed card shows.
func crowd() Call {
	c := Call{Name: "task", Label: "Task", State: Running, Args: json.RawMessage(`{"agent":"explore"}`)}
	for i := range 20 {
		c.Agents = append(c.Agents, session.Agent{ID: fmt.Sprintf("explore-%d", i), Index: i, State: session.AgentRunning, Task: "look", Started: agentsStart})
	}
	return c
}

// calls are one or more of each tool, as the tools themselves answer.
var calls = map[string][]Call{
	"edit": {
		{Name: "edit", Label: "Edit", Args: json.RawMessage(`{"path":"internal/server/handler.go","edits":[{"old":"a","ne`), State: Running},
		{
			Name: "edit", Label: "Edit", Args: json.RawMessage(`{"path":"internal/server/handler.go"}`), State: Done, Content: text("Edited"),
			Details: detail(map[string]any{"paths": []string{"internal/server/handler.go"}, "diff": goDiff, "added": 4, "removed": 3}),
		},
		{Name: "edit", Label: "Edit", Args: json.RawMessage(`{"path":"a.go"}`), State: Failed, Content: text("a.go: the old text is not there.\nThe nearest is line 12.")},
		{Name: "undo_edit", Label: "Undo edit", Args: json.RawMessage(`{"path":"a.go"}`), State: Done, Content: text("Restored a.go"), Details: detail(map[string]any{"paths": []string{"a.go"}})},
	},
	"write": {
		{Name: "write", Label: "Write", Args: json.RawMessage(`{"path":"cmd/main.go","content":"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hé`), State: Running},
		{
			Name: "write", Label: "Write", Args: json.RawMessage(`{"path":"cmd/main.go","content":"package main\n\nimport \"fmt\"\n\n// main greets.\nfunc main() {\n\tfmt.Println(\"hi\", 42)\n}\n\nfunc more() {}\n\nvar x = 1\n"}`), State: Done,
			Details: detail(map[string]any{"paths": []string{"cmd/main.go"}, "diff": "x", "added": 12, "created": true}),
		},
	},
	"bash": {
		{Name: "bash", Label: "Run", Args: json.RawMessage(`{"command":"go test ./... | tail -20"}`), State: Running, Content: text(numbered(9))},
		{
			Name: "bash", Label: "Run", Args: json.RawMessage(`{"command":"set -e\nmake build\nmake \"test\""}`), State: Failed, Content: text(numbered(30) + "\x1b[31mFAIL\x1b[0m\tpkg\n10%\r50%\r100%\n[Exit code 2.]"),
			Details: detail(map[string]any{"exitCode": 2, "wallTimeMs": 73400, "changed": []string{"bin/tool", "go.sum"}}),
		},
		{Name: "bash", Label: "Run", Args: json.RawMessage(`{"command":"true"}`), State: Done, Content: text("(no output)"), Details: detail(map[string]any{"exitCode": 0, "wallTimeMs": 12})},
		{Name: "bash", Label: "Run", Args: json.RawMessage(`{"command":"cat artifact://3"}`), State: Done, Content: text("whole\n"), Details: detail(map[string]any{"command": "cat /data/s/3.bash.log", "exitCode": 0, "wallTimeMs": 12})},
		{Name: "bash", Label: "Run", Args: json.RawMessage(`{"command":"sleep 1000"}`), State: Failed, Content: text("waiting\n[Cancelled.]\n[The shell was killed; a new one takes its place.]"), Details: detail(map[string]any{"exitCode": -1, "cancelled": true, "wallTimeMs": 2300})},
		{Name: "job_poll", Label: "Job output", Args: json.RawMessage(`{"job":"j1"}`), State: Done, Content: text("listening on :8080\n[Job j1: running for 5s.]"), Details: detail(map[string]any{"jobId": "j1"})},
		{Name: "job_write", Label: "Job input", Args: json.RawMessage(`{"job":"j1","input":"quit\n"}`), State: Done, Content: text("Sent 5 bytes to job j1.")},
	},
	"look": {
		{Name: "read", Label: "Read", Args: json.RawMessage(`{"path":"docs/guide.md:10-12"}`), State: Done, Content: text("10|# Title\n11|\n12|Text"), Details: detail(map[string]any{"path": "docs/guide.md", "kind": "text", "lines": 3, "totalLines": 240})},
		{
			Name: "grep", Label: "Search", Args: json.RawMessage(`{"pattern":"func .*Handler","path":"internal"}`), State: Done, Content: text("internal/a.go\n12:func aHandler() {\n13-\treturn\n\ninternal/b.go\n7:func bHandler() {\n"),
			Details: detail(map[string]any{"matches": 2, "files": 2, "searched": 40}),
		},
		{Name: "find", Label: "Find", Args: json.RawMessage(`{"pattern":"**/*.go"}`), State: Done, Content: text("a.go  3m\nb.go  2h\n"), Details: detail(map[string]any{"files": 200, "limitReached": true})},
		{Name: "ls", Label: "List", Args: json.RawMessage(`{}`), State: Done, Content: text("a.go  1.2 KB  3m\nsub/  2h\n"), Details: detail(map[string]any{"path": ".", "kind": "folder"})},
	},
	"plan": {
		{
			Name: "todo", Label: "Todo", State: Done, Details: json.RawMessage(`{"phases":[{"name":"Build","tasks":[{"content":"Read the specification of the whole thing, all pages of it","status":"completed"},{"content":"Write the parser","status":"in_progress"},{"content":"Write tests","status":"pending"},{"content":"Old idea","status":"abandoned"}]},{"name":"Ship","tasks":[{"content":"Release","status":"pending"}]}]}`),
		},
		{
			Name: "exit_plan", Label: "Plan", State: Done, Args: json.RawMessage(`{"title":"Fix the parser","plan":"# Steps\n\n1. Read **parser.go**.\n2. Fix it."}`),
			Content: text("The user approved the plan."),
		},
		{
			Name: "ask", Label: "Ask", State: Done, Args: json.RawMessage(`{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}`),
			Details: json.RawMessage(`{"results":[{"id":"db","question":"Which database?","options":["SQLite","Postgres"],"multi":false,"selectedOptions":["SQLite"],"customInput":"with WAL"}]}`),
		},
		{Name: "ask", Label: "Ask", State: Running, Args: json.RawMessage(`{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}`)},
	},
	"web": {
		{
			Name: "fetch", Label: "Fetch", Args: json.RawMessage(`{"url":"https://example.com/docs/page?x=1"}`), State: Done, Content: text("URL: https://example.com\n\nWhat follows is data\n---\n# Title\n\nText of the page"),
			Details: detail(map[string]any{"url": "https://example.com/docs/page", "status": 200, "method": "html"}),
		},
		{
			Name: "web_search", Label: "Search the web", Args: json.RawMessage(`{"query":"go iterators"}`), State: Done,
			Details: json.RawMessage(`{"provider":"exa","sources":[{"title":"Range over functions","url":"https://go.dev/blog/range-functions","snippet":"How they work","publishedDate":"2024-08-20"},{"title":"T2","url":"javascript:alert(1)"},{"title":"三つ目の結果","url":"https://例え.jp/x"},{"title":"T4","url":"https://d.example"},{"title":"T5","url":"https://e.example"}]}`),
		},
	},
	"agents": {
		{Name: "task", Label: "Task", State: Running, Args: json.RawMessage(`{"agent":"explore","tasks":[{"id":"finder","assignment":"Where does it st`)},
		{
			Name: "task", Label: "Task", State: Running, Args: json.RawMessage(threeTasks), Now: agentsStart.Add(75 * time.Second),
			Agents: []session.Agent{
				{ID: "docs", Agent: "explore", Index: 2, State: session.AgentQueued, Started: agentsStart, Known: true},
				{ID: "finder", Agent: "explore", Index: 0, Description: "find the entry", State: session.AgentRunning, Tool: "grep func main and everything that it calls", Requests: 3, Tokens: 12_300, Cost: 21_000_000, Known: true, Started: agentsStart},
				{ID: "tests", Agent: "explore", Index: 1, Task: "Read the tests.", State: session.AgentIdle, Requests: 1, Tokens: 900, Started: agentsStart, Ended: agentsStart.Add(4 * time.Second)},
			},
		},
		{
			Name: "task", Label: "Task", State: Done, Args: json.RawMessage(threeTasks), Content: text("# finder"),
			Details: json.RawMessage(`{"agents":[` +
				`{"id":"finder","agent":"explore","index":0,"description":"find the entry","state":"done","output":"It starts in main.go.\n\u001b[31mIt is short.","notes":["2 files were merged"],"requests":3,"tokens":12300,"cost":0.021,"known":true,"durationMs":75000},` +
				`{"id":"tests","agent":"explore","index":1,"state":"failed","error":"it reached its time limit of 5m0s (task.maxRuntimeMs)","requests":1,"tokens":900,"cost":0,"known":false,"durationMs":300000},` +
				`{"id":"docs","agent":"explore","index":2,"state":"stopped","error":"it was stopped","requests":0,"tokens":0,"durationMs":100}]}`),
		},
		{
			Name: "task", Label: "Task", State: Done, Args: json.RawMessage(`{"agent":"general","background":true,"tasks":[{"id":"build","description":"watch the build","assignment":"Watch it."}]}`),
			Details: json.RawMessage(`{"background":true,"agents":[{"id":"build","agent":"general","index":0,"description":"watch the build","state":"running"}]}`),
		},
		{Name: "task", Label: "Task", State: Failed, Args: json.RawMessage(`{"agent":"explorer","tasks":[{"assignment":"x"}]}`), Content: text(`no agent "explorer"; did you mean explore?`)},
		AgentResults(json.RawMessage(`{"background":true,"agents":[{"id":"build","agent":"general","index":0,"description":"watch the build","state":"done","output":"It is green.","requests":2,"tokens":4000,"cost":0.5,"known":true,"durationMs":2000},{"id":"lint","agent":"general","index":0,"state":"done","output":"Clean.","requests":2}]}`)),
		crowd(),
	},
	"other": {
		{Name: "mcp_tickets", Args: json.RawMessage(`{"project":"X","filter":{"state":"open","limit":5}}`), State: Done, Content: text("T-1 open\nT-2 open\t(tab)\n\x1b]0;evil\x07T-3 \u202etxet\n")},
		{Name: "calc", Label: "Calculate", Args: json.RawMessage(`{"expressions":["1+1"]}`), State: Done, Content: text("1+1 = 2")},
		{Name: "shot", Label: "Screenshot", Args: json.RawMessage(`{}`), State: Failed, Content: text("no display")},
	},
}

func detail(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// messages are what is no call, for golden files and properties.
func messages(t testing.TB, v View) []string {
	var all []string
	add := func(lines []string) { all = append(append(all, lines...), "") }
	add(User([]llm.Block{llm.Text{Text: "Please fix the build.\n\nIt fails since yesterday, with a message that is longer than a narrow terminal. 日本語も大丈夫ですか。"}, picture(t)}, v))
	add(User(text(numbered(40)), v))
	add(User([]llm.Block{
		llm.Text{Text: "Compare @a.txt and @\"my plan.pdf\""},
		llm.Text{Text: "<file path=\"docs/a.txt\">\n" + strings.Repeat("words\n", 300) + "</file>\n</file>"},
		llm.Document{Name: "my plan.pdf", MIME: "application/pdf", Data: make([]byte, 4096)},
	}, v))
	add(Thinking("**Looking** at the *build*\n\nIt may be `go.mod`.", v))
	add(Notice(Info, "The session was saved.", v))
	add(Notice(Warning, "The budget is nearly used: $4.80 of $5.00", v))
	add(Notice(Failure, "The model does not answer: 503 overloaded\nTrying again in 4 s", v))
	add(Compaction(182_000, 12_300, "## Goal\n\nFix the build.", v))
	add(Image(picture(t), v))
	add(Usage(llm.Usage{Input: 1200, Output: 345, CacheRead: 54_000, Cost: &llm.Cost{Total: llm.Dollars(0.0345)}}, v))
	add(Todo([]todo.Phase{{Tasks: []todo.Task{{Content: "One 👍🏽", Status: "pending"}}}}, v))
	return all
}

func TestGolden(t *testing.T) {
	styles := themetest.Styles()
	for name, list := range calls {
		golden(t, name, func(v View) (all []string) {
			for _, c := range list {
				all = append(append(all, Tool(c, v)...), "")
			}
			return all
		}, styles)
	}
	golden(t, "messages", func(v View) []string { return messages(t, v) }, styles)
}

// The files that a prompt begins with are told from its words, whatever they hold.
func TestFiles(t *testing.T) {
	for text, want := range map[string]struct {
		files []File
		rest  string
	}{
		"plain words":                           {nil, "plain words"},
		"<file path=\"a b.txt\">\none\n</file>": {[]File{{"a b.txt", 3}}, ""},
		"<file path=\"a\">\n\n</file>\n\nwords": {[]File{{"a", 0}}, "words"},
		"<file path=\"a\">\none\n</file>\n<file path=\"b\">\ntwo\n</file>\nwhat differs?": {[]File{{"a", 3}, {"b", 3}}, "what differs?"},
		"<file path=\"a\">\none\n</file>\nmore\n</file>":                                  {[]File{{"a", 16}}, ""},
		"<file path=\"a\">\nit was cut":                                                   {nil, "<file path=\"a\">\nit was cut"},
		"<file path=a>\nx\n</file>":                                                       {nil, "<file path=a>\nx\n</file>"},
	} {
		files, rest := Files(text)
		if diff := cmp.Diff(want.files, files); diff != "" || rest != want.rest {
			t.Errorf("%q: rest %q (-want +got):\n%s", text, rest, diff)
		}
	}
}

// golden compares renderings with testdata/name.golden: plain at three widths,
// collapsed and expanded, and once with the names of all looks.
func golden(t *testing.T, name string, render func(View) []string, styles *theme.Styles) {
	t.Helper()
	var b strings.Builder
	for _, width := range []int{40, 80, 120} {
		for _, expanded := range []bool{false, true} {
			fmt.Fprintf(&b, "=== width %d, expanded %v\n", width, expanded)
			for _, line := range render(View{Width: width, Styles: styles, Expanded: expanded, Links: width == 120, Hint: "ctrl+o"}) {
				b.WriteString(strings.TrimRight(ansi.Strip(line), " ") + "\n")
			}
		}
	}
	b.WriteString("=== looks, width 80\n")
	for _, line := range render(View{Width: 80, Styles: styles, Links: true}) {
		b.WriteString(themetest.Dump(line) + "\n")
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s: run with -update if this is meant (-want +got):\n%s", path, diff)
	}
}

// harmless fails if a line is wider than width or has a sequence that is neither a
// look nor a hyperlink.
func harmless(t *testing.T, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > width {
			t.Fatalf("a line of %d cells at width %d: %q", w, width, line)
		}
		rest := themetest.Dump(line)
		for _, r := range rest {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%U in %q", r, line)
			}
		}
		if strings.Contains(rest, `\x1b`) && !strings.Contains(ansi.Strip(line), `\x1b`) {
			t.Fatalf("a strange sequence in %q", line)
		}
	}
}

func TestNothingIsTooWide(t *testing.T) {
	for _, width := range []int{0, 1, 2, 5, 13, 40, 80} {
		for _, expanded := range []bool{false, true} {
			v := View{Width: width, Styles: themetest.Styles(), Expanded: expanded, Links: expanded, Hint: "ctrl+o"}
			for _, list := range calls {
				for _, c := range list {
					harmless(t, Tool(c, v), max(1, width))
				}
			}
			harmless(t, messages(t, v), max(1, width))
		}
	}
}

func FuzzTool(f *testing.F) {
	styles := themetest.Styles()
	for _, list := range calls {
		for _, c := range list {
			f.Add(c.Name, []byte(c.Args), []byte(c.Details), c.text(), uint8(c.State), uint8(40))
		}
	}
	f.Fuzz(func(t *testing.T, name string, args, details []byte, words string, state, width uint8) {
		if len(args)+len(details)+len(words) > 4000 {
			return
		}
		c := Call{Name: name, Label: words[:min(len(words), 9)], Args: args, State: State(state % 3), Content: text(words), Details: details}
		for _, expanded := range []bool{false, true} {
			v := View{Width: int(width%100) + 1, Styles: styles, Expanded: expanded, Links: expanded}
			harmless(t, Tool(c, v), v.Width)
			harmless(t, User(c.Content, v), v.Width)
			harmless(t, Thinking(words, v), v.Width)
			harmless(t, Notice(Info, words, v), v.Width)
		}
	})
}

// Calls whose every text is put together at random, by what terminals, diffs and
// widths stumble over.
func TestRandomCalls(t *testing.T) {
	fragments := []string{
		"--- a/x\n", "+++ b/x\n", "@@ -1,2 +3 @@\n", "+", "-", " ", "\n", "\n", "日本", "👍🏽", "é", "\u0301", "\ufe0f", "☁", "1", "\u20e3", "🇩", "\u200d",
		"\x1b[31m", "\u202e", "word ", "\t", "\r", "func main() {", "12:", "a/b/c", "\xff", "\"", "if\u0301", " \u0301",
	}
	names := append(slices.Sorted(maps.Keys(drawers)), "unknown")
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := func() string {
			var b strings.Builder
			for range r.IntN(20) + 1 {
				b.WriteString(fragments[r.IntN(len(fragments))])
			}
			return b.String()
		}
		args := detail(map[string]any{
			"path": s(), "command": s(), "content": s(), "pattern": s(), "query": s(), "url": "https://x.example/" + s(), "job": s(), "input": s(),
			"questions": []any{map[string]any{"question": s(), "options": []any{map[string]any{"label": s()}}}},
		})
		details := detail(map[string]any{
			"paths": []string{s(), s()}, "diff": "@@ -1,9 +1,9 @@\n" + s(), "added": 3, "changed": []string{s()}, "created": r.IntN(2) == 0, "exitCode": 3, "jobId": s(),
			"phases":   []any{map[string]any{"name": s(), "tasks": []any{map[string]any{"content": s(), "status": "completed"}}}},
			"results":  []any{map[string]any{"question": s(), "options": []string{s()}, "customInput": s()}},
			"provider": s(), "sources": []any{map[string]any{"title": s(), "url": s(), "snippet": s(), "publishedDate": s()}},
		})
		c := Call{Name: names[r.IntN(len(names))], Label: s(), Args: args, Details: details, State: State(r.IntN(3)), Content: text(s())}
		v := View{Width: r.IntN(60) + 1, Styles: themetest.Styles(), Expanded: r.IntN(2) == 0, Links: r.IntN(2) == 0, Hint: s()}
		for _, lines := range [][]string{Tool(c, v), User(c.Content, v), Thinking(s(), v), Notice(Warning, s(), v), Compaction(1, 2, s(), v)} {
			harmless(t, lines, v.Width)
		}
	}
}

// While a model writes the arguments of a call, what is there is shown.
func TestArgumentsCutAnywhere(t *testing.T) {
	whole := `{"command":"echo \"a\\nb\" \u00e9","cwd":"x"}`
	shown := ""
	for i := range len(whole) {
		got := arguments(json.RawMessage(whole[:i])).string("command")
		if !strings.HasPrefix(got, shown) {
			t.Fatalf("cut at %d: %q, after %q", i, got, shown)
		}
		shown = got
	}
	if want := "echo \"a\\nb\" é"; shown != want {
		t.Errorf("got %q, want %q", shown, want)
	}
}

// Lines of a file may look like the heads of a diff.
func TestDiffOfDashes(t *testing.T) {
	rows := parseDiff("--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old remark\n+++ new remark\n select\n@@ -9 +9 @@\n-a\n+b\n--- a/two\n+++ b/two\n@@ -1 +0,0 @@\n-gone\n", 4)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%c%d %s", r.kind, r.line, r.text))
	}
	want := []string{"/0 q.sql", "-1 -- old remark", "+1 ++ new remark", " 2 select", "@0 ", "-9 a", "+9 b", "/0 two", "-1 gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChangedWords(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want []string // of a, then "|", then of b
	}{
		{"timeout := 30 * time.Second", "timeout := 45 * time.Second", []string{"30", "|", "45"}},
		{"call(a, b)", "call(a, c, b)", []string{"|", "c, "}},
		{"entirely different", "nothing alike here", []string{"|"}},
		{"same", "same", []string{"|"}},
		{"x = 日本語", "x = 日本人", nil},
	} {
		inA, inB := changedWords(tt.a, tt.b)
		var got []string
		for _, r := range inA {
			got = append(got, tt.a[r[0]:r[1]])
		}
		got = append(got, "|")
		for _, r := range inB {
			got = append(got, tt.b[r[0]:r[1]])
		}
		if tt.want != nil {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q to %q (-want +got):\n%s", tt.a, tt.b, diff)
			}
		}
	}
}

func BenchmarkLiveTail(b *testing.B) {
	th, _ := theme.Builtin(theme.DefaultDark)
	v := View{Width: 100, Styles: theme.NewStyles(th, theme.TrueColor)}
	c := Call{Name: "bash", Label: "Run", Args: json.RawMessage(`{"command":"make"}`), Content: text(numbered(120))}
	b.ReportAllocs()
	for b.Loop() {
		Tool(c, v)
	}
}
