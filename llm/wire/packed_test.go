package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// A small compressed body does not become a large one: what is packed though nobody
// asked for it stays packed, and what a caller's own client unpacks has the limits of
// any other answer.
func TestPackedAnswers(t *testing.T) {
	pacetest.Costly(t)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 256 {
		_, _ = z.Write([]byte("data: " + strings.Repeat("w", 1<<20)))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		status int
		client *http.Client
		kind   llm.ErrorKind
		say    string
	}{
		"answer":           {200, nil, llm.ErrInvalidRequest, "packed by gzip"},
		"error":            {400, nil, llm.ErrInvalidRequest, "bad request"},
		"limit of rate":    {429, nil, llm.ErrRateLimit, "too many requests"},
		"unpacking client": {200, &http.Client{Transport: &http.Transport{}}, llm.ErrAnswerLimit, "larger than 32 MiB"},
		"unpacked error":   {400, &http.Client{Transport: &http.Transport{}}, llm.ErrInvalidRequest, "www"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(tt.status)
				_, _ = w.Write(bomb.Bytes())
			}))
			defer srv.Close()
			e := &wire.Endpoint{Client: tt.client}
			req := &llm.Request{MaxTokens: 1}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := llm.Collect(e.Stream(t.Context(), wire.Call{Request: req, Decoder: wordDecoder{}, Build: func(ctx context.Context) (*http.Request, error) {
				return e.NewRequest(ctx, req, srv.URL, "/x", []byte("{}"), nil)
			}}))
			runtime.ReadMemStats(&after)
			if llm.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.say) || len(err.Error()) > 2000 {
				t.Errorf("error %.200v, want kind %s and %q", err, tt.kind, tt.say)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 160<<20 {
				t.Errorf("%d MB were allocated", n>>20)
			}
			if tt.client != nil {
				tt.client.CloseIdleConnections()
			}
		})
	}
}

// An encoding that says nothing of compression changes nothing.
func TestOddEncoding(t *testing.T) {
	for _, encoding := range []string{"identity", "UTF-8", "none"} {
		e := &wire.Endpoint{Client: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Encoding": {encoding}},
				Body: io.NopCloser(strings.NewReader("data: word\n\n")), Request: r,
			}, nil
		})}}
		m, _ := llm.Collect(e.Stream(t.Context(), wire.Call{Request: &llm.Request{}, Decoder: wordDecoder{}, Build: func(ctx context.Context) (*http.Request, error) {
			return e.NewRequest(ctx, &llm.Request{}, "http://model.example", "/x", []byte("{}"), nil)
		}}))
		if m.Text() != "word" {
			t.Errorf("%s: %q", encoding, m.Text())
		}
	}
}
