package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/workspace"
)

func open(t *testing.T, o workspace.Options, files map[string]string) (*workspace.Workspace, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	w, err := workspace.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, w.Dir()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Skip("this system has no links for us:", err)
	}
}

func TestNames(t *testing.T) {
	extra := t.TempDir()
	w, dir := open(t, workspace.Options{Extra: []workspace.Extra{{Dir: extra}}}, map[string]string{"a/b.txt": "", "it\u2019s": "", "cafe\u0301": ""})
	extra, err := filepath.EvalSymlinks(extra)
	if err != nil {
		t.Fatal(err)
	}
	for written, want := range map[string]string{
		"a/b.txt": "a/b.txt", "./a//b.txt": "a/b.txt", "a/../a/b.txt": "a/b.txt", ".": ".", dir: ".", dir + "/a": "a", "not/there": "not/there",
		"it's": "it\u2019s", "caf\u00e9": "cafe\u0301", "it is": "it is", filepath.Join(extra, "x"): filepath.ToSlash(filepath.Join(extra, "x")),
	} {
		if got, err := w.Resolve(written); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", written, got, err, want)
		}
	}
	for _, written := range []string{"..", "../x", "a/../../x", "/etc/passwd", dir + "-evil/x", dir + "/../x", extra + "x", "~", "~/x", "/"} {
		var outside *workspace.OutsideError
		if got, err := w.Resolve(written); !errors.As(err, &outside) {
			t.Errorf("%s is %q, %v", written, got, err)
		}
	}
	for _, written := range []string{"", "a\x00b"} {
		if got, err := w.Resolve(written); err == nil {
			t.Errorf("%q is %q", written, got)
		}
	}
}

// No name and no link leads out, whatever is done with it.
func TestNothingLeadsOut(t *testing.T) {
	w, dir := open(t, workspace.Options{}, map[string]string{"in/a": "inside"})
	outside := filepath.Join(filepath.Dir(dir), "outside")
	put(t, filepath.Join(outside, "secret"), "secret")
	put(t, dir+"-evil/secret", "secret")
	link(t, outside, filepath.Join(dir, "dirlink"))
	link(t, filepath.Join(outside, "secret"), filepath.Join(dir, "filelink"))
	link(t, "../outside/secret", filepath.Join(dir, "rellink"))
	link(t, "dirlink", filepath.Join(dir, "chain"))
	link(t, "/proc/self/root", filepath.Join(dir, "proc"))
	link(t, filepath.Join(outside, "new"), filepath.Join(dir, "dangling"))
	files := w.Files()
	for _, name := range []string{
		"../outside/secret", "dirlink/secret", "filelink", "rellink", "chain/secret", "proc/etc/passwd", "/etc/passwd", dir + "-evil/secret",
		filepath.Join(outside, "secret"), "in/../../outside/secret", "in/./a", "", "/", "dangling",
	} {
		if data, err := files.ReadFile(name); err == nil {
			t.Errorf("%q holds %q", name, data)
		}
		if _, err := files.Stat(name); err == nil {
			t.Errorf("%q can be looked at", name)
		}
		if err := files.WriteFile(name, []byte("x"), 0o644); err == nil {
			t.Errorf("%q can be written", name)
		}
		if f, err := files.Open(name); err == nil {
			f.Close()
			t.Errorf("%q can be opened", name)
		}
		if err := files.Chmod(name, 0o600); err == nil {
			t.Errorf("%q has another mode now", name)
		}
	}
	for _, name := range []string{"../outside", "dirlink/secret", "chain/secret", dir + "-evil", "."} {
		if err := files.RemoveAll(name); err == nil {
			t.Errorf("%q was removed", name)
		}
		if err := files.Rename("in/a", name+"/a"); err == nil && name != "." {
			t.Errorf("a file was moved to %q", name)
		}
	}
	if got := get(t, filepath.Join(outside, "secret")); got != "secret" || get(t, dir+"-evil/secret") != "secret" {
		t.Errorf("outside there is %q", got)
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
		t.Error("a file was made outside")
	}
}

// A link that is swapped in while we work does not help either.
func TestRace(t *testing.T) {
	w, dir := open(t, workspace.Options{}, map[string]string{"d/f": "inside"})
	outside := filepath.Join(filepath.Dir(dir), "outside")
	put(t, filepath.Join(outside, "f"), "secret")
	real, evil, at := filepath.Join(dir, "real"), filepath.Join(dir, "evil"), filepath.Join(dir, "d")
	link(t, outside, evil)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(at, real)
				_ = os.Rename(evil, at)
				_ = os.Rename(at, evil)
				_ = os.Rename(real, at)
			}
		}
	})
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		if data, err := w.Files().ReadFile("d/f"); err == nil && string(data) == "secret" {
			t.Fatal("read a file outside")
		}
		_ = w.Files().WriteFile("d/f", []byte("inside"), 0o644)
	}
	close(stop)
	wg.Wait()
	if got := get(t, filepath.Join(outside, "f")); got != "secret" {
		t.Errorf("the file outside holds %q", got)
	}
}

func TestLinksInsideStay(t *testing.T) {
	w, dir := open(t, workspace.Options{}, map[string]string{"a": "old"})
	link(t, "a", filepath.Join(dir, "l"))
	link(t, filepath.Join(dir, "a"), filepath.Join(dir, "abs"))
	for _, name := range []string{"l", "abs"} {
		if err := w.Files().WriteFile(name, []byte("by "+name), 0o644); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 || get(t, filepath.Join(dir, "a")) != "by "+name {
			t.Errorf("after writing through %s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestOpenForReading(t *testing.T) {
	w, _ := open(t, workspace.Options{ReadOnly: true}, map[string]string{"a": "x"})
	f := w.Files()
	for name, err := range map[string]error{
		"write": f.WriteFile("b", nil, 0o644), "mkdir": f.MkdirAll("d", 0o755), "remove": f.Remove("a"), "removeall": f.RemoveAll("a"),
		"rename": f.Rename("a", "b"), "chmod": f.Chmod("a", 0o600), "commit": w.Commit(context.Background(), []workspace.Change{{Path: "b", After: []byte("x")}}),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the session is kept in is no tool's business, by whatever name.
func TestOwnFilesAreRefused(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "talk.jsonl"), "x")
	put(t, filepath.Join(dir, "talk", "0.log"), "x")
	put(t, filepath.Join(dir, "talk.md"), "x")
	link(t, "talk.jsonl", filepath.Join(dir, "other"))
	w, err := workspace.Open(dir, workspace.Options{Own: []string{filepath.Join(dir, "talk.jsonl"), filepath.Join(dir, "talk"), filepath.Join(dir, "not", "there")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	f := w.Files()
	_, opened := f.Open("talk.jsonl")
	_, read := f.ReadFile("other")
	_, readByModel := w.Read("talk/0.log")
	for name, err := range map[string]error{
		"open": opened, "read through a link": read, "read": readByModel,
		"write": f.WriteFile("talk.jsonl", nil, 0o644), "write through a link": f.WriteFile("other", nil, 0o644), "remove": f.RemoveAll("talk"),
		"rename": f.Rename("talk.jsonl", "b"), "rename over it": f.Rename("talk.md", "talk.jsonl"),
		"commit": w.Commit(t.Context(), []workspace.Change{{Path: "talk.jsonl", Before: []byte("x"), After: []byte("y")}}),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, err := f.ReadFile("talk.md"); err != nil || string(data) != "x" || get(t, filepath.Join(dir, "talk.jsonl")) != "x" {
		t.Errorf("talk.md holds %q, %v", data, err)
	}
}

func TestChanged(t *testing.T) {
	w, dir := open(t, workspace.Options{}, map[string]string{"a": "one", "b": "one"})
	want := func(name string, f workspace.Freshness) {
		t.Helper()
		if got := w.Changed(name); got != f {
			t.Errorf("%s is %s, want %s", name, got, f)
		}
	}
	want("a", workspace.Unseen)
	if f, err := w.Read("a"); err != nil || string(f.Data) != "one" {
		t.Fatal(f, err)
	}
	want("a", workspace.Fresh)
	put(t, filepath.Join(dir, "a"), "two")
	want("a", workspace.Stale)
	put(t, filepath.Join(dir, "a"), "one") // as the model saw it, whenever it was written
	want("a", workspace.Fresh)
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	want("a", workspace.Gone)
	if err := w.Commit(context.Background(), []workspace.Change{{Path: "b", Before: []byte("one"), After: []byte("mine")}}); err != nil {
		t.Fatal(err)
	}
	want("b", workspace.Fresh)
}

func TestCommit(t *testing.T) {
	ctx := context.Background()
	files := map[string]string{"a": "a", "b": "b", "c": "c", "d/e": "e"}
	w, dir := open(t, workspace.Options{StateDir: t.TempDir()}, files)
	if err := w.BeginTurn("1", "first"); err != nil {
		t.Fatal(err)
	}
	err := w.Commit(ctx, []workspace.Change{
		{Path: "a", Before: []byte("a"), After: []byte("A")},
		{Path: "b"}, // checked below: without Before it must not exist
	})
	var stale *workspace.StaleError
	if !errors.As(err, &stale) || stale.Path != "b" || get(t, filepath.Join(dir, "a")) != "a" {
		t.Errorf("error %v, a holds %q", err, get(t, filepath.Join(dir, "a")))
	}
	all := []workspace.Change{
		{Path: "a", Before: []byte("a"), After: []byte("A")},
		{Path: "b", Before: []byte("b")},
		{Path: "new/dir/c", From: "c", Before: []byte("c"), After: []byte("C")},
		{Path: "x/y.sh", After: []byte("#!/bin/sh\n"), Mode: 0o755},
	}
	// A folder stands where the last file shall be: nothing is done at all.
	if err := os.MkdirAll(filepath.Join(dir, "blocked", "y.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	failing := append(all[:3:3], workspace.Change{Path: "blocked/y.sh/z/../../y.sh", After: []byte("x")})
	failing[3].Path = "blocked/y.sh"
	if err := w.Commit(ctx, failing); err == nil {
		t.Error("a folder was replaced by a file")
	}
	for name, text := range files {
		if got := get(t, filepath.Join(dir, name)); got != text {
			t.Errorf("after the failure %s holds %q", name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the folder that was made is still there")
	}
	if err := w.Commit(ctx, all); err != nil {
		t.Fatal(err)
	}
	if get(t, filepath.Join(dir, "a")) != "A" || get(t, filepath.Join(dir, "new/dir/c")) != "C" {
		t.Error("the files hold something else")
	}
	for _, gone := range []string{"b", "c"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	turns, err := w.Turns()
	if err != nil || len(turns) != 1 {
		t.Fatalf("turns %v, %v", turns, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "new", "new/dir", "new/dir/c", "x", "x/y.sh"}, turns[0].Paths); diff != "" {
		t.Error(diff)
	}
	if u, err := w.Undo(ctx, "1"); err != nil || len(u.Kept) > 0 {
		t.Fatalf("undo %+v, %v", u, err)
	}
	for name, text := range files {
		if got := get(t, filepath.Join(dir, name)); got != text {
			t.Errorf("after undo %s holds %q", name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("after undo the new folder is still there")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Commit(cancelled, all); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestOverview(t *testing.T) {
	w, _ := open(t, workspace.Options{}, map[string]string{"go.mod": "", "cmd/a/x": "", "cmd/b": "", ".git/x": "", "empty/.keep": ""})
	got, err := w.Overview(2)
	if want := "cmd/  a/ b\nempty/\n… 1 more\n"; err != nil || got != want {
		t.Errorf("overview %q, %v", got, err)
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := workspace.Open(filepath.Join(t.TempDir(), "none"), workspace.Options{}); err == nil || !strings.HasPrefix(err.Error(), "open the workspace: ") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkCommit(b *testing.B) {
	dir := b.TempDir()
	w, err := workspace.Open(dir, workspace.Options{StateDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	ctx := context.Background()
	texts := [][]byte{[]byte(strings.Repeat("one\n", 1000)), []byte(strings.Repeat("two\n", 1000))}
	if err := w.Files().WriteFile("a", texts[0], 0o644); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.Commit(ctx, []workspace.Change{{Path: "a", Before: texts[i%2], After: texts[(i+1)%2]}}); err != nil {
			b.Fatal(err)
		}
	}
}
