package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm/wire"
)

// What a stream needs to be resumed is known after it: the last id, and how long to wait.
func TestSSEResumes(t *testing.T) {
	t.Parallel()
	s := wire.NewSSE(strings.NewReader("id: 1\nretry: 500\ndata: a\n\nid: two\ndata: b\n\n"))
	if _, ok := s.Retry(); ok || s.ID() != "" {
		t.Error("known before anything came")
	}
	for {
		if _, err := s.Next(); err != nil {
			break
		}
	}
	if d, ok := s.Retry(); !ok || d != 500*time.Millisecond || s.ID() != "two" {
		t.Errorf("%q, %s, %v", s.ID(), d, ok)
	}
	s = wire.NewSSE(strings.NewReader("retry: soon\ndata: a\n\n"))
	_, _ = s.Next()
	if _, ok := s.Retry(); ok {
		t.Error("words are a time")
	}
}
