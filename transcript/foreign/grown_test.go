package foreign_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
)

// What was said before a conversation has grown has the ids that it had, so that it is
// known again: all but the last answer, which may not have been whole, and its results.
func TestGrowthKeepsIds(t *testing.T) {
	for _, f := range fixtures {
		if f.format != foreign.ClaudeCode && f.format != foreign.Codex && f.format != foreign.GeminiCLI && f.format != foreign.Pi {
			continue
		}
		from := fixture(f.name)
		files, err := filepath.Glob(filepath.Join(from, "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(f.name, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				at := filepath.Join(dir, filepath.Base(file))
				whole, err := os.ReadFile(at)
				if err != nil {
					t.Fatal(err)
				}
				now, _ := imported(t, at)
				if len(now) != 1 {
					t.Fatalf("%d sessions", len(now))
				}
				then := recordsByID(t, now[0])
				lines := bytes.SplitAfter(whole, []byte("\n"))
				for n := range lines {
					if err := os.WriteFile(at, bytes.Join(lines[:n], nil), 0o600); err != nil {
						t.Fatal(err)
					}
					before, _ := imported(t, at)
					if len(before) != 1 || before[0].Header.ID != now[0].Header.ID {
						continue // it had not begun
					}
					other := 0
					for id, record := range recordsByID(t, before[0]) {
						if then[id] == record {
							continue
						}
						if other++; other > 2 || !strings.Contains(record, `"assistant"`) && !strings.Contains(record, `"toolResult"`) {
							t.Errorf("of %d lines: entry %s is not known again: %s", n, id, record)
						}
					}
				}
			})
		}
	}
}

// recordsByID are the records of entries that say something.
func recordsByID(t *testing.T, s *foreign.Session) map[string]string {
	t.Helper()
	records, err := s.Records()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, e := range s.Entries {
		if e.Type != transcript.TypeLabel && e.CustomType != transcript.CustomLeaf {
			out[e.ID] = strings.TrimSpace(string(records[i+1]))
		}
	}
	return out
}
