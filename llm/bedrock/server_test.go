package bedrock_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/bedrock"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		method, target string
		want           bool
		model          string
		stream         bool
	}{
		{"POST", "/model/amazon.nova-pro-v1%3A0/converse-stream", true, "amazon.nova-pro-v1:0", true},
		{"POST", "/model/amazon.nova-pro-v1:0/converse", true, "amazon.nova-pro-v1:0", false},
		{"POST", "/aws/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Aprofile%2Fx/converse", true, "arn:aws:bedrock:eu:1:profile/x", false},
		{"GET", "/model/m/converse", false, "", false},
		{"POST", "/model/m/invoke", false, "", false},
		{"POST", "/model/converse", false, "", false},
		{"POST", "/model//converse", false, "", false},
		{"POST", "/v1/messages", false, "", false},
	} {
		r := httptest.NewRequest(tt.method, tt.target, nil)
		if got := (bedrock.Server{}).Match(r); got != tt.want {
			t.Errorf("%s %s: match %v", tt.method, tt.target, got)
		}
		req, stream, err := bedrock.Server{}.DecodeRequest(r, []byte(`{"messages":[{"role":"user","content":[{"text":"x"}]}]}`))
		if (err == nil) != tt.want || err == nil && (req.Model.ID != tt.model || stream != tt.stream) {
			t.Errorf("%s %s: %+v, stream %v, %v", tt.method, tt.target, req, stream, err)
		}
	}
}

// TestForeignRequest reads what clients other than ours send.
func TestForeignRequest(t *testing.T) {
	body := `{
		"system": [{"text":"One."},{"cachePoint":{"type":"default","ttl":"1h"}},{"text":"Two."}],
		"messages": [
			{"role":"user","content":[{"text":"Go."},{"document":{"format":"pdf","name":"a","source":{"bytes":"JVBERg=="}}},{"image":{"format":"webp","source":{"s3Location":{"uri":"s3://b/k"}}}}]},
			{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},{"reasoningContent":{"redactedContent":"cmVk"}},
				{"citationsContent":{"content":[{"text":"Cited."}],"citations":[{"title":"T","location":{"web":{"url":"https://x"}}}]}},
				{"toolUse":{"toolUseId":"1","name":"f","input":{"a":1}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"json":{"ok":true}},{"text":"t"}],"status":"error"}},{"text":"And?"},{"cachePoint":{"type":"default"}}]}
		],
		"toolConfig": {"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}},"strict":true}}],"toolChoice":{"tool":{"name":"f"}}},
		"inferenceConfig": {"maxTokens":10,"temperature":0,"stopSequences":["x"]},
		"additionalModelRequestFields": {"thinking":{"type":"enabled","budget_tokens":5000},"top_k":3},
		"guardrailConfig": {"guardrailIdentifier":"g"},
		"requestMetadata": {"k":"v"}
	}`
	r := httptest.NewRequest("POST", "/model/m/converse", nil)
	got, _, err := bedrock.Server{}.DecodeRequest(r, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Request{
		Model: &llm.Model{ID: "m", API: llm.APIBedrock}, System: "One.\n\nTwo.",
		Messages: []llm.Message{
			{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "Go."}, llm.Document{Name: "a", MIME: "application/pdf", Data: []byte("%PDF")}, llm.Image{MIME: "image/webp", URL: "s3://b/k"}}},
			{Role: llm.RoleAssistant, API: llm.APIBedrock, Model: "m", Content: []llm.Block{
				llm.Thinking{Text: "Hm.", Signature: "s"},
				llm.Thinking{Redacted: true, Signature: "cmVk"},
				llm.Text{Text: "Cited.", Citations: []llm.Citation{{Title: "T", URL: "https://x", Raw: json.RawMessage(`{"title":"T","location":{"web":{"url":"https://x"}}}`)}}},
				llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`},
			}},
			{Role: llm.RoleToolResult, ToolCallID: "1", ToolName: "f", IsError: true, Content: []llm.Block{llm.Text{Text: `{"ok":true}`}, llm.Text{Text: "t"}}},
			{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "And?"}}},
		},
		Tools:      []llm.Tool{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"},
		MaxTokens:  10, Temperature: number(0), Stop: []string{"x"},
		Thinking: llm.Thought{Budget: 5000, Level: llm.LevelLow},
		Cache:    llm.CacheHint{Retention: llm.CacheLong},
		Metadata: map[string]string{"k": "v"},
		Extra:    map[string]json.RawMessage{"guardrailConfig": json.RawMessage(`{"guardrailIdentifier":"g"}`), "additionalModelRequestFields": json.RawMessage(`{"top_k":3}`)},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b llm.Rate) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadRequests(t *testing.T) {
	for body, want := range map[string]string{
		`{`:               "not a valid Converse request",
		`{"messages":[]}`: "no message",
		`{"messages":[{"role":"system","content":[{"text":"x"}]}]}`:                                           `role "system"`,
		`{"messages":[{"role":"user","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]}]}`:      "only the assistant",
		`{"messages":[{"role":"user","content":[{"text":"x"}]}],"additionalModelRequestFields":["thinking"]}`: "additionalModelRequestFields",
	} {
		_, _, err := bedrock.Server{}.DecodeRequest(httptest.NewRequest("POST", "/model/m/converse", nil), []byte(body))
		if llm.KindOf(err) != llm.ErrInvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestConverse pins the answer that is not streamed.
func TestConverse(t *testing.T) {
	m := llm.Message{
		StopReason: llm.StopToolUse, Usage: &llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWriteLong: 1},
		Content: []llm.Block{
			llm.Thinking{Text: "Hm.", Signature: "s"},
			llm.Text{Text: "A <b>."},
			llm.Text{Text: "C.", Citations: []llm.Citation{{URL: "https://x", Title: "T", Text: "w"}}},
			llm.ToolCall{ID: "1", Name: "f", Arguments: ""},
			llm.Opaque{API: llm.APIAnthropic, Kind: "server_tool_use", Raw: json.RawMessage(`{"toolUse":{"toolUseId":"9","name":"x"}}`)},
		},
	}
	w := httptest.NewRecorder()
	enc := bedrock.Server{}.NewEncoder(w, nil, false)
	for _, ev := range []llm.Event{{Type: llm.EventStart}, {Type: llm.EventTextDelta, Delta: "A"}, {Type: llm.EventDone, Message: &m}} {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	body := w.Body.Bytes()
	want := `{"message":{"content":[{"reasoningContent":{"reasoningText":{"signature":"s","text":"Hm."}}},{"text":"A <b>."},` +
		`{"citationsContent":{"citations":[{"location":{"web":{"url":"https://x"}},"sourceContent":[{"text":"w"}],"title":"T"}],"content":[{"text":"C."}]}},` +
		`{"toolUse":{"input":{},"name":"f","toolUseId":"1"}}],"role":"assistant"}}`
	if diff := cmp.Diff(want, part(t, body, "output")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if got := part(t, body, "stopReason"); got != `"tool_use"` {
		t.Errorf("stop reason %s", got)
	}
	if got := part(t, body, "usage"); got != `{"cacheDetails":[{"inputTokens":3,"ttl":"5m"},{"inputTokens":1,"ttl":"1h"}],"cacheReadInputTokens":3,"cacheWriteInputTokens":4,"inputTokens":1,"outputTokens":2,"totalTokens":10}` {
		t.Errorf("usage %s", got)
	}

	w = httptest.NewRecorder()
	failed := llm.Message{StopReason: llm.StopError, Error: &llm.Error{Kind: llm.ErrRateLimit, Message: "slow down", RetryAfter: 1500 * time.Millisecond}}
	if err := (bedrock.Server{}).NewEncoder(w, nil, false).Encode(llm.Event{Type: llm.EventError, Message: &failed}); err != nil {
		t.Fatal(err)
	}
	if w.Code != 429 || w.Header().Get("X-Amzn-Errortype") != "ThrottlingException" || w.Header().Get("Retry-After") != "2" || w.Body.String() != `{"message":"slow down"}` {
		t.Errorf("an error is answered with %d %v %s", w.Code, w.Header(), w.Body)
	}
}
