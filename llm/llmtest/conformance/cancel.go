package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
)

// patience is how long a canceled stream may take to end.
const patience = 100 * time.Millisecond

// frozen is a real server that sends the first part of a recorded answer and
// then nothing more, and tells when it has come to that.
type frozen struct {
	*httptest.Server
	reached chan struct{}
}

// freeze serves the first n bytes of rec; with n < 0 not even the head.
func freeze(t testing.TB, rec recording, n int) *frozen {
	f := &frozen{reached: make(chan struct{}, 1)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n >= 0 {
			for name, values := range rec.header {
				if name != "Content-Length" {
					w.Header()[name] = values
				}
			}
			w.WriteHeader(rec.status)
			_, _ = w.Write(rec.body[:n])
			_ = http.NewResponseController(w).Flush()
		}
		f.reached <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(f.Close)
	return f
}

// testCancel freezes the answer at 20 points and cancels the request there.
func (s flowChecks) testCancel(t *testing.T) {
	t.Run("before the request", func(t *testing.T) {
		f := freeze(t, recording{}, -1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := read(t, s.open(f.URL, newHTTP(t)).Stream(ctx, s.ask()))
		wantKind(t, err, llm.ErrAborted)
	})
	rec := s.record(t, rich())
	for _, n := range append([]int{-1}, spread(len(rec.body), 18)...) {
		t.Run(fmt.Sprintf("at byte %d", n), func(t *testing.T) {
			// Three tries, because a machine under load may miss any deadline.
			var took time.Duration
			for range 3 {
				if took = s.cancelAt(t, rec, n); took < patience {
					return
				}
			}
			t.Errorf("the stream ended %s after it was cancelled, want %s", took, patience)
		})
	}
}

// cancelAt returns the time from the cancellation to the end of the stream.
func (s flowChecks) cancelAt(t *testing.T, rec recording, n int) time.Duration {
	f := freeze(t, rec, n)
	c := newHTTP(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := s.open(f.URL, c).Stream(ctx, s.ask())
	defer stream.Close()

	type result struct {
		events []llm.Event
		at     time.Time
	}
	ended := make(chan result, 1)
	go func() {
		var r result
		for {
			ev, ok := stream.Next()
			if !ok {
				break
			}
			r.events, r.at = append(r.events, ev), time.Now()
		}
		ended <- r
	}()
	<-f.reached
	began := time.Now()
	cancel()
	r := <-ended
	CheckEvents(t, r.events)
	m := r.events[len(r.events)-1].Message
	if m.Error == nil && n < len(rec.body)-2 {
		t.Errorf("cancelled and done nevertheless")
	}
	if m.Error != nil && m.Error.Kind != llm.ErrAborted {
		t.Errorf("the error is %s, want %s: %v", m.Error.Kind, llm.ErrAborted, m.Error)
	}
	if m.Error != nil {
		for _, call := range m.ToolCalls() {
			if call.Defect == "" {
				if _, _, err := call.Object(); err != nil {
					t.Errorf("call %s is neither whole nor marked: %v", call.Name, err)
				}
			}
		}
	}
	return r.at.Sub(began)
}

// testClose closes the stream from outside while its reader waits.
func (s flowChecks) testClose(t *testing.T) {
	rec := s.record(t, rich())
	for _, n := range []int{-1, 0, len(rec.body) / 3} {
		t.Run(fmt.Sprintf("at byte %d", n), func(t *testing.T) {
			f := freeze(t, rec, n)
			stream := s.open(f.URL, newHTTP(t)).Stream(t.Context(), s.ask())
			failed := make(chan *llm.Error, 1)
			go func() {
				var last llm.Event
				for {
					ev, ok := stream.Next()
					if !ok {
						break
					}
					last = ev
				}
				failed <- last.Message.Error
			}()
			<-f.reached
			if err := stream.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := stream.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
			if err := <-failed; err == nil || err.Kind != llm.ErrAborted {
				t.Errorf("the reader got %v, want an error of kind %s", err, llm.ErrAborted)
			}
		})
	}
	t.Run("unread", func(t *testing.T) {
		f := freeze(t, rec, len(rec.body)/3)
		stream := s.open(f.URL, newHTTP(t)).Stream(t.Context(), s.ask())
		<-f.reached
		stream.Close() // goleak sees what stays behind
	})
}
