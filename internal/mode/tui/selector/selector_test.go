package selector

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/history"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newFace makes a face at noon.
func newFace(t testing.TB, s *theme.Styles) *paneltest.Face {
	t.Helper()
	f := paneltest.Styled(t, s)
	f.Time = noon
	return f
}

func screenOf(p pane.Pane, width, height int) string {
	rows, _ := p.Draw(width, height)
	for i, r := range rows {
		rows[i] = strings.TrimRight(ansi.Strip(r), " ")
	}
	return strings.Join(rows, "\n") + "\n"
}

func model(provider, id, name string, window int, in, out float64) *catalog.Model {
	return &catalog.Model{
		Model: llm.Model{
			ID: id, Provider: provider, Name: name, API: llm.APICompletions, ContextWindow: window, MaxOutput: 64_000,
			Input: []llm.Modality{llm.ModalityText}, Price: llm.Price{Input: llm.PerMillion(in), Output: llm.PerMillion(out)},
		},
		Auth: catalog.AuthKey, Origin: catalog.OriginBuiltIn,
	}
}

func models() []*catalog.Model {
	opus := model("anthropic", "claude-opus-4-5", "Claude Opus 4.5", 200_000, 5, 25)
	opus.API, opus.Released, opus.Input = llm.APIAnthropic, "2025-11-24", append(opus.Input, llm.ModalityImage, llm.ModalityDocument)
	opus.Thinking = llm.ThinkingSupport{Mode: llm.ThinkingBudget, Default: llm.LevelMedium}
	opus.Price.CacheRead, opus.Price.CacheWrite = llm.PerMillion(0.5), llm.PerMillion(6.25)
	haiku := model("anthropic", "claude-haiku-4-5", "Claude Haiku 4.5", 200_000, 1, 5)
	gpt := model("openai", "gpt-5.2", "GPT-5.2", 400_000, 1.25, 10)
	gpt.API, gpt.Thinking = llm.APIResponses, llm.ThinkingSupport{Mode: llm.ThinkingEffort, Levels: []llm.Level{llm.LevelLow, llm.LevelHigh, llm.LevelXHigh}, Always: true}
	gpt.Price.Unreliable = true
	gpt.Price.Steps = []llm.PriceStep{{Above: 272_000, Input: llm.PerMillion(2.5), Output: llm.PerMillion(15)}}
	routed := model("openrouter", "anthropic/claude-opus-4.5", "Anthropic: Claude Opus 4.5", 200_000, 5, 25)
	routed.BaseURL = "https://user:hunter2@openrouter.ai/api/v1?key=hunter2"
	routed.APIKey = "sk-hunter2"
	azure := model("azure", "gpt-5.2", "GPT-5.2", 400_000, 1.25, 10)
	azure.Needs = []string{"AZURE_OPENAI_RESOURCE"}
	local := model("ollama", "qwen\x1b[31m3:8b", "Qwen\u202e3", 0, 0, 0)
	local.Auth, local.Origin, local.Price = catalog.AuthNone, catalog.OriginDiscovered, llm.Price{}
	return []*catalog.Model{gpt, azure, opus, haiku, routed, local}
}

func usable(m *catalog.Model) bool { return m.Provider == "anthropic" || m.Provider == "ollama" }

func roles() []Role {
	return []Role{
		{Name: catalog.RoleDefault, Ref: "anthropic/claude-opus-4-5"},
		{Name: catalog.RoleSmol, Ref: "anthropic/claude-haiku-4-5", Fixed: "the command line"},
		{Name: catalog.RoleSlow},
	}
}

func modelOptions() ModelOptions {
	return ModelOptions{
		Models: models(), Usable: usable, Current: "anthropic/claude-opus-4-5", Roles: roles(),
		Canonical: func(m *catalog.Model) string { return "canonical-" + m.ID },
	}
}

func sampleTools() []Tool {
	read := &tool.Tool{Name: "read", Label: "Read", Description: "Reads a file.\n\nLines, pictures and documents.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`), Effects: tool.Reads}
	bash := &tool.Tool{Name: "bash", Label: "Run", Description: strings.Repeat("Runs a command in a shell. ", 300), Effects: tool.Reads | tool.Writes | tool.Executes | tool.Network}
	evil := &tool.Tool{Name: "evil", Description: "\x1b]0;title\x07text \u202e of others"}
	return []Tool{{Tool: read, On: true, From: "built in"}, {Tool: bash, On: true, From: "built in"}, {Tool: evil, From: "some server", Tokens: 700}}
}

func sampleProviders() []Provider {
	return []Provider{
		{ID: "anthropic", Login: true, Source: "stored login 2", Stored: []credential.Info{
			{ID: 1, Kind: credential.KindAPIKey, Hint: "…4f2a", Disabled: "the vendor refused it", LastUsed: noon.Add(-time.Hour)},
			{ID: 2, Kind: credential.KindOAuth, Account: "ada@example.com", Blocked: noon.Add(3 * time.Hour)},
		}},
		{ID: "openai", Login: true},
		{ID: "groq", Source: "variable GROQ_API_KEY"},
		{ID: "mistral"},
		{ID: "ollama", Keyless: true},
	}
}

func entries(texts ...string) []history.Entry {
	out := make([]history.Entry, len(texts))
	for i, s := range texts {
		out[i] = history.Entry{Text: s, Dir: "/home/ada/site", At: noon.Add(-time.Duration(i) * 26 * time.Hour)}
	}
	return out
}

// panes are all of them, made anew for each drawing.
func panes(t testing.TB, f *paneltest.Face) map[string]pane.Pane {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"mine": `{"name":"mine","colors":{}}`, "broken": `{`} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	prompts := NewPrompts(f.Env, PromptOptions{Dir: "/home/ada/shop", Search: func(_ context.Context, _ string, _ int) []history.Entry {
		return entries("fix the login\nof the shop\n\x1b[31mplease", "write tests for the cart")
	}})
	(<-f.Posted)()
	all, role := modelOptions(), NewModels(f.Env, modelOptions())
	all.Current, all.Query = "", "opus"
	found := NewModels(f.Env, all)
	paneltest.Press(found, "tab")
	paneltest.Press(role, "ctrl+r")
	logins := NewLogins(f.Env, ProviderOptions{Providers: sampleProviders()})
	question := NewLogins(f.Env, ProviderOptions{Providers: sampleProviders()})
	paneltest.Press(question, "ctrl+d")
	return map[string]pane.Pane{
		"models":        NewModels(f.Env, modelOptions()),
		"models-search": found,
		"models-role":   role,
		"thinking":      Thinking(f.Env, ThinkingOptions{Model: "claude-opus-4-5", Support: models()[2].Thinking, Current: llm.LevelHigh}),
		"themes":        Themes(f.Env, ThemeOptions{Current: "light", Dir: dir}),
		"tools":         Tools(f.Env, ToolOptions{Tools: sampleTools()}),
		"hotkeys":       Hotkeys(f.Env, "keybindings.json", nil),
		"prompts":       prompts,
		"providers":     logins,
		"forget":        question,
	}
}

func TestGolden(t *testing.T) {
	ascii := theme.NewStyles(themetest.Theme(), theme.NoStyle).WithSymbols(theme.SymbolsOf(theme.ASCII, nil))
	for _, view := range []struct {
		width, height int
		styles        *theme.Styles
	}{{40, 14, ascii}, {80, 22, themetest.Styles()}, {140, 24, themetest.Styles()}} {
		f := newFace(t, view.styles)
		for name, p := range panes(t, f) {
			name := fmt.Sprintf("%s-%d", name, view.width)
			t.Run(name, func(t *testing.T) {
				rows, c := p.Draw(view.width, view.height)
				term := vt.New(vt.Options{Width: view.width, Height: view.height})
				_, _ = term.WriteString(strings.Join(rows, "\r\n"))
				if u := term.Unknown(); len(u) > 0 {
					t.Errorf("the terminal was sent %q", u)
				}
				out := term.Screen() + "\n"
				if view.width == 80 {
					out = term.Dump()
				}
				paneltest.File(t, *update, name, out+fmt.Sprintf("cursor %+v\n", c))
			})
		}
	}
}

// Whatever the size: all rows fit, and nothing of others' text gets through as it is.
func TestEverythingFits(t *testing.T) {
	for _, s := range []*theme.Styles{themetest.Styles(), theme.NewStyles(themetest.Theme(), theme.NoStyle).WithSymbols(theme.SymbolsOf(theme.ASCII, nil))} {
		f := newFace(t, s)
		for name, p := range panes(t, f) {
			for _, w := range []int{1, 8, 20, 60, 99, 100, 200} {
				for _, h := range []int{1, 3, 5, 10, 30} {
					for range 4 {
						rows, c := p.Draw(w, h)
						if len(rows) > h || c.Y >= len(rows) && !c.Hidden || c.X >= w && !c.Hidden {
							t.Fatalf("%s %dx%d: %d rows, cursor %+v", name, w, h, len(rows), c)
						}
						for _, r := range rows {
							if ansi.StringWidth(r) > w || strings.ContainsAny(r, "\u202e\x07\n") || strings.Contains(r, "\x1b[31m") || strings.Contains(r, "hunter2") {
								t.Fatalf("%s %dx%d: %q", name, w, h, r)
							}
						}
						paneltest.Press(p, "down")
					}
				}
			}
		}
	}
}
