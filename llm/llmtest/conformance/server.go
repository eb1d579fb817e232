package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

// sent is a request of the subject's client as its server gets it.
func (s rig) sent(t testing.TB, req *llm.Request) (*http.Request, []byte) {
	t.Helper()
	var in *http.Request
	var body []byte
	c := s.open(memoryURL, &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
		in = httptest.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, r.URL.RequestURI(), nil)
		in.Header = r.Header.Clone()
		return nil, errBroken
	})})
	if _, err := llm.Collect(c.Stream(t.Context(), req)); in == nil {
		t.Fatalf("no request was sent: %v", err)
	}
	return in, body
}

// testWhole has the server half answer at once instead of as a stream.
func (s serverChecks) testWhole(t *testing.T) {
	r, body := s.sent(t, s.ask())
	if !s.Server.Match(r) {
		t.Errorf("the server half does not know its client's request: %s %s", r.Method, r.URL)
	}
	for _, other := range []string{"/", "/nothing/here"} {
		if s.Server.Match(httptest.NewRequest(http.MethodGet, other, nil)) {
			t.Errorf("the server half takes GET %s for its own", other)
		}
	}
	req, stream, err := s.Server.DecodeRequest(r, body)
	if err != nil {
		t.Fatal(err)
	}
	if !stream {
		t.Errorf("the client's wish for a stream got lost")
	}
	w := httptest.NewRecorder()
	s.encodeWhole(t, w, req, rich())
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		t.Errorf("answered with status %d and %s", w.Code, w.Header().Get("Content-Type"))
	}
	if !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), "Hé 🦊!") || !strings.Contains(w.Body.String(), "list_files") {
		t.Errorf("the answer is %s", clip(w.Body.String()))
	}
	w = httptest.NewRecorder()
	s.encodeWhole(t, w, req, join(llmtest.Say("As far"), llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "overloaded"})))
	if w.Code < 400 {
		t.Errorf("a failed answer has the status %d: %s", w.Code, clip(w.Body.String()))
	}
}

func (s serverChecks) encodeWhole(t testing.TB, w http.ResponseWriter, req *llm.Request, events []llm.Event) {
	t.Helper()
	enc := s.Server.NewEncoder(w, req, false)
	for ev := range llmtest.Perform(llm.Message{API: s.Server.API(), Model: s.Model.ID, ResponseID: "answer_1"}, events) {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
}

// testUnreadable gives the server half bodies that are no requests.
func (s serverChecks) testUnreadable(t *testing.T) {
	r, body := s.sent(t, s.ask())
	for _, bad := range []string{
		"", "{", "null", "[]", `"text"`, "\xff\xfe", `{"messages":5,"input":5,"contents":5}`, `{"messages":[5],"input":[5],"contents":[5]}`,
		`{"model":{}}`, strings.Repeat("[", 20000), string(body[:len(body)/2]),
	} {
		s.survives(t, r, []byte(bad))
	}
	for i := range body {
		for _, c := range []byte{'0', '"', '[', '}', 0xff} {
			bad := append([]byte(nil), body...)
			bad[i] = c
			s.survives(t, r, bad)
		}
	}
}

// survives has the server half decode a body, which must not panic and give
// either a request or an error of the right type.
func (s serverChecks) survives(t testing.TB, r *http.Request, body []byte) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("panic: %v\n%s", p, clip(string(body)))
		}
	}()
	req, _, err := s.Server.DecodeRequest(r, body)
	var known *llm.Error
	switch {
	case err == nil && (req == nil || req.Model == nil):
		t.Errorf("neither a request nor an error: %s", clip(string(body)))
	case err != nil && !errors.As(err, &known):
		t.Errorf("the error %v is no *llm.Error", err)
	}
}

// testEndpoint checks what users set for an endpoint or a request.
func (s serverChecks) testEndpoint(t *testing.T) {
	srv := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{}}}, s.Server)
	defer srv.Close()
	c := s.Open(memoryURL, wire.Endpoint{
		BaseURL: memoryURL, Client: &http.Client{Transport: handlerTransport{srv}},
		Headers: map[string]string{"X-Endpoint": "one", "X-Both": "endpoint"},
		Key:     func(context.Context) (string, error) { return "test-key", nil },
	})
	req := s.ask()
	req.Headers = map[string]string{"X-Both": "request"}
	req.Extra = map[string]json.RawMessage{"x_extra": json.RawMessage(`{"a":1}`)}
	for _, key := range []string{"messages", "input", "contents"} {
		req.Extra[key] = json.RawMessage(`[]`)
	}
	if _, err := llm.Collect(c.Stream(t.Context(), req)); err != nil {
		t.Fatalf("%v; server: %v", err, srv.Err())
	}
	raw := srv.Raw()[0]
	for name, want := range map[string]string{"X-Endpoint": "one", "X-Both": "request", "Content-Type": "application/json", "User-Agent": wire.UserAgent} {
		if got := raw.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if strings.Contains(string(raw.Body), "test-key") {
		t.Errorf("the key is in the body")
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw.Body, &body); err != nil {
		t.Fatal(err)
	}
	if string(body["x_extra"]) != `{"a":1}` {
		t.Errorf("the extra key of the body is %s", body["x_extra"])
	}
	if got := said(srv.Requests()[0].Messages); len(got) != 1 || !strings.Contains(got[0], "go.mod") {
		t.Errorf("an extra key has replaced the conversation: %q", got)
	}
	t.Run("no key", s.keyFails)
}

// keyFails has no credential to offer: the stream says so, and a retry is in vain.
func (s serverChecks) keyFails(t *testing.T) {
	asked := false
	c := s.Open(memoryURL, wire.Endpoint{
		BaseURL: memoryURL,
		Client:  &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errBroken })},
		Key: func(context.Context) (string, error) {
			asked = true
			return "", &llm.Error{Kind: llm.ErrAuth, Message: "no key for toys: set TOY_KEY"}
		},
	})
	_, err := read(t, c.Stream(t.Context(), s.ask()))
	if got := failure(t, err); asked && (got.Kind != llm.ErrAuth || !strings.Contains(got.Message, "TOY_KEY")) {
		t.Errorf("a missing key arrives as %s: %v", got.Kind, got)
	}
}

// testConcurrent uses one client for many requests at once.
func (s serverChecks) testConcurrent(t *testing.T) {
	const n = 16
	turns := make([]llmtest.Turn, n)
	for i := range turns {
		turns[i].Reply = func(req *llm.Request) []llm.Event {
			last := req.Messages[len(req.Messages)-1]
			return join(llmtest.Say("You said: "+last.Text()), llmtest.Call("call_a", "read", `{"path":"a"}`))
		}
	}
	c, srv := s.serve(t, turns...)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := s.ask()
			text := fmt.Sprintf("number %d", i)
			req.Messages = []llm.Message{llm.UserText(text)}
			m, err := read(t, c.Stream(t.Context(), req))
			if err != nil || m.Text() != "You said: "+text {
				t.Errorf("asked %q, got %q, %v", text, m.Text(), err)
			}
		})
	}
	wg.Wait()
	if got := len(srv.Requests()); got != n {
		t.Errorf("%d requests arrived, want %d", got, n)
	}
}
