package conformance

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// testReuse counts the connections of several answers, one after the other.
func (s flowChecks) testReuse(t *testing.T) {
	srv, err := llmtest.Serve(s.Server, llmtest.Script{Turns: []llmtest.Turn{
		{Events: rich()}, {Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrRateLimit}}}, {Events: rich()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	var dials atomic.Int32
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	released := make(chan struct{}, 1)
	c := s.open(srv.URL, &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := tr.RoundTrip(r)
		if err == nil {
			resp.Body = &watchedBody{ReadCloser: resp.Body, closed: released}
		}
		return resp, err
	})})
	for i := range 3 {
		if _, err := read(t, c.Stream(t.Context(), s.ask())); (err != nil) != (i == 1) {
			t.Fatal(err)
		}
		<-released // the connection is free again when its body is closed
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("3 requests took %d connections", n)
	}
}

// watchedBody tells when it is closed.
type watchedBody struct {
	io.ReadCloser
	closed chan struct{}
	once   sync.Once
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() { b.closed <- struct{}{} })
	return err
}

// deltaStream holds the parts of an answer that repeats deltas of text.
type deltaStream struct {
	rec   recording // head of the answer, up to the first delta
	chunk []byte    // wordsPerChunk deltas
}

const (
	word          = "token "
	wordsPerChunk = 1000
)

// deltas records an answer whose middle can be repeated without an encoder, so
// that only the client's memory is measured.
func (s flowChecks) deltas(t testing.TB) deltaStream {
	w := httptest.NewRecorder()
	var enc interface{ Encode(llm.Event) error }
	// The server half needs a request of its own client.
	var d deltaStream
	c := s.open(memoryURL, &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body.Close()
		in := r.Clone(r.Context())
		in.RequestURI = r.URL.RequestURI()
		req, stream, err := s.Server.DecodeRequest(in, body)
		if err != nil {
			return nil, err
		}
		enc = s.Server.NewEncoder(w, req, stream)
		return nil, errBroken
	})})
	_, _ = llm.Collect(c.Stream(t.Context(), s.ask()))
	if enc == nil {
		t.Fatal("the server half cannot read the request")
	}
	encode := func(ev llm.Event) {
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	encode(llm.Event{Type: llm.EventStart, Message: &llm.Message{Role: llm.RoleAssistant, API: s.Server.API(), Model: s.Model.ID, ResponseID: "answer_1"}})
	encode(llm.Event{Type: llm.EventTextStart, Block: llm.Text{}})
	encode(llm.Event{Type: llm.EventTextDelta, Delta: word})
	d.rec = recording{status: http.StatusOK, header: w.Header().Clone(), body: bytes.Clone(w.Body.Bytes())}
	w.Body.Reset()
	for range wordsPerChunk {
		encode(llm.Event{Type: llm.EventTextDelta, Delta: word})
	}
	d.chunk = bytes.Clone(w.Body.Bytes())
	if len(d.chunk) < wordsPerChunk*len(word) {
		t.Fatalf("%d deltas of text were encoded as %d bytes: the server half does not stream", wordsPerChunk, len(d.chunk))
	}
	return d
}

// testMemory streams a million tokens and looks at the heap on the way.
func (s flowChecks) testMemory(t *testing.T) {
	chunks := 1000
	if testing.Short() || raceEnabled {
		chunks = 50
	}
	d := s.deltas(t)
	c := s.replay(d.rec, func() io.Reader {
		parts := []io.Reader{bytes.NewReader(d.rec.body)}
		for range chunks {
			parts = append(parts, bytes.NewReader(d.chunk))
		}
		return io.MultiReader(parts...)
	})
	// 8 bytes a token, and what a machine at work needs anyhow.
	limit := max(int64(8*chunks*wordsPerChunk), 2<<20)
	r := s.ask()
	r.MaxTokens = 1 + chunks*wordsPerChunk // else the answer would be ended as too long
	stream := c.Stream(t.Context(), r)
	defer stream.Close()
	before := heap()
	tokens, text := 0, 0
	for {
		ev, ok := stream.Next()
		if !ok {
			t.Fatal("the stream ended without a terminal event")
		}
		if ev.Type.Terminal() {
			checkLongText(t, ev.Message, 1+chunks*wordsPerChunk)
			break
		}
		if ev.Type != llm.EventTextDelta {
			continue
		}
		tokens++
		text += len(ev.Delta)
		if tokens%(max(chunks/5, 1)*wordsPerChunk) == 0 {
			// A growing buffer may have twice the room it needs while it is copied.
			if grown := heap() - before - int64(2*text); grown > limit {
				t.Fatalf("after %d tokens the heap has grown by %d bytes beyond the text", tokens, grown)
			}
		}
	}
	if tokens != 1+chunks*wordsPerChunk {
		t.Errorf("%d tokens arrived, want %d", tokens, 1+chunks*wordsPerChunk)
	}
}

// checkLongText looks at the message of an answer of n words that ended early.
func checkLongText(t *testing.T, m *llm.Message, n int) {
	t.Helper()
	if m.Error == nil || m.Error.Kind != llm.ErrTransport {
		t.Errorf("an answer that was cut ended with %v", m.Error)
	}
	if text := m.Text(); len(text) != n*len(word) || strings.Count(text, word) != n {
		t.Errorf("the message has %d bytes, want %d", len(text), n*len(word))
	}
}

// heap is the size of what is alive, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// testBackPressure lets the reader stop pulling and looks at how much of the
// answer the client has taken.
func (s flowChecks) testBackPressure(t *testing.T) {
	d := s.deltas(t)
	const limit = 256 << 10
	synctest.Test(t, func(t *testing.T) {
		body := &endlessReader{head: d.rec.body, chunk: d.chunk, limit: 4 * limit}
		c := s.open(memoryURL, &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			body.ctx = r.Context()
			return response(r, d.rec, body), nil
		})})
		stream := c.Stream(t.Context(), s.ask())
		synctest.Wait()
		if n := body.taken.Load(); n > limit {
			t.Errorf("%d bytes were read before the reader asked for any", n)
		}
		for range 100 {
			if _, ok := stream.Next(); !ok {
				t.Fatal("the stream ended")
			}
		}
		synctest.Wait()
		if n := body.taken.Load(); n > limit {
			t.Errorf("%d bytes were read for 100 events", n)
		}
		stream.Close()
		synctest.Wait()
	})
}

// endlessReader returns head, then chunk again and again, up to about limit bytes.
// Then it waits for ctx to end.
type endlessReader struct {
	ctx         context.Context
	head, chunk []byte
	limit       int64
	taken       atomic.Int64
	rest        []byte
}

func (r *endlessReader) Read(p []byte) (int, error) {
	if r.taken.Load() >= r.limit {
		<-r.ctx.Done()
		return 0, r.ctx.Err()
	}
	if len(r.rest) == 0 {
		r.rest = r.chunk
		if r.taken.Load() == 0 {
			r.rest = r.head
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.taken.Add(int64(n))
	return n, nil
}
