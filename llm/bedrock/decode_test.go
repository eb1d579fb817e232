package bedrock_test

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

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded is a recording as the bytes of an event stream. Its lines are the
// messages: {"event", "exception", "data"}.
func recorded(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var m struct {
			Event     string
			Exception bool
			Data      json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = wire.AppendEventStream(out, m.Event, m.Exception, m.Data)
	}
	return out
}

// replay is the stream of a client that is answered with body.
func replay(t testing.TB, header http.Header, body []byte) llm.Stream {
	c := bedrock.New(bedrock.Options{
		Endpoint: wire.Endpoint{BaseURL: "http://bedrock.invalid", Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, header, body), nil
		})}},
		Getenv: env("AWS_BEARER_TOKEN_BEDROCK", "token"),
	})
	return c.Stream(t.Context(), &llm.Request{Model: &sonnet, Messages: []llm.Message{llm.UserText("Hi.")}})
}

// describe is an event as a line of a golden file.
func describe(t testing.TB, ev llm.Event) string {
	switch ev.Type {
	case llm.EventStart:
		return "start"
	case llm.EventDone, llm.EventError:
		m := *ev.Message
		line := fmt.Sprintf("%s %s", ev.Type, m.StopReason)
		if m.Error != nil {
			line += fmt.Sprintf(" %s %q code=%q", m.Error.Kind, m.Error.Message, m.Error.Code)
		}
		for _, b := range m.Content {
			line += "\n\t" + blockLine(t, b)
		}
		if m.Usage != nil {
			u, err := json.Marshal(m.Usage)
			if err != nil {
				t.Fatal(err)
			}
			line += "\n\tusage " + string(u)
		}
		return line
	}
	if ev.Type.Delta() {
		return fmt.Sprintf("%s %d %q", ev.Type, ev.Index, ev.Delta)
	}
	return fmt.Sprintf("%s %d %s", ev.Type, ev.Index, blockLine(t, ev.Block))
}

func blockLine(t testing.TB, b llm.Block) string {
	if o, ok := b.(llm.Opaque); ok {
		return fmt.Sprintf("opaque %s %s %s", o.API, o.Kind, o.Raw)
	}
	raw, err := wire.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", b), "llm.") + " " + string(raw)
}

func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(name), func(t *testing.T) {
			var lines []string
			for ev := range llm.Events(replay(t, eventStream, recorded(t, path))) {
				lines = append(lines, describe(t, ev))
			}
			got := strings.Join(lines, "\n") + "\n"
			golden := name + ".golden.txt"
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
		})
	}
}

// TestErrorAnswers sorts what AWS answers instead of a stream.
func TestErrorAnswers(t *testing.T) {
	for _, tt := range []struct {
		status       int
		errorType    string
		body         string
		kind         llm.ErrorKind
		code, inText string
	}{
		{403, "AccessDeniedException:http://internal.amazon.com/coral/com.amazon.bedrock/", `{"message":"You don't have access to the model with the specified model ID."}`, llm.ErrAuth, "AccessDeniedException", "access to the model"},
		{403, "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`, llm.ErrAuth, "UnrecognizedClientException", "security token"},
		{403, "ExpiredTokenException", `{"message":"The security token included in the request is expired"}`, llm.ErrAuth, "ExpiredTokenException", ""},
		{429, "ThrottlingException", `{"message":"Too many requests, please wait before trying again."}`, llm.ErrRateLimit, "ThrottlingException", ""},
		{429, "ThrottlingException", `{"message":"Too many tokens, please wait before trying again."}`, llm.ErrRateLimit, "ThrottlingException", ""},
		{429, "ThrottlingException", `{"message":"Too many tokens per day, please wait before trying again."}`, llm.ErrUsageLimit, "ThrottlingException", ""},
		{400, "ServiceQuotaExceededException", `{"message":"quota"}`, llm.ErrUsageLimit, "ServiceQuotaExceededException", ""},
		{429, "ModelNotReadyException", `{"message":"not ready"}`, llm.ErrRateLimit, "ModelNotReadyException", ""},
		{424, "ModelErrorException", `{"message":"failed"}`, llm.ErrOverload, "ModelErrorException", ""},
		{408, "ModelTimeoutException", `{"message":"slow"}`, llm.ErrOverload, "ModelTimeoutException", ""},
		{503, "ServiceUnavailableException", `{"message":"Bedrock is unable to process your request."}`, llm.ErrOverload, "ServiceUnavailableException", ""},
		{500, "InternalServerException", `{"message":"oops"}`, llm.ErrOverload, "InternalServerException", ""},
		{400, "ValidationException", `{"message":"Input is too long for requested model."}`, llm.ErrContextOverflow, "ValidationException", ""},
		{400, "ValidationException", `{"message":"The model returned the following errors: input length and max_tokens exceed context limit: 199000 + 8000 > 200000"}`, llm.ErrContextOverflow, "ValidationException", ""},
		{400, "ValidationException", `{"message":"Output blocked by content filtering policy"}`, llm.ErrContentFilter, "ValidationException", ""},
		{400, "ValidationException", `{"message":"The provided model identifier is invalid."}`, llm.ErrInvalidRequest, "ValidationException", "model identifier"},
		{400, "", `{"__type":"com.amazon.coral.service#ThrottlingException","message":"slow down"}`, llm.ErrRateLimit, "ThrottlingException", ""},
		{404, "UnknownOperationException", `{}`, llm.ErrInvalidRequest, "UnknownOperationException", "base URL"},
	} {
		c := bedrock.New(bedrock.Options{
			Endpoint: wire.Endpoint{BaseURL: "http://bedrock.invalid", Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return answer(r, tt.status, http.Header{"X-Amzn-Errortype": {tt.errorType}, "X-Amzn-Requestid": {"req-1"}}, []byte(tt.body)), nil
			})}},
			Getenv: env("AWS_BEARER_TOKEN_BEDROCK", "secret-token"),
		})
		_, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Model: &sonnet, Messages: []llm.Message{llm.UserText("Hi.")}}))
		e, ok := err.(*llm.Error)
		if !ok {
			t.Fatalf("%s: %v", tt.errorType, err)
		}
		if e.Kind != tt.kind || e.Code != tt.code || e.Status != tt.status || e.RequestID != "req-1" || !strings.Contains(e.Message, tt.inText) {
			t.Errorf("%d %s %s:\ngot %s, code %s, request %s: %v", tt.status, tt.errorType, tt.body, e.Kind, e.Code, e.RequestID, e)
		}
	}
}

// deltas is a stream of n text deltas as Bedrock sends them, with padding of
// changing length.
func deltas(n int) []byte {
	out := wire.AppendEventStream(nil, "messageStart", false, []byte(`{"p":"abc","role":"assistant"}`))
	for i := range n {
		out = wire.AppendEventStream(out, "contentBlockDelta", false,
			fmt.Appendf(nil, `{"contentBlockIndex":0,"delta":{"text":" word %d"},"p":%q}`, i, "abcdefghijklmnopqrstuvwxyz"[:i%26]))
	}
	out = wire.AppendEventStream(out, "contentBlockStop", false, []byte(`{"contentBlockIndex":0}`))
	out = wire.AppendEventStream(out, "messageStop", false, []byte(`{"stopReason":"end_turn"}`))
	return wire.AppendEventStream(out, "metadata", false, []byte(`{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`))
}

// BenchmarkDecode reads a recorded answer through the public client.
func BenchmarkDecode(b *testing.B) {
	const n = 2000
	body := deltas(n)
	b.ReportAllocs()
	before := allocated()
	for b.Loop() {
		events := 0
		for ev := range llm.Events(replay(b, eventStream, body)) {
			events++
			if ev.Type == llm.EventError {
				b.Fatal(ev.Message.Error)
			}
		}
		if events < n {
			b.Fatalf("%d events", events)
		}
	}
	after := allocated()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
	b.ReportMetric(float64(after-before)/float64(b.N*n), "B/event")
}

// allocated is the number of bytes allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
