//go:build unix

package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/internal/platform/process/killtest"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

const (
	appendEnv = "BURIN_TEST_VFS_APPEND" // place of the database
	killEnv   = "BURIN_TEST_VFS_KILL"   // place of the database, and the file of what was acknowledged
)

// places gives a place for a database of each kind.
func places(t *testing.T, test func(t *testing.T, place func() string)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, func() string { return filepath.Join(t.TempDir(), "server.db") })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		pacetest.Costly(t)
		s := pgtest.Shared(t)
		test(t, func() string { return s.Database(t) })
	})
}

// open opens the tree of the project in a database that has it.
func open(t testing.TB, place string) *bench {
	db := storetest.Open(t, place, []store.Part{vfs.Part})
	s := vfs.New(db, vfs.Limits{})
	return &bench{t, s.Tree("p", ring(t, 1)), t.Context(), db, s}
}

// appends is how many each process makes.
func appends() int { return pacetest.Cases(100, 500) }

// appendMany appends lines in all ways that there are, ten at a time.
func appendMany(b *bench, who string) {
	var wg sync.WaitGroup
	lines := make(chan int)
	for range 10 {
		wg.Go(func() {
			for i := range lines {
				line := fmt.Appendf(nil, "%s %d\n", who, i)
				var err error
				switch i % 3 {
				case 0:
					_, err = b.Append(b.ctx, "/log", line)
				case 1:
					_, err = b.Edit(b.ctx, "/log", func(old []byte) ([]byte, error) { return append(bytes.Clone(old), line...), nil })
				default:
					err = throughWorkspace(b, line)
				}
				if err != nil {
					b.Errorf("append %d: %v", i, err)
				}
			}
		})
	}
	for i := range appends() {
		lines <- i
	}
	close(lines)
	wg.Wait()
}

// throughWorkspace appends as a tool of a model does: what has changed since it was read is read again.
func throughWorkspace(b *bench, line []byte) error {
	ws := workspace.New(b.Files(b.ctx))
	for {
		now, err := ws.Read("log")
		if err != nil {
			return err
		}
		err = ws.Commit(b.ctx, []workspace.Change{{Path: "log", Before: now.Data, After: append(bytes.Clone(now.Data), line...)}})
		var stale *workspace.StaleError
		if !errors.As(err, &stale) {
			return err
		}
	}
}

// TestAppendInChild is the second process of TestAppends.
func TestAppendInChild(t *testing.T) {
	place := os.Getenv(appendEnv)
	if place == "" {
		t.Skip("it runs as a child of TestAppends")
	}
	appendMany(open(t, place), "child")
}

// Many appends from goroutines of two processes lose nothing.
func TestAppends(t *testing.T) {
	pacetest.Costly(t)
	places(t, func(t *testing.T, place func() string) {
		at := place()
		b := open(t, at)
		b.ok(b.store.Create(b.ctx, b.db, "p"))
		b.write("/log", "")
		exe, err := os.Executable()
		b.ok(err)
		child := exec.Command(exe, "-test.run=^TestAppendInChild$", "-test.v")
		child.Env = append(os.Environ(), appendEnv+"="+at)
		var out bytes.Buffer
		child.Stdout, child.Stderr = &out, &out
		b.ok(child.Start())
		appendMany(b, "parent")
		if err := child.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: TestAppendInChild") {
			t.Fatalf("%v: %s", err, &out)
		}
		data, info, err := b.Read(b.ctx, "/log")
		b.ok(err)
		got := strings.Split(strings.TrimSpace(string(data)), "\n")
		slices.Sort(got)
		if n := len(slices.Compact(got)); n != 2*appends() || info.Version != int64(2*appends()+1) {
			t.Errorf("%d lines and %d versions are there, of %d appends", n, info.Version, 2*appends())
		}
	})
}

// TestWriteUntilKilled is the child of TestKill: it writes until it is killed.
func TestWriteUntilKilled(t *testing.T) {
	place, log, ok := strings.Cut(os.Getenv(killEnv), "\n")
	if !ok {
		t.Skip("it runs as a child of TestKill")
	}
	b := open(t, place)
	acknowledged, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	b.ok(err)
	fmt.Println("ready")
	for i := 1; ; i++ {
		ws := workspace.New(b.Files(b.ctx))
		var changes []workspace.Change
		for name, text := range map[string][]byte{"n": fmt.Append(nil, i), fmt.Sprintf("d%d/f", i%7): content(i)} {
			c := workspace.Change{Path: name, After: text}
			if now, err := ws.Read(name); err == nil {
				c.Before = now.Data
			}
			changes = append(changes, c)
		}
		b.ok(ws.Commit(b.ctx, changes))
		_, err := fmt.Fprintln(acknowledged, i)
		b.ok(err)
	}
}

// content is what the i-th write writes.
func content(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 0))
	text := make([]byte, 2*r.IntN(1+r.IntN(50_000)))
	for at := range text {
		text[at] = "0123456789abcdef"[r.IntN(16)]
	}
	return append(text, '.')
}

// A process that is killed at any moment leaves everything that it was told is written, and
// nothing by halves.
func TestKill(t *testing.T) {
	pacetest.Costly(t)
	places(t, func(t *testing.T, place func() string) {
		for kill := range 12 {
			at, log := place(), filepath.Join(t.TempDir(), "acknowledged")
			b := open(t, at)
			b.ok(b.store.Create(b.ctx, b.db, "p"))
			killtest.Kill(t, "TestWriteUntilKilled", killEnv+"="+at+"\n"+log, 150*time.Millisecond)
			b.ok(b.db.Check(b.ctx))
			told, err := os.ReadFile(log)
			b.ok(err)
			acknowledged := strings.Count(string(told), "\n")
			written := func() (n int) {
				if data, _, err := b.Read(b.ctx, "/n"); err == nil {
					fmt.Sscan(string(data), &n)
				}
				return n
			}
			// A server may still commit what the dead process asked for last.
			n := written()
			infos, err := b.List(b.ctx, "/", true)
			b.ok(err)
			for now := written(); now != n; now = written() {
				n = now
				infos, err = b.List(b.ctx, "/", true)
				b.ok(err)
			}
			if n != acknowledged && n != acknowledged+1 {
				t.Errorf("kill %d: %d writes are there, %d were acknowledged", kill, n, acknowledged)
			}
			for i := n; i > 0 && i > n-7; i-- {
				b.holds(fmt.Sprintf("/d%d/f", i%7), string(content(i)))
			}
			if want := min(n, 7) + min(n, 1); len(infos) != want {
				t.Errorf("kill %d: %d things are there; want %d", kill, len(infos), want)
			}
		}
	})
}
