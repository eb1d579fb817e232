package search_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/search"
)

func names(entries []search.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func TestGlob(t *testing.T) {
	tree := makeTree(t, map[string]string{
		"a.go": "12", "src/b.go": "", "src/b_test.go": "", "src/deep/c.go": "", "src/deep/[id].ts": "", "README.md": "",
		"node_modules/m/m.go": "", ".gitignore": "out/\n", "out/o.go": "", ".cfg/x.go": "",
	})
	now := time.Now().Truncate(time.Second)
	for i, name := range []string{"a.go", "src/b.go", "src/b_test.go", "src/deep/c.go"} { // the first is the oldest
		if err := os.Chtimes(filepath.Join(tree.dir, name), now, now.Add(time.Duration(i-10)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		o    search.GlobOptions
		want []string
	}{
		{search.GlobOptions{Pattern: "*.go"}, []string{"src/deep/c.go", "src/b_test.go", "src/b.go", "a.go"}},
		{search.GlobOptions{Pattern: "**/*.go", Limit: 2}, []string{"src/deep/c.go", "src/b_test.go"}},
		{search.GlobOptions{Pattern: "/*.go"}, []string{"a.go"}},
		{search.GlobOptions{Pattern: "src/*.go"}, []string{"src/b_test.go", "src/b.go"}},
		{search.GlobOptions{Pattern: `.\src\**\c.{go,ts`}, []string{"src/deep/c.go"}},
		{search.GlobOptions{Pattern: `**/\[id\].ts`}, []string{"src/deep/[id].ts"}},
		{search.GlobOptions{Pattern: "src/deep/", Dirs: true}, []string{"src/deep/[id].ts", "src/deep/c.go"}},
		{search.GlobOptions{Pattern: "deep", Dirs: true}, []string{"src/deep"}},
		{search.GlobOptions{Pattern: "deep"}, []string{}},
		{search.GlobOptions{Pattern: "deep/*.go", Filter: search.Filter{Paths: []string{"src"}}}, []string{"src/deep/c.go"}},
		{search.GlobOptions{Pattern: "src/deep/*.go", Filter: search.Filter{Paths: []string{"src"}}}, []string{"src/deep/c.go"}},
		{search.GlobOptions{Pattern: "*.go", Filter: search.Filter{Globs: []string{"!*_test.go"}}, Limit: 3}, []string{"src/deep/c.go", "src/b.go", "a.go"}},
		{search.GlobOptions{Pattern: "**/node_modules/**/*.go"}, []string{"node_modules/m/m.go"}},
		{search.GlobOptions{Pattern: "m.go", Filter: search.Filter{Paths: []string{"node_modules"}}}, []string{"node_modules/m/m.go"}},
		{search.GlobOptions{Pattern: "*/*.go", Filter: search.Filter{Hidden: true, Ignored: true}}, []string{".cfg/x.go", "out/o.go", "src/b_test.go", "src/b.go"}},
		{search.GlobOptions{Pattern: "*.go", Filter: search.Filter{MaxSize: 1}, Limit: 9}, []string{"src/deep/c.go", "src/b_test.go", "src/b.go"}},
	} {
		got, more, err := search.Glob(context.Background(), tree, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		paths := names(got)
		if strings.HasPrefix(tt.o.Pattern, "src/deep/") || strings.HasPrefix(tt.o.Pattern, "*/") { // made at about the same time
			slices.SortFunc(paths, func(a, b string) int {
				return slices.Index(tt.want, a) - slices.Index(tt.want, b)
			})
		}
		if diff := cmp.Diff(tt.want, paths); diff != "" || more != (tt.o.Limit == 2) {
			t.Errorf("%+v: more %v, %s", tt.o, more, diff)
		}
	}
	got, _, err := search.Glob(context.Background(), tree, search.GlobOptions{Pattern: "a.go"})
	want := []search.Entry{{Path: "a.go", Size: 2, ModTime: now.Add(-10 * time.Hour)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range []string{"", "[a", "!a", "a[[:x:]]"} {
		if _, _, err := search.Glob(context.Background(), tree, search.GlobOptions{Pattern: bad}); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// A pattern that begins with folders does not lead into others.
func TestGlobPrunes(t *testing.T) {
	fsys := fstest.MapFS{"a/b/c.go": {}, "a/x/c.go": {}, "b/b/c.go": {}, "a/b/d/e.go": {}}
	var mu sync.Mutex
	opened := map[string]bool{}
	spy := watched{fsys, func(name string) {
		mu.Lock()
		defer mu.Unlock()
		opened[name] = true
	}}
	found, _, err := search.Glob(context.Background(), spy, search.GlobOptions{Pattern: "a/b/*.go"})
	if err != nil || len(found) != 1 || opened["b"] || opened["a/x"] || opened["a/b/d"] || !opened["a/b"] {
		t.Errorf("found %v, %v; opened %v", found, err, opened)
	}
}

// watched tells of each folder that is listed. It can be compared.
type watched struct {
	fsys fstest.MapFS
	tell func(name string)
}

func (w watched) Open(name string) (fs.File, error) { return w.fsys.Open(name) }

func (w watched) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := w.fsys.ReadDir(name)
	w.tell(name)
	return list, err
}

func TestFind(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, name := range []string{
		"readme.md", "docs/readme.txt", "docs/read_me_first.md", "src/ReadMe.go", "src/reader/metrics.go", "src/threadMeter.go",
		"src/user_profile.go", "src/UserProfile.test.ts", "src/user/profile.go", "lib/up.go", "userprofile", "internal/platform/search/walk.go",
		"node_modules/readme.md", "src/spread/memo/x.go",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte("x")}
	}
	for _, tt := range []struct {
		query string
		o     search.FindOptions
		first []string
	}{
		{"readme", search.FindOptions{}, []string{"readme.md", "src/ReadMe.go", "docs/readme.txt", "docs/read_me_first.md", "src/threadMeter.go", "src/spread/memo/x.go", "src/reader/metrics.go"}},
		{"readme.md", search.FindOptions{Limit: 1}, []string{"readme.md"}},
		{"user profile", search.FindOptions{Limit: 4}, []string{"userprofile", "src/UserProfile.test.ts", "src/user_profile.go", "src/user/profile.go"}},
		{"uspg", search.FindOptions{Limit: 1}, []string{"src/user_profile.go"}},
		{"SEARCH/WALK", search.FindOptions{Limit: 1}, []string{"internal/platform/search/walk.go"}},
		{`platform\search`, search.FindOptions{Limit: 2, Dirs: true}, []string{"internal/platform/search", "internal/platform/search/walk.go"}},
		{"search", search.FindOptions{Limit: 1, Dirs: true}, []string{"internal/platform/search"}},
		{"zzz", search.FindOptions{}, []string{}},
		{"metrics", search.FindOptions{Filter: search.Filter{Paths: []string{"src"}, Types: []string{"go"}}}, []string{"src/reader/metrics.go"}},
	} {
		tt.o.Query = tt.query
		scored, err := search.Find(context.Background(), fsys, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for i, s := range scored {
			got = append(got, s.Path)
			if i > 0 && (s.Score > scored[i-1].Score || s.Score == scored[i-1].Score && s.Path < scored[i-1].Path) {
				t.Errorf("%q: %s stands behind %s", tt.query, s.Path, scored[i-1].Path)
			}
			if s.Size != 1 && !s.Dir {
				t.Errorf("%s has size %d", s.Path, s.Size)
			}
		}
		if diff := cmp.Diff(tt.first, got); diff != "" {
			t.Errorf("%q: %s", tt.query, diff)
		}
	}
	if all, err := search.Find(context.Background(), fsys, search.FindOptions{}); err != nil || len(all) != len(fsys)-1 {
		t.Errorf("an empty query finds %d, %v", len(all), err)
	}
}

// Searches with a cache list folders once a second, and never miss what the cache
// was told of, nor say that there is nothing because the list is old.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := fstest.MapFS{"a/x.go": {Data: []byte("hit\n")}, "a/.h.go": {}, "b/y.md": {Data: []byte("hit\n")}, ".gitignore": {Data: []byte("*.log\n")}}
		var listed atomic.Int32
		var tree fs.FS = &watched{fsys, func(string) { listed.Add(1) }}
		cache := search.NewCache()
		find := func(query string, f search.Filter) []string {
			f.Cache = cache
			scored, err := search.Find(context.Background(), tree, search.FindOptions{Query: query, Filter: f})
			if err != nil {
				t.Fatal(err)
			}
			out := []string{}
			for _, s := range scored {
				out = append(out, s.Path)
			}
			return out
		}
		walks := func(want int32, what string) {
			t.Helper()
			if n := listed.Load(); n != want {
				t.Errorf("%s: %d folders have been listed, not %d", what, n, want)
			}
		}
		find("x", search.Filter{})
		walks(3, "the first search")
		if got := find("y", search.Filter{Types: []string{"md"}}); len(got) != 1 || got[0] != "b/y.md" {
			t.Errorf("found %v", got)
		}
		matches, _ := grepFS(t, tree, search.GrepOptions{Pattern: "hit", Filter: search.Filter{Cache: cache}})
		if globbed, _, err := search.Glob(context.Background(), tree, search.GlobOptions{Pattern: "a/*", Filter: search.Filter{Cache: cache}}); err != nil || len(globbed) != 1 || len(matches) != 2 {
			t.Errorf("found %v and %v, %v", matches, globbed, err)
		}
		walks(3, "searches that follow")
		fsys["a/new.go"] = &fstest.MapFile{}
		if got := find("new", search.Filter{}); len(got) != 0 {
			t.Errorf("%v is in the list", got)
		}
		<-time.After(250 * time.Millisecond)
		if got := find("new", search.Filter{}); len(got) != 1 {
			t.Error("a new file is not found although the list is old enough to be doubted")
		}
		walks(6, "after a doubt")
		fsys["b/newer.go"] = &fstest.MapFile{}
		cache.Invalidate("b/newer.go")
		if got := find("new", search.Filter{}); len(got) != 2 {
			t.Errorf("found %v after the cache was told", got)
		}
		walks(9, "after a change")
		find("h", search.Filter{Hidden: true})
		find("h", search.Filter{Paths: []string{"a"}})
		walks(13, "other lists")
		cache.Invalidate("a/.h.go")
		find("x", search.Filter{Paths: []string{"a"}})
		find("x", search.Filter{Paths: []string{"b"}})
		cache.Invalidate("a/z")
		find("x", search.Filter{Paths: []string{"b"}})
		walks(15, "a change elsewhere")
		<-time.After(time.Second)
		find("x", search.Filter{Paths: []string{"b"}})
		walks(16, "a second later")
		change := sync.OnceFunc(func() { cache.Invalidate("b") })
		tree = &watched{fsys, func(string) {
			listed.Add(1)
			change()
		}}
		find("x", search.Filter{})
		find("x", search.Filter{})
		find("x", search.Filter{})
		walks(22, "a change while folders were listed")
		<-time.After(time.Second)
	})
}

// A search finds the same with the list of a cache as without.
func TestCacheChangesNothing(t *testing.T) {
	fsys := &watched{fstest.MapFS{
		"a/sub/z.go": {}, "a/z.md": {}, "b/z.go": {}, ".h/z.go": {}, "a/node_modules/z.go": {}, "ign/z.go": {}, ".gitignore": {Data: []byte("ign\n")},
	}, func(string) {}}
	cache := search.NewCache()
	defer cache.Invalidate("")
	for _, f := range []search.Filter{
		{}, {Paths: []string{"a"}}, {Hidden: true}, {Ignored: true}, {Types: []string{"go"}}, {Paths: []string{"a", "b"}}, {Globs: []string{"!*.md"}}, {Paths: []string{"ign/z.go"}},
	} {
		for _, pattern := range []string{"z.*", "sub/*", "a/sub/*.go", "b", "**/node_modules/*", "*"} {
			plain, _, err := search.Glob(context.Background(), fsys, search.GlobOptions{Filter: f, Pattern: pattern, Dirs: true})
			if err != nil {
				t.Fatal(err)
			}
			f.Cache = cache
			if _, err := search.Find(context.Background(), fsys, search.FindOptions{Filter: f, Query: pattern}); err != nil {
				t.Fatal(err)
			}
			cached, _, err := search.Glob(context.Background(), fsys, search.GlobOptions{Filter: f, Pattern: pattern, Dirs: true})
			if diff := cmp.Diff(plain, cached); err != nil || diff != "" {
				t.Errorf("%q with %+v: %v %s", pattern, f, err, diff)
			}
			want := listed(t, fsys, f)
			f.Cache = nil
			if diff := cmp.Diff(want, listed(t, fsys, f)); diff != "" {
				t.Errorf("with %+v: %s", f, diff)
			}
		}
	}
}

// Real directories are told apart by where they are, and absolute names are
// understood.
func TestCacheOfDirectories(t *testing.T) {
	tree := makeTree(t, map[string]string{"a/x": "", "b/x": ""})
	cache := search.NewCache()
	find := func(dir string) int {
		found, err := search.Find(context.Background(), dirFS(dir), search.FindOptions{Query: "n", Filter: search.Filter{Cache: cache}})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	a, b := filepath.Join(tree.dir, "a"), filepath.Join(tree.dir, "b")
	if n := find(a) + find(b); n != 0 {
		t.Fatalf("%d found in the beginning", n)
	}
	for _, dir := range []string{a, b} {
		writeFile(t, filepath.Join(dir, "n"), "")
	}
	cache.Invalidate(filepath.Join(a, "n"))
	if find(a) != 1 {
		t.Error("a change by its absolute name is not heard of")
	}
	cache.Invalidate(tree.dir)
	if find(b) != 1 {
		t.Error("a change to the folder above is not heard of")
	}
	for i := range 40 { // more lists than are kept
		writeFile(t, filepath.Join(tree.dir, fmt.Sprint("many/", i, "/n")), "")
		if find(filepath.Join(tree.dir, fmt.Sprint("many/", i))) != 1 {
			t.Errorf("list %d is wrong", i)
		}
	}
	cache.Invalidate("")
}
