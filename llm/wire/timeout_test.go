package wire_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// paced answers with pieces that come a pause apart, under a simulated clock.
func paced(pause time.Duration, pieces ...string) *http.Client {
	return &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		body, w := io.Pipe()
		go func() {
			for _, p := range pieces {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					w.CloseWithError(r.Context().Err())
					return
				}
				io.WriteString(w, p)
			}
			w.Close()
		}()
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
	})}
}

func start(e *wire.Endpoint) llm.Stream {
	req := &llm.Request{}
	return e.Stream(context.Background(), wire.Call{Request: req, Decoder: blindDecoder{}, Build: func(ctx context.Context) (*http.Request, error) {
		return e.NewRequest(ctx, req, "http://model.example", "/x", []byte("{}"), nil)
	}})
}

// A vendor that sends comments while the request waits its turn is alive; one
// that sends nothing is not.
func TestTimeoutsCountSilence(t *testing.T) {
	const comment, data = ": wait\n\n", "data: {}\n\n"
	for name, tt := range map[string]struct {
		pieces []string
		pause  time.Duration
		kind   llm.ErrorKind
	}{
		"comments before the first event": {[]string{comment, comment, comment, data}, 90 * time.Second, ""},
		"comments between events":         {[]string{data, comment, comment, data}, 90 * time.Second, ""},
		"silence before the first event":  {[]string{data}, 101 * time.Second, llm.ErrStalled},
		"silence after it":                {[]string{comment, data, data}, 99*time.Second + 22*time.Second, llm.ErrStalled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := llm.Collect(start(&wire.Endpoint{Client: paced(tt.pause, tt.pieces...)}))
				if llm.KindOf(err) != tt.kind {
					t.Errorf("error %v, want kind %q", err, tt.kind)
				}
			})
		})
	}
}

// A reader that comes late finds the answer that has been there all the time.
func TestTimeoutsWaitForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(&wire.Endpoint{Client: paced(time.Second, "data: {}\n\n")})
		<-time.After(time.Hour)
		if _, err := llm.Collect(s); err != nil {
			t.Error(err)
		}
	})
}

// wordDecoder takes frames that are no pings for text.
type wordDecoder struct{}

func (wordDecoder) Decode(f wire.Frame, b *llm.Builder) error {
	if string(f.Data) != "ping" {
		b.Delta(b.OpenText(), string(f.Data))
	}
	return nil
}
func (wordDecoder) End(b *llm.Builder) { b.Done(llm.StopEnd) }

// Signs of life don't keep an answer without content open for ever.
func TestNoContent(t *testing.T) {
	const comment, ping, word = ": wait\n\n", "data: ping\n\n", "data: word\n\n"
	repeat := func(n int, s ...string) (out []string) {
		for range n {
			out = append(out, s...)
		}
		return out
	}
	for name, tt := range map[string]struct {
		e      wire.Endpoint
		pieces []string
		gaveUp time.Duration // 0 = it did not
	}{
		"comments":               {wire.Endpoint{}, repeat(60, comment), 30 * time.Minute},
		"pings":                  {wire.Endpoint{}, append(repeat(1, word), repeat(60, ping)...), 31 * time.Minute},
		"comments then content":  {wire.Endpoint{}, append(repeat(28, comment), word), 0},
		"content now and then":   {wire.Endpoint{}, repeat(10, append(repeat(20, ping), word)...), 0},
		"set":                    {wire.Endpoint{NoContent: 90 * time.Second}, repeat(60, comment), 90 * time.Second},
		"no limit":               {wire.Endpoint{NoContent: -1}, append(repeat(600, ping), word), 0},
		"without the other ones": {wire.Endpoint{FirstEvent: -1, Idle: -1, NoContent: 30 * time.Second}, repeat(60, comment), 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.e.Client = paced(time.Minute, tt.pieces...)
				req := &llm.Request{}
				began := time.Now()
				_, err := llm.Collect(tt.e.Stream(t.Context(), wire.Call{Request: req, Decoder: wordDecoder{}, Build: func(ctx context.Context) (*http.Request, error) {
					return tt.e.NewRequest(ctx, req, "http://model.example", "/x", []byte("{}"), nil)
				}}))
				switch {
				case tt.gaveUp == 0 && err != nil:
					t.Error(err)
				case tt.gaveUp > 0 && (llm.KindOf(err) != llm.ErrStalled || !strings.Contains(err.Error(), "no content")):
					t.Errorf("error %v", err)
				case tt.gaveUp > 0 && time.Since(began) != tt.gaveUp:
					t.Errorf("gave up after %s, want %s", time.Since(began), tt.gaveUp)
				}
			})
		})
	}
}

// flood repeats a piece as fast as it is read, for ever.
type flood struct {
	piece string
	at    int
}

func (f *flood) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], f.piece[f.at:])
		n, f.at = n+k, (f.at+k)%len(f.piece)
	}
	return n, nil
}

// What comes too fast to wait for ends as well, whatever its framing.
func TestFloods(t *testing.T) {
	for name, tt := range map[string]struct {
		head, piece string
		frames      func(io.Reader) wire.FrameReader
		kind        llm.ErrorKind
	}{
		"comments":       {"", ": wait" + strings.Repeat(" ", 200) + "\n\n", nil, llm.ErrStalled},
		"pings":          {"", "id: " + strings.Repeat("1", 200) + "\ndata: ping\n\n", nil, llm.ErrStalled},
		"white space":    {"", " \n", nil, llm.ErrStalled},
		"one line":       {"data: ", "x", nil, llm.ErrAnswerLimit},
		"one event":      {"", "data: xxxxxxxxxxxxxxxx\n", nil, llm.ErrAnswerLimit},
		"empty data":     {"", "data:\n", nil, llm.ErrStalled},
		"one event name": {"event: ", "x", nil, llm.ErrStalled},
		"one comment":    {": ", "x", nil, llm.ErrStalled},
		"one object":     {"{", "x", nil, llm.ErrAnswerLimit},
		"text":           {"", "data: " + strings.Repeat("w", 4000) + "\n\n", nil, llm.ErrAnswerLimit},
		"event stream": {
			"", string(wire.AppendEventStream(nil, "ping", false, []byte("ping"))),
			func(r io.Reader) wire.FrameReader { return wire.NewEventStream(r) }, llm.ErrStalled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
				body := io.MultiReader(strings.NewReader(tt.head), &flood{piece: tt.piece})
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
			})}
			e := &wire.Endpoint{Client: client}
			req := &llm.Request{MaxTokens: 1}
			_, err := llm.Collect(e.Stream(t.Context(), wire.Call{Request: req, Decoder: wordDecoder{}, Frames: tt.frames, Build: func(ctx context.Context) (*http.Request, error) {
				return e.NewRequest(ctx, req, "http://model.example", "/x", []byte("{}"), nil)
			}}))
			if llm.KindOf(err) != tt.kind {
				t.Errorf("error %v, want kind %s", err, tt.kind)
			}
		})
	}
}
