package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

// fields are the places in a chunk that most deltas come in. %s is the string.
var fields = []string{
	`"delta":{"content":%s}`,
	`"delta":{"role":"assistant","content":null,"reasoning_content":%s}`,
	`"delta":{"reasoning":%s}`,
	`"delta":{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}`,
	`"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":%s}}]}`,
	`"delta":{"tool_calls":[{"id":"call_1","function":{"arguments":%s}}]}`,
	`"delta":{"tool_calls":[{"function":{"name":"g","arguments":%s}}]}`,
}

// twoWays decodes the same pieces from two streams: one whose chunks differ in
// the piece alone, which is read the short way, and one in which another key
// changes each time, which never is.
func twoWays(t *testing.T, field string, pieces []string) {
	t.Helper()
	var short, long bytes.Buffer
	for _, b := range []*bytes.Buffer{&short, &long} {
		b.WriteString(`data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f"}}]}}]}` + "\n\n")
	}
	for i, p := range pieces {
		delta := fmt.Sprintf(field, p)
		fmt.Fprintf(&short, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,%s,\"finish_reason\":null}],\"obfuscation\":\"%s\"}\n\n", delta, strings.Repeat("x", i%5))
		fmt.Fprintf(&long, "data: {\"id\":\"1\",\"n\":%d,\"choices\":[{\"index\":0,%s,\"finish_reason\":null}]}\n\n", i, delta)
	}
	for _, b := range []*bytes.Buffer{&short, &long} {
		b.WriteString(`data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
	}
	a := goldenEvents(t, cannedStream(t, openai.CompletionsOptions{}, short.Bytes()))
	b := goldenEvents(t, cannedStream(t, openai.CompletionsOptions{}, long.Bytes()))
	if diff := cmp.Diff(string(b), string(a)); diff != "" {
		t.Fatalf("%s: -long +short\n%s", field, diff)
	}
}

func TestCompletionsShortWay(t *testing.T) {
	pieces := []string{
		`"a"`, `" plain words"`, `""`, `"é漢🦊"`, `"\n\t\r\"\\\/"`, `"\u00e9\u6f22"`, `"\ud83e\udd8a"`, `"\ud83e"`, `"\b\f\u0000"`,
		"\"\xff raw\"", "\"\xe6\xbc\"", `"data: [DONE]"`, `"}],\"delta\":{\"content\":\"x\"}"`, `"\\"`, `"\\\\\""`, `null`, `["x"]`, `"b"`, `"bad\q"`,
	}
	for _, f := range fields {
		twoWays(t, f, pieces)
	}
}

// TestCompletionsShortWayOrder mixes kinds of pieces, so that what is remembered
// goes stale.
func TestCompletionsShortWayOrder(t *testing.T) {
	var body strings.Builder
	add := func(choices string) { body.WriteString("data: {\"choices\":" + choices + "}\n\n") }
	call := func(i int, head, args string) string {
		return fmt.Sprintf(`[{"index":0,"delta":{"tool_calls":[{"index":%d,%s"function":{%s"arguments":"%s"}}]}}]`, i, head, map[bool]string{true: `"name":"f",`}[head != ""], args)
	}
	add(`[{"index":0,"delta":{"content":"one "}}]`)
	add(`[{"index":0,"delta":{"content":"two"}}]`)
	add(`[{"index":1,"delta":{"content":"another answer"}}]`)
	add(`[{"index":1,"delta":{"content":"another answer"}}]`)
	add(`[{"index":0,"delta":{"content":" three"}}]`)
	add(call(0, `"id":"a",`, ""))
	add(call(1, `"id":"b",`, ""))
	for _, s := range []string{"1", "2", "3"} {
		add(call(0, "", s))
		add(call(0, "", s))
		add(call(1, "", s))
		add(`[]`)
		add(call(1, "", s))
	}
	// Two choices in a chunk are not remembered but move on to call 1; then a
	// piece without an index belongs to the call before it.
	add(call(0, "", "4"))
	add(call(1, "", "5")[:len(call(1, "", "5"))-1] + `,{"index":1,"delta":{}}]`)
	add(call(0, "", "6"))
	add(`[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"7"}}]}}]`)
	add(`[{"index":0,"delta":{"content":"four"}}],"obfuscation":"x"`)
	add(`[{"index":0,"delta":{"content":"five"}}],"obfuscation":"xy","usage":{"prompt_tokens":7}`)
	add(`[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`)
	m, err := llm.Collect(cannedStream(t, openai.CompletionsOptions{}, []byte(body.String())))
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Block{
		llm.Text{Text: "one two three"},
		llm.ToolCall{ID: "a", Name: "f", Arguments: "112233467"},
		llm.ToolCall{ID: "b", Name: "f", Arguments: "1122335"},
		llm.Text{Text: "fourfive"},
	}
	if m.Usage == nil || m.Usage.Input != 7 {
		t.Errorf("usage behind the padding got lost: %+v", m.Usage)
	}
	if diff := cmp.Diff(want, m.Content); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func FuzzCompletionsShortWay(f *testing.F) {
	f.Add(0, "a", "b\n", "\"c\"")
	f.Add(3, `{"x":`, `"é\u00e9`, `\ud83e\udd8a"}`)
	f.Fuzz(func(t *testing.T, field int, a, b, c string) {
		var pieces []string
		for _, s := range []string{a, b, c, b} {
			quoted, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			// Both as a careful server writes it and as it came.
			pieces = append(pieces, string(quoted))
			if raw := `"` + s + `"`; json.Valid([]byte(raw)) && !strings.ContainsAny(s, "\r\n") {
				pieces = append(pieces, raw)
			}
		}
		twoWays(t, fields[uint(field)%uint(len(fields))], pieces)
	})
}

// FuzzCompletionsDecode feeds anything as an answer. Whatever comes, the stream
// ends in exactly one terminal event.
func FuzzCompletionsDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{}}},{"index":-1}],"function_call":{},"reasoning_details":[{},null,3]},"finish_reason":""}],"usage":{"total_tokens":-1}}`))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text"}]}}],"error":{"code":"7"}}`))
	f.Add([]byte(`{"error":[]}`))
	f.Fuzz(func(t *testing.T, chunk []byte) {
		chunk = bytes.ReplaceAll(bytes.ReplaceAll(chunk, []byte("\n"), nil), []byte("\r"), nil)
		for _, body := range []string{string(chunk), "data: " + string(chunk) + "\n\ndata: " + string(chunk) + "\n\ndata: [DONE]\n\n"} {
			ends, events := 0, 0
			for ev := range llm.Events(cannedStream(t, openai.CompletionsOptions{}, []byte(body))) {
				events++
				if ev.Type.Terminal() {
					ends++
				}
			}
			if ends != 1 {
				t.Fatalf("%d ends in %d events", ends, events)
			}
		}
	})
}
