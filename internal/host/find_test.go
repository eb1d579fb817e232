package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/host"
)

// plant makes empty files.
func plant(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindFiles(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "cmd/main.go", "cmd/main_test.go", "docs/guide.md", "internal/domain/main.go", "build/out.bin", "node_modules/main/index.js", ".env", "Ünïcode/Straße.txt")
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("build/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	find := host.FindFiles(dir)
	for _, tt := range []struct {
		query string
		limit int
		want  []string
	}{
		{"main.go", 2, []string{"cmd/main.go", "internal/domain/main.go"}},
		{"main.go", 1, []string{"cmd/main.go"}},
		{"cmd", 1, []string{"cmd/"}},
		{"docs/", 3, []string{"docs/", "docs/guide.md"}},
		{"out.bin", 0, []string{}},
		{"index", 0, []string{}},
		{"straße", 0, []string{"Ünïcode/Straße.txt"}},
		{"intdom", 1, []string{"internal/domain/"}},
	} {
		got, err := find(t.Context(), tt.query, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q gives (-want +got):\n%s", tt.query, diff)
		}
	}
	// What is made now is not there yet: the tree was walked a moment ago.
	plant(t, dir, "brand_new.go")
	if got, err := find(t.Context(), "brand", 0); err != nil || len(got) > 0 {
		t.Errorf("found %q, %v without a walk", got, err)
	}
	if got, err := host.FindFiles(dir)(t.Context(), "brand", 0); err != nil || len(got) != 1 {
		t.Errorf("a new search found %q, %v", got, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := host.FindFiles(dir)(ended, "main", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that nobody waits for: %v", err)
	}
	if _, err := host.FindFiles(filepath.Join(dir, "nowhere"))(t.Context(), "x", 0); err == nil {
		t.Error("a folder that is not there was searched")
	}
}

// hugeTree is a tree of 100,000 files.
func hugeTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 100 {
		var names []string
		for k := range 1000 {
			names = append(names, fmt.Sprintf("pkg%d/sub%d/some_file_name_%d.go", i, k/50, k))
		}
		plant(t, dir, names...)
	}
	return dir
}

func BenchmarkFindFiles(b *testing.B) {
	dir := hugeTree(b)
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := host.FindFiles(dir)(b.Context(), "pkg7 name_99", 20); err != nil || len(got) != 20 {
				b.Fatal(got, err)
			}
		}
	})
	for _, query := range []string{"", "s", "filename", "pkg7/name_99", "zzz"} {
		b.Run(fmt.Sprintf("warm/%q", query), func(b *testing.B) {
			find := host.FindFiles(dir)
			if _, err := find(b.Context(), query, 20); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := find(b.Context(), query, 20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
