package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/platform/workspace/workspacetest"
)

// documents are the open documents of an editor that saves nothing.
type documents struct {
	mu   sync.Mutex
	open map[string]string
}

func (d *documents) Read(_ context.Context, name string) ([]byte, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, ok := d.open[name]
	return []byte(text), ok, nil
}

func (d *documents) Write(_ context.Context, name string, before, after []byte) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, ok := d.open[name]
	switch {
	case !ok:
		return false, nil
	case before == nil || !bytes.Equal([]byte(text), before):
		return false, &workspace.StaleError{Path: name}
	case after == nil:
		delete(d.open, name)
	default:
		d.open[name] = string(after)
	}
	return true, nil
}

func (d *documents) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.open))
}

func inMemory(t *testing.T, files map[string]string) *workspace.Workspace {
	t.Helper()
	m := workspace.NewMemory()
	for name, text := range files {
		if err := m.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return workspace.New(m)
}

func TestSuite(t *testing.T) {
	onDisk := func(t *testing.T, files map[string]string) *workspace.Workspace {
		w, _ := open(t, workspace.Options{StateDir: t.TempDir()}, files)
		return w
	}
	overlay := func(below func(*testing.T, map[string]string) *workspace.Workspace) func(*testing.T, map[string]string) *workspace.Workspace {
		return func(t *testing.T, files map[string]string) *workspace.Workspace {
			return workspace.New(workspace.NewOverlay(below(t, files).Files()))
		}
	}
	buffers := func(below func(*testing.T, map[string]string) *workspace.Workspace, open ...string) func(*testing.T, map[string]string) *workspace.Workspace {
		return func(t *testing.T, files map[string]string) *workspace.Workspace {
			saved, d := maps.Clone(files), &documents{open: map[string]string{}}
			for _, name := range open {
				d.open[name] = files[name]
				saved[name] = "an old text"
			}
			return below(t, saved).For(workspace.WithBuffers(t.Context(), d))
		}
	}
	for name, open := range map[string]func(*testing.T, map[string]string) *workspace.Workspace{
		"directory without a journal": func(t *testing.T, files map[string]string) *workspace.Workspace {
			w, _ := open(t, workspace.Options{}, files)
			return w
		},
		"directory": onDisk, "memory": inMemory, "overlay": overlay(onDisk), "overlay of memory": overlay(inMemory), "two overlays": overlay(overlay(onDisk)),
		"buffers": buffers(onDisk, "a", "b"), "no buffers": buffers(onDisk), "buffers over memory": buffers(inMemory, "a", "c"), "buffers over an overlay": buffers(overlay(onDisk), "a", "b"),
	} {
		t.Run(name, func(t *testing.T) { workspacetest.Run(t, open) })
	}
}

func TestNoDirectory(t *testing.T) {
	w := inMemory(t, map[string]string{"a": "a"})
	if w.Dir() != "" || w.Real("a") != "" {
		t.Errorf("memory is in %q, %q", w.Dir(), w.Real("a"))
	}
	if got, err := w.Resolve("/a"); err != nil || got != "a" {
		t.Errorf("/a is %q, %v", got, err)
	}
	below, dir := open(t, workspace.Options{}, map[string]string{"a": "a", "b": "b"})
	over := workspace.New(workspace.NewOverlay(below.Files()))
	if got, err := over.Resolve(filepath.Join(dir, "a")); err != nil || got != "a" {
		t.Errorf("the name is %q, %v", got, err)
	}
	if err := over.Files().WriteFile("a", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if over.Dir() != "" || over.Real("a") != "" || over.Real("b") != filepath.Join(dir, "b") {
		t.Errorf("an overlay is in %q, with %q and %q", over.Dir(), over.Real("a"), over.Real("b"))
	}
	if _, err := over.Undo(t.Context(), "1"); err == nil {
		t.Error("an undo without a journal")
	}
}

func TestOverlay(t *testing.T) {
	below, dir := open(t, workspace.Options{StateDir: t.TempDir()}, map[string]string{"a": "a", "b": "b", "in/c": "c", "gone/x/y": "y", "run.sh": "s"})
	link(t, "in/c", filepath.Join(dir, "link"))
	link(t, filepath.Join(dir, "in"), filepath.Join(dir, "folder"))
	link(t, "/etc", filepath.Join(dir, "out"))
	o := workspace.NewOverlay(below.Files())
	w := workspace.New(o)
	for _, err := range []error{
		w.Commit(t.Context(), []workspace.Change{{Path: "a", Before: []byte("a"), After: []byte("A")}, {Path: "new/n", After: []byte{}}, {Path: "link", Before: []byte("c"), After: []byte("C")}}),
		o.RemoveAll("gone"), o.Chmod("run.sh", 0o755), o.WriteFile("b", []byte("x"), 0o644), o.WriteFile("b", []byte("b"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "in/c", "folder/c"} {
		if data, err := o.ReadFile(name); err != nil || string(data) != "C" {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
	if _, err := o.ReadFile("out/passwd"); err == nil {
		t.Error("a link led out")
	}
	if err := o.WriteFile("out/x", nil, 0o644); err == nil {
		t.Error("a link led out")
	}
	if got := get(t, filepath.Join(dir, "a")) + get(t, filepath.Join(dir, "in/c")) + get(t, filepath.Join(dir, "gone/x/y")); got != "acy" {
		t.Errorf("below there is %q", got)
	}
	want := []workspace.Change{
		{Path: "a", Before: []byte("a"), After: []byte("A"), Mode: 0o644},
		{Path: "gone/x/y", Before: []byte("y")},
		{Path: "in/c", Before: []byte("c"), After: []byte("C"), Mode: 0o644},
		{Path: "new/n", After: []byte{}, Mode: 0o644},
	}
	if diff := cmp.Diff(want, o.Changes()); diff != "" {
		t.Error(diff)
	}

	put(t, filepath.Join(dir, "a"), "somebody's")
	var stale *workspace.StaleError
	if err := o.Commit(t.Context(), below); !errors.As(err, &stale) || stale.Path != "a" {
		t.Errorf("commit: %v", err)
	}
	if get(t, filepath.Join(dir, "a")) != "somebody's" || get(t, filepath.Join(dir, "in/c")) != "c" || len(o.Changes()) != 4 {
		t.Error("a refused commit has done something")
	}
	put(t, filepath.Join(dir, "a"), "a")
	if err := below.BeginTurn("1", "one"); err != nil {
		t.Fatal(err)
	}
	if err := o.Commit(t.Context(), below); err != nil {
		t.Fatal(err)
	}
	if get(t, filepath.Join(dir, "a")) != "A" || get(t, filepath.Join(dir, "link")) != "C" || len(o.Changes()) != 0 {
		t.Error("the commit did not arrive")
	}
	if i, err := below.Files().Stat("run.sh"); err != nil || i.Mode() != 0o755 {
		t.Errorf("run.sh: %v, %v", i, err)
	}
	if _, err := below.Files().Stat("gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := below.Undo(t.Context(), "1"); err != nil || get(t, filepath.Join(dir, "gone/x/y")) != "y" || get(t, filepath.Join(dir, "a")) != "a" {
		t.Errorf("undo: %v", err)
	}

	if err := o.WriteFile("a", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Discard()
	if data, err := o.ReadFile("a"); err != nil || string(data) != "a" {
		t.Errorf("after discarding: %q, %v", data, err)
	}
}

// The documents of the face that opened the session count where a prompt names no others.
func TestBuffersOfTheSession(t *testing.T) {
	w, _ := open(t, workspace.Options{Buffers: &documents{open: map[string]string{"a": "open"}}}, map[string]string{"a": "saved"})
	other := workspace.WithBuffers(t.Context(), &documents{open: map[string]string{"a": "other"}})
	for want, ctx := range map[string]context.Context{"open": t.Context(), "other": other, "saved": workspace.WithBuffers(other, nil)} {
		if data, err := w.For(ctx).Files().ReadFile("a"); err != nil || string(data) != want {
			t.Errorf("a holds %q, %v; want %q", data, err, want)
		}
	}
}

// Two faces have a file open, with different texts; a third has not.
func TestBuffersOfTwoFaces(t *testing.T) {
	w, dir := open(t, workspace.Options{StateDir: t.TempDir()}, map[string]string{"d/a": "saved", "b": "b"})
	link(t, "d/a", filepath.Join(dir, "link"))
	one, two := &documents{open: map[string]string{"d/a": "one", "d/new": "unsaved", "../x": "outside"}}, &documents{open: map[string]string{"d/a": "two"}}
	w1, w2 := w.For(workspace.WithBuffers(t.Context(), one)), w.For(workspace.WithBuffers(t.Context(), two))
	if w.For(t.Context()) != w || w.For(workspace.WithBuffers(workspace.WithBuffers(t.Context(), one), nil)) != w {
		t.Error("without documents there is another workspace")
	}
	for want, w := range map[string]*workspace.Workspace{"saved": w, "one": w1, "two": w2} {
		for _, name := range []string{"d/a", "link"} {
			if data, err := w.Files().ReadFile(name); err != nil || string(data) != want {
				t.Errorf("%s holds %q, %v; want %q", name, data, err, want)
			}
		}
	}
	if w1.Dir() != dir || w1.Real("d/a") != "" || w1.Real("b") != filepath.Join(dir, "b") {
		t.Errorf("in %q, with %q and %q", w1.Dir(), w1.Real("d/a"), w1.Real("b"))
	}
	var list []string
	if err := fs.WalkDir(w1.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path.Clean(name))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "d/a", "d/new", "link"}, list); diff != "" {
		t.Error(diff)
	}

	// What was seen of one face is not what another has.
	if _, err := w1.Read("d/a"); err != nil {
		t.Fatal(err)
	}
	if a, b, c := w1.Changed("d/a"), w2.Changed("d/a"), w.Changed("d/a"); a != workspace.Fresh || b != workspace.Stale || c != workspace.Stale {
		t.Errorf("it is %s, %s and %s", a, b, c)
	}
	change := []workspace.Change{{Path: "link", Before: []byte("one"), After: []byte("changed")}}
	var stale *workspace.StaleError
	if err := w2.Commit(t.Context(), change); !errors.As(err, &stale) {
		t.Errorf("what the second face has was overwritten: %v", err)
	}
	if err := w1.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if one.open["d/a"] != "changed" || two.open["d/a"] != "two" || get(t, filepath.Join(dir, "d/a")) != "saved" {
		t.Errorf("the faces have %q and %q, the file holds %q", one.open["d/a"], two.open["d/a"], get(t, filepath.Join(dir, "d/a")))
	}
	w.SetReadOnly(true)
	if err := w1.Commit(t.Context(), []workspace.Change{{Path: "d/a", Before: []byte("changed"), After: []byte("x")}}); !errors.Is(err, fs.ErrPermission) || one.open["d/a"] != "changed" {
		t.Errorf("a commit while it was for reading only: %v", err)
	}
	w.SetReadOnly(false)
	if err := w1.Commit(t.Context(), []workspace.Change{{Path: "d/moved", From: "d/new", Before: []byte("unsaved"), After: []byte("m")}}); err != nil {
		t.Fatal(err)
	}
	if _, open := one.open["d/new"]; open || get(t, filepath.Join(dir, "d/moved")) != "m" {
		t.Error("a document that was not saved did not move")
	}
}
