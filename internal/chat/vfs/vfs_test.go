package vfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/platform/workspace/workspacetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

func ring(t testing.TB, generations ...uint32) *vault.Ring {
	t.Helper()
	keys := map[uint32][]byte{}
	for _, g := range generations {
		keys[g] = bytes.Repeat([]byte{byte(g)}, vault.KeySize)
	}
	r, err := vault.NewRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bench is a project's files.
type bench struct {
	testing.TB
	*vfs.Tree
	ctx   context.Context
	db    *store.DB
	store *vfs.Store
}

func create(t testing.TB, db *store.DB, limits vfs.Limits) *bench {
	t.Helper()
	return createAs(t, "p", db, limits)
}

func createAs(t testing.TB, project string, db *store.DB, limits vfs.Limits) *bench {
	t.Helper()
	s := vfs.New(db, limits)
	if err := s.Create(t.Context(), db, project); err != nil {
		t.Fatal(err)
	}
	return &bench{t, s.Tree(project, ring(t, 1)), t.Context(), db, s}
}

// each runs a test on both databases.
func each(t *testing.T, limits vfs.Limits, test func(t *testing.T, b *bench)) {
	t.Helper()
	storetest.Each(t, []store.Part{vfs.Part}, func(t *testing.T, open func() *store.DB) { test(t, create(t, open(), limits)) })
}

// onFile is for tests of what databases have no part in.
func onFile(t testing.TB, limits vfs.Limits) *bench {
	t.Helper()
	return create(t, storetest.Open(t, t.TempDir()+"/server.db", []store.Part{vfs.Part}), limits)
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) fails(err error, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("the error is %v; want %v", err, want)
	}
}

func (b *bench) write(name, text string) vfs.Info {
	b.Helper()
	info, err := b.Write(b.ctx, name, []byte(text), vfs.Anything)
	b.ok(err)
	return info
}

func (b *bench) holds(name, want string) {
	b.Helper()
	if got, _, err := b.Read(b.ctx, name); err != nil || string(got) != want {
		b.Errorf("%s holds %.100q, %v; want %.100q", name, got, err, want)
	}
}

func (b *bench) gone(names ...string) {
	b.Helper()
	for _, name := range names {
		if info, err := b.Stat(b.ctx, name); !errors.Is(err, fs.ErrNotExist) {
			b.Errorf("%s is %+v, %v", name, info, err)
		}
	}
}

// another gives the tree to somebody with nothing of it in memory.
func (b *bench) another() *bench {
	s := vfs.New(b.db, vfs.Limits{})
	return &bench{b.TB, s.Tree("p", ring(b, 1)), b.ctx, b.db, s}
}

// everything is each path with what it holds; "-" is before what is deleted, "/" after folders.
func (b *bench) everything() map[string]string {
	b.Helper()
	all := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		infos, err := b.List(b.ctx, dir, true)
		b.ok(err)
		for _, i := range infos {
			sign := ""
			if i.Deleted {
				sign = "-"
			}
			if i.Dir {
				all[sign+i.Path+"/"] = ""
				walk(i.Path)
				continue
			}
			data, err := b.ReadVersion(b.ctx, i.Path, i.Version)
			b.ok(err)
			all[sign+i.Path] = string(data)
		}
	}
	walk("/")
	return all
}

// has compares the whole tree, as this one and another one see it.
func (b *bench) has(want map[string]string) {
	b.Helper()
	if diff := cmp.Diff(want, b.everything()); diff != "" {
		b.Errorf("the tree differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, b.another().everything()); diff != "" {
		b.Errorf("the tree of another differs (-want +got):\n%s", diff)
	}
}

func TestFilesSuite(t *testing.T) {
	storetest.Each(t, []store.Part{vfs.Part}, func(t *testing.T, open func() *store.DB) {
		fill := func(t *testing.T, f workspace.Files, files map[string]string) *workspace.Workspace {
			for name, text := range files {
				if err := f.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return workspace.New(f)
		}
		db, projects := open(), 0
		fresh := func(t *testing.T) *bench {
			projects++
			return createAs(t, fmt.Sprint("project/", projects), db, vfs.Limits{})
		}
		t.Run("tree", func(t *testing.T) {
			workspacetest.Run(t, func(t *testing.T, files map[string]string) *workspace.Workspace {
				return fill(t, fresh(t).Files(t.Context()), files)
			})
		})
		t.Run("namespace", func(t *testing.T) {
			workspacetest.Run(t, func(t *testing.T, files map[string]string) *workspace.Workspace {
				b := fresh(t)
				b.write("/outside", "x")
				n, err := b.Namespace("/minions/p")
				b.ok(err)
				return fill(t, n.Files(t.Context()), files)
			})
		})
	})
}

func TestClean(t *testing.T) {
	for written, want := range map[string]string{
		"": "/", "  ": "/", "a//b/./c/": "/a/b/c", "/../x": "/x", "/a/../../b": "/b", "a": "/a", "/": "/", "..": "/", "/a b/ü": "/a b/ü", "/ a": "/ a",
	} {
		if got := vfs.Clean(written); got != want {
			t.Errorf("%q is %q; want %q", written, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		want := map[string]string{}
		for _, name := range []string{"constructor", "__proto__", "toString", "hasOwnProperty", "👩‍💻", "a b", "\x01\n\t", "ö", "o\u0308", `a\b`, "'\"%$&", "...", strings.Repeat("n", 512)} {
			b.write("/d/"+name+"/"+name, name)
			want["/d/"+name+"/"], want["/d/"+name+"/"+name] = "", name
		}
		want["/d/"] = ""
		b.has(want)
		for _, name := range []string{"/" + strings.Repeat("n", 513), "/" + strings.Repeat("n/", 70) + "x", "/\xff", "/", "/a\x00b", "/" + strings.Repeat("x", 5000)} {
			if _, err := b.Write(b.ctx, name, nil, vfs.Anything); err == nil {
				t.Errorf("%.20q was written", name)
			}
			if err := b.Rename(b.ctx, "/d/ö", name); err == nil {
				t.Errorf("a file was moved to %.20q", name)
			}
		}
		b.has(want)
	})
}

func TestVersions(t *testing.T) {
	each(t, vfs.Limits{Versions: 5}, func(t *testing.T, b *bench) {
		for _, text := range []string{"one\ntwo\n", "one\n2\n", "one\n2\n3\n"} {
			b.write("/f", text)
		}
		wantVersions := func(want ...int64) {
			t.Helper()
			versions, err := b.Versions(b.ctx, "/f")
			b.ok(err)
			var got []int64
			for _, v := range versions {
				data, err := b.ReadVersion(b.ctx, "/f", v.Number)
				b.ok(err)
				if v.Size != int64(len(data)) || v.Modified.IsZero() {
					t.Errorf("version %+v has %d bytes", v, len(data))
				}
				got = append(got, v.Number)
			}
			info, err := b.Stat(b.ctx, "/f")
			b.ok(err)
			if !slices.Equal(got, want) || info.Version != want[0] || info.Oldest != want[len(want)-1] {
				t.Errorf("versions %v of %+v; want %v", got, info, want)
			}
		}
		wantVersions(3, 2, 1)
		diff, err := b.Diff(b.ctx, "/f", 1, 3)
		b.ok(err)
		if want := "--- f (version 1)\n+++ f (version 3)\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n"; diff != want {
			t.Errorf("the diff is %q; want %q", diff, want)
		}
		info, err := b.RollBack(b.ctx, "/f", 1)
		b.ok(err)
		if info.Version != 4 {
			t.Errorf("rolled back to %+v", info)
		}
		b.holds("/f", "one\ntwo\n")
		b.ok(b.DropVersions(b.ctx, "/f", 2))
		b.ok(b.DropVersions(b.ctx, "/f", 3)) // there aren't so many
		wantVersions(4, 3)
		if b.DropVersions(b.ctx, "/f", 0) == nil {
			t.Error("all versions were dropped")
		}
		_, err = b.RollBack(b.ctx, "/f", 2)
		b.fails(err, vfs.NotFound)
		_, err = b.Diff(b.ctx, "/f", 2, 4)
		b.fails(err, vfs.NotFound)
		for range 4 {
			b.write("/f", "x")
		}
		wantVersions(8, 7, 6, 5, 4)
		var rows int
		b.ok(b.db.QueryRow(b.ctx, `SELECT COUNT(*) FROM {vfs_contents}`).Scan(&rows))
		if rows != 5 {
			t.Errorf("%d contents are kept", rows)
		}
	})
}

func TestWriteExpects(t *testing.T) {
	b := onFile(t, vfs.Limits{})
	_, err := b.Write(b.ctx, "/a", nil, 1)
	b.fails(err, vfs.Changed)
	info, err := b.Write(b.ctx, "/a", []byte("1"), vfs.Missing)
	b.ok(err)
	_, err = b.Write(b.ctx, "/a", []byte("2"), vfs.Missing)
	b.fails(err, vfs.FileExists)
	b.fails(err, fs.ErrExist)
	info, err = b.Write(b.ctx, "/a", []byte("2"), info.Version)
	b.ok(err)
	if info.Version != 2 || info.Size != 1 || info.MIME != "text/plain" {
		t.Errorf("wrote %+v", info)
	}
	_, err = b.Write(b.ctx, "/a", []byte("3"), 1)
	b.fails(err, vfs.Changed)
	_, err = b.Write(b.ctx, "/a/b", nil, vfs.Anything)
	b.fails(err, vfs.NotDir)
	b.ok(b.Mkdir(b.ctx, "/d"))
	_, err = b.Write(b.ctx, "/d", nil, vfs.Anything) // a live folder isn't replaced
	b.fails(err, vfs.NotFile)
	b.fails(b.Mkdir(b.ctx, "/d"), vfs.DirExists)
	b.fails(b.Mkdir(b.ctx, "/a"), vfs.FileExists)
	if _, err = b.Edit(b.ctx, "/a", func(old []byte) ([]byte, error) { return nil, errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the edit's own error: %v", err)
	}
	_, err = b.Edit(b.ctx, "/a", func(old []byte) ([]byte, error) { return append(old, '!'), nil })
	b.ok(err)
	b.has(map[string]string{"/a": "2!", "/d/": ""})
}

// What a file was read as is what it is replaced as, wherever another one took its place meanwhile.
func TestReplace(t *testing.T) {
	b := onFile(t, vfs.Limits{})
	read, err := b.Write(b.ctx, "/a", []byte("1"), vfs.Anything)
	b.ok(err)
	next, err := b.Replace(b.ctx, read, []byte("2"))
	b.ok(err)
	if next.Version != 2 || next.ID != read.ID {
		t.Errorf("replaced %+v", next)
	}
	stale := func(what string, read vfs.Info) {
		t.Helper()
		if _, err := b.Replace(b.ctx, read, []byte("3")); !errors.Is(err, vfs.Changed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	stale("an old version", read)
	b.ok(b.Remove(b.ctx, "/a", false))
	stale("a deleted file", next)
	b.write("/a", "another")
	stale("another file, in the same version", read)
	b.has(map[string]string{"/a": "another"})
}

func TestWalk(t *testing.T) {
	b := onFile(t, vfs.Limits{})
	for _, name := range []string{"/d/a", "/d/e/f", "/d/e/g", "/x"} {
		b.write(name, name)
	}
	b.ok(b.Remove(b.ctx, "/d/e/f", false))
	walks := func(dir string, deleted bool, want ...string) {
		t.Helper()
		all, err := b.Walk(b.ctx, dir, deleted)
		b.ok(err)
		var got []string
		for _, info := range all {
			if info.Deleted {
				info.Path = "-" + info.Path
			}
			got = append(got, info.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	walks("/", false, "/d", "/d/a", "/d/e", "/d/e/g", "/x")
	walks("/d", true, "/d/a", "/d/e", "-/d/e/f", "/d/e/g")
	b.ok(b.Remove(b.ctx, "/d", true))
	walks("/", true, "-/d", "-/d/a", "-/d/e", "-/d/e/f", "-/d/e/g", "/x")
	_, err := b.Walk(b.ctx, "/d", false)
	b.fails(err, vfs.Deleted)
	_, err = b.Walk(b.ctx, "/x", false)
	b.fails(err, vfs.NotDir)
}

func TestTypes(t *testing.T) {
	b := onFile(t, vfs.Limits{})
	for text, want := range map[string]string{
		"": "text/plain", "text ü": "text/plain", "<html>": "text/plain", "a\x00b": "application/octet-stream", "\xff\xfe": "application/octet-stream",
		"\xff\xd8\xff\xe0": "image/jpeg", "\x89PNG\r\n\x1a\nx": "image/png", "GIF89a": "image/gif", "RIFF....WEBPVP8 ": "image/webp", "RIFF....WAVE": "text/plain",
		"%PDF-1.7": "application/pdf", "PK\x03\x04...": "application/zip",
	} {
		if info := b.write("/f", text); info.MIME != want {
			t.Errorf("%q is %s; want %s", text, info.MIME, want)
		}
	}
	// A file of another type is another file.
	b = onFile(t, vfs.Limits{})
	first := b.write("/f", "text")
	b.write("/f", "more text")
	second := b.write("/f", "\x89PNG\r\n\x1a\n")
	if first.ID == second.ID || second.Version != 1 {
		t.Errorf("a picture took the place of a text: %+v, %+v", first, second)
	}
	orphans, err := b.Orphans(b.ctx)
	b.ok(err)
	if len(orphans) != 1 || orphans[0].ID != first.ID || orphans[0].Path != "/f" || orphans[0].Version != 2 || orphans[0].Orphaned.IsZero() {
		t.Errorf("the orphans are %+v", orphans)
	}
	if _, err := b.Diff(b.ctx, "/f", 1, 1); !errors.Is(err, vfs.Binary) {
		t.Errorf("a diff of a picture: %v", err)
	}
	b.fails(b.RestoreOrphan(b.ctx, first.ID, "/f"), vfs.DestinationExists)
	b.ok(b.RestoreOrphan(b.ctx, first.ID, "/old/f"))
	b.holds("/old/f", "more text")
	if text, err := b.ReadVersion(b.ctx, "/old/f", 1); err != nil || string(text) != "text" {
		t.Errorf("the orphan's first version is %q, %v", text, err)
	}
	if info, err := b.Stat(b.ctx, "/old/f"); err != nil || info.MIME != "text/plain" || !info.Orphaned.IsZero() {
		t.Errorf("it is %+v, %v", info, err)
	}
	b.fails(b.PurgeOrphan(b.ctx, first.ID), vfs.NotFound)
}

func TestTrash(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		for _, name := range []string{"/d/a", "/d/b", "/d/e/f", "/d/e/g", "/x"} {
			b.write(name, name)
		}
		b.ok(b.Remove(b.ctx, "/d/a", false))
		b.ok(b.Remove(b.ctx, "/d/a", false)) // nothing more to do
		b.fails(b.Remove(b.ctx, "/d", false), vfs.NotEmpty)
		b.fails(b.Remove(b.ctx, "/none", false), vfs.NotFound)
		b.fails(b.Remove(b.ctx, "/", true), vfs.InvalidPath)
		b.ok(b.Remove(b.ctx, "/d", true))
		b.gone("/d", "/d/a", "/d/b", "/d/e/f")
		_, _, err := b.Read(b.ctx, "/d/b")
		b.fails(err, vfs.Deleted)
		b.has(map[string]string{"-/d/": "", "-/d/a": "/d/a", "-/d/b": "/d/b", "-/d/e/": "", "-/d/e/f": "/d/e/f", "-/d/e/g": "/d/e/g", "/x": "/x"})

		// A folder comes back with what was deleted with it.
		b.ok(b.Restore(b.ctx, "/d"))
		live := map[string]string{"/d/": "", "-/d/a": "/d/a", "/d/b": "/d/b", "/d/e/": "", "/d/e/f": "/d/e/f", "/d/e/g": "/d/e/g", "/x": "/x"}
		b.has(live)
		b.fails(b.Purge(b.ctx, "/d"), vfs.InvalidPath) // not deleted

		// One file comes back without the rest of its folder.
		b.ok(b.Remove(b.ctx, "/d", true))
		b.ok(b.Restore(b.ctx, "/d/e/f"))
		b.has(map[string]string{"/d/": "", "-/d/a": "/d/a", "-/d/b": "/d/b", "/d/e/": "", "/d/e/f": "/d/e/f", "-/d/e/g": "/d/e/g", "/x": "/x"})

		// A new file in a deleted folder brings back the folders above it only.
		b.ok(b.Remove(b.ctx, "/d", true))
		b.write("/d/e/new", "new")
		b.has(map[string]string{"/d/": "", "-/d/a": "/d/a", "-/d/b": "/d/b", "/d/e/": "", "-/d/e/f": "/d/e/f", "-/d/e/g": "/d/e/g", "/d/e/new": "new", "/x": "/x"})

		// What is written over something deleted doesn't lose it.
		b.write("/d/b", "other")
		orphans, err := b.Orphans(b.ctx)
		b.ok(err)
		if len(orphans) != 1 || orphans[0].Path != "/d/b" || orphans[0].Deleted {
			t.Fatalf("orphans %+v", orphans)
		}
		b.ok(b.Purge(b.ctx, "/d/a"))
		b.gone("/d/a")
		b.fails(b.Restore(b.ctx, "/d/a"), vfs.NotFound)
		b.ok(b.PurgeOrphan(b.ctx, orphans[0].ID))
		b.ok(b.PurgeAll(b.ctx, "/"))
		b.has(map[string]string{"/d/": "", "/d/b": "other", "/d/e/": "", "/d/e/new": "new", "/x": "/x"})
		b.ok(b.Remove(b.ctx, "/d", true))
		b.ok(b.Remove(b.ctx, "/x", true))
		b.ok(b.PurgeAll(b.ctx, "/"))
		b.has(map[string]string{})
		nodes, size, err := b.Usage(b.ctx)
		var rows int
		b.ok(b.db.QueryRow(b.ctx, `SELECT COUNT(*) FROM {vfs_contents}`).Scan(&rows))
		if err != nil || nodes != 0 || size != 0 || rows != 0 {
			t.Errorf("%d nodes, %d bytes, %d contents are left, %v", nodes, size, rows, err)
		}
	})
}

func TestRename(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		for _, name := range []string{"/d/a", "/d/e/f", "/old/a", "/old/b/c", "/x"} {
			b.write(name, name)
		}
		before := b.everything()
		b.fails(b.Rename(b.ctx, "/d", "/d/e/d"), vfs.InvalidPath)
		b.fails(b.Rename(b.ctx, "/d", "/x"), vfs.DestinationExists)
		b.fails(b.Rename(b.ctx, "/x", "/d"), vfs.DestinationExists)
		b.fails(b.Rename(b.ctx, "/x", "/d/a"), vfs.DestinationExists)
		b.fails(b.Rename(b.ctx, "/none", "/y"), vfs.NotFound)
		b.fails(b.Rename(b.ctx, "/x", "/d/a/b"), vfs.NotDir)
		b.fails(b.Rename(b.ctx, "/", "/y"), vfs.InvalidPath)
		b.fails(b.Rename(b.ctx, "/x", "/"), vfs.InvalidPath)
		b.ok(b.Rename(b.ctx, "/d", "/d"))
		b.has(before)

		b.ok(b.Remove(b.ctx, "/old", true))
		b.ok(b.Rename(b.ctx, "/d", "/old"))
		b.ok(b.Rename(b.ctx, "/x", "/new/y/x"))
		b.has(map[string]string{"/old/": "", "/old/a": "/d/a", "/old/e/": "", "/old/e/f": "/d/e/f", "/new/": "", "/new/y/": "", "/new/y/x": "/x"})
		orphans, err := b.Orphans(b.ctx)
		b.ok(err)
		paths := map[string]int64{}
		for _, o := range orphans {
			paths[o.Path] = o.ID
		}
		if got := slices.Sorted(maps.Keys(paths)); !slices.Equal(got, []string{"/old/a", "/old/b/c"}) {
			t.Fatalf("orphans %v", got)
		}
		b.ok(b.RestoreOrphan(b.ctx, paths["/old/b/c"], "/old/b/c"))
		b.holds("/old/b/c", "/old/b/c")
	})
}

func TestNamespace(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		for _, dir := range []string{
			"/minions/..", "/minions/a/b", "/minions/_global", "/minions/", "/minions", "/", "", "/minions/a b", "/minions/ü", "minions/a",
			"/minions/a/..", "/minions/./a", "/x/a", "/minions/" + strings.Repeat("x", 65),
		} {
			if _, err := b.Namespace(dir); !errors.Is(err, vfs.InvalidPath) {
				t.Errorf("%q is a namespace: %v", dir, err)
			}
		}
		b.write("/share/x", "shared")
		b.write("/secret", "secret")
		b.write("/minions/other/x", "other's")
		tree, err := b.Namespace("/minions/p")
		b.ok(err)
		if _, err := tree.Namespace("/minions/q"); err == nil {
			t.Error("a namespace in a namespace")
		}
		n := &bench{t, tree, b.ctx, b.db, b.store}
		n.sees(map[string]string{"/share/": "", "/share/x": "shared"})
		for written, want := range map[string]string{
			"/sharerw/x": "/sharerw/x", "/../x": "/minions/p/x", "/sharex": "/minions/p/sharex", "../../secret": "/minions/p/secret",
			"/share/../y": "/minions/p/y", "/sharerw/../../z": "/minions/p/z",
		} {
			n.write(written, written)
			b.holds(want, written)
			n.holds(written, written)
		}
		for _, name := range []string{"/share/x", "/share/new", "/share", "/./share/../share/y"} {
			_, err := n.Write(b.ctx, name, nil, vfs.Anything)
			_, appended := n.Append(b.ctx, name, nil)
			_, rolled := n.RollBack(b.ctx, name, 1)
			for op, err := range map[string]error{
				"write": err, "append": appended, "roll back": rolled, "remove": n.Remove(b.ctx, name, true), "mkdir": n.Mkdir(b.ctx, name),
				"move from": n.Rename(b.ctx, name, "/m"), "move to": n.Rename(b.ctx, "/x", name), "restore": n.Restore(b.ctx, name), "purge": n.Purge(b.ctx, name),
				"drop": n.DropVersions(b.ctx, name, 1), "empty": n.PurgeAll(b.ctx, name),
			} {
				if !errors.Is(err, vfs.ReadOnly) || !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s %s: %v", op, name, err)
				}
			}
		}
		n.fails(n.Remove(b.ctx, "/", true), vfs.InvalidPath)
		b.fails(b.Remove(b.ctx, "/share", true), vfs.InvalidPath) // for whoever
		b.fails(b.Rename(b.ctx, "/share", "/s"), vfs.InvalidPath)
		b.fails(b.Rename(b.ctx, "/x", "/share"), vfs.InvalidPath)
		b.ok(b.Remove(b.ctx, "/secret", true))
		b.write("/secret", "another one")
		b.ok(b.Remove(b.ctx, "/secret", true))
		n.ok(n.Remove(b.ctx, "/x", true))
		n.write("/x", "again") // the old one is an orphan
		orphans, err := n.Orphans(b.ctx)
		if err != nil || len(orphans) != 1 || orphans[0].Path != "/x" {
			t.Errorf("a persona sees the orphans %+v, %v", orphans, err)
		}
		all, err := b.Orphans(b.ctx)
		b.ok(err)
		for _, o := range all {
			if o.Path == "/secret" {
				n.fails(n.PurgeOrphan(b.ctx, o.ID), vfs.NotFound)
				n.fails(n.RestoreOrphan(b.ctx, o.ID, "/mine"), vfs.NotFound)
			}
		}
		n.ok(n.PurgeAll(b.ctx, "/"))
		if all, err := b.Orphans(b.ctx); err != nil || len(all) != 1 {
			t.Errorf("a persona's purge left %+v, %v", all, err)
		}
		b.holds("/minions/other/x", "other's")
		b.holds("/share/x", "shared")
		names := []string{}
		entries, err := n.Files(b.ctx).ReadDir(".")
		b.ok(err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if want := []string{"secret", "share", "sharerw", "sharex", "x", "y", "z"}; !slices.Equal(names, want) {
			t.Errorf("a persona sees %q; want %q", names, want)
		}
	})
}

// sees compares the tree as this one sees it.
func (b *bench) sees(want map[string]string) {
	b.Helper()
	if diff := cmp.Diff(want, b.everything()); diff != "" {
		b.Errorf("the tree differs (-want +got):\n%s", diff)
	}
}
