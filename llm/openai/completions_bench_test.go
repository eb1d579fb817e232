package openai_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// canned answers every request with the same bytes.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r,
	}, nil
}

// cannedStream reads an answer that consists of body.
func cannedStream(tb testing.TB, o openai.CompletionsOptions, body []byte) llm.Stream {
	o.Client = &http.Client{Transport: canned(body)}
	return openai.NewCompletions(o).Stream(tb.Context(), &llm.Request{
		Model: &llm.Model{ID: "m", Provider: "p"}, Messages: []llm.Message{llm.UserText("hi")},
	})
}

func BenchmarkDecodeCompletions(b *testing.B) {
	const n = 2000
	const head = `data: {"id":"chatcmpl-BxYz0123456789abcdefABCDEF","object":"chat.completion.chunk","created":1763700000,"model":"gpt-5.2-2026-01-10","service_tier":"default","system_fingerprint":"fp_0123456789",`
	words := []string{" the", " quick", "\\n", " fox", " über", " \\\"x\\\"", ".", " jumps"}
	streams := map[string]func(i int) string{
		"text": func(i int) string {
			return fmt.Sprintf(`"choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"%s"}`, words[i%8], "a1B2c3D4e5"[:i%10])
		},
		"reasoning": func(i int) string {
			return fmt.Sprintf(`"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"%s"},"logprobs":null,"finish_reason":null}]}`, words[i%8])
		},
		"arguments": func(i int) string {
			call := `"index":0,"function":{"arguments":"` + words[i%8] + `"}`
			if i == 0 {
				call = `"index":0,"id":"call_1","type":"function","function":{"name":"write","arguments":""}`
			}
			return `"choices":[{"index":0,"delta":{"tool_calls":[{` + call + `}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}`
		},
		// A key in front that changes each time makes every chunk go the long way.
		"slow": func(i int) string {
			return fmt.Sprintf(`"seq":%d,"choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}],"usage":null}`, i, words[i%8])
		},
	}
	for name, chunk := range streams {
		b.Run(name, func(b *testing.B) {
			var body bytes.Buffer
			for i := range n {
				body.WriteString(head + chunk(i) + "\n\n")
			}
			body.WriteString(head + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
			o := openai.CompletionsOptions{Endpoint: wire.Endpoint{FirstEvent: -1, Idle: -1}}
			var before, after runtime.MemStats
			b.ReportAllocs()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				events := 0
				for ev := range llm.Events(cannedStream(b, o, body.Bytes())) {
					events++
					if ev.Type == llm.EventError {
						b.Fatal(ev.Message.Error)
					}
				}
				if events < n {
					b.Fatalf("%d events", events)
				}
			}
			runtime.ReadMemStats(&after)
			per := "event"
			if name == "slow" {
				per = "odd-event" // beyond what the project promises for the streams of the vendors
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/"+per)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N*n), "B/"+per)
		})
	}
}
