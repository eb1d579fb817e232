package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secret is in every key of the tests, and must be in nothing that is told.
const secret = "c4n4ry"

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// keys stand for the sealed store.
type keys map[string]string

func (k keys) SetKey(_ context.Context, provider, label, key string) (bool, error) {
	if provider == "groq" {
		return false, errors.New("the store is locked")
	}
	_, had := k[provider]
	k[provider] = label + ":" + key
	return !had, nil
}

// machine is a home folder and an environment.
type machine struct {
	dir   string
	vars  map[string]string
	store keys
}

func (m *machine) look(t testing.TB) []Finding {
	t.Helper()
	vars := map[string][]string{
		"anthropic": {"ANTHROPIC_API_KEY"}, "openai": {"OPENAI_API_KEY"}, "google": {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		"opencode": {"OPENCODE_API_KEY"}, "opencode-go": {"OPENCODE_API_KEY"},
	}
	o := Options{
		UserHome: filepath.Join(m.dir, "home"), ConfigDir: filepath.Join(m.dir, "burin"),
		Getenv:    func(k string) string { return m.vars[k] },
		Variables: func(p string) []string { return vars[p] },
		Conversations: func() []Kept {
			return []Kept{{"Claude Code", filepath.Join(m.dir, "home", ".claude", "projects"), 12}}
		},
	}
	if m.store != nil {
		o.Store = m.store
	}
	return Setups(t.Context(), o)
}

// noServers are addresses at which nothing listens, so that tests do not find what
// runs on the machine they run on.
func noServers() map[string]string {
	return map[string]string{"OLLAMA_BASE_URL": "http://127.0.0.1:1", "LLAMA_CPP_BASE_URL": "http://127.0.0.1:1", "LM_STUDIO_BASE_URL": "http://127.0.0.1:1"}
}

func told(dir string, found []Finding) []string {
	var out []string
	for _, f := range found {
		box := " "
		if f.Importable {
			box = "+"
		}
		path := filepath.ToSlash(strings.ReplaceAll(f.Path, dir+string(filepath.Separator), ""))
		out = append(out, fmt.Sprintf("%s %s | %s | %s | %s", box, f.Kind, f.Program, strings.ReplaceAll(f.What, dir, "DIR"), path))
	}
	return out
}

func fullMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), vars: noServers(), store: keys{}}
	m.vars["ANTHROPIC_API_KEY"], m.vars["OPENCODE_API_KEY"], m.vars["GOOGLE_API_KEY"] = "sk-"+secret, "k-"+secret, " "
	key := "sk-" + secret + "-0123456789"
	write(t, filepath.Join(m.dir, "home"), map[string]string{
		".claude.json":                        `{"primaryApiKey":"` + key + `","mcpServers":{"a":{},"b":{}},"oauthAccount":{"x":1}}`,
		".claude/settings.json":               `{"env":{"ANTHROPIC_API_KEY":"$OTHER_VARIABLE"}}`,
		".claude/.credentials.json":           `{"claudeAiOauth":{"accessToken":"` + secret + `"}}`,
		".claude/CLAUDE.md":                   "Be brief.",
		".codex/auth.json":                    `{"OPENAI_API_KEY":null,"tokens":{"access_token":"` + secret + `"}}`,
		".codex/config.toml":                  "[mcp_servers.one]\ncommand='x'\n[mcp_servers.one.env]\n[mcp_servers.\"two\"]\n",
		".codex/AGENTS.md":                    " \n",
		".gemini/.env":                        "# x\nexport GEMINI_API_KEY=\"" + key + "\"\n",
		".gemini/settings.json":               "{ // comment\n \"mcpServers\": {\"a//b\": {},}, /* more */ }",
		".local/share/opencode/auth.json":     `{"anthropic":{"type":"oauth","access":"` + secret + `"},"openrouter":{"type":"api","key":"` + key + `"},"mistral":{"type":"api","key":"` + key + `"},"nobody-knows-it":{"type":"api","key":"` + key + `"},"groq":{"type":"api","key":"` + key + `"}}`,
		".omp/agent/agent.db":                 "x",
		".omp/agent/models.yml":               "providers:\n  mine:\n    baseUrl: http://127.0.0.1:9/v1\n    api: openai-completions\n    apiKey: MINE_KEY\n    models:\n      - id: a\n",
		".omp/agent/keybindings.json":         `{"app.exit": "ctrl+q"}`,
		".omp/agent/themes/dusk.json":         `{"name":"dusk"}`,
		".omp/agent/themes/dawn.json":         `{"name":"dawn"}`,
		".omp/agent/config.yml":               "x: 1\nqueueMode: all\nedit: {mode: vim}\n",
		".pi/agent/auth.json":                 `{"anthropic":{"type":"api_key","key":"` + key + `"},"openai":{"type":"api_key","key":"!pass show openai"},"google":{"type":"api_key","key":"MY_GOOGLE_KEY"}}`,
		".gjc/agent/models.yml":               "providers: 7",
		".aider.conf.yml":                     "# x\nopenai-api-key: " + key + " # mine\nmodel: x\n",
		".continue/config.yaml":               "x: 1",
		".arcane/agent/mcp.json":              "broken {",
		".config/opencode/opencode.json":      `{"mcp":{"x":{}}}`,
		".arcane/agent/keybindings.json/file": "a folder of that name",
	})
	return m
}

func TestSetups(t *testing.T) {
	m := fullMachine(t)
	want := []string{
		"  environment |  | The variable ANTHROPIC_API_KEY is set, for anthropic. | ANTHROPIC_API_KEY",
		"  environment |  | The variable OPENCODE_API_KEY is set, for opencode and opencode-go. | OPENCODE_API_KEY",
		"+ keys | Claude Code | An API key for anthropic. | home/.claude.json",
		"+ keys | Gemini CLI | An API key for google. | home/.gemini/.env",
		"+ keys | opencode | API keys for groq, mistral and openrouter. | home/.local/share/opencode/auth.json",
		"+ keys | pi | An API key for anthropic. | home/.pi/agent/auth.json",
		"+ keys | aider | An API key for openai. | home/.aider.conf.yml",
		"  login | Claude Code | A login, which stays with Claude Code: burin does not use logins of other programs. | home/.claude/.credentials.json",
		"  login | Codex | A login, which stays with Codex: burin does not use logins of other programs. | home/.codex/auth.json",
		"  login | opencode | A login, which stays with opencode: burin does not use logins of other programs. | home/.local/share/opencode/auth.json",
		"  login | oh-my-pi | Keys and logins in a database of its own, which are not taken over: log in here, or paste the keys. | home/.omp/agent/agent.db",
		"+ models | oh-my-pi | A file of models and servers. | home/.omp/agent/models.yml",
		"+ models | gajae | A file of models and servers. | home/.gjc/agent/models.yml",
		"+ bindings | oh-my-pi | Your keys. | home/.omp/agent/keybindings.json",
		"+ themes | oh-my-pi | 2 themes of your own. | home/.omp/agent/themes",
		"  instructions | Claude Code | Your instructions for all projects, which burin reads as they are. | home/.claude/CLAUDE.md",
		`  conversations | Claude Code | 12 conversations; "burin sessions import --from-all" brings them here. | home/.claude/projects`,
		"  mcp | Claude Code | 2 MCP servers set up there. | home/.claude.json",
		"  mcp | Codex | 2 MCP servers set up there. | home/.codex/config.toml",
		"  mcp | Gemini CLI | 1 MCP server set up there. | home/.gemini/settings.json",
		"  mcp | opencode | 1 MCP server set up there. | home/.config/opencode/opencode.json",
		"  settings | Claude Code | Settings, which are not taken over; commands and instructions of projects are read as they are. | home/.claude/settings.json",
		"  settings | Codex | Settings, which are not taken over. | home/.codex/config.toml",
		"+ settings | oh-my-pi | 2 settings that burin has too. | home/.omp/agent/config.yml",
		"  settings | Continue | Settings with models and keys, which are not taken over: paste the keys here. | home/.continue/config.yaml",
	}
	found := m.look(t)
	if diff := cmp.Diff(want, told(m.dir, found)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if s := fmt.Sprintf("%+v", found); strings.Contains(s, secret) {
		t.Errorf("a key is told: %s", s)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "burin")); !errors.Is(err, fs.ErrNotExist) || len(m.store) > 0 {
		t.Errorf("something was written before it was asked for: %v, %v", err, m.store)
	}
}

// Imports write what they say, once, and overwrite nothing.
func TestImports(t *testing.T) {
	m := fullMachine(t)
	write(t, m.dir, map[string]string{"burin/themes/dawn.json": "mine"})
	run := func() []string {
		var out []string
		for _, f := range m.look(t) {
			if f.Importable {
				report, err := f.Import(t.Context())
				out = append(out, strings.ReplaceAll(fmt.Sprintf("%s: %s / %v", f.Kind, report, err), m.dir, "DIR"))
			}
		}
		return out
	}
	first := []string{
		"keys: Keys of Claude Code: stored for anthropic. / <nil>",
		"keys: Keys of Gemini CLI: stored for google. / <nil>",
		"keys: Keys of opencode: stored for mistral and openrouter. / store the key for groq: the store is locked",
		"keys: Keys of pi: stored before for anthropic. / <nil>",
		"keys: Keys of aider: stored for openai. / <nil>",
		"models: Copied to DIR/burin/models.yml. / <nil>",
		"models: Kept your own models.yml; that of gajae was not copied. / <nil>",
		"bindings: Copied to DIR/burin/keybindings.json. / <nil>",
		"themes: 1 theme copied, 1 kept because you have them. / <nil>",
		"settings: 2 settings taken over; burin doesn't take x. / <nil>",
	}
	if diff := cmp.Diff(first, run()); diff != "" {
		t.Errorf("the first time (-want +got):\n%s", diff)
	}
	if got := m.store["openai"]; got != "aider:sk-"+secret+"-0123456789" {
		t.Errorf("stored for openai: %q", got)
	}
	for name, want := range map[string]string{"themes/dawn.json": "mine", "themes/dusk.json": `{"name":"dusk"}`, "config.yml": "steeringMode: all\nedit:\n  mode: hashline\n"} {
		if b, err := os.ReadFile(filepath.Join(m.dir, "burin", name)); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(m.dir, "burin", ".*"))
	if info, err := os.Stat(filepath.Join(m.dir, "burin", "models.yml")); err != nil || info.Mode().Perm() != 0o600 || len(left) > 0 {
		t.Errorf("models.yml: %v, %v; left behind: %q", info, err, left)
	}
	second := run()
	if slices.ContainsFunc(second, func(s string) bool { return strings.Contains(s, "Copied") || strings.Contains(s, "stored for") }) {
		t.Errorf("the second time: %q", second)
	}
}

// A file of models that burin cannot read is not copied, and says what is wrong.
func TestBadModels(t *testing.T) {
	m := &machine{dir: t.TempDir(), vars: noServers()}
	write(t, m.dir, map[string]string{"home/.gjc/agent/models.yml": "providers: 7", "home/.codex/auth.json": `{"OPENAI_API_KEY":"sk-0123456789"}`})
	for _, f := range m.look(t) {
		switch f.Kind {
		case Models:
			if _, err := f.Import(t.Context()); err == nil || !strings.Contains(err.Error(), "models.yml:1") || strings.Contains(err.Error(), "\n") {
				t.Errorf("a bad file: %v", err)
			}
		case Keys:
			if f.Importable {
				t.Error("keys are importable without a store")
			}
		}
	}
	if _, err := os.Stat(filepath.Join(m.dir, "burin", "models.yml")); err == nil {
		t.Error("the bad file was copied")
	}
}

func TestServers(t *testing.T) {
	var asked atomic.Int32
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/api/tags" {
			fmt.Fprint(w, `{"models":[{"name":"qwen3:8b","model":"qwen3:8b"},{"name":"llama","model":"llama"}]}`)
			return
		}
		http.NotFound(w, r)
	}))
	defer ollama.Close()
	away := httptest.NewServer(http.RedirectHandler("http://192.0.2.1:9/", http.StatusFound))
	defer away.Close()
	m := &machine{dir: t.TempDir(), vars: noServers()}
	m.vars["OLLAMA_BASE_URL"] = ollama.URL
	m.vars["LM_STUDIO_BASE_URL"] = "http://192.0.2.1:9" // not this machine
	m.vars["LLAMA_CPP_BASE_URL"] = away.URL
	var got []string
	for _, f := range m.look(t) {
		if f.Kind == Server {
			got = append(got, f.What+" "+f.Path)
		}
	}
	if diff := cmp.Diff([]string{"ollama runs and has 2 models. " + ollama.URL}, got); diff != "" || asked.Load() == 0 {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	_, err := loopbackClient().Get(away.URL)
	if !errors.Is(err, errOutside) {
		t.Errorf("a server that sends elsewhere: %v", err)
	}
}

// An empty machine has nothing, and a search that is given up ends.
func TestNothing(t *testing.T) {
	vars := noServers()
	if got := Setups(t.Context(), Options{Getenv: func(k string) string { return vars[k] }}); len(got) > 0 {
		t.Errorf("found %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Setups(ctx, Options{UserHome: fullMachine(t).dir, Getenv: func(k string) string { return vars[k] }}); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, "{ // x\n\"a\": {}, }", `{"a": "\"//"} /* `, "a: [", `{"a":{"b":1}}`} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, s string) {
		path := filepath.Join(dir, "f.json")
		if err := os.WriteFile(path, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
		v, err := readJSON(path)
		if err != nil && v != nil {
			t.Errorf("%v with %v", v, err)
		}
		for k := range v {
			_, _ = v.object(k), v.text(k)
		}
	})
}
