package foreign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The newest conversations come first, after those whose place names the folder, and no
// more are read than asked for.
func TestRecent(t *testing.T) {
	home := t.TempDir()
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	for i, place := range []string{".claude/projects/-home-ada-tool", ".claude/projects/-x", ".claude/projects/-y", ".claude/projects/-x/subagents"} {
		path := filepath.Join(home, filepath.FromSlash(place), fmt.Sprint("c", i, ".jsonl"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"cwd":"/home/ada/tool","sessionId":"c%d","type":"user","message":{"role":"user","content":"prompt %[1]d"},"uuid":"u1","timestamp":"2026-01-02T10:00:01.000Z"}`+"\n", i)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	names := func(found []Kept) (all []string) {
		for _, k := range found {
			all = append(all, k.Title+" "+k.CWD)
		}
		return all
	}
	found, all := Recent(t.Context(), home, "/home/ada/tool", 2)
	if diff := cmp.Diff([]string{"prompt 0 /home/ada/tool", "prompt 2 /home/ada/tool"}, names(found)); diff != "" || !all {
		t.Error(all, diff)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if found, all := Recent(ended, home, "", 10); len(found) != 0 || all {
		t.Errorf("found %v, all %v, after the time", names(found), all)
	}
}
