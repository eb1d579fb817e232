package wire_test

import (
	"context"
	"io"
	"net/http"
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
