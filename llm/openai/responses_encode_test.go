package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// respSent is the body of the request, keys as raw JSON.
func respSent(t *testing.T, o openai.ResponsesOptions, req *llm.Request) map[string]json.RawMessage {
	t.Helper()
	tr := &respTransport{body: []byte("data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n")}
	if _, err := llm.Collect(respOpen(tr, o).Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(tr.sent, &body); err != nil {
		t.Fatalf("%v in %s", err, tr.sent)
	}
	return body
}

// respWant compares keys of a body with the JSON wanted; "" means absent.
func respWant(t *testing.T, body map[string]json.RawMessage, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if diff := cmp.Diff(value, string(body[key])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

const respAnyTool = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

func TestResponsesRequest(t *testing.T) {
	half := 0.5
	zero := 0.0
	tools := []llm.Tool{{Name: "read", Description: "Reads <a file>.", Schema: json.RawMessage(respAnyTool)}}
	codex := openai.ResponsesOptions{API: llm.APICodexResponses}
	reasoning := `["reasoning.encrypted_content"]`
	for _, c := range []struct {
		name  string
		o     openai.ResponsesOptions
		model *llm.Model
		edit  func(*llm.Request)
		want  map[string]string
	}{
		{name: "least", model: respPlain(), want: map[string]string{
			"model": `"gpt-4.1"`, "instructions": `"You are terse."`, "store": "false", "stream": "true",
			"input": `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}]`,
			"tools": "", "tool_choice": "", "reasoning": "", "include": "", "max_output_tokens": "", "temperature": "", "prompt_cache_key": "", "parallel_tool_calls": "",
		}},
		{name: "default level asks for a summary", want: map[string]string{"reasoning": `{"summary":"auto"}`, "include": reasoning}},
		{name: "level", edit: func(r *llm.Request) { r.Thinking.Level = llm.LevelHigh }, want: map[string]string{"reasoning": `{"effort":"high","summary":"auto"}`}},
		{name: "level below the range", edit: func(r *llm.Request) { r.Thinking.Level = llm.LevelMinimal }, want: map[string]string{"reasoning": `{"effort":"low","summary":"auto"}`}},
		{name: "off", edit: func(r *llm.Request) { r.Thinking.Level = llm.LevelOff; r.Temperature = &half }, want: map[string]string{
			"reasoning": `{"effort":"none"}`, "include": reasoning, "temperature": "0.5",
		}},
		{name: "hidden", edit: func(r *llm.Request) { r.Thinking.Hidden = true }, want: map[string]string{"reasoning": "", "include": reasoning}},
		{name: "vendor's word", edit: func(r *llm.Request) { r.Thinking = llm.Thought{Level: llm.LevelLow, Effort: "max"} }, want: map[string]string{"reasoning": `{"effort":"max","summary":"auto"}`}},
		{name: "no temperature while reasoning", edit: func(r *llm.Request) { r.Temperature, r.TopP = &half, &half }, want: map[string]string{"temperature": "", "top_p": ""}},
		{name: "temperature 0", model: respPlain(), edit: func(r *llm.Request) { r.Temperature = &zero }, want: map[string]string{"temperature": "0"}},
		{name: "tools", edit: func(r *llm.Request) { r.Tools = tools }, want: map[string]string{
			"tools": `[{"type":"function","name":"read","description":"Reads <a file>.","parameters":` + respAnyTool + `,"strict":false}]`, "tool_choice": "",
		}},
		{name: "tool without a schema", edit: func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "now"}} }, want: map[string]string{
			"tools": `[{"type":"function","name":"now","parameters":{"type":"object","properties":{}},"strict":false}]`,
		}},
		{name: "strict switched off", o: openai.ResponsesOptions{NoStrict: true}, edit: func(r *llm.Request) {
			r.Tools = []llm.Tool{{Name: "read", Schema: json.RawMessage(respAnyTool), Strict: true}}
		}, want: map[string]string{"tools": `[{"type":"function","name":"read","parameters":` + respAnyTool + `,"strict":false}]`}},
		{name: "any tool, one at a time", edit: func(r *llm.Request) {
			r.Tools, r.ToolChoice.Mode, r.SequentialTools = tools, llm.ToolAny, true
		}, want: map[string]string{"tool_choice": `"required"`, "parallel_tool_calls": "false"}},
		{name: "named tool", edit: func(r *llm.Request) {
			r.Tools, r.ToolChoice = tools, llm.ToolChoice{Mode: llm.ToolNamed, Name: "read"}
		}, want: map[string]string{"tool_choice": `{"type":"function","name":"read"}`}},
		{name: "no tool", edit: func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = tools, llm.ToolNone }, want: map[string]string{"tool_choice": `"none"`}},
		{name: "a choice without tools", edit: func(r *llm.Request) { r.ToolChoice.Mode = llm.ToolNone }, want: map[string]string{"tool_choice": ""}},
		{name: "web search", edit: func(r *llm.Request) {
			r.ServerTools = []llm.ServerTool{{Kind: llm.ServerWebFetch}, {Kind: llm.ServerWebSearch, MaxUses: 3, AllowedDomains: []string{"go.dev"}}}
		}, want: map[string]string{"tools": `[{"type":"web_search","filters":{"allowed_domains":["go.dev"]}}]`, "max_tool_calls": "3"}},
		{name: "few tokens", edit: func(r *llm.Request) { r.MaxTokens = 1 }, want: map[string]string{"max_output_tokens": "16"}},
		{name: "cache", edit: func(r *llm.Request) { r.Cache = llm.CacheHint{Key: "session-1", Retention: llm.CacheLong} }, want: map[string]string{
			"prompt_cache_key": `"session-1"`, "prompt_cache_retention": `"24h"`,
		}},
		{name: "no cache", edit: func(r *llm.Request) { r.Cache = llm.CacheHint{Key: "session-1", Retention: llm.CacheOff} }, want: map[string]string{
			"prompt_cache_key": "", "prompt_cache_retention": "",
		}},
		{name: "user and metadata", edit: func(r *llm.Request) { r.User, r.Metadata = "u1", map[string]string{"b": "2", "a": "1"} }, want: map[string]string{
			"user": `"u1"`, "metadata": `{"a":"1","b":"2"}`,
		}},
		{name: "extra", edit: func(r *llm.Request) {
			r.Extra = map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`), "input": json.RawMessage(`[]`), "previous_response_id": json.RawMessage(`"x"`)}
		}, want: map[string]string{
			"service_tier": `"flex"`, "input": `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}]`, "previous_response_id": "",
		}},
		{name: "previous response without state", edit: func(r *llm.Request) { r.PreviousResponseID = "resp_1" }, want: map[string]string{"previous_response_id": "", "store": "false"}},
		{name: "stateful", o: openai.ResponsesOptions{Stateful: true}, edit: func(r *llm.Request) {
			r.PreviousResponseID = "resp_1"
			r.Messages = []llm.Message{
				{Role: llm.RoleToolResult, ToolCallID: "call_1|fc_1", ToolName: "read", Content: []llm.Block{llm.Text{Text: "one"}}},
				{Role: llm.RoleToolResult, ToolCallID: "call_2|fc_2", ToolName: "read", Content: []llm.Block{llm.Text{Text: "two"}}},
				llm.UserText("And?"),
			}
		}, want: map[string]string{
			"previous_response_id": `"resp_1"`, "store": "true",
			"input": `[{"type":"function_call_output","call_id":"call_1","output":"one"},{"type":"function_call_output","call_id":"call_2","output":"two"},` +
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"And?"}]}]`,
		}},
		{name: "codex", o: codex, edit: func(r *llm.Request) {
			r.System, r.MaxTokens, r.Temperature, r.Metadata, r.PreviousResponseID = "", 100, &half, map[string]string{"a": "1"}, "resp_1"
			r.Cache = llm.CacheHint{Key: "k", Retention: llm.CacheLong}
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "Be brief."}}})
		}, want: map[string]string{
			"instructions": `"You are a helpful assistant."`, "store": "false", "max_output_tokens": "", "temperature": "", "metadata": "",
			"previous_response_id": "", "prompt_cache_key": `"k"`, "prompt_cache_retention": "",
			"input": `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]}]`,
		}},
		{
			name: "azure deployment", o: openai.ResponsesOptions{API: llm.APIAzureResponses, Azure: openai.Azure{BaseURL: "https://r.openai.azure.com", Deployments: map[string]string{"gpt-5.2": "prod"}}},
			want: map[string]string{"model": `"prod"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.model
			if m == nil {
				m = respModel()
			}
			req := respAsk(m)
			if c.edit != nil {
				c.edit(req)
			}
			respWant(t, respSent(t, c.o, req), c.want)
		})
	}
}

func TestResponsesStrictSchemas(t *testing.T) {
	strict := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	loose := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`)
	req := respAsk(respPlain())
	req.Tools = []llm.Tool{{Name: "read", Schema: strict, Strict: true}}
	req.Output = strict
	body := respSent(t, openai.ResponsesOptions{}, req)
	respWant(t, body, map[string]string{"text": `{"format":{"type":"json_schema","name":"answer","strict":true,"schema":` + string(strict) + `}}`})
	var tools []struct{ Strict bool }
	if err := json.Unmarshal(body["tools"], &tools); err != nil || !tools[0].Strict {
		t.Errorf("tools %s: %v", body["tools"], err)
	}
	req.Output = loose
	respWant(t, respSent(t, openai.ResponsesOptions{}, req), map[string]string{
		"text": `{"format":{"type":"json_schema","name":"answer","strict":false,"schema":` + string(loose) + `}}`,
	})
}

// respItems is the input of the request with the given history.
func respItems(t *testing.T, o openai.ResponsesOptions, m *llm.Model, history ...llm.Message) []json.RawMessage {
	t.Helper()
	req := respAsk(m)
	req.Messages = history
	var items []json.RawMessage
	if err := json.Unmarshal(respSent(t, o, req)["input"], &items); err != nil {
		t.Fatal(err)
	}
	return items
}

func respLines(items []json.RawMessage) string {
	var out strings.Builder
	for _, it := range items {
		out.Write(it)
		out.WriteByte('\n')
	}
	return out.String()
}

const respSealedItem = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Plan <it>."}],"encrypted_content":"gAAA=="}`

func respTurn() []llm.Message {
	return []llm.Message{
		llm.UserText("Read go.mod"),
		{
			Role: llm.RoleAssistant, API: llm.APIResponses, Provider: "openai", Model: "gpt-5.2", StopReason: llm.StopToolUse,
			Content: []llm.Block{
				llm.Thinking{Text: "Plan <it>.", Signature: respSealedItem},
				llm.Opaque{API: llm.APIResponses, Kind: "web_search_call", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_1","x":"<&>"}`)},
				llm.Text{Text: "Reading.", Signature: `{"v":1,"id":"msg_1","phase":"commentary"}`, Citations: []llm.Citation{{URL: "https://go.dev", Raw: json.RawMessage(`{"type":"url_citation","url":"https://go.dev"}`)}}},
				llm.Text{Text: "Now.", Signature: `{"v":1,"id":"msg_1","phase":"commentary"}`},
				llm.ToolCall{ID: "call_1|fc_1", Name: "read", Arguments: `{"path":"go.mod"}`},
			},
		},
		{Role: llm.RoleToolResult, ToolCallID: "call_1|fc_1", ToolName: "read", Content: []llm.Block{llm.Text{Text: "module x"}, llm.Image{MIME: "image/png", Data: []byte("png")}}},
		{Role: llm.RoleUser, Content: []llm.Block{
			llm.Text{Text: "See:"},
			llm.Image{URL: "https://x/i.png"},
			llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")},
			llm.Document{URL: "https://x/b.pdf"},
		}},
	}
}

func TestResponsesHistory(t *testing.T) {
	other := respModel()
	other.ID = "gpt-5.1"
	elsewhere := respModel()
	elsewhere.Provider = "proxy"
	user := `{"type":"message","role":"user","content":[{"type":"input_text","text":"Read go.mod"}]}` + "\n"
	search := `{"type":"web_search_call","id":"ws_1","x":"<&>"}` + "\n"
	text := `{"type":"output_text","text":"Reading."`
	bare := `{"type":"message","role":"assistant","content":[` + text + `},{"type":"output_text","text":"Now."}]}` + "\n" +
		`{"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"go.mod\"}"}` + "\n"
	media := `{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"}`
	rest := `{"type":"message","role":"user","content":[{"type":"input_text","text":"See:"},{"type":"input_image","detail":"auto","image_url":"https://x/i.png"},` +
		`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="},{"type":"input_file","file_url":"https://x/b.pdf"}]}` + "\n"
	result := `{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"module x"},` + media + `]}` + "\n"
	for _, c := range []struct {
		name string
		o    openai.ResponsesOptions
		m    *llm.Model
		want string
	}{
		{"same model", openai.ResponsesOptions{}, respModel(), user + respSealedItem + "\n" + search +
			`{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"commentary","content":[` + text +
			`,"annotations":[{"type":"url_citation","url":"https://go.dev"}]},{"type":"output_text","text":"Now.","annotations":[]}]}` + "\n" +
			`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{\"path\":\"go.mod\"}"}` + "\n" + result + rest},
		{"another model of the host", openai.ResponsesOptions{}, other, user + search + bare + result + rest},
		{"another host", openai.ResponsesOptions{}, elsewhere, user + bare + result + rest},
		{"Azure, nothing stored", openai.ResponsesOptions{API: llm.APIAzureResponses, Azure: openai.Azure{BaseURL: "https://r.openai.azure.com"}}, respModel(), user +
			`{"encrypted_content":"gAAA==","summary":[{"type":"summary_text","text":"Plan <it>."}],"type":"reasoning"}` + "\n" + search +
			strings.Replace(bare, `"role":"assistant",`, `"role":"assistant","phase":"commentary",`, 1) + result + rest},
		{"outputs are text", openai.ResponsesOptions{PlainOutputs: true}, elsewhere, user + bare +
			`{"type":"function_call_output","call_id":"call_1","output":"module x\n[The image follows the tool results.]"}` + "\n" +
			`{"type":"message","role":"user","content":[` + media + `]}` + "\n" + rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := respTurn()
			if diff := cmp.Diff(c.want, respLines(respItems(t, c.o, c.m, history...))); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(respTurn(), history); diff != "" {
				t.Errorf("the history was changed:\n%s", diff)
			}
		})
	}
}

// Reasoning that cannot be returned takes the ids of what it led to with it, and
// none is returned without what it led to.
func TestResponsesReasoningPairs(t *testing.T) {
	answer := func(stop llm.StopReason, blocks ...llm.Block) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, API: llm.APIResponses, Provider: "openai", Model: "gpt-5.2", StopReason: stop, Content: blocks}
	}
	text := llm.Text{Text: "Yes.", Signature: "msg_1"}
	sealed := llm.Thinking{Signature: respSealedItem}
	bare := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}`
	named := `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Yes.","annotations":[]}]}`
	for _, c := range []struct {
		name string
		m    llm.Message
		want []string
	}{
		{"only an id", answer(llm.StopEnd, llm.Thinking{Text: "p", Signature: `{"id":"rs_1","type":"reasoning","summary":[]}`}, text), []string{bare}},
		{"no signature", answer(llm.StopEnd, llm.Thinking{Text: "p"}, text), []string{bare}},
		{
			"of a local server", answer(llm.StopEnd, llm.Thinking{Text: "p", Signature: `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"p"}]}`}, text),
			[]string{`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"p"}]}`, named},
		},
		{"at the end", answer(llm.StopEnd, text, sealed), []string{named}},
		{"of an answer that failed", answer(llm.StopAborted, sealed, text), []string{respSealedItem, bare}},
		{"whole", answer(llm.StopEnd, sealed, text), []string{respSealedItem, named}},
		{"a signature of another vendor", answer(llm.StopEnd, llm.Thinking{Text: "p", Signature: "EqoBCkg"}, text), []string{bare}},
	} {
		t.Run(c.name, func(t *testing.T) {
			items := respItems(t, openai.ResponsesOptions{}, respModel(), llm.UserText("?"), c.m, llm.UserText("Sure?"))
			var got []string
			for _, it := range items[1 : len(items)-1] {
				got = append(got, string(it))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResponsesCallIDs(t *testing.T) {
	long := strings.Repeat("x", 70)
	ids := []string{
		"call_1|fc_1", "toolu_01AbC", "call.with:odd chars|fc_2", "call_with_odd_chars", long, long + "y", "call_3|bad_item",
		"call_4|fc_" + long, "call_5|fc_a", "call_5|fc_b", "functions.read:0", "",
	}
	m := llm.Message{Role: llm.RoleAssistant, API: llm.APIResponses, Provider: "openai", Model: "gpt-5.2", StopReason: llm.StopToolUse}
	history := []llm.Message{llm.UserText("?"), m}
	for _, id := range ids {
		history[1].Content = append(history[1].Content, llm.ToolCall{ID: id, Name: "read", Arguments: "{}"})
	}
	for i, id := range ids {
		r := llm.ToolResultText(llm.ToolCall{ID: id, Name: "read"}, ids[i]+"-result", false)
		history = append(history, r)
	}
	type item struct {
		Type   string
		ID     string
		CallID string `json:"call_id"`
		Output string
	}
	read := func() (calls, outputs []item) {
		for _, raw := range respItems(t, openai.ResponsesOptions{}, respModel(), history...) {
			var it item
			if err := json.Unmarshal(raw, &it); err != nil {
				t.Fatal(err)
			}
			switch it.Type {
			case "function_call":
				calls = append(calls, it)
			case "function_call_output":
				outputs = append(outputs, it)
			}
		}
		return calls, outputs
	}
	calls, outputs := read()
	if len(calls) != len(ids) || len(outputs) != len(ids) {
		t.Fatalf("%d calls, %d outputs for %d ids", len(calls), len(outputs), len(ids))
	}
	seen := map[string]bool{}
	for i, c := range calls {
		if seen[c.CallID] || c.CallID == "" || len(c.CallID) > 64 || strings.ContainsAny(c.CallID, "|. :") {
			t.Errorf("call id %q from %q", c.CallID, ids[i])
		}
		seen[c.CallID] = true
		if c.ID != "" && (!strings.HasPrefix(c.ID, "fc_") || len(c.ID) > 64) {
			t.Errorf("item id %q from %q", c.ID, ids[i])
		}
		if outputs[i].CallID != c.CallID || outputs[i].Output != ids[i]+"-result" {
			t.Errorf("call %q is answered by %+v", c.CallID, outputs[i])
		}
	}
	if calls[0].CallID != "call_1" || calls[0].ID != "fc_1" || calls[1].CallID != "toolu_01AbC" || calls[6].ID != "" {
		t.Errorf("legal ids were changed: %+v", calls[:7])
	}
	again, _ := read()
	if diff := cmp.Diff(calls, again); diff != "" {
		t.Errorf("the same history gives other ids:\n%s", diff)
	}
}

func TestResponsesHTTP(t *testing.T) {
	azure := openai.ResponsesOptions{API: llm.APIAzureResponses, Azure: openai.Azure{BaseURL: "https://res.openai.azure.com/"}}
	azure.Endpoint.BaseURL = "https://ignored.example/v1"
	dated := openai.ResponsesOptions{API: llm.APIAzureResponses, Azure: openai.Azure{APIVersion: "2025-04-01-preview"}}
	dated.Endpoint.BaseURL = "https://gateway.example/azure/"
	signed := azure
	signed.Key = func(context.Context) (string, error) { return "", nil }
	signed.Authorize = func(_ context.Context, r *http.Request, body []byte) error {
		if len(body) == 0 {
			return errors.New("no body")
		}
		r.Header.Set("Authorization", "Bearer entra")
		return nil
	}
	for _, c := range []struct {
		name, url string
		o         openai.ResponsesOptions
		want      map[string]string
	}{
		{"OpenAI", "https://api.openai.com/v1/responses", openai.ResponsesOptions{}, map[string]string{"Authorization": "Bearer sk-test", "Accept": "text/event-stream", "User-Agent": wire.UserAgent}},
		{"local", "http://127.0.0.1:11434/v1/responses", openai.ResponsesOptions{Endpoint: wire.Endpoint{BaseURL: "http://127.0.0.1:11434/v1/"}}, nil},
		{
			"Codex", "https://chatgpt.com/backend-api/codex/responses",
			openai.ResponsesOptions{API: llm.APICodexResponses, Endpoint: wire.Endpoint{Headers: map[string]string{"ChatGPT-Account-Id": "acc"}}},
			map[string]string{"Authorization": "Bearer sk-test", "Chatgpt-Account-Id": "acc", "Originator": "", "User-Agent": wire.UserAgent},
		},
		{"Azure", "https://res.openai.azure.com/openai/v1/responses?api-version=v1", azure, map[string]string{"Api-Key": "sk-test", "Authorization": ""}},
		{"Azure behind a gateway", "https://gateway.example/azure/responses?api-version=2025-04-01-preview", dated, map[string]string{"Api-Key": "sk-test"}},
		{"Azure without a key", "https://res.openai.azure.com/openai/v1/responses?api-version=v1", signed, map[string]string{"Api-Key": "", "Authorization": "Bearer entra"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &respTransport{body: []byte("data: {\"type\":\"response.completed\"}\n\n")}
			if _, err := llm.Collect(respOpen(tr, c.o).Stream(t.Context(), respAsk(respModel()))); err != nil {
				t.Fatal(err)
			}
			if got := tr.request.URL.String(); got != c.url {
				t.Errorf("URL %s, want %s", got, c.url)
			}
			for name, want := range c.want {
				if got := tr.request.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestResponsesRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   llm.ErrorKind
		lost   bool
	}{
		{"key", 401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.ErrAuth, false},
		{"overflow", 400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.ErrContextOverflow, false},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.ErrUsageLimit, false},
		{"rate", 429, `{"error":{"message":"Rate limit reached.","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ErrRateLimit, false},
		{"policy", 400, `{"error":{"message":"Invalid prompt: flagged.","type":"invalid_request_error","code":"invalid_prompt"}}`, llm.ErrContentFilter, false},
		{"biology", 400, `{"error":{"message":"No.","code":"bio_policy"}}`, llm.ErrContentFilter, false},
		{"previous response", 400, `{"error":{"message":"Previous response with id 'resp_1' not found.","type":"invalid_request_error","code":"previous_response_not_found"}}`, llm.ErrInvalidRequest, true},
		{"stale item", 404, `{"error":{"message":"Item with id 'rs_0af' not found. Items are not persisted when store is set to false.","type":"invalid_request_error"}}`, llm.ErrInvalidRequest, true},
		{"zero retention", 400, `{"error":{"message":"Previous response cannot be used for this organization due to Zero Data Retention.","type":"invalid_request_error"}}`, llm.ErrInvalidRequest, true},
		{"server", 500, `{"error":{"message":"The server had an error.","type":"server_error"}}`, llm.ErrOverload, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &respTransport{status: c.status, body: []byte(c.body), header: http.Header{"Content-Type": {"application/json"}}}
			_, err := llm.Collect(respOpen(tr, openai.ResponsesOptions{}).Stream(t.Context(), respAsk(respModel())))
			if got := llm.KindOf(err); got != c.kind {
				t.Errorf("kind %s, want %s: %v", got, c.kind, err)
			}
			if got := openai.ChainLost(err); got != c.lost {
				t.Errorf("ChainLost = %v for %v", got, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %v", err)
			}
		})
	}
}

func TestResponsesUnsendable(t *testing.T) {
	bad := respAsk(respModel())
	bad.Tools = []llm.Tool{{Name: "read", Schema: json.RawMessage(`{`)}}
	badOutput := respAsk(respModel())
	badOutput.Output = json.RawMessage(`{`)
	noModel := respAsk(nil)
	noKey := openai.ResponsesOptions{Endpoint: wire.Endpoint{Key: func(context.Context) (string, error) { return "", errors.New("the key ring is locked") }}}
	for _, c := range []struct {
		name string
		o    openai.ResponsesOptions
		req  *llm.Request
		kind llm.ErrorKind
		want string
	}{
		{"no model", openai.ResponsesOptions{}, noModel, llm.ErrInvalidRequest, "the request names no model"},
		{"broken tool schema", openai.ResponsesOptions{}, bad, llm.ErrInvalidRequest, "openai: the schema of tool read is not valid JSON"},
		{"broken answer schema", openai.ResponsesOptions{}, badOutput, llm.ErrInvalidRequest, "openai: the schema of the answer is not valid JSON"},
		{
			"Azure without a URL",
			openai.ResponsesOptions{API: llm.APIAzureResponses},
			respAsk(respModel()), llm.ErrInvalidRequest,
			"openai: no base URL for Azure OpenAI: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL",
		},
		{"no key", noKey, respAsk(respModel()), llm.ErrAuth, "openai: the key ring is locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &respTransport{}
			_, err := llm.Collect(respOpen(tr, c.o).Stream(t.Context(), c.req))
			if llm.KindOf(err) != c.kind || err.Error() != c.want {
				t.Errorf("got %q (%s), want %q (%s)", err, llm.KindOf(err), c.want, c.kind)
			}
			if tr.request != nil {
				t.Error("a request went out")
			}
		})
	}
}
