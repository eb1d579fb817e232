package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/platform/workspace"
)

// A workspace is locked and unlocked while it is open, with its additional folders; an
// undo is a person's, and works all the same.
func TestSetReadOnly(t *testing.T) {
	extra := t.TempDir()
	w, p := open(t, workspace.Options{StateDir: t.TempDir(), Extra: []workspace.Extra{{Dir: extra, Writable: true}}}, map[string]string{"a": "x"})
	if err := w.BeginTurn("1", "one"); err != nil {
		t.Fatal(err)
	}
	change := workspace.Change{Path: "a", Before: []byte("x"), After: []byte("y")}
	if err := w.Commit(t.Context(), []workspace.Change{change}); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(extra)
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.ToSlash(filepath.Join(real, "b"))
	w.SetReadOnly(true)
	again := workspace.Change{Path: "a", Before: []byte("y"), After: []byte("z")}
	if err := w.Commit(t.Context(), []workspace.Change{again}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a commit: %v", err)
	}
	if err := w.Files().WriteFile(beside, nil, 0o644); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file of the other folder: %v", err)
	}
	if _, err := w.Undo(t.Context(), "1"); err != nil {
		t.Errorf("undo: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(p, "a")); err != nil || string(text) != "x" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	w.SetReadOnly(false)
	if err := w.Commit(t.Context(), []workspace.Change{change}); err != nil {
		t.Errorf("a commit after it was unlocked: %v", err)
	}
	if err := w.Files().WriteFile(beside, nil, 0o644); err != nil {
		t.Errorf("a file of the other folder: %v", err)
	}
}
