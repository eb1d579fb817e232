package openai_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

var respUpdate = flag.Bool("update-responses", false, "write the golden files of Responses recordings")

// respTransport answers every request with the same bytes and keeps the last one.
type respTransport struct {
	status int
	header http.Header
	body   []byte

	request *http.Request
	sent    []byte
}

func (t *respTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.request = r
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	t.sent = sent
	header := t.header
	if header == nil {
		header = http.Header{"Content-Type": {"text/event-stream"}}
	}
	status := t.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(t.body)), Request: r}, nil
}

func respModel() *llm.Model {
	return &llm.Model{
		ID: "gpt-5.2", Provider: "openai", API: llm.APIResponses,
		Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
		Thinking: llm.ThinkingSupport{Mode: llm.ThinkingEffort, Levels: []llm.Level{llm.LevelLow, llm.LevelMedium, llm.LevelHigh, llm.LevelXHigh}},
	}
}

// respPlain is a model that does not reason.
func respPlain() *llm.Model {
	m := respModel()
	m.ID, m.Thinking = "gpt-4.1", llm.ThinkingSupport{}
	return m
}

func respOpen(tr http.RoundTripper, o openai.ResponsesOptions) *openai.ResponsesClient {
	o.Client = &http.Client{Transport: tr}
	if o.Key == nil {
		o.Key = func(context.Context) (string, error) { return "sk-test", nil }
	}
	return openai.NewResponses(o)
}

func respAsk(m *llm.Model) *llm.Request {
	return &llm.Request{Model: m, System: "You are terse.", Messages: []llm.Message{llm.UserText("Hi")}}
}

// respGolden is an event as golden files show it.
type respGolden struct {
	Type    llm.EventType `json:"type"`
	Index   int           `json:"index"`
	Delta   string        `json:"delta,omitempty"`
	Message *llm.Message  `json:"message,omitempty"`
}

func TestResponsesRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/responses/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := respOpen(&respTransport{body: body}, openai.ResponsesOptions{})
			var got []respGolden
			for ev := range llm.Events(c.Stream(t.Context(), respAsk(respModel()))) {
				g := respGolden{Type: ev.Type, Index: ev.Index, Delta: ev.Delta}
				if ev.Type.Terminal() {
					m := *ev.Message
					m.Time = time.Time{}
					g.Message = &m
				}
				got = append(got, g)
			}
			respCompareGolden(t, strings.TrimSuffix(file, ".sse")+".golden.json", got)
		})
	}
}

func respCompareGolden(t *testing.T, path string, got []respGolden) {
	t.Helper()
	var lines bytes.Buffer
	for _, g := range got {
		raw, err := wire.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(raw)
		lines.WriteByte('\n')
	}
	if *respUpdate {
		if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), lines.String()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
