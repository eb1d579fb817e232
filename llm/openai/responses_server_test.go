package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

// respServe is a transport that ends in the server half. It keeps the request
// as decoded and answers with the events of message.
type respServe struct {
	t       testing.TB
	message llm.Message
	got     *llm.Request
	sent    []byte
	answer  []byte
}

func (s *respServe) RoundTrip(r *http.Request) (*http.Response, error) {
	var server openai.ResponsesServer
	if !server.Match(r) {
		s.t.Errorf("%s %s does not match", r.Method, r.URL)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.sent = body
	req, stream, err := server.DecodeRequest(r, body)
	if err != nil {
		return nil, err
	}
	s.got = req
	w := httptest.NewRecorder()
	enc := server.NewEncoder(w, req, stream)
	for _, ev := range respEvents(s.message) {
		if err := enc.Encode(ev); err != nil {
			s.t.Errorf("encode %s: %v", ev.Type, err)
		}
	}
	s.answer = bytes.Clone(w.Body.Bytes())
	return w.Result(), nil
}

// respEvents are the events of a message as a builder tells them.
func respEvents(m llm.Message) []llm.Event {
	b := llm.NewBuilder(llm.Message{API: m.API, Model: m.Model, ResponseID: m.ResponseID, Usage: m.Usage})
	b.Start()
	for _, block := range m.Content {
		switch block := block.(type) {
		case llm.Text:
			i := b.OpenText()
			for _, r := range block.Text {
				b.Delta(i, string(r))
			}
			b.Sign(i, block.Signature)
			for _, c := range block.Citations {
				b.Cite(i, c)
			}
			b.CloseBlock(i)
		case llm.Thinking:
			i := b.OpenThinking()
			if block.Redacted {
				b.Redact(i, block.Signature)
			} else {
				b.Delta(i, block.Text)
				b.Sign(i, block.Signature)
			}
			b.CloseBlock(i)
		case llm.ToolCall:
			i := b.OpenToolCall(block.ID, block.Name)
			half := len(block.Arguments) / 2
			b.Delta(i, block.Arguments[:half])
			b.Delta(i, block.Arguments[half:])
			b.CloseBlock(i)
		case llm.Opaque:
			b.Opaque(block.Kind, block.Raw)
		}
	}
	if m.Error != nil {
		b.Fail(m.Error)
	} else {
		b.Done(m.StopReason)
	}
	var out []llm.Event
	for ev, ok := b.Next(); ok; ev, ok = b.Next() {
		out = append(out, ev)
	}
	return out
}

var respIgnored = []cmp.Option{cmpopts.IgnoreFields(llm.Message{}, "Time"), cmpopts.IgnoreFields(llm.Usage{}, "TotalTokens"), cmpopts.IgnoreFields(llm.Error{}, "Err"), cmpopts.EquateEmpty()}

func TestResponsesAnswerRoundTrip(t *testing.T) {
	reset := time.Unix(1800000000, 0)
	for _, c := range []struct {
		name string
		m    llm.Message
		edit func(want *llm.Message) // what the format changes
	}{
		{name: "everything", m: llm.Message{
			ResponseID: "resp_9", StopReason: llm.StopToolUse, Usage: &llm.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 5, Reasoning: 7},
			Content: []llm.Block{
				llm.Thinking{Text: "Plan <it>.", Signature: respSealedItem},
				llm.Opaque{API: llm.APIResponses, Kind: "code_interpreter_call", Raw: json.RawMessage(`{"type":"code_interpreter_call","id":"ci_1","code":"1 < 2"}`)},
				llm.Text{Text: "Tab\t, \"quote\", \\, \x01, 🦊\n", Citations: []llm.Citation{{URL: "https://go.dev", Title: "Go", Raw: json.RawMessage(`{"type":"url_citation","url":"https://go.dev","title":"Go"}`)}}},
				llm.ToolCall{ID: "call_1|fc_1", Name: "read", Arguments: `{"path":"a\nb"}`},
				llm.ToolCall{ID: "toolu_2", Name: "list_files", Arguments: `{}`},
			},
		}},
		{name: "phase", m: llm.Message{StopReason: llm.StopEnd, ResponseID: "r", Content: []llm.Block{llm.Text{Text: "a", Signature: `{"v":1,"id":"","phase":"final_answer"}`}}}},
		{name: "unsigned reasoning", m: llm.Message{StopReason: llm.StopEnd, ResponseID: "r", Content: []llm.Block{llm.Thinking{Text: "p"}, llm.Text{Text: "a"}}}},
		{name: "length", m: llm.Message{StopReason: llm.StopLength, ResponseID: "r", Content: []llm.Block{llm.Text{Text: "a"}}}},
		{name: "cut call", m: llm.Message{StopReason: llm.StopLength, ResponseID: "r", Content: []llm.Block{llm.ToolCall{ID: "c", Name: "w", Arguments: `{"a":"b`, Defect: llm.DefectCut}}}},
		{name: "nothing", m: llm.Message{StopReason: llm.StopEnd, ResponseID: "r"}},
		{
			name: "rate limit", m: llm.Message{
				StopReason: llm.StopError, ResponseID: "r", Content: []llm.Block{llm.Text{Text: "a"}},
				Error: &llm.Error{Kind: llm.ErrRateLimit, Message: "slow down", Code: "rate_limit_exceeded", RetryAfter: 1500 * time.Millisecond},
			},
			edit: func(m *llm.Message) { m.Error.Message = "slow down. Please try again in 1.5s." },
		},
		{name: "usage limit", m: llm.Message{
			StopReason: llm.StopError, ResponseID: "r",
			Error: &llm.Error{Kind: llm.ErrUsageLimit, Message: "used up", Code: "usage_limit_reached", ResetAt: reset},
		}},
		{name: "code of another vendor", m: llm.Message{
			StopReason: llm.StopError, ResponseID: "r",
			Error: &llm.Error{Kind: llm.ErrOverload, Message: "busy", Code: "overloaded_error"},
		}},
		{name: "content filter", m: llm.Message{StopReason: llm.StopError, ResponseID: "r", Error: &llm.Error{Kind: llm.ErrContentFilter, Message: "no", Code: "content_filter"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.m
			want.Role, want.API, want.Provider, want.Model = llm.RoleAssistant, llm.APIResponses, "openai", "gpt-5.2"
			if want.Error != nil {
				e := *want.Error
				e.Provider = "openai"
				want.Error = &e
			}
			if c.edit != nil {
				c.edit(&want)
			}
			c.m.API = llm.APIResponses
			got, _ := llm.Collect(respOpen(&respServe{t: t, message: c.m}, openai.ResponsesOptions{}).Stream(t.Context(), respAsk(respModel())))
			if diff := cmp.Diff(&want, got, respIgnored...); diff != "" {
				t.Errorf("message (-sent +got):\n%s", diff)
			}
		})
	}
}

// Signatures of other vendors survive the way to a client of this format and
// back.
func TestResponsesForeignSignature(t *testing.T) {
	for _, sent := range []llm.Thinking{
		{Text: "First,\nthen.", Signature: "EqoBCkgIARABGAIi<+/>sig=="},
		{Signature: "redacted-data==", Redacted: true},
		{Text: "Plan <it>.", Signature: respSealedItem},
		{Text: "none"},
	} {
		tr := &respServe{t: t, message: llm.Message{StopReason: llm.StopEnd, Content: []llm.Block{sent, llm.Text{Text: "Done."}}}}
		client := respOpen(tr, openai.ResponsesOptions{})
		m, err := llm.Collect(client.Stream(t.Context(), respAsk(respModel())))
		if err != nil {
			t.Fatal(err)
		}
		req := respAsk(respModel())
		req.Messages = append(req.Messages, *m, llm.UserText("Sure?"))
		if _, err := llm.Collect(client.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		got, _ := tr.got.Messages[1].Content[0].(llm.Thinking)
		if sent.Signature == "" {
			if got != (llm.Thinking{}) {
				t.Errorf("unsigned reasoning came back as %+v", got)
			}
			continue
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Errorf("reasoning (-said +back):\n%s", diff)
		}
	}
}

func TestResponsesRequestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := respDrawRequest(rt)
		tr := &respServe{t: t, message: llm.Message{StopReason: llm.StopEnd}}
		o := openai.ResponsesOptions{Stateful: want.PreviousResponseID != ""}
		if _, err := llm.Collect(respOpen(tr, o).Stream(t.Context(), want)); err != nil {
			rt.Fatal(err)
		}
		got := *tr.got
		if got.Model.ID != want.Model.ID {
			rt.Errorf("model %q", got.Model.ID)
		}
		if diff := cmp.Diff(want, &got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(llm.Message{}, "Time"), cmpopts.IgnoreFields(llm.Request{}, "Model")); diff != "" {
			rt.Fatalf("request (-sent +read):\n%s\n%s", diff, tr.sent)
		}
		first := tr.sent
		if _, err := llm.Collect(respOpen(tr, o).Stream(t.Context(), want)); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(first, tr.sent) {
			rt.Fatalf("the same request gave other bytes:\n%s\n%s", first, tr.sent)
		}
	})
}

// respDrawRequest draws a request as the format can carry it: of this API, and
// legal, so that nothing has to be mended on the way.
func respDrawRequest(rt *rapid.T) *llm.Request {
	m := &llm.Model{
		ID: rapid.SampledFrom([]string{"gpt-4.1", "gpt-5.2"}).Draw(rt, "model"), API: llm.APIResponses,
		Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
		Thinking: llm.ThinkingSupport{Mode: llm.ThinkingEffort},
	}
	words := rapid.StringMatching(`[a-z<>&"\\ é漢🦊\n]{0,12}[a-z]`)
	req := &llm.Request{
		Model:      m,
		System:     rapid.SampledFrom([]string{"", "Be <terse>."}).Draw(rt, "system"),
		MaxTokens:  rapid.SampledFrom([]int{0, 16, 4096}).Draw(rt, "max"),
		Thinking:   llm.Thought{Level: rapid.SampledFrom([]llm.Level{"", llm.LevelOff, llm.LevelLow, llm.LevelHigh}).Draw(rt, "level")},
		Cache:      llm.CacheHint{Key: rapid.SampledFrom([]string{"", "s1"}).Draw(rt, "key"), Retention: rapid.SampledFrom([]llm.CacheRetention{"", llm.CacheLong}).Draw(rt, "cache")},
		User:       rapid.SampledFrom([]string{"", "u1"}).Draw(rt, "user"),
		Output:     rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(respAnyTool)}).Draw(rt, "output"),
		ToolChoice: llm.ToolChoice{},
	}
	if m.ID == "gpt-4.1" && rapid.Bool().Draw(rt, "sampling") {
		zero := 0.0
		req.Temperature, req.TopP = &zero, &zero
	}
	if rapid.Bool().Draw(rt, "tools") {
		req.Tools = []llm.Tool{{Name: "read", Description: words.Draw(rt, "description"), Schema: json.RawMessage(respAnyTool)}}
		req.ServerTools = rapid.SampledFrom([][]llm.ServerTool{nil, {{Kind: llm.ServerWebSearch, MaxUses: 2, BlockedDomains: []string{"x.com"}}}}).Draw(rt, "search")
		req.ToolChoice = rapid.SampledFrom([]llm.ToolChoice{{}, {Mode: llm.ToolAny}, {Mode: llm.ToolNone}, {Mode: llm.ToolNamed, Name: "read"}}).Draw(rt, "choice")
		req.SequentialTools = rapid.Bool().Draw(rt, "sequential")
	}
	if rapid.Bool().Draw(rt, "extra") {
		req.Extra = map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`), "truncation": json.RawMessage(`"auto"`)}
	}
	user := func(label string) llm.Message {
		m := llm.UserText(words.Draw(rt, label))
		if rapid.Bool().Draw(rt, label+" media") {
			m.Content = append(m.Content, llm.Image{MIME: "image/png", Data: []byte{1, 2}}, llm.Image{URL: "https://x/i"},
				llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte{3}})
		}
		return m
	}
	if rapid.Bool().Draw(rt, "chained") {
		req.PreviousResponseID = "resp_0"
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleToolResult, ToolCallID: "call_before", Content: []llm.Block{llm.Text{Text: "out"}}})
	}
	req.Messages = append(req.Messages, user("first"))
	for n := range rapid.IntRange(0, 3).Draw(rt, "turns") {
		answer := llm.Message{Role: llm.RoleAssistant, API: llm.APIResponses, Model: m.ID, StopReason: llm.StopEnd}
		if rapid.Bool().Draw(rt, "thinks") {
			answer.Content = append(answer.Content, llm.Thinking{Text: "Plan <it>.", Signature: respSealedItem})
		}
		if rapid.Bool().Draw(rt, "searches") {
			answer.Content = append(answer.Content, llm.Opaque{API: llm.APIResponses, Kind: "web_search_call", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws<1>"}`)})
		}
		sig := rapid.SampledFrom([]string{"", "msg_a", `{"v":1,"id":"msg_b","phase":"final_answer"}`}).Draw(rt, "sig")
		answer.Content = append(answer.Content, llm.Text{Text: words.Draw(rt, "text"), Signature: sig})
		var results []llm.Message
		for k := range rapid.IntRange(0, 2).Draw(rt, "calls") {
			call := llm.ToolCall{ID: "call_" + string(rune('a'+n)) + string(rune('0'+k)), Name: "read", Arguments: `{"path":"` + string(rune('a'+k)) + `"}`}
			if rapid.Bool().Draw(rt, "item id") {
				call.ID += "|fc_x" + string(rune('a'+n)) + string(rune('0'+k))
			}
			answer.Content = append(answer.Content, call)
			answer.StopReason = llm.StopToolUse
			r := llm.ToolResultText(call, words.Draw(rt, "result"), false)
			if rapid.Bool().Draw(rt, "result image") {
				r.Content = append(r.Content, llm.Image{MIME: "image/png", Data: []byte{4}})
			}
			results = append(results, r)
		}
		req.Messages = append(req.Messages, answer)
		req.Messages = append(req.Messages, results...)
		if rapid.Bool().Draw(rt, "system inline") {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "Mind the time."}}})
		}
		req.Messages = append(req.Messages, user("next"))
	}
	return req
}

func respDecode(t *testing.T, body string) (*llm.Request, bool, error) {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/responses", nil)
	return openai.ResponsesServer{}.DecodeRequest(r, []byte(body))
}

// What other clients of the API send.
func TestResponsesServerReads(t *testing.T) {
	req, stream, err := respDecode(t, `{"model":"m","input":"Hi"}`)
	if err != nil || stream || len(req.Messages) != 1 || req.Messages[0].Text() != "Hi" || req.System != "" {
		t.Errorf("short form: %+v, %v, %v", req, stream, err)
	}
	req, stream, err = respDecode(t, `{"model":"m","stream":true,"store":false,"instructions":"One.","include":["reasoning.encrypted_content"],
		"tool_choice":{"type":"allowed_tools","mode":"required","tools":[]},"reasoning":{"effort":"max"},"text":{"verbosity":"low"},
		"tools":[{"type":"custom","name":"patch","description":"Patches.","format":{"type":"grammar"}},{"type":"file_search"},{"type":"web_search_preview"}],
		"input":[{"role":"developer","content":"Two."},{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},
		{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"patch","input":"*** \"x\""},
		{"type":"custom_tool_call_output","call_id":"c1","output":"ok"},
		{"type":"function_call_output","call_id":"unknown","output":[{"type":"input_text","text":"stray"}]}]}`)
	if err != nil || !stream {
		t.Fatal(err)
	}
	want := []llm.Message{
		llm.UserText("Hi"),
		{Role: llm.RoleAssistant, API: llm.APIResponses, Model: "m", StopReason: llm.StopToolUse, Content: []llm.Block{
			llm.Text{Text: "Hello"}, llm.ToolCall{ID: "c1|ctc_1", Name: "patch", Arguments: `{"input":"*** \"x\""}`},
		}},
		{Role: llm.RoleToolResult, ToolCallID: "c1|ctc_1", ToolName: "patch", Content: []llm.Block{llm.Text{Text: "ok"}}},
		{Role: llm.RoleToolResult, ToolCallID: "unknown", Content: []llm.Block{llm.Text{Text: "stray"}}},
	}
	if diff := cmp.Diff(want, req.Messages, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if req.System != "One.\n\nTwo." || req.ToolChoice.Mode != llm.ToolAny || req.Thinking.Effort != "max" || req.Extra != nil {
		t.Errorf("request %+v", req)
	}
	if len(req.Tools) != 1 || len(req.ServerTools) != 1 || !json.Valid(req.Tools[0].Schema) {
		t.Errorf("tools %+v, %+v", req.Tools, req.ServerTools)
	}
}

func TestResponsesServerRefuses(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"no JSON":        {`{`, "the request is not valid: unexpected end of JSON input"},
		"no model":       {`{"input":"x"}`, "the request names no model"},
		"no input":       {`{"model":"m"}`, "input is neither a string nor a list of items"},
		"reference":      {`{"model":"m","input":[{"type":"item_reference","id":"rs_1"}]}`, `input[0]: item "rs_1" is not stored here: send the item itself`},
		"unknown role":   {`{"model":"m","input":[{"role":"tool","content":"x"}]}`, `input[0]: unknown role "tool"`},
		"file id":        {`{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, "input[0]: a file must come as file_data or file_url: files are not stored here"},
		"bad data URL":   {`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,?"}]}]}`, "input[0]: a data URL is not valid base64"},
		"unknown part":   {`{"model":"m","input":[{"role":"user","content":[{"type":"input_audio"}]}]}`, `input[0]: content of type "input_audio" is not known`},
		"strange choice": {`{"model":"m","input":"x","tool_choice":7}`, "tool_choice is neither a word nor an object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := respDecode(t, c.body)
			if llm.KindOf(err) != llm.ErrInvalidRequest || err.Error() != c.want+" (HTTP 400)" {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestResponsesServerMatch(t *testing.T) {
	for path, want := range map[string]bool{"POST /v1/responses": true, "POST /responses/": true, "GET /v1/responses": false, "POST /v1/responses/compact": false, "POST /v1/chat/completions": false} {
		method, target, _ := strings.Cut(path, " ")
		if got := (openai.ResponsesServer{}).Match(httptest.NewRequest(method, target, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// A custom tool of the client is called with plain text, streamed or not.
func TestResponsesServerCustomTool(t *testing.T) {
	req, _, err := respDecode(t, `{"model":"m","input":"x","tools":[{"type":"custom","name":"patch"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	m := llm.Message{StopReason: llm.StopToolUse, Content: []llm.Block{llm.ToolCall{ID: "c1", Name: "patch", Arguments: `{"input":"*** \"x\""}`}}}
	for _, stream := range []bool{true, false} {
		w := httptest.NewRecorder()
		enc := openai.ResponsesServer{}.NewEncoder(w, req, stream)
		for _, ev := range respEvents(m) {
			if err := enc.Encode(ev); err != nil {
				t.Fatal(err)
			}
		}
		want := `{"type":"custom_tool_call","id":"ctc_c1","call_id":"c1","name":"patch","input":"*** \"x\"","status":"completed"}`
		if got := w.Body.String(); !strings.Contains(got, want) || strings.Contains(got, "function_call") {
			t.Errorf("stream %v: %s", stream, got)
		}
	}
}

func TestResponsesServerWhole(t *testing.T) {
	req, _, err := respDecode(t, `{"model":"m","input":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	enc := openai.ResponsesServer{}.NewEncoder(w, req, false)
	m := llm.Message{ResponseID: "resp_1", StopReason: llm.StopLength, Usage: &llm.Usage{Input: 5, CacheRead: 2, Output: 3}, Content: []llm.Block{
		llm.Thinking{Text: "p", Signature: "sig"}, llm.Text{Text: "a<b"}, llm.Opaque{API: llm.APIAnthropic, Raw: json.RawMessage(`{}`)},
	}}
	for _, ev := range respEvents(m) {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	var got struct {
		ID, Object, Status, Model string
		CreatedAt                 int64 `json:"created_at"`
		Incomplete                any   `json:"incomplete_details"`
		Output                    []json.RawMessage
		Usage                     map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	if got.ID != "resp_1" || got.Object != "response" || got.Status != "incomplete" || got.Model != "m" || got.CreatedAt == 0 {
		t.Errorf("response %+v", got)
	}
	if diff := cmp.Diff(`{"type":"reasoning","id":"rs_made_0","summary":[{"type":"summary_text","text":"p"}],"encrypted_content":"signature:sig"}
{"type":"message","id":"msg_made_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a<b","annotations":[]}]}
`, respLines(got.Output[:2])); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if got.Usage["input_tokens"] != 7.0 || got.Usage["total_tokens"] != 10.0 {
		t.Errorf("usage %v", got.Usage)
	}
}

func TestResponsesServerErrors(t *testing.T) {
	for _, sent := range []llm.Error{
		{Kind: llm.ErrAuth, Message: "no"},
		{Kind: llm.ErrRateLimit, Message: "slow", RetryAfter: 2500 * time.Millisecond, RequestID: "req_1"},
		{Kind: llm.ErrUsageLimit, Message: "out", ResetAt: time.Unix(1800000000, 0)},
		{Kind: llm.ErrOverload, Message: "busy", Status: 529},
		{Kind: llm.ErrContextOverflow, Message: "too long"},
		{Kind: llm.ErrContentFilter, Message: "no"},
		{Kind: llm.ErrInvalidRequest, Message: "bad"},
	} {
		w := httptest.NewRecorder()
		openai.ResponsesServer{}.EncodeError(w, &sent)
		tr := &respTransport{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
		_, err := llm.Collect(respOpen(tr, openai.ResponsesOptions{}).Stream(t.Context(), respAsk(respModel())))
		got, ok := err.(*llm.Error)
		if !ok {
			t.Fatalf("error %v", err)
		}
		if got.Kind != sent.Kind || got.Message != sent.Message || got.RetryAfter != sent.RetryAfter || !got.ResetAt.Equal(sent.ResetAt) || got.RequestID != sent.RequestID {
			t.Errorf("sent %+v, got %+v", sent, *got)
		}
	}
	// An error before anything was said is an answer of its own.
	for _, stream := range []bool{true, false} {
		w := httptest.NewRecorder()
		enc := openai.ResponsesServer{}.NewEncoder(w, nil, stream)
		m := &llm.Message{StopReason: llm.StopError, Error: &llm.Error{Kind: llm.ErrAuth, Message: "no"}}
		if err := enc.Encode(llm.Event{Type: llm.EventError, Message: m}); err != nil || w.Code != http.StatusUnauthorized {
			t.Errorf("stream %v: status %d, %v", stream, w.Code, err)
		}
	}
}

// An item that an error cut has no place in the final response.
func TestResponsesServerCutItem(t *testing.T) {
	b := llm.NewBuilder(llm.Message{})
	b.Delta(b.OpenText(), "It beg")
	b.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "busy"})
	w := httptest.NewRecorder()
	enc := openai.ResponsesServer{}.NewEncoder(w, nil, true)
	for ev, ok := b.Next(); ok; ev, ok = b.Next() {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	_, last, _ := strings.Cut(w.Body.String(), "event: response.failed\n")
	if !strings.Contains(last, `"output":[]`) || !strings.Contains(last, `"code":"server_error"`) {
		t.Errorf("final event %s", last)
	}
}

func FuzzResponsesServer(f *testing.F) {
	f.Add(`{"model":"m","input":"x"}`)
	f.Add(`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:a;base64,YQ=="}]},{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]},{"type":"function_call","call_id":"a","arguments":{"a":1}},{"type":"function_call_output","call_id":"a","output":"x"}],"tools":[{"type":"function","name":"x"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		req, _, err := respDecode(t, body)
		if err != nil {
			if llm.KindOf(err) != llm.ErrInvalidRequest || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v", err)
			}
			return
		}
		// Whatever was read can be sent on.
		tr := &respTransport{body: []byte("data: {\"type\":\"response.completed\"}\n\n")}
		_, err = llm.Collect(respOpen(tr, openai.ResponsesOptions{}).Stream(t.Context(), req))
		if err == nil && !json.Valid(tr.sent) {
			t.Fatalf("sent %s", tr.sent)
		}
	})
}
