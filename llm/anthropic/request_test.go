package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
)

func TestThinking(t *testing.T) {
	half := 0.5
	type object = map[string]any
	cases := []struct {
		name  string
		model llm.Model
		set   func(*llm.Request)
		want  object // of the keys below
	}{
		{"default is left to the vendor", budgeted, func(r *llm.Request) {}, object{"max_tokens": 64000.0, "temperature": 0.5}},
		{
			"off is said", budgeted, func(r *llm.Request) { r.Thinking.Level = llm.LevelOff },
			object{"max_tokens": 64000.0, "temperature": 0.5, "thinking": object{"type": "disabled"}},
		},
		{
			"a level means a budget and no temperature", budgeted, func(r *llm.Request) { r.Thinking.Level = llm.LevelLow },
			object{"max_tokens": 64000.0, "thinking": object{"type": "enabled", "budget_tokens": 4096.0}},
		},
		{
			"max_tokens is raised above the budget", budgeted, func(r *llm.Request) { r.Thinking.Level, r.MaxTokens = llm.LevelLow, 1000 },
			object{"max_tokens": 5096.0, "thinking": object{"type": "enabled", "budget_tokens": 4096.0}},
		},
		{
			"the answer keeps a little room", budgeted, func(r *llm.Request) { r.Thinking.Budget, r.MaxTokens = 2000, 10 },
			object{"max_tokens": 2500.0, "thinking": object{"type": "enabled", "budget_tokens": 2000.0}},
		},
		{
			"a budget below the least", budgeted, func(r *llm.Request) { r.Thinking.Budget = 5 },
			object{"max_tokens": 64000.0, "thinking": object{"type": "enabled", "budget_tokens": 1024.0}},
		},
		{
			"the model's limit wins over the budget", budgeted, func(r *llm.Request) { r.Thinking.Budget = 90000 },
			object{"max_tokens": 64000.0, "thinking": object{"type": "enabled", "budget_tokens": 63500.0}},
		},
		{
			"hidden", budgeted, func(r *llm.Request) { r.Thinking = llm.Thought{Level: llm.LevelLow, Hidden: true} },
			object{"max_tokens": 64000.0, "thinking": object{"type": "enabled", "budget_tokens": 4096.0, "display": "omitted"}},
		},
		{
			"adaptive", adaptive, func(r *llm.Request) { r.Thinking.Level = llm.LevelMedium },
			object{"max_tokens": 128000.0, "thinking": object{"type": "adaptive", "display": "summarized"}, "output_config": object{"effort": "medium"}},
		},
		{
			"adaptive with the vendor's word", adaptive, func(r *llm.Request) { r.Thinking.Level = llm.LevelXHigh },
			object{"max_tokens": 128000.0, "thinking": object{"type": "adaptive", "display": "summarized"}, "output_config": object{"effort": "max"}},
		},
		{
			"adaptive at the lowest", adaptive, func(r *llm.Request) { r.Thinking.Level = llm.LevelMinimal },
			object{"max_tokens": 128000.0, "thinking": object{"type": "adaptive", "display": "summarized"}, "output_config": object{"effort": "low"}},
		},
		{
			"adaptive with a given word, hidden", adaptive, func(r *llm.Request) { r.Thinking = llm.Thought{Effort: "xhigh", Hidden: true} },
			object{"max_tokens": 128000.0, "thinking": object{"type": "adaptive", "display": "omitted"}, "output_config": object{"effort": "xhigh"}},
		},
		{
			"a model that does not reason",
			llm.Model{ID: "m", MaxOutput: 4096},
			func(r *llm.Request) { r.Thinking.Level, r.MaxTokens = llm.LevelHigh, 9000 },
			object{"max_tokens": 4096.0, "temperature": 0.5},
		},
		{"nothing known", llm.Model{ID: "m"}, func(r *llm.Request) {}, object{"max_tokens": 8192.0, "temperature": 0.5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Model, req.Temperature = &c.model, &half
			c.set(req)
			body := asked(t, anthropic.Options{}, req)
			got := object{}
			for _, k := range []string{"max_tokens", "temperature", "top_p", "thinking", "output_config"} {
				if v, ok := body[k]; ok {
					got[k] = v
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestThinkingIsNotBegunInTheMiddleOfATurn(t *testing.T) {
	call := llm.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}
	foreign := llm.Message{Role: llm.RoleAssistant, API: llm.APIResponses, Provider: "openai", Model: "gpt", Content: []llm.Block{call}}
	own := llm.Message{
		Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: budgeted.ID,
		Content: []llm.Block{llm.Thinking{Text: "hm", Signature: "sig"}, call},
	}
	result := llm.ToolResultText(call, "text", false)
	cases := []struct {
		name    string
		history []llm.Message
		reasons bool
	}{
		{"another model called the tool", []llm.Message{llm.UserText("go"), foreign, result}, false},
		{"this model did", []llm.Message{llm.UserText("go"), own, result}, true},
		{"the user adds a word", []llm.Message{llm.UserText("go"), foreign, result, llm.UserText("and?")}, false},
		{"after the turn", []llm.Message{llm.UserText("go"), foreign, result, llm.AssistantText("done"), llm.UserText("and?")}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Messages, req.Thinking.Level = c.history, llm.LevelLow
			_, reasons := asked(t, anthropic.Options{}, req)["thinking"]
			if reasons != c.reasons {
				t.Errorf("thinking sent: %v, want %v", reasons, c.reasons)
			}
		})
	}
}

func TestSampling(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	cases := []struct {
		name              string
		model             llm.Model
		temperature, topP *float64
		want              string
	}{
		{"zero is sent", budgeted, f(0), nil, `"temperature":0,`},
		{"one of the two", budgeted, f(0.2), f(0.9), `"temperature":0.2,`},
		{"top_p alone", budgeted, nil, f(0.9), `"top_p":0.9,`},
		{"too hot", budgeted, f(1.7), nil, `"temperature":1,`},
		{"refused by newer models", adaptive, f(0.2), f(0.9), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Model, req.Temperature, req.TopP = &c.model, c.temperature, c.topP
			body := string(sends(t, anthropic.Options{}, req).sent)
			got := ""
			if i := strings.Index(body, `"temperature"`); i >= 0 {
				got += body[i : i+strings.Index(body[i:], ",")+1]
			}
			if i := strings.Index(body, `"top_p"`); i >= 0 {
				got += body[i : i+strings.Index(body[i:], ",")+1]
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestToolChoice(t *testing.T) {
	named := llm.ToolChoice{Mode: llm.ToolNamed, Name: "read"}
	cases := []struct {
		name       string
		choice     llm.ToolChoice
		sequential bool
		level      llm.Level
		want       string
	}{
		{"auto", llm.ToolChoice{}, false, "", `null`},
		{"none", llm.ToolChoice{Mode: llm.ToolNone}, true, "", `{"type":"none"}`},
		{"any", llm.ToolChoice{Mode: llm.ToolAny}, false, "", `{"type":"any"}`},
		{"named, one at a time", named, true, "", `{"disable_parallel_tool_use":true,"name":"read","type":"tool"}`},
		{"one at a time", llm.ToolChoice{}, true, "", `{"disable_parallel_tool_use":true,"type":"auto"}`},
		{"forced while reasoning", named, false, llm.LevelHigh, `null`},
		{"forced while reasoning, one at a time", named, true, llm.LevelHigh, `{"disable_parallel_tool_use":true,"type":"auto"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.ToolChoice, req.SequentialTools, req.Thinking.Level = c.choice, c.sequential, c.level
			got, _ := json.Marshal(asked(t, anthropic.Options{}, req)["tool_choice"])
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	t.Run("no tools, but calls in the history", func(t *testing.T) {
		call := llm.ToolCall{ID: "c", Name: "write", Arguments: "{}"}
		req := ask()
		req.Tools = nil
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{call}}, llm.ToolResultText(call, "ok", false))
		body := string(sends(t, anthropic.Options{}, req).sent)
		for _, want := range []string{`"tool_choice":{"type":"none"}`, `"tools":[{"name":"write","input_schema":{"type":"object","properties":{}}`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s is missing in %s", want, body)
			}
		}
	})
}

func TestStrictTools(t *testing.T) {
	strict := func(schema string) llm.Tool {
		return llm.Tool{Name: "t", Schema: json.RawMessage(schema), Strict: true}
	}
	cases := []struct {
		name   string
		tool   llm.Tool
		strict bool
		schema string
	}{
		{
			"what cannot be enforced moves to the description",
			strict(`{"type":"object","properties":{"b":{"type":"string","description":"A name.","minLength":1},"a":{"type":"integer","maximum":9}},"required":["b","a"]}`), true,
			`{"type":"object","properties":{"b":{"type":"string","description":"A name.\nminLength: 1"},"a":{"type":"integer","description":"maximum: 9"}},"required":["b","a"],"additionalProperties":false}`,
		},
		{
			"nested objects are closed",
			strict(`{"properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string","format":"date"}}}}}}`), true,
			`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string","format":"date"}},"additionalProperties":false}}},"additionalProperties":false}`,
		},
		{
			"free keys cannot be enforced",
			strict(`{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`), false,
			`{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`,
		},
		{"not asked for", readTool, false, string(readTool.Schema)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Cache.Retention = llm.CacheOff
			req.Tools = []llm.Tool{c.tool}
			body := string(sends(t, anthropic.Options{}, req).sent)
			want := `"input_schema":` + c.schema
			if c.strict {
				want += `,"strict":true`
			}
			if !strings.Contains(body, want+"}") {
				t.Errorf("want %s\nin %s", want, body)
			}
			if body := string(sends(t, anthropic.Options{DisableStrictTools: true}, req).sent); strings.Contains(body, `"strict"`) {
				t.Errorf("strict was sent although it is disabled: %s", body)
			}
		})
	}
	t.Run("within the limits", func(t *testing.T) {
		req := ask()
		req.Tools = nil
		for range 25 {
			req.Tools = append(req.Tools, strict(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`))
		}
		if n := strings.Count(string(sends(t, anthropic.Options{}, req).sent), `"strict":true`); n != 20 {
			t.Errorf("%d strict tools in one request, want 20", n)
		}
		req.Tools = nil
		for range 10 {
			req.Tools = append(req.Tools, strict(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}}}`))
		}
		if n := strings.Count(string(sends(t, anthropic.Options{}, req).sent), `"strict":true`); n != 8 {
			t.Errorf("%d strict tools with 3 optional properties each, want 8 (24 together)", n)
		}
	})
	t.Run("invalid schema", func(t *testing.T) {
		req := ask()
		req.Tools = []llm.Tool{{Name: "odd", Schema: json.RawMessage(`[1]`)}}
		_, err := llm.Collect(anthropic.New(anthropic.Options{}).Stream(t.Context(), req))
		if llm.KindOf(err) != llm.ErrInvalidRequest || !strings.Contains(err.Error(), "odd") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOutputAndServerTools(t *testing.T) {
	req := ask()
	req.Output = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	req.ServerTools = []llm.ServerTool{
		{Kind: llm.ServerWebSearch, MaxUses: 3, AllowedDomains: []string{"go.dev"}, BlockedDomains: []string{"x.com"}},
		{Kind: llm.ServerWebFetch},
		{Kind: "unheard_of"},
	}
	req.User, req.Stop = "u-1", []string{"END", " "}
	c := sends(t, anthropic.Options{}, req)
	for _, want := range []string{
		`"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}}`,
		`"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["go.dev"]},{"type":"web_fetch_20250910","name":"web_fetch"},{"name":"read"`,
		`"metadata":{"user_id":"u-1"}`, `"stop_sequences":["END"]`,
	} {
		if !strings.Contains(string(c.sent), want) {
			t.Errorf("want %s\nin %s", want, c.sent)
		}
	}
	if got := c.head.Get("anthropic-beta"); got != "web-fetch-2025-09-10" {
		t.Errorf("anthropic-beta is %q", got)
	}
	req.Output = nil
	if body := sends(t, anthropic.Options{}, req).sent; !strings.Contains(string(body), `"name":"web_fetch","citations":{"enabled":true}`) {
		t.Errorf("fetched pages are not cited: %s", body)
	}
	req.Output = json.RawMessage(`"text"`)
	if _, err := llm.Collect(anthropic.New(anthropic.Options{}).Stream(t.Context(), req)); llm.KindOf(err) != llm.ErrInvalidRequest {
		t.Errorf("a schema that is none: got %v", err)
	}
}

// Claude gets its own memory tool under the name that it was trained on, where the host has it; others get
// the schema.
func TestMemoryTool(t *testing.T) {
	native := `{"type":"memory_20250818","name":"memory"`
	for _, tt := range []struct {
		name, model, released string
		here                  bool
		want                  bool
	}{
		{"Claude 4", "claude-sonnet-4-20250514", "2025-05-22", true, true},
		{"a host that imitates", "claude-sonnet-4-20250514", "2025-05-22", false, false},
		{"Claude 3.7", "claude-3-7-sonnet-20250219", "2025-02-24", true, false},
		{"an unknown date", "claude-new", "", true, false},
		{"another model", "glm-9", "2026-05-22", true, false},
	} {
		req := ask()
		m := *req.Model
		m.ID, m.Released = tt.model, tt.released
		req.Model = &m
		req.Tools = append([]llm.Tool{{Name: "memory", Description: "Keeps notes.", Schema: json.RawMessage(`{"type":"object"}`), Native: llm.NativeMemory}}, req.Tools...)
		c := sends(t, anthropic.Options{NativeTools: tt.here}, req)
		if got := strings.Contains(string(c.sent), native); got != tt.want {
			t.Errorf("%s: %s", tt.name, c.sent)
		}
		if got := strings.Contains(c.head.Get("anthropic-beta"), "context-management-2025-06-27"); got != tt.want {
			t.Errorf("%s: anthropic-beta is %q", tt.name, c.head.Get("anthropic-beta"))
		}
		if got := strings.Contains(string(c.sent), "Keeps notes."); got == tt.want {
			t.Errorf("%s: the description in %s", tt.name, c.sent)
		}
	}
}

func TestRequestWithoutModel(t *testing.T) {
	c := anthropic.New(anthropic.Options{})
	if _, err := llm.Collect(c.Stream(t.Context(), &llm.Request{})); llm.KindOf(err) != llm.ErrInvalidRequest {
		t.Errorf("stream: got %v", err)
	}
	if _, err := c.CountTokens(t.Context(), &llm.Request{}); llm.KindOf(err) != llm.ErrInvalidRequest {
		t.Errorf("count: got %v", err)
	}
}
