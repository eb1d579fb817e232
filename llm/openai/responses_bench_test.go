package openai_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

// respRecorded is an answer of n deltas as OpenAI sends them.
func respRecorded(n int) []byte {
	var b bytes.Buffer
	put := func(kind, rest string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	put("response.created", `,"sequence_number":0,"response":{"id":"resp_1","model":"gpt-4.1"}`)
	put("response.output_item.added", `,"sequence_number":1,"output_index":0,"item":{"id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef","type":"message","role":"assistant","content":[]}`)
	words := []string{" the", " quick", " \\\"brown\\\"", " fox", "\\n\\n", " jumps", " über", " 漢字", ",", " lazily"}
	for i := range n {
		put("response.output_text.delta", fmt.Sprintf(`,"sequence_number":%d,"item_id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,"delta":"%s","logprobs":[],"obfuscation":"aX3kP9qLm2"`, i+2, words[i%len(words)]))
	}
	put("response.output_item.done", `,"output_index":0,"item":{"id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef","type":"message","role":"assistant","content":[]}`)
	put("response.completed", `,"response":{"id":"resp_1","status":"completed","usage":{"input_tokens":1,"output_tokens":1}}`)
	return b.Bytes()
}

func BenchmarkResponsesDecode(b *testing.B) {
	const deltas = 5000
	body := respRecorded(deltas)
	c := respOpen(&respTransport{body: body}, openai.ResponsesOptions{})
	req := respAsk(respPlain())
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		n := 0
		for ev := range llm.Events(c.Stream(b.Context(), req)) {
			if ev.Type == llm.EventTextDelta {
				n++
			}
		}
		if n != deltas {
			b.Fatalf("%d deltas", n)
		}
	}
	runtime.ReadMemStats(&after)
	events := float64(b.N) * deltas
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/events, "ns/event")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/events, "B/event")
}

func BenchmarkResponsesEncodeEvents(b *testing.B) {
	const deltas = 5000
	events := respEvents(llm.Message{StopReason: llm.StopEnd, Content: []llm.Block{llm.Text{Text: strings.Repeat("a", deltas)}}})
	b.ReportAllocs()
	for b.Loop() {
		enc := openai.ResponsesServer{}.NewEncoder(respDiscard{http.Header{}}, nil, true)
		for _, ev := range events {
			if err := enc.Encode(ev); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/event")
}

type respDiscard struct{ h http.Header }

func (d respDiscard) Header() http.Header         { return d.h }
func (d respDiscard) WriteHeader(int)             {}
func (d respDiscard) Write(b []byte) (int, error) { return io.Discard.Write(b) }

func BenchmarkResponsesRequest(b *testing.B) {
	req := respAsk(respModel())
	for range 100 {
		req.Messages = append(req.Messages, respTurn()...)
	}
	c := respOpen(&respTransport{body: []byte("data: {\"type\":\"response.completed\"}\n\n")}, openai.ResponsesOptions{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Collect(c.Stream(b.Context(), req)); err != nil {
			b.Fatal(err)
		}
	}
}

// Each event is read the same way whether it is of the common shape or not.
func FuzzResponsesDelta(f *testing.F) {
	for _, s := range []string{
		`"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"a \"b\" \n 漢"`,
		`"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":1}"`,
		`"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"\u00e9\ud83e\udd8a"`,
		`"delta":"x","type":"response.reasoning_text.delta","content_index":12`,
		`"type" : "response.output_text.delta" , "delta" : "x" , "n" : null , "l" : []`,
		`"type":"response.output_text.delta","delta":"x","output_index":1e0`,
		`"type":"response.output_text.delta","delta":7`,
		`"type":"response.output_text.delta","delta":"a\`,
		"\"type\":\"response.output_text.delta\",\"delta\":\"\xff\xfe\"",
		"\"type\":\"response.output_text.delta\",\"output_index\":2,\"delta\":\"a raw \t\"",
		`"type":"response.output_text.delta","delta":"x","delta":"y","output_index":00`,
		"\v",
	} {
		f.Add(s)
	}
	head := `data: {"type":"response.output_item.added","output_index":%d,"item":{"id":"%s","type":"%s"}}` + "\n\n"
	read := func(t *testing.T, items int, fields string) *llm.Message {
		var body strings.Builder
		for i, kind := range []string{"reasoning", "function_call", "message"}[:items] {
			fmt.Fprintf(&body, head, i, []string{"rs_1", "fc_1", "msg_1"}[i], kind)
		}
		fmt.Fprintf(&body, "data: {%s}\n\n", fields)
		body.WriteString("data: {\"type\":\"response.completed\"}\n\n")
		m, _ := llm.Collect(respOpen(&respTransport{body: []byte(body.String())}, openai.ResponsesOptions{}).Stream(t.Context(), respAsk(respModel())))
		for i, b := range m.Content {
			if c, ok := b.(llm.ToolCall); ok {
				c.ID = "" // random where the server sends none
				m.Content[i] = c
			}
		}
		return m
	}
	f.Fuzz(func(t *testing.T, fields string) {
		if strings.ContainsAny(fields, "\r\n") {
			return
		}
		for items := range 4 {
			quick := read(t, items, fields)
			nested := `"zzz":{}`                   // is not of the common shape
			if strings.Trim(fields, " \t") != "" { // what JSON takes for white space
				nested += "," + fields
			}
			slow := read(t, items, nested)
			if diff := cmp.Diff(slow, quick, respIgnored...); diff != "" && (slow.Error == nil || quick.Error == nil) {
				t.Fatalf("(-ordinary +quick):\n%s", diff)
			}
		}
	})
}
