package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// endless is a model in this process: it calls a tool again and again, and writes
// summaries when it is asked for one.
type endless struct{ left int }

func (m *endless) Stream(_ context.Context, r *llm.Request) llm.Stream {
	b := llm.NewBuilder(llm.Message{API: llm.APIAnthropic, Provider: "p", Model: "m"})
	switch {
	case len(r.Tools) == 0:
		b.Delta(b.OpenText(), "SUMMARY of what was done")
	case m.left > 0:
		m.left--
		i := b.OpenToolCall(fmt.Sprint("c", m.left), "dump")
		b.Delta(i, fmt.Sprintf(`{"path":"file%d.go"}`, m.left))
	default:
		b.Delta(b.OpenText(), "done")
	}
	b.CloseAll()
	b.Done(llm.StopEnd)
	return &built{b}
}

type built struct{ *llm.Builder }

func (s *built) Next() (llm.Event, bool) { return s.Builder.Next() }
func (s *built) Close() error            { return nil }

// Memory stays flat over 100,000 messages with 2 GB of tool output. It takes some
// minutes and 2 GB of disk, so it runs with BURIN_LONG=1; without it, a part.
func TestSoak(t *testing.T) {
	pacetest.Costly(t)
	calls, bound := pacetest.Long(600, 2500, 50_000), int64(150<<20) // messages beyond what an outcome holds
	debug.FreeOSMemory()                                             // what the tests before have held
	output := strings.Repeat("a line of what a command has written, of some length\n", 40<<10/53)
	dump := simple("dump", tool.Reads, func(_ context.Context, c tool.Call, _ string) (*tool.Result, error) {
		return tool.Text(c.ID + "\n" + output), nil // a text of its own, as real ones are
	})
	path := filepath.Join(t.TempDir(), "s.jsonl")
	log, err := transcript.Create(transcript.CreateFile(path), transcript.Header{CWD: "/"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model := llm.Model{ID: "m", Provider: "p", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 8000}
	s, err := session.New(session.Options{
		Client: &endless{left: calls}, Request: llm.Request{Model: &model, System: "s"}, Tools: []*tool.Tool{dump},
		Log: log, Path: path, Compaction: compact.Defaults(), Warn: func(w string) { t.Error(w) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := s.Prompt(t.Context(), llm.UserText("go on for long")); out.Reason != agent.ReasonDone {
		t.Fatalf("it ended with %s, %v", out.Reason, out.Err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	held := int64(m.Sys - m.HeapReleased)
	t.Logf("%d entries, %d MB held from the system", s.Log().Len(), held>>20)
	if held > bound {
		t.Errorf("%d MB are held, want less than %d", held>>20, bound>>20)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
