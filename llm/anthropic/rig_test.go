package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/wire"
)

// canned answers every request with the same bytes and keeps what was asked.
type canned struct {
	status int
	header http.Header
	body   []byte

	url  string
	head http.Header
	sent []byte
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.url, c.head = r.URL.String(), r.Header.Clone()
	var err error
	if c.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	header := c.header
	if header == nil {
		header = http.Header{"Content-Type": {"text/event-stream"}}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(c.body)), Request: r}, nil
}

const hello = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\"}}\n\n" +
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"

func client(c *canned, o anthropic.Options) *anthropic.Client {
	o.Client = &http.Client{Transport: c}
	return anthropic.New(o)
}

// sends gives what goes over the wire for a request.
func sends(t testing.TB, o anthropic.Options, req *llm.Request) *canned {
	t.Helper()
	c := &canned{body: []byte(hello)}
	if o.Host == anthropic.HostBedrock {
		c.header = http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}
		c.body = bedrock(t, []byte(hello))
	}
	if _, err := llm.Collect(client(c, o).Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	return c
}

// asked is the body of a request as a tree.
func asked(t testing.TB, o anthropic.Options, req *llm.Request) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(sends(t, o, req).sent, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// bedrock carries server-sent events in the frames of the AWS event stream.
func bedrock(t testing.TB, sse []byte) []byte {
	t.Helper()
	var out []byte
	in := wire.NewSSE(bytes.NewReader(sse))
	for {
		f, err := in.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(map[string]any{"bytes": f.Data, "p": "abcdef"})
		if err != nil {
			t.Fatal(err)
		}
		out = wire.AppendEventStream(out, "chunk", false, payload)
	}
}

// answer is what the client makes of an answer's bytes.
func answer(t testing.TB, body []byte) (*llm.Message, error) {
	t.Helper()
	c := &canned{body: body}
	return llm.Collect(client(c, anthropic.Options{}).Stream(t.Context(), ask()))
}

func key(k string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return k, nil }
}

var budgeted = llm.Model{
	ID: "claude-sonnet-4-5", Provider: "anthropic", API: llm.APIAnthropic, MaxOutput: 64_000, Released: "2025-09-29",
	Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
	Thinking: llm.ThinkingSupport{Mode: llm.ThinkingBudget},
}

var adaptive = llm.Model{
	ID: "claude-opus-4-8", Provider: "anthropic", API: llm.APIAnthropic, MaxOutput: 128_000, Released: "2026-05-28",
	Input: budgeted.Input,
	Thinking: llm.ThinkingSupport{
		Mode: llm.ThinkingAdaptive, Levels: llm.Levels()[1:], Words: map[llm.Level]string{llm.LevelXHigh: "max"},
	},
}

var readTool = llm.Tool{
	Name: "read", Description: "Reads a file.",
	Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","minLength":1},"all":{"type":"boolean"}},"required":["path"]}`),
}

func ask() *llm.Request {
	m := budgeted
	return &llm.Request{Model: &m, System: "Be brief.", Messages: []llm.Message{llm.UserText("Hi.")}, Tools: []llm.Tool{readTool}}
}
