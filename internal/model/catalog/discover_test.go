package catalog_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
)

// answers serves fixed texts by "METHOD path"; other requests get 404.
func answers(t *testing.T, texts map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := texts[r.Method+" "+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T) *http.Client {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func report(t *testing.T, reports []catalog.Report, provider string) catalog.Report {
	t.Helper()
	for _, r := range reports {
		if r.Provider == provider {
			return r
		}
	}
	t.Fatalf("no report of %s in %+v", provider, reports)
	return catalog.Report{}
}

const nowhere = "http://127.0.0.1:1"

func TestDiscoverLocal(t *testing.T) {
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /api/tags":
			_, _ = io.WriteString(w, `{"models":[{"name":"qwen3:8b"},{"name":"nomic-embed-text:latest"},{"name":"gpt-oss:120b-cloud"},{"name":"odd:1b"}]}`)
		case "POST /api/show":
			var q struct{ Model string }
			_ = json.NewDecoder(r.Body).Decode(&q)
			text, ok := map[string]string{
				"qwen3:8b":                `{"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960},"capabilities":["completion","tools","thinking","vision"]}`,
				"nomic-embed-text:latest": `{"model_info":{"nomic-bert.context_length":2048},"capabilities":["embedding"]}`,
				"gpt-oss:120b-cloud":      `{"parameters":"temperature 1\nnum_ctx 8192","model_info":{"gptoss.context_length":131072},"capabilities":["completion"]}`,
			}[q.Model]
			if !ok {
				http.Error(w, "no", http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, text)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(ollama.Close)
	llama := answers(t, map[string]string{
		"GET /v1/models": `{"data":[{"id":"gemma.gguf","meta":{"n_ctx_train":131072}}]}`,
		"GET /props":     `{"default_generation_settings":{"n_ctx":16384},"modalities":{"vision":true}}`,
	})
	studio := answers(t, map[string]string{
		"GET /api/v0/models": `{"data":[{"id":"phi-4","type":"llm","max_context_length":16384},{"id":"embed","type":"embeddings"},{"id":"vl","type":"vlm","max_context_length":9,"loaded_context_length":7}]}`,
	})
	vllm := answers(t, map[string]string{"GET /v1/models": `{"object":"list","data":[{"id":"Qwen/Qwen3-32B","max_model_len":32768}]}`})

	home := t.TempDir()
	o := catalog.Options{Home: home, Cache: filepath.Join(home, "cache"), Available: only(), Client: client(t), Getenv: env(
		"OLLAMA_HOST", strings.TrimPrefix(ollama.URL, "http://"), "LLAMA_CPP_BASE_URL", llama.URL,
		"LM_STUDIO_BASE_URL", studio.URL+"/v1", "VLLM_BASE_URL", vllm.URL+"/v1",
	)}
	r := open(t, o)
	reports := r.Servers.Discover(t.Context(), catalog.Search{Local: true})
	for provider, n := range map[string]int{"ollama": 3, "llama.cpp": 1, "lm-studio": 2, "vllm": 1} {
		if rep := report(t, reports, provider); rep.Err != nil || rep.Models != n || rep.New != n {
			t.Errorf("%+v, want %d models", rep, n)
		}
	}
	check := func(r *catalog.Catalog) {
		t.Helper()
		qwen := lookup(t, r, "ollama/qwen3:8b")
		if qwen.ContextWindow != 40960 || !qwen.Accepts(llm.ModalityImage) || qwen.Thinking.Mode != llm.ThinkingEffort ||
			qwen.API != llm.APICompletions || qwen.BaseURL != ollama.URL+"/v1" || !r.Registry.Available(qwen) || qwen.Origin != catalog.OriginDiscovered {
			t.Errorf("%+v", qwen)
		}
		if c := qwen.Price.Cost(llm.Usage{Input: 9, Output: 9}); c.Unknown || c.Total != 0 {
			t.Errorf("a model on this machine is free: %+v", c)
		}
		if cloud := lookup(t, r, "ollama/gpt-oss:120b-cloud"); cloud.ContextWindow != 8192 || cloud.Price.Known() {
			t.Errorf("%+v", cloud)
		}
		if odd := lookup(t, r, "ollama/odd:1b"); odd.ContextWindow != 0 {
			t.Errorf("%+v", odd)
		}
		if m := lookup(t, r, "llama.cpp/gemma.gguf"); m.ContextWindow != 16384 || !m.Accepts(llm.ModalityImage) {
			t.Errorf("%+v", m)
		}
		if m := lookup(t, r, "lm-studio/vl"); m.ContextWindow != 7 || !m.Accepts(llm.ModalityImage) || m.BaseURL != studio.URL+"/v1" {
			t.Errorf("%+v", m)
		}
		if m := lookup(t, r, "vllm/Qwen/Qwen3-32B"); m.ContextWindow != 32768 {
			t.Errorf("%+v", m)
		}
		if _, ok := r.Registry.Lookup("ollama", "nomic-embed-text:latest"); ok {
			t.Error("a model that only embeds is listed")
		}
		if c, err := r.Resolver.Resolve("qwen3:8b:high"); err != nil || c.Model.Ref() != "ollama/qwen3:8b" || c.Level != llm.LevelHigh {
			t.Errorf("%+v %v", c, err)
		}
	}
	check(r)
	ollama.Close()
	again := open(t, o)
	check(again) // from the cache, without asking
	moved := o
	moved.Getenv = env("OLLAMA_BASE_URL", nowhere)
	if _, ok := open(t, moved).Registry.Lookup("ollama", "qwen3:8b"); ok {
		t.Error("what another address has was taken from the cache")
	}
	if err := os.WriteFile(filepath.Join(home, "cache", "discovered.json"), []byte(`{"providers":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := open(t, o).Registry.Lookup("ollama", "qwen3:8b"); ok {
		t.Error("a torn cache was used")
	}
}

// A server that does not answer must not hold up the others, nor for long.
func TestDiscoverLimits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	release := make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer stuck.Close()
	defer close(release)
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	fine := answers(t, map[string]string{"GET /v1/models": `{"data":[{"id":"m"}]}`})
	defer fine.Close()
	r := open(t, catalog.Options{Client: c, Getenv: env("OLLAMA_BASE_URL", stuck.URL, "LLAMA_CPP_BASE_URL", fine.URL, "LM_STUDIO_BASE_URL", nowhere)})
	begin := time.Now()
	reports := r.Servers.Discover(t.Context(), catalog.Search{Local: true, Providers: []string{"ollama"}})
	if took := time.Since(begin); took > pacetest.Within(2*time.Second) {
		t.Errorf("took %v", took)
	}
	if rep := report(t, reports, "ollama"); rep.Err == nil || !strings.Contains(rep.Err.Error(), "did not answer in time") {
		t.Errorf("%+v", rep)
	}
	if rep := report(t, reports, "llama.cpp"); rep.Err != nil || rep.Models != 1 {
		t.Errorf("%+v", rep)
	}
	if len(reports) != 2 {
		t.Errorf("a server that is not there and was not asked for is no news: %+v", reports)
	}
}

// A key that a local server was started with is passed on by reference.
func TestLocalKey(t *testing.T) {
	var sent string
	vllm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	}))
	t.Cleanup(vllm.Close)
	o := catalog.Options{
		Client: client(t), Available: only(), Getenv: env("VLLM_API_KEY", "secret", "VLLM_BASE_URL", vllm.URL),
		Key: func(_ context.Context, p string) (string, error) { return "secret", nil },
	}
	r := open(t, o)
	r.Servers.Discover(t.Context(), catalog.Search{Providers: []string{"vllm"}})
	m := lookup(t, r, "vllm/m")
	if sent != "Bearer secret" || m.APIKeyEnv != "VLLM_API_KEY" || m.Auth != catalog.AuthKey || !r.Registry.Available(m) {
		t.Errorf("sent %q, %+v", sent, m)
	}
}

func TestVLLMIsOptIn(t *testing.T) {
	for _, rep := range open(t, catalog.Options{Client: client(t), Getenv: env(
		"OLLAMA_BASE_URL", nowhere, "LLAMA_CPP_BASE_URL", nowhere, "LM_STUDIO_BASE_URL", nowhere,
	)}).Servers.Discover(t.Context(), catalog.Search{Local: true}) {
		t.Errorf("%+v", rep)
	}
}

func TestResolveOrDiscover(t *testing.T) {
	asked := 0
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/tags" {
			asked++
		}
		_, _ = io.WriteString(w, `{"models":[{"name":"tiny:1b"}]}`)
	}))
	t.Cleanup(ollama.Close)
	o := catalog.Options{Client: client(t), Getenv: env("OLLAMA_BASE_URL", ollama.URL, "LLAMA_CPP_BASE_URL", nowhere, "LM_STUDIO_BASE_URL", nowhere)}
	r := open(t, o)
	if c, err := r.ResolveOrDiscover(t.Context(), "openai/gpt-5"); err != nil || c.Model.Ref() != "openai/gpt-5" || asked != 0 {
		t.Errorf("%+v %v, asked %d times", c, err, asked)
	}
	if c, err := r.ResolveOrDiscover(t.Context(), "ollama/tiny:1b:off"); err != nil || c.Model.Ref() != "ollama/tiny:1b" || c.Level != llm.LevelOff {
		t.Errorf("%+v %v", c, err)
	}
	_, err := r.ResolveOrDiscover(t.Context(), "llama.cpp/x")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestDiscoverRemote(t *testing.T) {
	var header http.Header
	router := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		_, _ = io.WriteString(w, `{"data":[
			{"id":"openrouter/auto","pricing":{"prompt":"-1","completion":"-1"}},
			{"id":"new/model","name":"New: Model","context_length":5000,"top_provider":{"max_completion_tokens":100},
			 "architecture":{"input_modalities":["text","image"]},"supported_parameters":["tools","reasoning"],
			 "pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003","internal_reasoning":"0.000015"}},
			{"id":"anthropic/claude-sonnet-4.6","context_length":123456,"pricing":{"prompt":"0.000004","completion":"0.00002"}},
			{"id":"gpt-5-mini-2025-08-07"}, "plain-id", 7, {"id":""}]}`)
	}))
	t.Cleanup(router.Close)
	text := "providers:\n  openrouter:\n    baseUrl: " + router.URL + "/v1\n    headers: {X-Team: a}\n    modelOverrides:\n      new/model: {maxTokens: 50}\n      anthropic/claude-sonnet-4.6: {contextWindow: 99}\n"
	dir := home(t, "models.yml", text)
	o := catalog.Options{
		Home: dir, Cache: filepath.Join(dir, "cache"), Client: client(t), Available: only("openrouter"),
		Key: func(_ context.Context, p string) (string, error) { return "key-of-" + p, nil },
	}
	r := open(t, o)
	rep := report(t, r.Servers.Discover(t.Context(), catalog.Search{Remote: true}), "openrouter")
	if rep.Err != nil || rep.Models != 5 || rep.New != 3 {
		t.Fatalf("%+v", rep)
	}
	if header.Get("Authorization") != "Bearer key-of-openrouter" || header.Get("X-Team") != "a" {
		t.Errorf("headers %v", header)
	}
	m := lookup(t, r, "openrouter/new/model")
	if m.ContextWindow != 5000 || m.MaxOutput != 50 || m.Thinking.Mode != llm.ThinkingEffort || !m.Accepts(llm.ModalityImage) || m.Name != "New: Model" {
		t.Errorf("%+v", m)
	}
	c := m.Price.Cost(llm.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, Reasoning: 1e5})
	if c.Total != llm.Dollars(18.3) || c.Unknown || c.Unreliable {
		t.Errorf("%+v", c)
	}
	if p := lookup(t, r, "openrouter/openrouter/auto").Price; p.Known() {
		t.Errorf("minus one is no price: %+v", p)
	}
	sonnet := lookup(t, r, "openrouter/anthropic/claude-sonnet-4.6")
	if sonnet.Price.Input.Dollars() != 4 || sonnet.Price.CacheRead.Dollars() != 0.3 || sonnet.ContextWindow != 99 || sonnet.MaxOutput == 0 {
		t.Errorf("the server knows the price, models.yml has the last word: %+v", sonnet.Model)
	}
	if dated := lookup(t, r, "openrouter/gpt-5-mini-2025-08-07"); !dated.Price.Unreliable || dated.Price.Input.Dollars() != 0.25 || dated.ContextWindow != 400000 {
		t.Errorf("%+v", dated.Model)
	}
	// Reading all models and looking up one must agree here too.
	cold := open(t, o)
	for _, m := range r.Registry.All() {
		if m.Provider == "openrouter" {
			if d := cmp.Diff(m, lookup(t, cold, m.Ref()), comparePrices); d != "" {
				t.Errorf("%s: %s", m.Ref(), d)
			}
		}
	}
}

func TestDiscoverFormats(t *testing.T) {
	var got http.Header
	var query string
	serve := func(answer string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, query = r.Header.Clone(), r.URL.RequestURI()
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(s.Close)
		return s
	}
	claude := serve(`{"data":[{"type":"model","id":"claude-x","display_name":"Claude X","max_input_tokens":300000,"max_tokens":64000}],"has_more":false}`)
	gemini := serve(`{"models":[{"name":"models/gemini-x","displayName":"Gemini X","inputTokenLimit":9000,"outputTokenLimit":800,"thinking":true,"supportedGenerationMethods":["generateContent"]},{"name":"models/embed","supportedGenerationMethods":["embedContent"]}]}`)
	gpt := serve(`{"data":[{"id":"gpt-9"},{"id":"gpt-9-audio-preview"},{"id":"text-embedding-3"},{"id":"o9-mini"},{"id":"dall-e-3"}]}`)
	text := "providers:\n  anthropic: {baseUrl: " + claude.URL + "}\n  google: {baseUrl: " + gemini.URL + "/v1beta}\n  openai: {baseUrl: " + gpt.URL + "/v1}\n"
	r := open(t, catalog.Options{
		Home: home(t, "models.yml", text), Client: client(t),
		Key: func(context.Context, string) (string, error) { return "k", nil },
	})
	tests := []struct{ provider, header, path, ref string }{
		{"anthropic", "X-Api-Key", "/v1/models?limit=1000", "anthropic/claude-x"},
		{"google", "X-Goog-Api-Key", "/v1beta/models?pageSize=1000", "google/gemini-x"},
		{"openai", "Authorization", "/v1/models", "openai/o9-mini"},
	}
	for _, tt := range tests {
		rep := report(t, r.Servers.Discover(t.Context(), catalog.Search{Providers: []string{tt.provider}}), tt.provider)
		if rep.Err != nil || got.Get(tt.header) == "" || query != tt.path {
			t.Errorf("%s: %+v %s %v", tt.provider, rep, query, got)
		}
		lookup(t, r, tt.ref)
	}
	if m := lookup(t, r, "google/gemini-x"); m.ContextWindow != 9000 || m.MaxOutput != 800 || m.Name != "Gemini X" || m.Thinking.Mode == llm.ThinkingNone {
		t.Errorf("%+v", m.Model)
	}
	for _, id := range []string{"gpt-9-audio-preview", "text-embedding-3", "dall-e-3"} {
		if _, ok := r.Registry.Lookup("openai", id); ok {
			t.Errorf("%s is no model to talk to", id)
		}
	}
}

func TestDiscoverErrors(t *testing.T) {
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"bad key"}}`)
	}))
	t.Cleanup(refuse.Close)
	page := answers(t, map[string]string{"GET /v1/models": "<html>"})
	odd := answers(t, map[string]string{"GET /v1/models": `{"data":7}`})
	text := "providers:\n" +
		"  a: {baseUrl: " + refuse.URL + "/v1, api: openai-completions, headers: {x: y}}\n" +
		"  b: {baseUrl: " + page.URL + "/v1, api: openai-completions}\n" +
		"  c: {baseUrl: " + odd.URL + "/v1, api: openai-completions}\n" +
		"  d: {baseUrl: http://127.0.0.1:1/v1, api: openai-completions, auth: none, discovery: {type: vllm}}\n"
	r := open(t, catalog.Options{Home: home(t, "models.yml", text), Client: client(t)})
	reports := r.Servers.Discover(t.Context(), catalog.Search{Providers: []string{"a", "b", "c", "d", "amazon-bedrock", "nobody", "cloudflare-workers-ai"}})
	for provider, want := range map[string]string{
		"a": "answered 401: bad key", "b": "did not answer with a list of models", "c": "the answer is not a list of models",
		"d": "127.0.0.1:1", "amazon-bedrock": "has no list of models that can be asked for", "nobody": `no provider "nobody"`,
		"cloudflare-workers-ai": "set CLOUDFLARE_ACCOUNT_ID to reach cloudflare-workers-ai",
	} {
		rep := report(t, reports, provider)
		if rep.Err == nil || !strings.Contains(rep.Err.Error(), want) || strings.Contains(rep.Err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", provider, rep.Err, want)
		}
	}
}

func TestRefresh(t *testing.T) {
	table := "# The models\n# source: a friend\n# date: 2999-01-02\n@openai\topenai-responses\thttps://api.openai.com/v1\t\t\n" +
		"openai\tgpt-99\tGPT-99\t1000\t100\ttext\teffort\t1/2/?/?\t2998-12-31\topenai-responses\t\n"
	server := answers(t, map[string]string{"GET /models.tsv": table})
	dir := t.TempDir()
	date, err := catalog.Refresh(t.Context(), client(t), filepath.Join(dir, "cache"), server.URL+"/models.tsv")
	if err != nil || date != "2999-01-02" {
		t.Fatal(date, err)
	}
	r := open(t, catalog.Options{Home: dir, Cache: filepath.Join(dir, "cache")})
	if r.Registry.Date() != "2999-01-02" || r.Registry.Source() != "a friend" || len(r.Registry.All()) != 1 {
		t.Errorf("%s %s %d", r.Registry.Date(), r.Registry.Source(), len(r.Registry.All()))
	}
	lookup(t, r, "openai/gpt-99")

	file := filepath.Join(t.TempDir(), "t.tsv")
	for name, tt := range map[string]struct{ text, want string }{
		"not newer":   {table, "is not newer than the one in use"},
		"no head":     {strings.Replace(table, "# date", "# day", 1), "no head"},
		"bad number":  {strings.Replace(table, "1000", "many", 1), "line 5: context window of openai/gpt-99"},
		"bad price":   {strings.Replace(table, "1/2", "1/-2", 1), "bad rate"},
		"bad api":     {strings.ReplaceAll(table, "openai-responses", "telepathy"), `unknown "telepathy"`},
		"columns":     {strings.Replace(table, "\tGPT-99", "", 1), "a model has 10 columns, want 11"},
		"no models":   {table[:strings.Index(table, "@")], "it holds no models"},
		"web page":    {"<html>", "is no table of models"},
		"no provider": {strings.Replace(table, "@openai", "@other", 1), "no connection"},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := catalog.Refresh(t.Context(), nil, filepath.Join(dir, "cache"), file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := catalog.Refresh(t.Context(), client(t), filepath.Join(dir, "cache"), server.URL+"/gone"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("gone: %v", err)
	}
}
