package server

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A stream without events says something every now and then, not while others are written, and
// nothing when it has ended: its connection may be another request's by then.
func TestBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		f := &following{stream: newStream(w)}
		f.mu.Lock()
		f.rhythm = time.AfterFunc(beat, f.beat)
		f.mu.Unlock()
		beats := func(want int) {
			t.Helper()
			synctest.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			if got := strings.Count(w.Body.String(), ":\n\n"); got != want {
				t.Errorf("%d beats, want %d", got, want)
			}
		}
		<-time.After(2*beat + time.Second)
		beats(2)
		if err := f.write("", "", "an event"); err != nil {
			t.Fatal(err)
		}
		<-time.After(beat)
		beats(2)
		<-time.After(beat)
		beats(3)
		f.leave()
		<-time.After(4 * beat)
		beats(3)
	})
}
