package anthropic_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

func decode(t testing.TB, body string) (*llm.Request, bool, error) {
	t.Helper()
	return anthropic.Server{}.DecodeRequest(httptest.NewRequest("POST", "/v1/messages", nil), []byte(body))
}

func TestMatch(t *testing.T) {
	for target, want := range map[string]bool{
		"POST /v1/messages": true, "POST /v1/messages?beta=true": true, "POST /gw/anthropic/v1/messages": true,
		"GET /v1/messages": false, "POST /v1/messages/count_tokens": false, "POST /v1/chat/completions": false,
	} {
		method, path, _ := strings.Cut(target, " ")
		if got := (anthropic.Server{}).Match(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}

// A request as other clients write it: strings for lists, keys of no concern,
// results without a list.
func TestDecodeRequest(t *testing.T) {
	req, stream, err := decode(t, `{
		"model":"claude-x","max_tokens":100,"stream":true,"service_tier":"auto","context_management":{"edits":[]},
		"system":[{"type":"text","text":"One."},{"type":"text","text":"Two.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
		"temperature":0,"stop_sequences":["END"],"metadata":{"user_id":"u"},
		"thinking":{"type":"enabled","budget_tokens":5000,"display":"omitted"},
		"tools":[{"name":"read","description":"d","input_schema":{"type":"object"},"strict":true},{"type":"custom","name":"c","input_schema":{}},
			{"type":"web_search_20260209","name":"web_search","max_uses":2,"blocked_domains":["x.com"]},{"type":"web_fetch_20250910","name":"web_fetch"},{"type":"bash_20250124","name":"bash"}],
		"tool_choice":{"type":"tool","name":"read","disable_parallel_tool_use":true},
		"messages":[
			{"role":"user","content":"hi"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"enc"},{"type":"text","text":"ok","citations":[{"type":"web_search_result_location","url":"https://go.dev","title":"Go","cited_text":"gopher"}]},
				{"type":"server_tool_use","id":"s1","name":"web_search","input":{},"cache_control":{"type":"ephemeral"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},
				{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"text","is_error":true},{"type":"text","text":"go on"},
				{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}},{"type":"document","title":"n","source":{"type":"text","media_type":"text/plain","data":"words"}},
				{"type":"document","source":{"type":"url","url":"https://a/b.pdf"}},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}},
				{"type":"search_result","title":"T","source":"S","content":[{"type":"text","text":"body"}]}]}
		]}`)
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	want := &llm.Request{
		Model: &llm.Model{ID: "claude-x", API: llm.APIAnthropic}, MaxTokens: 100, System: "One.\n\nTwo.",
		Temperature: &zero, Stop: []string{"END"}, User: "u",
		Thinking: llm.Thought{Level: llm.LevelLow, Budget: 5000, Hidden: true}, Cache: llm.CacheHint{Retention: llm.CacheLong},
		Tools: []llm.Tool{
			{Name: "read", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: true},
			{Name: "c", Schema: json.RawMessage(`{}`)},
		},
		ServerTools: []llm.ServerTool{{Kind: llm.ServerWebSearch, MaxUses: 2, BlockedDomains: []string{"x.com"}}, {Kind: llm.ServerWebFetch}},
		ToolChoice:  llm.ToolChoice{Mode: llm.ToolNamed, Name: "read"}, SequentialTools: true,
		Messages: []llm.Message{
			llm.UserText("hi"),
			{Role: llm.RoleAssistant, API: llm.APIAnthropic, Model: "claude-x", StopReason: llm.StopToolUse, Content: []llm.Block{
				llm.Thinking{Text: "hm", Signature: "s"},
				llm.Thinking{Signature: "enc", Redacted: true},
				llm.Text{Text: "ok", Citations: []llm.Citation{{
					URL: "https://go.dev", Title: "Go", Text: "gopher",
					Raw: json.RawMessage(`{"type":"web_search_result_location","url":"https://go.dev","title":"Go","cited_text":"gopher"}`),
				}}},
				opaque("server_tool_use", `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`),
				opaque("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`),
				llm.ToolCall{ID: "t1", Name: "read", Arguments: `{"path":"a"}`},
			}},
			{Role: llm.RoleToolResult, ToolCallID: "t1", ToolName: "read", IsError: true, Content: []llm.Block{llm.Text{Text: "text"}}},
			{Role: llm.RoleUser, Content: []llm.Block{
				llm.Text{Text: "go on"},
				llm.Image{MIME: "image/png", Data: []byte("x")},
				llm.Document{Name: "n", MIME: "text/plain", Data: []byte("words"), Text: "words"},
				llm.Document{MIME: "application/pdf", URL: "https://a/b.pdf"},
				llm.Document{MIME: "text/plain", Data: []byte("a\nb"), Text: "a\nb"},
				llm.Text{Text: "T\nS\nbody"},
			}},
		},
	}
	if diff := cmp.Diff(want, req, cmpopts.EquateComparable(llm.Rate{})); diff != "" || !stream {
		t.Errorf("stream %v (-want +got):\n%s", stream, diff)
	}
}

func TestDecodeRequestRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON":    `{`,
		"no model":    `{"messages":[{"role":"user","content":"hi"}]}`,
		"no messages": `{"model":"m"}`,
		"role":        `{"model":"m","messages":[{"role":"robot","content":"hi"}]}`,
		"base64":      `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"?"}}]}]}`,
		"file":        `{"model":"m","messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`,
		"no source":   `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image"}]}]}]}`,
		"call":        `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t"}]}]}`,
	} {
		_, _, err := decode(t, body)
		if e, ok := err.(*llm.Error); !ok || e.Kind != llm.ErrInvalidRequest || e.Status != 400 || strings.Contains(e.Message, "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// encode writes events as an answer.
func encode(t testing.TB, stream bool, events ...llm.Event) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	enc := anthropic.Server{}.NewEncoder(w, &llm.Request{Model: &llm.Model{ID: "claude-x"}}, stream)
	for _, ev := range events {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func start() llm.Event {
	return llm.Event{Type: llm.EventStart, Message: &llm.Message{ResponseID: "msg_7"}}
}

func done(m llm.Message) llm.Event { return llm.Event{Type: llm.EventDone, Message: &m} }

func failed(e *llm.Error) llm.Event {
	return llm.Event{Type: llm.EventError, Message: &llm.Message{StopReason: llm.StopError, Error: e}}
}

func TestWholeAnswer(t *testing.T) {
	u := llm.Usage{Input: 3, Output: 9, CacheRead: 5, CacheWrite: 7, CacheWriteLong: 4, Reasoning: 2, WebSearches: 1}
	w := encode(t, false, start(), done(llm.Message{ResponseID: "msg_7", StopReason: llm.StopToolUse, Usage: &u, Content: []llm.Block{
		llm.Thinking{Text: "hm", Signature: "s"},
		llm.Thinking{Signature: "enc", Redacted: true},
		llm.Text{Text: "a <b>", Citations: []llm.Citation{{URL: "https://go.dev", Title: "Go", Text: "x"}, {Raw: json.RawMessage(`{"type":"char_location"}`)}}},
		opaque("server_tool_use", search),
		llm.Opaque{API: llm.APIResponses, Kind: "x", Raw: json.RawMessage(`{"type":"x"}`)},
		llm.ToolCall{ID: "t1", Name: "read", Arguments: `{"path": "a"}`},
		llm.ToolCall{ID: "t2", Name: "read", Arguments: `{"pa`, Defect: llm.DefectCut},
	}}))
	want := `{"id":"msg_7","type":"message","role":"assistant","model":"claude-x","content":[` +
		`{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"enc"},` +
		`{"type":"text","text":"a <b>","citations":[{"type":"web_search_result_location","url":"https://go.dev","title":"Go","cited_text":"x","encrypted_index":""},{"type":"char_location"}]},` +
		search + `,{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"t2","name":"read","input":{}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":7,"cache_read_input_tokens":5,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":9,"output_tokens_details":{"thinking_tokens":2},"server_tool_use":{"web_search_requests":1,"web_fetch_requests":0}}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %s", got)
	}
}

// Clients of the format expect one open block at a time, whatever the model
// behind a gateway does.
func TestBlocksAreNotInterleaved(t *testing.T) {
	text := func(typ llm.EventType, i int, delta string) llm.Event {
		return llm.Event{Type: typ, Index: i, Delta: delta, Block: llm.Text{}}
	}
	w := encode(t, true, start(),
		text(llm.EventTextStart, 0, ""), text(llm.EventTextStart, 1, ""), text(llm.EventTextDelta, 1, "b"), text(llm.EventTextDelta, 0, "a"),
		llm.Event{Type: llm.EventOpaque, Index: 2, Block: llm.Opaque{API: llm.APIResponses, Raw: json.RawMessage(`{}`)}},
		text(llm.EventTextStart, 3, ""), text(llm.EventTextEnd, 1, ""), text(llm.EventTextDelta, 3, "c"), text(llm.EventTextEnd, 0, ""),
		text(llm.EventTextDelta, 3, "d"), text(llm.EventTextEnd, 3, ""), done(llm.Message{StopReason: llm.StopEnd}))
	var got []string
	for _, l := range strings.Split(w.Body.String(), "\n") {
		if data, ok := strings.CutPrefix(l, "data: "); ok && strings.Contains(data, `"index"`) {
			got = append(got, data)
		}
	}
	block := func(i, deltas string) []string {
		out := []string{`{"type":"content_block_start","index":` + i + `,"content_block":{"type":"text","text":""}}`}
		for _, d := range deltas {
			out = append(out, `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"text_delta","text":"`+string(d)+`"}}`)
		}
		return append(out, `{"type":"content_block_stop","index":`+i+`}`)
	}
	want := append(append(block("0", "a"), block("1", "b")...), block("2", "cd")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncodedErrors(t *testing.T) {
	reset := time.Unix(1_900_000_000, 0)
	cases := []struct {
		name   string
		err    llm.Error
		status int
		head   map[string]string
		body   string
	}{
		{
			"rate limit",
			llm.Error{Kind: llm.ErrRateLimit, Message: "slow", RetryAfter: 1500 * time.Millisecond, RequestID: "req_1"},
			429,
			map[string]string{"retry-after": "2", "retry-after-ms": "1500", "request-id": "req_1"},
			`{"type":"error","error":{"type":"rate_limit_error","message":"slow"},"request_id":"req_1"}`,
		},
		{
			"usage limit",
			llm.Error{Kind: llm.ErrUsageLimit, ResetAt: reset},
			402,
			map[string]string{"anthropic-ratelimit-unified-reset": "1900000000"},
			`{"type":"error","error":{"type":"billing_error","message":"usage limit"}}`,
		},
		{"overflow", llm.Error{Kind: llm.ErrContextOverflow, Message: "far too much"}, 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: far too much"}}`},
		{"forbidden", llm.Error{Kind: llm.ErrAuth, Status: 403, Message: "no"}, 403, nil, `{"type":"error","error":{"type":"permission_error","message":"no"}}`},
		{"stalled", llm.Error{Kind: llm.ErrStalled, Message: "no"}, 504, nil, `{"type":"error","error":{"type":"timeout_error","message":"no"}}`},
		{"gone", llm.Error{Kind: llm.ErrTransport, Message: "no"}, 502, nil, `{"type":"error","error":{"type":"api_error","message":"no"}}`},
		{"filter", llm.Error{Kind: llm.ErrContentFilter, Status: 400, Message: "no"}, 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy: no"}}`},
		{"not found", llm.Error{Kind: llm.ErrInvalidRequest, Status: 404, Message: "no"}, 404, nil, `{"type":"error","error":{"type":"not_found_error","message":"no"}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := encode(t, true, failed(&c.err))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, c.status, c.body)
			}
			for k, v := range c.head {
				if got := w.Header().Get(k); got != v {
					t.Errorf("%s is %q, want %q", k, got, v)
				}
			}
		})
	}
}

// A refusal is an answer of the format, streamed or not, with the open block
// closed.
func TestRefusalRoundTrip(t *testing.T) {
	refusal := &llm.Error{Kind: llm.ErrContentFilter, Message: "not this"}
	events := []llm.Event{start(), {Type: llm.EventTextStart, Block: llm.Text{}}, {Type: llm.EventTextDelta, Delta: "To"}, failed(refusal)}
	w := encode(t, true, events...)
	m, err := answer(t, w.Body.Bytes())
	if llm.KindOf(err) != llm.ErrContentFilter || m.Text() != "To" || m.Error.Message != "not this" {
		t.Errorf("got %+v, %v", m, err)
	}
	if n := bytes.Count(w.Body.Bytes(), []byte("event: content_block_stop")); n != 1 {
		t.Errorf("%d ends of the block:\n%s", n, w.Body)
	}
	if body := encode(t, false, start(), failed(refusal)).Body.String(); !strings.Contains(body, `"stop_reason":"refusal"`) {
		t.Errorf("not streamed: %s", body)
	}
}

// Encoded answers come back as they were.
func TestAnswerRoundTrip(t *testing.T) {
	u := llm.Usage{Input: 3, Output: 9, CacheRead: 5, CacheWrite: 7, CacheWriteLong: 4, Reasoning: 2, WebSearches: 1, WebFetches: 2, TotalTokens: 24}
	want := llm.Message{
		Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: budgeted.ID, ResponseID: "msg_8",
		StopReason: llm.StopPause, Usage: &u, Content: []llm.Block{
			llm.Thinking{Text: "hm, 漢字", Signature: "s"},
			llm.Thinking{Signature: "enc", Redacted: true},
			llm.Thinking{Signature: "hidden"},
			llm.Text{Text: "a <b>", Citations: []llm.Citation{{
				URL: "https://go.dev", Title: "Go", Text: "x",
				Raw: json.RawMessage(`{"type":"web_search_result_location","cited_text":"x","url":"https://go.dev","title":"Go","encrypted_index":"e"}`),
			}}},
			llm.ToolCall{ID: "t1", Name: "read", Arguments: "{\"path\": \"a\\n\"}"},
			llm.ToolCall{ID: "t2", Name: "now"},
			opaque("server_tool_use", search), opaque("web_search_tool_result", found),
		},
	}
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{{Events: llmtest.Message(want)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	o := anthropic.Options{}
	o.BaseURL, o.Client = srv.URL, new(http.Client)
	got, err := llm.Collect(anthropic.New(o).Stream(t.Context(), ask()))
	if err != nil {
		t.Fatal(err)
	}
	got.Time = time.Time{}
	o.Client.CloseIdleConnections()
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzDecodeRequest reads any body; what it accepts can be sent on.
func FuzzDecodeRequest(f *testing.F) {
	f.Add(`{"model":"m","system":"s","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text"}]}]}]}`)
	f.Add(`{"model":"m","tools":[{"name":"a","input_schema":{"properties":{"x":{"anyOf":[{}]}}},"strict":true}],"messages":[{"role":"assistant","content":[{"type":"x","id":1}]}]}`)
	f.Add(`{"model":"m","thinking":{"type":"enabled"},"messages":[{"role":"assistant","content":[{"type":"text","citations":[{"type":"a","url":null}]},{"type":"tool_use","id":"i","name":"n"}]}]}`)
	f.Add(`{"model":"m","messages":[{"role":"user","content":[{"type":"search_result","content":1},{"type":"document","source":{"type":"content","content":[null]}}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		req, _, err := decode(t, body)
		if err != nil {
			if llm.KindOf(err) != llm.ErrInvalidRequest {
				t.Errorf("got %v", err)
			}
			return
		}
		c := &canned{body: []byte(hello)}
		_, err = llm.Collect(client(c, anthropic.Options{}).Stream(t.Context(), req))
		if err == nil && !json.Valid(c.sent) || err != nil && llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Errorf("sent on: %v\n%s", err, c.sent)
		}
	})
}
