package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
)

// breakpoints lists where a body holds cache breakpoints, and gives the body
// without them.
func breakpoints(t testing.TB, body []byte) (at []string, rest map[string]any) {
	t.Helper()
	if err := json.Unmarshal(body, &rest); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if mark, ok := v["cache_control"]; ok {
				text, _ := json.Marshal(mark)
				at = append(at, path+" "+string(text))
				delete(v, "cache_control")
			}
			for _, k := range []string{"tools", "system", "messages", "content"} {
				walk(path+"/"+k, v[k])
			}
		case []any:
			for i, x := range v {
				walk(fmt.Sprintf("%s/%d", path, i), x)
			}
		}
	}
	walk("", rest)
	return at, rest
}

// conversation is n turns of a session with tools.
func conversation(n int) []llm.Message {
	history := []llm.Message{llm.UserText("start")}
	for i := range n {
		call := llm.ToolCall{ID: fmt.Sprintf("c%d", i), Name: "read", Arguments: `{"path":"a"}`}
		history = append(history,
			llm.Message{Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: budgeted.ID, Content: []llm.Block{
				llm.Thinking{Text: "hm", Signature: fmt.Sprintf("sig%d", i)}, llm.Text{Text: "Reading."}, call,
			}},
			llm.ToolResultText(call, fmt.Sprintf("content %d", i), false))
	}
	return history
}

func TestBreakpoints(t *testing.T) {
	const short, long = ` {"type":"ephemeral"}`, ` {"ttl":"1h","type":"ephemeral"}`
	cases := []struct {
		name string
		set  func(*llm.Request)
		want []string
	}{
		{"first turn", func(r *llm.Request) {}, []string{"/tools/0" + short, "/system/0" + short, "/messages/0/content/0" + short}},
		{
			"later turn", func(r *llm.Request) { r.Messages = conversation(3) },
			[]string{"/tools/0" + short, "/system/0" + short, "/messages/4/content/0" + short, "/messages/6/content/0" + short},
		},
		{
			"long", func(r *llm.Request) { r.Cache.Retention = llm.CacheLong },
			[]string{"/tools/0" + long, "/system/0" + long, "/messages/0/content/0" + long},
		},
		{"off", func(r *llm.Request) { r.Cache.Retention = llm.CacheOff }, nil},
		{"the last tool and the last block", func(r *llm.Request) {
			r.System, r.Tools = "", []llm.Tool{readTool, readTool}
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Content: []llm.Block{
				llm.Text{Text: "see"}, llm.Image{MIME: "image/png", Data: []byte("x")},
			}})
		}, []string{"/tools/1" + short, "/messages/0/content/2" + short}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			c.set(req)
			at, _ := breakpoints(t, sends(t, anthropic.Options{}, req).sent)
			if diff := cmp.Diff(c.want, at); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each turn's request must begin with the blocks of the turn before, and one of
// its breakpoints must stand where the last one of the turn before stood.
func TestPrefixIsStable(t *testing.T) {
	var before map[string]any
	var last string
	for n := range 8 {
		req := ask()
		req.Messages, req.Thinking.Level = conversation(n), llm.LevelLow
		c := sends(t, anthropic.Options{}, req)
		if again := sends(t, anthropic.Options{}, req); string(again.sent) != string(c.sent) {
			t.Fatalf("turn %d: the same history gave two bodies", n)
		}
		at, body := breakpoints(t, c.sent)
		if len(at) > 4 {
			t.Fatalf("turn %d: %d breakpoints", n, len(at))
		}
		if n > 0 {
			old := before["messages"].([]any)
			if diff := cmp.Diff(old, body["messages"].([]any)[:len(old)]); diff != "" {
				t.Errorf("turn %d changed what was sent before:\n%s", n, diff)
			}
			if !strings.Contains(strings.Join(at, "\n"), last) {
				t.Errorf("turn %d: no breakpoint at %s, but %v", n, last, at)
			}
			for _, k := range []string{"tools", "system"} {
				if diff := cmp.Diff(before[k], body[k]); diff != "" {
					t.Errorf("turn %d changed %s:\n%s", n, k, diff)
				}
			}
		}
		before, last = body, at[len(at)-1]
	}
}
