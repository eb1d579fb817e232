package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answeringSSE(body string) *http.Client {
	return &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
}

func answerOf(body string) (*llm.Message, error) {
	c := anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{Client: answeringSSE(body)}})
	return llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}))
}

const revHead = `data: {"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}

`

func TestHeldInputLostWithoutStop(t *testing.T) {
	m, err := answerOf(revHead + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"delete","input":{"path":"a"}}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

`)
	if err != nil {
		t.Fatal(err)
	}
	args, state, err := m.ToolCalls()[0].Object()
	if string(args) != `{"path":"a"}` {
		t.Errorf("the call would run with %s (%s, %v)", args, state, err)
	}
	if len(m.Content) != 2 {
		t.Errorf("the item is gone: %+v", m.Content)
	}
}

func TestRefusedInsideCall(t *testing.T) {
	m, err := answerOf(revHead + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"delete","input":{}}}

data: {"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

`)
	if llm.KindOf(err) != llm.ErrContentFilter {
		t.Fatal(err)
	}
	if args, state, err := m.ToolCalls()[0].Object(); err == nil {
		t.Errorf("the cut call may run: %s %s, defect %q", args, state, m.ToolCalls()[0].Defect)
	}
}

func TestLongCacheOnly(t *testing.T) {
	m, err := answerOf(`data: {"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":100},"output_tokens":1}}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

`)
	if err != nil {
		t.Fatal(err)
	}
	if m.Usage.CacheWrite != 110 || m.Usage.CacheWriteLong != 100 {
		t.Errorf("%+v", m.Usage)
	}
}

func TestNestedRequest(t *testing.T) {
	n := 3000
	body := `{"model":"m","messages":[{"role":"user","content":` + strings.Repeat(`[{"type":"tool_result","content":`, n) + `"x"` + strings.Repeat(`}]`, n) + `}]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := anthropic.Server{}.DecodeRequest(nil, []byte(body))
	runtime.ReadMemStats(&after)
	t.Logf("%d bytes of request, %d MB allocated, %v", len(body), (after.TotalAlloc-before.TotalAlloc)>>20, err)
	if after.TotalAlloc-before.TotalAlloc > 100<<20 {
		t.Error("too much")
	}
}

func TestVertexRegion(t *testing.T) {
	var host string
	c := anthropic.New(anthropic.Options{Host: anthropic.HostVertex, Region: "evil.example/", Project: "p", Endpoint: wire.Endpoint{
		Key: func(context.Context) (string, error) { return "SECRET", nil },
		Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			host = r.URL.Host
			return nil, io.EOF
		})},
	}})
	_, err := llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}))
	if host == "evil.example" {
		t.Errorf("went to %q, %v", host, err)
	}
}

var (
	_ = bytes.NewReader
	_ = json.Valid
)
