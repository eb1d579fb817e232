package google_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/wire"
)

func sse(chunks ...string) []byte {
	var out bytes.Buffer
	for _, c := range chunks {
		_ = wire.WriteSSE(&out, "", []byte(c))
	}
	return out.Bytes()
}

const stop = `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}]}`

// slowly is the chunk with a field that makes the fast path give up.
func slowly(chunk string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(chunk, " \t\r\n"), "{")
	if !ok {
		return chunk
	}
	if strings.TrimLeft(rest, " \t\r\n") == "}" {
		return `{"createTime":"x"}`
	}
	return `{"createTime":"x",` + rest
}

// fastAndSlow compares what one chunk means in both readings.
func fastAndSlow(t *testing.T, chunk string) {
	t.Helper()
	fast := replay(t, sse(chunk, stop), nil)
	slow := replay(t, sse(slowly(chunk), stop), nil)
	ignore := cmp.Options{
		cmpopts.IgnoreFields(llm.Message{}, "Time"), cmpopts.IgnoreFields(llm.Error{}, "Err"),
		cmpopts.EquateEmpty(),
	}
	if diff := cmp.Diff(slow, fast, ignore); diff != "" {
		t.Errorf("%s\n(-encoding/json +by hand):\n%s", chunk, diff)
	}
}

var chunks = []string{
	`{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":10,"promptTokensDetails":[{"modality":"TEXT","tokenCount":9},{"modality":"IMAGE","tokenCount":2}]},"modelVersion":"m","responseId":"r"}`,
	`{"candidates":[{"content":{"parts":[{"thought":true,"text":"a\n\t\"\\\/\u003c\u00e9"}]}}],"usageMetadata":{"thoughtsTokenCount":7,"cachedContentTokenCount":3,"promptTokenCount":5,"toolUsePromptTokenCount":1,"trafficType":"ON_DEMAND"}}`,
	`{"candidates":[{"content":{"parts":[{"text":"😀 wörld"}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"\ud83d\ude00"}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"\ud83d"}]}}]}`,
	"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xff\xfe\"}]}}]}",
	`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"a","text":"b"}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"a","thought":false}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":null}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"Text":"case"}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":1}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":0.0}]}`,
	`{"usageMetadata":{"promptTokenCount":01}}`,
	`{"usageMetadata":{"promptTokenCount":1e3}}`,
	`{"usageMetadata":{"promptTokenCount":12345678901}}`,
	`{"usageMetadata":{"promptTokenCount":-1}}`,
	`{"candidates":[{"content":{"parts":[{"text":"a` + "\n" + `"}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]} x`,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],}`,
	`{"candidates":[{"content":{"parts":[{"text":"a","toolCall":null,"functionCall":null,"executableCode":null}]}}],"error":null,"promptFeedback":null}`,
	`{"responseId":"é"}`, `{}`, `null`, `[]`, `[{"error":{"code":500,"message":"x"}}]`, ``, `{"error":null}`, `"x"`,
}

func TestFastPathMeansTheSame(t *testing.T) {
	for _, c := range chunks {
		fastAndSlow(t, c)
	}
}

func FuzzFastPath(f *testing.F) {
	for _, c := range chunks {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, chunk string) {
		if strings.ContainsAny(chunk, "\r\n") {
			return // several lines are another frame
		}
		fastAndSlow(t, chunk)
	})
}

// FuzzStream checks what every stream promises, whatever arrives.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {}\n\n"))
	for _, c := range chunks {
		f.Add(sse(c, stop))
	}
	f.Add(sse(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s"},{"inlineData":{}},{"text":"","thoughtSignature":"t"}]},"finishReason":"MAX_TOKENS","groundingMetadata":{"groundingChunks":[{"web":{}}],"groundingSupports":[{"groundingChunkIndices":[-1,0,7]}]}}]}`))
	f.Add(sse(`{"promptFeedback":{"blockReason":"OTHER"}}`, `{"error":{"code":429}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		open := map[int]bool{}
		events := replay(t, body, nil)
		for i, ev := range events {
			if (i == len(events)-1) != ev.Type.Terminal() {
				t.Fatalf("event %d of %d is %s", i, len(events), ev.Type)
			}
			switch ev.Type {
			case llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart:
				open[ev.Index] = true
			case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
				if !open[ev.Index] {
					t.Fatalf("block %d ends without a start", ev.Index)
				}
				delete(open, ev.Index)
			}
		}
		m := final(t, events)
		for _, c := range m.ToolCalls() {
			if _, _, err := c.Object(); err != nil && c.Defect == "" && m.Error == nil {
				t.Errorf("the call %+v arrived without an object", c)
			}
		}
		// What arrived can be sent back.
		req := &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi"), *m, llm.UserText("Go on")}}
		if b := sentBody(t, google.Options{}, req); !json.Valid(b) {
			t.Errorf("the answer goes back as %s", b)
		}
	})
}

func TestFieldsWithoutValue(t *testing.T) {
	m := final(t, replay(t, sse(`{"candidates":[{"content":{"parts":[{"text":"a","thought":null,"toolCall":null,"functionCall":null,"executableCode":null,"inlineData":null}]},"finishReason":"STOP"}],"error":null,"promptFeedback":null}`), nil))
	if m.Error != nil || m.Text() != "a" {
		t.Errorf("%+v", m)
	}
}

func TestConnectionThatBreaksAfterTheFinish(t *testing.T) {
	whole := sse(`{"candidates":[{"content":{"parts":[{"text":"all"}]},"finishReason":"STOP"}]}`)
	for name, body := range map[string]io.Reader{
		"break": io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(errors.New("reset"))),
		"cut":   io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(io.ErrUnexpectedEOF)),
	} {
		c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
		})}}})
		m, err := collect(t, c, &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}})
		if err != nil || m.Text() != "all" {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCallIDsAreUniqueInTheConversation(t *testing.T) {
	call := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}},{"functionCall":{"id":"same","name":"f","args":{}}}]},"finishReason":"STOP"}]}`
	req := &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}}
	seen := map[string]bool{}
	for range 3 {
		m := final(t, replay(t, sse(call), req))
		again := final(t, replay(t, sse(call), req))
		for i, c := range m.ToolCalls() {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("the id %q is there twice", c.ID)
			}
			seen[c.ID] = true
			if other := again.ToolCalls()[i].ID; other != c.ID {
				t.Errorf("the same answer gave the ids %q and %q", c.ID, other)
			}
		}
		req.Messages = append(req.Messages, *m)
		for _, c := range m.ToolCalls() {
			req.Messages = append(req.Messages, llm.ToolResultText(c, "ok", false))
		}
	}
	if !seen["same"] {
		t.Error("the vendor's own id was not kept")
	}
}

func TestSignatureOfItsOwnPart(t *testing.T) {
	m := final(t, replay(t, sse(
		`{"candidates":[{"content":{"parts":[{"text":"","thought":true,"thoughtSignature":"alone"},{"functionCall":{"name":"f"},"thoughtSignature":"c"},{"text":"","thoughtSignature":"after"}]},"finishReason":"STOP"}]}`), nil))
	if th, ok := m.Content[0].(llm.Thinking); !ok || th.Signature != "alone" || !th.Redacted {
		t.Errorf("a thought without words arrived as %#v", m.Content[0])
	}
	if o, ok := m.Content[2].(llm.Opaque); !ok || !strings.Contains(string(o.Raw), "after") {
		t.Errorf("a signature alone arrived as %#v", m.Content[2])
	}
	body := string(sentBody(t, google.Options{}, &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi"), *m}}))
	for _, want := range []string{`{"text":"","thought":true,"thoughtSignature":"alone"}`, `{"text":"","thoughtSignature":"after"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s does not return %s", body, want)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]llm.ErrorKind{
		"SAFETY": llm.ErrContentFilter, "PROHIBITED_CONTENT": llm.ErrContentFilter, "BLOCKLIST": llm.ErrContentFilter,
		"SPII": llm.ErrContentFilter, "RECITATION": llm.ErrContentFilter, "LANGUAGE": llm.ErrContentFilter,
		"IMAGE_SAFETY": llm.ErrContentFilter, "MALFORMED_FUNCTION_CALL": llm.ErrTransport,
		"UNEXPECTED_TOOL_CALL": llm.ErrTransport, "OTHER": llm.ErrOverload, "BRAND_NEW": llm.ErrOverload,
	} {
		m := final(t, replay(t, sse(
			fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":"so"}]},"finishReason":%q,"finishMessage":"two\nlines"}]}`, reason),
			`{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}`), nil))
		if m.Error == nil || m.Error.Kind != want || m.Error.Code != reason {
			t.Errorf("%s: %+v, want %s", reason, m.Error, want)
			continue
		}
		if strings.Contains(m.Error.Message, "\n") || m.Text() != "so" || m.Usage.Output != 4 {
			t.Errorf("%s: message %q, text %q, usage %+v", reason, m.Error.Message, m.Text(), m.Usage)
		}
	}
}

func TestQuotaOfAMinuteIsNoUsageLimit(t *testing.T) {
	const body = `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":%q}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}}`
	for quota, want := range map[string]llm.ErrorKind{
		"GenerateRequestsPerMinutePerProjectPerModel-FreeTier": llm.ErrRateLimit,
		"GenerateRequestsPerDayPerProjectPerModel-FreeTier":    llm.ErrUsageLimit,
	} {
		for _, form := range []string{"%s", "[%s]"} {
			c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: answering{
				status: 429, body: fmt.Appendf(nil, form, fmt.Sprintf(body, quota)),
			}}}})
			_, err := collect(t, c, &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}})
			if llm.KindOf(err) != want {
				t.Errorf("%s in %s: %v, want %s", quota, form, err, want)
			}
		}
	}
}

// recorded is a stream of n deltas as AI Studio prints them.
func recorded(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	words := []string{"the ", "quick", " \\\"brown\\\" ", "fox\\n", " jumps over", " the lazy dog. ", "\\u003cb\\u003e", "größer "}
	for i := range n {
		text := ""
		for range 1 + r.IntN(6) {
			text += words[r.IntN(len(words))]
		}
		fmt.Fprintf(&out, "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"%s\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 1042,\"candidatesTokenCount\": %d,\"totalTokenCount\": %d,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 1042}],\"thoughtsTokenCount\": 211},\"modelVersion\": \"gemini-3-pro-preview\",\"responseId\": \"kZx2aJ3XCtqsz7IP1t2q0As\"}\r\n\r\n", text, i*4, 1253+i*4)
	}
	out.Write(sse(stop))
	return out.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	const n = 2000
	body := recorded(n)
	c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: answering{body: body}}}})
	req := &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	events := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		s := c.Stream(b.Context(), req)
		for {
			ev, ok := s.Next()
			if !ok {
				break
			}
			if ev.Type == llm.EventError {
				b.Fatal(ev.Message.Error)
			}
			events++
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(events), "B/event")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
