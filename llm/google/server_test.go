package google_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		method, path string
		model        string
		stream       bool
	}{
		{"POST", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "gemini-3-pro", true},
		{"POST", "/v1beta/models/gemini-3-pro:generateContent", "gemini-3-pro", false},
		{"POST", "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "m", false},
		{"POST", "/v1beta/models/vendor/model:free:generateContent", "vendor/model:free", false},
		{"POST", "/v1beta/tunedModels/mine:generateContent", "tunedModels/mine", false},
		{"GET", "/v1beta/models/gemini-3-pro:generateContent", "", false},
		{"POST", "/v1beta/models/gemini-3-pro:countTokens", "", false},
		{"POST", "/v1beta/models/:generateContent", "", false},
		{"POST", "/v1/messages", "", false},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if got := (google.Server{}).Match(r); got != (c.model != "") {
			t.Errorf("%s %s: matched %t", c.method, c.path, got)
			continue
		}
		if c.model == "" {
			continue
		}
		req, stream, err := google.Server{}.DecodeRequest(r, []byte(`{"contents":[]}`))
		if err != nil || req.Model.ID != c.model || stream != c.stream {
			t.Errorf("%s: model %q, stream %t, error %v", c.path, req.Model.ID, stream, err)
		}
	}
}

func decodeRequest(t *testing.T, body string) (*llm.Request, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1beta/models/m:generateContent", nil)
	req, _, err := google.Server{}.DecodeRequest(r, []byte(body))
	return req, err
}

func TestRequestsOfOtherClients(t *testing.T) {
	req, err := decodeRequest(t, `{
		"system_instruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
		"contents": [
			{"parts": [{"text": "Look"}, {"inline_data": {"mime_type": "image/png", "data": "__8="}}, {"file_data": {"mime_type": "application/pdf", "file_uri": "gs://b/f.pdf"}}]},
			{"role": "model", "parts": [
				{"text": "hm", "thought": true, "thought_signature": "st"},
				{"function_call": {"name": "get", "args": {"snake_key": 1}}, "thought_signature": "skip_thought_signature_validator"},
				{"function_call": {"name": "get", "args": {"snake_key": 2}}, "thought_signature": "sc"},
				{"function_call": {"name": "put"}}]},
			{"role": "function", "parts": [
				{"function_response": {"name": "put", "response": {"result": {"some_key": true}}}},
				{"function_response": {"name": "get", "response": {"output": {"n": 1}}}},
				{"function_response": {"name": "get", "response": {"error": "no"}}},
				{"text": "Go on"}]}],
		"tools": [{"function_declarations": [{"name": "get", "parameters": {"type": "OBJECT", "properties": {"snake_key": {"type": "INTEGER", "nullable": true}}, "required": ["snake_key"]}}, {"name": "put"}, {"name": "other", "parametersJsonSchema": {"type": "object"}}]}, {"google_search": {}}],
		"tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["get", "put"]}},
		"generation_config": {"max_output_tokens": 50, "stop_sequences": ["X"], "response_mime_type": "application/json", "response_schema": {"type": "ARRAY", "items": {"type": "STRING"}}, "thinking_config": {"include_thoughts": true, "thinking_budget": 5000}}
	}`)
	if err != nil {
		t.Fatal(err)
	}
	calls := req.Messages[1].ToolCalls()
	want := &llm.Request{
		Model:  &llm.Model{ID: "m", API: llm.APIGoogle},
		System: "Be brief.\nBe kind.",
		Messages: []llm.Message{
			{Role: llm.RoleUser, Content: []llm.Block{
				llm.Text{Text: "Look"},
				llm.Image{MIME: "image/png", Data: []byte{0xff, 0xff}},
				llm.Document{MIME: "application/pdf", URL: "gs://b/f.pdf"},
			}},
			{Role: llm.RoleAssistant, API: llm.APIGoogle, Model: "m", StopReason: llm.StopToolUse, Content: []llm.Block{
				llm.Thinking{Text: "hm", Signature: "st"},
				llm.ToolCall{ID: calls[0].ID, Name: "get", Arguments: `{"snake_key":1}`},
				llm.ToolCall{ID: calls[1].ID, Name: "get", Arguments: `{"snake_key":2}`, Signature: "sc"},
				llm.ToolCall{ID: calls[2].ID, Name: "put", Arguments: `{}`},
			}},
			{Role: llm.RoleToolResult, ToolCallID: calls[2].ID, ToolName: "put", Content: []llm.Block{llm.Text{Text: `{"result":{"some_key":true}}`}}},
			{Role: llm.RoleToolResult, ToolCallID: calls[0].ID, ToolName: "get", Content: []llm.Block{llm.Text{Text: `{"n":1}`}}},
			{Role: llm.RoleToolResult, ToolCallID: calls[1].ID, ToolName: "get", IsError: true, Content: []llm.Block{llm.Text{Text: "no"}}},
			llm.UserText("Go on"),
		},
		Tools: []llm.Tool{
			{Name: "get", Schema: json.RawMessage(`{"properties":{"snake_key":{"type":["integer","null"]}},"required":["snake_key"],"type":"object"}`)},
			{Name: "put", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
		ServerTools: []llm.ServerTool{{Kind: llm.ServerWebSearch}},
		ToolChoice:  llm.ToolChoice{Mode: llm.ToolAny},
		MaxTokens:   50, Stop: []string{"X"},
		Output:   json.RawMessage(`{"items":{"type":"string"},"type":"array"}`),
		Thinking: llm.Thought{Level: llm.LevelMedium, Budget: 5000},
	}
	if diff := cmp.Diff(want, req, cmp.AllowUnexported(llm.Rate{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if calls[0].ID == calls[1].ID || calls[0].ID == "" {
		t.Errorf("ids %q and %q", calls[0].ID, calls[1].ID)
	}
}

func TestRefusedRequests(t *testing.T) {
	for body, want := range map[string]string{
		`{`:                                     "not a generateContent request",
		`{"cachedContent":"cachedContents/1"}`:  "cachedContent",
		`{"contents":[{"role":"wizard"}]}`:      `contents[0]: unknown role "wizard"`,
		`{"contents":[{"parts":[{"text":1}]}]}`: "contents[0]: parts[0]",
		`{"contents":[{"parts":[{"inlineData":{"data":"!"}}]}]}`:                    "base64",
		`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"SOME"}}}`:          "thinkingLevel",
		`{"contents":[{"role":"model","parts":[{"functionCall":{"name":["x"]}}]}]}`: "contents[0]",
	} {
		_, err := decodeRequest(t, body)
		if llm.KindOf(err) != llm.ErrInvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that names %q", body, err, want)
		}
	}
}

// full is an answer that uses what the format has.
func full() llm.Message {
	return llm.Message{
		Role: llm.RoleAssistant, ResponseID: "r-1", StopReason: llm.StopToolUse,
		Content: []llm.Block{
			llm.Thinking{Text: "Let me see. 😀", Signature: "c2ln"},
			llm.Text{Text: "Spain won. <b>", Citations: []llm.Citation{
				{URL: "https://a", Title: "a", Text: "Spain won."}, {URL: "https://b", Title: "b", Text: "Spain won."},
			}},
			llm.Opaque{API: llm.APIGoogle, Kind: "inlineData", Raw: json.RawMessage(`{"inlineData":{"mimeType":"image/png","data":"UE5H"}}`)},
			llm.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":"a"}`, Signature: "c2ln"},
			llm.ToolCall{ID: "c2", Name: "read", Arguments: `{"path":"b"}`},
		},
		Usage: &llm.Usage{Input: 10, Output: 50, CacheRead: 90, Reasoning: 20, WebSearches: 2, TotalTokens: 150},
	}
}

func TestWholeAnswerHoldsWhatAStreamDoes(t *testing.T) {
	m := full()
	rec := httptest.NewRecorder()
	req := &llm.Request{Model: &llm.Model{ID: "gemini-3-pro-preview"}}
	enc := google.Server{}.NewEncoder(rec, req, false)
	for _, ev := range llmtest.Message(m) {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	if ct := rec.Header().Get("Content-Type"); !strings.HasPrefix(ct, "application/json") || !json.Valid(rec.Body.Bytes()) {
		t.Fatalf("%s: %s", ct, rec.Body)
	}
	// A whole answer is a stream of one chunk.
	got := final(t, replay(t, sse(rec.Body.String()), nil))
	want := m
	want.API, want.Provider, want.Model = llm.APIGoogle, "google", "gemini-3-pro-preview"
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(llm.Message{}, "Time")); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestDamagedCallIsNotServed(t *testing.T) {
	for _, stream := range []bool{true, false} {
		m := llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopEnd, Content: []llm.Block{
			llm.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":`, Defect: llm.DefectCut},
		}}
		rec := httptest.NewRecorder()
		enc := google.Server{}.NewEncoder(rec, nil, stream)
		for _, ev := range llmtest.Message(m) {
			if err := enc.Encode(ev); err != nil {
				t.Fatal(err)
			}
		}
		body := rec.Body.String()
		if strings.Contains(body, "functionCall") || !strings.Contains(body, "MALFORMED_FUNCTION_CALL") {
			t.Errorf("stream %t: %s", stream, body)
		}
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for _, e := range []llm.Error{
		{Kind: llm.ErrAuth, Message: "no"},
		{Kind: llm.ErrRateLimit, Message: "You exceeded your current quota.", RetryAfter: 12500 * time.Millisecond},
		{Kind: llm.ErrOverload, Message: "busy", Status: 529},
		{Kind: llm.ErrUsageLimit, Message: "used up", Status: 402},
		{Kind: llm.ErrUsageLimit},
		{Kind: llm.ErrContextOverflow, Message: "too large"},
		{Kind: llm.ErrInvalidRequest, Message: "bad field", Status: 404},
		{Kind: llm.ErrContentFilter, Message: "refused"},
	} {
		rec := httptest.NewRecorder()
		google.Server{}.EncodeError(rec, &e)
		body, err := io.ReadAll(rec.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: answering{
			status: rec.Code, body: body, header: rec.Header(),
		}}}})
		_, got := collect(t, c, &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}})
		if llm.KindOf(got) != e.Kind || !strings.Contains(got.Error(), e.Message) {
			t.Errorf("%+v arrived as %v (%s): %s", e, got, llm.KindOf(got), body)
		}
	}
}

// FuzzDecodeRequest checks that what the server reads, the client can send.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"Hi"},{"inlineData":{"data":"AA=="}}]},{"role":"model","parts":[{"functionCall":{"name":"f"}},{"toolCall":{}}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":1},"parts":[{"fileData":{}}]}}]}]}`))
	f.Add([]byte(`{"system_instruction":{"parts":[{"text":"x"}]},"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"nullable":true}}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"any"}},"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := decodeRequest(t, string(body))
		if err != nil {
			if llm.KindOf(err) != llm.ErrInvalidRequest {
				t.Errorf("error %v", err)
			}
			return
		}
		req.Model = gemini3()
		if _, sent, err := sent(t, google.Options{}, req); err == nil && !json.Valid(sent) {
			t.Errorf("sent as %s", sent)
		} else if err != nil && llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Error(err)
		}
	})
}
