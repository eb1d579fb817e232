package google_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestModelPath(t *testing.T) {
	var path string
	c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		path = r.URL.EscapedPath()
		return nil, io.EOF
	})}}})
	_, err := llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "tunedModels/../../v1/files"}, Messages: []llm.Message{llm.UserText("x")}}))
	if strings.Contains(path, "..") {
		t.Errorf("%s %v", path, err)
	}
}

func TestUsageWithoutCounts(t *testing.T) {
	body := `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}],"usageMetadata":{"trafficType":"ON_DEMAND"}}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"b"}]}}],"usageMetadata":{"trafficType":"ON_DEMAND"}}

`
	c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}}})
	m, err := llm.Collect(c.Stream(context.Background(), &llm.Request{Model: &llm.Model{ID: "m"}, Messages: []llm.Message{llm.UserText("x")}}))
	if m.Usage != nil {
		t.Errorf("the broken answer claims to have used %+v (%v)", m.Usage, err)
	}
}
