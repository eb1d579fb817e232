package bedrock_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestARNChoosesHost(t *testing.T) {
	var host, auth string
	c := bedrock.New(bedrock.Options{Endpoint: wire.Endpoint{
		Key: func(context.Context) (string, error) { return "SECRET", nil },
		Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			host, auth = r.URL.Host, r.Header.Get("Authorization")
			return nil, io.EOF
		})},
	}, Getenv: func(string) string { return "" }})
	_, err := llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "arn:aws:bedrock:attacker.example/#:1:inference-profile/x"}, Messages: []llm.Message{llm.UserText("x")}}))
	if host != "" && !strings.HasSuffix(host, ".amazonaws.com") {
		t.Errorf("%q was sent to %s (%v)", auth, host, err)
	}
}

func TestKeyErrorIsAuth(t *testing.T) {
	c := bedrock.New(bedrock.Options{Endpoint: wire.Endpoint{
		Key: func(context.Context) (string, error) { return "", errors.New("the login has expired") },
	}, Getenv: func(string) string { return "" }})
	_, err := llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}))
	if llm.KindOf(err) != llm.ErrAuth {
		t.Errorf("%s: %v", llm.KindOf(err), err)
	}
}

func answerOf(frames ...[2]string) (*llm.Message, error) {
	var body []byte
	for _, f := range frames {
		body = wire.AppendEventStream(body, f[0], false, []byte(f[1]))
	}
	c := bedrock.New(bedrock.Options{Endpoint: wire.Endpoint{
		Key: func(context.Context) (string, error) { return "k", nil },
		Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body))), Request: r}, nil
		})},
	}, Getenv: func(string) string { return "" }})
	return llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}))
}

func TestTextInsideCall(t *testing.T) {
	m, err := answerOf([2]string{"messageStart", `{"role":"assistant"}`},
		[2]string{"contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t","name":"delete"}}}`},
		[2]string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hm"}}`},
		[2]string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"path\":\"a\"}"}}}`},
		[2]string{"contentBlockStop", `{"contentBlockIndex":0}`},
		[2]string{"messageStop", `{"stopReason":"tool_use"}`},
		[2]string{"metadata", `{"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`})
	if err != nil {
		t.Fatal(err)
	}
	if args, _, err := m.ToolCalls()[0].Object(); err == nil && string(args) != `{"path":"a"}` {
		t.Errorf("runs with %s", args)
	}
}
