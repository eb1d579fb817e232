package session_test

import (
	"context"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// direct is a client without a wire: what it takes is the session's own.
type direct struct {
	answer func(*llm.Request) []llm.Event
}

func (d direct) Stream(_ context.Context, q *llm.Request) llm.Stream {
	next, stop := iter.Pull(llmtest.Perform(llm.Message{Provider: q.Model.Provider, Model: q.Model.ID}, d.answer(q)))
	return &performance{next, stop}
}

type performance struct {
	next func() (llm.Event, bool)
	stop func()
}

func (p *performance) Next() (llm.Event, bool) { return p.next() }
func (p *performance) Close() error            { p.stop(); return nil }

// worker calls a tool, then says that it did.
func worker(q *llm.Request) []llm.Event {
	if q.Messages[len(q.Messages)-1].Role == llm.RoleToolResult {
		return append(llmtest.Say("I have read the file, and here are some words about it."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 20})...)
	}
	return llmtest.Call("c1", "read", `{"path":"go.mod"}`)
}

// talker gives a long answer.
func talker(*llm.Request) []llm.Event { return llmtest.Say(strings.Repeat("word ", 2000)) }

func kept(t testing.TB, dir string, answer func(*llm.Request) []llm.Event) *session.Session {
	t.Helper()
	path, id := transcript.NewPath(dir, "/src", time.Now())
	log, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: "/src"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model := formats()[0].model
	s, err := session.New(session.Options{
		Client: direct{answer}, Request: llm.Request{Model: &model, System: "You are terse."}, Log: log, Path: path,
		Tools: []*tool.Tool{echo("read", tool.Reads)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Two requests and a call, kept in a file: what a session adds to the model's time.
func BenchmarkPrompt(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	var s *session.Session
	for i := 0; b.Loop(); i++ {
		if i%50 == 0 {
			b.StopTimer()
			if s != nil {
				s.Close()
			}
			s = kept(b, dir, worker)
			b.StartTimer()
		}
		s.Prompt(b.Context(), llm.UserText("read it"))
	}
	b.StopTimer()
	s.Close()
}

// What sessions hold that do nothing. A server has hundreds of them.
func TestIdleMemory(t *testing.T) {
	const sessions, limit = 200, 100 << 10
	dir := filepath.Join(t.TempDir(), "s")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	var all []*session.Session
	for range sessions {
		s := kept(t, dir, talker)
		s.Prompt(t.Context(), llm.UserText("read it"))
		all = append(all, s)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / sessions
	t.Logf("%d bytes each", each)
	if each > limit {
		t.Errorf("an idle session holds %d bytes", each)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 0 {
		t.Errorf("%d goroutines wait in %d idle sessions", n, sessions)
	}
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// One event of a stream as a line of JSON.
func BenchmarkEventJSON(b *testing.B) {
	e := session.Event{Event: agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Index: 1, Delta: "a few words "}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}
