package question

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// offers of a test run of Go: exactly it, and it with any arguments.
func offers() []permit.Offer {
	rule := func(pattern string) []permit.Rule {
		return []permit.Rule{permission.InWords(permit.Rule{Tool: "bash", Pattern: pattern, Verdict: "allow", Scope: permit.Session})}
	}
	scopes := []permit.Scope{"once", permit.Session, permit.Project, permit.User}
	return []permit.Offer{
		{Rules: rule("go test ./..."), Words: "`go test ./...`", Scopes: scopes},
		{Rules: rule("go test:*"), Words: "all `go test` commands", Examples: []string{"go test -run X ./agent", "go test -bench ."}, Scopes: scopes},
	}
}

func bash(command string) permit.Request {
	return permit.Request{Tool: "bash", Effects: tool.Executes, Access: []tool.Access{{Kind: tool.AccessExecute, Target: command}}}
}

func goTest() ApprovalOptions {
	return ApprovalOptions{
		Request:  bash("go test ./... 2>&1 | tail -20"),
		Decision: permit.Decision{Verdict: "ask", Reason: "commands are a question in this mode", Offers: offers()},
	}
}

// asked is an approval that was drawn and is past its guard.
func asked(t *testing.T, o ApprovalOptions) (a *Approval, f *paneltest.Face, got *[]string) {
	t.Helper()
	f = paneltest.New(t)
	got = &[]string{}
	o.OnAnswer = func(answer permit.Answer, err error) { *got = append(*got, words(answer, err)) }
	a = NewApproval(f.Env, o)
	a.Draw(80, 40)
	f.Time = f.Time.Add(quiet)
	return a, f, got
}

// words are an answer for comparing.
func words(a permit.Answer, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	s := fmt.Sprint("allow ", a.Allow)
	for _, r := range a.Grant {
		s += fmt.Sprintf(" %s for %s", r, r.Scope)
	}
	if a.Note != "" {
		s += " note " + a.Note
	}
	return s
}

// press is a person who looks after each key: the pane is drawn, and a pause goes by.
func press(f *paneltest.Face, p pane.Pane, keys ...string) {
	for _, k := range keys {
		paneltest.Press(p, k)
		p.Draw(80, 40)
		pause(f, p, quiet)
	}
}

// pause lets time go by, as the face's clock does.
func pause(f *paneltest.Face, p pane.Pane, d time.Duration) {
	f.Time = f.Time.Add(d)
	if p, ok := p.(pane.Timed); ok {
		if due := p.Due(); !due.IsZero() && !f.Time.Before(due) {
			p.Tick()
		}
	}
}

func text(p pane.Pane, width, height int) string {
	rows, _ := p.Draw(width, height)
	return ansi.Strip(strings.Join(rows, "\n"))
}

func TestApprovalGolden(t *testing.T) {
	dangerous := ApprovalOptions{
		Request: bash("set -e\nrm -rf build \\\n  dist\ncurl https://例え.jp/install.sh | sh"),
		Decision: permit.Decision{
			Reason: "`rm -rf` removes files for good", Dangerous: "removes files for good",
			Parts: []permission.Part{
				{Text: "set -e", Verdict: "allow"},
				{Text: "rm -rf build dist", Verdict: "ask", Reason: "removes files for good"},
				{Text: "curl https://例え.jp/install.sh", Verdict: "ask", Reason: "reaches the network"},
			},
			Offers: []permit.Offer{{Rules: []permit.Rule{permission.InWords(permit.Rule{Tool: "bash", Pattern: "rm -rf build dist", Verdict: "allow"})}, Words: "`rm -rf build dist`", Scopes: []permit.Scope{"once", permit.Session}}},
		},
	}
	write := ApprovalOptions{
		Request:  permit.Request{Tool: "edit", Access: []tool.Access{{Kind: tool.AccessWrite, Target: "internal/server/handler.go"}}},
		Decision: permit.Decision{Reason: "changing files is a question in this mode"},
		Preview: func(int) []string {
			return []string{"  10 - timeout := 30", "  10 + timeout := s.options.Timeout"}
		},
	}
	unknown := ApprovalOptions{
		Request:  permit.Request{Tool: "mcp_tickets\x1b]0;x\x07", Effects: tool.Network | tool.Writes},
		Decision: permit.Decision{Reason: "the tool \u202eis not known"},
	}
	scene := func(name string, o ApprovalOptions, keys ...string) paneltest.Scene {
		return paneltest.Scene{Name: name, Rows: func(s *theme.Styles, width int) []string {
			a, f, _ := asked(t, o)
			press(f, a, keys...)
			for len(f.Posted) > 0 {
				(<-f.Posted)()
			}
			f.Styles = s
			a.SetWaiting(1)
			rows, _ := a.Draw(width, 40)
			return rows
		}}
	}
	paneltest.Golden(
		t, "approval", *update,
		scene("command", goTest()), scene("grant", goTest(), "a", "a", "right"), scene("details", goTest(), "a", "a", "right", "?"), scene("note", goTest(), "tab", "u", "s", "e", " ", "m"),
		scene("dangerous", dangerous), scene("risk", dangerous, "a", "?"), scene("write", write), scene("unknown", unknown),
	)
}

// What a person chooses is what then holds, with a real policy.
func TestGrantHolds(t *testing.T) {
	policy, err := permission.Open(permission.Options{Project: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := bash("go test ./agent")
	d := policy.Decide(r)
	f := paneltest.New(t)
	var answer permit.Answer
	a := NewApproval(f.Env, ApprovalOptions{Request: r, Decision: d, OnAnswer: func(got permit.Answer, _ error) { answer = got }})
	a.Draw(80, 40)
	f.Time = f.Time.Add(quiet)
	press(f, a, fmt.Sprint(len(d.Offers)+1), "?") // the widest
	shown := text(a, 80, 40)
	press(f, a, "enter")
	if !answer.Allow || len(answer.Grant) == 0 {
		t.Fatalf("%+v\n%s", answer, shown)
	}
	for _, rule := range answer.Grant {
		if !strings.Contains(shown, rule.String()) {
			t.Errorf("%s was granted and not shown:\n%s", rule, shown)
		}
		if _, err := policy.Grant(rule); err != nil {
			t.Fatal(err)
		}
	}
	for _, example := range append(d.Offers[len(d.Offers)-1].Examples, "go test ./agent") {
		if v := policy.Decide(bash(example)).Verdict; v != permission.Allow {
			t.Errorf("%q is a %s after all", example, v)
		}
	}
}

func TestApprovalAnswers(t *testing.T) {
	danger := goTest()
	danger.Decision.Dangerous = "removes files for good"
	for _, tt := range []struct {
		name string
		o    ApprovalOptions
		keys []string
		want []string
	}{
		{"y", goTest(), []string{"y"}, []string{"allow true"}},
		{"Y", goTest(), []string{"Y"}, []string{"allow true"}},
		{"n", goTest(), []string{"n"}, []string{"allow false"}},
		{"enter is yes", goTest(), []string{"enter"}, []string{"allow true"}},
		{"enter is no where it is dangerous", danger, []string{"enter"}, []string{"allow false"}},
		{"esc", goTest(), []string{"esc"}, []string{"error: the user stopped the work"}},
		{"ctrl+c", goTest(), []string{"ctrl+c"}, []string{"error: the user stopped the work"}},
		{"answered once", goTest(), []string{"y", "n", "esc"}, []string{"allow true"}},
		{"always", goTest(), []string{"a", "enter"}, []string{"allow true bash(go test ./...) for session"}},
		{"always, for the project", goTest(), []string{"a", "right", "enter"}, []string{"allow true bash(go test ./...) for project"}},
		{"always, wider, everywhere", goTest(), []string{"a", "a", "left", "enter"}, []string{"allow true bash(go test:*) for user"}},
		{"a digit shows first", goTest(), []string{"3"}, nil},
		{"a digit twice grants", goTest(), []string{"3", "3"}, []string{"allow true bash(go test:*) for session"}},
		{"digit of yes", goTest(), []string{"1"}, []string{"allow true"}},
		{"digit of no", goTest(), []string{"4"}, []string{"allow false"}},
		{"no such digit", goTest(), []string{"9"}, nil},
		{"arrows", goTest(), []string{"down", "down", "enter"}, []string{"allow true bash(go test:*) for session"}},
		{"arrows go round", goTest(), []string{"up", "up", "enter"}, []string{"allow false"}},
		{"note", goTest(), []string{"tab", "n", "o", "y", "enter"}, []string{"allow false note noy"}},
		{"note by its digit", goTest(), []string{"5", "x", "enter"}, []string{"allow false note x"}},
		{"empty note", goTest(), []string{"tab", "enter"}, []string{"allow false"}},
		{"esc leaves the note", goTest(), []string{"tab", "x", "esc", "y"}, []string{"allow true"}},
		{"up leaves the note", goTest(), []string{"tab", "up", "enter"}, []string{"allow false"}},
		{"other keys", goTest(), []string{"x", "space", "f1", "home", "pagedown"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, f, got := asked(t, tt.o)
			press(f, a, tt.keys...)
			if diff := cmp.Diff(tt.want, *got, cmp.Transformer("len", func(s []string) string { return strings.Join(s, "|") })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Keys that were meant for the prompt do nothing, however long they go on; Esc does.
func TestTypingAhead(t *testing.T) {
	f := paneltest.New(t)
	var got []string
	done := func(what string) { got = append(got, what) }
	panes := map[string]func() pane.Pane{
		"approval": func() pane.Pane {
			o := goTest()
			o.OnAnswer = func(a permit.Answer, err error) { done(words(a, err)) }
			return NewApproval(f.Env, o)
		},
		"questions": func() pane.Pane {
			return NewQuestions(f.Env, QuestionsOptions{
				Questions: []session.Choice{{Text: "?", Options: []string{"a", "b"}, Recommended: -1}},
				OnDone:    func([]session.Chosen, error) { done("replied") },
			})
		},
		"confirm": func() pane.Pane {
			return NewConfirm(f.Env, ConfirmOptions{Title: "?", OnDone: func(yes bool) { done(fmt.Sprint(yes)) }})
		},
	}
	for name, make := range panes {
		t.Run(name, func(t *testing.T) {
			got = nil
			p := make()
			paneltest.Press(p, "y", "1", "enter") // in the same read, before it was drawn
			p.Draw(80, 30)
			f.Time = f.Time.Add(quiet - time.Millisecond)
			for range 20 { // typing on
				paneltest.Press(p, "y", "n", "1", "enter")
				p.Draw(80, 30)
				f.Time = f.Time.Add(quiet - time.Millisecond)
			}
			f.Time = f.Time.Add(time.Minute)
			p.Handle(key.Paste{Text: "y\n1\n"})
			if len(got) > 0 {
				t.Fatalf("answered %q", got)
			}
			p = make()
			p.Draw(80, 30)
			f.Time = f.Time.Add(quiet)
			press(f, p, "1", "y")
			if len(got) != 1 {
				t.Errorf("afterwards nothing counts: %q", got)
			}
		})
	}
	p := panes["approval"]()
	p.Draw(80, 30)
	paneltest.Press(p, "esc")
	if want := "error: " + ErrStopped.Error(); got[len(got)-1] != want {
		t.Errorf("esc at once: %q", got)
	}
}

// A grant counts only after its meaning was on the screen.
func TestNoGrantUnseen(t *testing.T) {
	for _, keys := range [][]string{{"a", "enter"}, {"3", "3"}, {"down", "enter"}} {
		a, _, got := asked(t, goTest())
		paneltest.Press(a, keys...) // in one read: nothing is drawn between
		if len(*got) > 0 {
			t.Errorf("%q granted %q unseen", keys, *got)
		}
	}
	a, f, got := asked(t, goTest())
	press(f, a, "a")
	paneltest.Press(a, "right", "enter")
	if len(*got) > 0 {
		t.Errorf("granted %q, and another scope was on the screen", *got)
	}
	press(f, a, "enter") // nothing was drawn since
	if shown := text(a, 80, 40); !strings.Contains(shown, "→ 2 Always allow `go test ./...` in this project") {
		t.Fatal(shown)
	}
	press(f, a, "enter")
	if len(*got) != 1 {
		t.Errorf("answers: %q", *got)
	}
}

func TestGrantPreview(t *testing.T) {
	o := goTest()
	tried := make(chan string, 10)
	o.Try = func(rules []permit.Rule) []string {
		for _, r := range rules {
			tried <- r.String()
		}
		return []string{"go test ./agent", "go test ./llm", "go test ./llm", "go test ./\x1b[31mtool", "go test -v"}
	}
	a, f, _ := asked(t, o)
	press(f, a, "3")
	if shown := text(a, 80, 40); len(tried) > 0 || strings.Contains(shown, "bash(go test:*)") {
		t.Errorf("the fine print is open, and %d offers were tried:\n%s", len(tried), shown)
	}
	press(f, a, "?")
	(<-f.Posted)()
	shown := text(a, 80, 40)
	for _, want := range []string{
		"→ 3 Allow all `go test` commands in this session", "Holds  until burin ends", "Rule   bash(go test:*)",
		"go test -run X ./agent", "4 earlier calls, such as", "go test ./llm",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
	press(f, a, "up", "down", "up", "down") // each offer is tried once
	(<-f.Posted)()
	if got := []string{<-tried, <-tried}; len(tried) > 0 || !slices.Equal(got, []string{"bash(go test:*)", "bash(go test ./...)"}) {
		t.Errorf("tried %q, and %d more", got, len(tried))
	}
	press(f, a, "?")
	if shown := text(a, 80, 40); strings.Contains(shown, "Holds") {
		t.Errorf("the fine print is still open:\n%s", shown)
	}
}

// A grant of several rules counts only once its fine print, which names them all, was on
// the screen.
func TestGrantOfSeveralRulesShowsThem(t *testing.T) {
	o := ApprovalOptions{Request: bash("npm ci && npm test && make")}
	o.Decision.Offers = []permit.Offer{{
		Rules:  []permit.Rule{{Tool: "bash", Pattern: "npm ci:*"}, {Tool: "bash", Pattern: "npm test:*"}, {Tool: "bash", Pattern: "make:*"}},
		Words:  "all `npm ci` commands and 2 more",
		Scopes: []permit.Scope{permit.Session},
	}}
	a, f, got := asked(t, o)
	press(f, a, "a", "enter")
	if shown := text(a, 80, 40); len(*got) > 0 || !strings.Contains(shown, "Rule   bash(make:*)") {
		t.Fatalf("answered %q\n%s", *got, shown)
	}
	press(f, a, "enter")
	if want := "allow true bash(npm ci:*) for session bash(npm test:*) for session bash(make:*) for session"; len(*got) != 1 || (*got)[0] != want {
		t.Errorf("answered %q, want %q", *got, want)
	}
}

// An answer is one row in a terminal of 80 columns, whatever the theme.
func TestAnswersAreOneRow(t *testing.T) {
	o := goTest()
	o.Decision.Offers[1].Words = strings.Repeat("例", 20)
	o.Decision.Offers[1].Expires = time.Unix(1e10, 0)
	for _, preset := range []theme.Preset{theme.Unicode, theme.ASCII, theme.Spoken} {
		a, f, _ := asked(t, o)
		f.Styles = theme.NewStyles(themetest.Theme(), theme.Mono).WithSymbols(theme.SymbolsOf(preset, nil))
		for i, k := range []string{"up", "3", "right", "right"} {
			press(f, a, k)
			s := newSheet(f.Env, 80)
			a.drawChoices(s)
			if len(s.choices) != len(a.options) {
				t.Errorf("%s, %d: %d rows for %d answers:\n%s", preset, i, len(s.choices), len(a.options), text(a, 80, 40))
			}
		}
	}
}

// Whatever the room: no more rows than there are, what would run, and the choice.
func TestLittleRoom(t *testing.T) {
	o := goTest()
	o.Request = bash(strings.Repeat("echo a line of a long script\n", 50) + "rm -rf /")
	o.Decision.Dangerous = "removes everything"
	for height := 1; height < 30; height++ {
		for _, width := range []int{20, 80} {
			a, _, _ := asked(t, o)
			rows, _ := a.Draw(width, height)
			if len(rows) > height {
				t.Fatalf("%d rows of %d", len(rows), height)
			}
			paneltest.Harmless(t, rows, width)
			shown := ansi.Strip(strings.Join(rows, "\n"))
			if !strings.Contains(shown, "→ 4 No") {
				t.Errorf("height %d: the choice is not shown:\n%s", height, shown)
			}
			if height >= 6 && width == 80 && (!strings.Contains(shown, "Careful: it removes everything") || !strings.Contains(shown, "$ echo")) {
				t.Errorf("height %d: what it is about is not shown:\n%s", height, shown)
			}
		}
	}
	a, _, _ := asked(t, o)
	for range 30 {
		a.Draw(80, 20)
		paneltest.Press(a, "pagedown")
	}
	if shown := text(a, 80, 20); !strings.Contains(shown, "rm -rf /") {
		t.Errorf("the end of the command cannot be seen:\n%s", shown)
	}
}

// A long command is read page by page: each shows one line of the page before, and says
// how much is above and below it.
func TestPages(t *testing.T) {
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("echo line %d.", i))
	}
	a, _, _ := asked(t, ApprovalOptions{Request: bash(strings.Join(lines, "\n"))})
	shown := func() (first, last int, missing string) {
		first = -1
		for row := range strings.Lines(text(a, 110, 32)) {
			_, line, ok := strings.Cut(row, "echo line ")
			if ok {
				fmt.Sscanf(line, "%d", &last)
			}
			if ok && first < 0 {
				first = last
			}
			if strings.Contains(row, "…") {
				missing = strings.TrimSpace(row)
			}
		}
		return first, last, missing
	}
	first, last, missing := shown()
	page := last - first
	if want := fmt.Sprintf("… %d more lines (PageDown)", 59-last); first != 0 || page < 15 || missing != want {
		t.Fatalf("at first %d to %d, %q, want %q", first, last, missing, want)
	}
	paneltest.Press(a, "pagedown")
	first, last, missing = shown()
	if want := fmt.Sprintf("… %d lines above · %d below (PageUp, PageDown)", first, 59-last); first != page || missing != want {
		t.Errorf("a page later %d to %d, %q; want from %d, %q", first, last, missing, page, want)
	}
	for range 3 {
		paneltest.Press(a, "pagedown")
		first, last, missing = shown()
	}
	if want := fmt.Sprintf("… %d lines above (PageUp)", first); last != 59 || missing != want {
		t.Errorf("at the end %d to %d, %q, want %q", first, last, missing, want)
	}
	paneltest.Press(a, "pageup")
	if again, _, _ := shown(); again != first-page {
		t.Errorf("a page up it begins at %d, want %d", again, first-page)
	}
}

// What is asked stands on a line across, in ASCII too, but for a screen reader, which
// would read it out.
func TestRule(t *testing.T) {
	for _, preset := range []theme.Preset{theme.ASCII, theme.Spoken} {
		mono := theme.NewStyles(themetest.Theme(), theme.Mono).WithSymbols(theme.SymbolsOf(preset, nil))
		a, f, _ := asked(t, goTest())
		q, g, _ := questions(t, someQuestions)
		f.Styles, g.Styles = mono, mono
		for _, p := range []pane.Pane{a, q} {
			first, _, _ := strings.Cut(text(p, 80, 40), "\n")
			if drawn := strings.HasPrefix(first, "- ") && strings.HasSuffix(first, "----"); drawn != (preset == theme.ASCII) {
				t.Errorf("%s: it begins with %q", preset, first)
			}
		}
	}
}

// A command that is cut says so: nobody agrees to what is hidden.
func TestLongCommand(t *testing.T) {
	a, _, _ := asked(t, ApprovalOptions{Request: bash(strings.Repeat("x", maxCommand) + "; rm -rf /")})
	if shown := text(a, 80, 5000); !strings.Contains(shown, "and 10 more bytes") {
		t.Error("it does not say what is missing")
	}
}

func TestCursorInNote(t *testing.T) {
	a, f, _ := asked(t, goTest())
	if _, c := a.Draw(80, 30); !c.Hidden {
		t.Errorf("a cursor without a note: %+v", c)
	}
	press(f, a, "tab", "a", "b")
	rows, c := a.Draw(80, 30)
	if row := ansi.Strip(rows[c.Y]); c.Hidden || ansi.Truncate(row, c.X, "") != "→ 5 No: ab" {
		t.Errorf("cursor %+v in %q", c, row)
	}
	a.Handle(key.Paste{Text: "pasted"})
	if shown := text(a, 80, 30); !strings.Contains(shown, "abpasted") {
		t.Errorf("a paste is lost:\n%s", shown)
	}
}

var someQuestions = []session.Choice{
	{ID: "db", Text: "Which database should the service use?\nBoth are there already.", Options: []string{"SQLite", "Postgres, which needs a server of its own and a password in the environment", "None"}, Recommended: 1},
	{ID: "os", Text: "Which systems?", Options: []string{"Linux", "macOS", "Windows"}, Multi: true, Recommended: -1},
	{ID: "name", Text: "What is its name?", Recommended: -1},
}

func TestQuestionsGolden(t *testing.T) {
	scene := func(name string, n int, keys ...string) paneltest.Scene {
		return paneltest.Scene{Name: name, Rows: func(s *theme.Styles, width int) []string {
			p, f, _ := questions(t, someQuestions[:n])
			press(f, p, keys...)
			f.Styles = s
			rows, _ := p.Draw(width, 30)
			return rows
		}}
	}
	paneltest.Golden(
		t, "questions", *update,
		scene("one", 1), scene("several", 3, "enter", "1", "3"), scene("words", 3, "right", "right", "b", "u", "r", "i", "n"),
		scene("review", 3, "enter", "1", "3", "tab", "B", "S", "D", "enter", "right"),
	)
	paneltest.Golden(
		t, "confirm", *update,
		paneltest.Scene{Name: "confirm", Rows: func(s *theme.Styles, width int) []string {
			f := paneltest.New(t)
			f.Styles = s
			rows, _ := NewConfirm(f.Env, ConfirmOptions{Title: "Delete this session?", Text: "It has 240 messages.\nThey cannot be brought back.", Yes: "Delete it", Danger: true}).Draw(width, 20)
			return rows
		}},
	)
}

func questions(t *testing.T, list []session.Choice) (*Questions, *paneltest.Face, *[]string) {
	t.Helper()
	f := paneltest.New(t)
	got := &[]string{}
	p := NewQuestions(f.Env, QuestionsOptions{Questions: list, OnDone: func(r []session.Chosen, err error) {
		if err != nil {
			*got = append(*got, err.Error())
		}
		for _, one := range r {
			*got = append(*got, strings.Join(one.Selected, "+")+"/"+one.Custom)
		}
	}})
	p.Draw(80, 30)
	f.Time = f.Time.Add(quiet)
	return p, f, got
}

func TestQuestionsAnswers(t *testing.T) {
	one, multi, free := someQuestions[:1], someQuestions[1:2], someQuestions[2:]
	for _, tt := range []struct {
		name string
		list []session.Choice
		keys []string
		want []string
	}{
		{"recommended", one, []string{"enter"}, []string{"Postgres, which needs a server of its own and a password in the environment/"}},
		{"moved", one, []string{"up", "enter"}, []string{"SQLite/"}},
		{"digit", one, []string{"3"}, []string{"None/"}},
		{"dismissed", one, []string{"esc"}, []string{ErrDismissed.Error()}},
		{"your own answer", one, []string{"tab", "h", "i", "2", "enter"}, []string{"/hi2"}},
		{"own words by digit", one, []string{"4", "x", "enter"}, []string{"/x"}},
		{"own words instead of a choice", one, []string{"space", "tab", "x", "enter"}, []string{"/x"}},
		{"a choice instead of own words", one, []string{"tab", "x", "up", "enter"}, []string{"None/"}},
		{"no words", one, []string{"tab", "enter"}, nil},
		{"left and right do nothing", one, []string{"right", "left", "right", "1"}, []string{"SQLite/"}},
		{"several", multi, []string{"3", "1", "enter"}, []string{"Windows+Linux/"}},
		{"several, taken back", multi, []string{"space", "2", "1", "enter"}, []string{"macOS/"}},
		{"several, nothing chosen", multi, []string{"down", "enter"}, []string{"macOS/"}},
		{"several, with words", multi, []string{"1", "tab", "B", "enter"}, []string{"Linux/B"}},
		{"free", free, []string{"a", "left", "b", "enter"}, []string{"/ba"}},
		{"all", someQuestions, []string{"1", "2", "enter", "x", "enter", "enter"}, []string{"SQLite/", "macOS/", "/x"}},
		{"not sent before the review", someQuestions, []string{"1", "2", "enter", "x", "enter"}, nil},
		{"one left out", someQuestions, []string{"1", "right", "right", "enter"}, []string{"SQLite/", "/", "/"}},
		{"changed in the review", someQuestions, []string{"1", "right", "right", "1", "3", "right", "right", "right", "enter"}, []string{"None/", "/", "/"}},
		{"chosen in the review", someQuestions, []string{"1", "right", "right", "up", "up", "up", "enter", "3", "right", "right", "enter"}, []string{"None/", "/", "/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, f, got := questions(t, tt.list)
			press(f, p, tt.keys...)
			if !slices.Equal(tt.want, *got) {
				t.Errorf("got %q, want %q\n%s", *got, tt.want, text(p, 80, 30))
			}
		})
	}
}

// Before answers are sent all of a long one can be read, and where there is no room for it
// that is said.
func TestReviewOfALongAnswer(t *testing.T) {
	long := strings.Repeat("many words ", 60) + "and an end."
	p, f, _ := questions(t, []session.Choice{{Text: "Which?", Options: []string{long, "none"}}, {Text: "And?", Options: []string{"x"}}})
	press(f, p, "1", "1")
	if shown := text(p, 80, 40); !strings.Contains(shown, "and an end.") {
		t.Errorf("the end is not shown:\n%s", shown)
	}
	if rows := strings.Split(text(p, 80, 8), "\n"); strings.TrimSpace(rows[1]) != "…" || !strings.Contains(strings.Join(rows, "\n"), "→ Send") {
		t.Errorf("with little room:\n%s", strings.Join(rows, "\n"))
	}
}

func TestConfirm(t *testing.T) {
	for keys, want := range map[string]string{"y": "true", "n": "false", "enter": "false", "up enter": "true", "tab tab enter": "false", "esc": "false", "y n": "true", "x": ""} {
		f := paneltest.New(t)
		got := ""
		c := NewConfirm(f.Env, ConfirmOptions{Title: "?", OnDone: func(yes bool) { got += fmt.Sprint(yes) }})
		c.Draw(80, 10)
		f.Time = f.Time.Add(quiet)
		press(f, c, strings.Fields(keys)...)
		if got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

// Text of others and keys at random: rows stay in their width, and nothing panics.
func TestRandom(t *testing.T) {
	keys := []string{"up", "down", "left", "right", "tab", "space", "pagedown", "pageup", "1", "2", "5", "a", "x", "backspace", "enter"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := func() string {
			return paneltest.Nasty[r.IntN(len(paneltest.Nasty))] + paneltest.Nasty[r.IntN(len(paneltest.Nasty))]
		}
		rule := []permit.Rule{{Tool: s(), Pattern: s(), Verdict: "allow"}}
		a, f, _ := asked(t, ApprovalOptions{
			Request: permit.Request{Tool: s(), Access: []tool.Access{{Kind: tool.AccessExecute, Target: s(), Dir: s()}, {Kind: tool.AccessWrite, Target: s()}}},
			Decision: permit.Decision{Reason: s(), Dangerous: s(), Offers: []permit.Offer{
				{Rules: rule, Words: s(), Examples: []string{s()}, Scopes: []permit.Scope{permit.Session, permit.User}},
			}},
			Preview: func(int) []string { return []string{"x"} },
		})
		q, _, _ := questions(t, []session.Choice{{Text: s(), Options: []string{s(), s()}, Multi: r.IntN(2) == 0}, {Text: s()}})
		c := NewConfirm(f.Env, ConfirmOptions{Title: s(), Text: s(), OnDone: func(bool) {}})
		for range 8 {
			width, height := r.IntN(60)+1, r.IntN(25)+1
			for _, p := range []pane.Pane{a, q, c} {
				rows, cursor := p.Draw(width, height)
				paneltest.Harmless(t, rows, width)
				if len(rows) > height || !cursor.Hidden && (cursor.Y >= len(rows) || cursor.X >= width || cursor.Y < 0) {
					t.Fatalf("%d rows of %d, cursor %+v", len(rows), height, cursor)
				}
				paneltest.Press(p, keys[r.IntN(len(keys))])
			}
		}
	}
}

func BenchmarkApproval(b *testing.B) {
	f := paneltest.New(b)
	o := goTest()
	o.Request = bash(strings.Repeat("echo a line of a long script\n", 1000))
	a := NewApproval(f.Env, o)
	b.ReportAllocs()
	for b.Loop() {
		a.Draw(100, 30)
	}
}
