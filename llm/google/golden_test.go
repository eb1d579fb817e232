package google_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// answering is a transport that gives each request the same answer.
type answering struct {
	status int
	body   []byte
	header http.Header
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	h := a.header
	if h == nil {
		h = http.Header{"Content-Type": {"text/event-stream"}}
	}
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

func gemini3() *llm.Model {
	return &llm.Model{
		ID: "gemini-3-pro-preview", Provider: "google", API: llm.APIGoogle, MaxOutput: 65536,
		Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
		Thinking: llm.ThinkingSupport{Mode: llm.ThinkingEffort},
	}
}

// replay decodes a recorded answer to req, nil = a plain one.
func replay(t testing.TB, body []byte, req *llm.Request) []llm.Event {
	t.Helper()
	if req == nil {
		req = &llm.Request{Model: gemini3(), Messages: []llm.Message{llm.UserText("Hi")}}
	}
	c := google.New(google.Options{Endpoint: wire.Endpoint{Client: &http.Client{Transport: answering{body: body}}}})
	var events []llm.Event
	for ev := range llm.Events(c.Stream(t.Context(), req)) {
		events = append(events, ev)
	}
	return events
}

type goldenEvent struct {
	Type    llm.EventType
	Index   int             `json:",omitempty"`
	Delta   string          `json:",omitempty"`
	Block   any             `json:",omitempty"`
	Kind    string          `json:",omitempty"`
	Message json.RawMessage `json:",omitempty"`
}

// golden writes the events without what differs from run to run.
func golden(t *testing.T, events []llm.Event) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, ev := range events {
		g := goldenEvent{Type: ev.Type, Index: ev.Index, Delta: ev.Delta, Block: ev.Block}
		if o, ok := ev.Block.(llm.Opaque); ok {
			g.Kind = o.Kind
		}
		if ev.Message != nil && ev.Type.Terminal() {
			m := *ev.Message
			m.Time = m.Time.AddDate(-10000, 0, 0)
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			if err := json.Unmarshal(raw, &fields); err != nil {
				t.Fatal(err)
			}
			delete(fields, "timestamp")
			if g.Message, err = json.Marshal(fields); err != nil {
				t.Fatal(err)
			}
		}
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(g); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestRecordedAnswers(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".sse"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := golden(t, replay(t, body, nil))
			file := strings.TrimSuffix(path, ".sse") + ".golden.json"
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// final is the last message of a stream.
func final(t testing.TB, events []llm.Event) *llm.Message {
	t.Helper()
	if len(events) == 0 || !events[len(events)-1].Type.Terminal() {
		t.Fatal("the stream did not end")
	}
	return events[len(events)-1].Message
}

func collect(t testing.TB, c llm.Client, req *llm.Request) (*llm.Message, error) {
	t.Helper()
	return llm.Collect(c.Stream(context.WithoutCancel(t.Context()), req))
}
