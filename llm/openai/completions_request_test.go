package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// catcher keeps a request and answers it with a word.
type catcher struct {
	request *http.Request
	body    []byte
}

func (c *catcher) RoundTrip(r *http.Request) (*http.Response, error) {
	c.request = r
	c.body, _ = io.ReadAll(r.Body)
	answer := "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// sent is the request that a client with options o makes of req.
func sent(t *testing.T, o openai.CompletionsOptions, req llm.Request) (map[string]json.RawMessage, *catcher) {
	t.Helper()
	c := &catcher{}
	o.Client = &http.Client{Transport: c}
	if req.Model == nil {
		req.Model = &llm.Model{ID: "m", Provider: "p"}
	}
	if req.Messages == nil {
		req.Messages = []llm.Message{llm.UserText("hi")}
	}
	if _, err := llm.Collect(openai.NewCompletions(o).Stream(t.Context(), &req)); err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(c.body, &body); err != nil {
		t.Fatal(err)
	}
	return body, c
}

func at(baseURL string) openai.CompletionsOptions {
	return openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: baseURL}}
}

const (
	urlOpenAI     = ""
	urlAzure      = "https://res.openai.azure.com/openai/v1"
	urlOpenRouter = "https://openrouter.ai/api/v1"
	urlVercel     = "https://ai-gateway.vercel.sh/v1"
	urlDeepSeek   = "https://api.deepseek.com"
	urlXAI        = "https://api.x.ai/v1"
	urlZAI        = "https://api.z.ai/api/paas/v4"
	urlMistral    = "https://api.mistral.ai/v1"
	urlMoonshot   = "https://api.moonshot.ai/v1"
	urlQwen       = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
	urlMiniMax    = "https://api.minimax.io/v1"
	urlGroq       = "https://api.groq.com/openai/v1"
	urlLocal      = "http://127.0.0.1:8080/v1"
	urlOther      = "https://llm.example.com/v1"
)

// mistralID matches an id as the tests look for it, in its quotes.
var mistralID = regexp.MustCompile(`"[0-9a-zA-Z]{9}","type":"function"`)

// effort is a model that reasons by word.
func effort(id string) *llm.Model {
	return &llm.Model{ID: id, Provider: "p", Thinking: llm.ThinkingSupport{Mode: llm.ThinkingEffort, Levels: llm.Levels()[1:]}}
}

func always(id string) *llm.Model {
	m := effort(id)
	m.Thinking.Always = true
	return m
}

var (
	schemaRead = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"line":{"type":"integer"}},"required":["path"]}`)
	toolRead   = llm.Tool{Name: "read", Description: "Reads.", Schema: schemaRead}
	forcedCall = llm.ToolChoice{Mode: llm.ToolNamed, Name: "read"}
)

// TestCompletionsBody checks the keys that differ from endpoint to endpoint. "-"
// means that the key is not there.
func TestCompletionsBody(t *testing.T) {
	zero, half := 0.0, 0.5
	think := func(l llm.Level) llm.Request { return llm.Request{Thinking: llm.Thought{Level: l}} }
	with := func(m *llm.Model, r llm.Request) llm.Request { r.Model = m; return r }
	forced := func(m *llm.Model) llm.Request {
		r := with(m, think(llm.LevelHigh))
		r.Tools, r.ToolChoice = []llm.Tool{toolRead}, forcedCall
		return r
	}
	named := `{"type":"function","function":{"name":"read"}}`
	tests := []struct {
		name string
		url  string
		req  llm.Request
		want map[string]string
	}{
		{"plain", urlOther, llm.Request{MaxTokens: 9, Temperature: &zero, TopP: &half, Stop: []string{"a", "b"}, User: "u"}, map[string]string{
			"model": `"m"`, "stream": "true", "stream_options": `{"include_usage":true}`, "max_tokens": "9", "temperature": "0",
			"top_p": "0.5", "stop": `["a","b"]`, "user": `"u"`, "store": "-", "tools": "-", "max_completion_tokens": "-",
			"messages": `[{"role":"user","content":"hi"}]`,
		}},
		{"wire id", urlOther, llm.Request{Model: &llm.Model{ID: "mine", WireID: "theirs/x:free"}}, map[string]string{"model": `"theirs/x:free"`}},
		{"openai", urlOpenAI, llm.Request{MaxTokens: 9, System: "S", Cache: llm.CacheHint{Key: "k", Retention: llm.CacheLong}}, map[string]string{
			"max_completion_tokens": "9", "max_tokens": "-", "store": "false", "prompt_cache_key": `"k"`, "prompt_cache_retention": `"24h"`,
			"messages": `[{"role":"system","content":"S"},{"role":"user","content":"hi"}]`,
		}},
		{"openai reasons", urlOpenAI, with(effort("gpt-5"), llm.Request{System: "S", Temperature: &zero, Thinking: llm.Thought{Level: llm.LevelHigh}}), map[string]string{
			"messages":    `[{"role":"developer","content":"S"},{"role":"user","content":"hi"}]`,
			"temperature": "-", "reasoning_effort": `"high"`,
		}},
		{"openai off", urlOpenAI, with(effort("gpt-5.2"), llm.Request{Temperature: &zero, Thinking: llm.Thought{Level: llm.LevelOff}}), map[string]string{
			"reasoning_effort": `"none"`, "temperature": "0",
		}},
		{"openai cannot be off", urlOpenAI, with(always("gpt-5"), think(llm.LevelOff)), map[string]string{"reasoning_effort": `"minimal"`}},
		{"level left to the model", urlOpenAI, with(effort("gpt-5.2"), think(llm.LevelDefault)), map[string]string{"reasoning_effort": "-"}},
		{"no reasoning", urlOpenAI, think(llm.LevelHigh), map[string]string{"reasoning_effort": "-"}},
		{"effort by word", urlOther, with(effort("m"), llm.Request{Thinking: llm.Thought{Level: llm.LevelLow, Effort: "extreme"}}), map[string]string{"reasoning_effort": `"extreme"`}},
		{"off elsewhere", urlOther, with(effort("m"), think(llm.LevelOff)), map[string]string{"reasoning_effort": "-"}},
		{"azure", urlAzure, llm.Request{MaxTokens: 9, Cache: llm.CacheHint{Key: "k"}}, map[string]string{"max_completion_tokens": "9", "store": "-", "prompt_cache_key": `"k"`}},
		{"cache off", urlOpenAI, llm.Request{Cache: llm.CacheHint{Key: "k", Retention: llm.CacheOff}}, map[string]string{"prompt_cache_key": "-"}},

		{"openrouter", urlOpenRouter, with(effort("x/y"), think(llm.LevelXHigh)), map[string]string{"reasoning": `{"effort":"xhigh"}`, "reasoning_effort": "-"}},
		{"openrouter off", urlOpenRouter, with(effort("x/y"), think(llm.LevelOff)), map[string]string{"reasoning": `{"effort":"none"}`}},
		{"openrouter budget", urlOpenRouter, with(effort("x/y"), llm.Request{Thinking: llm.Thought{Level: llm.LevelLow, Budget: 777, Hidden: true}}), map[string]string{
			"reasoning": `{"max_tokens":777,"exclude":true}`,
		}},
		{"openrouter forced", urlOpenRouter, forced(effort("anthropic/claude-x")), map[string]string{"reasoning": "-", "tool_choice": named}},
		{"openrouter session, search", urlOpenRouter, llm.Request{Cache: llm.CacheHint{Key: "k"}, ServerTools: []llm.ServerTool{{Kind: llm.ServerWebSearch}}}, map[string]string{
			"session_id": `"k"`, "plugins": `[{"id":"web"}]`,
		}},
		{"vercel off", urlVercel, with(effort("x/y"), think(llm.LevelOff)), map[string]string{"reasoning": `{"enabled":false}`}},
		{"vercel claude", urlVercel, with(effort("anthropic/claude-x"), llm.Request{}), map[string]string{"providerOptions": `{"gateway":{"caching":"auto"}}`}},
		{"deepseek", urlDeepSeek, with(effort("deepseek-v4"), think(llm.LevelXHigh)), map[string]string{"thinking": `{"type":"enabled"}`, "reasoning_effort": `"max"`}},
		{"deepseek off", urlDeepSeek, with(effort("deepseek-v4"), think(llm.LevelOff)), map[string]string{"thinking": `{"type":"disabled"}`, "reasoning_effort": "-"}},
		{"deepseek forced", urlDeepSeek, forced(effort("deepseek-v4")), map[string]string{"thinking": `{"type":"disabled"}`, "reasoning_effort": "-", "tool_choice": named}},
		{"deepseek always, forced", urlDeepSeek, forced(always("deepseek-reasoner")), map[string]string{"thinking": "-", "tool_choice": "-"}},
		{"xai", urlXAI, with(effort("grok-4"), think(llm.LevelHigh)), map[string]string{"reasoning_effort": "-"}},
		{"zai", urlZAI, with(effort("glm-5"), think(llm.LevelLow)), map[string]string{"thinking": `{"type":"enabled"}`, "reasoning_effort": "-"}},
		{"moonshot", urlMoonshot, with(effort("kimi-k2.6"), llm.Request{Cache: llm.CacheHint{Key: "k"}, Thinking: llm.Thought{Level: llm.LevelOff}}), map[string]string{
			"thinking": `{"type":"disabled"}`, "prompt_cache_key": `"k"`,
		}},
		{"kimi always", urlMoonshot, with(always("kimi-k2.7-code"), think(llm.LevelHigh)), map[string]string{"thinking": "-"}},
		{"kimi forced", urlMoonshot, forced(effort("kimi-k2.6")), map[string]string{"thinking": `{"type":"disabled"}`, "tool_choice": named}},
		{"qwen", urlQwen, with(effort("qwen3-max"), llm.Request{Thinking: llm.Thought{Level: llm.LevelLow, Budget: 500}}), map[string]string{"enable_thinking": "true", "thinking_budget": "500"}},
		{"qwen off", urlQwen, with(effort("qwen3-max"), think(llm.LevelOff)), map[string]string{"enable_thinking": "false", "thinking_budget": "-"}},
		{"local qwen", urlLocal, with(effort("Qwen3-30B"), think(llm.LevelOff)), map[string]string{"chat_template_kwargs": `{"enable_thinking":false}`}},
		{"mistral", urlMistral, llm.Request{User: "u", MaxTokens: 3}, map[string]string{"user": "-", "max_tokens": "3"}},
		{"minimax", urlMiniMax, with(effort("MiniMax-M2.5"), think(llm.LevelHigh)), map[string]string{"store": "-", "reasoning_effort": "-"}},
		{"groq", urlGroq, llm.Request{MaxTokens: 3}, map[string]string{"max_completion_tokens": "3"}},

		{"tool", urlOther, llm.Request{Tools: []llm.Tool{{Name: "now"}}, SequentialTools: true}, map[string]string{
			"tools":       `[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}]`,
			"tool_choice": "-", "parallel_tool_calls": "false",
		}},
		{"none", urlOther, llm.Request{Tools: []llm.Tool{toolRead}, ToolChoice: llm.ToolChoice{Mode: llm.ToolNone}}, map[string]string{"tool_choice": `"none"`}},
		{"any", urlOther, llm.Request{Tools: []llm.Tool{toolRead}, ToolChoice: llm.ToolChoice{Mode: llm.ToolAny}}, map[string]string{"tool_choice": `"required"`}},
		{"choice without tools", urlOther, llm.Request{ToolChoice: forcedCall, SequentialTools: true}, map[string]string{"tool_choice": "-", "parallel_tool_calls": "-"}},
		{"strictness is said", urlOpenAI, llm.Request{Tools: []llm.Tool{{Name: "a", Schema: schemaRead}, {Name: "b", Schema: schemaRead, Strict: true}, {Name: "c", Schema: json.RawMessage(`{"type":"object","additionalProperties":{"type":"string"}}`), Strict: true}}}, map[string]string{
			"tools": `[{"type":"function","function":{"name":"a","parameters":` + string(schemaRead) + `,"strict":false}},` +
				`{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{"path":{"type":"string"},"line":{"type":["integer","null"]}},"required":["path","line"],"additionalProperties":false},"strict":true}},` +
				`{"type":"function","function":{"name":"c","parameters":{"type":"object","additionalProperties":{"type":"string"}},"strict":false}}]`,
		}},
		{"schema of the answer", urlOpenAI, llm.Request{Output: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"]}`)}, map[string]string{
			"response_format": `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`,
		}},
		{"loose schema of the answer", urlOpenAI, llm.Request{Output: schemaRead}, map[string]string{
			"response_format": `{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":` + string(schemaRead) + `}}`,
		}},
		{"extra", urlOther, llm.Request{Extra: map[string]json.RawMessage{"seed": json.RawMessage("7"), "model": json.RawMessage(`"other"`)}}, map[string]string{"seed": "7", "model": `"m"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, _ := sent(t, at(tt.url), tt.req)
			for key, want := range tt.want {
				got := "-"
				if raw, ok := body[key]; ok {
					got = string(raw)
				}
				if got != want {
					t.Errorf("%s\n got %s\nwant %s", key, got, want)
				}
			}
		})
	}
}

func TestCompletionsCompatKeys(t *testing.T) {
	no, yes := false, true
	forced := llm.Request{Model: effort("m"), Thinking: llm.Thought{Level: llm.LevelHigh}, Tools: []llm.Tool{toolRead}, ToolChoice: forcedCall}
	forbidden := forced
	forbidden.ToolChoice = llm.ToolChoice{Mode: llm.ToolNone}
	strict := llm.Request{Tools: []llm.Tool{toolRead, {Name: "x", Strict: true}}}
	tests := []struct {
		name   string
		url    string
		compat openai.Compat
		req    llm.Request
		want   map[string]string
	}{
		{"usage", urlOther, openai.Compat{SupportsUsageInStreaming: &no}, llm.Request{}, map[string]string{"stream_options": "-"}},
		{"max tokens", urlOpenAI, openai.Compat{MaxTokensField: openai.MaxTokens}, llm.Request{MaxTokens: 5}, map[string]string{"max_tokens": "5", "max_completion_tokens": "-"}},
		{"store, developer", urlOther, openai.Compat{SupportsStore: &yes, SupportsDeveloperRole: &yes}, llm.Request{Model: effort("m"), System: "S"}, map[string]string{
			"store": "false", "messages": `[{"role":"developer","content":"S"},{"role":"user","content":"hi"}]`,
		}},
		{"no tool choice", urlOther, openai.Compat{SupportsToolChoice: &no}, forced, map[string]string{"tool_choice": "-", "reasoning_effort": `"high"`}},
		{"no tool choice, none wanted", urlOther, openai.Compat{SupportsToolChoice: &no}, forbidden, map[string]string{"tool_choice": "-", "tools": "-"}},
		{"forced without reasoning", urlOther, openai.Compat{DisableReasoningOnForcedToolChoice: &yes}, forced, map[string]string{"reasoning_effort": "-"}},
		{"not forced", urlOther, openai.Compat{DisableReasoningOnForcedToolChoice: &yes}, forbidden, map[string]string{"reasoning_effort": `"high"`}},
		{"no effort", urlOther, openai.Compat{SupportsReasoningEffort: &no}, forced, map[string]string{"reasoning_effort": "-"}},
		{"effort map", urlOther, openai.Compat{ReasoningEffortMap: map[llm.Level]string{llm.LevelHigh: "ultra"}}, forced, map[string]string{"reasoning_effort": `"ultra"`}},
		{"format", urlOther, openai.Compat{ThinkingFormat: openai.ThinkingQwen}, forced, map[string]string{"enable_thinking": "true", "reasoning_effort": "-"}},
		{"all strict is all or none", urlOther, openai.Compat{SupportsStrictMode: &yes, ToolStrictMode: openai.StrictAll}, llm.Request{Tools: []llm.Tool{{Name: "x"}, {Name: "y", Schema: json.RawMessage(`{"type":"string"}`)}}}, map[string]string{
			"tools": `[{"type":"function","function":{"name":"x","parameters":{"type":"object","properties":{}},"strict":false}},{"type":"function","function":{"name":"y","parameters":{"type":"string"},"strict":false}}]`,
		}},
		{"all strict", urlOther, openai.Compat{SupportsStrictMode: &yes, ToolStrictMode: openai.StrictAll}, llm.Request{Tools: []llm.Tool{{Name: "x"}}}, map[string]string{
			"tools": `[{"type":"function","function":{"name":"x","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true}}]`,
		}},
		{"none strict", urlOpenAI, openai.Compat{ToolStrictMode: openai.StrictNone}, strict, map[string]string{
			"tools": `[{"type":"function","function":{"name":"read","description":"Reads.","parameters":` + string(schemaRead) + `,"strict":false}},{"type":"function","function":{"name":"x","parameters":{"type":"object","properties":{}},"strict":false}}]`,
		}},
		{"routing", urlOpenRouter, openai.Compat{OpenRouterRouting: &openai.Routing{Only: []string{"a"}, Order: []string{"b", "c"}}, VercelGatewayRouting: &openai.Routing{Only: []string{"x"}}}, llm.Request{}, map[string]string{
			"provider": `{"only":["a"],"order":["b","c"]}`, "providerOptions": "-",
		}},
		{"vercel routing", urlVercel, openai.Compat{OpenRouterRouting: &openai.Routing{Only: []string{"a"}}, VercelGatewayRouting: &openai.Routing{Order: []string{"x"}}}, llm.Request{}, map[string]string{
			"provider": "-", "providerOptions": `{"gateway":{"order":["x"]}}`,
		}},
		{"extra body", urlOther, openai.Compat{ExtraBody: map[string]any{"top_k": 5, "messages": "gone", "stream": false}}, llm.Request{}, map[string]string{
			"top_k": "5", "stream": "true", "messages": `[{"role":"user","content":"hi"}]`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := at(tt.url)
			o.Compat = tt.compat
			body, _ := sent(t, o, tt.req)
			for key, want := range tt.want {
				got := "-"
				if raw, ok := body[key]; ok {
					got = string(raw)
				}
				if got != want {
					t.Errorf("%s\n got %s\nwant %s", key, got, want)
				}
			}
		})
	}
}

func TestCompletionsHistory(t *testing.T) {
	model := effort("the-model")
	own := func(content ...llm.Block) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, API: llm.APICompletions, Provider: "p", Model: model.ID, Content: content}
	}
	call := llm.ToolCall{ID: "functions.read:0", Name: "read", Arguments: `{"path":"a"}`}
	history := func(thinking llm.Thinking) []llm.Message {
		return []llm.Message{llm.UserText("hi"), own(thinking, call), llm.ToolResultText(call, "text", false), llm.UserText("so?")}
	}
	plain := llm.Thinking{Text: "T"}
	yes := true
	calls := func(id string) string {
		return `"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]`
	}
	tool := func(id string) string { return `{"role":"tool","content":"text","tool_call_id":"` + id + `"}` }
	tests := []struct {
		name     string
		url      string
		model    string
		compat   openai.Compat
		messages []llm.Message
		want     string
	}{
		{"reasoning stays out", urlOther, "", openai.Compat{}, history(plain), `{"role":"assistant","content":null,` + calls("functions.read:0") + `},` + tool("functions.read:0")},
		{"reasoning goes back", urlOther, "", openai.Compat{RequiresReasoningContentForToolCalls: &yes}, history(plain), `{"role":"assistant","content":null,"reasoning_content":"T",` + calls("functions.read:0") + `},` + tool("functions.read:0")},
		{"in the field it came in", urlOther, "", openai.Compat{RequiresReasoningContentForToolCalls: &yes}, history(llm.Thinking{Text: "T", Signature: "reasoning_text"}), `{"role":"assistant","content":null,"reasoning_text":"T",` + calls("functions.read:0") + `},` + tool("functions.read:0")},
		{"in the field that is set", urlOther, "", openai.Compat{RequiresReasoningContentForToolCalls: &yes, ReasoningContentField: "reasoning"}, history(plain), `{"role":"assistant","content":null,"reasoning":"T",` + calls("functions.read:0") + `},` + tool("functions.read:0")},
		{
			"none to give back", urlOther, "",
			openai.Compat{RequiresReasoningContentForToolCalls: &yes, RequiresAssistantContentForToolCalls: &yes, RequiresToolResultName: &yes},
			history(llm.Thinking{}),
			`{"role":"assistant","content":"Calling tools.","reasoning_content":"Call read.",` + calls("functions.read:0") + `},{"role":"tool","content":"text","tool_call_id":"functions.read:0","name":"read"}`,
		},
		{
			"records go back as they came", urlOpenRouter, "",
			openai.Compat{},
			history(llm.Thinking{Text: "T", Signature: `[{"type":"reasoning.encrypted","data":"x","id":"r"}]`}),
			`{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":"r"}],` + calls("functions.read:0") + `},` + tool("functions.read:0"),
		},
		{
			"as text, ids for mistral, bridge", urlMistral, "",
			openai.Compat{RequiresAssistantAfterToolResult: &yes},
			history(plain),
			`{"role":"assistant","content":"<thinking>\nT\n</thinking>",` + calls("MISTRALID") + `},{"role":"tool","content":"text","tool_call_id":"MISTRALID","name":"read"},{"role":"assistant","content":"The tools have run."}`,
		},
		{
			"ids of the vendor", urlOpenAI, "",
			openai.Compat{},
			[]llm.Message{
				llm.UserText("hi"),
				own(llm.ToolCall{ID: "call_1|fc_" + strings.Repeat("x", 60), Name: "read", Arguments: `{"path":"a"}`}),
				{Role: llm.RoleToolResult, ToolCallID: "call_1|fc_" + strings.Repeat("x", 60), Content: []llm.Block{llm.Text{Text: "text"}}},
				llm.UserText("so?"),
			},
			`{"role":"assistant","content":null,` + calls("call_1") + `},` + tool("call_1"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := at(tt.url)
			o.Compat = tt.compat
			body, _ := sent(t, o, llm.Request{Model: model, Messages: tt.messages})
			want := `[{"role":"user","content":"hi"},` + tt.want + `,{"role":"user","content":"so?"}]`
			got := string(body["messages"])
			if id := mistralID.FindString(got); id != "" {
				got = strings.ReplaceAll(got, id[1:10], "MISTRALID")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestCompletionsForeignThinkingIsDropped(t *testing.T) {
	body, _ := sent(t, at(urlOther), llm.Request{Messages: []llm.Message{
		llm.UserText("hi"),
		{Role: llm.RoleAssistant, API: llm.APIAnthropic, Model: "claude", Content: []llm.Block{llm.Thinking{Text: "SECRET", Signature: "s"}, llm.Text{Text: "x"}}},
		llm.UserText("so?"),
	}})
	if strings.Contains(string(body["messages"]), "SECRET") {
		t.Errorf("%s", body["messages"])
	}
}

func TestCompletionsMedia(t *testing.T) {
	see := llm.Model{ID: "m", Provider: "p", Input: []llm.Modality{llm.ModalityImage, llm.ModalityDocument}}
	req := llm.Request{Model: &see, Messages: []llm.Message{{Role: llm.RoleUser, Content: []llm.Block{
		llm.Image{MIME: "image/png", Data: []byte("png")},
		llm.Image{URL: "https://example.com/x.png"},
		llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("pdf"), Text: "words"},
		llm.Document{Name: "a.csv", MIME: "text/csv", Data: []byte("1,2"), Text: "1,2"},
	}}}}
	images := `{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"image_url","image_url":{"url":"https://example.com/x.png"}},`
	csv := `{"type":"text","text":"<document name=\"a.csv\">\n1,2\n</document>"}`
	for url, pdf := range map[string]string{
		urlOpenAI: `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}},`,
		urlOther:  `{"type":"text","text":"<document name=\"a.pdf\">\nwords\n</document>"},`,
	} {
		body, _ := sent(t, at(url), req)
		want := `[{"role":"user","content":[` + images + pdf + csv + `]}]`
		if diff := cmp.Diff(want, string(body["messages"])); diff != "" {
			t.Errorf("%s: -want +got\n%s", url, diff)
		}
	}
	if d := req.Messages[0].Content[3].(llm.Document); len(d.Data) == 0 {
		t.Error("the caller's message was changed")
	}
}

// Each host gets the recordings that it takes, in the format's own form.
func TestCompletionsAudio(t *testing.T) {
	for _, tt := range []struct{ url, mime, want string }{
		{urlOpenAI, "audio/wav", `{"type":"input_audio","input_audio":{"data":"c291bmQ=","format":"wav"}}`},
		{urlOther, "audio/mpeg", `{"type":"input_audio","input_audio":{"data":"c291bmQ=","format":"mp3"}}`},
		{urlOpenAI, "audio/ogg", `[A recording was here: a. This model does not hear it.]`},
		{urlOpenRouter, "audio/ogg", `{"type":"input_audio","input_audio":{"data":"c291bmQ=","format":"ogg"}}`},
		{urlOpenRouter, "audio/webm", `[A recording was here: a. This model does not hear it.]`},
	} {
		for _, hears := range []bool{true, false} {
			m := llm.Model{ID: "m", Provider: "p", Input: []llm.Modality{llm.ModalityText, llm.ModalityDocument}}
			if hears {
				m.Input = append(m.Input, llm.ModalityAudio)
			}
			body, _ := sent(t, at(tt.url), llm.Request{Model: &m, Messages: []llm.Message{{Role: llm.RoleUser, Content: []llm.Block{llm.Document{Name: "a", MIME: tt.mime, Data: []byte("sound")}}}}})
			want := tt.want
			if !hears {
				want = "[A recording was here: a. This model does not hear it.]"
			}
			if !strings.Contains(string(body["messages"]), want) {
				t.Errorf("%s, %s, hears %v: %s", tt.url, tt.mime, hears, body["messages"])
			}
		}
	}
}

func TestCompletionsTextsWithoutParts(t *testing.T) {
	two := []llm.Message{{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "a"}, llm.Text{Text: "b"}}}}
	for url, want := range map[string]string{
		urlOther:  `[{"role":"user","content":"a\n\nb"}]`,
		urlOpenAI: `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`,
	} {
		if body, _ := sent(t, at(url), llm.Request{Messages: two}); string(body["messages"]) != want {
			t.Errorf("%s: %s", url, body["messages"])
		}
	}
}

func TestCompletionsBreakpoints(t *testing.T) {
	call := llm.ToolCall{ID: "c1", Name: "read", Arguments: `{}`}
	req := llm.Request{
		Model: effort("anthropic/claude-x"), System: "S", Cache: llm.CacheHint{Retention: llm.CacheLong},
		Messages: []llm.Message{
			llm.UserText("one"),
			{Role: llm.RoleAssistant, Content: []llm.Block{call}},
			llm.ToolResultText(call, "result", false),
			llm.UserText("two"),
		},
	}
	body, _ := sent(t, at(urlOpenRouter), req)
	mark := `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	want := `[{"role":"system","content":[{"type":"text","text":"S",` + mark + `}]},{"role":"user","content":"one"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]},` +
		`{"role":"tool","content":[{"type":"text","text":"result",` + mark + `}],"tool_call_id":"c1"},` +
		`{"role":"user","content":[{"type":"text","text":"two",` + mark + `}]}]`
	if diff := cmp.Diff(want, string(body["messages"])); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	req.Cache.Retention = llm.CacheOff
	if body, _ = sent(t, at(urlOpenRouter), req); bytes.Contains(body["messages"], []byte("cache_control")) {
		t.Error("cached though caching is off")
	}
}

func TestCompletionsKey(t *testing.T) {
	tests := []struct{ url, key, path, bearer, apiKey string }{
		{urlOpenAI, "sk", "https://api.openai.com/v1/chat/completions", "Bearer sk", ""},
		{urlLocal + "/", "", "http://127.0.0.1:8080/v1/chat/completions", "", ""},
		{urlAzure, "k", urlAzure + "/chat/completions", "", "k"},
		{urlAzure, "eyJhbGciOi", urlAzure + "/chat/completions", "Bearer eyJhbGciOi", ""},
	}
	for _, tt := range tests {
		o := at(tt.url)
		o.Key = func(context.Context) (string, error) { return tt.key, nil }
		_, c := sent(t, o, llm.Request{})
		h := c.request.Header
		if c.request.URL.String() != tt.path || h.Get("Authorization") != tt.bearer || h.Get("Api-Key") != tt.apiKey {
			t.Errorf("%+v: %s %v", tt, c.request.URL, h)
		}
	}
	o := at(urlOther)
	o.Key = func(context.Context) (string, error) { return "", errors.New("no login for p: run burin login p") }
	_, err := llm.Collect(openai.NewCompletions(o).Stream(t.Context(), &llm.Request{Model: effort("m")}))
	if llm.KindOf(err) != llm.ErrAuth || !strings.Contains(err.Error(), "burin login p") {
		t.Errorf("%v", err)
	}
}

func TestCompletionsBadRequests(t *testing.T) {
	for name, req := range map[string]*llm.Request{
		"no model":   {},
		"bad schema": {Model: effort("m"), Tools: []llm.Tool{{Name: "broken", Schema: json.RawMessage(`{`)}}},
	} {
		_, err := llm.Collect(openai.NewCompletions(at(urlOther)).Stream(t.Context(), req))
		if llm.KindOf(err) != llm.ErrInvalidRequest || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
