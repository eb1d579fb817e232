package vfs_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

// thousands makes a tree of so many files, 100 in a folder.
func thousands(b testing.TB, n int) *bench {
	p := onFile(b, vfs.Limits{})
	p.ok(p.Files(p.ctx).(workspace.Atomic).Atomically(func(f workspace.Files) error {
		for i := range n - n/100 {
			if err := f.WriteFile(fmt.Sprintf("folder %d/file %d of the folder.txt", i/99, i%99), []byte("content"), 0o644); err != nil {
				return err
			}
		}
		return nil
	}))
	return p
}

// BenchmarkLoad reads a tree of 10,000 nodes that isn't in memory.
func BenchmarkLoad(b *testing.B) {
	p := thousands(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		p.store.Forget("p")
		if _, err := p.Stat(p.ctx, "/folder 50/file 50 of the folder.txt"); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	var before, after runtime.MemStats
	p.store.Forget("p")
	runtime.GC()
	runtime.GC() // what is pooled goes with the second
	runtime.ReadMemStats(&before)
	if _, err := p.Stat(p.ctx, "/"); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(p)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "MB/tree")
}

func BenchmarkStat(b *testing.B) {
	p := thousands(b, 10_000)
	files := p.Files(p.ctx)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := files.Stat("folder 50/file 50 of the folder.txt"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadDir(b *testing.B) {
	p := thousands(b, 10_000)
	files := p.Files(p.ctx)
	b.ReportAllocs()
	for b.Loop() {
		if all, err := files.ReadDir("folder 50"); err != nil || len(all) != 99 {
			b.Fatal(len(all), err)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	p := thousands(b, 10_000)
	files := p.Files(p.ctx)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := files.ReadFile("folder 50/file 50 of the folder.txt"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite writes 4 KB. Synced is with the disk's part of a commit.
func BenchmarkWrite(b *testing.B) {
	for name, synchronous := range map[string]string{"synced": "full", "unsynced": "off"} {
		b.Run(name, func(b *testing.B) {
			p := thousands(b, 10_000)
			p.db.SQL().SetMaxOpenConns(1)
			if _, err := p.db.SQL().Exec("PRAGMA synchronous = " + synchronous); err != nil {
				b.Fatal(err)
			}
			files := p.Files(p.ctx)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				if err := files.WriteFile("folder 50/file 50 of the folder.txt", bytes.Repeat(fmt.Appendf(nil, "%7d\n", i), 512), 0o644); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
