package bounded_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
)

func TestReaderAllowance(t *testing.T) {
	left := int64(10)
	first, err := io.ReadAll(bounded.Reader(t.Context(), strings.NewReader("abcdef"), &left))
	if err != nil || string(first) != "abcdef" {
		t.Fatalf("got %q, %v", first, err)
	}
	exact, err := io.ReadAll(bounded.Reader(t.Context(), strings.NewReader("ghij"), &left))
	if err != nil || string(exact) != "ghij" {
		t.Fatalf("exactly the allowance: got %q, %v", exact, err)
	}
	_, err = io.ReadAll(bounded.Reader(t.Context(), strings.NewReader("k"), &left))
	if !errors.Is(err, bounded.ErrTooLarge) {
		t.Fatalf("one byte beyond the allowance: %v", err)
	}
}

func TestReaderEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := int64(100)
	r := bounded.Reader(ctx, strings.NewReader("abc"), &left)
	cancel()
	if _, err := r.Read(make([]byte, 3)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestZipDirectory(t *testing.T) {
	build := func(members int) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		comment := strings.Repeat("x", 60_000) // a directory grows fast with comments
		for range members {
			if _, err := w.CreateHeader(&zip.FileHeader{Name: "a", Comment: comment}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	small := build(3)
	z, err := bounded.Zip(bytes.NewReader(small), int64(len(small)))
	if err != nil || len(z.File) != 3 {
		t.Fatalf("small directory: %v, %v", z, err)
	}
	large := build(300)
	if _, err := bounded.Zip(bytes.NewReader(large), int64(len(large))); !errors.Is(err, bounded.ErrTooLarge) {
		t.Fatalf("directory of %d bytes: %v", len(large), err)
	}
}
