package tool_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/burin-dev/burin/tool"
)

// nowhere takes artifacts and keeps nothing.
type nowhere struct{ tool.Artifacts }

type nothing struct{}

func (nowhere) Create(string) (tool.Artifact, error) { return nothing{}, nil }
func (nothing) ID() string                           { return "0" }
func (nothing) Close() error                         { return nil }
func (nothing) Write(p []byte) (int, error)          { return len(p), nil }

func BenchmarkSink(b *testing.B) {
	chunk := func(line string) []byte { return bytes.Repeat([]byte(line), 32<<10/len(line)) }
	for name, p := range map[string][]byte{
		"log":        chunk("2026-11-22T03:26:01Z INFO the quick brown fox jumps over the lazy dog\n"),
		"characters": chunk("ünïcödé 世界 lines of it, one after the other\n"),
		"terminal":   chunk("\x1b[32mok\x1b[0m github.com/burin-dev/burin/tool\t0.032s\r\n"),
		"progress":   chunk("downloading  50%\r"),
		"long line":  chunk("abcdefghijklmnopqrstuvwxyz"),
	} {
		b.Run(name, func(b *testing.B) {
			k := tool.NewSink(tool.SinkOptions{Head: 20 << 10, Tail: 20 << 10, Artifacts: nowhere{}, Whole: -1})
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				k.Write(p)
			}
		})
	}
}

// One command with little output, from the first byte to the result.
func BenchmarkSinkShort(b *testing.B) {
	p := []byte(strings.Repeat("a line of output\n", 20))
	b.ReportAllocs()
	for b.Loop() {
		k := tool.NewSink(tool.SinkOptions{Head: 20 << 10, Tail: 20 << 10, Artifacts: nowhere{}})
		k.Write(p)
		k.Close()
		if k.Output().Lines != 20 {
			b.Fatal("lines are missing")
		}
	}
}
