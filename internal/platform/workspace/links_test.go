package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/workspace"
)

// Absolute links that stay inside are followed, in any part of a name, for all that
// can be done with it.
func TestAbsoluteLinksInside(t *testing.T) {
	p := newPlace(t)
	p.put("real/deep/file", "one")
	p.link(filepath.Join(p.dir, "real"), "dir")
	p.link(filepath.Join(p.dir, "dir", "deep"), "deep") // through another
	p.link("deep/../deep/file", "file")                 // ".." of what a link leads to
	p.link(filepath.Join(p.dir, "new"), "new-link")
	alias := filepath.Join(t.TempDir(), "alias") // the root by another way
	if err := os.Symlink(p.dir, alias); err != nil {
		t.Fatal(err)
	}
	p.link(filepath.Join(alias, "real"), "aliased")
	f := p.ws.Files()
	for _, name := range []string{"dir/deep/file", "deep/file", "file", "aliased/deep/file"} {
		if b, err := f.ReadFile(name); err != nil || string(b) != "one" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if info, err := f.Stat(name); err != nil || info.Size() != 3 {
			t.Errorf("stat %s: %v", name, err)
		}
	}
	if entries, err := f.ReadDir("deep"); err != nil || len(entries) != 1 {
		t.Errorf("read deep: %v, %v", entries, err)
	}
	p.begin("1")
	p.commit(
		workspace.Change{Path: "dir/deep/file", Before: []byte("one"), After: []byte("two")},
		workspace.Change{Path: "deep/more/other", After: []byte("other")},
		workspace.Change{Path: "new-link", After: []byte("new")},
	)
	if p.text("real/deep/file") != "two" || p.text("real/deep/more/other") != "other" || p.text("new") != "new" {
		t.Error("the files behind the links hold something else")
	}
	turns, err := p.ws.Turns()
	if err != nil || len(turns) != 1 {
		t.Fatal(turns, err)
	}
	if diff := cmp.Diff([]string{"new", "real/deep/file", "real/deep/more", "real/deep/more/other"}, turns[0].Paths); diff != "" {
		t.Error(diff)
	}
	if p.undo("1"); p.text("real/deep/file") != "one" {
		t.Errorf("after undo: %q", p.text("real/deep/file"))
	}
}

// Absolute links in a circle end, and links swapped meanwhile lead nowhere.
func TestAbsoluteLinksThatDoNot(t *testing.T) {
	p := newPlace(t)
	p.link(filepath.Join(p.dir, "b"), "a")
	p.link(filepath.Join(p.dir, "a"), "b")
	f := p.ws.Files()
	if _, err := f.ReadFile("a"); err == nil {
		t.Error("read a circle")
	}
	p.put("real/secret", "mine")
	inside, outside, at := filepath.Join(p.dir, "real"), p.evil, filepath.Join(p.dir, "d")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, to := range []string{inside, outside} {
				_ = os.Symlink(to, at)
				_ = os.Remove(at)
			}
		}
	})
	for range 3000 {
		b, err := f.ReadFile("d/secret")
		if err == nil && string(b) == secret {
			t.Error("read a file outside")
			break
		}
		_ = p.ws.Commit(context.Background(), []workspace.Change{{Path: "d/x", After: []byte("x")}})
		_ = f.Remove("d/x")
	}
	close(stop)
	wg.Wait()
	p.untouched()
}
