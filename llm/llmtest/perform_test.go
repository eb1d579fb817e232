package llmtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

func events(groups ...[]llm.Event) []llm.Event {
	var out []llm.Event
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

func TestPerform(t *testing.T) {
	item := llm.Opaque{API: "elsewhere", Kind: "search", Raw: []byte(`{"q":1}`)}
	cases := []struct {
		name   string
		events []llm.Event
		want   string
	}{
		{"nothing", nil, `
{"type":"start","index":0,"id":"answer"}
{"type":"done","index":0,"blocks":0,"stop":"stop","id":"answer"}`},
		{"blocks in a row", events(llmtest.Think("so it is", "sig"), llmtest.Call("c1", "read", `{"path":"go.mod"}`)), `
{"type":"start","index":0,"id":"answer"}
{"type":"thinking_start","index":0,"block":{"type":"thinking"}}
{"type":"thinking_delta","index":0,"delta":"so "}
{"type":"thinking_delta","index":0,"delta":"it "}
{"type":"thinking_delta","index":0,"delta":"is"}
{"type":"thinking_end","index":0,"block":{"type":"thinking","thinking":"so it is","thinkingSignature":"sig"}}
{"type":"toolcall_start","index":1,"block":{"type":"toolCall","id":"c1","name":"read","arguments":{},"rawArguments":""}}
{"type":"toolcall_delta","index":1,"delta":"{\"path\":\"go."}
{"type":"toolcall_delta","index":1,"delta":"mod\"}"}
{"type":"toolcall_end","index":1,"block":{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"go.mod"}}}
{"type":"done","index":0,"blocks":2,"stop":"toolUse","id":"answer"}`},
		{"whole message", llmtest.Message(llm.Message{
			ResponseID: "own", StopReason: llm.StopLength, Usage: &llm.Usage{Output: 7},
			Content: []llm.Block{llm.Thinking{Signature: "enc", Redacted: true}, item, llm.Text{Text: "Hi", Signature: "t"}},
		}), `
{"type":"start","index":0,"id":"own"}
{"type":"thinking_start","index":0,"block":{"type":"thinking"}}
{"type":"thinking_end","index":0,"block":{"type":"thinking","thinkingSignature":"enc","redacted":true}}
{"type":"opaque","index":1,"block":{"type":"opaque","api":"elsewhere","kind":"search","raw":{"q":1}}}
{"type":"text_start","index":2,"block":{"type":"text"}}
{"type":"text_delta","index":2,"delta":"Hi"}
{"type":"text_end","index":2,"block":{"type":"text","text":"Hi","textSignature":"t"}}
{"type":"done","index":0,"blocks":3,"stop":"length","id":"own","output":7}`},
		{"side by side, left open", []llm.Event{
			{Type: llm.EventTextStart, Index: 5},
			{Type: llm.EventToolCallStart, Index: 9, Block: llm.ToolCall{ID: "c", Name: "n"}},
			{Type: llm.EventTextDelta, Index: 5, Delta: "a"},
			{Type: llm.EventToolCallDelta, Index: 9, Delta: "{}"},
			{Type: llm.EventTextDelta, Index: 5, Delta: "b"},
		}, `
{"type":"start","index":0,"id":"answer"}
{"type":"text_start","index":0,"block":{"type":"text"}}
{"type":"toolcall_start","index":1,"block":{"type":"toolCall","id":"c","name":"n","arguments":{},"rawArguments":""}}
{"type":"text_delta","index":0,"delta":"a"}
{"type":"toolcall_delta","index":1,"delta":"{}"}
{"type":"text_delta","index":0,"delta":"b"}
{"type":"text_end","index":0,"block":{"type":"text","text":"ab"}}
{"type":"toolcall_end","index":1,"block":{"type":"toolCall","id":"c","name":"n","arguments":{}}}
{"type":"done","index":0,"blocks":2,"stop":"toolUse","id":"answer"}`},
		{"nothing follows an error", events(llmtest.Say("a"), llmtest.Fail(&llm.Error{Kind: llm.ErrOverload}), llmtest.Say("b")), `
{"type":"start","index":0,"id":"answer"}
{"type":"text_start","index":0,"block":{"type":"text"}}
{"type":"text_delta","index":0,"delta":"a"}
{"type":"text_end","index":0,"block":{"type":"text","text":"a"}}
{"type":"error","index":0,"blocks":1,"stop":"error","id":"answer","error":"overload"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			for ev := range llmtest.Perform(llm.Message{ResponseID: "answer"}, c.events) {
				got.WriteString("\n" + describe(ev))
			}
			if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A script may be played many times, also at the same time: playing it must not
// change it.
func TestPerformLeavesTheScriptAlone(t *testing.T) {
	failure := &llm.Error{Kind: llm.ErrOverload}
	usage := &llm.Usage{Input: 1, Output: 2}
	script := events([]llm.Event{{Type: llm.EventStart, Message: &llm.Message{Usage: usage}}}, llmtest.Say("a"), llmtest.Fail(failure))
	for range llmtest.Perform(llm.Message{Provider: "someone"}, script) {
	}
	if failure.Provider != "" || usage.TotalTokens != 0 {
		t.Errorf("the script became %+v, %+v", failure, usage)
	}
}

func TestDeltasAreWholeCharacters(t *testing.T) {
	args := `{"path":"漢字かな🦊🦊🦊 é","n":1}`
	joined := ""
	for _, ev := range llmtest.Call("c", "n", args) {
		if strings.ToValidUTF8(ev.Delta, "") != ev.Delta {
			t.Errorf("delta %q cuts a character", ev.Delta)
		}
		joined += ev.Delta
	}
	if joined != args {
		t.Errorf("the deltas make %q", joined)
	}
}
