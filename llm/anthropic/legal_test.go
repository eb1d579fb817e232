package anthropic_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
)

// keys are the fields that the API knows, by kind of object.
var keys = map[string][]string{
	"request": {
		"model", "max_tokens", "stream", "metadata", "temperature", "top_p", "stop_sequences", "thinking", "output_config",
		"tool_choice", "tools", "system", "messages",
	},
	"message":           {"role", "content"},
	"text":              {"type", "text", "citations", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
	"tool_use":          {"type", "id", "name", "input"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control"},
	"image":             {"type", "source", "cache_control"},
	"document":          {"type", "source", "title", "cache_control"},
	"tool":              {"name", "description", "input_schema", "strict", "cache_control"},
}

// checker looks whether a request is one the API accepts.
type checker struct {
	faults []string
	marks  int
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) known(kind string, o map[string]any) {
	for k := range o {
		if !slices.Contains(keys[kind], k) {
			c.fault("%s holds %s", kind, k)
		}
	}
	if _, ok := o["cache_control"]; ok {
		c.marks++
	}
}

var legalID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (c *checker) request(body []byte) {
	var r map[string]any
	if err := json.Unmarshal(body, &r); err != nil {
		c.fault("%v", err)
		return
	}
	c.known("request", r)
	declared := map[string]bool{}
	list := func(v any) []any { l, _ := v.([]any); return l }
	for _, t := range list(r["tools"]) {
		t := t.(map[string]any)
		c.known("tool", t)
		declared[t["name"].(string)] = true
	}
	for _, b := range list(r["system"]) {
		c.block(b.(map[string]any), "")
	}
	role := "assistant"
	var open []string // calls to be answered next
	for i, m := range list(r["messages"]) {
		m := m.(map[string]any)
		c.known("message", m)
		if m["role"] == role {
			c.fault("message %d: %s twice", i, role)
		}
		role = m["role"].(string)
		if len(list(m["content"])) == 0 {
			c.fault("message %d is empty", i)
		}
		answered := 0
		var calls []string
		for j, b := range list(m["content"]) {
			b := b.(map[string]any)
			c.block(b, role)
			switch b["type"] {
			case "tool_use":
				calls = append(calls, b["id"].(string))
				if len(declared) > 0 && len(calls) > 0 && r["tool_choice"] != nil && len(list(r["tools"])) == 0 {
					c.fault("a choice without tools")
				}
			case "tool_result":
				if j != answered || j >= len(open) || open[j] != b["tool_use_id"] {
					c.fault("message %d, block %d: stray result", i, j)
				}
				answered++
			}
		}
		if answered != len(open) {
			c.fault("message %d answers %d calls of %d", i, answered, len(open))
		}
		open = calls
	}
	if role != "user" {
		c.fault("the last message is the assistant's")
	}
	if c.marks > 4 {
		c.fault("%d breakpoints", c.marks)
	}
	if th, _ := r["thinking"].(map[string]any); th != nil && th["type"] == "enabled" {
		if r["temperature"] != nil || r["max_tokens"].(float64) <= th["budget_tokens"].(float64) || th["budget_tokens"].(float64) < 1024 {
			c.fault("thinking %v beside max_tokens %v and temperature %v", th, r["max_tokens"], r["temperature"])
		}
		if choice, _ := r["tool_choice"].(map[string]any); choice != nil && (choice["type"] == "any" || choice["type"] == "tool") {
			c.fault("a forced choice while reasoning")
		}
	}
}

func (c *checker) block(b map[string]any, role string) {
	kind := b["type"].(string)
	if _, ok := keys[kind]; !ok {
		c.fault("unknown block %s", kind)
	}
	c.known(kind, b)
	switch kind {
	case "text":
		if strings.TrimSpace(b["text"].(string)) == "" {
			c.fault("empty text")
		}
	case "thinking", "redacted_thinking", "tool_use":
		if role != "assistant" {
			c.fault("%s of the %s", kind, role)
		}
		if kind == "thinking" && b["signature"] == "" {
			c.fault("unsigned reasoning")
		}
		if _, object := b["input"].(map[string]any); kind == "tool_use" && (!object || !legalID.MatchString(b["id"].(string))) {
			c.fault("call %v", b)
		}
	case "tool_result", "image", "document":
		if role == "assistant" {
			c.fault("%s of the assistant", kind)
		}
		content, _ := b["content"].([]any)
		for _, x := range content {
			x := x.(map[string]any)
			c.block(x, "user")
			if b["is_error"] == true && x["type"] != "text" {
				c.fault("%v in a failed result", x["type"])
			}
		}
	}
}

// anyRequest draws a request with any history, legal or not.
func anyRequest(t *rapid.T) *llm.Request {
	text := rapid.SampledFrom([]string{"", " \n", "hello", "\xff bad", "日本 🦊", "</s>\x00"})
	id := rapid.SampledFrom([]string{"", "1", "2", "call|fc_1", "a b", strings.Repeat("x", 90)})
	args := rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a": "<b>"}`, `{"a":`, `[]`, `{"a":"\ud800"}`})
	block := rapid.Custom(func(t *rapid.T) llm.Block {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return llm.Thinking{Text: text.Draw(t, "thought"), Signature: text.Draw(t, "signature"), Redacted: rapid.Bool().Draw(t, "redacted")}
		case 1, 2:
			return llm.ToolCall{ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"read", "wr ite", ""}).Draw(t, "name"), Arguments: args.Draw(t, "args")}
		case 3:
			return llm.Image{MIME: rapid.SampledFrom([]string{"image/png", "image/bmp", ""}).Draw(t, "mime"), Data: []byte(text.Draw(t, "data"))}
		case 4:
			return llm.Document{Name: text.Draw(t, "file"), MIME: rapid.SampledFrom([]string{"application/pdf", "text/x", "a/b"}).Draw(t, "mime"), Data: []byte("x"), Text: text.Draw(t, "text")}
		}
		return llm.Text{Text: text.Draw(t, "text")}
	})
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{
			Role:    rapid.SampledFrom([]llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleAssistant, llm.RoleToolResult, llm.RoleToolResult, llm.RoleSystem}).Draw(t, "role"),
			Content: rapid.SliceOfN(block, 0, 4).Draw(t, "content"), IsError: rapid.Bool().Draw(t, "failed"), ToolCallID: id.Draw(t, "of"),
			API: llm.APIAnthropic, Provider: "anthropic", Model: rapid.SampledFrom([]string{budgeted.ID, "other"}).Draw(t, "model"),
		}
		return m
	})
	m := rapid.SampledFrom([]llm.Model{budgeted, adaptive, {ID: "claude-plain"}}).Draw(t, "model")
	half := 0.5
	return &llm.Request{
		Model: &m, System: text.Draw(t, "system"), Messages: rapid.SliceOfN(message, 0, 8).Draw(t, "history"),
		Tools:       rapid.SampledFrom([][]llm.Tool{nil, {readTool}, {{Name: "strict", Schema: readTool.Schema, Strict: true}}}).Draw(t, "tools"),
		Thinking:    llm.Thought{Level: rapid.SampledFrom(append(llm.Levels(), "")).Draw(t, "level"), Hidden: rapid.Bool().Draw(t, "hidden")},
		MaxTokens:   rapid.SampledFrom([]int{0, 10, 5000, 1 << 20}).Draw(t, "max"),
		Temperature: rapid.SampledFrom([]*float64{nil, &half}).Draw(t, "temperature"),
		ToolChoice:  llm.ToolChoice{Mode: rapid.SampledFrom([]llm.ToolMode{"", llm.ToolNone, llm.ToolAny}).Draw(t, "choice")},
		Cache:       llm.CacheHint{Retention: rapid.SampledFrom([]llm.CacheRetention{"", llm.CacheLong, llm.CacheOff}).Draw(t, "cache")},

		SequentialTools: rapid.Bool().Draw(t, "sequential"),
	}
}

// Any request is legal on the wire, and what the server half reads of it gives
// the same request again.
func TestAnyRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		req := anyRequest(rt)
		body := sends(t, anthropic.Options{}, req).sent
		var c checker
		if c.request(body); len(c.faults) > 0 {
			rt.Fatalf("%s\n%s", strings.Join(c.faults, "\n"), body)
		}
		read, stream, err := decode(t, string(body))
		if err != nil || !stream {
			rt.Fatalf("the server half says %v (stream %v) to %s", err, stream, body)
		}
		read.Model = req.Model
		for i := range read.Messages {
			if m := &read.Messages[i]; m.Role == llm.RoleAssistant {
				m.Provider, m.Model = req.Model.Provider, req.Model.ID
			}
		}
		var first any
		if err := json.Unmarshal(body, &first); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(first, any(asked(t, anthropic.Options{}, read))); diff != "" {
			rt.Fatalf("a second time (-first +second):\n%s", diff)
		}
	})
}

// A paused turn is recognised as one, so that it goes on as one.
func TestPausedRequestRoundTrip(t *testing.T) {
	paused := own(llm.Text{Text: "Searching."}, opaque("server_tool_use", search))
	paused.StopReason = llm.StopPause
	req := ask()
	req.Messages = append(req.Messages, paused)
	body := sends(t, anthropic.Options{}, req).sent
	read, _, err := decode(t, string(body))
	if err != nil {
		t.Fatal(err)
	}
	read.Model, read.Messages[1].Provider = req.Model, "anthropic"
	if diff := cmp.Diff(string(body), string(sends(t, anthropic.Options{}, read).sent)); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
