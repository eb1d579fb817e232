package bedrock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/wire"
)

// transport answers requests inside the process.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is an HTTP answer with the given head and body.
func answer(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

var eventStream = http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}

var fine = wire.AppendEventStream(nil, "messageStop", false, []byte(`{"stopReason":"end_turn"}`))

// sent has a client send req and returns the request with its body.
func sent(t testing.TB, o bedrock.Options, req *llm.Request) (*http.Request, []byte) {
	t.Helper()
	var got *http.Request
	var body []byte
	o.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got = r
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		return answer(r, 200, eventStream, fine), nil
	})}
	if o.Getenv == nil {
		o.Getenv = env("AWS_REGION", "us-east-1", "AWS_BEARER_TOKEN_BEDROCK", "token")
	}
	if _, err := llm.Collect(bedrock.New(o).Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	return got, body
}

// model is a model of which only the id, how it thinks and what it reads is known.
func model(id string, mode llm.ThinkingMode) *llm.Model {
	return &llm.Model{
		ID: id, Provider: "amazon-bedrock", API: llm.APIBedrock, Thinking: llm.ThinkingSupport{Mode: mode, Levels: llm.Levels()[1:]},
		Input: []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
	}
}

// part is the JSON of body at a path of keys and indexes, "" if there is none.
func part(t testing.TB, body []byte, keys ...any) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		switch key := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key < 0 {
				key += len(list)
			}
			if key < 0 || key >= len(list) {
				return ""
			}
			v = list[key]
		}
	}
	if v == nil {
		return ""
	}
	out, err := wire.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func number(f float64) *float64 { return &f }

func tool(name string) llm.Tool {
	return llm.Tool{Name: name, Description: "Does " + name + ".", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)}
}

// TestBody pins a whole body: what a request with all of it looks like.
func TestBody(t *testing.T) {
	m := *model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", llm.ThinkingBudget)
	m.MaxOutput = 64000
	req := &llm.Request{
		Model: &m, System: "Be <brief>.", Tools: []llm.Tool{tool("read")}, Stop: []string{"END"}, Thinking: llm.Thought{Level: llm.LevelLow},
		Metadata: map[string]string{"team": "core", "bad": "emoji 🦊"},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "Look."}, llm.Image{MIME: "image/jpeg", Data: []byte("jpg")}}},
			{Role: llm.RoleAssistant, API: llm.APIBedrock, Provider: m.Provider, Model: m.ID, Content: []llm.Block{
				llm.Thinking{Text: "Hm.", Signature: "sig"},
				llm.Thinking{Redacted: true, Signature: "cmVk"},
				llm.Text{Text: "Reading."},
				llm.ToolCall{ID: "a:1", Name: "read", Arguments: `{"a":"x"}`},
				llm.ToolCall{ID: "b", Name: "read", Arguments: `{ "a" : 2 }`},
			}},
			llm.ToolResultText(llm.ToolCall{ID: "b", Name: "read"}, "two", true),
			llm.ToolResultText(llm.ToolCall{ID: "a:1", Name: "read"}, "one", false),
			llm.UserText("Well?"),
		},
	}
	_, body := sent(t, bedrock.Options{}, req)
	want := `{"system":[{"text":"Be <brief>."},{"cachePoint":{"type":"default"}}],` +
		`"toolConfig":{"tools":[{"toolSpec":{"name":"read","description":"Does read.","inputSchema":{"json":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}}},{"cachePoint":{"type":"default"}}]},` +
		`"messages":[{"role":"user","content":[{"text":"Look."},{"image":{"format":"jpeg","source":{"bytes":"anBn"}}},{"cachePoint":{"type":"default"}}]},` +
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"sig"}}},{"reasoningContent":{"redactedContent":"cmVk"}},{"text":"Reading."},` +
		`{"toolUse":{"toolUseId":"a_1","name":"read","input":{"a":"x"}}},{"toolUse":{"toolUseId":"b","name":"read","input":{"a":2}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"a_1","content":[{"text":"one"}],"status":"success"}},{"toolResult":{"toolUseId":"b","content":[{"text":"two"}],"status":"error"}},{"text":"Well?"},{"cachePoint":{"type":"default"}}]}],` +
		`"inferenceConfig":{"maxTokens":64000,"stopSequences":["END"]},` +
		`"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":4096},"anthropic_beta":["interleaved-thinking-2025-05-14"]},` +
		`"requestMetadata":{"team":"core"}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReasoning pins how each family is told to think.
func TestReasoning(t *testing.T) {
	forced := llm.ToolChoice{Mode: llm.ToolAny}
	for _, tt := range []struct {
		id   string
		mode llm.ThinkingMode
		req  llm.Request
		want string
	}{
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", llm.ThinkingBudget, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}, Tools: []llm.Tool{tool("a")}}, `{"thinking":{"budget_tokens":24576,"type":"enabled"}}`},
		{"anthropic.claude-opus-4-5-20251101-v1:0", llm.ThinkingBudget, llm.Request{Thinking: llm.Thought{Budget: 2000}}, `{"thinking":{"budget_tokens":2000,"type":"enabled"}}`},
		{"anthropic.claude-opus-4-5-20251101-v1:0", llm.ThinkingBudget, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}, MaxTokens: 3000}, `{"thinking":{"budget_tokens":1976,"type":"enabled"}}`},
		{"anthropic.claude-opus-4-5-20251101-v1:0", llm.ThinkingBudget, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}, MaxTokens: 2000}, ``},
		{"anthropic.claude-opus-4-5-20251101-v1:0", llm.ThinkingBudget, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}, Tools: []llm.Tool{tool("a")}, ToolChoice: forced}, ``},
		{"anthropic.claude-opus-4-5-20251101-v1:0", llm.ThinkingBudget, llm.Request{Thinking: llm.Thought{Level: llm.LevelOff}}, ``},
		{"global.anthropic.claude-opus-4-6-v1", llm.ThinkingAdaptive, llm.Request{Thinking: llm.Thought{Level: llm.LevelMinimal}}, `{"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}`},
		{"global.anthropic.claude-opus-4-6-v1", llm.ThinkingAdaptive, llm.Request{Thinking: llm.Thought{Effort: "max"}}, `{"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}`},
		{"global.anthropic.claude-opus-4-7", llm.ThinkingAdaptive, llm.Request{Thinking: llm.Thought{Level: llm.LevelXHigh}}, `{"output_config":{"effort":"xhigh"},"thinking":{"display":"summarized","type":"adaptive"}}`},
		{"global.anthropic.claude-opus-4-7", llm.ThinkingAdaptive, llm.Request{Thinking: llm.Thought{Level: llm.LevelLow, Hidden: true}}, `{"output_config":{"effort":"low"},"thinking":{"display":"omitted","type":"adaptive"}}`},
		{"us.amazon.nova-2-lite-v1:0", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelMedium}}, `{"reasoningConfig":{"maxReasoningEffort":"medium","type":"enabled"}}`},
		{"us.amazon.nova-2-lite-v1:0", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelOff}}, ``},
		{"openai.gpt-oss-120b-1:0", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelXHigh}}, `{"reasoning_effort":"high"}`},
		{"openai.gpt-5.6-sol", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelXHigh}}, `{"reasoning":{"effort":"xhigh"}}`},
		{"openai.gpt-5.6-sol", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelOff}}, `{"reasoning":{"effort":"none"}}`},
		{"qwen.qwen3-32b-v1:0", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelMinimal}}, `{"reasoning_effort":"low"}`},
		{"deepseek.v3-v1:0", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}}, `{"reasoning_effort":"high"}`},
		{"us.deepseek.r1-v1:0", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}}, ``},
		{"moonshotai.kimi-k2.5", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}}, `{"reasoning_effort":"high"}`},
		{"zai.glm-5", llm.ThinkingEffort, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}}, `{"reasoning_config":"high"}`},
		{"meta.llama4-maverick-17b-instruct-v1:0", llm.ThinkingNone, llm.Request{Thinking: llm.Thought{Level: llm.LevelHigh}}, ``},
	} {
		tt.req.Model = model(tt.id, tt.mode)
		tt.req.Messages = []llm.Message{llm.UserText("Hi.")}
		_, body := sent(t, bedrock.Options{}, &tt.req)
		if got := part(t, body, "additionalModelRequestFields"); got != tt.want {
			t.Errorf("%s %+v:\ngot  %s\nwant %s", tt.id, tt.req.Thinking, got, tt.want)
		}
	}
}

// TestSampling pins which sampling parameters pass beside thinking.
func TestSampling(t *testing.T) {
	for _, tt := range []struct {
		id    string
		mode  llm.ThinkingMode
		level llm.Level
		want  string
	}{
		{"anthropic.claude-sonnet-4-5-v1:0", llm.ThinkingBudget, llm.LevelLow, `{"maxTokens":9000}`},
		{"anthropic.claude-sonnet-4-5-v1:0", llm.ThinkingBudget, llm.LevelOff, `{"maxTokens":9000,"temperature":0}`},
		{"anthropic.claude-opus-4-7", llm.ThinkingAdaptive, llm.LevelOff, `{"maxTokens":9000}`},
		{"amazon.nova-2-lite-v1:0", llm.ThinkingEffort, llm.LevelHigh, ``},
		{"amazon.nova-2-lite-v1:0", llm.ThinkingEffort, llm.LevelLow, `{"maxTokens":9000,"temperature":0,"topP":0.5}`},
		{"qwen.qwen3-32b-v1:0", llm.ThinkingEffort, llm.LevelHigh, `{"maxTokens":9000,"temperature":0,"topP":0.5}`},
	} {
		_, body := sent(t, bedrock.Options{}, &llm.Request{
			Model: model(tt.id, tt.mode), Messages: []llm.Message{llm.UserText("Hi.")}, Thinking: llm.Thought{Level: tt.level},
			MaxTokens: 9000, Temperature: number(0), TopP: number(0.5),
		})
		if got := part(t, body, "inferenceConfig"); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.id, tt.level, got, tt.want)
		}
	}
}

// TestRunningTurn does not switch thinking on within a turn that began without.
func TestRunningTurn(t *testing.T) {
	m := model("anthropic.claude-sonnet-4-5-v1:0", llm.ThinkingBudget)
	call := llm.ToolCall{ID: "a", Name: "read", Arguments: "{}"}
	req := &llm.Request{Model: m, Thinking: llm.Thought{Level: llm.LevelLow}, Messages: []llm.Message{
		llm.UserText("Go."), {Role: llm.RoleAssistant, API: llm.APIAnthropic, Content: []llm.Block{call}}, llm.ToolResultText(call, "ok", false),
	}}
	_, body := sent(t, bedrock.Options{}, req)
	if got := part(t, body, "additionalModelRequestFields"); got != "" {
		t.Errorf("thinking was switched on: %s", got)
	}
	req.Messages = append(req.Messages, llm.UserText("Next."))
	if _, body = sent(t, bedrock.Options{}, req); part(t, body, "additionalModelRequestFields") == "" {
		t.Error("the next turn does not think")
	}
}

func TestCachePoints(t *testing.T) {
	for _, tt := range []struct {
		name, id  string
		retention llm.CacheRetention
		force     bool
		points    int // in the whole body
		tools     bool
		long      bool
	}{
		{"claude 4.5", "us.anthropic.claude-haiku-4-5-20251001-v1:0", llm.CacheLong, false, 4, true, true},
		{"short", "us.anthropic.claude-haiku-4-5-20251001-v1:0", llm.CacheShort, false, 4, true, false},
		{"off", "us.anthropic.claude-haiku-4-5-20251001-v1:0", llm.CacheOff, true, 0, false, false},
		{"no hour before 4.5", "anthropic.claude-3-7-sonnet-20250219-v1:0", llm.CacheLong, false, 4, true, false},
		{"3.5 v2", "anthropic.claude-3-5-sonnet-20241022-v2:0", "", false, 4, true, false},
		{"3.5 v1", "anthropic.claude-3-5-sonnet-20240620-v1:0", "", false, 0, false, false},
		{"3.5 haiku", "anthropic.claude-3-5-haiku-20241022-v1:0", "", false, 4, true, false},
		{"3", "anthropic.claude-3-haiku-20240307-v1:0", "", false, 0, false, false},
		{"2", "anthropic.claude-v2:1", "", false, 0, false, false},
		{"nova", "us.amazon.nova-pro-v1:0", "", false, 3, false, false},
		{"llama", "meta.llama3-70b-instruct-v1:0", "", false, 0, false, false},
		{"forced", "meta.llama3-70b-instruct-v1:0", llm.CacheLong, true, 4, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, body := sent(t, bedrock.Options{ForceCache: tt.force}, &llm.Request{
				Model: model(tt.id, llm.ThinkingNone), System: "s", Tools: []llm.Tool{tool("a")}, Cache: llm.CacheHint{Retention: tt.retention},
				Messages: []llm.Message{llm.UserText("1"), llm.AssistantText("2"), llm.UserText("3"), llm.AssistantText("4"), llm.UserText("5")},
			})
			if got := strings.Count(string(body), `"cachePoint"`); got != tt.points {
				t.Errorf("%d cache points, want %d: %s", got, tt.points, body)
			}
			if got := part(t, body, "toolConfig", "tools", -1, "cachePoint") != ""; got != tt.tools {
				t.Errorf("among the tools: %v", got)
			}
			if got := strings.Contains(string(body), `"ttl":"1h"`); got != tt.long {
				t.Errorf("an hour: %v", got)
			}
			if tt.points > 0 && (part(t, body, "messages", 4, "content", -1, "cachePoint") == "" || part(t, body, "messages", 2, "content", -1, "cachePoint") == "" || part(t, body, "messages", 0, "content", -1, "cachePoint") != "") {
				t.Errorf("not behind the last two user messages: %s", body)
			}
		})
	}
	// An inference profile of one's own is known by its display name only.
	m := model("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", llm.ThinkingNone)
	m.Name = "Claude Sonnet 4.5"
	if _, body := sent(t, bedrock.Options{}, &llm.Request{Model: m, System: "s", Messages: []llm.Message{llm.UserText("1")}}); !strings.Contains(string(body), "cachePoint") {
		t.Errorf("the named profile is not cached: %s", body)
	}
}

func TestToolChoice(t *testing.T) {
	call := llm.ToolCall{ID: "a", Name: "grep", Arguments: "{}"}
	used := []llm.Message{llm.UserText("Go."), {Role: llm.RoleAssistant, Content: []llm.Block{call}}, llm.ToolResultText(call, "ok", false)}
	plain := []llm.Message{llm.UserText("Go.")}
	two := []llm.Tool{tool("read"), tool("write")}
	claude, qwen := "anthropic.claude-sonnet-4-5-v1:0", "qwen.qwen3-32b-v1:0"
	for _, tt := range []struct {
		name, id string
		tools    []llm.Tool
		history  []llm.Message
		choice   llm.ToolChoice
		want     string
		names    []string
	}{
		{"auto", claude, two, plain, llm.ToolChoice{}, ``, []string{"read", "write"}},
		{"any", claude, two, plain, llm.ToolChoice{Mode: llm.ToolAny}, `{"any":{}}`, []string{"read", "write"}},
		{"named", claude, two, plain, llm.ToolChoice{Mode: llm.ToolNamed, Name: "write"}, `{"tool":{"name":"write"}}`, []string{"read", "write"}},
		{"named without the word", qwen, two, plain, llm.ToolChoice{Mode: llm.ToolNamed, Name: "write"}, `{"any":{}}`, []string{"write"}},
		{"none", claude, two, plain, llm.ToolChoice{Mode: llm.ToolNone}, ``, nil},
		{"none with history", claude, two, used, llm.ToolChoice{Mode: llm.ToolNone}, ``, []string{"read", "write"}},
		{"history alone", claude, nil, used, llm.ToolChoice{}, ``, []string{"grep"}},
		{"nothing", claude, nil, plain, llm.ToolChoice{Mode: llm.ToolAny}, ``, nil},
	} {
		_, body := sent(t, bedrock.Options{}, &llm.Request{Model: model(tt.id, llm.ThinkingNone), Tools: tt.tools, Messages: tt.history, ToolChoice: tt.choice, Cache: llm.CacheHint{Retention: llm.CacheOff}})
		if got := part(t, body, "toolConfig", "toolChoice"); got != tt.want {
			t.Errorf("%s: choice %s, want %s", tt.name, got, tt.want)
		}
		var names []string
		for i := 0; part(t, body, "toolConfig", "tools", i) != ""; i++ {
			names = append(names, strings.Trim(part(t, body, "toolConfig", "tools", i, "toolSpec", "name"), `"`))
		}
		if !slices.Equal(names, tt.names) {
			t.Errorf("%s: tools %q, want %q", tt.name, names, tt.names)
		}
	}
	// Claude that always thinks cannot be forced.
	always := model("anthropic.claude-opus-4-7", llm.ThinkingAdaptive)
	always.Thinking.Always = true
	_, body := sent(t, bedrock.Options{}, &llm.Request{Model: always, Tools: two, Messages: plain, ToolChoice: llm.ToolChoice{Mode: llm.ToolAny}})
	if got := part(t, body, "toolConfig", "toolChoice"); got != "" {
		t.Errorf("forced although thinking: %s", got)
	}
	// Nova takes three keys at the top of a schema.
	_, body = sent(t, bedrock.Options{}, &llm.Request{Model: model("amazon.nova-pro-v1:0", ""), Tools: two, Messages: plain})
	if got := part(t, body, "toolConfig", "tools", 0, "toolSpec", "inputSchema", "json"); got != `{"properties":{"a":{"type":"string"}},"type":"object"}` {
		t.Errorf("schema for Nova: %s", got)
	}
}

func TestDocuments(t *testing.T) {
	pdf := func(name string) llm.Document {
		return llm.Document{Name: name, MIME: "application/pdf", Data: []byte("%PDF")}
	}
	m := model("anthropic.claude-sonnet-4-5-v1:0", llm.ThinkingNone)
	doc := func(content ...llm.Block) []byte {
		_, body := sent(t, bedrock.Options{}, &llm.Request{Model: m, Messages: []llm.Message{{Role: llm.RoleUser, Content: content}}, Cache: llm.CacheHint{Retention: llm.CacheOff}})
		return body
	}
	body := doc(pdf("dir/my_report  (v2).pdf"), pdf("dir/my report (v2)/pdf"), pdf("日本語"))
	for i, want := range []string{"dir my report (v2) pdf", "dir my report (v2) pdf (2)", "document"} {
		if got := part(t, body, "messages", 0, "content", i, "document", "name"); got != `"`+want+`"` {
			t.Errorf("name %s, want %q", got, want)
		}
		if got := part(t, body, "messages", 0, "content", i, "document", "citations"); got != `{"enabled":true}` {
			t.Errorf("citations %s", got)
		}
	}
	if got := part(t, body, "messages", 0, "content", 3, "text"); got == "" {
		t.Errorf("no text beside the documents: %s", body)
	}
	if long := part(t, doc(pdf(strings.Repeat("x", 500))), "messages", 0, "content", 0, "document", "name"); len(long) > 202 {
		t.Errorf("a name of %d characters", len(long))
	}
	sheet := llm.Document{Name: "t", MIME: "application/vnd.ms-excel; charset=binary", Data: []byte("x")}
	body = doc(pdf("a"), sheet)
	if part(t, body, "messages", 0, "content", 1, "document", "format") != `"xls"` || strings.Contains(string(body), "citations") {
		t.Errorf("with a table: %s", body)
	}
	body = doc(llm.Document{Name: "a", MIME: "application/pdf", URL: "s3://bucket/a.pdf"}, llm.Image{MIME: "image/png", URL: "s3://bucket/a.png"})
	if part(t, body, "messages", 0, "content", 0, "document", "source") != `{"s3Location":{"uri":"s3://bucket/a.pdf"}}` || part(t, body, "messages", 0, "content", 1, "image", "source") != `{"s3Location":{"uri":"s3://bucket/a.png"}}` {
		t.Errorf("on S3: %s", body)
	}
	body = doc(llm.Document{Name: "a", MIME: "application/zip", Data: []byte("x"), Text: "inside"}, llm.Image{MIME: "image/tiff", Data: []byte("x")}, llm.Image{MIME: "image/png", URL: "https://x/y.png"})
	for i, want := range []string{"inside", "image/tiff", "https://x/y.png"} {
		if got := part(t, body, "messages", 0, "content", i, "text"); !strings.Contains(got, want) {
			t.Errorf("block %d is %s, want text with %q", i, got, want)
		}
	}
}

// TestForeignReasoning returns reasoning only where the vendor takes it.
func TestForeignReasoning(t *testing.T) {
	for id, want := range map[string]string{
		"anthropic.claude-sonnet-4-5-v1:0": `{"text":"b"}`, // unsigned
		"openai.gpt-oss-120b-1:0":          `{"reasoningContent":{"reasoningText":{"text":"a"}}}`,
		"us.deepseek.r1-v1:0":              `{"text":"b"}`,
	} {
		m := model(id, llm.ThinkingEffort)
		_, body := sent(t, bedrock.Options{}, &llm.Request{Model: m, Messages: []llm.Message{
			llm.UserText("1"),
			{Role: llm.RoleAssistant, API: llm.APIBedrock, Provider: m.Provider, Model: id, Content: []llm.Block{llm.Thinking{Text: "a"}, llm.Text{Text: "b"}}},
			llm.UserText("2"),
		}})
		if got := part(t, body, "messages", 1, "content", 0); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestExtras(t *testing.T) {
	o := bedrock.Options{Endpoint: wire.Endpoint{Transform: wire.Transform{ExtraBody: map[string]any{
		"serviceTier": map[string]string{"type": "flex"}, "additionalModelRequestFields": map[string]any{"top_k": 5},
	}}}}
	_, body := sent(t, o, &llm.Request{
		Model: model("anthropic.claude-sonnet-4-5-v1:0", llm.ThinkingBudget), Messages: []llm.Message{llm.UserText("Hi.")},
		Tools: []llm.Tool{tool("a")}, Thinking: llm.Thought{Level: llm.LevelLow},
		Output: json.RawMessage(`{"type":"object"}`),
		Extra: map[string]json.RawMessage{
			"performanceConfig":            json.RawMessage(`{"latency":"optimized"}`),
			"guardrailConfig":              json.RawMessage(`{"guardrailIdentifier":"g"}`),
			"messages":                     json.RawMessage(`[]`),
			"additionalModelRequestFields": json.RawMessage(`{"anthropic_beta":["context-1m-2025-08-07"]}`),
		},
	})
	for key, want := range map[string]string{
		"performanceConfig":            `{"latency":"optimized"}`,
		"guardrailConfig":              `{"guardrailIdentifier":"g"}`,
		"serviceTier":                  `{"type":"flex"}`,
		"additionalModelRequestFields": `{"anthropic_beta":["interleaved-thinking-2025-05-14","context-1m-2025-08-07"],"thinking":{"budget_tokens":4096,"type":"enabled"},"top_k":5}`,
		"outputConfig":                 `{"textFormat":{"structure":{"jsonSchema":{"name":"answer","schema":"{\"type\":\"object\"}"}},"type":"json_schema"}}`,
	} {
		if got := part(t, body, key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if part(t, body, "messages", 0) == "" {
		t.Error("an extra replaced the conversation")
	}
	_, err := llm.Collect(bedrock.New(bedrock.Options{}).Stream(t.Context(), &llm.Request{
		Model: model("x", ""), Messages: []llm.Message{llm.UserText("Hi.")}, Extra: map[string]json.RawMessage{"additionalModelRequestFields": json.RawMessage(`[1]`)},
	}))
	if llm.KindOf(err) != llm.ErrInvalidRequest {
		t.Errorf("a list for an object: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	const arn = "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
	for _, tt := range []struct{ base, region, model, want string }{
		{"", "", "amazon.nova-pro-v1:0", "https://bedrock-runtime.ap-south-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream"},
		{"", "eu-west-1", "m", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream"},
		{"us-west-2", "", "m", "https://bedrock-runtime.us-west-2.amazonaws.com/model/m/converse-stream"},
		{"bedrock:us-gov-west-1", "", "m", "https://bedrock-runtime.us-gov-west-1.amazonaws.com/model/m/converse-stream"},
		{"cn-north-1", "", "m", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse-stream"},
		{"https://bedrock-runtime.us-west-2.amazonaws.com/", "", "m", "https://bedrock-runtime.us-west-2.amazonaws.com/model/m/converse-stream"},
		{"https://bedrock.us-west-2.amazonaws.com", "", "m", "https://bedrock-runtime.us-west-2.amazonaws.com/model/m/converse-stream"},
		{"https://gateway.example/aws", "", "a/b c~", "https://gateway.example/aws/model/a%2Fb%20c~/converse-stream"},
		{"", "", arn, "https://bedrock-runtime.eu-west-3.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-3%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"},
		{"", "us-west-1", arn, "https://bedrock-runtime.us-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-3%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"},
	} {
		o := bedrock.Options{Endpoint: wire.Endpoint{BaseURL: tt.base}, Region: tt.region, Getenv: env("AWS_REGION", "ap-south-1", "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "s")}
		r, _ := sent(t, o, &llm.Request{Model: model(tt.model, ""), Messages: []llm.Message{llm.UserText("Hi.")}})
		if got := r.URL.String(); got != tt.want {
			t.Errorf("%q: got  %s\nwant %s", tt.base, got, tt.want)
		}
		if accept := r.Header.Get("Accept"); accept != "application/vnd.amazon.eventstream" {
			t.Errorf("accept %q", accept)
		}
		if region := strings.Split(r.URL.Host, "."); strings.HasSuffix(r.URL.Host, "amazonaws.com") && !strings.Contains(r.Header.Get("Authorization"), "/"+region[1]+"/bedrock/") {
			t.Errorf("%s is signed as %s", r.URL.Host, r.Header.Get("Authorization"))
		}
	}
}

func TestKeys(t *testing.T) {
	req := &llm.Request{Model: model("m", ""), Messages: []llm.Message{llm.UserText("Hi.")}}
	key := func(k string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return k, nil }
	}
	for _, tt := range []struct {
		key    string
		getenv func(string) string
		want   string
	}{
		{"mine", env("AWS_BEARER_TOKEN_BEDROCK", "env"), "Bearer mine"},
		{"", env("AWS_BEARER_TOKEN_BEDROCK", "env"), "Bearer env"},
		{"", env("AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "s"), "AWS4-HMAC-SHA256 Credential=AKID/"},
	} {
		r, _ := sent(t, bedrock.Options{Endpoint: wire.Endpoint{Key: key(tt.key)}, Getenv: tt.getenv}, req)
		if got := r.Header.Get("Authorization"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("Authorization %q, want %q", got, tt.want)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, err := llm.Collect(bedrock.New(bedrock.Options{Profile: "none-such"}).Stream(t.Context(), req))
	if llm.KindOf(err) != llm.ErrAuth || !strings.Contains(err.Error(), "none-such") {
		t.Errorf("without credentials: %v", err)
	}
}
