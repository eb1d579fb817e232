package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

// place is a workspace with a neighbour that must not be reached.
type place struct {
	*testing.T
	ws                  *workspace.Workspace
	dir, evil, stateDir string
}

const secret = "not yours"

func newPlace(t *testing.T, extra ...workspace.Extra) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{T: t, dir: filepath.Join(base, "ws"), evil: filepath.Join(base, "ws-evil"), stateDir: filepath.Join(base, "state")}
	for _, d := range []string{p.dir, p.evil} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.put(filepath.Join(p.evil, "secret"), secret)
	if p.ws, err = workspace.Open(p.dir, workspace.Options{StateDir: p.stateDir, Extra: extra}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// put writes a file as someone else would; a relative path is in the workspace.
func (p place) put(path, text string) {
	p.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p place) link(to, name string) {
	p.Helper()
	if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
		p.Fatal(err)
	}
}

func (p place) text(path string) string {
	p.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		p.Error(err)
	}
	return string(b)
}

// untouched fails if something reached the neighbour.
func (p place) untouched() {
	p.Helper()
	entries, err := os.ReadDir(p.evil)
	if err != nil || len(entries) != 1 || p.text(filepath.Join(p.evil, "secret")) != secret {
		p.Errorf("the folder beside the workspace was changed: %v %v", entries, err)
	}
}

func TestNoNameLeadsOut(t *testing.T) {
	p := newPlace(t)
	p.put("in/file", "in")
	p.link(filepath.Join(p.evil, "secret"), "file-link")
	p.link(p.evil, "dir-link")
	p.link("../ws-evil", "relative-link")
	p.link("relative-link", "chain")
	p.link("in/../../ws-evil/secret", "through")
	p.link(filepath.Join(p.evil, "new"), "dangling")
	p.link("loop", "loop")
	names := []string{
		"..", "../ws-evil/secret", "in/../../ws-evil/secret", p.evil + "/secret", "/etc/passwd", "", "/", "in//file", "./in", "in/file\x00",
		"file-link", "dir-link/secret", "relative-link/secret", "chain/secret", "through", "dangling", "dir-link/new", "chain/a/b", "loop",
		strings.Repeat("x", 300),
	}
	if runtime.GOOS == "linux" {
		p.link("/proc/self/root", "proc")
		p.link("/proc/self/cwd", "cwd")
		names = append(names, "proc/etc/passwd", "cwd/escape_test.go")
	}
	f := p.ws.Files()
	for _, name := range names {
		tries := map[string]func() error{
			"open":     func() error { _, err := f.Open(name); return err },
			"readfile": func() error { _, err := f.ReadFile(name); return err },
			"stat":     func() error { _, err := f.Stat(name); return err },
			"write":    func() error { return f.WriteFile(name, []byte("evil"), 0o644) },
			"read":     func() error { _, err := p.ws.Read(name); return err },
			"commit": func() error {
				return p.ws.Commit(context.Background(), []workspace.Change{{Path: name, After: []byte("evil")}})
			},
			"move in":  func() error { return f.Rename(name+"/secret", "stolen") },
			"move out": func() error { return f.Rename("in/file", name+"/file") },
			"chmod":    func() error { return f.Chmod(name, 0o777) },
			"clear":    func() error { return f.RemoveAll(name + "/secret") },
		}
		for op, try := range tries {
			err := try()
			if err == nil && op == "clear" {
				continue // nothing to remove; untouched tells
			}
			if err == nil {
				t.Errorf("%s %.60q did not fail", op, name)
			}
		}
		if _, err := f.Stat(name); err != nil {
			var pe *fs.PathError
			if !errors.As(err, &pe) {
				t.Errorf("the error of %.60q is no *fs.PathError: %v", name, err)
			}
		}
	}
	p.untouched()
	if got := p.text("in/file"); got != "in" {
		t.Errorf("in/file is %q", got)
	}
}

// A folder that is swapped for a link at the wrong moment leads nowhere.
func TestRaceLeadsNowhere(t *testing.T) {
	pacetest.Costly(t)
	p := newPlace(t)
	p.put("d/secret", "mine")
	dir, aside := filepath.Join(p.dir, "d"), filepath.Join(p.dir, "aside")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(dir, aside)
			_ = os.Symlink(p.evil, dir)
			_ = os.Remove(dir)
			_ = os.Rename(aside, dir)
		}
	})
	f := p.ws.Files()
	for range 3000 {
		if b, err := f.ReadFile("d/secret"); err == nil && string(b) == secret {
			t.Error("read a file outside")
			break
		}
		_ = f.WriteFile("d/other", []byte("x"), 0o644)
		_ = f.Remove("d/other")
	}
	close(stop)
	wg.Wait()
	p.untouched()
}

func TestLinksInsideAreFollowed(t *testing.T) {
	p := newPlace(t)
	p.put("real/file", "one")
	p.link("real/file", "rel")
	p.link("real", "dir")
	p.link("real/later", "later")
	f := p.ws.Files()
	for _, name := range []string{"rel", "dir/file"} {
		if b, err := f.ReadFile(name); err != nil || string(b) != "one" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := f.WriteFile("rel", []byte("two"), 0o644); err != nil {
		t.Error(err)
	}
	if err := f.WriteFile("later", []byte("new"), 0o644); err != nil {
		t.Error(err)
	}
	if to, err := f.ReadLink("rel"); err != nil || to != "real/file" {
		t.Errorf("writing replaced the link: %q, %v", to, err)
	}
	if a, b := p.text("real/file"), p.text("real/later"); a != "two" || b != "new" {
		t.Errorf("the targets hold %q and %q", a, b)
	}
}

func TestResolve(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	extra, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, workspace.Extra{Dir: extra, Writable: true})
	p.put("a/b.txt", "")
	p.put("it\u2019s.txt", "")
	p.put("caf\u0065\u0301.txt", "")
	p.put("Screenshot at 10.00.00\u202fAM.png", "")
	p.put("ab\u2019.txt", "")
	p.put("ab\u2018.txt", "")
	around := filepath.Join(t.TempDir(), "way")
	if err := os.Symlink(p.dir, around); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"a/b.txt": "a/b.txt", "./a//b.txt": "a/b.txt", ".": ".", "a/..": ".", "a/../new": "new", "../ws/a": "a",
		p.dir: ".", p.dir + "/a": "a", extra: extra, extra + "/x/../y": extra + "/y",
		around + "/a/b.txt": "a/b.txt",
		"it's.txt":          "it\u2019s.txt", "caf\u00e9.txt": "caf\u0065\u0301.txt", "Screenshot at 10.00.00 AM.png": "Screenshot at 10.00.00\u202fAM.png",
		"ab'.txt": "ab'.txt", "new's.txt": "new's.txt", "~x": "~x",
	} {
		if got, err := p.ws.Resolve(in); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"..", "../ws-evil", p.dir + "-evil", p.dir + "-evil/secret", "~", "~/x", "/etc/passwd", "a/../../x", extra + "x"} {
		var out *workspace.OutsideError
		if got, err := p.ws.Resolve(in); !errors.As(err, &out) || out.Path != in {
			t.Errorf("Resolve(%q) = %q, %v; want an OutsideError", in, got, err)
		}
	}
	for _, in := range []string{"", "a\x00b"} {
		if got, err := p.ws.Resolve(in); err == nil {
			t.Errorf("Resolve(%q) = %q", in, got)
		}
	}
}

func TestReadOnly(t *testing.T) {
	p := newPlace(t)
	extra := t.TempDir()
	p.put("a", "a")
	ro, err := workspace.Open(p.dir, workspace.Options{ReadOnly: true, Extra: []workspace.Extra{{Dir: extra, Writable: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	f := ro.Files()
	for op, err := range map[string]error{
		"write": f.WriteFile("a", nil, 0o644), "write extra": f.WriteFile(filepath.Join(ro.Dir(), "a"), nil, 0o644), "mkdir": f.MkdirAll("d", 0o755), "remove": f.Remove("a"), "clear": f.RemoveAll("a"),
		"rename": f.Rename("a", "b"), "chmod": f.Chmod("a", 0),
		"commit": ro.Commit(context.Background(), []workspace.Change{{Path: "a", Before: []byte("a")}}),
	} {
		if op != "write extra" && !errors.Is(err, fs.ErrPermission) || err == nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	if p.text("a") != "a" {
		t.Error("it was changed")
	}
}
