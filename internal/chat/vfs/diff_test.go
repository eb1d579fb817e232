package vfs_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/vfs"
)

// A diff takes memory for the lines, not for pairs of them.
func TestDiffOfManyLines(t *testing.T) {
	const lines = 20_000
	b := onFile(t, vfs.Limits{})
	for version := range 2 {
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, "line %d %d\n", i*7919%lines, version*(i%2))
		}
		b.write("/f", text.String())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	diff, err := b.Diff(b.ctx, "/f", 1, 2)
	b.ok(err)
	runtime.ReadMemStats(&after)
	if gone, fresh := strings.Count(diff, "\n-"), strings.Count(diff, "\n+"); gone < lines/2 || fresh-gone > 1 {
		t.Errorf("the diff has %d lines less and %d more", gone, fresh)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 {
		t.Errorf("it took %d MB", mb)
	}
}
