package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

// failures are errors as providers word them, one of each kind that a provider can
// report.
func failures() []*llm.Error {
	return []*llm.Error{
		{Kind: llm.ErrAuth, Message: "invalid x-api-key"},
		{Kind: llm.ErrRateLimit, Message: "too many requests per minute", RetryAfter: 17 * time.Second},
		{Kind: llm.ErrOverload, Message: "the model is overloaded, try again later", RetryAfter: 3 * time.Second},
		{Kind: llm.ErrUsageLimit, Message: "you have exceeded your current quota", ResetAt: time.Now().Add(2 * time.Hour).Truncate(time.Second)},
		{Kind: llm.ErrContextOverflow, Message: "prompt is too long: 210000 tokens > 200000 maximum"},
		{Kind: llm.ErrInvalidRequest, Message: "temperature: must be at most 1"},
		{Kind: llm.ErrContentFilter, Message: "the content was blocked by our policy"},
	}
}

// testRefusals checks every kind of error as an HTTP answer.
func (s faultChecks) testRefusals(t *testing.T) {
	for _, sent := range failures() {
		t.Run(string(sent.Kind), func(t *testing.T) {
			m, err := s.answer(t, llmtest.Turn{Fault: llmtest.Fault{Error: sent}})
			got := failure(t, err)
			if got.Kind != sent.Kind {
				t.Fatalf("arrived as %s: %v", got.Kind, got)
			}
			if got.Status < 400 || got.Status > 599 {
				t.Errorf("status %d", got.Status)
			}
			if !strings.Contains(got.Message, sent.Message) {
				t.Errorf("message %q, want %q", got.Message, sent.Message)
			}
			if got.Provider != s.Model.Provider || m.StopReason != llm.StopError {
				t.Errorf("provider %q, stop reason %q", got.Provider, m.StopReason)
			}
			if strings.Contains(got.Error(), "test-key") || strings.Contains(got.Error(), "go.mod") {
				t.Errorf("the error tells a secret or the request: %v", got)
			}
			if sent.RetryAfter != 0 && got.RetryAfter != sent.RetryAfter {
				t.Errorf("retry after %s, want %s", got.RetryAfter, sent.RetryAfter)
			}
			if !sent.ResetAt.IsZero() && !s.NoResetTime && !got.ResetAt.Equal(sent.ResetAt) {
				t.Errorf("reset at %s, want %s", got.ResetAt, sent.ResetAt)
			}
			if got.Retryable() != sent.Retryable() {
				t.Errorf("retryable: %v", got.Retryable())
			}
		})
	}
	// A gateway passes on what went wrong above it.
	for _, kind := range []llm.ErrorKind{llm.ErrTransport, llm.ErrStalled} {
		t.Run(string(kind), func(t *testing.T) {
			_, err := s.answer(t, llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: kind, Message: "the upstream did not answer"}}})
			if got := failure(t, err); !got.Retryable() {
				t.Errorf("arrived as %s, which is not worth a retry: %v", got.Kind, got)
			}
		})
	}
	t.Run("headers", func(t *testing.T) {
		h := http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"99"}, "X-Request-Id": {"req_17"}}
		_, err := s.answer(t, llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrRateLimit}, Header: h}})
		got := failure(t, err)
		if got.RetryAfter != 1500*time.Millisecond {
			t.Errorf("retry after %s, want 1.5s as retry-after-ms says", got.RetryAfter)
		}
		if got.RequestID == "" {
			t.Errorf("no request id")
		}
	})
}

func failure(t testing.TB, err error) *llm.Error {
	t.Helper()
	got, ok := err.(*llm.Error)
	if !ok {
		t.Fatalf("expected an error, got %v", err)
	}
	return got
}

// testErrorsInStream checks every kind of error after the answer has begun.
func (s faultChecks) testErrorsInStream(t *testing.T) {
	for _, sent := range failures() {
		if slices.Contains(s.NoErrorInStream, sent.Kind) {
			continue
		}
		t.Run(string(sent.Kind), func(t *testing.T) {
			events := join(llmtest.Say("As far as"), llmtest.Fail(sent))
			m, err := s.answer(t, llmtest.Turn{Events: events})
			got := failure(t, err)
			if got.Kind != sent.Kind {
				t.Errorf("arrived as %s: %v", got.Kind, got)
			}
			if m.Text() != "As far as" {
				t.Errorf("what was said before is %q", m.Text())
			}
		})
	}
	t.Run("inside a call", func(t *testing.T) {
		begun := llmtest.Call("call_a", "write", `{"path":"a","content":"half of it"}`)
		events := join(begun[:len(begun)-2], llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "overloaded"}))
		m, err := s.answer(t, llmtest.Turn{Events: events})
		if got := failure(t, err); got.Kind != llm.ErrOverload {
			t.Errorf("arrived as %s: %v", got.Kind, got)
		}
		noneRuns(t, m)
	})
}

// noneRuns fails if a call of m may run.
func noneRuns(t testing.TB, m *llm.Message) {
	t.Helper()
	for _, call := range m.ToolCalls() {
		if raw, _, err := call.Object(); err == nil {
			t.Errorf("the cut call of %s may run with %s", call.Name, raw)
		}
	}
}

// testDamage breaks the connection and the frames of an answer.
func (s faultChecks) testDamage(t *testing.T) {
	answer := join(llmtest.Say("one two three four five six seven eight"), llmtest.Call("call_a", "read", `{"path":"a"}`))
	t.Run("no answer", func(t *testing.T) {
		_, err := s.answer(t, llmtest.Turn{Fault: llmtest.Fault{Drop: true}})
		wantKind(t, err, llm.ErrTransport)
	})
	t.Run("no body", func(t *testing.T) {
		m, err := s.answer(t, llmtest.Turn{Events: answer, Fault: llmtest.Fault{CutAfterBytes: -1}})
		wantKind(t, err, llm.ErrTransport)
		noneRuns(t, m)
	})
	for _, n := range []int{1, 17, 100, 300} {
		t.Run(fmt.Sprintf("cut after %d bytes", n), func(t *testing.T) {
			m, err := s.answer(t, llmtest.Turn{Events: answer, Fault: llmtest.Fault{CutAfterBytes: n}})
			wantKind(t, err, llm.ErrTransport)
			noneRuns(t, m)
		})
	}
	for _, n := range []int{1, 3, 6} {
		t.Run(fmt.Sprintf("malformed after %d events", n), func(t *testing.T) {
			m, err := s.answer(t, llmtest.Turn{Events: answer, Fault: llmtest.Fault{MalformedAfterEvents: n}})
			wantKind(t, err, llm.ErrTransport)
			noneRuns(t, m)
		})
	}
	for name, fault := range map[string]llmtest.Fault{
		"end twice":      {RepeatEnd: true},
		"text behind":    {Trailing: "data: {\"type\":\"what\"}\n\nand then some"},
		"zeros behind":   {Trailing: strings.Repeat("\x00", 100)},
		"newline behind": {Trailing: "\n\n: bye\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := s.answer(t, llmtest.Turn{Events: answer, Fault: fault})
			if err != nil {
				t.Fatal(err)
			}
			if m.Text() != "one two three four five six seven eight" || len(m.ToolCalls()) != 1 {
				t.Errorf("arrived as %q", visible(m.Content))
			}
		})
	}
	t.Run("web page", s.webPage)
}

func wantKind(t testing.TB, err error, kind llm.ErrorKind) {
	t.Helper()
	if got := failure(t, err); got.Kind != kind {
		t.Errorf("arrived as %s, want %s: %v", got.Kind, kind, got)
	}
}

// webPage answers as a login portal does.
func (s faultChecks) webPage(t *testing.T) {
	rec := recording{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}}
	c := s.replay(rec, readerOf([]byte("<!doctype html><title>Sign in</title>")))
	_, err := read(t, c.Stream(t.Context(), s.ask()))
	if got := failure(t, err); got.Retryable() {
		t.Errorf("a web page is answered with a retry: %v", got)
	}
}

// testStalls lets the server fall silent at several points. Time is simulated.
func (s faultChecks) testStalls(t *testing.T) {
	rec := s.record(t, join(llmtest.Say("one two three four five six"), llmtest.Call("call_a", "read", `{"path":"a"}`)))
	const first, idle = 40 * time.Second, 90 * time.Second
	for _, n := range append([]int{-1}, spread(len(rec.body)/2, 8)...) {
		t.Run(fmt.Sprintf("at byte %d", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := s.Open(memoryURL, wire.Endpoint{
					BaseURL: memoryURL, FirstEvent: first, Idle: idle,
					Client: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
						if n < 0 {
							<-r.Context().Done()
							return nil, r.Context().Err()
						}
						return response(r, rec, &stallingReader{ctx: r.Context(), data: rec.body[:n]}), nil
					})},
				})
				began := time.Now()
				m, err := read(t, c.Stream(t.Context(), s.ask()))
				wantKind(t, err, llm.ErrStalled)
				noneRuns(t, m)
				if waited := time.Since(began); waited != first && waited != idle {
					t.Errorf("gave up after %s, want %s before the first event and %s later", waited, first, idle)
				}
			})
		})
	}
	t.Run("real", func(t *testing.T) {
		for name, fault := range map[string]llmtest.Fault{"head": {StallHead: true}, "body": {StallAfterEvents: 3}} {
			srv, err := llmtest.Serve(s.Server, llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "one two three four"}}, Fault: fault}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			c := s.Open(srv.URL, wire.Endpoint{BaseURL: srv.URL, Client: newHTTP(t), FirstEvent: 50 * time.Millisecond, Idle: 50 * time.Millisecond})
			_, err = read(t, c.Stream(t.Context(), s.ask()))
			if got := failure(t, err); got.Kind != llm.ErrStalled {
				t.Errorf("%s: arrived as %s: %v", name, got.Kind, got)
			}
		}
	})
}
