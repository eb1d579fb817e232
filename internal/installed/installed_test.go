package installed_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/installed"
)

// place is a machine: a workspace, which is the current folder, and folders outside.
type place struct{ root, workspace, bin, other string }

func newPlace(t *testing.T) place {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are those of Unix")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{root, filepath.Join(root, "work"), filepath.Join(root, "bin"), filepath.Join(root, "other")}
	for _, dir := range []string{p.workspace, p.bin, p.other, filepath.Join(root, "tmp"), filepath.Join(root, "home", ".local", "share", "pnpm")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "home", ".cache"))
	t.Chdir(p.workspace)
	return p
}

func (p place) install(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$0|$PWD|$PATH\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func path(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }

func TestFindPassesOverWritableFolders(t *testing.T) {
	p := newPlace(t)
	want := p.install(t, p.bin, "tool")
	pnpm := filepath.Join(p.root, "home", ".local", "share", "pnpm")
	link := filepath.Join(p.root, "link")
	if err := os.Symlink(p.workspace, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{p.workspace, p.other, pnpm, filepath.Join(p.root, "tmp")} {
		p.install(t, dir, "tool")
		p.install(t, dir, "planted")
	}
	bad := []string{"", ".", "../work", p.workspace, link, p.other, pnpm, filepath.Join(p.root, "tmp")}
	for _, dir := range bad {
		t.Setenv("PATH", path(dir, p.bin))
		if got, err := installed.Find("tool", p.other); got != want || err != nil {
			t.Errorf("PATH begins with %q: %q, %v", dir, got, err)
		}
	}
	t.Setenv("PATH", path(bad...))
	if got, err := installed.Find("planted", p.other); !errors.Is(err, installed.ErrPlanted) {
		t.Errorf("nothing else is there: %q, %v", got, err)
	}
	if got, err := installed.Find(filepath.Join(p.workspace, "tool")); !errors.Is(err, installed.ErrPlanted) {
		t.Errorf("by its path: %q, %v", got, err)
	}
	for _, name := range []string{"missing", "./tool", "sub/tool"} {
		if got, err := installed.Find(name); err == nil || errors.Is(err, installed.ErrPlanted) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := installed.Find(want); got != want || err != nil {
		t.Errorf("by an absolute path: %q, %v", got, err)
	}
}

// A link outside that leads into the workspace, or through it, is the workspace's.
func TestFindFollowsLinks(t *testing.T) {
	p := newPlace(t)
	real := p.install(t, p.other, "tool-1.2")
	inside := p.install(t, p.workspace, "build")
	for link, to := range map[string]string{"tool": real, "mine": inside} {
		if err := os.Symlink(to, filepath.Join(p.bin, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", p.bin)
	if got, err := installed.Find("tool"); got != real || err != nil {
		t.Errorf("a link: %q, %v", got, err)
	}
	if got, err := installed.Find("mine"); !errors.Is(err, installed.ErrPlanted) {
		t.Errorf("a link into the workspace: %q, %v", got, err)
	}
	t.Chdir("/") // nothing is outside
	if got, err := installed.Find("mine"); got != inside || err != nil {
		t.Errorf("in the root folder: %q, %v", got, err)
	}
}

func TestCommandStartsOutside(t *testing.T) {
	p := newPlace(t)
	real := p.install(t, p.bin, "tool-1.2")
	if err := os.Symlink(real, filepath.Join(p.bin, "tool")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path(p.workspace, p.bin, "rel", "/usr/bin", "/bin"))
	cmd, err := installed.Command(context.Background(), nil, "tool", "--flag")
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Path != real || !slices.Equal(cmd.Args, []string{"tool", "--flag"}) {
		t.Errorf("%s %q", cmd.Path, cmd.Args)
	}
	out, err := cmd.Output()
	if want := real + "|/|" + path(p.bin, "/usr/bin", "/bin") + "\n"; string(out) != want || err != nil {
		t.Errorf("got %q, want %q, %v", out, want, err)
	}
	if _, err := installed.Command(context.Background(), nil, "missing"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
}

func BenchmarkFind(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := installed.Find("sh"); err != nil {
			b.Fatal(err)
		}
	}
}
