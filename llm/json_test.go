package llm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
)

func TestMessageJSON(t *testing.T) {
	when := time.UnixMilli(1760000000123)
	tests := []struct {
		name string
		m    llm.Message
		want string
	}{
		{
			"user",
			llm.Message{Role: llm.RoleUser, Time: when, Content: []llm.Block{llm.Text{Text: "a<b"}, llm.Image{MIME: "image/png", Data: []byte{1, 2}}}},
			`{"role":"user","content":[{"type":"text","text":"a<b"},{"type":"image","data":"AQI=","mimeType":"image/png"}],"timestamp":1760000000123}`,
		},
		{
			"assistant",
			llm.Message{
				Role: llm.RoleAssistant, Time: when, API: llm.APIAnthropic, Provider: "anthropic", Model: "claude", StopReason: llm.StopToolUse,
				Usage: &llm.Usage{Input: 1, Output: 2, CacheRead: 3, TotalTokens: 6, Cost: &llm.Cost{Input: llm.Dollars(0.000003), Total: llm.Dollars(0.000003)}},
				Content: []llm.Block{
					llm.Thinking{Text: "hm", Signature: "s"},
					llm.ToolCall{ID: "1", Name: "read", Arguments: `{"path":"a&b"}`},
					llm.ToolCall{ID: "2", Name: "read", Arguments: `{ "path": "b" }`, Signature: "g"},
					llm.ToolCall{ID: "3", Name: "read", Arguments: `{"pa`, Defect: llm.DefectCut},
				},
			},
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},` +
				`{"type":"toolCall","id":"1","name":"read","arguments":{"path":"a&b"}},` +
				`{"type":"toolCall","id":"2","name":"read","arguments":{"path":"b"},"rawArguments":"{ \"path\": \"b\" }","thoughtSignature":"g"},` +
				`{"type":"toolCall","id":"3","name":"read","arguments":{},"rawArguments":"{\"pa","defect":"cut"}],` +
				`"api":"anthropic-messages","provider":"anthropic","model":"claude","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":0,"totalTokens":6,` +
				`"cost":{"input":0.000003,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.000003}},"stopReason":"toolUse","timestamp":1760000000123}`,
		},
		{
			"tool result",
			llm.Message{Role: llm.RoleToolResult, ToolCallID: "1", ToolName: "read", IsError: true, Details: json.RawMessage(`{"n":1}`), Content: []llm.Block{llm.Text{Text: "no"}}},
			`{"role":"toolResult","toolCallId":"1","toolName":"read","content":[{"type":"text","text":"no"}],"details":{"n":1},"isError":true}`,
		},
		{
			"custom",
			llm.Message{Role: llm.RoleCustom, CustomType: "x", Display: true, Content: []llm.Block{llm.Text{Text: "c"}}},
			`{"role":"custom","customType":"x","content":[{"type":"text","text":"c"}],"display":true}`,
		},
		{
			"error",
			llm.Message{Role: llm.RoleAssistant, Provider: "p", StopReason: llm.StopError, Error: &llm.Error{Kind: llm.ErrRateLimit, Provider: "p", Status: 429, Message: "slow down", RetryAfter: 2 * time.Second, ResetAt: when}},
			`{"role":"assistant","content":[],"provider":"p","stopReason":"error","errorMessage":"p: slow down (HTTP 429)","error":{"kind":"rate_limit","message":"slow down","status":429,"retryAfterMs":2000,"resetAt":1760000000123}}`,
		},
		{
			"opaque, byte for byte",
			llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{
				llm.Opaque{API: llm.APIResponses, Kind: "web_search_call", Raw: json.RawMessage(`{"a":1}`)},
				llm.Opaque{API: llm.APIResponses, Kind: "odd", Raw: json.RawMessage(`{ "a" : 1 }`)},
				llm.Document{Name: "a.pdf", MIME: "application/pdf", URL: "https://x/a.pdf", Text: "t"},
			}},
			`{"role":"assistant","content":[{"type":"opaque","api":"openai-responses","kind":"web_search_call","raw":{"a":1}},{"type":"opaque","api":"openai-responses","kind":"odd","rawText":"{ \"a\" : 1 }"},` +
				`{"type":"document","text":"t","name":"a.pdf","mimeType":"application/pdf","url":"https://x/a.pdf"}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.m.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			var back llm.Message
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.m, back); diff != "" {
				t.Errorf("read back: %s", diff)
			}
		})
	}
}

// Files of other programs of the family hold strings as content, blocks burin
// does not know, and errors without a kind.
func TestMessageJSONOfOthers(t *testing.T) {
	var m llm.Message
	in := `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"toolCall","id":"1","name":"x","arguments":{"a":1}},{"type":"novel","k":[1]}],"errorMessage":"boom","stopReason":"error"}`
	if err := json.Unmarshal([]byte(in), &m); err != nil {
		t.Fatal(err)
	}
	want := []llm.Block{llm.Text{Text: "a"}, llm.ToolCall{ID: "1", Name: "x", Arguments: `{"a":1}`}, llm.Opaque{Kind: "novel", Raw: json.RawMessage(`{"type":"novel","k":[1]}`)}}
	if diff := cmp.Diff(want, m.Content); diff != "" {
		t.Error(diff)
	}
	if m.Error == nil || m.Error.Message != "boom" {
		t.Errorf("error %v", m.Error)
	}
	if err := json.Unmarshal([]byte(`{"role":"user","content":"plain"}`), &m); err != nil || m.Text() != "plain" {
		t.Errorf("plain content: %q, %v", m.Text(), err)
	}
	for _, bad := range []string{`{"content":5}`, `{"content":[5]}`, `[]`, `{"content":[{"type":5}]}`} {
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s was read as %v", bad, m)
		}
	}
}

// In session files the bytes of a picture may lie in a blob, which is named where
// they would be.
func TestBlobReferences(t *testing.T) {
	const record = `{"role":"user","content":[{"type":"image","data":"blob:sha256:abc","mimeType":"image/png"},{"type":"document","name":"a.pdf","data":"blob:sha256:def"}]}`
	var m llm.Message
	if err := json.Unmarshal([]byte(record), &m); err != nil {
		t.Fatal(err)
	}
	want := []llm.Block{llm.Image{MIME: "image/png", URL: "blob:sha256:abc"}, llm.Document{Name: "a.pdf", URL: "blob:sha256:def"}}
	if diff := cmp.Diff(want, m.Content); diff != "" {
		t.Error(diff)
	}
	out, err := json.Marshal(m)
	if err != nil || string(out) != record {
		t.Errorf("%v: written as %s", err, out)
	}
}
