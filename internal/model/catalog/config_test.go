package catalog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

// home makes a home whose file of that name holds text.
func home(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestConfigErrors(t *testing.T) {
	custom := "providers:\n  x:\n    baseUrl: https://x.example/v1\n    apiKeyEnv: X_KEY\n    api: openai-completions\n"
	tests := []struct{ name, text, want string }{
		{"unknown key of a provider", "providers:\n  x:\n    baseURL: http://a\n", `models.yml:3:5: unknown key "baseURL" in provider "x" (did you mean "baseUrl"?)`},
		{"unknown key at the top", "provders: {}\n", `models.yml:1:1: unknown key "provders" in the file (did you mean "providers"?)`},
		{"unknown key of a model", custom + "    models:\n      - id: m\n        contextwindow: 1\n", `models.yml:8:9: unknown key "contextwindow" in model "m" of provider "x" (did you mean "contextWindow"?)`},
		{"unknown key of an override", "providers:\n  openai:\n    modelOverrides:\n      gpt-5: {nam: x}\n", `models.yml:4:15: unknown key "nam" in "gpt-5" in "modelOverrides" in provider "openai" (did you mean "name"?)`},
		{"unknown key of compat", "providers:\n  openai:\n    compat: {suportsStore: true}\n", `models.yml:3:14: unknown key "suportsStore" in "compat" in provider "openai" (did you mean "supportsStore"?)`},
		{"unknown key of a transform", "providers:\n  openai:\n    requestTransform: {strip: []}\n", `models.yml:3:24: unknown key "strip"`},
		{"unknown key far from all", "providers:\n  openai:\n    zzz: 1\n", `models.yml:3:5: unknown key "zzz" in provider "openai"`},
		{"wrong type", custom + "    models:\n      - id: m\n        reasoning: maybe\n", `models.yml:8:20: "reasoning" in model "m" of provider "x" must be true or false, not text`},
		{"text for a number", custom + "    models:\n      - id: m\n        contextWindow: \"many\"\n", `must be a whole number, not text`},
		{"mapping for a list", custom + "    models: {id: m}\n", `"models" in provider "x" must be a list, not a mapping`},
		{"empty value", "providers:\n  openai:\n    baseUrl:\n", `"baseUrl" in provider "openai" is empty`},
		{"no id", custom + "    models:\n      - name: m\n", `models.yml:7:9: model 1 of provider "x" has no id`},
		{"id twice", custom + "    models:\n      - id: m\n      - id: m\n", `models.yml:8:9: model "m" of provider "x" is listed twice`},
		{"key twice", "providers:\n  openai:\n    headers: {}\n    headers: {}\n", `models.yml:4:5: mapping key "headers" already defined`},
		{"zero window", custom + "    models:\n      - id: m\n        contextWindow: 0\n", `models.yml:8:24: "contextWindow" in model "m" of provider "x": want a number of tokens above zero`},
		{"negative price", custom + "    models:\n      - id: m\n        cost: {input: -1}\n", `a price cannot be negative`},
		{"no base URL", "providers:\n  x:\n    apiKey: K\n    api: openai-completions\n    models: [{id: m}]\n", `models.yml:2:3: provider "x" has models and needs baseUrl`},
		{"no key", "providers:\n  x:\n    baseUrl: https://x.example\n    api: openai-completions\n    models: [{id: m}]\n", `models.yml:2:3: provider "x" has models and needs apiKey or apiKeyEnv (or auth: apiKey with a stored key, auth: none, or auth: oauth)`},
		{"no region", "providers:\n  x:\n    baseUrl: us-west\n    auth: none\n    api: bedrock-converse-stream\n    models: [{id: m}]\n", `want an address`},
		{"no api", "providers:\n  x:\n    baseUrl: https://x.example\n    apiKey: K\n    models: [{id: m}]\n", `model "m" of provider "x" has no api`},
		{"says nothing", "providers:\n  x: {}\n", `models.yml:2:3: provider "x" says nothing`},
		{"discovery without api", "providers:\n  x:\n    baseUrl: http://127.0.0.1:1\n    discovery: {type: ollama}\n", `provider "x" has discovery and needs api`},
		{"unknown discovery", "providers:\n  x:\n    api: openai-completions\n    discovery: {type: olama}\n", `unknown kind of server "olama"`},
		{"unknown api", custom + "    models: [{id: m, api: openai-completion}]\n", `unknown wire format "openai-completion" (did you mean "openai-completions"?)`},
		{"api that is not served", custom + "    models: [{id: m, api: cursor-agent}]\n", `the wire format "cursor-agent" is not served: Cursor has no public service`},
		{"another one", "providers:\n  x:\n    api: google-gemini-cli\n    baseUrl: https://a\n", `"google-gemini-cli" is not served`},
		{"unknown auth", "providers:\n  openai: {auth: apikey}\n", `unknown value "apikey" (want apiKey, none or oauth)`},
		{"bad address", "providers:\n  openai: {baseUrl: \"localhost:1\"}\n", `want an address that begins with http:// or https://`},
		{"password in the address", "providers:\n  openai: {baseUrl: \"https://u:p@x\"}\n", `must not hold a password`},
		{"bad header", "providers:\n  openai:\n    headers: {\"a b\": c}\n", `"a b" is no name for a header`},
		{"header without value", "providers:\n  openai:\n    headers: {a: null}\n", `is empty`},
		{"bad level", custom + "    models: [{id: m, thinking: {levels: [low, huge]}}]\n", `unknown thinking level "huge"`},
		{"levels the wrong way round", custom + "    models: [{id: m, thinking: {minLevel: high, maxLevel: low}}]\n", `minLevel high is above maxLevel low`},
		{"bad word of compat", "providers:\n  openai: {compat: {maxTokensField: tokens}}\n", `unknown value "tokens" (want max_completion_tokens, max_tokens)`},
		{"bad kind of input", custom + "    models: [{id: m, input: [text, smell]}]\n", `unknown kind of input "smell"`},
		{"slash in a provider", "providers:\n  a/b: {}\n", `"a/b" is no id for a provider`},
		{"bad equivalence", "equivalence:\n  exclude: [nothing]\n", `"nothing" is not provider/model`},
		{"syntax", "providers:\n  x: [\n", `models.yml:2:6: `},
		{"two documents", "providers: {}\n---\nproviders: {}\n", `a second document`},
		{"alias without anchor", "providers:\n  openai:\n    headers: *h\n", `the alias *h names no anchor`},
		{"circle of aliases", "providers:\n  openai:\n    compat:\n      extraBody: &a {b: *a}\n", `nests too deep`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := catalog.Open(catalog.Options{Home: home(t, "models.yml", tt.text)})
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %q\nwant %q", err, tt.want)
			}
			var c *catalog.ConfigError
			if !errors.As(err, &c) || c.Problems[0].Line < 1 || c.Problems[0].Column < 1 {
				t.Errorf("got %#v", err)
			}
			if _, ok := r.Registry.Lookup("anthropic", "claude-opus-4-6"); !ok {
				t.Error("a bad file must leave the built-in models")
			}
		})
	}
}

func TestConfigCountsProblems(t *testing.T) {
	dir := home(t, "models.yml", "a: 1\nb: 2\nproviders:\n  openai: {c: 3}\n")
	want := filepath.Join(dir, "models.yml") + `:1:1: unknown key "a" in the file (and 2 more); correct it, or rename the file to go on without it`
	if _, err := catalog.Open(catalog.Options{Home: dir}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// From another folder the place is still whole.
	t.Chdir(filepath.Dir(dir))
	if _, err := catalog.Open(catalog.Options{Home: filepath.Base(dir)}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestConfigMissingAndUnreadable(t *testing.T) {
	if _, err := catalog.Open(catalog.Options{Home: t.TempDir()}); err != nil {
		t.Errorf("no file: %v", err)
	}
	if _, err := catalog.Open(catalog.Options{File: filepath.Join(t.TempDir(), "gone.yml")}); err == nil {
		t.Error("a file that was named and is not there must be an error")
	}
	if _, err := catalog.Open(catalog.Options{Home: home(t, "models.yml", "# nothing\n")}); err != nil {
		t.Errorf("empty file: %v", err)
	}
}

func TestCustomProvider(t *testing.T) {
	text := `
providers:
  layofflabs:
    baseUrl: https://api.layofflabs.example/v1
    apiKeyEnv: LL_KEY
    api: openai-completions
    auth: apiKey
    authHeader: true
    headers: { User-Agent: curl/8.7.1, x-team: a }
    compat: { supportsStore: false, openRouterRouting: { only: [a] }, extraBody: { gateway: g, n: 1 } }
    requestTransform: { profile: openai-proxy, setHeaders: { X-A: one }, extraBody: { k: 1 } }
    models:
      - id: gpt-5.5
        name: GPT 5.5 via Layofflabs
        reasoning: true
        thinking: { minLevel: low, maxLevel: xhigh, mode: effort, defaultLevel: high, levels: [low, medium, high, xhigh] }
        input: [text]
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
        contextWindow: 400000
        maxTokens: 128000
        headers: { X-Team: b }
        compat: { openRouterRouting: { order: [b] }, extraBody: { n: 2 } }
        wireModelId: upstream-gpt
        contextPromotionTarget: big
        requestTransform: { stripHeaders: [X-Z], setHeaders: { user-agent: null, X-B: two } }
      - id: big
        cost: free
        contextWindow: 2000000
      - id: other
        api: anthropic-messages
        cost: { input: 1, output: 2, cacheRead: 0 }
modelBindings:
  modelRoles: { default: layofflabs/gpt-5.5:high }
  agentModelOverrides: { executor: layofflabs/big }
`
	r := open(t, catalog.Options{Home: home(t, "models.yml", text), Available: only()})
	m := lookup(t, r, "layofflabs/gpt-5.5")
	off := false
	want := &catalog.Model{
		Model: llm.Model{
			Provider: "layofflabs", ID: "gpt-5.5", Name: "GPT 5.5 via Layofflabs", API: llm.APICompletions, WireID: "upstream-gpt",
			ContextWindow: 400000, MaxOutput: 128000, Input: []llm.Modality{"text"},
			Thinking: llm.ThinkingSupport{
				Mode: llm.ThinkingEffort, Levels: []llm.Level{"low", "medium", "high", "xhigh"}, Default: llm.LevelHigh,
				Words: map[llm.Level]string{"off": "none"},
			},
			Price: lookup(t, r, "openai/gpt-5.5").Price, PromotionTarget: "big",
		},
		BaseURL: "https://api.layofflabs.example/v1", APIKeyEnv: "LL_KEY", Auth: catalog.AuthKey, AuthHeader: true, Origin: catalog.OriginConfig,
		Headers: map[string]string{"User-Agent": "curl/8.7.1", "X-Team": "b"},
		Compat: openai.Compat{
			SupportsStore: &off, OpenRouterRouting: &openai.Routing{Only: []string{"a"}, Order: []string{"b"}},
			ExtraBody: map[string]any{"gateway": "g", "n": int64(2)},
		},
	}
	want.Transform.StripHeaders = []string{"X-Z"}
	want.Transform.SetHeaders = map[string]string{"User-Agent": "", "X-A": "one", "X-B": "two"}
	want.Transform.ExtraBody = map[string]any{"k": int64(1)}
	if d := cmp.Diff(want, m, comparePrices); d != "" {
		t.Error(d)
	}
	if big := lookup(t, r, "layofflabs/big"); big.Price.Cost(llm.Usage{Input: 5, Output: 5}).Unknown || big.Name != "big" {
		t.Errorf("big: %+v", big)
	}
	other := lookup(t, r, "layofflabs/other")
	if other.API != llm.APIAnthropic || other.Price.CacheRead.Known() || other.Price.Output.Dollars() != 2 {
		t.Errorf("other: %+v", other)
	}
	if len(other.Transform.StripHeaders) == 0 || other.Transform.SetHeaders["User-Agent"] != "burin" {
		t.Errorf("profile: %+v", other.Transform)
	}
	if p, ok := catalog.Promotion(r.Registry, m); ok {
		t.Errorf("promotion to a model whose key is not set: %s", p.Ref())
	}
	if c, err := r.Resolver.Role("default"); err != nil || c.Model.Ref() != m.Ref() || c.Level != llm.LevelHigh {
		t.Errorf("role: %+v %v", c, err)
	}
	// The same through the index of all models.
	r.Registry.All()
	if d := cmp.Diff(want, lookup(t, r, "layofflabs/gpt-5.5"), comparePrices); d != "" {
		t.Error(d)
	}
}

func TestOverrides(t *testing.T) {
	text := `
providers:
  openrouter:
    baseUrl: https://my-proxy.example/v1
    headers: { X-Team: platform }
    apiKey: MY_OPENROUTER_KEY
    modelOverrides:
      anthropic/claude-sonnet-4.6:
        name: Sonnet (Corp)
        contextWindow: 1000
        cost: { input: 7 }
        reasoning: false
        compat: { openRouterRouting: { only: [anthropic] } }
  anthropic:
    disableStrictTools: true
    models:
      - id: claude-next
        contextWindow: 5
      - id: claude-opus-4-6
        name: Mine
  zed:
    baseUrl: http://127.0.0.1:8000/v1
    auth: none
    api: openai-completions
    models:
      - id: Qwen/Qwen2.5-Coder-32B-Instruct
        cost: { input: 0, output: 0 }
  bed:
    baseUrl: https://bedrock-runtime.us-east-1.amazonaws.com
    api: bedrock-converse-stream
    models: [ { id: anthropic.claude-3-5-sonnet-20241022-v2:0 } ]
  az:
    baseUrl: https://r.openai.azure.com/openai/v1
    apiKeyEnv: AZ
    api: azure-openai-responses
    models: [ { id: gpt-4.1 } ]
  oll:
    baseUrl: http://127.0.0.1:11434
    auth: none
    api: ollama-chat
    models: [ { id: "llama3:8b" } ]
equivalence:
  overrides: { zed/Qwen/Qwen2.5-Coder-32B-Instruct: qwen-coder }
  exclude: [ openrouter/anthropic/claude-opus-4.6 ]
`
	r := open(t, catalog.Options{Home: home(t, "models.yml", text), Available: only("anthropic")})
	sonnet := lookup(t, r, "openrouter/anthropic/claude-sonnet-4.6")
	if sonnet.Name != "Sonnet (Corp)" || sonnet.ContextWindow != 1000 || sonnet.Price.Input.Dollars() != 7 || sonnet.Price.Output.Dollars() != 15 ||
		sonnet.Thinking.Mode != llm.ThinkingNone || sonnet.Compat.OpenRouterRouting == nil || sonnet.BaseURL != "https://my-proxy.example/v1" ||
		sonnet.Headers["X-Team"] != "platform" || sonnet.Origin != catalog.OriginBuiltIn {
		t.Errorf("%+v", sonnet)
	}
	if r.Registry.Available(sonnet) {
		t.Error("apiKey names a variable that is not set, and would be sent as it is")
	}
	if m := lookup(t, r, "anthropic/claude-haiku-4-5"); !m.DisableStrictTools {
		t.Error("the provider's setting does not reach its built-in models")
	}
	next := lookup(t, r, "anthropic/claude-next")
	if next.API != llm.APIAnthropic || next.BaseURL != "https://api.anthropic.com" || next.ContextWindow != 5 || next.Price.Known() || !r.Registry.Available(next) {
		t.Errorf("a model added to a built-in provider: %+v", next)
	}
	if m := lookup(t, r, "anthropic/claude-opus-4-6"); m.Name != "Mine" || m.ContextWindow != 1000000 || m.Origin != catalog.OriginConfig {
		t.Errorf("a built-in model redefined: %+v", m)
	}
	local := lookup(t, r, "zed/Qwen/Qwen2.5-Coder-32B-Instruct")
	if c := local.Price.Cost(llm.Usage{Input: 10, Output: 10}); c.Unknown || !r.Registry.Available(local) {
		t.Errorf("zero on this machine is zero: %+v", c)
	}
	if got := r.Registry.Canonical(local); got != "qwen-coder" {
		t.Errorf("canonical %q", got)
	}
	if got := r.Registry.Canonical(lookup(t, r, "openrouter/anthropic/claude-opus-4.6")); got != "" {
		t.Errorf("excluded, but canonical %q", got)
	}
	if m := lookup(t, r, "bed/anthropic.claude-3-5-sonnet-20241022-v2:0"); m.Price.Input.Dollars() != 3 || m.Price.Unreliable {
		t.Errorf("Bedrock: %+v", m.Price)
	}
	if m := lookup(t, r, "az/gpt-4.1"); m.ContextWindow != 1047576 || m.Price.Output.Dollars() != 8 || m.Name != "GPT-4.1" {
		t.Errorf("Azure: %+v", m.Model)
	}
	if m := lookup(t, r, "oll/llama3:8b"); m.API != llm.APICompletions || m.BaseURL != "http://127.0.0.1:11434/v1" {
		t.Errorf("Ollama: %s %s", m.API, m.BaseURL)
	}
	seen := map[string]int{}
	for _, m := range r.Registry.All() {
		seen[m.Ref()]++
	}
	if seen["anthropic/claude-opus-4-6"] != 1 || seen["anthropic/claude-next"] != 1 {
		t.Error("replaced and appended models must be listed once")
	}
}

func TestJSONConfig(t *testing.T) {
	text := "{\n\t// a comment with \"quotes\"\n\t\"providers\": { /* another */\n\t\t\"x\": {\n\t\t\t\"baseUrl\": \"http://127.0.0.1:1/v1\", \"auth\": \"none\",\n\t\t\t\"api\": \"openai-completions\",\n\t\t\t\"models\": [{\"id\": \"a//b\"},]\n\t\t}\n\t}\n}\n"
	dir := home(t, "models.json", text)
	r := open(t, catalog.Options{Home: dir})
	lookup(t, r, "x/a//b")
	if got, _ := os.ReadFile(filepath.Join(dir, "models.json")); string(got) != text {
		t.Error("the file was changed")
	}
	if _, err := os.Stat(filepath.Join(dir, "models.yml")); err == nil {
		t.Error("a second file was written")
	}
	bad := strings.Replace(text, "baseUrl", "baseURL", 1)
	_, err := catalog.Open(catalog.Options{Home: home(t, "models.json", bad)})
	if err == nil || !strings.Contains(err.Error(), `models.json:5:4: unknown key "baseURL"`) {
		t.Errorf("got %v", err)
	}
	// models.yml wins over models.json.
	if err := os.WriteFile(filepath.Join(dir, "models.yml"), []byte("providers:\n  openai: {headers: {a: b}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := open(t, catalog.Options{Home: dir}).Registry.Lookup("x", "a//b"); ok {
		t.Error("models.json was read beside models.yml")
	}
}

func TestAnchors(t *testing.T) {
	text := `
providers:
  a: &base
    baseUrl: http://127.0.0.1:1/v1
    auth: none
    api: openai-completions
    models: [ { id: m } ]
  b:
    <<: *base
    baseUrl: http://127.0.0.1:2/v1
`
	r := open(t, catalog.Options{Home: home(t, "models.yml", text)})
	if m := lookup(t, r, "b/m"); m.BaseURL != "http://127.0.0.1:2/v1" || m.Auth != catalog.AuthNone {
		t.Errorf("%+v", m)
	}
}
