package screen_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
)

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func tail(last string) []string {
	live := make([]string, 10)
	for i := range live {
		live[i] = fmt.Sprintf("\x1b[38;5;%dm│\x1b[m line %d of the live part, %s", i+20, i, strings.Repeat("word ", 12))
	}
	live[4] += last
	return live
}

// One line of ten changes at its end, as it does with each token.
func BenchmarkDraw(b *testing.B) {
	b.ReportAllocs()
	var n counter
	s := screen.New(&n, screen.Options{Width: 120, Height: 40, Sync: true})
	frames := [][]string{tail("a"), tail("b")}
	i := 0
	for b.Loop() {
		must(b, s.Draw(frames[i%2], screen.Cursor{X: 2, Y: 9}))
		i++
	}
	b.ReportMetric(float64(n)/float64(i), "B/frame")
}

func BenchmarkDrawUnchanged(b *testing.B) {
	b.ReportAllocs()
	s := screen.New(io.Discard, screen.Options{Width: 120, Height: 40, Sync: true})
	live := tail("a")
	for b.Loop() {
		must(b, s.Draw(live, screen.Cursor{X: 2, Y: 9}))
	}
}

// A line moves from the live part into the scrollback, and a frame is drawn.
func BenchmarkCommitOne(b *testing.B) {
	b.ReportAllocs()
	var n counter
	s := screen.New(&n, screen.Options{Width: 120, Height: 40, Sync: true})
	live := tail("")
	line := []string{"\x1b[1mA finished line\x1b[m of some length, as a model writes it: " + strings.Repeat("word ", 8)}
	i := 0
	for b.Loop() {
		must(b, s.Commit(line))
		must(b, s.Draw(live, screen.Cursor{X: 2, Y: 9}))
		i++
	}
	b.ReportMetric(float64(n)/float64(i), "B/frame")
}

func BenchmarkCommit200000(b *testing.B) {
	b.ReportAllocs()
	lines := make([]string, 200_000)
	for i := range lines {
		lines[i] = fmt.Sprintf("\x1b[1mline\x1b[m %d with some words behind it, as a model writes them, about that long", i)
	}
	for b.Loop() {
		s := screen.New(io.Discard, screen.Options{Width: 120, Height: 40, Sync: true})
		must(b, s.Draw(tail(""), screen.Cursor{X: 2, Y: 9}))
		must(b, s.Commit(lines))
		must(b, s.Flush())
	}
}

func TestDrawAllocations(t *testing.T) {
	s := screen.New(io.Discard, screen.Options{Width: 120, Height: 40, Sync: true})
	frames := [][]string{tail("a"), tail("é")}
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		must(t, s.Draw(frames[i%2], screen.Cursor{X: i % 7, Y: 9}))
		i++
	}); n > 2 {
		t.Errorf("%v allocations for a frame, want at most 2", n)
	}
}

// Memory does not grow with what was committed.
func TestMemoryIsFlat(t *testing.T) {
	s := screen.New(io.Discard, screen.Options{Width: 120, Height: 40, Sync: true})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	commit := func(n int) {
		for i := range n {
			must(t, s.Commit([]string{fmt.Sprintf("line %d %s", i, strings.Repeat("x", 80))}))
			if i%10 == 0 {
				must(t, s.Draw([]string{"live"}, screen.Cursor{}))
			}
		}
	}
	commit(1000)
	before := heap()
	commit(100_000)
	if after := heap(); after > before+1<<20 {
		t.Errorf("heap grew from %d to %d bytes with 100,000 lines", before, after)
	}
	runtime.KeepAlive(s)
}
