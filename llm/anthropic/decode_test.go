package anthropic_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// line is an event as golden files hold it, one a line.
type line struct {
	Type    llm.EventType `json:"type"`
	Index   int           `json:"index"`
	Delta   string        `json:"delta,omitempty"`
	Message *llm.Message  `json:"message,omitempty"`
}

// trace is the events of a stream as text, without times.
func trace(t testing.TB, s llm.Stream) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for ev := range llm.Events(s) {
		if ev.Message != nil {
			ev.Message.Time = time.Time{}
		}
		if err := enc.Encode(line{ev.Type, ev.Index, ev.Delta, ev.Message}); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// Each recording gives the same events over server-sent events and in the
// frames of Bedrock.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sse"), func(t *testing.T) {
			sse, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := &canned{body: sse}
			got := trace(t, client(c, anthropic.Options{}).Stream(t.Context(), ask()))
			golden := strings.TrimSuffix(file, ".sse") + ".golden.json"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			c = &canned{body: bedrock(t, sse), header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}}
			carried := trace(t, client(c, anthropic.Options{Host: anthropic.HostBedrock}).Stream(t.Context(), ask()))
			if diff := cmp.Diff(got, carried); diff != "" {
				t.Errorf("in the frames of Bedrock (-server-sent events +Bedrock):\n%s", diff)
			}
		})
	}
}

// What an answer left in the message goes back as the vendor wrote it.
func TestServerToolsReturn(t *testing.T) {
	sse, err := os.ReadFile("testdata/search.sse")
	if err != nil {
		t.Fatal(err)
	}
	m, err := answer(t, sse)
	if err != nil {
		t.Fatal(err)
	}
	req := ask()
	req.Messages = append(req.Messages, *m, llm.UserText("and?"))
	body := string(sends(t, anthropic.Options{}, req).sent)
	for _, want := range []string{
		`{"type":"server_tool_use","id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","name":"web_search","input":{"query":"claude shannon birth <date>"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","content":[{"type":"web_search_result","title":"Claude Shannon - Wikipedia","url":"https://en.wikipedia.org/wiki/Claude_Shannon","encrypted_content":"EqgfCioIARgBIiQ3YTAwMjY1Mi1mZj","page_age":null}]}`,
		`{"type":"text","text":"He was born on April 30, 1916.","citations":[{"type":"web_search_result_location","cited_text":"Claude Shannon was born on April 30, 1916.","url":"https://en.wikipedia.org/wiki/Claude_Shannon","title":"Claude Shannon - Wikipedia","encrypted_index":"Eo8BCioIAhgBIiQyYjQ0OWJmZi1lNm"}]}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("want %s\nin %s", want, body)
		}
	}
}

func TestBedrockErrors(t *testing.T) {
	chunk := bedrock(t, []byte("data: {\"type\":\"message_start\",\"message\":{}}\n\n"))
	cases := []struct {
		name string
		body []byte
		want llm.ErrorKind
	}{
		{"throttled", wire.AppendEventStream(chunk[:len(chunk):len(chunk)], "throttlingException", true, []byte(`{"message":"Too many requests"}`)), llm.ErrRateLimit},
		{"model failed", wire.AppendEventStream(nil, "modelStreamErrorException", true, []byte(`{"message":"internal"}`)), llm.ErrOverload},
		{"too long", wire.AppendEventStream(nil, "validationException", true, []byte(`{"message":"Input is too long for requested model."}`)), llm.ErrContextOverflow},
		{"not a chunk", wire.AppendEventStream(nil, "chunk", false, []byte(`{"p":"x"}`)), llm.ErrTransport},
		{"cut", chunk, llm.ErrTransport},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			srv := &canned{body: c.body, header: http.Header{}}
			_, err := llm.Collect(client(srv, anthropic.Options{Host: anthropic.HostBedrock}).Stream(t.Context(), ask()))
			if llm.KindOf(err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	t.Run("other messages and escapes are no matter", func(t *testing.T) {
		body := wire.AppendEventStream(nil, "initial-response", false, []byte(`{}`))
		for _, ev := range []string{"eyJ0eXBlIjoibWVzc2FnZV9zdGFydCIsIm1lc3NhZ2UiOnt9fQ==", `eyJ0eXBlIjoibWVzc2FnZV9zdG9wIn0\u003d`} {
			body = wire.AppendEventStream(body, "chunk", false, []byte(`{"p":"x", "bytes":"`+ev+`"}`))
		}
		srv := &canned{body: body, header: http.Header{}}
		m, err := llm.Collect(client(srv, anthropic.Options{Host: anthropic.HostBedrock}).Stream(t.Context(), ask()))
		if err != nil || m.StopReason != llm.StopEnd {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

// Hosts that imitate the API leave out parts of it.
func TestErrorEventWithoutType(t *testing.T) {
	m, err := answer(t, []byte("data: {\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}\n\n"))
	if llm.KindOf(err) != llm.ErrRateLimit {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestErrors(t *testing.T) {
	cases := []struct {
		status int
		body   string
		want   llm.ErrorKind
	}{
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.ErrAuth},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, llm.ErrRateLimit},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverload},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ErrContextOverflow},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.ErrUsageLimit},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, llm.ErrContentFilter},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ErrContextOverflow},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, llm.ErrInvalidRequest},
	}
	for _, c := range cases {
		srv := &canned{status: c.status, body: []byte(c.body), header: http.Header{"Request-Id": {"req_9"}}}
		_, err := llm.Collect(client(srv, anthropic.Options{}).Stream(t.Context(), ask()))
		var e *llm.Error
		if llm.KindOf(err) != c.want {
			t.Errorf("%d %s: got %v (%s), want %s", c.status, c.body, err, llm.KindOf(err), c.want)
		} else if e = err.(*llm.Error); e.RequestID != "req_9" {
			t.Errorf("%d: the request's id is %q", c.status, e.RequestID)
		}
	}
}

// deltas is an answer of n pieces of text, as the vendor writes them.
func deltas(n int) []byte {
	var b bytes.Buffer
	event := func(name, data string) { fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data) }
	event("message_start", `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":9}}}`)
	event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	words := []string{"The", " quick", " brown\\nfox", " said", " \\\"hello\\\"", " über", " tokens"}
	for i := range n {
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+words[i%len(words)]+`"}}`)
	}
	event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`)
	event("message_stop", `{"type":"message_stop"}`)
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	const n = 5000
	body := deltas(n)
	run := func(b *testing.B, c *anthropic.Client) {
		b.ReportAllocs()
		before := allocated()
		for b.Loop() {
			for ev := range llm.Events(c.Stream(b.Context(), ask())) {
				if ev.Type == llm.EventError {
					b.Fatal(ev.Message.Error)
				}
			}
		}
		after := allocated()
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		b.ReportMetric(float64(after-before)/float64(b.N)/n, "B/event")
	}
	b.Run("sse", func(b *testing.B) {
		run(b, client(&canned{body: body}, anthropic.Options{}))
	})
	b.Run("bedrock", func(b *testing.B) {
		framed := &canned{body: bedrock(b, body), header: http.Header{}}
		run(b, client(framed, anthropic.Options{Host: anthropic.HostBedrock}))
	})
}

// FuzzDelta feeds one event as it is and once more with a key that sends it to
// the JSON decoder: both must say the same.
func FuzzDelta(f *testing.F) {
	for _, s := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\"b\\n\n\t\/é"}}`,
		`{"delta":{"text":"x","type":"text_delta"},"index":0,"type":"content_block_delta"}`,
		`{ "type" : "content_block_delta" , "index" : 0 , "delta" : { "type" : "text_delta" , "text" : "\ud83e\udd8a" } } `,
		`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"delta":{"type":"text_delta","text":"y"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","thinking":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","text":"b"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"text":"a",}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}`,
		`{"type":"content_block_stop","index":0}`,
		`{}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, event string) {
		object, ok := strings.CutPrefix(event, "{")
		if !ok || strings.ContainsAny(event, "\r\n") || !json.Valid([]byte(event)) || strings.ToValidUTF8(event, "") != event {
			return // the format's framing and encoding are tested elsewhere
		}
		slow := `{"x":0,` + object
		if strings.TrimSpace(object) == "}" {
			slow = `{"x":0}`
		}
		if a, b := pieces(t, event), pieces(t, slow); a != b {
			t.Errorf("%s\n%s\n%s", event, a, b)
		}
	})
}

func pieces(t testing.TB, event string) string {
	body := "data: {\"type\":\"message_start\",\"message\":{}}\n\n" +
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n" +
		"data: " + event + "\n\n"
	return trace(t, client(&canned{body: []byte(body)}, anthropic.Options{}).Stream(t.Context(), ask()))
}

// FuzzAnswer feeds any bytes as an answer: it must end, in order.
func FuzzAnswer(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.sse")
	for _, file := range files {
		sse, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sse, false)
		f.Add(bedrock(f, sse), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, framed bool) {
		o := anthropic.Options{}
		if framed {
			o.Host = anthropic.HostBedrock
		}
		s := client(&canned{body: body, header: http.Header{}}, o).Stream(t.Context(), ask())
		terminal := 0
		for ev := range llm.Events(s) {
			if ev.Type.Terminal() {
				terminal++
			} else if terminal > 0 {
				t.Errorf("%s after the end", ev.Type)
			}
		}
		if terminal != 1 {
			t.Errorf("%d terminal events", terminal)
		}
	})
}

// allocated is the number of bytes allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
