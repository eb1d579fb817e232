package selector

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/history"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
)

// log collects what callbacks are told.
type log []string

func (l *log) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func (l *log) want(t *testing.T, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, []string(*l)); diff != "" {
		t.Error(diff)
	}
	*l = nil
}

func TestModels(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	var got log
	o := modelOptions()
	o.OnChoose = func(m *catalog.Model, usable bool) { got.add("choose %s %t", m.Ref(), usable) }
	o.OnRole = func(role, ref string) { got.add("role %s %s", role, ref) }
	o.OnCancel = func() { got.add("cancel") }
	m := NewModels(f.Env, o)

	paneltest.Press(m, "haiku", "enter")
	got.want(t, "choose anthropic/claude-haiku-4-5 true")
	paneltest.Press(m, "esc", "gpt", "enter")
	got.want(t) // it is not among the usable ones
	if s := screenOf(m, 80, 20); !strings.Contains(s, "Nothing matches") {
		t.Errorf("want words about no match:\n%s", s)
	}
	paneltest.Press(m, "tab", "enter")
	got.want(t, "choose openai/gpt-5.2 false")
	if s := screenOf(m, 140, 20); !strings.Contains(s, "no key") || !strings.Contains(s, "needs AZURE_") {
		t.Errorf("it is not said why models cannot be used:\n%s", s)
	}
	paneltest.Press(m, "esc", "Anthropic: opus", "enter") // a word of the name
	got.want(t, "choose openrouter/anthropic/claude-opus-4.5 false")

	paneltest.Press(m, "ctrl+r", "end", "enter")
	got.want(t, "role slow openrouter/anthropic/claude-opus-4.5")
	if o.Roles[2].Ref != "" {
		t.Error("the caller's roles were changed")
	}
	paneltest.Press(m, "ctrl+r", "down", "enter", "esc", "ctrl+r", "esc") // smol is set by the command line
	got.want(t)
	paneltest.Press(m, "esc", "tab", "end")
	if s := screenOf(m, 100, 20); !strings.Contains(s, "[by role]") || !strings.Contains(s, "→   anthropic/claude-opus-4.5") {
		t.Errorf("the model with the new role is not among those with one:\n%s", s)
	}
	paneltest.Press(m, "ctrl+r", "end", "delete", "esc")
	got.want(t, "role slow ", "cancel")
}

func TestModelsBeginWhereThereIsSomething(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	o := modelOptions()
	o.Usable = func(*catalog.Model) bool { return false }
	if s := screenOf(NewModels(f.Env, o), 80, 20); !strings.Contains(s, "[all 6]") {
		t.Errorf("no model can be used, and all are not shown:\n%s", s)
	}
	o = modelOptions()
	o.Current = "openai/gpt-5.2"
	if s := screenOf(NewModels(f.Env, o), 80, 20); !strings.Contains(s, "→ ● gpt-5.2") {
		t.Errorf("the model in use is not selected:\n%s", s)
	}
}

// All models there are, as people see them.
func TestCatalogue(t *testing.T) {
	r, err := catalog.Open(catalog.Options{Available: func(p string) bool { return p == "anthropic" }, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	all := r.Registry.All()
	m := NewModels(f.Env, ModelOptions{Models: all, Usable: r.Registry.Available, Canonical: r.Registry.Canonical, Roles: Roles(r.Resolver)})
	if len(m.byRef) != len(all) || len(m.ready) == 0 || len(m.ready) == len(all) {
		t.Errorf("%d models, %d listed, %d usable", len(all), len(m.byRef), len(m.ready))
	}
	for _, x := range all {
		rows := m.preview(x.Ref(), 60, 40)
		if text := strings.Join(rows, "\n"); len(rows) < 6 || !strings.Contains(text, string(x.API)) {
			t.Fatalf("%s:\n%s", x.Ref(), text)
		}
	}
	paneltest.Press(m, "anthropic opus")
	if s := screenOf(m, 100, 20); !strings.Contains(s, "opus") {
		t.Error(s)
	}
}

func TestThinking(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	for _, c := range []struct {
		support llm.ThinkingSupport
		current llm.Level
		want    []llm.Level // selected, and the others by going down
	}{
		{llm.ThinkingSupport{Mode: llm.ThinkingEffort}, llm.LevelMedium, []llm.Level{"medium", "high", "off", "minimal", "low"}},
		{llm.ThinkingSupport{Mode: llm.ThinkingEffort, Always: true, Levels: []llm.Level{"low", "xhigh"}}, llm.LevelHigh, []llm.Level{"low", "xhigh"}},
		{llm.ThinkingSupport{}, llm.LevelHigh, nil},
	} {
		var got []llm.Level
		p := Thinking(f.Env, ThinkingOptions{Model: "m", Support: c.support, Current: c.current, OnChoose: func(l llm.Level) { got = append(got, l) }})
		for range c.want {
			paneltest.Press(p, "enter", "down")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestThemesAreShownAndBroughtBack(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	dir := t.TempDir()
	for _, name := range []string{"broken", "dark"} { // dark is built in, which wins
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte("{"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var got log
	p := Themes(f.Env, ThemeOptions{
		Current: "light", Dir: dir,
		OnMove:   func(th *theme.Theme) { got.add("show %s", th.Name); f.Styles = theme.NewStyles(th, theme.NoStyle) },
		OnChoose: func(th *theme.Theme) { got.add("choose %s", th.Name) },
		OnCancel: func() { got.add("cancel") },
	})
	paneltest.Press(p, "up", "enter", "end", "enter")
	got.want(t, "show dark", "choose dark") // the last one is broken
	if s := screenOf(p, 80, 40); !strings.Contains(s, "cannot be used") || !strings.Contains(s, "broken.json") {
		t.Errorf("it is not said what is wrong with the file:\n%s", s)
	}
	paneltest.Press(p, "esc")
	got.want(t, "show light", "cancel")
}

func TestTools(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	var got log
	p := Tools(f.Env, ToolOptions{Tools: sampleTools(), OnToggle: func(name string, on bool) { got.add("%s %t", name, on) }})
	before := screenOf(p, 80, 20)
	paneltest.Press(p, "down", "space", "down", "enter", "up", "space")
	got.want(t, "bash false", "evil true", "bash true")
	after := screenOf(p, 80, 20)
	if before == after || !strings.Contains(before, "Tools: ~2.4k tokens") {
		t.Errorf("the cost is not that of what is on:\n%s\n%s", before, after)
	}
	if !strings.Contains(after, "change files, run programs, use the network") {
		t.Errorf("it is not said what the tool may do:\n%s", after)
	}
}

func TestHotkeys(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	p := Hotkeys(f.Env, "keybindings.json", nil)
	if got, want := p.Len(), len(f.Keys.Help()); got != want {
		t.Errorf("%d actions are listed, there are %d", got, want)
	}
	paneltest.Press(p, "suspend", "enter")
	if p.Selected() != "app.suspend" {
		t.Errorf("selected %q", p.Selected())
	}
}

// What a key does is there to be read, however little room there is.
func TestHotkeysWhole(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	for _, b := range f.Keys.Help() {
		p := Hotkeys(f.Env, "keybindings.json", nil)
		p.SetSelected(string(b.Action))
		for _, width := range []int{40, 100} {
			rows, _ := p.Draw(width, 24)
			var page strings.Builder // of what stands below the list, or beside it
			for _, row := range rows {
				if _, side, ok := strings.Cut(row, "│ "); ok || width == 40 {
					if !ok {
						side = row
					}
					page.WriteString(strings.TrimSpace(side) + " ")
				}
			}
			if got := page.String(); !strings.Contains(got, b.Help) {
				t.Errorf("%d columns: no %q in %q", width, b.Help, got)
			}
		}
	}
}

// asked is a search that answers when the test says so.
type asked struct {
	query string
	ctx   context.Context
	reply chan []history.Entry
}

func TestPrompts(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	searches := make(chan asked, 10)
	var got log
	p := NewPrompts(f.Env, PromptOptions{
		Search: func(ctx context.Context, query string, _ int) []history.Entry {
			a := asked{query, ctx, make(chan []history.Entry)}
			searches <- a
			return <-a.reply
		},
		OnChoose: func(s string) { got.add("choose %s", s) },
		OnCancel: func() { got.add("cancel") },
	})
	first := <-searches
	paneltest.Press(p, "a", "b", "c") // while the first is under way
	if first.ctx.Err() == nil {
		t.Error("a search that nobody waits for goes on")
	}
	first.reply <- entries("all")
	(<-f.Posted)()
	second := <-searches
	if second.query != "abc" {
		t.Errorf("then %q was searched, want what stands there now", second.query)
	}
	paneltest.Press(p, "enter") // for what abc will find
	second.reply <- entries("abc one\ntwo", "abc three")
	(<-f.Posted)()
	got.want(t, "choose abc one\ntwo")
	if len(searches) != 0 {
		t.Errorf("%d more searches", len(searches))
	}

	// A pane that was left takes no answer.
	p = NewPrompts(f.Env, PromptOptions{Search: func(ctx context.Context, _ string, _ int) []history.Entry {
		<-ctx.Done()
		return entries("late")
	}, OnCancel: func() { got.add("cancel") }})
	paneltest.Press(p, "enter", "esc")
	(<-f.Posted)()
	got.want(t, "cancel")
}

func TestPromptsOfTheHistory(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	h := history.Open(history.Options{Home: t.TempDir(), Dir: "/p"})
	defer h.Close()
	h.Add("fix the parser", "/p", noon)
	h.Add("write the\nrelease notes", "/p", noon)
	chosen := ""
	p := NewPrompts(f.Env, PromptOptions{Search: h.Search, Dir: "/p", OnChoose: func(s string) { chosen = s }})
	(<-f.Posted)()
	paneltest.Press(p, "n", "otes", "enter")
	for chosen == "" {
		(<-f.Posted)()
	}
	if chosen != "write the\nrelease notes" {
		t.Errorf("chose %q", chosen)
	}
}

func TestLogins(t *testing.T) {
	f := newFace(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	var got log
	note := func(what string) func(string) { return func(id string) { got.add("%s %s", what, id) } }
	l := NewLogins(f.Env, ProviderOptions{
		Providers: sampleProviders(), OnLogin: note("login"), OnKey: note("key"), OnLogout: note("logout"),
		OnRemove: func(id int64) { got.add("remove %d", id) }, OnCancel: func() { got.add("cancel") },
	})
	paneltest.Press(l, "enter", "ctrl+n", "mistral", "enter", "esc", "groq", "ctrl+d")
	got.want(t, "login anthropic", "key anthropic", "key mistral")
	if s := screenOf(l, 80, 20); !strings.Contains(s, "Nothing is stored for groq. In use: variable GROQ_API_KEY.") {
		t.Errorf("it is not said why there is nothing to forget:\n%s", s)
	}
	paneltest.Press(l, "enter", "esc", "home", "ctrl+d", "enter") // keep everything
	paneltest.Press(l, "ctrl+d", "down", "enter", "ctrl+d", "end", "enter", "ctrl+d", "esc", "esc")
	got.want(t, "remove 1", "logout anthropic", "cancel")
	if s := screenOf(l, 140, 20); !strings.Contains(s, "disabled: the vendor refused it") || !strings.Contains(s, "at its limit until") {
		t.Errorf("states are missing:\n%s", s)
	}
}

func TestProvidersAreCollected(t *testing.T) {
	home := t.TempDir()
	m, err := connect.Open(connect.Options{
		ConfigDir: home, DataDir: home, CacheDir: home, WorkDir: home, UserHome: home, Keyring: credential.NoKeyring(),
		LookupEnv: func(name string) (string, bool) { return "gsk-1", name == "GROQ_API_KEY" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, _, err := m.Keys.Add(t.Context(), "mistral", "work", "sk-canary"); err != nil {
		t.Fatal(err)
	}
	list, err := Providers(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]Provider{}
	for _, p := range list {
		byID[p.ID] = p
	}
	if p := byID["mistral"]; len(p.Stored) != 1 || p.Stored[0].Label != "work" || p.Source == "" {
		t.Errorf("mistral: %+v", p)
	}
	if p := byID["groq"]; !strings.Contains(p.Source, "GROQ_API_KEY") || p.Login {
		t.Errorf("groq: %+v", p)
	}
	for _, id := range m.Logins() {
		if !byID[id].Login {
			t.Errorf("%s has a login: %+v", id, byID[id])
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", list), "canary") {
		t.Error("a secret is in the list")
	}
}

// BenchmarkOpenModels opens the selector with all models there are and draws it.
func BenchmarkOpenModels(b *testing.B) {
	r, err := catalog.Open(catalog.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	all, roles := r.Registry.All(), Roles(r.Resolver)
	f := newFace(b, themetest.Styles())
	b.ReportMetric(float64(len(all)), "models")
	b.ReportAllocs()
	for b.Loop() {
		m := NewModels(f.Env, ModelOptions{Models: all, Usable: r.Registry.Available, Canonical: r.Registry.Canonical, Roles: roles})
		m.Draw(140, 30)
	}
}

// BenchmarkSearchModels is a key in the search of all models, and the frame after it.
func BenchmarkSearchModels(b *testing.B) {
	r, err := catalog.Open(catalog.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	f := newFace(b, themetest.Styles())
	m := NewModels(f.Env, ModelOptions{Models: r.Registry.All(), Canonical: r.Registry.Canonical})
	b.ReportAllocs()
	for b.Loop() {
		paneltest.Press(m, "o")
		m.Draw(140, 30)
		paneltest.Press(m, "backspace")
		m.Draw(140, 30)
	}
}
