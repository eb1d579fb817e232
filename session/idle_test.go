package session_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Many sessions that have answered and wait for more cost little, also while each has
// a face that waits for events: a server holds as many.
func TestIdleSessionsAreSmall(t *testing.T) {
	pacetest.Costly(t)
	t.Run("alone", func(t *testing.T) { idle(t, 0) })
	t.Run("with a face each", func(t *testing.T) { idle(t, 1) })
}

// idle measures sessions with so many faces each.
func idle(t *testing.T, faces int) {
	const most = 100 << 10
	sessions := pacetest.Cases(200, 1000)
	answers := make([]llmtest.Turn, sessions)
	for i := range answers {
		answers[i] = llmtest.Turn{Parts: []llmtest.Part{{Text: "An answer of a few words that says what it is about and ends."}}}
	}
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: answers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	client := anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}})
	model := formats()[0].model
	dir := t.TempDir()
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what finalizers held
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	begin := func(i int) *session.Session {
		path, id := transcript.NewPath(filepath.Join(dir, "s"), "/work", time.Now())
		log, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: "/work"}, transcript.Options{Blobs: transcript.NewBlobs(filepath.Join(dir, "blobs"))})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.New(session.Options{Client: client, Request: llm.Request{Model: &model, System: "Be brief."}, Log: log, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if out := s.Prompt(context.Background(), llm.UserText("A question of a person.")); out.Err != nil {
			t.Fatalf("session %d: %v", i, out.Err)
		}
		for range faces {
			feed := s.Face("a face", true).Events(session.Cursor{})
			go func() { _, _ = feed.Next(t.Context()) }() // until the session ends
		}
		return s
	}
	begin(0)
	before, goroutines := used(), runtime.NumGoroutine()
	all := make([]*session.Session, 0, sessions)
	for i := range sessions - 1 {
		all = append(all, begin(i+1))
	}
	each := int64(used()-before) / int64(len(all))
	more := runtime.NumGoroutine() - goroutines
	t.Logf("%d bytes each, %d goroutines more in all", each, more)
	if each > most {
		t.Errorf("an idle session takes %d bytes, want at most %d", each, most)
	}
	if readers := faces * len(all); more > readers+10 {
		t.Errorf("%d idle sessions hold %d goroutines, %d of them readers", len(all), more, readers)
	}
	runtime.KeepAlive(all)
}
