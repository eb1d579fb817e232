package connect_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Every wire format that models.yml may name reaches a server on this machine,
// with the key where the format has it and the provider's headers.
func TestFormats(t *testing.T) {
	tests := []struct{ api, base, url, header, value string }{
		{"anthropic-messages", "", "/v1/messages", "X-Api-Key", "k-1"},
		{"openai-completions", "/v1", "/v1/chat/completions", "Authorization", "Bearer k-1"},
		{"openai-responses", "/v1", "/v1/responses", "Authorization", "Bearer k-1"},
		{"openai-codex-responses", "/codex", "/codex/responses", "Authorization", "Bearer k-1"},
		{"azure-openai-responses", "/openai/v1", "/openai/v1/responses?api-version=v1", "Api-Key", "k-1"},
		{"google-generative-ai", "", "/v1beta/models/m:streamGenerateContent?alt=sse", "X-Goog-Api-Key", "k-1"},
		{"google-vertex", "", "/v1/publishers/google/models/m:streamGenerateContent?alt=sse", "X-Goog-Api-Key", "k-1"},
		{"bedrock-converse-stream", "", "/model/m/converse-stream", "Authorization", "Bearer k-1"},
	}
	for _, bearer := range []bool{false, true} {
		for _, tt := range tests {
			name, header, value := tt.api, tt.header, tt.value
			if bearer {
				name, header, value = name+", authHeader", "Authorization", "Bearer k-1"
			}
			t.Run(name, func(t *testing.T) {
				s := serve(t, say("hello there"))
				w := newWorld(t)
				text := "providers:\n  corp:\n    baseUrl: " + s.URL + tt.base + "\n    api: " + tt.api + "\n    apiKey: k-1\n    headers: {X-Team: blue}\n"
				if bearer {
					text += "    authHeader: true\n"
				}
				w.models(t, text+"    models: [{id: m}]\n")
				m := w.open(t)
				model := lookup(t, m, "corp/m")
				if got, err := ask(t, client(t, m, model, "s"), model); err != nil || got != "hello there" {
					t.Fatalf("%q, %v", got, err)
				}
				raw := s.Raw()[0]
				if raw.URL != tt.url || raw.Header.Get(header) != value || raw.Header.Get("X-Team") != "blue" {
					t.Errorf("%s with %v", raw.URL, raw.Header)
				}
				n := 0
				for _, values := range raw.Header {
					if strings.Contains(values[0], "k-1") {
						n++
					}
				}
				if n != 1 {
					t.Errorf("the key stands in %d headers: %v", n, raw.Header)
				}
			})
		}
	}
}

// Without a key and with nothing but an address, each format reaches a server on
// this machine; cloud credentials that are there stay here.
func TestUnlisted(t *testing.T) {
	for _, api := range []llm.API{
		"", llm.APIAnthropic, llm.APICompletions, llm.APIResponses, llm.APICodexResponses, llm.APIAzureResponses,
		llm.APIGoogle, llm.APIVertex, llm.APIBedrock,
	} {
		t.Run(string(api), func(t *testing.T) {
			s := serve(t, says("hi", 3)...)
			w := newWorld(t)
			w.env["AWS_ACCESS_KEY_ID"], w.env["AWS_SECRET_ACCESS_KEY"] = "AKIDREAL", "secret-real"
			m := w.open(t)
			model, err := m.Catalog.Registry.Unlisted("local", "m", api, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			c := client(t, m, model, "")
			if got, err := ask(t, c, model); err != nil || got != "hi" {
				t.Fatalf("%q, %v", got, err)
			}
			if got := (seen{header: s.Raw()[0].Header}); got.carries("AKIDREAL") || got.carries("Bearer") {
				t.Errorf("sent %v", got.header)
			}
			m.Keys.Override("local", "k-given")
			if _, err := ask(t, c, model); err != nil {
				t.Fatal(err)
			}
			if got := (seen{header: s.Raw()[1].Header}); !got.carries("k-given") {
				t.Errorf("the key of the command line is not in %v", got.header)
			}
		})
	}
	t.Run("with the key of the provider it is named after", func(t *testing.T) {
		s := serve(t, say("hi"))
		w := newWorld(t)
		w.env["OPENAI_API_KEY"] = "k-openai"
		w.env["MISTRAL_API_KEY"] = "k-mistral"
		m := w.open(t)
		model, err := m.Catalog.Registry.Unlisted("openai", "m", llm.APICompletions, s.URL+"/v1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, client(t, m, model, ""), model); err != nil {
			t.Fatal(err)
		}
		if got := s.Raw()[0].Header.Get("Authorization"); got != "Bearer k-openai" {
			t.Errorf("sent %q", got)
		}
	})
}

// How the models of the catalogue are reached: host, path, and what tells the
// vendor who asks.
func TestVendors(t *testing.T) {
	type want struct {
		host, url string
		header    map[string]string // "" = absent; "prefix…" = begins so
		body      string            // is part of it
	}
	const (
		auth   = "Authorization"
		claude = "anthropic/claude-sonnet-4-5"
		gemini = "google-vertex/gemini-3.1-pro-preview"
		nova   = "amazon-bedrock/amazon.nova-pro-v1:0"
	)
	foundry := map[string]string{"CLAUDE_CODE_USE_FOUNDRY": "yes", "ANTHROPIC_API_KEY": "k-a"}
	with := func(base map[string]string, more ...string) map[string]string {
		out := map[string]string{}
		for k, v := range base {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	anthropicKey := with(nil, "ANTHROPIC_API_KEY", "k-a")
	awsKeys := with(nil, "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "sec", "AWS_REGION", "eu-west-1")
	tests := []struct {
		name, ref string
		env       map[string]string
		models    string
		want      want
	}{
		{"Anthropic", claude, anthropicKey, "", want{"api.anthropic.com", "/v1/messages", with(nil, "X-Api-Key", "k-a", auth, ""), `"strict":true`}},
		{
			"Anthropic, any token", claude, with(anthropicKey, "ANTHROPIC_OAUTH_TOKEN", "tok"), "",
			want{"api.anthropic.com", "/v1/messages", with(nil, "X-Api-Key", "", auth, "Bearer tok"), ""},
		},
		{
			"Anthropic, no headers of gateways", claude, with(anthropicKey, "ANTHROPIC_CUSTOM_HEADERS", "X-Gate: g", "ANTHROPIC_BASE_URL", "https://eu.anthropic.com"), "",
			want{"eu.anthropic.com", "/v1/messages", with(nil, "X-Api-Key", "k-a", "X-Gate", ""), ""},
		},
		{
			"ANTHROPIC_BASE_URL", claude, with(anthropicKey, "ANTHROPIC_CUSTOM_HEADERS", "x-gate: g, X-Other: o", "ANTHROPIC_BASE_URL", "https://gate.example/a/"), "",
			want{"gate.example", "/a/v1/messages", with(nil, "X-Api-Key", "k-a", "X-Gate", "g", "X-Other", "o"), ""},
		},
		{
			"headers of models.yml win", claude, with(anthropicKey, "ANTHROPIC_CUSTOM_HEADERS", "x-gate: g", "ANTHROPIC_BASE_URL", "https://gate.example"),
			"providers: {anthropic: {headers: {X-Gate: mine}}}",
			want{"gate.example", "/v1/messages", with(nil, "X-Gate", "mine"), ""},
		},
		{
			"an empty list of headers", claude, with(anthropicKey, "ANTHROPIC_CUSTOM_HEADERS", ",", "ANTHROPIC_BASE_URL", "https://gate.example"),
			"providers: {anthropic: {headers: {X-Gate: mine}}}",
			want{"gate.example", "/v1/messages", with(nil, "X-Gate", "mine"), ""},
		},
		{
			"headers of gateways are for no one else", "minimax/MiniMax-M2.7", with(nil, "MINIMAX_API_KEY", "k-m", "ANTHROPIC_CUSTOM_HEADERS", "X-Gate: g", "ANTHROPIC_BASE_URL", "https://gate.example"), "",
			want{"api.minimax.io", "/anthropic/v1/messages", with(nil, "X-Api-Key", "k-m", "X-Gate", ""), ""},
		},
		{
			"an address of models.yml wins over ANTHROPIC_BASE_URL", claude, with(foundry, "FOUNDRY_BASE_URL", "https://foundry.example", "ANTHROPIC_BASE_URL", "https://gate.example"),
			"providers: {anthropic: {baseUrl: 'https://mine.anthropic.com', apiKey: k-mine}}",
			want{"mine.anthropic.com", "/v1/messages", with(nil, "X-Api-Key", "k-mine"), ""},
		},
		{
			"Foundry", claude, with(foundry, "FOUNDRY_BASE_URL", "https://foundry.example/x", "ANTHROPIC_FOUNDRY_API_KEY", "k-f", "ANTHROPIC_CUSTOM_HEADERS", "X-Gate: g"), "",
			want{"foundry.example", "/x/v1/messages", with(nil, "X-Api-Key", "", auth, "Bearer k-f", "X-Gate", "g"), ""},
		},
		{
			"Foundry without a key of its own", claude, with(foundry, "FOUNDRY_BASE_URL", "https://foundry.example"), "",
			want{"foundry.example", "/v1/messages", with(nil, "X-Api-Key", "", auth, ""), ""},
		},
		{"Foundry without address and key", claude, foundry, "", want{"api.anthropic.com", "/v1/messages", with(nil, "X-Api-Key", "k-a"), ""}},
		{
			"Claude on Bedrock", "aws/anthropic.claude-x-v1:0", with(awsKeys, "AWS_REGION", "us-east-1"),
			"providers: {aws: {api: anthropic-messages, baseUrl: 'https://bedrock-runtime.eu-west-3.amazonaws.com', auth: none, models: [{id: 'anthropic.claude-x-v1:0'}]}}",
			want{"bedrock-runtime.eu-west-3.amazonaws.com", "/model/anthropic.claude-x-v1%3A0/invoke-with-response-stream", with(nil, "X-Api-Key", "", auth, "AWS4-HMAC-SHA256 Credential=AKID/…"), "bedrock-2023-05-31"},
		},
		{
			"Claude on Bedrock under Anthropic's name", claude, with(awsKeys, "ANTHROPIC_API_KEY", "k-a"),
			"providers: {anthropic: {baseUrl: 'https://bedrock-runtime.eu-west-3.amazonaws.com'}}",
			want{"bedrock-runtime.eu-west-3.amazonaws.com", "", with(nil, "X-Api-Key", "", auth, "AWS4-HMAC-SHA256 Credential=AKID/…"), ""},
		},
		{
			"Claude on Vertex", "gcp/claude-x", with(nil, "GOOGLE_APPLICATION_CREDENTIALS", "adc.json", "GOOGLE_CLOUD_PROJECT", "proj", "GOOGLE_CLOUD_LOCATION", "us-central1"),
			"providers: {gcp: {api: anthropic-messages, baseUrl: 'https://europe-west1-aiplatform.googleapis.com', auth: none, models: [{id: claude-x}]}}",
			want{"europe-west1-aiplatform.googleapis.com", "/v1/projects/proj/locations/europe-west1/publishers/anthropic/models/claude-x:streamRawPredict", with(nil, auth, "Bearer adc-token"), "vertex-2023-10-16"},
		},
		{
			"Claude on Vertex, global", "gcp/claude-x", with(nil, "GOOGLE_APPLICATION_CREDENTIALS", "adc.json", "GOOGLE_CLOUD_PROJECT", "proj"),
			"providers: {gcp: {api: anthropic-messages, baseUrl: 'https://aiplatform.googleapis.com/v1', auth: none, models: [{id: claude-x}]}}",
			want{"aiplatform.googleapis.com", "/v1/projects/proj/locations/global/publishers/anthropic/models/claude-x:streamRawPredict", with(nil, auth, "Bearer adc-token"), ""},
		},
		{
			"Claude on Vertex, several regions", "gcp/claude-x", with(nil, "GOOGLE_APPLICATION_CREDENTIALS", "adc.json", "GOOGLE_CLOUD_PROJECT", "proj"),
			"providers: {gcp: {api: anthropic-messages, baseUrl: 'https://aiplatform.eu.rep.googleapis.com', auth: none, models: [{id: claude-x}]}}",
			want{"aiplatform.eu.rep.googleapis.com", "/v1/projects/proj/locations/eu/publishers/anthropic/models/claude-x:streamRawPredict", with(nil, auth, "Bearer adc-token"), ""},
		},
		{
			"no credential of a cloud to a provider that needs none", "corp/m", awsKeys,
			"providers: {corp: {api: bedrock-converse-stream, baseUrl: 'https://corp.example', auth: none, models: [{id: m}]}}",
			want{"corp.example", "/model/m/converse-stream", with(nil, auth, "AWS4-HMAC-SHA256 Credential=none/…"), ""},
		},
		{"OpenAI", "openai/gpt-5.5", with(nil, "OPENAI_API_KEY", "k-o"), "", want{"api.openai.com", "/v1/responses", with(nil, auth, "Bearer k-o"), `"store":false`}},
		{"OpenAI, stateful", "openai/gpt-5.5", with(nil, "OPENAI_API_KEY", "k-o", "PI_OPENAI_STATEFUL", "1"), "", want{"api.openai.com", "/v1/responses", nil, `"store":true`}},
		{"Codex", "openai-codex/gpt-6.1-sol", with(nil, "OPENAI_CODEX_OAUTH_TOKEN", "tok"), "", want{"chatgpt.com", "/backend-api/codex/responses", with(nil, auth, "Bearer tok"), ""}},
		{"DeepSeek", "deepseek/deepseek-v4-pro", with(nil, "DEEPSEEK_API_KEY", "k-d"), "", want{"api.deepseek.com", "/chat/completions", with(nil, auth, "Bearer k-d"), ""}},
		{"Gemini", "google/gemini-3.1-pro-preview", with(nil, "GEMINI_API_KEY", "k-g"), "", want{"generativelanguage.googleapis.com", "/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse", with(nil, "X-Goog-Api-Key", "k-g"), ""}},
		{
			"Azure", "azure-openai-responses/gpt-5.5", with(nil, "AZURE_OPENAI_API_KEY", "k-z", "AZURE_OPENAI_RESOURCE_NAME", "res", "AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "x=y, gpt-5.5=mine"), "",
			want{"res.openai.azure.com", "/openai/v1/responses?api-version=v1", with(nil, "Api-Key", "k-z", auth, ""), `"model":"mine"`},
		},
		{
			"Azure, address and version", "azure-openai-responses/gpt-5.5", with(nil, "AZURE_OPENAI_API_KEY", "k-z", "AZURE_OPENAI_RESOURCE_NAME", "res", "AZURE_OPENAI_BASE_URL", "https://other.openai.azure.com", "AZURE_OPENAI_API_VERSION", "preview"), "",
			want{"other.openai.azure.com", "/openai/v1/responses?api-version=preview", with(nil, "Api-Key", "k-z"), `"model":"gpt-5.5"`},
		},
		{
			"Azure, address of models.yml", "azure-openai-responses/gpt-5.5", with(nil, "AZURE_OPENAI_API_KEY", "k-z", "AZURE_OPENAI_BASE_URL", "https://other.openai.azure.com"),
			"providers: {azure-openai-responses: {baseUrl: 'https://mine.openai.azure.com', apiKey: k-mine}}",
			want{"mine.openai.azure.com", "/openai/v1/responses?api-version=v1", with(nil, "Api-Key", "k-mine"), ""},
		},
		{
			"Vertex with a key", gemini, with(nil, "GOOGLE_CLOUD_API_KEY", "k-v", "GOOGLE_CLOUD_PROJECT", "proj", "GOOGLE_CLOUD_LOCATION", "eu"), "",
			want{"aiplatform.googleapis.com", "/v1/publishers/google/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse", with(nil, "X-Goog-Api-Key", "k-v", auth, ""), ""},
		},
		{
			"Vertex with a project", gemini, with(nil, "GOOGLE_APPLICATION_CREDENTIALS", "adc.json", "GCLOUD_PROJECT", "proj", "VERTEX_LOCATION", "us-central1"), "",
			want{"us-central1-aiplatform.googleapis.com", "/v1/projects/proj/locations/us-central1/publishers/google/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse", with(nil, auth, "Bearer adc-token", "X-Goog-Api-Key", ""), ""},
		},
		{
			"Bedrock with a token", nova, with(awsKeys, "AWS_BEARER_TOKEN_BEDROCK", "tok"), "",
			want{"bedrock-runtime.eu-west-1.amazonaws.com", "/model/amazon.nova-pro-v1%3A0/converse-stream", with(nil, auth, "Bearer tok"), ""},
		},
		{
			"Bedrock with keys", nova, awsKeys, "",
			want{"bedrock-runtime.eu-west-1.amazonaws.com", "/model/amazon.nova-pro-v1%3A0/converse-stream", with(nil, auth, "AWS4-HMAC-SHA256 Credential=AKID/…"), ""},
		},
		{
			"Bedrock without a region", nova, with(nil, "AWS_BEARER_TOKEN_BEDROCK", "tok"), "",
			want{"bedrock-runtime.us-east-1.amazonaws.com", "", nil, ""},
		},
		{
			"Bedrock behind a gateway that signs", nova, with(awsKeys, "AWS_BEARER_TOKEN_BEDROCK", "tok", "AWS_BEDROCK_SKIP_AUTH", "1"), "",
			want{"bedrock-runtime.eu-west-1.amazonaws.com", "", with(nil, auth, "AWS4-HMAC-SHA256 Credential=none/…"), ""},
		},
		{"no strict tools, Anthropic", claude, with(anthropicKey, "PI_NO_STRICT", "1"), "", want{"api.anthropic.com", "", nil, "!strict"}},
		{"no strict tools, Responses", "openai/gpt-5.5", with(nil, "OPENAI_API_KEY", "k", "BURIN_NO_STRICT", "true"), "", want{"api.openai.com", "", nil, `!"strict":true`}},
		{"no strict tools, Completions", "groq/openai/gpt-oss-120b", with(nil, "GROQ_API_KEY", "k", "OMP_NO_STRICT", "on"), "", want{"api.groq.com", "", nil, `!"strict":true`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			v := w.vendors(t)
			for name, value := range tt.env {
				w.env[name] = value
			}
			if w.env["GOOGLE_APPLICATION_CREDENTIALS"] != "" {
				w.env["GOOGLE_APPLICATION_CREDENTIALS"] = googleLogin(t, filepath.Join(w.home, "adc.json"), "")
			}
			if tt.models != "" {
				w.models(t, tt.models)
			}
			m := w.open(t)
			model := lookup(t, m, tt.ref)
			text, err := ask(t, client(t, m, model, ""), model)
			if tt.want.url != "" && !strings.Contains(tt.want.url, "invoke-with") && !strings.Contains(tt.want.url, "RawPredict") && (err != nil || text != "hello") {
				t.Errorf("answer %q, %v", text, err)
			}
			got := v.one(t)
			if got.host != tt.want.host || tt.want.url != "" && got.url != tt.want.url {
				t.Errorf("asked %s%s, want %s%s", got.host, got.url, tt.want.host, tt.want.url)
			}
			for name, value := range tt.want.header {
				have := got.header.Get(name)
				prefix, begins := strings.CutSuffix(value, "…")
				if have != value && (!begins || !strings.HasPrefix(have, prefix)) {
					t.Errorf("%s is %q, want %q", name, have, value)
				}
			}
			part, absent := strings.CutPrefix(tt.want.body, "!")
			if strings.Contains(got.body, part) == absent {
				t.Errorf("body %s, want %s", got.body, tt.want.body)
			}
		})
	}
}

// googleLogin writes application default credentials whose tokens come from
// this machine.
func googleLogin(t testing.TB, path, project string) string {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"adc-token","token_type":"Bearer","expires_in":3600}`))
	}))
	t.Cleanup(tokens.Close)
	write(t, path, `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"`+project+`","token_uri":"`+tokens.URL+`"}`)
	return path
}

// Closing frees the connections that are kept for the next request.
func TestCloseFreesConnections(t *testing.T) {
	model := llmtest.New(llmtest.Script{Turns: says("hi", 1)}, formats()...)
	defer model.Close()
	closed := make(chan struct{}, 8)
	s := httptest.NewUnstartedServer(model)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	s.Start()
	defer s.Close()
	m := newWorld(t).open(t)
	unlisted, err := m.Catalog.Registry.Unlisted("local", "m", llm.APICompletions, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, client(t, m, unlisted, ""), unlisted); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the connection is still open")
	}
}

// What cannot work is said before anything is sent.
func TestClientErrors(t *testing.T) {
	tests := []struct {
		ref  string
		env  map[string]string
		want string
	}{
		{"cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6", nil, "cloudflare-workers-ai needs the variable CLOUDFLARE_ACCOUNT_ID"},
		{"anthropic/claude-sonnet-4-5", map[string]string{"ANTHROPIC_BASE_URL": "https://x.example", "ANTHROPIC_CUSTOM_HEADERS": "secret-without-name"}, `ANTHROPIC_CUSTOM_HEADERS: entry 1 is not of the form "name: value"`},
		{"anthropic/claude-sonnet-4-5", map[string]string{"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_CUSTOM_HEADERS": "x"}, "ANTHROPIC_CUSTOM_HEADERS: entry 1"},
		{"azure-openai-responses/gpt-5.5", map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "x"}, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP: entry 1"},
		{"openai/gpt-5.5", map[string]string{"PI_STREAM_IDLE_TIMEOUT_MS": "2s"}, `PI_STREAM_IDLE_TIMEOUT_MS: "2s" is no number of milliseconds (0 = no limit)`},
		{"openai/gpt-5.5", map[string]string{"OMP_OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS": "-5"}, `OMP_OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS: "-5"`},
		{"openai/gpt-5.5", map[string]string{"NODE_EXTRA_CA_CERTS": "/nowhere/ca.pem"}, "extra CA certificates"},
	}
	for _, tt := range tests {
		w := newWorld(t)
		for name, value := range tt.env {
			w.env[name] = value
		}
		m := w.open(t)
		_, err := m.Client(lookup(t, m, tt.ref), "")
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", tt.ref, err, tt.want)
		}
	}
}

// What models.yml says of a server's dialect is what the server gets.
func TestDialect(t *testing.T) {
	s := serve(t, say("hi"))
	w := newWorld(t)
	w.models(t, `
providers:
  corp:
    baseUrl: `+s.URL+`/v1
    api: openai-completions
    apiKey: k
    compat: {maxTokensField: max_tokens, supportsDeveloperRole: false}
    requestTransform:
      stripHeaders: [accept]
      setHeaders: {User-Agent: corp-agent}
      extraBody: {routing: fast, model: not-this}
    models: [{id: m, wireModelId: upstream-m, maxTokens: 777}]
`)
	m := w.open(t)
	model := lookup(t, m, "corp/m")
	req := request(model)
	req.System, req.MaxTokens = "be brief", 55
	if _, err := read(t, client(t, m, model, "").Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	raw := s.Raw()[0]
	for _, want := range []string{`"max_tokens":55`, `"role":"system"`, `"routing":"fast"`, `"model":"upstream-m"`} {
		if !strings.Contains(string(raw.Body), want) {
			t.Errorf("no %s in %s", want, raw.Body)
		}
	}
	if raw.Header.Get("User-Agent") != "corp-agent" || raw.Header.Get("Accept") != "" {
		t.Errorf("headers %v", raw.Header)
	}
}

// Time-outs: the settings, over them the environment by each of its names, and
// over that the one that is meant for OpenAI's formats; 0 is no limit.
func TestTimeouts(t *testing.T) {
	tests := []struct {
		name, api string
		settings  time.Duration
		env       map[string]string
		idle      bool
		want      string // of the error; "" = the answer arrives
	}{
		{"settings", "anthropic-messages", 30e6, nil, false, "no answer began within 30ms"},
		{"environment", "anthropic-messages", 0, map[string]string{"BURIN_STREAM_FIRST_EVENT_TIMEOUT_MS": "31", "PI_STREAM_FIRST_EVENT_TIMEOUT_MS": "9999999"}, false, "no answer began within 31ms"},
		{"environment before settings", "anthropic-messages", 60e9, map[string]string{"PI_STREAM_FIRST_EVENT_TIMEOUT_MS": "32", "OMP_STREAM_FIRST_EVENT_TIMEOUT_MS": "9999999"}, false, "no answer began within 32ms"},
		{"OpenAI's own", "openai-completions", 0, map[string]string{"OMP_STREAM_FIRST_EVENT_TIMEOUT_MS": "9999999", "OMP_OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS": "33"}, false, "no answer began within 33ms"},
		{"OpenAI's is for no one else", "anthropic-messages", 34e6, map[string]string{"PI_OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS": "1"}, false, "no answer began within 34ms"},
		{"idle", "openai-responses", 0, map[string]string{"PI_STREAM_IDLE_TIMEOUT_MS": "35"}, true, "the answer stood still for 35ms"},
		{"none", "anthropic-messages", 1, map[string]string{"PI_STREAM_FIRST_EVENT_TIMEOUT_MS": "0"}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := llmtest.Turn{Events: llmtest.Say("late"), Fault: llmtest.Fault{StallHead: tt.want != "" && !tt.idle}}
			if tt.idle {
				turn.Fault.StallAfterEvents = 2
			}
			s := serve(t, turn)
			w := newWorld(t)
			for name, value := range tt.env {
				w.env[name] = value
			}
			w.o.FirstEvent = tt.settings
			w.models(t, "providers: {corp: {baseUrl: '"+s.URL+"', api: "+tt.api+", auth: none, models: [{id: m}]}}")
			m := w.open(t)
			model := lookup(t, m, "corp/m")
			_, err := ask(t, client(t, m, model, ""), model)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if llm.KindOf(err) != llm.ErrStalled || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// The window of a million tokens is asked for where the user says it is there
// and the model does not have it anyway.
func TestLongContextIsAskedFor(t *testing.T) {
	for ref, want := range map[string]string{
		"anthropic/claude-sonnet-4-5": "context-1m-2025-08-07", // its window is raised below
		"anthropic/claude-sonnet-4-0": "",
		"anthropic/claude-opus-4-6":   "",
	} {
		srv := serve(t, say("ok"))
		w := newWorld(t)
		w.env["ANTHROPIC_API_KEY"] = "k"
		w.models(t, "providers: {anthropic: {baseUrl: "+srv.URL+", apiKeyEnv: ANTHROPIC_API_KEY, modelOverrides: {claude-sonnet-4-5: {contextWindow: 1000000}}}}")
		m := w.open(t)
		model := lookup(t, m, ref)
		if _, err := ask(t, client(t, m, model, ""), model); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(srv.Raw()[0].Header.Values("Anthropic-Beta"), ",")
		if strings.Contains(got, "context-1m") != (want != "") {
			t.Errorf("%s: beta flags %q, want %q", ref, got, want)
		}
	}
}
