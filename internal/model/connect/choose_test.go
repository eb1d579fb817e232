package connect_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm"
)

// nowhere leads the local servers to a port where none is.
func (w *world) nowhere() {
	for _, name := range []string{"OLLAMA_HOST", "LLAMA_CPP_BASE_URL", "LM_STUDIO_BASE_URL"} {
		w.env[name] = "http://127.0.0.1:1"
	}
}

func TestChoose(t *testing.T) {
	aws := map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	google := map[string]string{"GOOGLE_CLOUD_LOCATION": "global", "GOOGLE_CLOUD_PROJECT": "p"}
	gcloud := ".config/gcloud/application_default_credentials.json"
	tests := []struct {
		name   string
		env    map[string]string
		file   string // that exists in the user's home
		stored string
		models string
		set    func(w *world)
		wish   catalog.Wish
		want   string // provider/id[:level]; "" = none
	}{
		{"selector", nil, "", "", "", nil, catalog.Wish{Selector: "anthropic/claude-sonnet-4-5:high"}, "anthropic/claude-sonnet-4-5:high"},
		{"key of a vendor", map[string]string{"DEEPSEEK_API_KEY": "k"}, "", "", "", nil, catalog.Wish{}, "deepseek/deepseek-v4-pro"},
		{"first of several", map[string]string{"DEEPSEEK_API_KEY": "k", "GEMINI_API_KEY": "k"}, "", "", "", nil, catalog.Wish{}, "google/gemini-3.1-pro-preview"},
		{
			"order of the settings",
			map[string]string{"DEEPSEEK_API_KEY": "k", "GEMINI_API_KEY": "k"},
			"", "", "",
			func(w *world) { w.o.ProviderOrder = []string{"deepseek"} },
			catalog.Wish{},
			"deepseek/deepseek-v4-pro",
		},
		{
			"not a disabled provider",
			map[string]string{"DEEPSEEK_API_KEY": "k", "GEMINI_API_KEY": "k"},
			"", "", "",
			func(w *world) { w.o.Disabled = catalog.ScopedList{{Values: []string{"google"}}} },
			catalog.Wish{},
			"deepseek/deepseek-v4-pro",
		},
		{"stored key", nil, "", "zai", "", nil, catalog.Wish{}, "zai/glm-5.3"},
		{"a list", map[string]string{"DEEPSEEK_API_KEY": "k", "GEMINI_API_KEY": "k"}, "", "", "", nil, catalog.Wish{Models: []string{"anthropic/*", "deepseek/*pro:low"}}, "deepseek/deepseek-v4-pro:low"},
		{
			"the list of this folder",
			map[string]string{"DEEPSEEK_API_KEY": "k", "GEMINI_API_KEY": "k"},
			"", "", "",
			func(w *world) {
				w.o.Enabled = catalog.ScopedList{{Values: []string{"google/*"}, Paths: []string{"/elsewhere"}}, {Values: []string{"deepseek/*"}, Paths: []string{w.home}}}
			},
			catalog.Wish{},
			"deepseek/",
		},
		{
			"a list does not matter to a session that goes on",
			map[string]string{"DEEPSEEK_API_KEY": "k", "GEMINI_API_KEY": "k"},
			"", "", "", nil,
			catalog.Wish{Models: []string{"deepseek/*"}, Resuming: true},
			"google/gemini-3.1-pro-preview",
		},
		{"role of the settings", nil, "", "", "", func(w *world) { w.o.Roles = map[string]string{"default": "xai/grok-4.3:low"} }, catalog.Wish{}, "xai/grok-4.3:low"},
		{
			"role of the environment",
			map[string]string{"BURIN_MODEL": "zai/glm-5.3"},
			"", "", "",
			func(w *world) { w.o.Roles = map[string]string{"default": "xai/grok-4.3"} },
			catalog.Wish{},
			"zai/glm-5.3",
		},
		{
			"role of the command line",
			map[string]string{"BURIN_MODEL": "zai/glm-5.3"},
			"", "", "",
			func(w *world) { w.o.RoleFlags = map[string]string{"default": "openai/gpt-5.5"} },
			catalog.Wish{},
			"openai/gpt-5.5",
		},
		{"models.yml", nil, "", "", "providers: {corp: {baseUrl: 'http://127.0.0.1:1', api: openai-completions, auth: none, models: [{id: m}]}}", nil, catalog.Wish{}, "corp/m"},
		{"keys of AWS", aws, "", "", "", nil, catalog.Wish{}, "amazon-bedrock/global.anthropic.claude-sonnet-4-6"},
		{"half a key of AWS", map[string]string{"AWS_ACCESS_KEY_ID": "a"}, "", "", "", nil, catalog.Wish{}, ""},
		{"a profile of AWS", map[string]string{"AWS_PROFILE": "work"}, "", "", "", nil, catalog.Wish{}, "amazon-bedrock/global.anthropic.claude-sonnet-4-6"},
		{"a file of AWS is no wish", nil, ".aws/credentials", "", "", nil, catalog.Wish{}, ""},
		{"a vendor's key before a cloud's", map[string]string{"AWS_PROFILE": "work", "ZAI_API_KEY": "k"}, "", "", "", nil, catalog.Wish{}, "zai/glm-5.3"},
		{"Vertex with gcloud's login", google, gcloud, "", "", nil, catalog.Wish{}, "google-vertex/gemini-3.1-pro-preview"},
		{"Vertex without a login", google, "", "", "", nil, catalog.Wish{}, ""},
		{"Vertex without a location", map[string]string{"GOOGLE_CLOUD_PROJECT": "p"}, gcloud, "", "", nil, catalog.Wish{}, ""},
		{"Vertex with a key", map[string]string{"GOOGLE_CLOUD_API_KEY": "k"}, "", "", "", nil, catalog.Wish{}, "google-vertex/gemini-3.1-pro-preview"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.nowhere()
			for name, value := range tt.env {
				w.env[name] = value
			}
			if tt.file != "" {
				write(t, filepath.Join(w.home, tt.file), "{}")
			}
			if tt.models != "" {
				w.models(t, tt.models)
			}
			if tt.set != nil {
				tt.set(w)
			}
			m := w.open(t)
			if tt.stored != "" {
				add(t, m, tt.stored, "k")
			}
			c, err := m.Choose(t.Context(), tt.wish)
			if tt.want == "" {
				var none *credential.NotFoundError
				if !errors.As(err, &none) {
					t.Errorf("chose %v, error %v", c.Model, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := c.Model.Ref()
			if c.Level != "" {
				got += ":" + string(c.Level)
			}
			if got != tt.want && (!strings.HasSuffix(tt.want, "/") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("chose %s, want %s", got, tt.want)
			}
		})
	}
}

// Vertex's project may stand in the login itself, and CLOUDSDK_CONFIG may move it.
func TestVertexLogin(t *testing.T) {
	w := newWorld(t)
	w.env["CLOUDSDK_CONFIG"], w.env["GOOGLE_CLOUD_LOCATION"] = filepath.Join(w.home, "sdk"), "us"
	googleLogin(t, filepath.Join(w.home, "sdk", "application_default_credentials.json"), "paying")
	v := w.vendors(t)
	m := w.open(t)
	c, err := m.Choose(t.Context(), catalog.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, client(t, m, c.Model, ""), c.Model); err != nil {
		t.Fatal(err)
	}
	if got := v.one(t); !strings.HasPrefix(got.url, "/v1/projects/paying/locations/us/") || got.host != "aiplatform.us.rep.googleapis.com" {
		t.Errorf("asked %s%s", got.host, got.url)
	}
}

// Where nothing is set up, a server on this machine is found and used.
func TestChooseDiscovers(t *testing.T) {
	chat := serve(t, say("from llama"))
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			_ = json.NewEncoder(w).Encode(map[string]any{"models": []any{map[string]any{"name": "llama3:8b", "model": "llama3:8b"}}})
		case "/api/show":
			_ = json.NewEncoder(w).Encode(map[string]any{"capabilities": []string{"completion", "tools"}})
		case "/v1/chat/completions":
			chat.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	defer ollama.Close()
	w := newWorld(t)
	w.nowhere()
	w.env["OLLAMA_HOST"] = ollama.URL
	m := w.open(t)
	c, err := m.Choose(t.Context(), catalog.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model.Ref() != "ollama/llama3:8b" {
		t.Errorf("chose %s", c.Model.Ref())
	}
	if got, err := ask(t, client(t, m, c.Model, ""), c.Model); err != nil || got != "from llama" {
		t.Errorf("%q, %v", got, err)
	}
	if got := chat.Raw()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("sent %q", got)
	}
}

// The error of a user who has nothing names all that was looked for, and asks no
// port that others use.
func TestNothing(t *testing.T) {
	w := newWorld(t)
	w.nowhere()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"models":[]}`)) }))
	defer empty.Close()
	w.env["OLLAMA_HOST"] = empty.URL
	m := w.open(t)
	id := add(t, m, "zai", "k")[0]
	if err := m.Keys.Disable(t.Context(), id, "not accepted"); err != nil {
		t.Fatal(err)
	}
	_, err := m.Choose(t.Context(), catalog.Wish{})
	var none *credential.NotFoundError
	if !errors.As(err, &none) {
		t.Fatal(err)
	}
	if want := []string{"llama.cpp (http://127.0.0.1:1)", "lm-studio (http://127.0.0.1:1)", "ollama (" + empty.URL + ", which has no models)"}; !slices.Equal(none.Servers, want) {
		t.Errorf("servers %q, want %q", none.Servers, want)
	}
	for _, want := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "No model at llama.cpp", "Not used: key 1 (not accepted)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %v", err)
	}
}

func TestLogins(t *testing.T) {
	w := newWorld(t)
	w.o.OAuth = map[string]oauth.Provider{"corp": {}, "openrouter": {}}
	if got := w.open(t).Logins(); !slices.Equal(got, []string{"corp", "openrouter"}) {
		t.Errorf("%q", got)
	}
}

func TestCacheRetention(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want llm.CacheRetention
		err  string
	}{
		{nil, llm.CacheShort, ""},
		{map[string]string{"PI_CACHE_RETENTION": "long"}, llm.CacheLong, ""},
		{map[string]string{"BURIN_CACHE_RETENTION": "short", "PI_CACHE_RETENTION": "long"}, llm.CacheShort, ""},
		{map[string]string{"PI_CACHE_RETENTION": "off", "OMP_CACHE_RETENTION": "long"}, llm.CacheOff, ""},
		{map[string]string{"OMP_CACHE_RETENTION": "forever"}, llm.CacheShort, `OMP_CACHE_RETENTION: unknown value "forever"`},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.env = tt.env
		got, err := w.open(t).CacheRetention()
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%v: %q, %v", tt.env, got, err)
		}
	}
}

// A bad models.yml leaves the built-in models and their keys.
func TestBadModels(t *testing.T) {
	w := newWorld(t)
	w.models(t, "providers: {corp: {baseUrl: 'x'}}")
	v := w.vendors(t)
	w.env["ZAI_API_KEY"] = "k"
	m, err := w.tryOpen()
	if m == nil || err == nil || !strings.Contains(err.Error(), "models.yml:1:") {
		t.Fatalf("%v, %v", m, err)
	}
	defer m.Close()
	c, err := m.Choose(t.Context(), catalog.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, client(t, m, c.Model, ""), c.Model); err != nil || v.one(t).host != "api.z.ai" {
		t.Error(err)
	}
}
