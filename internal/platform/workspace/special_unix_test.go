//go:build unix

package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

// Nothing waits for the other end of a pipe. The test hangs if something does.
func TestPipesAreNotOpened(t *testing.T) {
	p := newPlace(t)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.link("pipe", "to-pipe")
	f := p.ws.Files()
	for _, name := range []string{"pipe", "to-pipe"} {
		if _, err := f.Open(name); !errors.Is(err, rootfile.ErrNotRegular) {
			t.Errorf("open %s: %v", name, err)
		}
		if _, err := p.ws.Read(name); !errors.Is(err, rootfile.ErrNotRegular) {
			t.Errorf("read %s: %v", name, err)
		}
		if err := f.WriteFile(name, nil, 0o644); err == nil {
			t.Errorf("wrote to %s", name)
		}
	}
}

func TestWritingKeepsWhatAFileIs(t *testing.T) {
	p := newPlace(t)
	p.put("plain", "old")
	p.put("hard", "old")
	if err := os.Chmod(filepath.Join(p.dir, "plain"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(p.dir, "hard"), filepath.Join(p.dir, "twin")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "hard", "new/deep/file"} {
		if err := p.ws.Files().WriteFile(name, []byte("new"), 0o600); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(filepath.Join(p.dir, "plain")); err != nil || info.Mode() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got := p.text("twin"); got != "new" {
		t.Errorf("the other name of a file holds %q", got)
	}
	if info, err := os.Stat(filepath.Join(p.dir, "new/deep/file")); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of a new file %v, %v", info.Mode(), err)
	}
	_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s was left behind", path)
		}
		return nil
	})
}

func TestReadIsBounded(t *testing.T) {
	p := newPlace(t)
	p.put("big", "")
	if err := os.Truncate(filepath.Join(p.dir, "big"), workspace.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ws.Read("big"); !errors.Is(err, rootfile.ErrTooLarge) || !strings.Contains(err.Error(), "64 MB") {
		t.Errorf("a file over the limit: %v", err)
	}
	f, err := p.ws.Files().Open("big")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
