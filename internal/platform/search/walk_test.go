package search_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/search"
)

func TestLinks(t *testing.T) {
	tree := makeTree(t, map[string]string{"real/x": "here\n", "real/y": "here\n", "../beside/x": "here\n"})
	for link, to := range map[string]string{
		"dir": "real", "out": "../beside", "file": "real/x", "far": "../beside/x", "loop": "loop", "real/up": "..", "gone": "nothing",
	} {
		if err := os.Symlink(to, filepath.Join(tree.dir, link)); err != nil {
			t.Skip(err)
		}
	}
	if diff := cmp.Diff([]string{"real/x", "real/y"}, listed(t, tree, search.Filter{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"dir/x", "dir/y", "file"}, listed(t, tree, search.Filter{Paths: []string{"dir", "file"}})); diff != "" {
		t.Errorf("links that are named: %s", diff)
	}
	root, err := os.OpenRoot(tree.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	safe := rooted{root.FS(), tree.dir} // as a workspace is: it follows no link that leads out
	for _, path := range []string{"out", "far", "loop", "gone", "out/x"} {
		o := search.GrepOptions{Filter: search.Filter{Paths: []string{path}}, Pattern: "here"}
		if sum, err := search.Grep(context.Background(), safe, o, func(search.Match) bool { return true }); err == nil {
			t.Errorf("%s can be searched: %+v", path, sum)
		}
	}
	if scored, err := search.Find(context.Background(), safe, search.FindOptions{Query: "", Dirs: true}); err != nil || len(scored) != 3 {
		t.Errorf("links are found: %v, %v", scored, err)
	}
	found, _, err := search.Glob(context.Background(), safe, search.GlobOptions{Pattern: "*", Dirs: true})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, e := range found {
		kinds[e.Path] = e.Dir
	}
	want := map[string]bool{"dir": true, "file": false, "real": true, "real/x": false, "real/y": false, "real/up": true}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// extended is a workspace with a folder beside it, which has an absolute name.
type extended struct {
	rooted
	extra string
}

func (e extended) Open(name string) (fs.File, error) {
	if name == e.extra || strings.HasPrefix(name, e.extra+"/") {
		return os.Open(name)
	}
	return e.FS.Open(name)
}

func TestFolderBeside(t *testing.T) {
	tree := makeTree(t, map[string]string{".gitignore": "*.log\n", "a": "x\n", "../beside/a.log": "x\n", "../beside/b/c": "x\n", "../beside/b/.gitignore": "d\n", "../beside/b/d": "x\n"})
	beside := filepath.Join(tree.dir, "..", "beside")
	fsys := extended{tree, beside}
	for path, want := range map[string][]string{
		beside:                            {beside + "/a.log", beside + "/b/c"},
		beside + "/b":                     {beside + "/b/c"},
		beside + "/a.log":                 {beside + "/a.log"},
		filepath.Join(tree.dir, ".", "a"): {"a"},
	} {
		if diff := cmp.Diff(want, listed(t, fsys, search.Filter{Paths: []string{path}})); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	found, _, err := search.Glob(context.Background(), fsys, search.GlobOptions{Pattern: "b/*", Filter: search.Filter{Paths: []string{beside}}})
	if err != nil || len(found) != 1 || found[0].Path != beside+"/b/c" {
		t.Errorf("found %v, %v", found, err)
	}
}

// stuck is a file system whose file "stuck" cannot be read before goOn is closed.
// It counts what is read of the others.
type stuck struct {
	fs.FS
	goOn chan struct{}
	read *atomic.Int64
}

type stuckFile struct {
	fs.File
	fs   stuck
	name string
}

func (s stuck) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if _, dir := f.(fs.ReadDirFile); err != nil || dir {
		return f, err
	}
	return stuckFile{f, s, name}, nil
}

func (f stuckFile) Read(p []byte) (int, error) {
	if strings.HasSuffix(f.name, "stuck") {
		<-f.fs.goOn
	}
	n, err := f.File.Read(p)
	f.fs.read.Add(int64(n))
	return n, err
}

// Results come in order although the first file is slow, and what waits for it is
// bounded: in many files as well as in a large one.
func TestFirstIsSlow(t *testing.T) {
	pacetest.Costly(t)
	const line = "x and more of a long line that makes matches large\n"
	many, large := fstest.MapFS{}, fstest.MapFS{}
	for i := range 1500 {
		many[fmt.Sprintf("b%04d/f", i)] = &fstest.MapFile{Data: []byte(strings.Repeat(line, 100))}
	}
	for i := range 3 {
		large[fmt.Sprintf("b%04d/f", i)] = &fstest.MapFile{Data: []byte(strings.Repeat(line, 160_000))}
	}
	for _, files := range []fstest.MapFS{many, large} {
		want := len(files) + 1
		files["a/stuck"] = &fstest.MapFile{Data: []byte("x\n")}
		fsys := stuck{files, make(chan struct{}), new(atomic.Int64)}
		done := make(chan error, 1)
		var order []string
		go func() {
			_, err := search.Grep(context.Background(), fsys, search.GrepOptions{Pattern: "x"}, func(m search.Match) bool {
				if n := len(order); n == 0 || order[n-1] != m.Path {
					order = append(order, m.Path)
				}
				return true
			})
			done <- err
		}()
		tick := time.NewTicker(10 * time.Millisecond)
		before := int64(-1)
		for calm := 0; calm < 10 || before < 100_000; <-tick.C { // until nothing happens any more
			calm++
			if now := fsys.read.Load(); now != before {
				before, calm = now, 0
			}
		}
		tick.Stop()
		if before > 4<<20 { // text is a fifth of the matches
			t.Errorf("%d bytes were read while the first file could not be", before)
		}
		close(fsys.goOn)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(order) != want || !slices.IsSorted(order) {
			t.Errorf("%d files, from %s to %s", len(order), order[0], order[len(order)-1])
		}
	}
}

// endless is a file that never ends.
type endless struct{ fs.FileInfo }

func (e endless) Stat() (fs.FileInfo, error) { return e.FileInfo, nil }
func (endless) Close() error                 { return nil }
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
		if i%80 == 79 {
			p[i] = '\n'
		}
	}
	return len(p), nil
}

type endlessFS struct{ fs.FS }

func (e endlessFS) Open(name string) (fs.File, error) {
	f, err := e.FS.Open(name)
	if err == nil && strings.HasPrefix(name, "endless") {
		defer f.Close()
		info, err := f.Stat()
		return endless{info}, err
	}
	return f, err
}

// A search that is told to end does so at once, wherever it is.
func TestCancel(t *testing.T) {
	files := fstest.MapFS{"endless1": {}, "endless2": {}, "endless3": {}}
	for name, o := range map[string]search.GrepOptions{
		"literal":    {Pattern: "needle"},
		"automaton":  {Pattern: "[b-d]+[e-g]"},
		"everything": {Pattern: "a", Mode: search.GrepCount},
		"multiline":  {Pattern: "a.*b", Multiline: true},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := search.Grep(ctx, endlessFS{files}, o, func(search.Match) bool { return true })
			done <- err
		}()
		if name == "multiline" { // which gives up by itself
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			cancel(nil)
			continue
		}
		time.AfterFunc(30*time.Millisecond, func() { cancel(errors.New("enough")) })
		<-ctx.Done()
		begin := time.Now()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 30*time.Second { // 50 ms on a machine that does nothing else
			t.Errorf("%s: ended %v after it was told to", name, took)
		}
	}
}

// A long text in which every place may begin a match does not outlive its search.
func TestCancelInside(t *testing.T) {
	text := strings.Repeat("ab", 12<<20)
	for name, o := range map[string]search.GrepOptions{
		"one line":   {Pattern: "(a|b|ab)*c$"},
		"many lines": {Pattern: "(?:a|b)*?(?:ab)+$", Multiline: true},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 40*time.Millisecond)
		_, err := search.Grep(ctx, oneFile(text), o, func(search.Match) bool { return true })
		over := time.Now()
		deadline, _ := ctx.Deadline()
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if late := over.Sub(deadline); late > 20*time.Second { // 50 ms on a machine that does nothing else
			t.Errorf("%s: %v late", name, late)
		}
	}
}

func TestEmitStops(t *testing.T) {
	tree := makeTree(t, map[string]string{"a": "x\nx\n", "b": "x\n", "c/d": "x\n"})
	n := 0
	sum, err := search.Grep(context.Background(), tree, search.GrepOptions{Pattern: "x"}, func(search.Match) bool {
		n++
		return n < 3
	})
	if err != nil || n != 3 || sum.Matches != 3 || sum.Files != 2 || sum.Searched != 2 || sum.LimitReached {
		t.Errorf("emit was called %d times; %+v, %v", n, sum, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = search.Grep(context.Background(), tree, search.GrepOptions{Pattern: "x"}, func(search.Match) bool { panic("no") })
		t.Error("a panic of emit was swallowed")
	}() // that its workers have ended is seen at the end of all tests
}

// broken is a file system with parts that cannot be read.
type broken struct{ fs.FS }

func (b broken) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "locked") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	f, err := b.FS.Open(name)
	if err == nil && strings.HasSuffix(name, "bad") {
		return badFile{f}, nil
	}
	return f, err
}

type badFile struct{ fs.File }

func (badFile) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSkipped(t *testing.T) {
	files := fstest.MapFS{
		"a": {Data: []byte("x\n")}, "bad": {}, "locked": {}, "dir/locked/f": {}, "bin": {Data: []byte("x\x00")},
		"large": {Data: []byte(strings.Repeat("x\n", 100))},
		"line":  {Data: []byte("x\n" + strings.Repeat("y", 17<<20) + "\nx")},
	}
	o := search.GrepOptions{Pattern: "x"}
	got, sum := grepFS(t, broken{files}, o)
	want := []string{
		"bad: unexpected EOF", "dir/locked: permission denied", "line: has a line of more than 16 MB: what comes behind was not searched", "locked: permission denied",
	}
	if diff := cmp.Diff(want, sum.Skipped); diff != "" || len(got) != 102 {
		t.Errorf("%d matches, %s", len(got), diff)
	}
	o.Paths, o.MaxSize = []string{"bin", "large"}, 50
	_, sum = grepFS(t, broken{files}, o)
	if diff := cmp.Diff([]string{"bin: binary file", "large: has 200 bytes, more than are asked for"}, sum.Skipped); diff != "" {
		t.Error(diff)
	}
	many := fstest.MapFS{}
	for i := range 100 {
		many[fmt.Sprintf("%02d/locked", i)] = &fstest.MapFile{}
	}
	if _, sum = grepFS(t, broken{many}, search.GrepOptions{Pattern: "x"}); len(sum.Skipped) != 20 || sum.Skipped[19] != "19/locked: permission denied" {
		t.Errorf("%d are named: %v", len(sum.Skipped), sum.Skipped)
	}
}

// owning is a file system in which some files are burin's own.
type owning struct{ rooted }

func (owning) IsOwn(name string) bool { return name == "talk.jsonl" || name == "talk" }

// What is burin's own is not found, and not opened by name either.
func TestOwnFiles(t *testing.T) {
	tree := makeTree(t, map[string]string{"talk.jsonl": "here\n", "talk/0.log": "here\n", "talk.md": "here\n", "a/talk.jsonl": "here\n"})
	fsys := owning{rooted{os.DirFS(tree.dir), tree.dir}}
	var found []string
	o := search.GrepOptions{Pattern: "here"}
	if _, err := search.Grep(t.Context(), fsys, o, func(m search.Match) bool { found = append(found, m.Path); return true }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/talk.jsonl", "talk.md"}, found); diff != "" {
		t.Error(diff)
	}
	o.Paths = []string{"talk.jsonl"}
	if _, err := search.Grep(t.Context(), fsys, o, func(search.Match) bool { return true }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("by name: %v", err)
	}
}
