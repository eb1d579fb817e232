package foreign_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript/foreign"
)

// One endless line costs an import that line, whatever program wrote it: it is listed,
// and the rest is there.
func TestEndlessLine(t *testing.T) {
	pacetest.Costly(t)
	for _, f := range single(t) {
		if filepath.Ext(f) != ".jsonl" {
			continue
		}
		t.Run(f, func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), filepath.Base(f))
			if err := os.WriteFile(path, append(bytes.TrimSpace(text), '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
			want := messages(t, path)
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt([]byte("\n"), info.Size()+300<<20); err != nil || file.Close() != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := messages(t, path)
			runtime.ReadMemStats(&after)
			if got != want {
				t.Errorf("%d messages were imported, want %d", got, want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 480<<20 {
				t.Errorf("it took %d MB in all", n>>20)
			}
		})
	}
}

// messages counts what an import gives. What it leaves out must be listed.
func messages(t *testing.T, path string) (n int) {
	t.Helper()
	listed := true
	if info, err := os.Stat(path); err == nil {
		listed = info.Size() < 300<<20
	}
	for s, err := range foreign.Import(t.Context(), path, foreign.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(s.Entries)
		listed = listed || strings.Contains(s.Report.String(), "64 MB")
	}
	if !listed {
		t.Error("the line is not listed")
	}
	return n
}
