package vfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

// dump is all rows of the files, as the database has them.
func (b *bench) dump() []string {
	b.Helper()
	var all []string
	for _, columns := range []string{"project, revision, last, bytes, '' FROM {vfs_projects}", "node, parent, version, deleted, sealed FROM {vfs_nodes}", "node, version, size, facts, data FROM {vfs_contents}"} {
		rows, err := b.db.Query(b.ctx, "SELECT "+columns)
		b.ok(err)
		for rows.Next() {
			var v [5]any
			b.ok(rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4]))
			all = append(all, fmt.Sprintf("%q", v))
		}
		b.ok(errors.Join(rows.Err(), rows.Close()))
	}
	slices.Sort(all)
	return all
}

// A tree that can't be read is an error of everything, and stays as it is.
func TestUnreadable(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		for _, name := range []string{"/a", "/d/b", "/d/c"} {
			b.write(name, name)
			b.write(name, name+" again")
		}
		b.ok(b.Remove(b.ctx, "/d/c", false))
		refuses := func(what string, tree *vfs.Tree) {
			t.Helper()
			before := b.dump()
			_, written := tree.Write(b.ctx, "/new", []byte("x"), vfs.Anything)
			_, appended := tree.Append(b.ctx, "/a", []byte("x"))
			_, listed := tree.List(b.ctx, "/", true)
			_, _, read := tree.Read(b.ctx, "/a")
			_, orphans := tree.Orphans(b.ctx)
			for op, err := range map[string]error{
				"write": written, "append": appended, "list": listed, "read": read, "orphans": orphans, "mkdir": tree.Mkdir(b.ctx, "/x"),
				"remove": tree.Remove(b.ctx, "/a", true), "purge": tree.PurgeAll(b.ctx, "/"), "files": tree.Files(b.ctx).WriteFile("y", nil, 0o644), "export": tree.Export(b.ctx, "/", &bytes.Buffer{}),
			} {
				if !errors.Is(err, vfs.ErrUnreadable) {
					t.Errorf("%s: %s: %v", what, op, err)
				}
			}
			if diff := cmp.Diff(before, b.dump()); diff != "" {
				t.Errorf("%s: the database has changed: %s", what, diff)
			}
		}
		refuses("another key", b.store.Tree("p", ring(t, 2))) // while the tree is in memory, too
		b.holds("/a", "/a again")
		for what, statement := range map[string]string{
			"a file that was moved":             `UPDATE {vfs_nodes} SET parent = 0 WHERE node = 3`,
			"a file that was brought back":      `UPDATE {vfs_nodes} SET deleted = 0 WHERE deleted = 1`,
			"an old version as the current one": `UPDATE {vfs_nodes} SET version = 1 WHERE node = 1`,
			"a node in the place of another":    `UPDATE {vfs_nodes} SET sealed = (SELECT sealed FROM {vfs_nodes} WHERE node = 1) WHERE node = 3`,
			"a damaged one":                     `UPDATE {vfs_nodes} SET sealed = substr(sealed, 1, 30) WHERE node = 1`,
		} {
			saved := `CREATE TABLE {saved} AS SELECT * FROM {vfs_nodes}`
			for _, s := range []string{saved, statement} {
				if _, err := b.db.Exec(b.ctx, s); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			refuses(what, b.another().Tree)
			for _, s := range []string{`DELETE FROM {vfs_nodes}`, `INSERT INTO {vfs_nodes} SELECT * FROM {saved}`, `DROP TABLE {saved}`} {
				if _, err := b.db.Exec(b.ctx, s); err != nil {
					t.Fatal(err)
				}
			}
		}
		// The content of a version is bound to it.
		if _, err := b.db.Exec(b.ctx, `UPDATE {vfs_contents} SET data = (SELECT data FROM {vfs_contents} WHERE node = 1 AND version = 1) WHERE node = 1 AND version = 2`); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.another().Read(b.ctx, "/a")
		b.fails(err, vfs.ErrUnreadable)
		_, err = b.another().Append(b.ctx, "/a", nil)
		b.fails(err, vfs.ErrUnreadable)
		if _, err := b.db.Exec(b.ctx, `DELETE FROM {vfs_contents} WHERE node = 1`); err != nil {
			t.Fatal(err)
		}
		_, _, err = b.Read(b.ctx, "/a")
		b.fails(err, vfs.ErrUnreadable)
		_, err = b.Append(b.ctx, "/a", nil)
		b.fails(err, vfs.ErrUnreadable)
	})
}

// Neither names nor contents are in the database's files.
func TestNothingInTheClear(t *testing.T) {
	dir := t.TempDir()
	b := create(t, storetest.Open(t, filepath.Join(dir, "server.db"), []store.Part{vfs.Part}), vfs.Limits{})
	b.write("/canary-folder/canary-name", "canary-content")
	b.write("/canary-folder/canary-name", "canary-second")
	b.write("/canary-folder/canary-name", "\x89PNG\r\n\x1a\ncanary-picture")
	b.ok(b.Remove(b.ctx, "/canary-folder", true))
	if _, err := b.db.Exec(b.ctx, `CREATE TABLE control (x TEXT)`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec(b.ctx, `INSERT INTO control VALUES ('control-canary')`); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	files, err := os.ReadDir(dir)
	b.ok(err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		b.ok(err)
		for _, word := range []string{"canary-folder", "canary-name", "canary-content", "canary-second", "canary-picture", "text/plain", "image/png", "control-canary"} {
			found[word] = found[word] || bytes.Contains(data, []byte(word))
		}
	}
	if !found["control-canary"] {
		t.Error("the search finds nothing at all")
	}
	delete(found, "control-canary")
	for word, there := range found {
		if there {
			t.Errorf("%s is in the clear", word)
		}
	}
}

func TestLimits(t *testing.T) {
	each(t, vfs.Limits{File: 100, Nodes: 6, Name: 10, Bytes: 2000, Versions: 3}, func(t *testing.T, b *bench) {
		refused := func(err error, says string) {
			t.Helper()
			if !errors.Is(err, vfs.Limit) || !strings.Contains(err.Error(), says) {
				t.Errorf("the error is %v; want one that says %q", err, says)
			}
		}
		_, err := b.Write(b.ctx, "/a", make([]byte, 101), vfs.Anything)
		refused(err, "100 bytes")
		b.write("/a", strings.Repeat("x", 100))
		_, err = b.Append(b.ctx, "/a", []byte("y"))
		refused(err, "100 bytes")
		refused(b.Mkdir(b.ctx, "/12345678901"), "10 bytes")
		refused(b.Mkdir(b.ctx, "/1/2/3/4/5/6"), "6 files")
		b.ok(b.Mkdir(b.ctx, "/1/2/3/4"))
		b.ok(b.Remove(b.ctx, "/1/2", true))
		_, err = b.Write(b.ctx, "/b/c", nil, vfs.Anything)
		refused(err, "1 of these are deleted")
		b.ok(b.Purge(b.ctx, "/1/2"))
		b.write("/b/c", "")
		for {
			r := make([]byte, 50)
			for i := range r {
				r[i] = byte(rand.N(256))
			}
			if _, err = b.Write(b.ctx, fmt.Sprintf("/b/%d", rand.N(1000)), r, vfs.Anything); err != nil {
				break
			}
		}
		refused(err, "6 files")
		b.ok(b.Remove(b.ctx, "/b", true))
		b.ok(b.PurgeAll(b.ctx, "/"))
		small := withLimits(b, vfs.Limits{Bytes: 1000})
		for i := 0; ; i++ {
			if _, err = small.Write(b.ctx, "/c", fmt.Appendf(nil, "%d", i), vfs.Anything); err != nil {
				break
			}
		}
		refused(err, "drop old versions")
		small.ok(small.DropVersions(b.ctx, "/c", 1))
		small.write("/c", "it goes on")
		var sum int64
		b.ok(b.db.QueryRow(b.ctx, `SELECT COALESCE(SUM(size), 0) FROM {vfs_contents}`).Scan(&sum))
		if _, bytes, err := b.another().Usage(b.ctx); err != nil || bytes != sum {
			t.Errorf("%d bytes are counted, %v; %d are there", bytes, err, sum)
		}
	})
}

// withLimits is the same tree with other limits.
func withLimits(b *bench, limits vfs.Limits) *bench {
	s := vfs.New(b.db, limits)
	return &bench{b.TB, s.Tree("p", ring(b, 1)), b.ctx, b.db, s}
}

// Whatever is done by turns through two servers, both see the same, and the same as memory has.
func TestTwoServers(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		servers := []*bench{b, b.another()}
		memory := workspace.NewMemory()
		r := rand.New(rand.NewPCG(1, 2))
		name := func() string {
			parts := make([]string, 1+r.IntN(3))
			for i := range parts {
				parts[i] = string(rune('a' + r.IntN(4)))
			}
			return strings.Join(parts, "/")
		}
		did := 0
		for step := range 400 {
			server := servers[r.IntN(2)]
			files := server.Files(b.ctx)
			a, z, op := name(), name(), r.IntN(8)
			do := func(f workspace.Files) error {
				switch op {
				case 0, 1, 2:
					return f.WriteFile(a, []byte(z), 0o644)
				case 3:
					return f.Remove(a)
				case 4:
					return f.RemoveAll(a)
				case 5:
					return f.MkdirAll(a, 0o755)
				case 6:
					if err := f.MkdirAll(filepath.Dir(z), 0o755); err != nil {
						return err
					}
					return f.Rename(a, z)
				default:
					return f.Replace(a, nil, []byte(z), 0o600)
				}
			}
			got, want := do(files), do(memory)
			if (got == nil) != (want == nil) {
				t.Fatalf("step %d: operation %d of %s, %s: %v; in memory %v", step, op, a, z, got, want)
			}
			if got == nil {
				did++
			}
			switch r.IntN(10) {
			case 0:
				b.ok(server.PurgeAll(b.ctx, "/"))
			case 1:
				orphans, err := server.Orphans(b.ctx)
				b.ok(err)
				if len(orphans) > 0 {
					b.ok(server.PurgeOrphan(b.ctx, orphans[0].ID))
				}
			}
			if step%10 > 0 {
				continue
			}
			now := live(t, memory)
			for i, s := range []*bench{servers[0], servers[1], b.another()} {
				if diff := cmp.Diff(now, live(t, s.Files(b.ctx))); diff != "" {
					t.Fatalf("step %d: server %d differs (-memory +server):\n%s", step, i, diff)
				}
			}
			if diff := cmp.Diff(servers[0].everything(), servers[1].everything()); diff != "" {
				t.Fatalf("step %d: the servers differ: %s", step, diff)
			}
		}
		if did < 100 {
			t.Errorf("only %d operations did something", did)
		}
	})
}

func live(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = i.Mode().String()
		if !d.IsDir() {
			data, err := fs.ReadFile(files, path)
			all[path] += string(data)
			return err
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A commit of several files that fails is as if it had not been begun.
func TestCommitIsOneChange(t *testing.T) {
	b := onFile(t, vfs.Limits{})
	b.write("/a", "a")
	before, err := b.Revision(b.ctx)
	b.ok(err)
	ws := workspace.New(b.Files(b.ctx))
	err = ws.Commit(b.ctx, []workspace.Change{{Path: "new", After: []byte("x")}, {Path: "a/below", After: []byte("x")}})
	b.fails(err, vfs.NotDir)
	b.has(map[string]string{"/a": "a"})
	b.ok(ws.Commit(b.ctx, []workspace.Change{{Path: "new", After: []byte("x"), Mode: 0o755}, {Path: "a", Before: []byte("a"), After: []byte("A"), Chmod: 0o700}, {Path: "d/e", After: []byte("e")}}))
	b.has(map[string]string{"/a": "A", "/new": "x", "/d/": "", "/d/e": "e"})
	after, err := b.Revision(b.ctx)
	b.ok(err)
	info, err := b.Stat(b.ctx, "/a")
	b.ok(err)
	if after != before+1 || info.Version != 2 || info.Mode != 0o700 {
		t.Errorf("revision %d after %d, and %+v", after, before, info)
	}
}

// Who still writes to a deleted project brings nothing back.
func TestDeletedProject(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		b.write("/a", "a")
		other := b.another()
		other.holds("/a", "a")
		b.ok(b.db.Update(b.ctx, func(q store.Querier) error { return b.store.Delete(b.ctx, q, "p") }))
		for _, tree := range []*bench{b, other} {
			_, err := tree.Write(b.ctx, "/a", []byte("x"), vfs.Anything)
			b.fails(err, vfs.ErrProject)
			_, _, err = tree.Read(b.ctx, "/a")
			b.fails(err, vfs.ErrProject)
			b.fails(tree.Files(b.ctx).MkdirAll("x", 0o755), vfs.ErrProject)
		}
		if rows := b.dump(); len(rows) > 0 {
			t.Errorf("the database still has %q", rows)
		}
	})
}

func TestCanceled(t *testing.T) {
	b := onFile(t, vfs.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Write(ctx, "/a", nil, vfs.Anything)
	b.fails(err, context.Canceled)
	b.has(map[string]string{})
}

// Trees in memory are bounded.
func TestCacheIsBounded(t *testing.T) {
	pacetest.Costly(t)
	b := onFile(t, vfs.Limits{})
	for i := range 300 {
		project := fmt.Sprint("small ", i)
		b.ok(b.store.Create(b.ctx, b.db, project))
		if _, err := b.store.Tree(project, ring(t, 1)).Stat(b.ctx, "/"); err != nil {
			t.Fatal(err)
		}
	}
	if trees, _ := b.store.Cached(); trees == 0 || trees > 256 {
		t.Errorf("%d trees are in memory", trees)
	}
	for i := range 4 {
		project := fmt.Sprint("large ", i)
		b.ok(b.store.Create(b.ctx, b.db, project))
		tree := b.store.Tree(project, ring(t, 1))
		b.ok(tree.Files(b.ctx).(workspace.Atomic).Atomically(func(f workspace.Files) error {
			for n := range 7000 {
				if err := f.MkdirAll(fmt.Sprint(n), 0o755); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	trees, nodes := b.store.Cached()
	if nodes == 0 || nodes > 20_000 {
		t.Errorf("%d nodes are in memory, in %d trees", nodes, trees)
	}
	b.store.Forget("large 3")
	if _, now := b.store.Cached(); now != nodes-7000 {
		t.Errorf("%d nodes are in memory after one tree was forgotten", now)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 'a', 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		once, ok := vfs.RoundTrip(b)
		if !ok {
			return
		}
		if twice, ok := vfs.RoundTrip(once); !ok || !bytes.Equal(once, twice) {
			t.Errorf("%q is %q, then %q", b, once, twice)
		}
	})
}
