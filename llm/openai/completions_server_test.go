package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// read decodes a request body.
func readRequest(t *testing.T, body string) (*llm.Request, bool) {
	t.Helper()
	req, stream, err := openai.CompletionsServer{}.DecodeRequest(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req, stream
}

func TestCompletionsServerMatch(t *testing.T) {
	for path, want := range map[string]bool{
		"POST /v1/chat/completions": true, "POST /chat/completions/": true,
		"GET /v1/chat/completions": false, "POST /v1/completions": false, "POST /v1/responses": false,
	} {
		method, url, _ := strings.Cut(path, " ")
		if got := (openai.CompletionsServer{}).Match(httptest.NewRequest(method, url, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestCompletionsDecodeRequest(t *testing.T) {
	req, stream := readRequest(t, `{
		"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"temperature":0,"stop":"END","seed":7,
		"user":"u","metadata":{"k":"v"},"prompt_cache_key":"c","prompt_cache_retention":"24h","parallel_tool_calls":false,
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}}],
		"tool_choice":{"type":"function","function":{"name":"f"}},
		"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}},
		"messages":[
			{"role":"system","content":"A"},{"role":"developer","content":[{"type":"text","text":"B"}]},
			{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"image_url","image_url":"https://example.com/x"},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}},{"type":"input_audio","input_audio":{"data":"c291bmQ=","format":"mp3"}}]},
			{"role":"system","content":"C"},
			{"role":"assistant","content":null,"reasoning_content":"R","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
			{"role":"tool","tool_call_id":"1","content":"out"},
			{"role":"assistant","content":"text","refusal":"no"}
		]}`)
	zero := 0.0
	want := &llm.Request{
		Model: &llm.Model{ID: "m", API: llm.APICompletions}, System: "A\n\nB", MaxTokens: 5, Temperature: &zero, Stop: []string{"END"},
		User: "u", Metadata: map[string]string{"k": "v"}, Cache: llm.CacheHint{Key: "c", Retention: llm.CacheLong}, SequentialTools: true,
		Tools:      []llm.Tool{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"},
		Output:     json.RawMessage(`{"type":"object"}`),
		Extra:      map[string]json.RawMessage{"seed": json.RawMessage("7"), "stream_options": json.RawMessage(`{"include_usage":true}`)},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Content: []llm.Block{
				llm.Text{Text: "see"},
				llm.Image{MIME: "image/png", Data: []byte("png")},
				llm.Image{URL: "https://example.com/x"},
				llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("pdf")},
				llm.Document{MIME: "audio/mpeg", Data: []byte("sound")},
			}},
			{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "C"}}},
			{Role: llm.RoleAssistant, API: llm.APICompletions, StopReason: llm.StopToolUse, Content: []llm.Block{
				llm.Thinking{Text: "R"}, llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`},
			}},
			{Role: llm.RoleToolResult, ToolCallID: "1", ToolName: "f", Content: []llm.Block{llm.Text{Text: "out"}}},
			{Role: llm.RoleAssistant, API: llm.APICompletions, StopReason: llm.StopEnd, Content: []llm.Block{llm.Text{Text: "text"}, llm.Text{Text: "no"}}},
		},
	}
	if diff := cmp.Diff(want, req, cmpopts.EquateComparable(llm.Rate{})); diff != "" || !stream {
		t.Errorf("stream %v, -want +got\n%s", stream, diff)
	}
}

func TestCompletionsDecodeThinking(t *testing.T) {
	for body, want := range map[string]llm.Thought{
		``:                               {},
		`"reasoning_effort":"high"`:      {Level: llm.LevelHigh},
		`"reasoning_effort":"none"`:      {Level: llm.LevelOff},
		`"reasoning_effort":"max"`:       {Level: llm.LevelXHigh, Effort: "max"},
		`"reasoning_effort":"ludicrous"`: {Effort: "ludicrous"},
		`"reasoning":{"effort":"low","exclude":true}`:                {Level: llm.LevelLow, Hidden: true},
		`"reasoning":{"max_tokens":99}`:                              {Budget: 99},
		`"reasoning":{"enabled":false}`:                              {Level: llm.LevelOff},
		`"thinking":{"type":"enabled"}`:                              {Level: llm.LevelMedium},
		`"thinking":{"type":"enabled"},"reasoning_effort":"high"`:    {Level: llm.LevelHigh},
		`"thinking":{"type":"disabled"}`:                             {Level: llm.LevelOff},
		`"enable_thinking":true,"thinking_budget":5`:                 {Budget: 5},
		`"chat_template_kwargs":{"enable_thinking":false,"other":1}`: {Level: llm.LevelOff},
	} {
		if body != "" {
			body += ","
		}
		if req, _ := readRequest(t, `{`+body+`"model":"m","messages":[]}`); req.Thinking != want {
			t.Errorf("%s: %+v", body, req.Thinking)
		}
	}
}

// TestCompletionsReasoningRecords checks what a client's reasoning_details mean.
func TestCompletionsReasoningRecords(t *testing.T) {
	for fields, want := range map[string][]llm.Block{
		`"reasoning":"R"`: {llm.Thinking{Text: "R", Signature: "reasoning"}},
		`"reasoning_details":[{"type":"reasoning.text","text":"R","signature":"s","format":"burin-v1"},{"type":"reasoning.encrypted","data":"d","format":"burin-v1"}]`: {
			llm.Thinking{Text: "R", Signature: "s"}, llm.Thinking{Signature: "d", Redacted: true},
		},
		`"reasoning_content":"R","reasoning_details":[{"type":"reasoning.text","signature":"s","format":"burin-v1"}]`: {llm.Thinking{Text: "R", Signature: "s"}},
		`"reasoning_content":"AB","reasoning_details":[{"type":"reasoning.text","text":"A","signature":"s","format":"burin-v1"},{"type":"reasoning.text","text":"B","signature":"t","format":"burin-v1"}]`: {
			llm.Thinking{Text: "A", Signature: "s"}, llm.Thinking{Text: "B", Signature: "t"},
		},
		`"reasoning_details":[{"type":"reasoning.summary","summary":"S","index":0},{"type":"reasoning.encrypted","data":"d"}]`: {
			llm.Thinking{Text: "S", Signature: `[{"type":"reasoning.summary","summary":"S","index":0},{"type":"reasoning.encrypted","data":"d"}]`},
		},
	} {
		req, _ := readRequest(t, `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x",`+fields+`}]}`)
		got := req.Messages[1].Content
		if diff := cmp.Diff(append(want, llm.Text{Text: "x"}), got); diff != "" {
			t.Errorf("%s\n-want +got\n%s", fields, diff)
		}
	}
}

func TestCompletionsDecodeRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON":     `{`,
		"no model":     `{"messages":[]}`,
		"bad content":  `{"model":"m","messages":[{"role":"user","content":7}]}`,
		"bad role":     `{"model":"m","messages":[{"role":"narrator","content":"x"}]}`,
		"audio":        `{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`,
		"file by id":   `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"x"}}]}]}`,
		"bad choice":   `{"model":"m","messages":[],"tool_choice":"perhaps"}`,
		"custom tools": `{"model":"m","messages":[],"tools":[{"type":"custom"}]}`,
	} {
		_, _, err := openai.CompletionsServer{}.DecodeRequest(nil, []byte(body))
		if llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// answer lets the server encode events, as a stream or whole.
func answer(t *testing.T, body string, events []llm.Event) *httptest.ResponseRecorder {
	t.Helper()
	req, stream := readRequest(t, body)
	w := httptest.NewRecorder()
	e := openai.CompletionsServer{}.NewEncoder(w, req, stream)
	for _, ev := range events {
		if err := e.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestCompletionsWholeAnswer(t *testing.T) {
	m := llm.Message{
		ResponseID: "id-1", Time: time.Unix(1000, 0), StopReason: llm.StopToolUse,
		Usage: &llm.Usage{Input: 10, Output: 5, CacheRead: 20, CacheWrite: 3, Reasoning: 2},
		Content: []llm.Block{
			llm.Thinking{Text: "T", Signature: "sig"},
			llm.Text{Text: "Hello <b>", Citations: []llm.Citation{{URL: "https://example.com", Title: "E"}}},
			llm.ToolCall{ID: "c1", Name: "f"},
		},
	}
	events := append([]llm.Event{{Type: llm.EventStart, Message: &m}}, llm.Event{Type: llm.EventDone, Message: &m})
	w := answer(t, `{"model":"m","messages":[]}`, events)
	want := `{"id":"id-1","object":"chat.completion","created":1000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello <b>",` +
		`"reasoning_content":"T","reasoning_details":[{"type":"reasoning.text","text":"T","signature":"sig","format":"burin-v1","index":0}],` +
		`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}],` +
		`"annotations":[{"type":"url_citation","url_citation":{"url":"https://example.com","title":"E","start_index":0,"end_index":0}}]},"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":33,"completion_tokens":5,"total_tokens":38,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// The client reads such an answer as well.
	got, err := llm.Collect(cannedStream(t, openai.CompletionsOptions{}, w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Content[0], got.Content[0]); diff != "" {
		t.Errorf("reasoning: -want +got\n%s", diff)
	}
}

func TestCompletionsUsageOnlyWhenAsked(t *testing.T) {
	events := llmtest.Message(llm.Message{Content: []llm.Block{llm.Text{Text: "hi"}}, StopReason: llm.StopEnd, Usage: &llm.Usage{Input: 1, Output: 2}})
	asked := answer(t, `{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}`, events).Body.String()
	if !strings.Contains(asked, `"choices":[],"usage":{"prompt_tokens":1`) || !strings.HasSuffix(asked, "data: [DONE]\n\n") {
		t.Errorf("asked for usage:\n%s", asked)
	}
	if got := answer(t, `{"model":"m","messages":[],"stream":true}`, events).Body.String(); strings.Contains(got, "usage") {
		t.Errorf("not asked for usage:\n%s", got)
	}
}

func TestCompletionsCallWithoutArguments(t *testing.T) {
	got := answer(t, `{"model":"m","messages":[],"stream":true}`, llmtest.Call("c1", "f", "")).Body.String()
	if !strings.Contains(got, `{"arguments":"{}"}`) {
		t.Errorf("clients that parse the arguments find nothing:\n%s", got)
	}
}

func TestCompletionsErrorAnswers(t *testing.T) {
	for kind, want := range map[llm.ErrorKind]int{
		llm.ErrAuth: 401, llm.ErrRateLimit: 429, llm.ErrUsageLimit: 429, llm.ErrOverload: 503, llm.ErrContextOverflow: 400,
		llm.ErrInvalidRequest: 400, llm.ErrContentFilter: 400, llm.ErrTransport: 502, llm.ErrStalled: 504, llm.ErrAborted: 499,
	} {
		failed := llm.Message{Error: &llm.Error{Kind: kind, Message: "why", RetryAfter: 1500 * time.Millisecond}}
		for _, stream := range []string{"true", "false"} {
			w := answer(t, `{"model":"m","messages":[],"stream":`+stream+`}`, []llm.Event{{Type: llm.EventError, Message: &failed}})
			if w.Code != want || w.Header().Get("Retry-After") != "2" || !strings.Contains(w.Body.String(), `{"error":{"message":"why"`) {
				t.Errorf("%s: %d %v %s", kind, w.Code, w.Header(), w.Body)
			}
		}
	}
	// Whole answers fail as a whole, even if something had been said.
	begun := llm.Event{Type: llm.EventStart, Message: &llm.Message{}}
	failed := llm.Event{Type: llm.EventError, Message: &llm.Message{Error: &llm.Error{Kind: llm.ErrOverload}}}
	if w := answer(t, `{"model":"m","messages":[]}`, []llm.Event{begun, failed}); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestCompletionsRoundTrip sends one rich answer through server and client and
// back as history, twice.
func TestCompletionsRoundTrip(t *testing.T) {
	m := llm.Message{
		Role: llm.RoleAssistant, ResponseID: "id", StopReason: llm.StopToolUse,
		Usage: &llm.Usage{Input: 7, Output: 9, CacheRead: 5, CacheWrite: 4, CacheWriteLong: 1, Reasoning: 3, WebSearches: 2},
		Content: []llm.Block{
			llm.Thinking{Text: "one", Signature: "s1"},
			llm.Thinking{Signature: "enc", Redacted: true},
			llm.Thinking{Text: "two", Signature: "s2"},
			llm.Thinking{Signature: "s3"}, // a vendor that shows no text of it
			llm.Thinking{Signature: "enc2", Redacted: true},
			llm.Text{Text: "Text."},
			llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"a":"ü"}`},
			llm.ToolCall{ID: "c2", Name: "g", Arguments: `{}`},
		},
	}
	w := answer(t, `{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}`, llmtest.Message(m))
	got, err := llm.Collect(cannedStream(t, openai.CompletionsOptions{}, w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	m.API, m.Provider, m.Model, m.Time = got.API, "p", "m", got.Time
	m.Usage.TotalTokens = m.Usage.Context()
	if diff := cmp.Diff(&m, got); diff != "" {
		t.Fatalf("answer: -want +got\n%s", diff)
	}
	body, _ := sent(t, at(urlOther), llm.Request{Messages: []llm.Message{
		llm.UserText("hi"), *got, llm.ToolResultText(m.ToolCalls()[0], "r1", false), llm.ToolResultText(m.ToolCalls()[1], "r2", false),
	}})
	req, _ := readRequest(t, `{"model":"m","messages":`+string(body["messages"])+`}`)
	if diff := cmp.Diff(m.Content, req.Messages[1].Content); diff != "" {
		t.Errorf("history: -want +got\n%s", diff)
	}
}
