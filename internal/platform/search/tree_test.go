package search

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listing is a tree as an implementation sees it, with what cannot be opened.
func listing(t *testing.T, f folder, at string) []string {
	t.Helper()
	entries, err := f.list(&scratch{})
	if err != nil {
		t.Fatal(err)
	}
	arrange(entries)
	var out []string
	for _, e := range entries {
		name := at + e.name
		info, err := f.info(e.name)
		if err != nil || info.kind != e.kind {
			t.Errorf("%s: info %+v, %v; listed as %d", name, info, err, e.kind)
		}
		h, err := f.file(e.name)
		if e.kind != kindFile {
			if err == nil {
				_ = h.Close()
				if e.kind != kindFolder { // which a descriptor may be opened of, but not read
					t.Errorf("%s is no file but can be opened", name)
				}
			}
		} else {
			if err != nil {
				t.Fatal(err)
			}
			size, _ := h.size()
			data, err := io.ReadAll(h)
			_ = h.Close()
			out = append(out, fmt.Sprintf("%s %d %d %q %v", name, info.size, size, data, err))
		}
		child, err := f.child(e.name)
		if (err == nil) != (e.kind == kindFolder) {
			t.Errorf("%s, of kind %d, opened as a folder: %v", name, e.kind, err)
		}
		if err == nil {
			out = append(out, listing(t, child, name+"/")...)
			child.close()
		}
	}
	return out
}

// Each implementation lists the same, and none goes through a link.
func TestTreesListTheSame(t *testing.T) {
	dir, beside := t.TempDir(), t.TempDir()
	for _, name := range []string{"a/x", "a/y/z", "a-b", "a.c", "é", ".h/q"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"inside": "a", "a/up": "../a-b", "outside": beside, "nowhere": "x/y"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	var want []string
	for name, open := range map[string]func(string) (tree, error){"native": openTree, "root": openRootTree} {
		tr, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		root, err := tr.open(".")
		if err != nil {
			t.Fatal(err)
		}
		got := listing(t, root, "")
		root.close()
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 6 {
			t.Errorf("%s: %v %s", name, got, diff)
		}
		deep, err := tr.open("a/y")
		if err != nil {
			t.Fatal(err)
		}
		if got := listing(t, deep, ""); len(got) != 1 {
			t.Errorf("%s: a/y holds %v", name, got)
		}
		deep.close()
		for _, bad := range []string{"a/x", "nothing", "../..", "outside"} {
			if f, err := tr.open(bad); err == nil {
				f.close()
				if bad != "../.." { // names are cleaned before
					t.Errorf("%s: %s can be opened as a folder", name, bad)
				}
			}
		}
	}
}

func TestArrange(t *testing.T) {
	entries := []entry{{name: "b", kind: kindFolder}, {name: "b.go"}, {name: "b-x"}, {name: "ba"}, {name: "a"}, {name: "b0"}, {name: "b", kind: kindFile}}
	arrange(entries)
	var names []string
	for _, e := range entries {
		if e.kind == kindFolder {
			e.name += "/"
		}
		names = append(names, e.name)
	}
	want := slices.Sorted(slices.Values(names))
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// What nobody asks for any more is not kept.
func TestCacheForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache()
		held := func() (lists, files int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.lists), c.files
		}
		c.put(cacheKey{path: "a"}, &fileList{items: make([]item, 3), made: time.Now()}, c.mark())
		<-time.After(cacheTTL / 2)
		c.put(cacheKey{path: "a"}, &fileList{items: make([]item, 5), made: time.Now()}, c.mark())
		<-time.After(cacheTTL * 3 / 4) // the first would be forgotten now
		if _, n := held(); c.get(cacheKey{path: "a"}) == nil || n != 5 {
			t.Errorf("after %v there are %d entries", cacheTTL*3/4, n)
		}
		<-time.After(cacheTTL)
		if lists, files := held(); lists != 0 || files != 0 {
			t.Errorf("after its time the cache holds %d lists with %d entries", lists, files)
		}
		for i := range cacheLists + 3 {
			c.put(cacheKey{path: fmt.Sprint(i)}, &fileList{items: make([]item, cacheFiles/10), made: time.Now().Add(time.Duration(i))}, c.mark())
		}
		if lists, _ := held(); lists != 10 || c.get(cacheKey{path: "0"}) != nil {
			t.Errorf("%d lists are kept", lists)
		}
		<-time.After(cacheTTL)
	})
}
