package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/host/commit"
	"github.com/burin-dev/burin/internal/pacetest"
)

// A person says yes, no, or edits the proposal as often as they like.
func TestCommitIsSettled(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the editor is sed")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ editor, typed, want, shown string }{
		{"", "y\n", "first", ""},
		{"", "n\n", "", ""},
		{"", "\n", "", ""},
		{"sed -i.bak s/first/byhand/", "e\ny\n", "byhand", "1. byhand"},
		{"sed -i.bak /^1/d", "e\ny\n", "", ""}, // a commit without changes and without entries is none
		{"sed -i.bak s/^1/7/", "e\ny\n", "first", `no change "7"; e opens your text again`},
	} {
		d, err := commit.Begin(t.Context(), dir, commit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.Commits = []commit.Commit{{Message: "first", Changes: []string{"1"}}}
		var out bytes.Buffer
		p := &program{in: os.Stdin, out: &out, err: &out, getenv: func(name string) string { return map[string]string{"EDITOR": tt.editor}[name] }}
		err = settle(t.Context(), p, d, strings.NewReader(tt.typed))
		switch {
		case tt.want == "" && !errors.Is(err, errDeclined), tt.want != "" && err != nil:
			t.Errorf("%q with %q: %v", tt.typed, tt.editor, err)
		case tt.want != "" && d.Commits[0].Message != tt.want:
			t.Errorf("%q with %q: %v", tt.typed, tt.editor, d.Commits)
		case !strings.Contains(out.String(), tt.shown):
			t.Errorf("%q with %q shows:\n%s", tt.typed, tt.editor, &out)
		}
	}
}
