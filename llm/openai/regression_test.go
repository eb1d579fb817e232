package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answeringSSE(body string) *http.Client {
	return &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
}

var plainRequest = &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}

func responsesOf(body string) (*llm.Message, error) {
	c := openai.NewResponses(openai.ResponsesOptions{Endpoint: wire.Endpoint{Client: answeringSSE(body)}})
	return llm.Collect(c.Stream(context.Background(), plainRequest))
}

func chatOf(body string) (*llm.Message, error) {
	c := openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{Client: answeringSSE(body)}})
	return llm.Collect(c.Stream(context.Background(), plainRequest))
}

func TestOutputOfUnfinishedItem(t *testing.T) {
	m, err := responsesOf(`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"delete","arguments":""}}

data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"c1","name":"delete","arguments":"{\"path\":\"a\"}","status":"completed"}]}}

`)
	if err != nil {
		t.Fatal(err)
	}
	args, state, err := m.ToolCalls()[0].Object()
	if string(args) != `{"path":"a"}` {
		t.Errorf("the call would run with %s (%s, %v), stop %s", args, state, err, m.StopReason)
	}
}

func TestAuthorizeSeesSentBody(t *testing.T) {
	var seen, sent string
	c := openai.NewResponses(openai.ResponsesOptions{
		Endpoint: wire.Endpoint{Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			b, _ := io.ReadAll(r.Body)
			sent = string(b)
			return nil, io.EOF
		})}},
		Authorize: func(_ context.Context, _ *http.Request, body []byte) error { seen = string(body); return nil },
	})
	req := *plainRequest
	req.Extra = map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`)}
	_, _ = llm.Collect(c.Stream(context.Background(), &req))
	if seen != sent {
		t.Errorf("authorized\n%s\nsent\n%s", seen, sent)
	}
}

func TestDoneWithoutReason(t *testing.T) {
	m, err := chatOf(`data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"delete","arguments":""}}]}}]}

data: [DONE]

`)
	if err != nil {
		t.Log(err)
	}
	if args, state, err := m.ToolCalls()[0].Object(); err == nil {
		t.Errorf("may run: %s %s, stop %s", args, state, m.StopReason)
	}
}

func TestBaseURLQuery(t *testing.T) {
	var url string
	c := openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		url = r.URL.String()
		return nil, io.EOF
	})}}})
	_, _ = llm.Collect(c.Stream(context.Background(), plainRequest))
	if want := "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"; url != want {
		t.Errorf("\n%s\nwant\n%s", url, want)
	}
}

func TestBaseURLSecret(t *testing.T) {
	c := openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: "user:SECRET@proxy.example/v1"}})
	_, err := llm.Collect(c.Stream(context.Background(), plainRequest))
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Error(err)
	}
}

func TestDetailsQuadratic(t *testing.T) {
	pacetest.Costly(t)
	run := func(n int) time.Duration {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"some \",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"some \",\"index\":0}]}}]}\n\n")
		}
		b.WriteString("data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		at := time.Now()
		if _, err := chatOf(b.String()); err != nil {
			t.Fatal(err)
		}
		return time.Since(at)
	}
	// The same number of pieces in eight streams and in one: both take about as long, so
	// that what else the machine does slows them down alike.
	for range 5 {
		var a time.Duration
		for range 8 {
			a += run(10000)
		}
		b := run(80000)
		t.Logf("8 times 10000: %s, 80000: %s, ratio %.1f", a, b, float64(b)/float64(a))
		if b < 4*a {
			return
		}
	}
	t.Error("grows faster than the stream")
}
