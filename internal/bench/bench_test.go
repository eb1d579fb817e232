package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
)

func TestMain(m *testing.M) {
	Main() // commands have guards, which are this program again
	goleak.VerifyTestMain(m)
}

// smallProject is a project of two files, on a machine with all that sessions use.
func smallProject(t testing.TB) Options {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"main.go": "package main\n", "AGENTS.md": "Write tests.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{
		Dir: dir, StateDir: filepath.Join(home, "data"), ConfigDir: filepath.Join(home, "config"), UserHome: home,
		Environ: os.Environ(), Allow: []string{"bash(go test:*)"},
	}
}

// plain is a session that nobody speaks in.
func plain() Session {
	return Session{
		Client: anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: "http://127.0.0.1:1"}}),
		Model:  &llm.Model{ID: "m", Provider: "anthropic", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 1000},
	}
}

// A second session costs its own things only: less than 100 KB, which sub-agents and
// servers rely on.
func TestSecondSessionIsSmall(t *testing.T) {
	b, err := Open(smallProject(t))
	if err != nil {
		t.Fatal(err)
	}
	const n = 50
	all := make([]*session.Session, 0, n+1)
	start := func() {
		s, err := b.Start(t.Context(), plain())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	start()
	before := inUse()
	for range n {
		start()
	}
	each := (inUse() - before) / n
	t.Logf("%d bytes each", each)
	if each > 100_000 {
		t.Errorf("a session on a bench takes %d bytes", each)
	}
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// inUse is the memory of the heap and of stacks that is in use.
func inUse() int64 {
	var m runtime.MemStats
	for range 2 { // what has finalizers goes with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func BenchmarkSecondSession(b *testing.B) {
	shared, err := Open(smallProject(b))
	if err != nil {
		b.Fatal(err)
	}
	first, err := shared.Start(b.Context(), plain())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := shared.Start(b.Context(), plain())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	first.Close()  //nolint:errcheck // it is over
	shared.Close() //nolint:errcheck // it is over
}
