package wizard

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

var update = flag.Bool("update", false, "write the golden files anew")

// world is what a wizard is told and what it does.
type world struct {
	t    testing.TB
	face *paneltest.Face
	o    Options
	w    *Wizard

	ready map[string]string // providers that can be used
	calls []string          // what was written, in order
	shown string            // the theme and signs that are drawn with
	fail  map[string]error  // by call
	pause chan struct{}     // where it is set, calls wait for it or their context
	ended []Result
}

func (x *world) did(ctx context.Context, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	if x.pause != nil {
		select {
		case <-x.pause:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	name, _, _ := strings.Cut(call, " ")
	if err := x.fail[name]; err != nil {
		return err
	}
	x.calls = append(x.calls, call) // one task at a time: the face waits for it
	return nil
}

func sampleFindings(x *world) []discover.Finding {
	imp := func(name, report string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			if err := x.did(ctx, "import %s", name); err != nil {
				return "", err
			}
			return report, nil
		}
	}
	return []discover.Finding{
		{Kind: discover.Environment, What: "The variable GROQ_API_KEY is set, for groq.", Path: "GROQ_API_KEY", Providers: []string{"groq"}},
		{Kind: discover.Server, Program: "ollama", What: "ollama runs and has 2 models.", Path: "http://127.0.0.1:11434", Models: 2},
		{Kind: discover.Keys, Program: "opencode", What: "API keys for openrouter and mistral.", Path: "/home/ada/.local/share/opencode/auth.json", Importable: true, Import: imp("keys", "Keys of opencode: stored for mistral and openrouter.")},
		{Kind: discover.Login, Program: "Claude Code", What: "A login, which stays with Claude Code: burin does not use logins of other programs.", Path: "/home/ada/.claude/.credentials.json"},
		{Kind: discover.Models, Program: "oh-my-pi\x1b[31m", What: "A file of models\u202e and servers.", Path: "/home/ada/.omp/agent/models.yml", Importable: true, Import: imp("models", "Copied to /home/ada/.burin/models.yml.")},
	}
}

// newWorld is a machine on which everything can be set up.
func newWorld(t testing.TB) *world {
	x := &world{t: t, face: paneltest.New(t), ready: map[string]string{"groq": "variable GROQ_API_KEY"}, fail: map[string]error{}, shown: "dark unicode"}
	x.o = Options{
		Find: func(context.Context) []discover.Finding { return sampleFindings(x) },
		Providers: func(context.Context) ([]Provider, error) {
			var out []Provider
			for _, id := range []string{"anthropic", "openai", "openrouter", "groq", "some\x1b[31mody"} {
				out = append(out, Provider{ID: id, Ready: x.ready[id], Login: id == "openrouter"})
			}
			return out, x.fail["providers"]
		},
		Check: func(ctx context.Context, p, k string) error {
			if x.pause != nil {
				<-ctx.Done()
				return ctx.Err()
			}
			return x.fail["check"]
		},
		SaveKey: func(ctx context.Context, p, k string) error { return x.did(ctx, "key %s %s", p, k) },
		Login: func(ctx context.Context, p string, ui oauth.UI) error {
			ui.Show(oauth.Notice{URL: "https://openrouter.ai/auth?callback_url=http%3A%2F%2F127.0.0.1%3A41999%2Fcallback&code_challenge=0123456789", UserCode: "ABCD-1234"})
			answer, err := ui.Paste(ctx, "")
			if err != nil {
				return err
			}
			return x.did(ctx, "login %s %s", p, answer)
		},
		Models: func(context.Context) ([]Model, error) {
			return []Model{{"groq/kimi-k2", "Kimi K2", "groq, 256k"}, {"groq/gpt-oss\x1b[31m", "", "groq, 128k"}}, x.fail["models"]
		},
		Model:    "",
		SetModel: func(ref string) error { return x.did(t.Context(), "model %s", ref) },
		Theme:    "dark", Symbols: theme.Unicode,
		Show:        func(t *theme.Theme, p theme.Preset) { x.shown = t.Name + " " + string(p) },
		SetTheme:    func(t *theme.Theme) error { return x.did(context.Background(), "theme %s", t.Name) },
		SetSymbols:  func(p theme.Preset) error { return x.did(t.Context(), "signs %s", p) },
		Approval:    "ask",
		SetApproval: func(m string) error { return x.did(t.Context(), "approval %s", m) },
		OnDone:      func(r Result) { x.ended = append(x.ended, r) },
	}
	return x
}

// begin makes the wizard and waits until its first step is there.
func (x *world) begin() *world {
	x.w = New(x.face.Env, x.o)
	x.settle()
	return x
}

// settle runs what was posted until no task is under way that ends by itself.
func (x *world) settle() {
	for x.w.task != nil && !(x.w.task.open && x.w.task.what == "Waiting for the login") {
		(<-x.face.Posted)()
	}
}

// do presses keys and waits for what they start; what begins with ' is pasted.
func (x *world) do(keys ...string) {
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			x.w.Handle(key.Paste{Text: text})
		} else {
			paneltest.Press(x.w, k)
		}
		x.settle()
	}
}

func (x *world) screen(width, height int) string {
	rows, _ := x.w.Draw(width, height)
	return ansi.Strip(strings.Join(rows, "\n"))
}

func (x *world) want(step step, calls ...string) {
	x.t.Helper()
	if x.w.step != step {
		x.t.Errorf("step %q, want %q:\n%s", x.w.step.name(), step.name(), x.screen(80, 20))
	}
	if diff := cmp.Diff(calls, x.calls); diff != "" {
		x.t.Errorf("written (-want +got):\n%s", diff)
	}
	x.calls = nil
}

func (x *world) says(words ...string) {
	x.t.Helper()
	got := x.screen(100, 24)
	for _, s := range words {
		if !strings.Contains(got, s) {
			x.t.Errorf("no %q in:\n%s", s, got)
		}
	}
}

// Enter goes through all steps; each writes when it is confirmed, not before.
func TestThroughAllSteps(t *testing.T) {
	x := newWorld(t).begin()
	x.want(stepFound)
	x.do("enter")
	x.want(stepImport)
	x.do("space", "enter") // the first one is left where it is
	x.want(stepProvider, "import models")
	x.do("enter")
	x.want(stepModel)
	x.do("enter")
	x.want(stepSymbols, "model groq/kimi-k2")
	x.do("down", "down")
	x.want(stepSymbols)
	if x.shown != "dark ascii" {
		t.Errorf("shown: %s", x.shown)
	}
	x.do("enter")
	x.want(stepTheme, "signs ascii")
	x.do("down")
	x.want(stepTheme)
	if x.shown != "light ascii" {
		t.Errorf("shown: %s", x.shown)
	}
	x.do("enter")
	x.want(stepApproval, "theme light")
	x.do("down", "enter")
	x.want(stepEnd, "approval auto-edit")
	x.do("esc", "up", "enter") // on second thoughts
	x.want(stepEnd, "approval ask")
	x.says("Copied to /home/ada/.burin/models.yml.", "Kimi K2 answers.", "Theme: light.", "Permissions: ask.", "Ready. Ask anything.")
	if got := x.screen(100, 24); strings.Count(got, "Permissions:") != 1 {
		t.Errorf("a choice is not told once:\n%s", got)
	}
	x.do("enter", "enter")
	if diff := cmp.Diff([]Result{{Finished: true, Ready: true}}, x.ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
}

// Tab skips each step; nothing is written then, and looks are as they were.
func TestSkipAndBack(t *testing.T) {
	x := newWorld(t).begin()
	for s := stepFound; s < stepEnd; s++ {
		x.want(s)
		if s == stepSymbols || s == stepTheme {
			x.do("down")
			if x.shown == "dark unicode" {
				t.Errorf("%s: no preview", s.name())
			}
		}
		x.do("tab")
		if x.shown != "dark unicode" {
			t.Errorf("%s: shown afterwards: %s", s.name(), x.shown)
		}
	}
	x.want(stepEnd)
	for s := stepApproval; s >= stepFound; s-- {
		x.do("esc")
		x.want(s)
		if s == stepTheme {
			x.do("down")
		}
	}
	if x.shown != "dark unicode" {
		t.Errorf("shown after Esc: %s", x.shown)
	}
	x.do("esc")
	x.want(stepFound) // there is no step before
	x.do("enter", "tab", "tab", "tab", "down", "ctrl+c")
	x.want(stepEnd)
	if x.shown != "dark unicode" {
		t.Errorf("shown after Ctrl+C: %s", x.shown)
	}
	x.do("ctrl+c")
	if diff := cmp.Diff([]Result{{Ready: true}}, x.ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
}

func TestKey(t *testing.T) {
	const secret = "sk-c4n4ry-0123456789"
	x := newWorld(t)
	x.ready = map[string]string{}
	x.begin()
	x.do("tab", "tab")
	x.want(stepProvider)
	x.do("'anthropic", "enter")
	x.says("API key for anthropic", "https://console.anthropic.com/settings/keys")
	x.do("enter")
	x.says("paste a key")
	x.do("'two words", "enter")
	x.says("not a key")
	x.do("esc", "enter")
	x.want(stepProvider)
	x.says("API key for anthropic") // it was selected still

	x.fail["check"] = errors.New("anthropic cannot be reached: is there a network?")
	x.do("' "+secret+"-\n", "enter")
	x.says("is there a network? Press Enter again to store it anyway.")
	x.do("esc", "enter")
	x.fail["check"] = errors.New("anthropic refuses the key: check it and try again.")
	x.do("' "+secret+"\n", "enter")
	x.want(stepProvider)
	x.says("anthropic refuses the key: check it and try again. Press Enter again to store it anyway.")
	if s := x.screen(200, 30); strings.Contains(s, "c4n4ry") {
		t.Errorf("the key is shown:\n%s", s)
	}
	x.fail["key"] = errors.New("the store is locked")
	x.do("enter")
	x.want(stepProvider)
	x.says("the store is locked")
	x.fail = map[string]error{}
	x.do("enter")
	x.want(stepModel, "key anthropic "+secret)
	x.says("Stored the key for anthropic.")
	if x.w.unchecked != "" {
		t.Error("the key is kept longer than needed")
	}
}

// A model server that runs here is enough; one without models is not.
func TestServerIsEnough(t *testing.T) {
	for _, models := range []int{0, 3} {
		x := newWorld(t)
		x.ready = nil
		x.o.Find = func(context.Context) []discover.Finding {
			return []discover.Finding{{Kind: discover.Server, Program: "ollama", What: "ollama runs.", Models: models}}
		}
		x.begin()
		x.do("tab")
		if got := strings.Contains(x.screen(80, 24), "runs on this machine"); got != (models > 0) {
			t.Errorf("%d models: listed as ready: %v", models, got)
		}
		x.do("ctrl+c", "enter")
		if x.ended[0].Ready != (models > 0) {
			t.Errorf("%d models: %+v", models, x.ended)
		}
	}
}

// Esc ends a check; its answer counts for nothing afterwards.
func TestGiveUp(t *testing.T) {
	x := newWorld(t).begin()
	x.do("tab", "tab", "'openai", "enter", "'sk-0123456789")
	x.pause = make(chan struct{})
	paneltest.Press(x.w, "enter")
	if s := x.screen(80, 20); !strings.Contains(s, "Checking the key with openai…") {
		t.Errorf("no word of it:\n%s", s)
	}
	paneltest.Press(x.w, "x", "enter") // keys wait for nothing and do nothing
	paneltest.Press(x.w, "esc")
	(<-x.face.Posted)()
	x.says("Stopped.", "API key for openai")
	if s := x.screen(80, 20); strings.Contains(s, "store it anyway") {
		t.Errorf("the answer came through:\n%s", s)
	}
	x.want(stepProvider)
	if x.w.task != nil {
		t.Error("it still runs")
	}
}

// Esc tells a write to end and waits for its report; a second one does not wait.
func TestGiveUpAnImport(t *testing.T) {
	x := newWorld(t).begin()
	x.do("enter")
	x.pause = make(chan struct{})
	paneltest.Press(x.w, "enter", "tab", "esc")
	x.settle()
	x.want(stepProvider)
	x.says("could not be imported")
	x.do("esc")
	paneltest.Press(x.w, "enter", "esc")
	x.says("Stopping…")
	paneltest.Press(x.w, "esc")
	x.want(stepImport)
	x.says("Stopped.")
}

func TestLogin(t *testing.T) {
	x := newWorld(t).begin()
	x.do("tab", "tab", "'openrouter", "enter")
	(<-x.face.Posted)()
	(<-x.face.Posted)()
	x.says("https://openrouter.ai/auth", "ABCD-1234", "Waiting for the login…", "Paste the address")
	x.do("esc")
	(<-x.face.Posted)() // the login that was given up
	x.want(stepProvider)
	x.says("Ready to use")
	x.do("'openrouter", "enter")
	(<-x.face.Posted)()
	(<-x.face.Posted)()
	x.do("'http://127.0.0.1/callback?code=7")
	paneltest.Press(x.w, "enter")
	(<-x.face.Posted)()
	x.settle()
	x.want(stepModel, "login openrouter http://127.0.0.1/callback?code=7")
	x.says("Logged in to openrouter.")

	x = newWorld(t)
	x.o.Login = func(context.Context, string, oauth.UI) error { return errors.New("the server said no") }
	x.begin()
	x.do("tab", "tab", "'openrouter", "enter")
	(<-x.face.Posted)()
	x.want(stepProvider)
	x.says("the server said no")
	x.do("'openrouter", "ctrl+n")
	x.says("API key for openrouter")
}

// Whatever fails is told, and the step stays.
func TestFailures(t *testing.T) {
	x := newWorld(t)
	for _, name := range []string{"import", "model", "signs", "theme", "approval", "providers", "models"} {
		x.fail[name] = fmt.Errorf("no room for %s\non the disk", name)
	}
	x.begin()
	x.do("enter", "enter")
	x.want(stepProvider)
	x.says("no room for providers on the disk", "groq")
	x.do("enter")
	x.says("no room for models on the disk")
	for _, s := range []struct {
		step step
		name string
	}{{stepModel, "model"}, {stepSymbols, "signs"}, {stepTheme, "theme"}, {stepApproval, "approval"}} {
		x.do("enter")
		x.want(s.step)
		x.says("no room for " + s.name + " on the disk")
		x.do("tab")
	}
	x.want(stepEnd)
	x.says("Not imported: opencode: no room for import on the disk")
}

// The end says what is missing, also to those who left at once.
func TestMissing(t *testing.T) {
	x := newWorld(t)
	x.ready = nil
	x.w = New(x.face.Env, x.o)
	paneltest.Press(x.w, "ctrl+c")
	for x.w.task != nil {
		(<-x.face.Posted)()
	}
	x.want(stepEnd)
	x.says("No model yet.", "console.anthropic.com/settings/keys", "/login", "ANTHROPIC_API_KEY", "Ollama")
	x.do("enter")
	if diff := cmp.Diff([]Result{{}}, x.ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
}

// Steps without their functions, and without anything found, are left out.
func TestLeftOut(t *testing.T) {
	x := newWorld(t)
	x.o.Find = func(context.Context) []discover.Finding { return nil }
	x.o.Models, x.o.SetTheme = nil, nil
	x.begin()
	x.want(stepProvider)
	x.says("1 of 4", "No settings from other tools found")
	x.do("esc")
	x.want(stepProvider)
	x.do("enter")
	x.want(stepSymbols)
	x.do("tab")
	x.want(stepApproval)

	x = newWorld(t)
	x.o = Options{OnDone: x.o.OnDone}
	x.begin()
	x.want(stepEnd)
	x.do("esc")
	if len(x.ended) != 1 {
		t.Errorf("ended %v", x.ended)
	}
}

func TestNeeded(t *testing.T) {
	first := Start{Interactive: true, Enabled: true}
	with := func(f func(*Start)) Start { s := first; f(&s); return s }
	for _, tt := range []struct {
		name string
		s    Start
		want bool
	}{
		{"the first start", first, true},
		{"a pipe", with(func(s *Start) { s.Interactive = false }), false},
		{"a session goes on", with(func(s *Start) { s.Resuming = true }), false},
		{"switched off", with(func(s *Start) { s.Enabled = false }), false},
		{"seen", with(func(s *Start) { s.Seen = Version }), false},
		{"a newer burin was here", with(func(s *Start) { s.Seen = Version + 1 }), false},
		{"an older one was", with(func(s *Start) { s.Seen = Version - 1 }), true},
		{"BURIN_SKIP_SETUP=1", with(func(s *Start) { s.Skip = "1" }), false},
		{"BURIN_SKIP_SETUP=yes", with(func(s *Start) { s.Skip = "yes" }), false},
		{"BURIN_SKIP_SETUP=0", with(func(s *Start) { s.Skip = "0" }), true},
		{"BURIN_SKIP_SETUP=false", with(func(s *Start) { s.Skip = "false" }), true},
	} {
		if got := Needed(tt.s); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// scenes are the steps, each with the keys that lead there.
func scenes() map[string][]string {
	return map[string][]string{
		"1 found": nil, "2 import": {"enter", "down", "space"}, "3 providers": {"enter", "enter"},
		"4 key":   {"tab", "tab", "'anthropic", "enter", "'sk-0123456789", "enter"},
		"5 login": {"tab", "tab", "'openrouter", "enter"}, "6 models": {"tab", "tab", "enter"},
		"7 signs": {"tab", "tab", "tab", "tab"}, "8 themes": {"tab", "tab", "tab", "tab", "tab"},
		"9 permissions": {"tab", "tab", "tab", "tab", "tab", "tab", "down"}, "a end": {"enter", "enter", "ctrl+c"}, "b missing": {"ctrl+c"},
		"c quick": nil, "d quick search": {"g"},
	}
}

func scene(t testing.TB, name string, s *theme.Styles) *world {
	x := newWorld(t)
	x.face.Styles = s
	x.fail["check"] = errors.New("anthropic refuses the key: it may have been revoked")
	if name == "b missing" {
		x.ready, x.o.Find = nil, nil
	}
	x.o.Quick = strings.Contains(name, "quick")
	x.o.Reason, x.o.Demo = "no API key, login or local model server found", func() {}
	x.begin()
	x.do(scenes()[name]...)
	if name == "5 login" {
		(<-x.face.Posted)()
		(<-x.face.Posted)()
		t.Cleanup(x.w.abandon)
	}
	return x
}

func TestGolden(t *testing.T) {
	var all []paneltest.Scene
	for name := range scenes() {
		all = append(all, paneltest.Scene{Name: name, Rows: func(s *theme.Styles, width int) []string {
			rows, _ := scene(t, name, s).w.Draw(width, 16)
			return rows
		}})
	}
	slices.SortFunc(all, func(a, b paneltest.Scene) int { return strings.Compare(a.Name, b.Name) })
	paneltest.Golden(t, "wizard", *update, all...)
}

// Whatever the size: rows and the cursor fit, and nothing of others gets through.
func TestEverythingFits(t *testing.T) {
	for _, s := range []*theme.Styles{themetest.Styles(), theme.NewStyles(themetest.Theme(), theme.NoStyle).WithSymbols(theme.SymbolsOf(theme.ASCII, nil))} {
		for name := range scenes() {
			x := scene(t, name, s)
			for _, width := range []int{1, 2, 5, 20, 60, 99, 100, 200} {
				for _, height := range []int{1, 2, 3, 5, 6, 10, 40} {
					rows, c := x.w.Draw(width, height)
					if len(rows) > height || !c.Hidden && (c.Y >= len(rows) || c.X >= width) {
						t.Fatalf("%s %dx%d: %d rows, cursor %+v", name, width, height, len(rows), c)
					}
					paneltest.Harmless(t, rows, width)
				}
			}
		}
	}
}

// Names and texts of others are shown as what they are, wherever they come from.
func TestNastyTexts(t *testing.T) {
	x := newWorld(t)
	bad := errors.New(strings.Join(paneltest.Nasty, " "))
	x.fail["providers"], x.fail["models"], x.fail["signs"] = bad, bad, bad
	x.o.Find = func(context.Context) (out []discover.Finding) {
		for _, s := range paneltest.Nasty {
			out = append(out, discover.Finding{Kind: discover.Keys, Program: s, What: s, Path: s, Importable: true, Import: func(context.Context) (string, error) { return s, bad }})
		}
		return out
	}
	x.o.Providers = func(context.Context) (out []Provider, err error) {
		for i, s := range paneltest.Nasty {
			out = append(out, Provider{ID: s + fmt.Sprint(i), Ready: s, Login: i%2 == 0})
		}
		return out, bad
	}
	x.o.Models = func(context.Context) (out []Model, err error) {
		for _, s := range paneltest.Nasty {
			out = append(out, Model{Ref: s, Name: s, Detail: s})
		}
		return out, bad
	}
	x.begin()
	for _, k := range []string{"down", "enter", "down", "enter", "down", "ctrl+n", "esc", "tab", "down", "tab", "enter", "tab", "tab", "tab", "pagedown"} {
		for _, width := range []int{1, 7, 20, 80, 200} {
			rows, _ := x.w.Draw(width, 18)
			paneltest.Harmless(t, rows, width)
		}
		x.do(k)
	}
	x.want(stepEnd)
}

// A frame costs what is shown.
func BenchmarkDraw(b *testing.B) {
	x := scene(b, "3 providers", themetest.Styles())
	b.ReportAllocs()
	for b.Loop() {
		x.w.Draw(100, 20)
	}
}
