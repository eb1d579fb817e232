package foreign_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript/foreign"
)

// export writes a ChatGPT export of at least size bytes, in conversations of some
// 50 messages.
func export(t testing.TB, path string, size int) int64 {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	text := strings.Repeat("All work and no play makes the parser a dull boy. ", 40)
	written, n := 0, 0
	fmt.Fprint(w, "[")
	for written < size {
		if n > 0 {
			fmt.Fprint(w, ",")
		}
		k, _ := fmt.Fprintf(w, `{"title":"Conversation %d","create_time":1767348000.5,"conversation_id":"c-%d","current_node":"n49","mapping":{"root":{"id":"root","message":null,"parent":null,"children":["n0"]}`, n, n)
		written += k
		for i := range 50 {
			role, parent := "user", fmt.Sprintf("n%d", i-1)
			if i%2 == 1 {
				role = "assistant"
			}
			if i == 0 {
				parent = "root"
			}
			k, _ := fmt.Fprintf(w, `,"n%d":{"id":"n%d","message":{"id":"n%d","author":{"role":"%s","name":null,"metadata":{}},"create_time":1767348%03d.5,"content":{"content_type":"text","parts":["%s"]},"status":"finished_successfully","weight":1.0,"metadata":{"model_slug":"gpt-4o"},"recipient":"all"},"parent":"%s","children":["n%d"]}`, i, i, i, role, i, text, parent, i+1)
			written += k
		}
		fmt.Fprint(w, "}}")
		n++
	}
	fmt.Fprint(w, "]")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A large export is never in memory as a whole.
func TestMemoryIsThatOfOneConversation(t *testing.T) {
	pacetest.Costly(t)
	path := filepath.Join(t.TempDir(), "conversations.json")
	size := export(t, path, 24<<20)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak, n := m.HeapAlloc, uint64(0), 0
	for s, err := range foreign.Import(t.Context(), path, foreign.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%40 == 0 {
			runtime.GC() // what is left is held
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		if s.Report.Messages != 50 {
			t.Fatalf("%d messages", s.Report.Messages)
		}
	}
	if held := int64(peak) - int64(before); n < 200 || held > 4<<20 {
		t.Errorf("%d conversations of %d bytes held %d bytes", n, size, held)
	}
}

func BenchmarkChatGPT(b *testing.B) {
	path := filepath.Join(b.TempDir(), "conversations.json")
	b.SetBytes(export(b, path, 50<<20))
	b.ReportAllocs()
	var m runtime.MemStats
	sessions, peak := 0, uint64(0)
	for b.Loop() {
		sessions, peak = 0, 0
		for _, err := range foreign.Import(b.Context(), path, foreign.Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			if sessions++; sessions%50 == 0 {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	b.ReportMetric(float64(sessions), "conversations")
}
