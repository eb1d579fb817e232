package google_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/wire"
)

// keeping is a transport that keeps the request and ends the answer at once.
type keeping struct {
	req  *http.Request
	body []byte
}

func (k *keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	k.req = r
	if r.Body != nil {
		k.body, _ = io.ReadAll(r.Body)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(sse(stop))), Request: r,
	}, nil
}

// sent is the request that a client makes.
func sent(t testing.TB, o google.Options, req *llm.Request) (*http.Request, []byte, error) {
	t.Helper()
	k := &keeping{}
	o.Client = &http.Client{Transport: k}
	_, err := llm.Collect(google.New(o).Stream(context.WithoutCancel(t.Context()), req))
	return k.req, k.body, err
}

func sentBody(t testing.TB, o google.Options, req *llm.Request) []byte {
	t.Helper()
	_, body, err := sent(t, o, req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// hearing is a model that takes recordings.
func hearing(m *llm.Model) *llm.Model {
	m.Input = append(slices.Clone(m.Input), llm.ModalityAudio)
	return m
}

func gemini25(id string) *llm.Model {
	m := gemini3()
	m.ID, m.Thinking = id, llm.ThinkingSupport{Mode: llm.ThinkingBudget}
	return m
}

// part of a body by its path, "" if there is none.
func at(t testing.TB, body []byte, path ...string) string {
	t.Helper()
	raw := json.RawMessage(body)
	for _, key := range path {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if raw = fields[key]; raw == nil {
			return ""
		}
	}
	return string(raw)
}

func TestAddressAndCredential(t *testing.T) {
	key := func(context.Context) (string, error) { return "secret-key", nil }
	bearer := func(_ context.Context, r *http.Request, body []byte) error {
		if !bytes.Contains(body, []byte(`"contents"`)) {
			return errors.New("no body to authorize")
		}
		r.Header.Set("Authorization", "Bearer t")
		return nil
	}
	for _, c := range []struct {
		name      string
		o         google.Options
		model     string
		url       string
		key, auth string
	}{
		{
			name: "AI Studio", o: google.Options{Endpoint: wire.Endpoint{Key: key}}, model: "gemini-3-pro", key: "secret-key",
			url: "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
		},
		{
			name: "own address", o: google.Options{Endpoint: wire.Endpoint{BaseURL: "https://proxy.example/g/v1beta/"}}, model: "models/gemini-3-pro",
			url: "https://proxy.example/g/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
		},
		{
			name: "own host", o: google.Options{Endpoint: wire.Endpoint{BaseURL: "http://localhost:1"}}, model: "tunedModels/mine",
			url: "http://localhost:1/v1beta/tunedModels/mine:streamGenerateContent?alt=sse",
		},
		{
			name: "Vertex", o: google.Options{Vertex: true, Project: "p", Location: "europe-west1", Authorize: bearer}, model: "gemini-3-pro", auth: "Bearer t",
			url: "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse",
		},
		{
			name: "Vertex global", o: google.Options{Vertex: true, Project: "p", Location: "global", Authorize: bearer}, model: "gemini-3-pro", auth: "Bearer t",
			url: "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse",
		},
		{
			name: "Vertex multi-region", o: google.Options{Vertex: true, Project: "p", Location: "eu", Authorize: bearer}, model: "publishers/meta/models/llama", auth: "Bearer t",
			url: "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/meta/models/llama:streamGenerateContent?alt=sse",
		},
		{
			name: "Vertex express", o: google.Options{Vertex: true, Authorize: bearer, Endpoint: wire.Endpoint{Key: key}}, model: "gemini-3-pro", key: "secret-key",
			url: "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse",
		},
		{
			name: "the user's own header", model: "gemini-3-pro", auth: "Bearer mine",
			o:   google.Options{Vertex: true, Project: "p", Location: "global", Authorize: bearer, Endpoint: wire.Endpoint{Headers: map[string]string{"Authorization": "Bearer mine"}}},
			url: "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := gemini3()
			m.ID = c.model
			r, _, err := sent(t, c.o, &llm.Request{Model: m, Messages: []llm.Message{llm.UserText("Hi")}})
			if err != nil {
				t.Fatal(err)
			}
			if r.URL.String() != c.url {
				t.Errorf("sent to %s, want %s", r.URL, c.url)
			}
			if got := r.Header.Get("x-goog-api-key"); got != c.key {
				t.Errorf("key %q, want %q", got, c.key)
			}
			if got := r.Header.Get("Authorization"); got != c.auth {
				t.Errorf("Authorization %q, want %q", got, c.auth)
			}
		})
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	ask := func() *llm.Request {
		return &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}}
	}
	noModel, badTool, badOutput := ask(), ask(), ask()
	noModel.Model = nil
	badTool.Tools = []llm.Tool{{Name: "lookup", Schema: json.RawMessage(`{"type":"string"}`)}}
	badOutput.Output = json.RawMessage(`{`)
	for _, c := range []struct {
		name string
		o    google.Options
		req  *llm.Request
		kind llm.ErrorKind
		want string
	}{
		{"no model", google.Options{}, noModel, llm.ErrInvalidRequest, "model"},
		{"schema of a tool", google.Options{}, badTool, llm.ErrInvalidRequest, "lookup"},
		{"schema of the answer", google.Options{}, badOutput, llm.ErrInvalidRequest, "schema of the answer"},
		{"no project", google.Options{Vertex: true, Location: "global"}, ask(), llm.ErrAuth, "GOOGLE_CLOUD_PROJECT"},
		{"no location", google.Options{Vertex: true, Project: "p"}, ask(), llm.ErrInvalidRequest, "GOOGLE_CLOUD_LOCATION"},
		{"no credential", google.Options{Vertex: true, Project: "p", Location: "global", Authorize: func(context.Context, *http.Request, []byte) error {
			return errors.New("no login")
		}}, ask(), llm.ErrAuth, "no login"},
		{"no key", google.Options{Endpoint: wire.Endpoint{Key: func(context.Context) (string, error) { return "", errors.New("locked") }}}, ask(), llm.ErrAuth, "locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, err := sent(t, c.o, c.req)
			if r != nil {
				t.Error("a request was sent")
			}
			if llm.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s that names %q", err, c.kind, c.want)
			}
		})
	}
}

func TestContents(t *testing.T) {
	png := llm.Image{MIME: "image/png", Data: []byte("PNG")}
	pdf := llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("PDF")}
	call := func(id, sig string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "shot", Arguments: `{"n":1}`, Signature: sig}
	}
	answer := func(model string, blocks ...llm.Block) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, API: llm.APIGoogle, Provider: "google", Model: model, Content: blocks, StopReason: llm.StopToolUse}
	}
	result := func(id string, isError bool, blocks ...llm.Block) llm.Message {
		return llm.Message{Role: llm.RoleToolResult, ToolCallID: id, ToolName: "shot", IsError: isError, Content: blocks}
	}
	const id3 = "gemini-3-pro-preview"
	both := []llm.Message{
		llm.UserText("Look"),
		answer(id3, llm.Thinking{Text: "hm", Signature: "st"}, llm.Text{Text: "Now", Signature: "sx"}, call("a", "sc"), call("b", "")),
		result("b", true, llm.Text{Text: "broke"}),
		result("a", false, llm.Text{Text: "here"}, png, pdf),
		llm.UserText("And?"),
	}
	foreign := answer("other", llm.Thinking{Text: "hm", Signature: "st"}, llm.Text{Text: "Now", Signature: "sx"}, call("a", "sc"))
	for _, c := range []struct {
		name    string
		vertex  bool
		model   *llm.Model
		history []llm.Message
		want    string
	}{
		{
			"Gemini 3", false, gemini3(), both,
			`[{"role":"user","parts":[{"text":"Look"}]},` +
				`{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"st"},{"text":"Now","thoughtSignature":"sx"},{"functionCall":{"id":"a","name":"shot","args":{"n":1}},"thoughtSignature":"sc"},{"functionCall":{"id":"b","name":"shot","args":{"n":1}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"shot","response":{"output":"here"},"parts":[{"inlineData":{"mimeType":"image/png","data":"UE5H"}},{"inlineData":{"mimeType":"application/pdf","data":"UERG"}}]}},{"functionResponse":{"id":"b","name":"shot","response":{"error":"broke"}}}]},` +
				`{"role":"user","parts":[{"text":"And?"}]}]`,
		},
		{
			"Gemini 2.5", false, gemini25("gemini-2.5-flash"),
			[]llm.Message{
				llm.UserText("Look"), foreign, result("a", false, llm.Text{Text: "here"}, png), llm.UserText("And?"),
			},
			`[{"role":"user","parts":[{"text":"Look"}]},` +
				`{"role":"model","parts":[{"text":"Now"},{"functionCall":{"name":"shot","args":{"n":1}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"shot","response":{"output":"here\n[The image follows the tool results.]"}}}]},` +
				`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"UE5H"}},{"text":"And?"}]}]`,
		},
		{
			"a call of another model", false, gemini3(),
			[]llm.Message{llm.UserText("Look"), foreign, result("a", false, llm.Text{Text: "here"})},
			`[{"role":"user","parts":[{"text":"Look"}]},` +
				`{"role":"model","parts":[{"text":"Now"},{"functionCall":{"id":"a","name":"shot","args":{"n":1}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"shot","response":{"output":"here"}}}]}]`,
		},
		{
			"no ids on Vertex", true, gemini3(),
			[]llm.Message{llm.UserText("Look"), answer(id3, call("a", "sc")), result("a", false, llm.Text{Text: "here"})},
			`[{"role":"user","parts":[{"text":"Look"}]},` +
				`{"role":"model","parts":[{"functionCall":{"name":"shot","args":{"n":1}},"thoughtSignature":"sc"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"shot","response":{"output":"here"}}}]}]`,
		},
		{
			"recordings", false, hearing(gemini3()),
			[]llm.Message{{Role: llm.RoleUser, Content: []llm.Block{llm.Document{Name: "a.m4a", MIME: "audio/mp4", Data: []byte("PDF")}, llm.Text{Text: "Hear"}}}},
			`[{"role":"user","parts":[{"inlineData":{"mimeType":"audio/mp4","data":"UERG"}},{"text":"Hear"}]}]`,
		},
		{
			"media by address", false, gemini3(),
			[]llm.Message{
				{Role: llm.RoleUser, Content: []llm.Block{llm.Image{MIME: "image/png", URL: "https://x/y.png"}}},
				{Role: llm.RoleUser, Content: []llm.Block{pdf}},
				answer(id3, call("a", "sc")),
				result("a", false, llm.Image{MIME: "image/png", URL: "https://x/z.png"}, llm.Image{MIME: "image/gif", Data: []byte("GIF")}),
			},
			`[{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://x/y.png"}},{"inlineData":{"mimeType":"application/pdf","data":"UERG"}}]},` +
				`{"role":"model","parts":[{"functionCall":{"id":"a","name":"shot","args":{"n":1}},"thoughtSignature":"sc"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"shot","response":{"output":""}}}]},` +
				`{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://x/z.png"}},{"inlineData":{"mimeType":"image/gif","data":"R0lG"}}]}]`,
		},
		{
			"parts kept as they were", false, gemini3(),
			[]llm.Message{
				llm.UserText("Draw"),
				answer(id3, llm.Opaque{API: llm.APIGoogle, Kind: "inlineData", Raw: json.RawMessage(`{"inlineData":{"mimeType":"image/png","data":"UE5H"},"thoughtSignature":"si","extra":1}`)},
					llm.Opaque{API: llm.APIGoogle, Kind: "toolCall", Raw: json.RawMessage(`{"toolCall":{}}`)},
					llm.Opaque{API: llm.APIAnthropic, Kind: "x", Raw: json.RawMessage(`{"x":1}`)}),
				llm.UserText("Again"),
				answer("other", llm.Opaque{API: llm.APIVertex, Kind: "executableCode", Raw: json.RawMessage(`{"executableCode":{"code":"1"},"thoughtSignature":"theirs"}`)},
					llm.Opaque{API: llm.APIGoogle, Kind: "text", Raw: json.RawMessage(`{"text":"","thoughtSignature":"theirs"}`)}),
			},
			`[{"role":"user","parts":[{"text":"Draw"}]},` +
				`{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"UE5H"},"thoughtSignature":"si","extra":1}]},` +
				`{"role":"user","parts":[{"text":"Again"}]},` +
				`{"role":"model","parts":[{"executableCode":{"code":"1"}}]}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := google.Options{}
			if c.vertex {
				o = google.Options{Vertex: true, Project: "p", Location: "global"}
			}
			got := at(t, sentBody(t, o, &llm.Request{Model: c.model, Messages: c.history}), "contents")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("contents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThinkingConfig(t *testing.T) {
	lite, pro := gemini25("gemini-2.5-flash-lite"), gemini25("gemini-2.5-pro")
	flash3, plain, words := gemini3(), gemini3(), gemini3()
	flash3.ID = "gemini-3-flash"
	plain.Thinking = llm.ThinkingSupport{}
	words.Thinking.Levels = []llm.Level{llm.LevelLow, llm.LevelHigh}
	for _, c := range []struct {
		name      string
		model     *llm.Model
		thinking  llm.Thought
		maxTokens int
		want      string
	}{
		{"level", flash3, llm.Thought{Level: llm.LevelMinimal}, 0, `{"includeThoughts":true,"thinkingLevel":"MINIMAL"}`},
		{"hardest level", flash3, llm.Thought{Level: llm.LevelXHigh}, 0, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"level the model has", words, llm.Thought{Level: llm.LevelMedium}, 0, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"vendor's word", flash3, llm.Thought{Effort: "medium"}, 0, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"left to the model", flash3, llm.Thought{}, 0, `{"includeThoughts":true}`},
		{"hidden", flash3, llm.Thought{Level: llm.LevelLow, Hidden: true}, 0, `{"thinkingLevel":"LOW"}`},
		{"hidden default", flash3, llm.Thought{Hidden: true}, 0, ``},
		{"off is the least", flash3, llm.Thought{Level: llm.LevelOff}, 0, `{"thinkingLevel":"MINIMAL"}`},
		{"off of pro", gemini3(), llm.Thought{Level: llm.LevelOff}, 0, `{"thinkingLevel":"LOW"}`},
		{"does not think", plain, llm.Thought{Level: llm.LevelHigh}, 0, ``},
		{"budget", gemini25("gemini-2.5-flash"), llm.Thought{Level: llm.LevelLow}, 0, `{"includeThoughts":true,"thinkingBudget":4096}`},
		{"own budget", pro, llm.Thought{Level: llm.LevelLow, Budget: 5000}, 0, `{"includeThoughts":true,"thinkingBudget":5000}`},
		{"dynamic", pro, llm.Thought{Budget: -1}, 0, `{"includeThoughts":true,"thinkingBudget":-1}`},
		{"budget left to the model", pro, llm.Thought{}, 0, `{"includeThoughts":true}`},
		{"largest of pro", pro, llm.Thought{Budget: 99999}, 0, `{"includeThoughts":true,"thinkingBudget":32768}`},
		{"largest of flash", gemini25("gemini-2.5-flash"), llm.Thought{Level: llm.LevelXHigh}, 0, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"smallest of lite", lite, llm.Thought{Budget: 20}, 0, `{"includeThoughts":true,"thinkingBudget":512}`},
		{"off", lite, llm.Thought{Level: llm.LevelOff}, 0, `{"thinkingBudget":0}`},
		{"pro is never off", pro, llm.Thought{Level: llm.LevelOff}, 0, `{"thinkingBudget":128}`},
		{"room for an answer", pro, llm.Thought{Level: llm.LevelHigh}, 4000, `{"includeThoughts":true,"thinkingBudget":2000}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := &llm.Request{Model: c.model, Messages: []llm.Message{llm.UserText("Hi")}, Thinking: c.thinking, MaxTokens: c.maxTokens}
			got := at(t, sentBody(t, google.Options{}, req), "generationConfig", "thinkingConfig")
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTools(t *testing.T) {
	read := llm.Tool{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"$schema":"x","type":"object","properties":{"p":{"type":["string","null"]}},"additionalProperties":false}`)}
	const declared = `{"functionDeclarations":[{"name":"read","description":"Reads.","parameters":{"type":"OBJECT","properties":{"p":{"type":"STRING","nullable":true}}}}]}`
	search, fetch := llm.ServerTool{Kind: llm.ServerWebSearch}, llm.ServerTool{Kind: llm.ServerWebFetch}
	limited := llm.ServerTool{Kind: llm.ServerWebSearch, AllowedDomains: []string{"go.dev"}}
	barred := llm.ServerTool{Kind: llm.ServerWebSearch, BlockedDomains: []string{"x.com"}}
	for _, c := range []struct {
		name          string
		vertex        bool
		model         *llm.Model
		tools         []llm.Tool
		server        []llm.ServerTool
		choice        llm.ToolChoice
		wantT, wantTC string
	}{
		{"functions", false, gemini3(), []llm.Tool{read}, nil, llm.ToolChoice{}, `[` + declared + `]`, ``},
		{"none", false, gemini3(), []llm.Tool{read}, nil, llm.ToolChoice{Mode: llm.ToolNone}, `[` + declared + `]`, `{"functionCallingConfig":{"mode":"NONE"}}`},
		{"any", false, gemini3(), []llm.Tool{read}, nil, llm.ToolChoice{Mode: llm.ToolAny}, `[` + declared + `]`, `{"functionCallingConfig":{"mode":"ANY"}}`},
		{"named", false, gemini3(), []llm.Tool{read}, nil, llm.ToolChoice{Mode: llm.ToolNamed, Name: "read"}, `[` + declared + `]`, `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["read"]}}`},
		{"choice without functions", false, gemini3(), nil, nil, llm.ToolChoice{Mode: llm.ToolAny}, ``, ``},
		{"search", false, gemini3(), nil, []llm.ServerTool{search, fetch}, llm.ToolChoice{}, `[{"googleSearch":{}},{"urlContext":{}}]`, ``},
		{"together", false, gemini3(), []llm.Tool{read}, []llm.ServerTool{search}, llm.ToolChoice{}, `[` + declared + `,{"googleSearch":{}}]`, `{"includeServerSideToolInvocations":true}`},
		{"not together on Gemini 2.5", false, gemini25("gemini-2.5-pro"), []llm.Tool{read}, []llm.ServerTool{search}, llm.ToolChoice{}, `[` + declared + `]`, ``},
		{"not together on Vertex", true, gemini3(), []llm.Tool{read}, []llm.ServerTool{search}, llm.ToolChoice{}, `[` + declared + `]`, ``},
		{"a limit that cannot be kept", false, gemini3(), nil, []llm.ServerTool{limited, barred}, llm.ToolChoice{}, ``, ``},
		{"a limit of Vertex", true, gemini3(), nil, []llm.ServerTool{barred}, llm.ToolChoice{}, `[{"googleSearch":{"excludeDomains":["x.com"]}}]`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := google.Options{}
			if c.vertex {
				o = google.Options{Vertex: true, Project: "p", Location: "global"}
			}
			body := sentBody(t, o, &llm.Request{Model: c.model, Messages: []llm.Message{llm.UserText("Hi")}, Tools: c.tools, ServerTools: c.server, ToolChoice: c.choice})
			if got := at(t, body, "tools"); got != c.wantT {
				t.Errorf("tools %s, want %s", got, c.wantT)
			}
			if got := at(t, body, "toolConfig"); got != c.wantTC {
				t.Errorf("toolConfig %s, want %s", got, c.wantTC)
			}
		})
	}
}

func TestGenerationConfig(t *testing.T) {
	zero, half := 0.0, 0.5
	m := gemini3()
	m.Thinking = llm.ThinkingSupport{}
	body := sentBody(t, google.Options{}, &llm.Request{
		Model: m, System: "Be <brief>.", Messages: []llm.Message{llm.UserText("Hi")},
		MaxTokens: 1 << 20, Temperature: &zero, TopP: &half, Stop: []string{"END"},
		Output: json.RawMessage(`{"type":"object","additionalProperties":false}`),
		Extra:  map[string]json.RawMessage{"safetySettings": json.RawMessage(`[]`), "contents": json.RawMessage(`[]`)},
	})
	want := `{"maxOutputTokens":65536,"temperature":0,"topP":0.5,"stopSequences":["END"],"responseMimeType":"application/json","responseJsonSchema":{"type":"object","additionalProperties":false}}`
	if got := at(t, body, "generationConfig"); got != want {
		t.Errorf("generationConfig %s, want %s", got, want)
	}
	if got := at(t, body, "systemInstruction"); got != `{"parts":[{"text":"Be <brief>."}]}` {
		t.Errorf("systemInstruction %s", got)
	}
	if got := at(t, body, "safetySettings"); got != `[]` {
		t.Errorf("safetySettings %s", got)
	}
	if got := at(t, body, "contents"); got == `[]` {
		t.Error("an extra key replaced the conversation")
	}
}
