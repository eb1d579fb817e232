package wire_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Some hosts report an error as a plain object under status 200.
func TestErrorUnder200(t *testing.T) {
	body := ""
	e := wire.Endpoint{Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}}
	for name, c := range map[string]llm.Client{
		"anthropic": anthropic.New(anthropic.Options{Endpoint: e}),
		"responses": openai.NewResponses(openai.ResponsesOptions{Endpoint: e}),
		"chat":      openai.NewCompletions(openai.CompletionsOptions{Endpoint: e}),
		"google":    google.New(google.Options{Endpoint: e}),
	} {
		body = `{"error":{"type":"authentication_error","code":"invalid_api_key","message":"the key is wrong"}}`
		if name == "google" {
			body = `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"the key is wrong"}}`
		}
		_, err := llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}))
		if llm.KindOf(err) != llm.ErrAuth {
			t.Errorf("%s: %s %v", name, llm.KindOf(err), err)
		}
	}
}
