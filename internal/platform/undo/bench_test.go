package undo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyFiles makes a tree of small files, each with contents of its own.
func manyFiles(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), fmt.Append(nil, i, strings.Repeat("x", 500)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkLook measures the first look ever, the first of a later session, and one
// command under watch (two looks).
func BenchmarkLook(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{10_000, 100_000} {
		dir := manyFiles(b, n)
		b.Run(fmt.Sprint("first/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := newTree(b, dir, b.TempDir())
				if err := r.j.Prepare(ctx); err != nil {
					b.Fatal(err)
				}
				r.close()
			}
		})
		state := b.TempDir()
		r := newTree(b, dir, state)
		if err := r.j.Prepare(ctx); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("command/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.j.Watch(ctx, func() error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
		r.close()
		b.Run(fmt.Sprint("session/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := newTree(b, dir, state)
				if err := r.j.Prepare(ctx); err != nil {
					b.Fatal(err)
				}
				r.close()
			}
		})
	}
}
