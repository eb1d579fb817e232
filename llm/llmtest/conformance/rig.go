package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

// rig joins the two halves of a subject, over a connection or without one.
type rig struct{ *Subject }

// memoryURL is the base URL of clients whose transport never leaves the process.
const memoryURL = "http://model.invalid"

// newHTTP is an HTTP client of the test's own, so that its connections can be
// counted and closed.
func newHTTP(t testing.TB) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// open makes a client with no timeouts that hide what a test is about.
func (s rig) open(base string, c *http.Client) llm.Client {
	return s.Open(base, wire.Endpoint{
		BaseURL: base, Client: c, FirstEvent: time.Minute, Idle: time.Minute,
		Key: func(context.Context) (string, error) { return "test-key", nil },
	})
}

// serve plays the turns on a loopback server and gives a client for it.
func (s rig) serve(t testing.TB, turns ...llmtest.Turn) (llm.Client, *llmtest.Server) {
	t.Helper()
	srv, err := llmtest.Serve(s.Server, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return s.open(srv.URL, newHTTP(t)), srv
}

// local is serve without a network.
func (s rig) local(t testing.TB, turns ...llmtest.Turn) (llm.Client, *llmtest.Server) {
	t.Helper()
	srv := llmtest.New(llmtest.Script{Turns: turns}, s.Server)
	t.Cleanup(srv.Close)
	return s.open(memoryURL, &http.Client{Transport: handlerTransport{srv}}), srv
}

// model is a copy of the subject's model.
func (s rig) model() *llm.Model {
	m := s.Model
	return &m
}

// plain is the subject's model without reasoning, which forbids some options.
func (s rig) plain() *llm.Model {
	m := s.model()
	m.Thinking = llm.ThinkingSupport{}
	return m
}

// ask is a request for one user message.
func (s rig) ask() *llm.Request {
	return &llm.Request{
		Model:    s.model(),
		System:   "You are terse.",
		Messages: []llm.Message{llm.UserText("What is in go.mod?")},
		Tools:    []llm.Tool{readTool},
	}
}

var readTool = llm.Tool{
	Name: "read", Description: "Reads a file.",
	Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
}

// answer has the server say events and returns what the client makes of them.
// The order of the client's events is checked on the way.
func (s rig) answer(t testing.TB, turn llmtest.Turn) (*llm.Message, error) {
	t.Helper()
	c, srv := s.serve(t, turn)
	m, err := read(t, c.Stream(t.Context(), s.ask()))
	if srv.Err() != nil {
		t.Fatalf("the server half refused the request: %v", srv.Err())
	}
	return m, err
}

// says is answer for what must succeed.
func (s rig) says(t testing.TB, events ...[]llm.Event) *llm.Message {
	t.Helper()
	m, err := s.answer(t, llmtest.Turn{Events: join(events...)})
	if err != nil {
		t.Fatalf("the answer failed: %v", err)
	}
	return m
}

// read reads a stream to its end and checks the order of its events.
func read(t testing.TB, stream llm.Stream) (*llm.Message, error) {
	t.Helper()
	var events []llm.Event
	for ev := range llm.Events(stream) {
		events = append(events, ev)
	}
	CheckEvents(t, events)
	if ev, ok := stream.Next(); ok {
		t.Errorf("Next gave %s after the end", ev.Type)
	}
	if len(events) == 0 {
		t.Fatal("the stream gave no event")
	}
	m := events[len(events)-1].Message
	if m == nil {
		t.Fatal("the last event has no message")
	}
	if m.Error != nil {
		return m, m.Error
	}
	return m, nil
}

func join(groups ...[]llm.Event) []llm.Event {
	var out []llm.Event
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// recording is a whole answer as it went over the wire.
type recording struct {
	status int
	header http.Header
	body   []byte
}

// record has the server half say events and keeps the bytes.
func (s rig) record(t testing.TB, events []llm.Event) recording {
	t.Helper()
	var rec recording
	srv := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{Events: events}}}, s.Server)
	c := s.open(memoryURL, &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := handlerTransport{srv}.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		rec = recording{status: resp.StatusCode, header: resp.Header}
		if rec.body, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(rec.body))
		return resp, nil
	})})
	if _, err := read(t, c.Stream(t.Context(), s.ask())); err != nil {
		t.Fatalf("the answer to record failed: %v", err)
	}
	if srv.Err() != nil {
		t.Fatal(srv.Err())
	}
	return rec
}

// replay is a client that gets the recording's head and body.
func (s rig) replay(rec recording, body func() io.Reader) llm.Client {
	return s.open(memoryURL, &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return response(r, rec, body()), nil
	})})
}

func response(r *http.Request, rec recording, body io.Reader) *http.Response {
	if r.Body != nil {
		r.Body.Close()
	}
	h := rec.header.Clone()
	h.Del("Content-Length")
	return &http.Response{
		StatusCode: rec.status, Status: http.StatusText(rec.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(body), ContentLength: -1, Request: r,
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// handlerTransport answers requests by calling a handler, without a network.
// The answer is there as a whole when its head is.
type handlerTransport struct{ h http.Handler }

var errBroken = errors.New("the handler broke the connection")

func (tr handlerTransport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			resp, err = nil, errBroken
		default:
			panic(p)
		}
	}()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI = r.URL.RequestURI()
	tr.h.ServeHTTP(w, in)
	resp = w.Result()
	resp.Request = r
	return resp, nil
}
