package config

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config/edit"
)

// What an editor saves while a setting is being changed is not overwritten.
func TestChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte("approval: ask\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := change(dir, func(_ string, data []byte) ([]byte, error) {
		if seen = append(seen, string(data)); len(seen) == 1 {
			if err := os.WriteFile(file, []byte("approval: plan # by hand\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return edit.Set(data, []string{"autoResume"}, true)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("approval: plan # by hand\nautoResume: true\n", string(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"approval: ask\n", "approval: plan # by hand\n"}, seen); diff != "" {
		t.Error(diff)
	}
}

// A writer whose file beside was taken away, because it took too long, begins anew.
func TestTakenForLeftBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes no open files: nobody can take it away")
	}
	dir := t.TempDir()
	n := 0
	err := change(dir, func(file string, data []byte) ([]byte, error) {
		if n++; n == 1 {
			if err := os.Remove(file + suffix); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file+suffix, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-time.Minute) // so that it is cleared away
			if err := os.Chtimes(file+suffix, old, old); err != nil {
				t.Fatal(err)
			}
		}
		return edit.Set(data, []string{"autoResume"}, true)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("autoResume: true\n", string(got)); diff != "" || n != 2 {
		t.Errorf("%d attempts: %s", n, diff)
	}
}
